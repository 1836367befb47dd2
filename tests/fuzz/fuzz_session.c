/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged sessions: the files of a small session are altered, and it is opened, read, checked and
 * repaired. What is read without a complaint is what was written, whatever was altered. An input
 * consists of changes of five bytes each: which change, where (three bytes), and with what. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/testing.h"
#include "fuzz/fuzz.h"
#include "store/store.h"

#define EVENTS 12
#define CHANGE 5
#define MOST_CHANGES 40

enum { SET_BYTE, FLIP_BIT, CUT_OFF, CLEAR_BLOCK, COPY_BLOCK, SET_HEAD, CUT_HEAD, ADD_LOG, CHANGES };

struct session {
    char folder[40];
    struct buf db, head, log; /* bytes of the files; log: SQLite's, of writes not in the file yet */
    struct buf events;        /* as they were written */
};

/* ------------------------------------------------------------------------------ one that is
 * well */

static bool take_event(void *data, const struct store_event *event) {
    buf_printf(data, "%lld %lld %s %s\n", (long long)event->seq, (long long)event->wall_ms,
               event->type, event->payload);
    return true;
}

static void read_file(const char *folder, const char *name, struct buf *out) {
    struct err err = {0};
    size_t size = 0;
    char *path = path_join(folder, name), *bytes = file_read(path, 0, &size, &err);
    if (bytes)
        buf_add(out, bytes, size);
    free(bytes);
    free(path);
}

static void fill(struct store *store) {
    struct err err = {0};
    struct store_cell cells[] = {{.is = STORE_INT, .integer = 0},
                                 {.is = STORE_TEXT, .text = "hbm_read_bytes"},
                                 {.is = STORE_REAL, .real = 42.5},
                                 {.is = STORE_TEXT, .text = "bytes"}};
    char *large = mem_alloc(6001, 1);
    memset(large, 'k', 6000);
    bool fine = store != NULL;
    for (int i = 0; fine && i < EVENTS; i++)
        fine = store_append(store, 1000 + i, "test", i % 5 ? "{\"what\":\"small\"}" : large, NULL,
                            &err);
    fine = fine && store_attempt_begin(store, 0, &err) &&
           store_table_row(store, "metrics", cells, COUNT_OF(cells), &err) &&
           store_attempt_end(store, EVENTS, &err);
    free(large);
    if (!fine)
        HONE_BUG("a session cannot be made");
}

static void make_session(struct session *session) {
    struct err err = {0};
    *session = (struct session){.folder = "/tmp/hone-fuzz-session.XXXXXX"};
    if (!mkdtemp(session->folder))
        HONE_BUG("no folder for a session");
    struct store *store = store_open(session->folder, false, &err);
    fill(store);
    if (!store_replay(store, 0, take_event, &session->events, &err))
        HONE_BUG("a session that is well cannot be read");
    store_close(store);
    read_file(session->folder, "session.db", &session->db);
    read_file(session->folder, "session.db-head", &session->head);
    (void)!file_remove_tree(session->folder, &err);
}

static void free_session(struct session *session) {
    buf_free(&session->db);
    buf_free(&session->head);
    buf_free(&session->log);
    buf_free(&session->events);
}

/* ----------------------------------------------------------------------------------- what is
 * done */

static void clear(struct buf *file, size_t at, size_t size) {
    if (at < file->len)
        memset(file->at + at, 0, MIN_OF(size, file->len - at));
}

