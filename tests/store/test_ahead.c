// SPDX-License-Identifier: Apache-2.0
/* The log read ahead by threads: the same events in the same order, and the same damage as without
 * threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/private.h"
#include "store/testing.h"

#define EVENTS 3500

static char folder[] = "/tmp/hone_ahead_XXXXXX";

static void sql_in(const char *file, const char *text) {
    char *path = path_join(folder, file);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    free(path);
}

static void sql(const char *text) {
    sql_in("session.db", text);
}

static int begin(void **unused) {
    (void)unused;
    struct err err = {0};
    struct buf text = {0};
    struct store *store = mkdtemp(folder) ? store_open(folder, false, &err) : NULL;
    bool ok = store && store_exec(store, "PRAGMA synchronous=OFF; BEGIN", "", &err);
    for (int i = 1; ok && i <= EVENTS; i++) {
        buf_clear(&text);
        buf_printf(&text, "{\"number\":%d,\"text\":\"%*d\"}", i, i % 37 ? i % 90 : 7000, i);
        ok = store_append(store, 1000 + i, "test", text.at, NULL, &err);
    }
    ok = ok && store_exec(store, "COMMIT", "", &err);
    store_close(store);
    buf_free(&text);
    return ok ? 0 : -1;
}

static int end(void **unused) {
    (void)unused;
    struct err err = {0};
    return file_remove_tree(folder, &err) ? 0 : -1;
}

static void *make(struct arena *arena, const struct store_event *event) {
    return arena_printf(arena, "%lld %lld %s %s\n", (long long)event->seq,
                        (long long)event->wall_ms, event->type, event->payload);
}

static bool take(void *data, const struct store_event *event) {
    struct arena *arena = arena_new();
    buf_puts(data, make(arena, event));
    arena_free(arena);
    return true;
}

/* The events, and what was said at their end. *ahead: how many came ahead. */
static char *told(bool use, int64_t *ahead) {
    struct err err = {0};
    struct buf all = {0};
    struct store *store = store_open(folder, true, &err);
    if (!store)
        fail_msg("%s", err.text);
    struct store_ahead *from = use ? store_ahead_begin(store, make) : NULL;
    struct store_made made = {0};
    assert_int_equal(use, from != NULL);
    while (from && store_ahead_next(from, -1, &made) == STORE_AHEAD_EVENT) {
        assert_int_equal(store_proven_seq(store), made.seq);
        buf_puts(&all, made.made);
    }
    *ahead = made.seq;
    store_ahead_free(from);
    bool ok = store_replay(store, made.seq, take, &all, &err);
    buf_puts(&all, ok ? "whole" : err.text);
    store_close(store);
    return buf_take(&all);
}

static void what_is_read_ahead_is_what_replay_tells(void **unused) {
    (void)unused;
    int64_t ahead;
    char *with = told(true, &ahead), *without;
    assert_int_equal(ahead, EVENTS);
    without = told(false, &ahead);
    assert_string_equal(with, without);
    free(with);
    free(without);
}

/* The beginnings and ends of pieces, their insides, and both ends of the log. */
static const int places[] = {1, 2, 511, 512, 513, 514, 1024, 1025, 3000, EVENTS - 1, EVENTS};

static void damage_at(const char *what, int place) {
    struct buf text = {0};
    int64_t ahead, none;
    buf_printf(&text, "%s WHERE seq = %d", what, place);
    sql("CREATE TABLE kept AS SELECT * FROM events");
    sql(text.at);
    char *with = told(true, &ahead), *without = told(false, &none);
    if (ahead >= place || strcmp(with, without) != 0 || !strstr(with, "is damaged"))
        fail_msg("%s: %lld came ahead, then %s", text.at, (long long)ahead,
                 with + strlen(with) - MIN_OF(strlen(with), (size_t)300));
    sql("DELETE FROM events; INSERT INTO events SELECT * FROM kept; DROP TABLE kept");
    free(with);
    free(without);
    buf_free(&text);
}

static void the_same_damage_is_found(void **unused) {
    (void)unused;
    static const char *const ways[] = {
        "UPDATE events SET payload = replace(payload, 'text', 'tex4')",
        "UPDATE events SET wall_ms = wall_ms + 1",
        "UPDATE events SET type = 'tesu'",
        "UPDATE events SET hash = zeroblob(16)",
        "UPDATE events SET hash = NULL",
    };
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        for (size_t k = 0; k < COUNT_OF(places); k++)
            if (i == 0 || k % COUNT_OF(ways) == i)
                damage_at(ways[i], places[k]);
}

/* An event that is gone at the end is missed before anything is read. */
static void an_event_that_is_gone_is_missed(void **unused) {
    (void)unused;
    for (size_t k = 0; k + 1 < COUNT_OF(places); k++)
        damage_at("DELETE FROM events", places[k]);
}

static void reading_ahead_may_be_broken_off(void **unused) {
    (void)unused;
    struct err err = {0};
    for (int taken = 0; taken < 1500; taken += 300) {
        struct store *store = store_open(folder, true, &err);
        assert_non_null(store);
        struct store_ahead *ahead = store_ahead_begin(store, make);
        struct store_made made;
        for (int i = 0; i < taken; i++)
            assert_int_equal(store_ahead_next(ahead, -1, &made), STORE_AHEAD_EVENT);
        store_ahead_free(ahead);
        store_close(store);
    }
}

static int64_t number_in(sqlite3 *db) {
    sqlite3_stmt *rows = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT x FROM beside", -1, &rows, NULL), 0);
    assert_int_equal(sqlite3_step(rows), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(rows, 0);
    sqlite3_finalize(rows);
    return number;
}

/* A large piece of the file is read once; what another process wrote is in it after "forget". */
static void what_others_write_is_read_after_forgetting(void **unused) {
    (void)unused;
    sqlite3 *db = NULL;
    char *path = path_join(folder, "small.db");
    sql_in("small.db", "CREATE TABLE beside(x); INSERT INTO beside VALUES (1), (randomblob(9)),"
                       " (zeroblob(90000))");
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    struct store_wide *wide = store_wide_begin(db);
    assert_non_null(wide);
    for (int i = 1; i < 5; i++) {
        store_wide_forget(wide);
        assert_int_equal(number_in(db), i);
        sql_in("small.db", "UPDATE beside SET x = x + 1 WHERE typeof(x) = 'integer'");
        assert_int_equal(number_in(db), i); /* from the piece: it is used */
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    free(wide);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_ahead_is_what_replay_tells),
        cmocka_unit_test(the_same_damage_is_found),
        cmocka_unit_test(an_event_that_is_gone_is_missed),
        cmocka_unit_test(reading_ahead_may_be_broken_off),
        cmocka_unit_test(what_others_write_is_read_after_forgetting),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
