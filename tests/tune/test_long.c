// SPDX-License-Identifier: Apache-2.0
/* Long sessions: read back at once and in slices, taken back decision by decision. What was read is
 * the same either way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <unistd.h>

#include "bench/long_session.h"
#include "loop/loop.h"
#include "tune/read/testing.h"
#include "tune/sums/testing.h"
#include "tune/apply/apply.h"
#include "tune/read/read.h"
#include "tune/session/inner.h"
#include "tune/state/inner.h"

#define ATTEMPTS 150

static char folder[] = "/tmp/hone_long_XXXXXX";

static int begin(void **unused) {
    (void)unused;
    if (!mkdtemp(folder))
        return -1;
    setenv("XDG_STATE_HOME", folder, 1);
    long_write(folder, ATTEMPTS);
    return 0;
}

static int end(void **unused) {
    struct err err = {0};
    (void)unused;
    return file_remove_tree(folder, &err) ? 0 : -1;
}

struct opened {
    bool done;
    struct err err;
};

static void on_opened(void *data, const struct err *err) {
    struct opened *opened = data;
    opened->done = true;
    opened->err = *err;
}

static char *printed(const struct tune_state *state) {
    struct buf out = {0};
    tune_state_print(state, &out);
    return buf_take(&out);
}

static struct tune_session *open_it(struct loop *loop, bool early) {
    struct tune_options options = {.task = folder, .idle = true, .early = early};
    struct err err = {0};
    struct tune_session *session = tune_session_open(&options, loop, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static char *read_at_once(void) {
    struct loop *loop = loop_new();
    struct tune_session *session = open_it(loop, false);
    char *text = printed(tune_session_state(session));
    assert_false(tune_session_state(session)->opening);
    tune_session_close(session);
    loop_free(loop);
    return text;
}

/* A machine that reads all of it before the first frame has nothing to wait for. */
static void a_log_that_is_read_in_slices_is_the_same(void **unused) {
    (void)unused;
    struct loop *loop = loop_new();
    struct tune_session *session = open_it(loop, true);
    const struct tune_state *state = tune_session_state(session);
    struct opened opened = {.done = !state->opening};
    struct tune_action start = {.kind = TUNE_ACT_START};
    struct err err = {0};
    tune_session_on_opened(session, on_opened, &opened);
    if (state->opening) {
        assert_true(state->opened >= 0 && state->opened < 1);
        assert_false(tune_session_act(session, &start, &err));
        assert_non_null(strstr(err.text, "still being read"));
        assert_false(tune_session_is_busy(session));
        assert_true(loop_run_until(loop, &opened.done, 60000));
    }
    assert_int_equal(opened.err.kind, ERR_NONE);
    assert_false(state->opening);
    assert_int_equal(state->attempts.len, ATTEMPTS + 1);
    char *slices = printed(state), *whole = read_at_once();
    assert_string_equal(slices, whole);
    free(slices);
    free(whole);
    tune_session_close(session);
    loop_free(loop);
}

static void one_that_is_closed_while_it_is_read_is_let_go(void **unused) {
    (void)unused;
    struct loop *loop = loop_new();
    struct tune_session *session = open_it(loop, true);
    tune_session_summarise(session, "nobody waits");
    tune_session_close(session);
    loop_free(loop);
    char *whole = read_at_once();
    assert_null(strstr(whole, "nobody waits"));
    free(whole);
}

static void equal_texts_are_kept_once(void **unused) {
    (void)unused;
    struct loop *loop = loop_new();
    struct tune_session *session = open_it(loop, false);
    const struct tune_state *state = tune_session_state(session);
    const struct tune_attempt *one = tune_state_attempt(state, 3);
    const struct tune_attempt *other = tune_state_attempt(state, 120);
    assert_true(one->metrics.len > 10);
    for (size_t i = 0; i < one->metrics.len; i++)
        assert_ptr_equal(one->metrics.names[i].name, other->metrics.names[i].name);
    assert_string_not_equal(tune_source(state, one), tune_source(state, other));
    tune_session_close(session);
    loop_free(loop);
}

