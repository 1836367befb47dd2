// SPDX-License-Identifier: Apache-2.0
/* Damage of a session is seen wherever it is: in events, at their end, in tables, in free space.
 * Sessions without a chain get one. Files that vanish under a session stop it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/testing.h"
#include "store/scratch.h"
#include "store/store.h"

static void append(struct store *store, const char *payload) {
    struct err err = {0};
    if (!store_append(store, 1000, "test", payload, NULL, &err))
        fail_msg("%s", err.text);
}

/* Events of several sizes, rows in the tables, and room that was freed. */
static void fill(const char *folder, int events) {
    struct store *store = open_ok(folder);
    struct err err = {0};
    char *big = mem_alloc(9001, 1);
    memset(big, 'k', 9000);
    for (int i = 0; i < events; i++)
        append(store, i % 7 ? "{\"what\":\"a short one\"}" : big);
    for (int turn = 0; turn < 3; turn++) {
        struct store_cell cells[] = {{.is = STORE_INT, .integer = 0},
                                     {.is = STORE_TEXT, .text = "hbm_read_bytes"},
                                     {.is = STORE_REAL, .real = 42.5},
                                     {.is = STORE_TEXT, .text = "bytes"}};
        assert_true(store_attempt_begin(store, 0, &err));
        for (int i = 0; i < (turn == 1 ? 400 : 20); i++)
            assert_true(store_table_row(store, "metrics", cells, COUNT_OF(cells), &err));
        assert_true(store_attempt_end(store, events, &err));
    }
    free(big);
    store_close(store);
}

static bool take_all(void *data, const struct store_event *event) {
    struct buf *all = data;
    buf_printf(all, "%lld %lld %s %s\n", (long long)event->seq, (long long)event->wall_ms,
               event->type, event->payload);
    return true;
}

static char *all_events(const char *folder, struct err *err) {
    struct buf all = {0};
    struct store *store = store_open(folder, false, err);
    bool ok = store && store_replay(store, 0, take_all, &all, err);
    bool odd = ok && store_note(store);
    store_close(store);
    if (!ok || odd)
        buf_clear(&all);
    if (odd)
        buf_puts(&all, "odd");
    char *text = buf_take(&all);
    return text;
}

struct image {
    char *bytes;
    size_t size;
};

static struct image image_of(const char *path) {
    struct image image = {0};
    struct err err = {0};
    image.bytes = file_read(path, 0, &image.size, &err);
    assert_non_null(image.bytes);
    return image;
}

static void image_put(const char *path, const struct image *image) {
    struct err err = {0};
    assert_true(file_write_private(path, image->bytes, image->size, &err));
}

/* Every bit of a session that was closed counts, even one that is in no event. */
static void any_flipped_bit_is_noticed(void **unused) {
    (void)unused;
    char *folder = scratch(), *path = path_join(folder, "session.db");
    fill(folder, 30);
    struct err err = {0};
    char *before = all_events(folder, &err);
    struct image image = image_of(path);
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 150; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        size_t bit = i < 80 ? random % (image.size * 8) : (size_t)(i - 80) * 11 % 800;
        image.bytes[bit / 8] ^= (char)(1 << bit % 8);
        image_put(path, &image);
        err = (struct err){0};
        char *now = all_events(folder, &err);
        if (!strcmp(now, before) || (strcmp(now, "odd") != 0 && err.kind == ERR_NONE))
            fail_msg("bit %zu of byte %zu was flipped and nobody noticed", bit % 8, bit / 8);
        free(now);
        image.bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    image_put(path, &image);
    char *after = all_events(folder, &err);
    assert_string_equal(after, before);
    free(after);
    free(image.bytes);
    free(before);
    free(path);
    scratch_end(folder);
}

static void any_truncation_is_noticed(void **unused) {
    (void)unused;
    char *folder = scratch(), *path = path_join(folder, "session.db");
    fill(folder, 30);
    struct image image = image_of(path);
    size_t whole = image.size;
    for (int i = 0; i < 25; i++) {
        struct err err = {0};
        image.size = whole * (size_t)i / 25;
        image_put(path, &image);
        char *now = all_events(folder, &err);
        assert_string_equal(now, "");
        assert_int_equal(err.kind, ERR_DAMAGED);
        assert_non_null(strstr(err.text, "hone session repair"));
        free(now);
    }
    free(image.bytes);
    free(path);
    scratch_end(folder);
}

