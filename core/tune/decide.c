/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that judge: whether a prediction held, whether a candidate is kept, what is learnt from
 * it. They use numbers that are there and run nothing. */
#include <math.h>
#include <stdlib.h>

#include "tune/driver.h"

/* A prediction holds when the metric moved the right way by at least half of what was said; less
 * than that is inconclusive. */
#define HELD_SHARE 0.5
#define MOVED_AT_ALL 0.005
#define SAME 0.0005 /* latencies that differ by less are called the same */
#define SNIPPET_LINES 30

/* Relative change of a metric from the parent to the attempt; NAN when either is not known. */
static double metric_moved(const struct tune_attempt *from, const struct tune_attempt *to,
                           const char *metric) {
    double before = tune_attempt_metric(from, metric), after = tune_attempt_metric(to, metric);
    if (isnan(before) || isnan(after))
        return NAN;
    if (before == 0)
        return after == 0 ? 0 : (double)NAN;
    return (after - before) / fabs(before);
}

static enum tune_answer prediction_held(const struct tune_plan *plan, double moved) {
    if (isnan(moved) || !plan->metric)
        return TUNE_ANSWER_UNKNOWN;
    double right = plan->direction == TUNE_DIRECTION_DOWN ? -moved : moved;
    if (right < MOVED_AT_ALL)
        return TUNE_ANSWER_NO;
    double wanted = isnan(plan->size) ? 0 : plan->size * HELD_SHARE;
    return right >= wanted ? TUNE_ANSWER_YES : TUNE_ANSWER_INCONCLUSIVE;
}

void tune_score(struct tune_session *session, int id) {
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    const struct tune_attempt *parent = tune_state_attempt(session->state, attempt->parent);
    if (!parent || !attempt->plan.metric)
        return;
    double moved = metric_moved(parent, attempt, attempt->plan.metric);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", id);
    tune_json_put_text(payload, "held", tune_answer_word(prediction_held(&attempt->plan, moved)));
    tune_json_put_number(payload, "moved", moved);
    tune_emit(session, "scored", payload);
}

/* --------------------------------------------------------------------------------------- decide */

struct decision {
    enum tune_status status;
    struct buf reason;
};

static void latencies_print(struct buf *out, const struct tune_attempt *from,
                            const struct tune_attempt *to) {
    clock_print_duration(out, from->latency_us * 1e-6);
    buf_puts(out, " -> ");
    clock_print_duration(out, to->latency_us * 1e-6);
}

/* What the check found wrong, if anything. */
static bool decide_by_check(const struct tune_verdict *verdict, struct decision *decision) {
    if (verdict->compiles != TUNE_ANSWER_YES) {
        decision->status = TUNE_STATUS_FAILED;
        buf_puts(&decision->reason,
                 verdict->compiles_why ? verdict->compiles_why : "it does not compile");
    } else if (verdict->correct == TUNE_ANSWER_NO) {
        decision->status = TUNE_STATUS_FAILED;
        buf_puts(&decision->reason,
                 verdict->correct_why ? verdict->correct_why : "it is not correct");
    } else if (verdict->credible == TUNE_ANSWER_NO) {
        decision->status = TUNE_STATUS_SUSPECT;
        buf_puts(&decision->reason,
                 verdict->credible_why ? verdict->credible_why : "its result is not credible");
    } else {
        return false;
    }
    return true;
}

static void decide_by_speed(const struct tune_state *state, const struct tune_attempt *attempt,
                            struct decision *decision) {
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    if (!parent || isnan(attempt->latency_us)) {
        decision->status = TUNE_STATUS_INCONCLUSIVE;
        buf_puts(&decision->reason, "it was not measured");
        return;
    }
    double gain = attempt->modelled ? 1 - attempt->latency_us / parent->latency_us
                                    : 1 - 1 / attempt->vs_parent;
    decision->status = TUNE_STATUS_REVERT;
    if (best && attempt->latency_us > best->latency_us * (1 + TUNE_DIVERGENCE)) {
        buf_printf(&decision->reason, "divergence guard: %.0f %% slower than the best, ",
                   (attempt->latency_us / best->latency_us - 1) * 100);
    } else if (attempt->verdict.faster == TUNE_ANSWER_INCONCLUSIVE) {
        decision->status = TUNE_STATUS_INCONCLUSIVE;
        buf_puts(&decision->reason, tune_not_again(attempt) ? "not faster when measured again, "
                                                            : "the samples overlap, ");
    } else if (attempt->verdict.faster == TUNE_ANSWER_YES && gain >= TUNE_MIN_GAIN) {
        decision->status = TUNE_STATUS_KEEP;
        buf_printf(&decision->reason, "%.2fx faster, ", attempt->vs_parent);
    } else if (gain > SAME) {
        buf_printf(&decision->reason, "a gain of %.2f %% is below %.1f %%, ", gain * 100,
                   TUNE_MIN_GAIN * 100);
    } else if (gain < -SAME) {
        buf_printf(&decision->reason, "%.1f %% slower, ", -gain * 100);
    } else {
        buf_puts(&decision->reason, "no change, ");
    }
    latencies_print(&decision->reason, parent, attempt);
}