/* The script has an experience of every attempt. One in four repeats what is known. */
static void what_was_found_before_is_found_among_many(void **unused) {
    (void)unused;
    struct loop *loop = loop_new();
    struct tune_session *session = open_it(loop, false);
    const struct tune_state *state = tune_session_state(session);
    int merged = 0;
    for (size_t i = 0; i < state->memory.len; i++) {
        merged += state->memory.at[i].merged;
        for (size_t k = 0; k < i; k++)
            assert_false(tune_memory_same(&state->memory.at[i], &state->memory.at[k]));
    }
    assert_int_equal(state->memory.len + (size_t)merged, ATTEMPTS);
    assert_true(merged > ATTEMPTS / 8);
    tune_session_close(session);
    loop_free(loop);
}

static void emit(struct tune_state *state, const char *type, const char *payload) {
    tune_state_apply(state, state->seq + 1, LONG_START_MS + state->seq, type, payload);
}

static void overrule(struct tune_state *state, int attempt, const char *as) {
    struct buf text = {0};
    buf_printf(&text, "{\"action\":\"overrule\",\"attempt\":%d,\"text\":\"%s\"}", attempt, as);
    emit(state, "act", text.at);
    buf_free(&text);
}

static bool replay_one(void *data, const struct store_event *event) {
    tune_state_apply(data, event->seq, event->wall_ms, event->type, event->payload);
    return true;
}

static struct tune_state *replay(void) {
    struct tune_state *state = tune_state_new();
    struct err err = {0};
    char *hone = path_join(folder, ".hone"), *place = path_join(hone, path_base(folder));
    struct store *store = store_open(place, true, &err);
    assert_non_null(store);
    assert_true(store_replay(store, 0, replay_one, state, &err));
    store_close(store);
    free(place);
    free(hone);
    return state;
}

/* Threads read a log of this length. Replay works without them. */
static void what_is_read_ahead_is_the_same(void **unused) {
    (void)unused;
    free(read_at_once()); /* what the first opening adds is there */
    char *ahead = read_at_once();
    struct tune_state *state = replay();
    char *plain = printed(state);
    assert_string_equal(ahead, plain);
    tune_state_free(state);
    free(plain);
    free(ahead);
}

#define DECISIONS 60

static unsigned status_sum(const struct tune_state *state) {
    unsigned sum = (unsigned)(state->best * 31 + state->incumbent);
    for (size_t i = 0; i < state->attempts.len; i++)
        sum = sum * 7 + (unsigned)state->attempts.at[i].status;
    return sum;
}

/* Every way of going back and forth through many decisions ends where it began. */
static void many_decisions_are_taken_back_and_done_again(void **unused) {
    (void)unused;
    struct tune_state *state = replay();
    unsigned sums[DECISIONS + 1];
    for (int i = 0; i < DECISIONS; i++) {
        sums[i] = status_sum(state);
        overrule(state, 1 + i * 13 % 97, i % 3 ? "keep" : "revert");
    }
    sums[DECISIONS] = status_sum(state);
    for (int back = 1; back <= DECISIONS; back += 7) {
        for (int i = DECISIONS; i > DECISIONS - back; i--) {
            assert_int_equal(status_sum(state), sums[i]);
            emit(state, "act", "{\"action\":\"undo\"}");
        }
        for (int i = DECISIONS - back; i < DECISIONS; i++) {
            assert_int_equal(status_sum(state), sums[i]);
            emit(state, "act", "{\"action\":\"redo\"}");
        }
    }
    assert_int_equal(status_sum(state), sums[DECISIONS]);
    tune_state_free(state);
}

/* Every decision of a session, the loop's too, one by one to the first and back to the last. */
static void all_decisions_are_taken_back_one_by_one(void **unused) {
    (void)unused;
    struct tune_state *state = replay();
    VEC(unsigned) sums = {0};
    size_t count = 0;
    for (; tune_can(state, 0, TUNE_ACT_TAKE_BACK); count++) {
        struct tune_back back;
        *vec_push(&sums) = status_sum(state);
        assert_true(tune_back_of(state, &back) && back.what && *back.what);
        emit(state, "act", "{\"action\":\"take-back\"}");
        assert_true(count < 4 * ATTEMPTS);
    }
    assert_true(count >= MIN_OF(ATTEMPTS, 1000));
    for (size_t i = count; i-- > 0;) {
        emit(state, "act", "{\"action\":\"do-again\"}");
        assert_int_equal(status_sum(state), sums.at[i]);
    }
    assert_false(tune_can(state, 0, TUNE_ACT_DO_AGAIN));
    vec_free(&sums);
    tune_state_free(state);
}

