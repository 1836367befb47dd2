/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluations that were ended by something other than their kernel: killed from outside, no Python
 * at this moment, a child that could not start, a runner that ended without a word. Nothing is said
 * about the attempt. The same evaluation begins again, with growing pauses. When that does not
 * help, the loop pauses with the reason, and the step is still to be done. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runner/runner.h"
#include "tune/session/inner.h"
#include "tune/trial/trial.h"

#define LONGEST_WAIT 30 /* times the first pause; so who sets short pauses has no long ones */

static double wait_s(const struct tune_session *session, int tries) {
    double first = config_number(session->config, "limits", "retry_wait_s");
    return first * fmin(pow(2, tries - 1), LONGEST_WAIT);
}

static int most_tries(const struct tune_session *session) {
    return 1 + (int)config_number(session->config, "limits", "retries");
}

void tune_disturbed_tell(const struct tune_evaluation *evaluation, const struct err *failure,
                         int tries, double wait) {
    tune_emit(evaluation->work.session, evaluation->work.lane,
              TUNE_EVENT(DISTURBED, disturbed, .attempt = evaluation->attempt,
                         .step = evaluation->work.step, .kind = err_kind_name(failure->kind),
                         .text = failure->text, .tries = tries, .wait = wait));
}

/* ------------------------------------------------------------------------------- once more */

static void on_again(void *data) {
    struct tune_evaluation *waiting = data;
    struct tune_session *session = waiting->work.session;
    waiting->again = NULL;
    tune_evaluation_unlink(waiting);
    if (!session->halted)
        tune_evaluation_repeat(waiting);
    tune_evaluation_free(waiting);
    session->driver->advance(session);
}

static void wait_for_again(const struct tune_evaluation *last, const struct err *failure,
                           double wait) {
    struct tune_session *session = last->work.session;
    struct tune_evaluation *waiting = mem_alloc(1, sizeof *waiting);
    *waiting = (struct tune_evaluation){.work = last->work,
                                        .attempt = last->attempt,
                                        .rest = last->rest,
                                        .tries = last->tries + 1,
                                        .same = last->tries == 0 || last->same,
                                        .told = last->told,
                                        .next = session->evaluations};
    if (last->tries > 0 && strcmp(last->why, failure->text) != 0)
        waiting->same = false;
    snprintf(waiting->why, sizeof waiting->why, "%s", failure->text);
    for (int i = 0; i < TUNE_TOLD; i++)
        waiting->told.count[i] = MAX_OF(last->told.count[i], last->heard_of.count[i]);
    session->evaluations = waiting;
    waiting->again =
        loop_timer_start(session->loop, (uint64_t)(wait * 1000) + 1, 0, on_again, waiting);
}

static void try_again(const struct tune_evaluation *evaluation, const struct err *failure) {
    struct tune_session *session = evaluation->work.session;
    int tries = evaluation->tries + 1;
    double wait = wait_s(session, tries);
    struct buf text = {0};
    buf_puts(&text, "again in ");
    clock_print_duration(&text, wait);
    tune_disturbed_tell(evaluation, failure, tries, wait);
    tune_emit_log(session, evaluation->work.lane, TUNE_LEVEL_WARNING, "disturbed",
                  "%s; hone tries it %s", failure->text, text.at);
    buf_printf(&text, ": %.120s", failure->text);
    tune_step_progress(&evaluation->work, text.at, NAN, NAN);
    wait_for_again(evaluation, failure, wait);
    buf_free(&text);
}

static void pause_loop(const struct tune_evaluation *evaluation, const struct err *failure) {
    struct tune_session *session = evaluation->work.session;
    int tries = evaluation->tries + 1;
    tune_disturbed_tell(evaluation, failure, tries, NAN);
    if (tries > 1)
        tune_give_up(session, evaluation->work.lane, false, "%s (tried %d times)", failure->text,
                     tries);
    else
        tune_give_up(session, evaluation->work.lane, false, "%s", failure->text);
}

/* A runner that crashes at the same place every time crashes because of this kernel. */
static bool is_kernels_after_all(const struct tune_evaluation *evaluation,
                                 const struct err *failure) {
    return failure->kind == ERR_UNKNOWN && evaluation->tries > 0 && evaluation->same &&
           !strcmp(evaluation->why, failure->text);
}

bool tune_disturbed(struct tune_evaluation *evaluation, struct err *failure) {
    struct tune_session *session = evaluation->work.session;
    bool baseline = evaluation->work.step == TUNE_STEP_PROFILE;
    if (!session->place.modelled || failure->kind == ERR_NONE || failure->kind == ERR_KERNEL ||
        (failure->kind == ERR_USAGE && baseline))
        return false;
    bool more = evaluation->tries + 1 < most_tries(session);
    if (err_may_pass(failure) && more) {
        try_again(evaluation, failure);
    } else if (is_kernels_after_all(evaluation, failure)) {
        char text[sizeof failure->text];
        snprintf(text, sizeof text, "%s", failure->text);
        err_set(failure, ERR_KERNEL, "%.400s; this happened each of %d times", text,
                evaluation->tries + 1);
        evaluation->crashed = true;
        return false;
    } else {
        pause_loop(evaluation, failure);
    }
    return true;
}
