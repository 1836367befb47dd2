/* SPDX-License-Identifier: Apache-2.0 */
/* What is under way: requests to the proposer, inspections, evaluations. Each is for one step of
 * one lane, and is given up when nobody wants it any more. What is started, and what comes of it,
 * is decided elsewhere. */
#include <stdlib.h>

#include "tune/session/inner.h"

struct tune_work tune_work_of(struct tune_session *session, int lane, enum tune_step step) {
    return (struct tune_work){session, lane, session->state->round, step};
}

static bool is_wanted(const struct tune_work *work) {
    const struct tune_state *state = work->session->state;
    const struct tune_lane *lane = tune_lane_of(state, work->lane);
    if (state->step != work->step || state->steps[work->step].is != TUNE_IS_RUNNING ||
        work->round != state->round)
        return false;
    return lane->is == TUNE_IS_RUNNING && !lane->closed && lane->next == work->step;
}

/* ---------------------------------------------------------------------------------- looking */

/* `lane` -2: any. */
static bool works(const struct tune_session *session, int lane) {
    for (const struct tune_reply *at = session->replies; at; at = at->next)
        if (!at->done && (lane == -2 || at->work.lane == lane))
            return true;
    for (const struct tune_evaluation *at = session->evaluations; at; at = at->next)
        if (!at->given_up && (lane == -2 || at->work.lane == lane))
            return true;
    struct tune_inspection *at = session->inspections;
    for (; at; at = at->next)
        if (lane == -2 || at->work.lane == lane)
            return true;
    return false;
}

bool tune_works(const struct tune_session *session) {
    return works(session, -2);
}

bool tune_works_in(const struct tune_session *session, int lane) {
    return works(session, lane);
}

/* -------------------------------------------------------------------------------- giving up */

void tune_evaluation_unlink(struct tune_evaluation *evaluation) {
    struct tune_evaluation **place = &evaluation->work.session->evaluations;
    while (*place && *place != evaluation)
        place = &(*place)->next;
    if (*place)
        *place = evaluation->next;
}

void tune_evaluation_free(struct tune_evaluation *evaluation) {
    runner_result_free(&evaluation->result);
    loop_timer_stop(evaluation->again);
    free(evaluation->folder);
    free(evaluation);
}

void tune_evaluation_drop(struct tune_evaluation *evaluation) {
    tune_evaluation_unlink(evaluation);
    tune_evaluation_free(evaluation);
}

void tune_evaluation_settled(struct tune_session *session, int lane, int attempt) {
    if (session->place.modelled)
        return;
    tune_emit(session, lane, TUNE_EVENT(SETTLED, settled, .attempt = attempt));
}

static void reply_give_up(struct tune_reply *reply) {
    struct tune_session *session = reply->work.session;
    if (reply->done)
        return;
    if (session->awaited == reply) { /* an agent's turn: the proposer was not asked */
        loop_timer_stop(session->awaited_until);
        session->awaited_until = NULL;
        session->awaited = NULL;
    } else if (session->proposer->cancel && !reply->learnt)
        session->proposer->cancel(session->proposer->self, reply);
    reply->done = true;
}

static void evaluation_give_up(struct tune_evaluation *evaluation) {
    struct tune_session *session = evaluation->work.session;
    if (evaluation->given_up)
        return;
    evaluation->given_up = true;
    evaluation->left_ns = clock_monotonic_ns();
    if (session->closing) /* what runs on a host goes on there, and is taken up again later */
        return;
    if (!evaluation->held)
        tune_evaluation_settled(session, TUNE_ALL_LANES, evaluation->attempt);
    if (evaluation->run)
        session->place.cancel(evaluation->run);
    else
        tune_evaluation_drop(evaluation);
}

static void give_up(struct tune_session *session, bool all) {
    bool worked = tune_works(session);
    for (struct tune_reply *at = session->replies; at; at = at->next)
        if (all || !is_wanted(&at->work))
            reply_give_up(at);
    for (struct tune_inspection *at = session->inspections, *next; at; at = next) {
        next = at->next;
        if (all || !is_wanted(&at->work))
            at->cancel(at);
    }
    for (struct tune_evaluation *at = session->evaluations, *next; at; at = next) {
        next = at->next;
        if (all || !is_wanted(&at->work))
            evaluation_give_up(at);
    }
    /* The last event of a question that is given up comes before the question is done with. */
    if (worked && !tune_works(session) && session->changed)
        session->changed(session->changed_context);
}

void tune_work_cancel(struct tune_session *session) {
    give_up(session, true);
}

void tune_work_sweep(struct tune_session *session) {
    give_up(session, session->halted);
}