static void find_again(struct tune_state *state, int attempt) {
    struct buf text = {0};
    buf_printf(&text,
               "{\"attempt\":%d,\"against\":0,\"title\":\"Keep it\",\"summary\":\"In SBUF.\","
               "\"speedup\":1.5,\"is\":\"proposed\"}",
               attempt);
    emit(state, "experience", text.at);
    buf_free(&text);
}

/* Evidence grows in place. What a step that is taken back has of it does not. */
static void evidence_that_grew_is_taken_back_as_it_was(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    const char *before = NULL;
    for (int i = 1; i <= 40; i++)
        find_again(state, i);
    assert_int_equal(state->memory.len, 1);
    assert_int_equal(state->memory.at[0].merged, 39);
    before = state->memory.at[0].evidence;
    assert_true(str_starts(str_of(before), "#2 against #0, #3 against #0, "));
    assert_true(str_ends(str_of(before), ", #40 against #0"));
    char *then = mem_strdup(before);
    emit(state, "act", "{\"action\":\"approve-memory\",\"index\":0}");
    assert_int_equal(state->memory.at[0].is, TUNE_EXPERIENCE_APPROVED);
    for (int i = 41; i <= 80; i++)
        find_again(state, i);
    char *now = mem_strdup(state->memory.at[0].evidence);
    assert_true(str_ends(str_of(now), ", #80 against #0"));
    emit(state, "act", "{\"action\":\"undo\"}");
    assert_string_equal(state->memory.at[0].evidence, then);
    find_again(state, 81);
    assert_true(str_ends(str_of(state->memory.at[0].evidence), ", #40 against #0, #81 against #0"));
    emit(state, "act", "{\"action\":\"redo\"}");
    assert_string_equal(state->memory.at[0].evidence, now);
    free(now);
    free(then);
    tune_state_free(state);
}

/* The oldest lines go, a quarter at once. The texts of the others stay what they were. */
static void lines_of_a_long_log_keep_their_texts(void **unused) {
    (void)unused;
    struct tune_state *state = tune_state_new();
    const int count = TUNE_LOG_MAX + TUNE_LOG_MAX / 2 + 7;
    for (int i = 0; i < count; i++) {
        char text[120];
        snprintf(text, sizeof text,
                 "{\"level\":\"info\",\"phase\":\"verify\",\"text\":\"line %d of the log\"}", i);
        emit(state, "log", text);
    }
    assert_int_equal(state->logs_gone + (int64_t)state->logs.len, count);
    assert_true(state->logs.len <= TUNE_LOG_MAX && state->logs.len > TUNE_LOG_MAX / 2);
    for (size_t i = 0; i < state->logs.len; i++) {
        char text[60];
        snprintf(text, sizeof text, "line %lld of the log",
                 (long long)state->logs_gone + (long long)i);
        assert_string_equal(state->logs.at[i].text, text);
    }
    tune_state_free(state);
}

struct whole {
    size_t damaged;
    bool rows;
};

static void on_part(void *data, const char *part, enum store_finding is, const char *text) {
    struct whole *whole = data;
    (void)text;
    /* The log of a long session names profiles that nobody made. */
    whole->damaged += is == STORE_DAMAGED && strcmp(part, "artefacts") != 0;
    whole->rows |= !strcmp(part, "experiments") && is == STORE_WHOLE;
}

