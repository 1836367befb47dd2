/* SPDX-License-Identifier: Apache-2.0 */
/* The step profile: the seed kernel is evaluated, and is what all others begin with. If it is wrong
 * itself, the loop stops. */
#include <math.h>

#include "tune/exchange/inner.h"
#include "tune/read/read.h"
#include "tune/trial/private.h"

void tune_baseline_job(struct tune_session *session, int lane, bool second,
                       const struct tune_evaluation *last) {
    (void)second;
    const struct tune_state *state = session->state;
    struct runner_job job = {.seeds = state->seeds.at, .seed_count = state->seeds.len};
    tune_evaluation_start(tune_work_of(session, lane, TUNE_STEP_PROFILE), false, &job, last);
}

void tune_baseline_start(struct tune_session *session, int lane) {
    const struct tune_state *state = session->state;
    struct tune_candidate seed = {.parent = -1, .source = state->kernel_source, .author = "seed"};
    if (!tune_attempt_emit(session, lane, 0, &seed))
        return;
    tune_beyond_tell(session);
    tune_beside_ask(session, &state->attempts.at[0]);
    tune_opinion_ask(session, lane, &state->attempts.at[0]);
    tune_baseline_job(session, lane, false, NULL);
}

static void function_note(struct tune_session *session, const struct runner_result *result) {
    const struct tune_state *state = session->state;
    double used = result->tolerance > 0 ? result->tolerance : (double)NAN;
    bool tolerance = isnan(state->tolerance) && !isnan(used);
    if (!*result->kernel_name || (state->function && !tolerance))
        return;
    struct tune_event event = tune_event_empty(TUNE_EVENT_SESSION);
    event.form = TUNE_FORM_SESSION_FUNCTION;
    event.session.function = result->kernel_name;
    if (isnan(state->tolerance)) {
        event.form = TUNE_FORM_SESSION_TOLERANCE;
        event.session.tolerance = used;
    }
    tune_emit(session, TUNE_ALL_LANES, &event);
}

void tune_baseline_settle(struct tune_session *session, struct tune_evaluation *evaluation,
                          struct runner_result *result) {
    int lane = evaluation->work.lane;
    function_note(session, result);
    tune_files_versions(session);
    if (!evaluation->timed)
        tune_measured_emit(evaluation, result);
    tune_beside_fill(&evaluation->work, 0);
    tune_verdict_emit(session, lane, 0, &result->verdict);
    const struct tune_attempt *seed = &session->state->attempts.at[0];
    const char *wrong = tune_why_wrong(seed);
    if (!wrong && isnan(seed->latency_us))
        wrong = "it could not be timed";
    if (wrong) {
        tune_decided_emit(&evaluation->work, 0, TUNE_STATUS_FAILED, wrong);
        tune_step_done(session, lane, TUNE_STEP_PROFILE, TUNE_IS_FAILED, "%s", wrong);
        if (result->failure.kind == ERR_NONE)
            tune_stop(session, lane, "the seed kernel itself is wrong: %s", wrong);
        else if (result->failure.kind == ERR_USAGE && !tune_reference_file(session->state))
            tune_give_up(
                session, lane, true,
                "no reference: put reference.py beside the kernel and go on, or open it again with "
                "--reference FILE");
        else
            tune_give_up(session, lane, true, "the seed kernel could not be evaluated: %s", wrong);
        return;
    }
    struct buf latency = {0}, limited = {0};
    clock_print_duration(&latency, seed->latency_us * 1e-6);
    tune_decided_emit(&evaluation->work, 0, TUNE_STATUS_KEEP, "the kernel to start from");
    tune_limited_print(seed, &limited);
    tune_step_done(session, lane, TUNE_STEP_PROFILE, TUNE_IS_OK, "seed kernel: %s%s%s", latency.at,
                   limited.len ? ", limited by " : "", limited.len ? limited.at : "");
    buf_free(&limited);
    buf_free(&latency);
}
