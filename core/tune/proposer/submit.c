/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that agents hand in, in the loop. Plan and kernel came together, so they come from here
 * instead of from the proposer. All else is as for any other proposal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/proposer/inner.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"

#define MOST_BYTES ((size_t)1 << 20) /* of a kernel */
#define MOST_TEXT ((size_t)8000)     /* of each text of a plan */
#define MOST_WAITING 64

/* ------------------------------------------------------------------------------- handing in */

static int waiting(const struct tune_state *state) {
    struct tune_submission_view view;
    int count = 0;
    for (size_t i = 0; i < state->submissions.len; i++)
        count +=
            tune_submission_look(state, (int)i + 1, &view) && view.is == TUNE_SUBMISSION_QUEUED;
    return count;
}

static bool plan_check(const struct tune_plan *plan, struct err *err) {
    const char *const texts[] = {plan->title, plan->what, plan->why, plan->strategy, plan->metric};
    if (!str_trim(str_of(plan->title)).len)
        return err_set(err, ERR_USAGE, "a plan needs a title: one line that says what is changed");
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i] && strlen(texts[i]) > MOST_TEXT)
            return err_set(err, ERR_USAGE,
                           "a text of the plan has %zu bytes; at most %zu are taken",
                           strlen(texts[i]), MOST_TEXT);
    return true;
}

static bool source_check(const char *source, struct err *err) {
    size_t len = source ? strlen(source) : 0;
    if (!str_trim(str_of(source)).len)
        return err_set(err, ERR_USAGE, "the kernel is empty: hand in its whole source");
    return len <= MOST_BYTES ||
           err_set(err, ERR_USAGE, "the kernel has %zu bytes; at most %zu are taken", len,
                   MOST_BYTES);
}

static bool session_check(const struct tune_session *session, struct err *err) {
    const struct tune_state *state = session->state;
    if (state->read_only)
        return err_set(err, ERR_USAGE, "nothing can be handed in: this session is %s%s",
                       state->held_by ? "open in " : "open to look at only",
                       state->held_by ? state->held_by : "");
    if (tune_search_is_wide(state))
        return err_set(err, ERR_USAGE,
                       "this session searches in beams, which take no kernels from outside; begin "
                       "one with --search greedy");
    return waiting(state) < MOST_WAITING ||
           err_set(err, ERR_USAGE, "%d kernels wait already: wait until one was decided about",
                   MOST_WAITING);
}

int tune_session_submit(struct tune_session *session, const struct tune_plan *plan,
                        const char *source, struct err *err) {
    int number = (int)session->state->submissions.len + 1;
    struct tune_plan own = *plan;
    char key[32];
    if (!session_check(session, err) || !plan_check(plan, err) || !source_check(source, err))
        return 0;
    snprintf(key, sizeof key, "submission:%d", number);
    own.key = key;
    own.what = own.what ? own.what : "";
    own.why = own.why ? own.why : "";
    own.metric = own.metric ? own.metric : "latency";
    own.sweep = NULL;
    own.held = TUNE_ANSWER_UNKNOWN;
    own.moved = NAN;
    own.edited = own.revised = false;
    if (!tune_emit(session, TUNE_ALL_LANES,
                   TUNE_EVENT(SUBMITTED, submitted, .plan = &own, .source = source))) {
        err_set(err, ERR_ENVIRONMENT, "it could not be written down: %s",
                session->trouble ? session->trouble : "the session was halted");
        return 0;
    }
    tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "agent", "%s hands in %s: %s",
                  own.author ? own.author : "an agent", key, own.title);
    tune_advance(session);
    return number;
}

/* ------------------------------------------------------------------------------ in the loop */

bool tune_submission_plan(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    int number = tune_submission_next(state);
    if (!number)
        return false;
    struct tune_plan plan = state->submissions.at[number - 1].plan;
    if (tune_emit(session, lane, TUNE_EVENT(PLANS, plans, .plans = {&plan, 1})))
        tune_step_done(session, lane, TUNE_STEP_PLAN, TUNE_IS_OK, "%s: %s",
                       plan.author ? plan.author : "an agent", plan.title);
    return true;
}

bool tune_submission_rewrite(const struct tune_plan *plan, struct tune_reply *reply) {
    const struct tune_submission *submission = tune_submission_of(reply->work.session->state, plan);
    if (!submission)
        return false;
    tune_reply_author(reply, plan->author ? plan->author : "an agent");
    tune_reply_candidate(reply, str_of(submission->source));
    return true;
}

/* ------------------------------------------------------------------- who only takes these */

static void plan(void *self, const struct tune_context *context, struct tune_reply *reply) {
    (void)self, (void)context;
    tune_reply_failed(reply, "no kernel waits; agents hand them in (hone mcp)");
}

static void rewrite(void *self, const struct tune_context *context, const struct tune_plan *plan,
                    struct tune_reply *reply) {
    (void)self, (void)context, (void)plan;
    tune_reply_failed(reply, "nobody here carries out plans; agents hand in whole kernels");
}

struct tune_proposer *tune_agents_new(void) {
    struct tune_proposer *proposer = mem_alloc(1, sizeof *proposer);
    *proposer = (struct tune_proposer){
        .name = "agents", .self = proposer, .plan = plan, .rewrite = rewrite, .free = free};
    return proposer;
}