static bool count_event(void *data, const struct store_event *event) {
    int *count = data;
    assert_int_equal(event->seq, ++*count);
    return true;
}

/* After each of these, SQLite finds nothing wrong with the database. */
static void the_place_of_the_damage_is_told(void **unused) {
    (void)unused;
    static const struct {
        const char *sql;
        int whole;
    } all[] = {{"UPDATE events SET payload = '{\"what\":\"another\"}' WHERE seq = 12", 11},
               {"UPDATE events SET wall_ms = wall_ms + 1 WHERE seq = 1", 0},
               {"UPDATE events SET type = 'text' WHERE seq = 20", 19},
               {"UPDATE events SET hash = zeroblob(16) WHERE seq = 5", 4},
               {"UPDATE events SET hash = NULL WHERE seq = 5", 4},
               {"DELETE FROM events WHERE seq = 9", 8},
               {"DELETE FROM events WHERE seq > 17", 17},
               {"DELETE FROM events WHERE seq > 17; UPDATE sqlite_sequence SET seq = 17", 17},
               {"INSERT INTO events(wall_ms, type, payload) VALUES (1, 'test', '{}')", 20}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char *folder = scratch();
        struct err err = {0};
        int count = 0;
        fill(folder, 20);
        scratch_sql(folder, all[i].sql);
        struct store *store = store_open(folder, true, &err);
        assert_non_null(store);
        assert_false(store_replay(store, 0, count_event, &count, &err));
        assert_int_equal(count, all[i].whole);
        assert_int_equal(err.kind, ERR_DAMAGED);
        assert_int_equal(store_damage(store)->seq, all[i].whole + 1);
        store_close(store);
        store = store_open(folder, false, &err);
        if (store) {
            assert_false(store_replay(store, 0, count_event, &(int){0}, &err));
            assert_false(store_append(store, 1, "test", "{}", NULL, &err));
            assert_int_equal(err.kind, ERR_DAMAGED);
            store_close(store);
        }
        scratch_end(folder);
    }
}

/* The file as a hone without a chain left it. */
static void unchain(const char *folder) {
    char *head = path_join(folder, "session.db-head");
    scratch_sql(folder, "ALTER TABLE events DROP COLUMN hash; DROP TABLE chain; DROP TABLE sums;"
                        "PRAGMA user_version = 1");
    assert_int_equal(unlink(head), 0);
    free(head);
}

static void a_session_without_a_chain_gets_one(void **unused) {
    (void)unused;
    char *folder = scratch();
    struct err err = {0};
    int count = 0;
    fill(folder, 20);
    unchain(folder);
    struct store *store = store_open(folder, true, &err);
    assert_true(store && store_replay(store, 0, count_event, &count, &err));
    assert_int_equal(store_proven_seq(store), 0);
    store_close(store);
    store = open_ok(folder);
    append(store, "{}");
    store_close(store);
    store = open_ok(folder);
    count = 0;
    assert_true(store_replay(store, 0, count_event, &count, &err));
    assert_int_equal(count, 21);
    assert_int_equal(store_proven_seq(store), 21);
    store_close(store);
    scratch_sql(folder, "UPDATE events SET type = 'text' WHERE seq = 3");
    store = store_open(folder, true, &err);
    assert_false(store_replay(store, 0, count_event, &(int){0}, &err));
    store_close(store);
    scratch_end(folder);
}

/* A log that was not merged yet, as a killed process leaves it. */
static void a_damaged_log_of_sqlite_loses_nothing_unnoticed(void **unused) {
    (void)unused;
    char *folder = scratch(), *copy = scratch();
    struct store *store = open_ok(folder);
    for (int i = 0; i < 20; i++)
        append(store, "{\"what\":\"a short one\"}");
    char command[200];
    snprintf(command, sizeof command, "cp %s/session.db* %s", folder, copy);
    assert_int_equal(system(command), 0);
    store_close(store);
    char *path = path_join(copy, "session.db-wal");
    struct image image = image_of(path);
    for (size_t at = 5; at < image.size; at += image.size / 9) {
        struct err err = {0};
        image.bytes[at] ^= 16;
        image_put(path, &image);
        char *now = all_events(copy, &err);
        assert_string_equal(now, "");
        assert_int_equal(err.kind, ERR_DAMAGED);
        free(now);
        image.bytes[at] ^= 16;
        struct image still = image_of(path); /* what can be saved was not tidied up */
        assert_int_equal(still.size, image.size);
        free(still.bytes);
    }
    image_put(path, &image);
    struct err err = {0};
    char *now = all_events(copy, &err);
    assert_non_null(strstr(now, "\n20 1000 test"));
    free(now);
    free(image.bytes);
    free(path);
    scratch_end(copy);
    scratch_end(folder);
}

