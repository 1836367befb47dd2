// SPDX-License-Identifier: Apache-2.0
/* Files that are made from the log agree with it, at whatever moment a process dies. */
#include <sqlite3.h>
#include <sys/stat.h>

#include "tune/fake.h"

#define SOURCE(latency, more) \
    "def kernel(): x = '''\n    # latency " latency "\n    # hbm 500\n    # " more "\n'''\n"

static const struct fake_plan plans[] = {{"better", SOURCE("800", "one"), 0.4, NULL},
                                         {"wrong", SOURCE("100", "wrong"), 0.4, NULL},
                                         {"best", SOURCE("500", "two"), 0.9, NULL}};

static char *file_of(const struct fake *fake, const char *name) {
    return path_join(tune_session_folder(fake->session), name);
}

static char *read_in(const struct fake *fake, const char *name) {
    struct err err = {0};
    char *path = file_of(fake, name), *text = file_read(path, 0, NULL, &err);
    if (!text)
        fail_msg("%s", err.text);
    free(path);
    return text;
}

static void begin(struct fake *fake) {
    fake_begin(fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_int_equal(fake_state(fake)->attempts.len, 4);
}

static void sql(const char *folder, const char *text) {
    char *path = path_join(folder, "session.db");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    free(path);
}

/* Closes the session, does to its files what a death at that moment would do, and opens it. */
static void die(struct fake *fake, const char *text, const char *rows) {
    char *folder = mem_strdup(tune_session_folder(fake->session));
    tune_session_close(fake->session);
    sql(folder, text);
    if (rows)
        fake_file(folder, "experiments.jsonl", rows);
    fake_open(fake);
    free(folder);
}

static size_t cut_last(char *rows) {
    size_t len = strlen(rows);
    assert_true(len > 1);
    for (len--; len && rows[len - 1] != '\n';)
        len--;
    rows[len] = '\0';
    return len;
}

#define FORGET_LAST                                                                 \
    "DELETE FROM attempts WHERE attempt = 3; UPDATE derived SET seq ="              \
    "(SELECT max(seq) FROM events WHERE type = 'decided') - 1; UPDATE derived_rows" \
    " SET bytes = %zu"

static void a_row_that_a_kill_left_out_is_added(void **unused) {
    (void)unused;
    for (int written = 0; written < 3; written++) { /* not at all, torn, whole */
        struct fake fake;
        begin(&fake);
        char *whole = read_in(&fake, "experiments.jsonl"), *rows = mem_strdup(whole);
        char text[400];
        snprintf(text, sizeof text, FORGET_LAST, cut_last(rows));
        size_t most = strlen(whole) - (written == 1 ? 20 : 0);
        if (written)
            memcpy(rows, whole, most);
        if (written)
            rows[most] = '\0';
        die(&fake, text, rows);
        char *mended = read_in(&fake, "experiments.jsonl");
        assert_string_equal(mended, whole);
        free(mended);
        free(rows);
        free(whole);
        fake_end(&fake);
    }
}

static void a_file_that_is_lost_or_of_an_older_hone_is_made_anew(void **unused) {
    (void)unused;
    static const struct {
        const char *sql, *rows;
    } all[] = {{"SELECT 1", ""},
               {"SELECT 1", "{\"round\":0}\n"},
               {"DROP TABLE derived_rows", NULL},
               {"DELETE FROM derived_rows", "half a r"}};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        struct fake fake;
        begin(&fake);
        char *whole = read_in(&fake, "experiments.jsonl");
        die(&fake, all[i].sql, all[i].rows);
        char *mended = read_in(&fake, "experiments.jsonl");
        assert_string_equal(mended, whole);
        free(mended);
        free(whole);
        fake_end(&fake);
    }
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void a_decision_adds_to_the_file_and_a_change_of_mind_replaces_it(void **unused) {
    (void)unused;
    struct fake fake;
    struct stat first, then;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_GATE,
                                         .step = TUNE_STEP_DECIDE,
                                         .gate = TUNE_GATE_ASK});
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_START});
    char *path = file_of(&fake, "experiments.jsonl");
    assert_int_equal(stat(path, &first), 0);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_APPROVE});
    assert_int_equal(fake_state(&fake)->attempts.len, 3);
    assert_int_equal(stat(path, &then), 0);
    assert_true(first.st_ino == then.st_ino && then.st_size > first.st_size);
    fake_act(&fake,
             (struct tune_action){.kind = TUNE_ACT_OVERRULE, .attempt = 1, .text = "inconclusive"});
    assert_int_equal(stat(path, &then), 0);
    assert_true(first.st_ino != then.st_ino);
    char *rows = read_in(&fake, "experiments.jsonl");
    assert_int_equal(count_lines(rows), 3);
    assert_non_null(strstr(rows, "\"inconclusive\""));
    free(rows);
    free(path);
    fake_end(&fake);
}