static void change(struct session *session, const uint8_t *data) {
    struct buf *db = &session->db, *head = &session->head;
    size_t where = (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
    size_t at = db->len ? where % db->len : 0, in_head = head->len ? where % head->len : 0;
    size_t from = db->len ? where * 31 % db->len : 0, size = data[4] * 16u;
    switch (data[0] % CHANGES) {
    case CUT_OFF: db->len = at; break;
    case CLEAR_BLOCK: clear(db, at, size); break;
    case CUT_HEAD: head->len = in_head; break;
    case ADD_LOG: buf_add(&session->log, (const char *)data, CHANGE); break;
    case SET_HEAD:
        if (head->len)
            head->at[in_head] = (char)data[4];
        break;
    case COPY_BLOCK:
        size = MIN_OF(size, db->len - MAX_OF(at, from));
        if (size)
            memmove(db->at + at, db->at + from, size);
        break;
    case FLIP_BIT:
        if (db->len)
            db->at[at] = (char)(db->at[at] ^ 1 << data[4] % 8);
        break;
    default:
        if (db->len)
            db->at[at] = (char)data[4];
    }
}

static void write_file(const char *folder, const char *name, const struct buf *bytes) {
    struct err err = {0};
    char *path = path_join(folder, name);
    if (!file_write(path, bytes->at ? bytes->at : "", bytes->len, &err))
        HONE_BUG("a file cannot be written");
    free(path);
}

/* --------------------------------------------------------------------------------- what follows */

/* All that is reported is a part of what was written. It is the whole when nothing is amiss. */
static void read_session(const struct session *session, bool look_only) {
    struct err err = {0};
    struct buf told = {0};
    struct store *store = store_open(session->folder, look_only, &err);
    bool whole = store && store_replay(store, 0, take_event, &told, &err);
    bool emptied = !session->db.len && !session->head.len; /* then nobody can know */
    bool amiss = !whole || store_note(store) || store_damage(store) || emptied;
    if (told.len > session->events.len ||
        (told.len && memcmp(told.at, session->events.at, told.len) != 0))
        HONE_BUG("an event is read that nobody wrote");
    if (!amiss && told.len != session->events.len)
        HONE_BUG("events are gone and nobody says so");
    if (!whole && (err.kind == ERR_NONE || !*err.text))
        HONE_BUG("a session was refused without a reason");
    store_close(store);
    buf_free(&told);
}

static void count_finding(void *data, const char *part, enum store_finding is, const char *text) {
    size_t *length = data;
    (void)is;
    *length += strlen(part) + strlen(text);
}

static void pass_over(void *data, int64_t seq, bool proven, struct str type, struct str payload) {
    size_t *length = data;
    *length += (size_t)proven + type.len + payload.len + (size_t)(seq & 1);
}

static void stand_in(int64_t seq, struct buf *payload) {
    buf_printf(payload, "{\"lost\":%lld}", (long long)seq);
}

/* What was saved is a healthy session. */
static void repair(const struct session *session, const char *to) {
    struct err err = {0};
    static const char *const harmless[] = {"test", NULL};
    size_t length = 0;
    struct store_repair_ways ways = {.harmless = harmless,
                                     .stand_in_type = "lost",
                                     .stand_in = stand_in,
                                     .behind = pass_over,
                                     .data = &length};
    struct store_repaired done = {0};
    if (!store_repair(session->folder, to, &ways, &done, &err)) {
        if (err.kind == ERR_NONE || !*err.text)
            HONE_BUG("a repair failed without a reason");
        return;
    }
    struct store *store = store_open(to, false, &err);
    struct buf told = {0};
    if (!store || !store_replay(store, 0, take_event, &told, &err))
        HONE_BUG("what was repaired cannot be read");
    store_close(store);
    if (!store_check(to, count_finding, &length, &err))
        HONE_BUG("what was repaired is damaged");
    buf_free(&told);
}

static void look(const struct session *session) {
    struct err err = {0};
    size_t length = 0;
    char to[60];
    snprintf(to, sizeof to, "%s/saved", session->folder);
    read_session(session, true);
    (void)!store_check(session->folder, count_finding, &length, &err);
    repair(session, to);
    read_session(session, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct session session;
    struct err err = {0};
    make_session(&session);
    for (size_t i = 0; i < MOST_CHANGES && (i + 1) * CHANGE <= size; i++)
        change(&session, data + i * CHANGE);
    strcpy(session.folder, "/tmp/hone-fuzz-session.XXXXXX");
    if (!mkdtemp(session.folder))
        return 0;
    write_file(session.folder, "session.db", &session.db);
    write_file(session.folder, "session.db-head", &session.head);
    if (session.log.len)
        write_file(session.folder, "session.db-wal", &session.log);
    look(&session);
    (void)!file_remove_tree(session.folder, &err);
    free_session(&session);
    return 0;
}

#ifndef HONE_LIBFUZZER

/* A change of each kind, and each again after the head was lost, when only the chain can show
 * it. */
static void begin_changes(struct fuzz *fuzz) {
    for (int lost = 0; lost < 2; lost++)
        for (int kind = 0; kind < CHANGES; kind++) {
            struct buf *example = fuzz_example(fuzz);
            const char head[CHANGE] = {CUT_HEAD, 0, 0, 0, 0};
            const char other[CHANGE] = {(char)kind, 0, (char)(kind * 37), 77, 9};
            if (lost)
                buf_add(example, head, sizeof head);
            buf_add(example, other, sizeof other);
        }
}

/* Appends whole changes to each other, and alters any byte of them. */
static void mutate(struct fuzz *fuzz, struct buf *text) {
    if (fuzz_roll(fuzz, 2))
        for (int i = 0; i < CHANGE; i++)
            buf_putc(text, (char)fuzz_roll(fuzz, 256));
    else if (text->len)
        text->at[fuzz_roll(fuzz, text->len)] = (char)fuzz_roll(fuzz, 256);
}

static const struct fuzz_target target = {
    .name = "session", .most = 5, .begin = begin_changes, .mutate = mutate};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