void tune_decide(struct tune_session *session) {
    const struct tune_state *state = session->state;
    int id = state->current;
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    struct decision decision = {0};
    if (!decide_by_check(&attempt->verdict, &decision))
        decide_by_speed(state, attempt, &decision);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", id);
    tune_json_put_text(payload, "status", tune_status_word(decision.status));
    tune_json_put_text(payload, "reason", decision.reason.at);
    if (tune_emit(session, "decided", payload)) {
        tune_export(session, id);
        tune_memory_contradict(session, tune_state_attempt(state, id));
        bool doubtful =
            decision.status == TUNE_STATUS_INCONCLUSIVE || decision.status == TUNE_STATUS_SUSPECT;
        tune_step_done(session, TUNE_STEP_DECIDE, doubtful ? TUNE_IS_FAILED : TUNE_IS_OK, "%s: %s",
                       tune_status_word(decision.status), decision.reason.at);
    }
    buf_free(&decision.reason);
}

/* ------------------------------------------------------------------------------------ summarise */

/* The changed lines of one side of the difference between two sources. */
static void snippet_print(struct buf *out, const char *source, const struct tune_hunk *hunks,
                          size_t count, bool new_side) {
    int lines = 0;
    for (size_t h = 0; h < count; h++) {
        int first = new_side ? hunks[h].new_line : hunks[h].old_line;
        int last = first + (new_side ? hunks[h].new_count : hunks[h].old_count);
        struct str rest = str_of(source), line;
        for (int number = 1; str_next(&rest, '\n', &line) && number < last; number++) {
            if (number < first || lines++ >= SNIPPET_LINES)
                continue;
            buf_add(out, line.at, line.len);
            buf_putc(out, '\n');
        }
    }
}

static void experience_texts(cJSON *payload, const struct tune_attempt *slow,
                             const struct tune_attempt *fast) {
    size_t count = 0;
    struct tune_hunk *hunks = tune_hunks(str_of(slow->source), str_of(fast->source), &count);
    struct buf before = {0}, after = {0};
    snippet_print(&before, slow->source, hunks, count, false);
    snippet_print(&after, fast->source, hunks, count, true);
    tune_json_put_text(payload, "slow", before.at);
    tune_json_put_text(payload, "fast", after.at);
    buf_free(&before);
    buf_free(&after);
    free(hunks);
}

static void experience_emit(struct tune_session *session, const struct tune_attempt *attempt,
                            const struct tune_attempt *parent) {
    const struct tune_state *state = session->state;
    bool gain = attempt->vs_parent >= 1;
    const char *title = attempt->plan.title ? attempt->plan.title : "A change by hand";
    struct buf text = {0};
    if (attempt->plan.what && *attempt->plan.what)
        buf_printf(&text, "%s ", attempt->plan.what);
    buf_puts(&text, gain ? "Measured: " : "It made the kernel slower: ");
    latencies_print(&text, parent, attempt);
    buf_printf(&text, "%s on %s.", attempt->modelled ? " (modelled)" : "", state->device);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", attempt->id);
    cJSON_AddNumberToObject(payload, "against", parent->id);
    tune_json_put_text(payload, "title", title);
    tune_json_put_text(payload, "summary", text.at);
    tune_memory_put_applies(state, payload);
    tune_json_put_text(payload, "key", attempt->plan.key);
    tune_json_put_number(payload, "speedup", attempt->vs_parent);
    tune_json_put_text(payload, "is", tune_experience_word(TUNE_EXPERIENCE_PROPOSED));
    experience_texts(payload, gain ? parent : attempt, gain ? attempt : parent);
    if (tune_emit(session, "experience", payload))
        tune_export_memory(session);
    buf_clear(&text);
    buf_printf(&text, "%s experience proposed: %s", gain ? "positive" : "negative", title);
    tune_step_done(session, TUNE_STEP_SUMMARISE, TUNE_IS_OK, "%s", text.at);
    buf_free(&text);
}