static void what_is_wrong_is_not_faster_than_anything(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    const struct tune_state *state = fake_state(&fake);
    for (size_t i = 0; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        bool wrong = attempt->verdict.correct == TUNE_ANSWER_NO;
        assert_int_equal(isnan(attempt->speedup), wrong);
        assert_false(isnan(attempt->latency_us));
    }
    assert_true(isnan(state->attempts.at[2].vs_parent));
    fake_end(&fake);
}

static void on_part(void *data, const char *part, enum store_finding is, const char *text) {
    enum store_finding *found = data;
    (void)text;
    if (!strcmp(part, "experiments"))
        *found = is;
}

static enum store_finding check_rows(const char *folder, const char *rows) {
    enum store_finding found = STORE_FINDINGS;
    struct err err = {0};
    fake_file(folder, "experiments.jsonl", rows);
    assert_true(tune_session_check(folder, on_part, &found, &err));
    return found;
}

/* What the device model says after the decision is not in the row. That is no damage. */
static void check_knows_the_rows_of_the_log(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    begin(&fake);
    char *folder = mem_strdup(tune_session_folder(fake.session));
    char *rows = read_in(&fake, "experiments.jsonl"), *less = mem_strdup(rows);
    struct buf other = {0};
    tune_session_close(fake.session);
    struct store *store = store_open(folder, false, &err);
    assert_true(store_append(store, 1, "modelled",
                             "{\"attempt\":1,\"latency_us\":700,\"floor_us\":1.5,\"lines\":[]}",
                             NULL, &err));
    store_close(store);
    assert_int_equal(check_rows(folder, rows), STORE_WHOLE);
    cut_last(less);
    assert_int_equal(check_rows(folder, less), STORE_DAMAGED);
    buf_printf(&other, "%s%s", rows, rows + strlen(less));
    assert_int_equal(check_rows(folder, other.at), STORE_DAMAGED); /* one is there twice */
    buf_clear(&other);
    buf_printf(&other, "%s%.*s", less, (int)(strlen(rows) - strlen(less) - 1), rows + strlen(less));
    assert_int_equal(check_rows(folder, other.at), STORE_DAMAGED); /* its end is missing */
    strstr(rows, "\"attempt\"")[1] = 'A';
    assert_int_equal(check_rows(folder, rows), STORE_DAMAGED);
    buf_free(&other);
    free(less);
    free(rows);
    fake_open(&fake);
    free(folder);
    fake_end(&fake);
}

static void add_event(const char *folder, const char *type, const struct tune_event *event) {
    struct err err = {0};
    struct buf json = {0};
    struct store *store = store_open(folder, false, &err);
    tune_event_write(event, -1, &json);
    assert_true(store_append(store, 1, type, json.at, NULL, &err));
    store_close(store);
    buf_free(&json);
}

/* After the reference changed, the first kernel is measured again: until that is decided, its row
 * is the one from before. */
static void a_row_of_what_is_measured_again_is_no_damage(void **unused) {
    (void)unused;
    struct fake fake;
    begin(&fake);
    char *folder = mem_strdup(tune_session_folder(fake.session));
    char *rows = read_in(&fake, "experiments.jsonl");
    tune_session_close(fake.session);
    add_event(folder, "attempt",
              TUNE_EVENT(ATTEMPT, attempt, .attempt = 0, .parent = -1, .source = "a"));
    assert_int_equal(check_rows(folder, rows), STORE_WHOLE);
    struct buf other = {0};
    buf_printf(&other, "%s%.*s\n", rows, (int)strcspn(rows, "\n"), rows);
    assert_int_equal(check_rows(folder, other.at), STORE_DAMAGED); /* it is there once */
    add_event(
        folder, "decided",
        TUNE_EVENT(DECIDED, decided, .attempt = 0, .status = TUNE_STATUS_KEEP, .reason = "again"));
    assert_int_equal(check_rows(folder, rows), STORE_DAMAGED); /* it has a new one */
    buf_free(&other);
    free(rows);
    fake_open(&fake);
    free(folder);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_that_a_kill_left_out_is_added),
        cmocka_unit_test(a_file_that_is_lost_or_of_an_older_hone_is_made_anew),
        cmocka_unit_test(a_decision_adds_to_the_file_and_a_change_of_mind_replaces_it),
        cmocka_unit_test(check_knows_the_rows_of_the_log),
        cmocka_unit_test(a_row_of_what_is_measured_again_is_no_damage),
        cmocka_unit_test(what_is_wrong_is_not_faster_than_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
