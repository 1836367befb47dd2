/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and plans that agents hand in, in the loop. A plan comes from here instead of from the
 * proposer, and so does the kernel where it came with the plan; else the proposer writes it. All
 * else is as for any other proposal. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/proposer/inner.h"
#include "tune/state/state.h"
#include "tune/sums/sums.h"

#define MOST_BYTES ((size_t)1 << 20) /* of a kernel */
#define MOST_TEXT ((size_t)8000)     /* of each text of a plan */
#define MOST_WAITING 64
#define KERNEL_LIMIT_MS 1800000 /* for the kernel of a plan */

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

/* A plan alone that nobody here could carry out takes no person's time. */
static bool carried_check(const struct tune_session *session, const struct tune_plan *plan,
                          struct err *err) {
    bool names_one = str_trim(str_of(plan->strategy ? plan->strategy : "")).len > 0;
    return !session->proposer || !session->proposer->by_key || names_one ||
           err_set(err, ERR_USAGE,
                   "the built-in rewriter writes the kernels here, and it carries out its own "
                   "plans only: \"strategy\" must be a key of menu's plans. For a plan of your own "
                   "hand the kernel in with it: submit");
}

int tune_session_submit(struct tune_session *session, const struct tune_plan *plan,
                        const char *source, struct err *err) {
    int number = (int)session->state->submissions.len + 1;
    struct tune_plan own = *plan;
    char key[32];
    if (!session_check(session, err) || !plan_check(plan, err) ||
        !(source ? source_check(source, err) : carried_check(session, plan, err)))
        return 0;
    snprintf(key, sizeof key, "submission:%d", number);
    own.key = key;
    own.what = own.what ? own.what : "";
    own.why = own.why ? own.why : "";
    own.metric = own.metric ? own.metric : "latency";
    own.sweep = NULL;
    own.held = TUNE_ANSWER_UNKNOWN;
    own.moved = NAN;
    own.source = NULL; /* the submission's own */
    own.edited = own.revised = false;
    if (!tune_emit(session, TUNE_ALL_LANES,
                   TUNE_EVENT(SUBMITTED, submitted, .plan = &own, .source = source))) {
        err_set(err, ERR_ENVIRONMENT, "it could not be written down: %s",
                session->trouble ? session->trouble : "the session was halted");
        return 0;
    }
    tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "agent",
                  "%s hands in %s (submission %d): %s", own.author ? own.author : "an agent",
                  source ? "a kernel" : "a plan", number, own.title);
    tune_advance(session);
    return number;
}

int tune_session_wants_kernel(const struct tune_session *session) {
    const struct tune_reply *reply = session->awaited;
    const struct tune_submission *submission =
        reply ? tune_submission_of(session->state, &reply->plan) : NULL;
    return submission ? (int)(submission - session->state->submissions.at) + 1 : 0;
}

static struct tune_reply *awaited_take(struct tune_session *session) {
    struct tune_reply *reply = session->awaited;
    loop_timer_stop(session->awaited_until);
    session->awaited_until = NULL;
    session->awaited = NULL;
    return reply;
}

static void on_limit(void *data) {
    struct tune_session *session = data;
    session->awaited_until = NULL;
    tune_reply_failed(awaited_take(session), "no kernel came for this plan within half an hour");
}

bool tune_submission_await(struct tune_reply *reply, const char *why) {
    struct tune_session *session = reply->work.session;
    const struct tune_submission *submission = tune_submission_of(session->state, &reply->plan);
    struct buf text = {0};
    if (!submission || session->awaited)
        return false;
    session->awaited = reply;
    session->awaited_until = loop_timer_start(session->loop, KERNEL_LIMIT_MS, 0, on_limit, session);
    buf_printf(&text,
               "%s%sthe plan goes on with its kernel, which %s is to hand in (submit, plan %d)",
               why ? why : "", why ? "; " : "",
               submission->plan.author ? submission->plan.author : "an agent",
               (int)(submission - session->state->submissions.at) + 1);
    tune_reply_log(reply, text.at);
    buf_free(&text);
    return true;
}

bool tune_session_give_up(struct tune_session *session, int number, const char *why) {
    if (!number || tune_session_wants_kernel(session) != number)
        return false;
    tune_emit_log(session, session->awaited->work.lane, TUNE_LEVEL_WARNING, "agent",
                  "plan %d is given up: %s", number, why);
    tune_reply_failed(awaited_take(session), why);
    return true;
}

bool tune_session_carry_out(struct tune_session *session, int number, const char *author,
                            const char *source, struct err *err) {
    if (!number || tune_session_wants_kernel(session) != number)
        return err_set(err, ERR_USAGE,
                       "plan %d waits for no kernel: its turn has not come, a person has not "
                       "approved it, somebody else writes it, or it is over; wait tells",
                       number);
    if (!source_check(source, err))
        return false;
    struct tune_plan plan = session->state->submissions.at[number - 1].plan;
    if (!tune_emit(session, TUNE_ALL_LANES,
                   TUNE_EVENT(SUBMITTED, submitted, .plan = &plan, .source = source)))
        return err_set(err, ERR_ENVIRONMENT, "it could not be written down: %s",
                       session->trouble ? session->trouble : "the session was halted");
    struct tune_reply *reply = awaited_take(session);
    tune_reply_author(reply, author);
    tune_reply_candidate(reply, str_of(source));
    return true;
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
    if (!submission || !submission->source)
        return false;
    tune_reply_author(reply, plan->author ? plan->author : "an agent");
    tune_reply_candidate(reply, str_of(submission->source));
    return true;
}

struct tune_plan tune_submission_carried(const struct tune_state *state,
                                         const struct tune_plan *plan) {
    const struct tune_submission *submission = tune_submission_of(state, plan);
    struct tune_plan carried = *plan;
    if (submission && !submission->source)
        carried.key = plan->strategy;
    return carried;
}

/* ------------------------------------------------------------------- who only takes these */

static void plan(void *self, const struct tune_context *context, struct tune_reply *reply) {
    (void)self, (void)context;
    tune_reply_failed(reply, "no kernel waits; agents hand them in (hone mcp)");
}

static void rewrite(void *self, const struct tune_context *context, const struct tune_plan *plan,
                    struct tune_reply *reply) {
    (void)self, (void)context, (void)plan;
    if (!tune_submission_await(reply, NULL))
        tune_reply_failed(reply, "nobody here carries out plans; agents hand in whole kernels");
}

static void agents_free(void *self) {
    free(self);
}

/* They take part by themselves, and are asked for nothing but the kernels of plans that they handed
 * in without one. */
struct tune_proposer *tune_agents_new(void) {
    struct tune_proposer *agents = mem_alloc(1, sizeof *agents);
    *agents = (struct tune_proposer){.name = "agents",
                                     .asks_nobody = true,
                                     .self = agents,
                                     .plan = plan,
                                     .rewrite = rewrite,
                                     .free = agents_free};
    return agents;
}
