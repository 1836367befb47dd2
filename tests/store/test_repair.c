// SPDX-License-Identifier: Apache-2.0
/* A damaged session is saved: what the chain proves, what one flipped bit explains, and what comes
 * after the damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/scratch.h"
#include "store/store.h"

#define EVENTS 60

static void payload_of(int i, struct buf *out) {
    buf_printf(out, "{\"n\":%d,\"text\":\"", i);
    for (int k = 0; k < (i % 9 ? i * 3 : 9000); k++)
        buf_putc(out, (char)('a' + (i + k) % 26));
    buf_puts(out, "\"}");
}

static const char *type_of(int i) {
    return i % 5 == 2 ? "log" : "step";
}

static char *session_make(void) {
    char *top = scratch(), *folder = path_join(top, "silu");
    struct err err = {0};
    struct store *store = store_open(folder, false, &err);
    assert_non_null(store);
    for (int i = 1; i <= EVENTS; i++) {
        struct buf payload = {0};
        payload_of(i, &payload);
        assert_true(store_append(store, 1000 + i, type_of(i), payload.at, NULL, &err));
        buf_free(&payload);
    }
    store_close(store);
    free(folder);
    return top;
}

static void stand_in(int64_t seq, struct buf *payload) {
    buf_printf(payload, "{\"lost\":%lld}", (long long)seq);
}

static void behind(void *data, int64_t seq, bool proven, struct str type, struct str payload) {
    int64_t *last = data;
    struct buf expected = {0};
    assert_true(seq > *last);
    *last = seq;
    payload_of((int)seq, &expected);
    if (proven)
        assert_true(str_is(type, type_of((int)seq)) && str_equal(payload, buf_str(&expected)));
    buf_free(&expected);
}

static bool note_seq(void *data, const struct store_event *event) {
    *(int64_t *)data = event->seq;
    return true;
}

static int64_t last_seq(struct store *store) {
    int64_t seq = 0;
    struct err err = {0};
    assert_true(store_replay(store, 0, note_seq, &seq, &err));
    return seq;
}

static struct store_repaired repair(const char *top, struct err *err) {
    static const char *const harmless[] = {"log", NULL};
    int64_t last = 0;
    const struct store_repair_ways ways = {harmless, "log", stand_in, behind, &last};
    struct store_repaired done = {0};
    char *from = path_join(top, "silu"), *to = path_join(top, "new");
    *err = (struct err){0};
    if (store_repair(from, to, &ways, &done, err)) {
        struct store *store = store_open(to, false, err);
        assert_non_null(store);
        assert_int_equal(last_seq(store), done.events);
        store_close(store);
    }
    free(to);
    free(from);
    return done;
}

static bool is_as_written(void *data, const struct store_event *event) {
    int *lost = data;
    struct buf expected = {0};
    payload_of((int)event->seq, &expected);
    bool same = !strcmp(event->payload, expected.at) && event->wall_ms == 1000 + event->seq &&
                !strcmp(event->type, type_of((int)event->seq));
    bool told = strstr(event->payload, "\"lost\"") != NULL;
    assert_true(same || told);
    *lost += !same;
    buf_free(&expected);
    return true;
}

/* Every event of the new session is one that was written, or says that it is lost. */
static int new_one_is_true(const char *top) {
    char *to = path_join(top, "new");
    struct err err = {0};
    int lost = 0;
    struct store *store = store_open(to, false, &err);
    assert_true(store && store_replay(store, 0, is_as_written, &lost, &err));
    store_close(store);
    assert_true(file_remove_tree(to, &err));
    free(to);
    return lost;
}

static void edit(const char *top, const char *sql) {
    char *folder = path_join(top, "silu");
    scratch_sql(folder, sql);
    free(folder);
}

static void what_can_be_known_is_known(void **unused) {
    (void)unused;
    static const struct {
        const char *sql;
        int64_t events, mended, dropped, cut;
    } all[] = {
        {"SELECT 1", EVENTS, 0, 0, EVENTS + 1},
        {"UPDATE events SET wall_ms = wall_ms + 1024 WHERE seq = 20", EVENTS, 1, 0, EVENTS + 1},
        {"UPDATE events SET payload = replace(payload, '\"text\"', '\"tExt\"') WHERE seq = 20",
         EVENTS, 1, 0, EVENTS + 1},
        {"UPDATE events SET type = 'stdp' WHERE seq = 21", EVENTS, 1, 0, EVENTS + 1},
        {"UPDATE events SET hash = zeroblob(16) WHERE seq = 20", EVENTS, 1, 0, EVENTS + 1},
        {"UPDATE events SET hash = zeroblob(16) WHERE seq = 60", EVENTS, 1, 0, EVENTS + 1},
        {"UPDATE events SET seq = 1000 WHERE seq = 20", EVENTS, 1, 0, EVENTS + 1},
        {"UPDATE events SET payload = '{}' WHERE seq = 22", EVENTS, 0, 1, EVENTS + 1},
        {"UPDATE events SET payload = '{}' WHERE seq = 23", 22, 0, 0, 23},
        {"UPDATE events SET payload = '{}' WHERE seq IN (1, 30)", 0, 0, 0, 1},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char *top = session_make();
        struct err err = {0};
        edit(top, all[i].sql);
        struct store_repaired done = repair(top, &err);
        if (err.kind != ERR_NONE)
            fail_msg("%s: %s", all[i].sql, err.text);
        if (done.events != all[i].events || done.cut != all[i].cut ||
            done.dropped != all[i].dropped)
            fail_msg("%s: %lld events, %lld dropped, cut %lld", all[i].sql, (long long)done.events,
                     (long long)done.dropped, (long long)done.cut);
        assert_int_equal(done.mended > 0, all[i].mended > 0);
        assert_int_equal(done.last, EVENTS);
        assert_int_equal(new_one_is_true(top), all[i].dropped);
        scratch_end(top);
    }
}