/* Rows of many attempts are made in slices; what is decided in the meantime is in the file, too. */
static void a_lost_file_is_made_anew_while_the_session_is_used(void **unused) {
    (void)unused;
    struct loop *loop = loop_new();
    char *hone = path_join(folder, ".hone"), *place = path_join(hone, path_base(folder));
    char *rows = path_join(place, "experiments.jsonl");
    struct err err = {0};
    unlink(rows);
    struct tune_session *session = open_it(loop, false);
    assert_false(file_exists(rows));
    assert_non_null(session->slices);
    struct tune_action overrule = {
        .kind = TUNE_ACT_OVERRULE, .attempt = 7, .text = "keep", .index = -1};
    if (!tune_session_act(session, &overrule, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 6000 && session->slices; i++) {
        bool never = false;
        (void)!loop_run_until(loop, &never, 10);
    }
    assert_null(session->slices);
    assert_true(file_exists(rows));
    tune_session_close(session);
    struct whole whole = {0};
    assert_true(tune_session_check(place, on_part, &whole, &err));
    assert_true(whole.rows);
    assert_int_equal(whole.damaged, 0);
    loop_free(loop);
    free(rows);
    free(place);
    free(hone);
}

static void spoil(int64_t seq) {
    char *hone = path_join(folder, ".hone"), *place = path_join(hone, path_base(folder));
    char *path = path_join(place, "session.db"), text[160];
    sqlite3 *db = NULL;
    snprintf(text, sizeof text,
             "UPDATE events SET payload = replace(payload, 'nl.', 'nX.') WHERE seq = %lld",
             (long long)seq);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    free(path);
    free(place);
    free(hone);
}

/* A kernel is left in the log, which may change after it was read. Then nothing is added to it. */
static void a_kernel_that_changed_since_is_not_believed(void **unused) {
    (void)unused;
    struct loop *loop = loop_new();
    struct tune_session *session = open_it(loop, false);
    const struct tune_state *state = tune_session_state(session);
    struct tune_action action = {.kind = TUNE_ACT_SET_GATE, .gate = TUNE_GATE_ASK};
    struct err err = {0};
    const struct tune_attempt *one = tune_state_attempt(state, 5);
    assert_non_null(strstr(tune_source(state, tune_state_attempt(state, 6)), "nl."));
    assert_null(one->source_kept);
    spoil(one->source_seq);
    assert_null(state->trouble);
    assert_string_equal(tune_source(state, one), "");
    assert_non_null(strstr(state->trouble, "is damaged"));
    assert_false(tune_session_act(session, &action, &err));
    assert_non_null(strstr(err.text, "is damaged"));
    tune_session_close(session);
    loop_free(loop);
}

/* Nobody looked at them: what lines cost is where it was. */
static void costs_of_lines_are_left_in_the_log(void **unused) {
    (void)unused;
    struct loop *loop = loop_new();
    struct tune_session *session = open_it(loop, false);
    const struct tune_state *state = tune_session_state(session);
    const struct tune_attempt *one = tune_state_attempt(state, 4);
    assert_true(one->lines_seq > 0);
    assert_int_equal(one->lines_kept.len, 0);
    struct tune_lines lines = tune_lines(state, one);
    assert_true(lines.len > 10);
    assert_string_equal(lines.at[0].engine, "DMA");
    assert_true(lines.at[0].line > 0 && lines.at[0].us > 0);
    assert_int_equal(one->lines_seq, 0);
    assert_ptr_equal(tune_lines(state, one).at, lines.at);
    tune_session_close(session);
    loop_free(loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_log_that_is_read_in_slices_is_the_same),
        cmocka_unit_test(what_is_read_ahead_is_the_same),
        cmocka_unit_test(evidence_that_grew_is_taken_back_as_it_was),
        cmocka_unit_test(lines_of_a_long_log_keep_their_texts),
        cmocka_unit_test(one_that_is_closed_while_it_is_read_is_let_go),
        cmocka_unit_test(equal_texts_are_kept_once),
        cmocka_unit_test(what_was_found_before_is_found_among_many),
        cmocka_unit_test(many_decisions_are_taken_back_and_done_again),
        cmocka_unit_test(a_lost_file_is_made_anew_while_the_session_is_used),
        cmocka_unit_test(all_decisions_are_taken_back_one_by_one),
        cmocka_unit_test(costs_of_lines_are_left_in_the_log),
        cmocka_unit_test(a_kernel_that_changed_since_is_not_believed), /* spoils the session */
    };
    return cmocka_run_group_tests(tests, begin, end);
}
