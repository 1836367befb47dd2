/* SPDX-License-Identifier: Apache-2.0 */
/* The log is read back: at once, or in slices between which the loop serves keys and frames.
 * Threads read a long one ahead; here what they read is applied. What comes before and after is in
 * open.c. */
#include <stdlib.h>
#include <string.h>

#include "loop/loop.h"
#include "tune/apply/apply.h"
#include "tune/drive/private.h"
#include "tune/drive/opening.h"

#define FIRST_MS 40 /* what takes no longer is read before the session is shown */
#define SLICE_MS 20
#define WAIT_MS 4   /* at most, for what is read ahead */
#define BREATH_MS 1 /* a timer that is due at once would keep the loop from keys and signals */
#define TELL_MS 80  /* between frames that show how far it is */
#define LOOK_EVENTS 32

struct tune_opening {
    tune_opening_done_fn *done;
    struct loop_timer *timer;
    struct store_ahead *ahead; /* NULL: no thread reads ahead */
    int64_t last;              /* event of the log when it was opened */
    uint64_t until_ns, told_ns;
    int events;
    bool broken_off;
};

void tune_opening_apply(struct tune_session *session, const struct store_event *event) {
    tune_state_apply(session->state, event->seq, event->wall_ms, event->type, event->payload);
    if (session->on_event)
        session->on_event(session->event_context, event->seq, event->type, event->payload);
}

static bool replay_some(void *data, const struct store_event *event) {
    struct tune_session *session = data;
    struct tune_opening *opening = session->opening;
    tune_opening_apply(session, event);
    opening->broken_off =
        ++opening->events % LOOK_EVENTS == 0 && clock_monotonic_ns() >= opening->until_ns;
    return !opening->broken_off;
}

/* Listeners of raw events get them as they are stored. */
static struct store_ahead *ahead_begin(struct tune_session *session) {
    return session->on_event ? NULL : tune_ahead_begin(session->store);
}

/* Takes what was read ahead; false: nothing more comes. */
static bool ahead_some(struct tune_session *session) {
    struct tune_opening *opening = session->opening;
    enum store_ahead_is is = STORE_AHEAD_OVER;
    while (opening->ahead && !opening->broken_off) {
        is = tune_ahead_apply(opening->ahead, session->state, WAIT_MS);
        if (is == STORE_AHEAD_OVER)
            break;
        bool looks = is == STORE_AHEAD_LATE || ++opening->events % LOOK_EVENTS == 0;
        opening->broken_off = looks && clock_monotonic_ns() >= opening->until_ns;
    }
    return opening->broken_off;
}

static void ahead_end(struct tune_opening *opening) {
    store_ahead_free(opening->ahead);
    opening->ahead = NULL;
}

static bool slice_read(struct tune_session *session, uint64_t ms, struct err *err) {
    struct tune_opening *opening = session->opening;
    opening->until_ns = clock_monotonic_ns() + ms * 1000000;
    opening->broken_off = false;
    bool ok = true;
    if (!ahead_some(session)) {
        ahead_end(opening);
        ok = store_replay(session->store, session->state->seq, replay_some, session, err);
    }
    session->state->opened =
        opening->last > 0 ? (double)session->state->seq / (double)opening->last : 1;
    return ok;
}

static void opening_is_over(struct tune_session *session) {
    tune_opening_forget(session);
    tune_sources_keep(session->state);
}

/* The last slice was read, or a slice could not be read. */
static void slices_end(struct tune_session *session, struct err *err) {
    tune_opening_done_fn *done = session->opening->done;
    opening_is_over(session);
    session->state->opening = false;
    done(session, err);
}

static void on_slice(void *data) {
    struct tune_session *session = data;
    struct tune_opening *opening = session->opening;
    struct err err = {0};
    opening->timer = NULL;
    if (!slice_read(session, SLICE_MS, &err) || !opening->broken_off) {
        slices_end(session, &err);
        return;
    }
    opening->timer = loop_timer_start(session->loop, BREATH_MS, 0, on_slice, session);
    if (clock_monotonic_ns() - opening->told_ns < (uint64_t)TELL_MS * 1000000)
        return;
    opening->told_ns = clock_monotonic_ns();
    if (session->changed)
        session->changed(session->changed_context);
}

bool tune_opening_read(struct tune_session *session, struct err *err) {
    return tune_log_read(&session->store, session->state, err);
}

bool tune_opening_start(struct tune_session *session, tune_opening_done_fn *done, struct err *err) {
    session->opening = mem_alloc(1, sizeof *session->opening);
    *session->opening = (struct tune_opening){
        .done = done, .last = store_last_seq(session->store), .ahead = ahead_begin(session)};
    tune_log_leave(session->state, &session->store);
    if (!slice_read(session, FIRST_MS, err))
        return false;
    session->state->opening = session->opening->broken_off;
    if (session->state->opening)
        session->opening->timer = loop_timer_start(session->loop, BREATH_MS, 0, on_slice, session);
    else
        opening_is_over(session);
    return true;
}

void tune_opening_forget(struct tune_session *session) {
    if (!session->opening)
        return;
    loop_timer_stop(session->opening->timer);
    ahead_end(session->opening);
    free(session->opening);
    session->opening = NULL;
}