static char *file_of(const char *top, size_t *size) {
    char *path = path_join(top, "silu/session.db");
    struct err err = {0};
    char *bytes = file_read(path, 0, size, &err);
    assert_non_null(bytes);
    free(path);
    return bytes;
}

static void file_put(const char *top, const char *bytes, size_t size) {
    char *path = path_join(top, "silu/session.db");
    struct err err = {0};
    assert_true(file_write_private(path, bytes, size, &err));
    free(path);
}

/* Whatever is done to the bytes: nothing that was not written counts as true, and most is saved. */
static void foreign_bytes_become_no_events(void **unused) {
    (void)unused;
    char *top = session_make();
    size_t size = 0;
    char *bytes = file_of(top, &size), *other = mem_alloc(size, 1);
    uint64_t random = 88172645463325252u;
    int64_t saved = 0;
    for (int i = 0; i < 60; i++) {
        struct err err = {0};
        memcpy(other, bytes, size);
        for (int k = 0; k < 1 << i % 6; k++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t at = random % size;
            other[at] =
                i % 2 ? (char)(other[at] ^ (1 << (random >> 40) % 8)) : (char)(random >> 50);
        }
        file_put(top, other, i % 4 == 3 ? random % size : size);
        struct store_repaired done = repair(top, &err);
        if (err.kind == ERR_NONE) {
            saved += done.events + done.behind;
            new_one_is_true(top);
        } else {
            assert_int_equal(err.kind, ERR_DAMAGED);
        }
    }
    assert_true(saved > 60 * EVENTS / 3);
    free(other);
    free(bytes);
    scratch_end(top);
}

/* Tables for queries come with the first attempt, after what is in the file already. */
static void a_short_session_that_was_cut_keeps_its_first_events(void **unused) {
    (void)unused;
    char *top = scratch(), *folder = path_join(top, "silu"), *db = path_join(folder, "session.db");
    struct err err = {0};
    struct store *store = store_open(folder, false, &err);
    assert_non_null(store);
    for (int i = 1; i <= EVENTS; i++) {
        struct buf payload = {0};
        payload_of(i, &payload);
        assert_true(store_append(store, 1000 + i, type_of(i), payload.at, NULL, &err));
        buf_free(&payload);
        if (i == 40)
            assert_true(store_attempt_begin(store, 0, &err) && store_attempt_end(store, i, &err));
    }
    store_close(store);
    assert_int_equal(truncate(db, 14 * 4096), 0);
    assert_in_range(repair(top, &err).events, 15, EVENTS);
    free(db);
    free(folder);
    scratch_end(top);
}

static void the_old_session_is_not_touched(void **unused) {
    (void)unused;
    char *top = session_make();
    struct err err = {0};
    edit(top, "UPDATE events SET payload = '{}' WHERE seq = 22");
    size_t size = 0, after = 0;
    char *before = file_of(top, &size);
    repair(top, &err);
    assert_int_equal(err.kind, ERR_NONE);
    char *now = file_of(top, &after);
    assert_int_equal(size, after);
    assert_memory_equal(before, now, size);
    repair(top, &err); /* nor is what is there already */
    assert_int_equal(err.kind, ERR_USAGE);
    assert_int_equal(new_one_is_true(top), 1);
    free(now);
    free(before);
    scratch_end(top);
}

static void note_part(void *data, const char *part, enum store_finding is, const char *text) {
    struct buf *out = data;
    (void)text;
    if (is == STORE_DAMAGED)
        buf_printf(out, "%s ", part);
}

static void check_names_the_parts(void **unused) {
    (void)unused;
    char *top = session_make(), *folder = path_join(top, "silu");
    struct err err = {0};
    struct buf found = {0};
    struct hash hash;
    struct store *store = store_open(folder, false, &err);
    assert_true(store && store_artefact_put(store, "abc", 3, &hash, &err));
    assert_true(store_append(store, 1, "log", "{}", NULL, &err));
    char *artefact = store_artefact_path(store, hash.hex);
    store_close(store);
    assert_true(store_check(folder, note_part, &found, &err));
    assert_int_equal(found.len, 0);
    assert_true(file_write(artefact, "abd", 3, &err));
    edit(top, "UPDATE events SET payload = '{}' WHERE seq = 22");
    assert_true(store_check(folder, note_part, &found, &err));
    assert_string_equal(found.at, "events file artefacts ");
    free(artefact);
    buf_free(&found);
    free(folder);
    scratch_end(top);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_known_is_known),
        cmocka_unit_test(foreign_bytes_become_no_events),
        cmocka_unit_test(a_short_session_that_was_cut_keeps_its_first_events),
        cmocka_unit_test(the_old_session_is_not_touched),
        cmocka_unit_test(check_names_the_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
