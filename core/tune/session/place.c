/* SPDX-License-Identifier: Apache-2.0 */
/* A target as a place, for the loop and for the screens. It adds nothing of its own. */
#include <stdlib.h>
#include <string.h>

#include "tune/session/inner.h"

static void *start(void *self, const struct runner_job *job,
                   const struct runner_callbacks *callbacks, struct err *err) {
    return target_start(self, job, callbacks, err);
}

static void cancel(void *run) {
    target_cancel(run);
}
static void release(void *self) {
    target_free(self);
}

bool tune_place_open(struct tune_place *place, struct loop *loop, const char *target,
                     const struct target_options *options, struct err *err) {
    struct target *opened = target_open(loop, target, options, err);
    if (!opened)
        return false;
    const struct target_info *info = target_describe(opened);
    *place = (struct tune_place){.self = opened,
                                 .modelled = info->modelled,
                                 .parallel = info->parallel,
                                 .start = start,
                                 .cancel = cancel,
                                 .free = release,
                                 .target = opened};
    return true;
}

/* ---------------------------------------------------------------------------- for the screens */

static void look(struct tune_session *session) {
    struct target *target = session->place.target;
    session->place_view = (struct tune_place_view){.info = target_describe(target),
                                                   .status = target_look(target),
                                                   .asks = target_asks(target)};
    session->state->place = &session->place_view;
}

static void on_change(void *data) {
    struct tune_session *session = data;
    look(session);
    if (session->changed)
        session->changed(session->changed_context);
}

void tune_place_follow(struct tune_session *session) {
    if (!session->place.target)
        return;
    look(session);
    target_listen(session->place.target, on_change, session);
}

void tune_session_watch(struct tune_session *session) {
    if (!session->place.target)
        return;
    target_watch(session->place.target);
    look(session);
}

void tune_session_answer(struct tune_session *session, const char *answer) {
    if (!session->place.target)
        return;
    target_answer(session->place.target, answer);
    look(session);
}

void tune_session_retry(struct tune_session *session) {
    if (session->place.target)
        target_retry(session->place.target);
    if (session->proposer && session->proposer->retry)
        session->proposer->retry(session->proposer->self);
}

void tune_session_left(const struct tune_session *session, struct buf *out) {
    const struct tune_place_view *place = session->state->place;
    char *folder = path_absolute(store_folder(session->store));
    bool away = place && place->info->kind && strcmp(place->info->kind, "sim") != 0;
    buf_printf(out, "the session is kept in %s", folder);
    if (away && session->evaluations)
        buf_printf(out,
                   "; what runs on %s goes on there without hone, and is taken up when the session "
                   "is started again",
                   place->info->name);
    free(folder);
}
