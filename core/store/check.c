/* SPDX-License-Identifier: Apache-2.0 */
/* Says all that can be said of a session on disk, part by part. Nothing is changed. */
#include "store/private.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

struct check {
    struct store *store;
    store_check_fn *fn;
    void *data;
};

static void tell(struct check *check, const char *part, enum store_finding is, const char *format,
                 ...) CC_PRINTF(4, 5);
static void tell(struct check *check, const char *part, enum store_finding is, const char *format,
                 ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    check->fn(check->data, part, is, text.at ? text.at : "");
    buf_free(&text);
}

static bool all(void *data, const struct store_event *event) {
    int64_t *count = data;
    (void)event;
    ++*count;
    return true;
}

static void check_events(struct check *check) {
    struct store *store = check->store;
    struct err err = {0};
    int64_t count = 0;
    int64_t adopted = store_number(store, "SELECT adopted FROM chain", 0);
    bool whole = store_replay(store, 0, all, &count, &err);
    if (!whole && store->damage.seq)
        tell(check, "events", STORE_DAMAGED, "%s; the %lld before it are whole", store->damage.text,
             (long long)count);
    else if (!whole)
        tell(check, "events", STORE_DAMAGED, "%s",
             store->damage.found ? store->damage.text : err.text);
    else if (!store->chained)
        tell(check, "events", STORE_UNPROVEN,
             "%lld, written by a hone that did not chain events: they can be read, but nothing "
             "proves them",
             (long long)count);
    else if (adopted)
        tell(check, "events", STORE_UNPROVEN,
             "%lld, each follows from the one before it; the first %lld were chained only later",
             (long long)count, (long long)adopted);
    else
        tell(check, "events", STORE_WHOLE, "%lld, each follows from the one before it",
             (long long)count);
}

static void check_end(struct check *check) {
    const struct store *store = check->store;
    if (store->known_head.is == STORE_HEAD_GOOD)
        tell(check, "end", STORE_WHOLE, "no event is missing at the end");
    else
        tell(check, "end", store->known_head.is == STORE_HEAD_BAD ? STORE_DAMAGED : STORE_UNPROVEN,
             "session.db-head is %s, so nothing shows which event is the last",
             store->known_head.is == STORE_HEAD_BAD ? "damaged" : "not there");
}

static void check_file(struct check *check) {
    switch (store_seal_check(check->store, 0)) {
    case STORE_SEAL_WHOLE:
        tell(check, "file", STORE_WHOLE, "session.db is, byte for byte, as hone left it");
        break;
    case STORE_SEAL_BROKEN: tell(check, "file", STORE_DAMAGED, STORE_CHANGED); break;
    case STORE_SEAL_NONE:
    case STORE_SEAL_ROWS:
    case STORE_SEAL_TORN: /* this check tells them by themselves */
        tell(check, "file", STORE_UNPROVEN,
             "session.db is in use, or hone did not close it properly, so nothing shows what its "
             "bytes should be");
        break;
    }
}

static void check_sqlite(struct check *check) {
    struct buf found = {0};
    int64_t checked = 0, unknown = 0;
    bool fine = store_integrity(store_db(check->store), &found);
    tell(check, "sqlite", fine ? STORE_WHOLE : STORE_DAMAGED, "%s",
         fine       ? "SQLite finds nothing wrong"
         : found.at ? found.at
                    : "it cannot be read");
    buf_clear(&found);
    if (!store_sums_check(store_db(check->store), &checked, &unknown, &found))
        tell(check, "tables", STORE_DAMAGED, "%s", found.at);
    else if (unknown)
        tell(check, "tables", STORE_UNPROVEN,
             "%lld attempt%s as written; of %lld a hone wrote no checksums", (long long)checked,
             PLURAL(checked), (long long)unknown);
    else
        tell(check, "tables", STORE_WHOLE, "%lld attempt%s as written", (long long)checked,
             PLURAL(checked));
    buf_free(&found);
}

static void check_artefacts(struct check *check) {
    char *folder = path_join(check->store->folder, "artifacts");
    DIR *dir = opendir(folder);
    size_t whole = 0, damaged = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strlen(entry->d_name) != 32)
            continue;
        char *path = path_join(folder, entry->d_name);
        bool is = store_artefact_is(path, entry->d_name);
        whole += is;
        damaged += !is;
        if (!is)
            tell(check, "artefacts", STORE_DAMAGED,
                 "artifacts/%s was changed: its bytes do not match its name", entry->d_name);
        free(path);
    }
    if (dir)
        closedir(dir);
    free(folder);
    if (!damaged)
        tell(check, "artefacts", STORE_WHOLE, "%zu, the bytes of each match its name", whole);
}

bool store_check(const char *folder, store_check_fn *fn, void *data, struct err *err) {
    struct check check = {.fn = fn, .data = data};
    check.store = store_open(folder, true, err);
    if (!check.store && err->kind == ERR_DAMAGED) {
        tell(&check, "file", STORE_DAMAGED, "%s", err->text);
        return true;
    }
    if (!check.store)
        return false;
    check_events(&check);
    check_end(&check);
    check_file(&check);
    check_sqlite(&check);
    check_artefacts(&check);
    store_close(check.store);
    return true;
}