/* A power cut takes the end of the log that was not merged yet. */
static void a_lost_end_is_told_as_one(void **unused) {
    (void)unused;
    char *folder = scratch(), *copy = scratch();
    struct store *store = open_ok(folder);
    for (int i = 0; i < 20; i++)
        append(store, "{\"what\":\"a short one\"}");
    char command[200];
    snprintf(command, sizeof command, "cp %s/session.db* %s", folder, copy);
    assert_int_equal(system(command), 0);
    store_close(store);
    char *path = path_join(copy, "session.db-wal");
    struct image image = image_of(path);
    assert_int_equal(truncate(path, (off_t)(image.size * 3 / 4)), 0);
    struct err err = {0};
    free(all_events(copy, &err));
    assert_int_equal(err.kind, ERR_DAMAGED);
    assert_non_null(
        strstr(err.text, "20 events were stored: the end is missing, as after a power"));
    free(image.bytes);
    free(path);
    scratch_end(copy);
    scratch_end(folder);
}

static void a_session_that_vanishes_stops_the_log(void **unused) {
    (void)unused;
    static const char *const ways[] = {"rm $S/session.db", "mv $S/session.db $S/other",
                                       "cp $S/session.db $S/x; mv $S/x $S/session.db",
                                       "rm $S/session.db-wal", "rm -r $S"};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        char *top = scratch(), *folder = path_join(top, "silu");
        struct err err = {0};
        struct buf command = {0};
        struct store *store = open_ok(folder);
        append(store, "{}");
        buf_printf(&command, "S=%s; %s", folder, ways[i]);
        assert_int_equal(system(command.at), 0);
        assert_false(store_append(store, 1, "test", "{}", NULL, &err));
        assert_int_equal(err.kind, ERR_DAMAGED);
        assert_non_null(strstr(err.text, "while hone was using it"));
        int count = 0;
        assert_true(store_replay(store, 0, count_event, &count, &err));
        assert_int_equal(count, 1);
        store_close(store);
        buf_free(&command);
        free(folder);
        scratch_end(top);
    }
}

/* The database is gone, but what hone keeps beside it is there. So no new session begins in its
 * place. */
static void a_session_that_is_gone_is_no_new_one(void **unused) {
    (void)unused;
    char *folder = scratch(), *path = path_join(folder, "session.db");
    struct err err = {0};
    fill(folder, 3);
    assert_int_equal(unlink(path), 0);
    assert_null(store_open(folder, false, &err));
    assert_int_equal(err.kind, ERR_DAMAGED);
    assert_false(file_exists(path));
    free(path);
    scratch_end(folder);
}

static void a_damaged_head_is_told(void **unused) {
    (void)unused;
    char *folder = scratch(), *path = path_join(folder, "session.db-head");
    fill(folder, 3);
    struct image image = image_of(path);
    for (size_t at = 0; at < image.size; at += 7) {
        struct err err = {0};
        image.bytes[at] ^= 1;
        image_put(path, &image);
        char *now = all_events(folder, &err);
        assert_string_equal(now, "odd");
        free(now);
        image.bytes[at] ^= 1;
    }
    struct store *store = open_ok(folder);
    append(store, "{}");
    store_close(store);
    struct err err = {0};
    char *now = all_events(folder, &err);
    assert_non_null(strstr(now, "\n4 1000 test"));
    free(now);
    free(image.bytes);
    free(path);
    scratch_end(folder);
}

/* A spoiled head no longer says what there was, but still that there was something. */
static void an_emptied_session_with_a_spoiled_head_is_no_new_one(void **unused) {
    (void)unused;
    char *folder = scratch(), *path = path_join(folder, "session.db"),
         *head = path_join(folder, "session.db-head");
    struct err err = {0};
    fill(folder, 3);
    assert_true(file_write(head, "?", 1, &err));
    assert_int_equal(truncate(path, 0), 0);
    assert_null(store_open(folder, false, &err));
    assert_int_equal(err.kind, ERR_DAMAGED);
    assert_int_equal(truncate(head, 0), 0); /* as a kill leaves it before the first event */
    store_close(open_ok(folder));
    free(head);
    free(path);
    scratch_end(folder);
}

