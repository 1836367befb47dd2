/* SPDX-License-Identifier: Apache-2.0 */
/* Each reason in a summary belongs to what it was said about, and to nothing else. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tune/apply/apply.h"
#include "tune/state/inner.h"
#include "tune/tune.h"

static void event(struct tune_state *state, const char *type, const char *payload) {
    tune_state_apply(state, state->seq + 1, 1000 * state->seq, type, payload);
}

/* An attempt that was made and then got this status and reason. NULL: it stays open. */
static void attempt(struct tune_state *state, int id, const char *status, const char *reason) {
    char text[400];
    snprintf(text, sizeof text, "{\"attempt\": %d, \"parent\": 0, \"source\": \"x = %d\"}", id, id);
    event(state, "attempt", text);
    if (!status)
        return;
    snprintf(text, sizeof text, "{\"attempt\": %d, \"status\": \"%s\", \"reason\": \"%s\"}", id,
             status, reason);
    event(state, "decided", text);
}

static void at_the_gate(struct tune_state *state, const char *step, const char *act) {
    char text[200];
    snprintf(text, sizeof text, "{\"step\": \"%s\"}", step);
    event(state, "step", text);
    snprintf(text, sizeof text, "{\"step\": \"%s\", \"is\": \"ok\"}", step);
    event(state, "step_end", text);
    event(state, "act", act);
}

static struct tune_state *rejected(void) {
    struct tune_state *state = tune_state_new();
    event(state, "session",
          "{\"task\": \"t\", \"gates\": {\"plan\": \"ask\", \"verify\": \"ask\"}}");
    attempt(state, 0, "keep", "seed");
    event(state, "round", "{\"round\": 1}");
    attempt(state, 1, NULL, NULL);
    at_the_gate(state, "verify", "{\"action\": \"reject\", \"text\": \"broken\"}");
    attempt(state, 2, NULL, NULL);
    at_the_gate(state, "verify", "{\"action\": \"reject\", \"text\": \"no\"}");
    attempt(state, 3, NULL, NULL);
    at_the_gate(state, "verify", "{\"action\": \"reject\", \"text\": \"no\"}");
    event(state, "plans", "{\"plans\": [{\"key\": \"k\", \"title\": \"k\"}]}");
    at_the_gate(state, "plan", "{\"action\": \"reject\", \"text\": \"no\"}");
    event(state, "plans", "{\"plans\": [{\"key\": \"l\", \"title\": \"l\"}]}");
    event(state, "plan_failed", "{\"text\": \"it does not apply here\"}");
    attempt(state, 4, "revert", "0.98x");
    attempt(state, 5, "revert", "0.97x");
    attempt(state, 6, "failed", "tile has 256 partitions");
    return state;
}

static void reasons_belong_to_what_they_were_said_about(void **unused) {
    (void)unused;
    struct tune_state *state = rejected();
    struct buf text = {0};
    static const char *const lines[] = {
        " 2x not faster, the last one: 0.97x\n",
        " 2x rejected by you: no\n",
        " 1x rejected by you: broken\n",
        " 1x plan rejected by you: no\n",
        " 1x plan not carried out: it does not apply here\n",
        " 1x does not compile: tile has 256 partitions\n",
    };
    tune_summary_print(state, NULL, "the end", &text);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        if (!strstr(text.at, lines[i]))
            fail_msg("\"%s\" is not in:\n%s", lines[i], text.at);
    buf_free(&text);
    tune_state_free(state);
}

/* What a person left out of a kernel, or moved away from, was not rejected. */
static void only_what_a_person_rejected_is_told_so(void **unused) {
    (void)unused;
    struct tune_state *state = rejected();
    struct buf text = {0};
    attempt(state, 7, NULL, NULL);
    event(state, "act", "{\"action\": \"revert\", \"attempt\": 0}");
    tune_summary_print(state, NULL, "the end", &text);
    assert_non_null(strstr(text.at, " 1x left: you went back to another attempt\n"));
    assert_null(strstr(text.at, "3x rejected by you"));
    buf_free(&text);
    tune_state_free(state);
}

/* As the summary's comment says it, one by one. */
static bool should_be_rung(const struct tune_state *state, const struct tune_attempt *attempt) {
    for (size_t i = 1; i < state->attempts.len; i++) {
        const struct tune_attempt *other = &state->attempts.at[i];
        bool same_round = other->round == attempt->round && other->id != attempt->id;
        bool before = state->width.parents > 1 && other->id < attempt->id;
        bool rivals = other->status == TUNE_STATUS_KEEP && (same_round || before);
        if (rivals && (other->speedup > attempt->speedup ||
                       (other->speedup >= attempt->speedup && other->id < attempt->id)))
            return false;
    }
    return attempt->id > 0 && attempt->status == TUNE_STATUS_KEEP;
}

static void the_ladder_has_the_best_of_each_round(void **unused) {
    (void)unused;
    unsigned seed = 11;
    for (int turn = 0; turn < 40; turn++) {
        struct tune_state *state = tune_state_new();
        state->width.parents = turn % 2 ? 3 : 1;
        for (int i = 0; i < 60; i++) {
            seed = seed * 1103515245 + 12345;
            unsigned draw = seed >> 8;
            *vec_push(&state->attempts) = (struct tune_attempt){
                .id = i,
                .round = i / 4 + (int)(draw % 2),
                .status = draw / 2 % 3 ? TUNE_STATUS_KEEP : TUNE_STATUS_REVERT,
                .speedup = draw / 8 % 9 ? 1 + draw / 128 % 16 / 8.0 + i / 10 : (double)NAN};
        }
        struct tune_summary summary;
        tune_summary_make(state, &summary);
        size_t at = 0;
        for (size_t i = 0; i < state->attempts.len; i++)
            if (should_be_rung(state, &state->attempts.at[i])) {
                assert_true(at < summary.ladder.len);
                assert_int_equal(summary.ladder.at[at++].attempt, i);
            }
        assert_int_equal(at, summary.ladder.len);
        assert_true(at > 3);
        tune_summary_free(&summary);
        tune_state_free(state);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ladder_has_the_best_of_each_round),
        cmocka_unit_test(reasons_belong_to_what_they_were_said_about),
        cmocka_unit_test(only_what_a_person_rejected_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