void tune_summarise(struct tune_session *session) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_state_attempt(state, state->current);
    const struct tune_attempt *parent = tune_state_attempt(state, attempt->parent);
    if (parent && (attempt->vs_parent >= TUNE_POSITIVE || attempt->vs_parent <= TUNE_NEGATIVE))
        experience_emit(session, attempt, parent);
    else
        tune_step_done(session, TUNE_STEP_SUMMARISE, TUNE_IS_SKIPPED,
                       "%.3fx is between %.2fx and %.2fx: nothing worth remembering",
                       attempt->vs_parent, TUNE_NEGATIVE, TUNE_POSITIVE);
}

/* -------------------------------------------------------------------------------------- reflect */

static enum tune_category category_of(const struct tune_attempt *attempt) {
    switch (attempt->status) {
    case TUNE_STATUS_KEEP:
        return TUNE_CATEGORY_IMPROVED;
    case TUNE_STATUS_FAILED:
    case TUNE_STATUS_SUSPECT:
        return TUNE_CATEGORY_ERROR;
    case TUNE_STATUS_REJECTED:
        return TUNE_CATEGORY_REJECTED;
    default:
        break;
    }
    return attempt->vs_parent < 1 - MOVED_AT_ALL ? TUNE_CATEGORY_REGRESSION
                                                 : TUNE_CATEGORY_NO_IMPROVEMENT;
}

static void prediction_print(struct buf *out, const struct tune_plan *plan) {
    if (!plan->metric || plan->held == TUNE_ANSWER_UNKNOWN)
        return;
    static const char *const said[] = {[TUNE_ANSWER_YES] = "as predicted",
                                       [TUNE_ANSWER_NO] = "not as predicted",
                                       [TUNE_ANSWER_INCONCLUSIVE] =
                                           "the right way, but by less than predicted"};
    buf_printf(out, " %s moved by %+.1f %%, %s", plan->metric, plan->moved * 100, said[plan->held]);
    if (plan->size >= MOVED_AT_ALL)
        buf_printf(out, " (%s%.0f %%)", plan->direction == TUNE_DIRECTION_DOWN ? "-" : "+",
                   plan->size * 100);
    buf_putc(out, '.');
}

static void lesson_print(struct buf *out, const struct tune_attempt *attempt,
                         const struct tune_attempt *parent) {
    static const char *const heads[] = {[TUNE_CATEGORY_IMPROVED] = "worked",
                                        [TUNE_CATEGORY_NO_IMPROVEMENT] = "brought nothing",
                                        [TUNE_CATEGORY_REGRESSION] = "was a step back",
                                        [TUNE_CATEGORY_ERROR] = "failed",
                                        [TUNE_CATEGORY_REJECTED] = "was rejected"};
    buf_printf(out, "\"%s\" %s: %s.", attempt->plan.title ? attempt->plan.title : "The change",
               heads[category_of(attempt)], attempt->reason ? attempt->reason : "no reason given");
    prediction_print(out, &attempt->plan);
    bool moved = parent && parent->bound_by && attempt->bound_by &&
                 strcmp(parent->bound_by, attempt->bound_by) != 0;
    if (moved)
        buf_printf(out, " What limits it moved from %s to %s.", parent->bound_by,
                   attempt->bound_by);
}

static void note_emit(struct tune_session *session, const struct tune_attempt *attempt) {
    const struct tune_attempt *parent = tune_state_attempt(session->state, attempt->parent);
    struct buf text = {0};
    lesson_print(&text, attempt, parent);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "round", session->state->round);
    cJSON_AddNumberToObject(payload, "attempt", attempt->id);
    tune_json_put_text(payload, "lesson", text.at);
    tune_json_put_text(payload, "plan", attempt->plan.title);
    tune_json_put_text(payload, "category", tune_category_word(category_of(attempt)));
    tune_json_put_text(payload, "held", tune_answer_word(attempt->plan.held));
    buf_clear(&text);
    buf_printf(&text, "attempt %d against %d", attempt->id, attempt->parent);
    tune_json_put_text(payload, "evidence", text.at);
    buf_free(&text);
    tune_emit(session, "note", payload);
}

void tune_reflect(struct tune_session *session) {
    const struct tune_state *state = session->state;
    const struct tune_attempt *attempt = tune_state_attempt(state, state->current);
    if (!attempt || attempt->id == 0) {
        tune_step_done(session, TUNE_STEP_REFLECT, TUNE_IS_SKIPPED, "there was no attempt");
        return;
    }
    note_emit(session, attempt);
    const struct tune_note *note = state->notes.len ? &state->notes.at[state->notes.len - 1] : NULL;
    tune_step_done(session, TUNE_STEP_REFLECT, TUNE_IS_OK, "%s",
                   note && note->lesson ? note->lesson : "noted");
}