/* SQLite takes one byte for nothing, and would begin a new database. */
static void a_session_that_is_cut_to_a_byte_is_no_new_one(void **unused) {
    (void)unused;
    char *folder = scratch(), *path = path_join(folder, "session.db"),
         *head = path_join(folder, "session.db-head");
    struct err err = {0};
    fill(folder, 3);
    assert_int_equal(truncate(path, 1), 0);
    assert_int_equal(truncate(head, 0), 0);
    assert_null(store_open(folder, false, &err));
    assert_int_equal(err.kind, ERR_DAMAGED);
    assert_non_null(strstr(err.text, "it is cut off after a byte"));
    struct image after = image_of(path);
    assert_int_equal(after.size, 1);
    free(after.bytes);
    free(head);
    free(path);
    scratch_end(folder);
}

static void a_session_that_is_looked_at_stays_as_it_is(void **unused) {
    (void)unused;
    char *folder = scratch(), *path = path_join(folder, "session.db");
    struct err err = {0};
    fill(folder, 10);
    struct image before = image_of(path);
    char *all = all_events(folder, &err);
    struct image after = image_of(path);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.bytes, after.bytes, before.size);
    free(all);
    free(before.bytes);
    free(after.bytes);
    free(path);
    scratch_end(folder);
}

/* Changes a text in the database, wherever it is, in place. */
static void spoil(const char *folder, const char *text) {
    char *path = path_join(folder, "session.db");
    struct image image = image_of(path);
    size_t len = strlen(text), found = 0;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    for (size_t at = 0; at + len <= image.size; at++)
        if (!memcmp(image.bytes + at, text, len)) {
            assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
            fputc(image.bytes[at] ^ 1, file);
            found++;
        }
    assert_true(found > 0 && fclose(file) == 0);
    free(image.bytes);
    free(path);
}

/* Rows that change while a session is open, by a disk that fails, which SQLite does not see. The
 * session is closed in order, or its process is killed. */
static void rows_that_change_in_an_open_session_are_made_again(void **unused) {
    (void)unused;
    for (int killed = 0; killed < 2; killed++) {
        char *folder = scratch();
        struct err err = {0};
        fill(folder, 10);
        pid_t child = fork();
        if (child == 0) {
            struct store *store = store_open(folder, false, &err);
            bool ok = store && store_append(store, 1, "test", "{}", NULL, &err);
            if (ok)
                spoil(folder, "hbm_read_bytes");
            if (!killed)
                store_close(store);
            _exit(!ok);
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        struct store *store = store_open_early(folder, false, &err);
        assert_non_null(store);
        assert_true(store_settle(store, &err));
        assert_non_null(store_note(store));
        assert_non_null(strstr(store_note(store), "hone makes them again"));
        assert_int_equal(store_derived_seq(store), 0);
        append(store, "{}");
        store_close(store);
        store = open_ok(folder);
        assert_null(store_note(store));
        assert_int_equal(store_last_seq(store), 12);
        store_close(store);
        scratch_end(folder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_flipped_bit_is_noticed),
        cmocka_unit_test(any_truncation_is_noticed),
        cmocka_unit_test(the_place_of_the_damage_is_told),
        cmocka_unit_test(a_session_without_a_chain_gets_one),
        cmocka_unit_test(a_damaged_log_of_sqlite_loses_nothing_unnoticed),
        cmocka_unit_test(a_lost_end_is_told_as_one),
        cmocka_unit_test(a_session_that_vanishes_stops_the_log),
        cmocka_unit_test(a_session_that_is_gone_is_no_new_one),
        cmocka_unit_test(a_damaged_head_is_told),
        cmocka_unit_test(an_emptied_session_with_a_spoiled_head_is_no_new_one),
        cmocka_unit_test(a_session_that_is_cut_to_a_byte_is_no_new_one),
        cmocka_unit_test(a_session_that_is_looked_at_stays_as_it_is),
        cmocka_unit_test(rows_that_change_in_an_open_session_are_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
