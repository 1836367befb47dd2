/* SPDX-License-Identifier: Apache-2.0 */
/* Read-only: what the holder of a session writes is read as it comes. A worker reads it, with a
 * connection of its own, because its disk may not answer; the loop applies it. */
#include <stdlib.h>
#include <string.h>

#include "loop/loop.h"
#include "tune/drive/opening.h"
#include "tune/drive/private.h"

#define FOLLOW_MS 500          /* between two looks */
#define MOST ((size_t)8 << 20) /* bytes of events that a look takes */

struct followed {
    int64_t seq, wall_ms;
    size_t type, payload; /* where they begin in the texts */
};
/* While a look is under way all but the session belongs to the worker. */
struct tune_follow {
    struct tune_session *session; /* NULL: it is closed */
    struct loop_timer *timer;     /* of the next look */
    bool looks;                   /* one is under way */
    char *folder;
    struct store *store; /* the worker's; NULL: not yet open */
    int64_t after;       /* the last event that the session has */
    bool is_held;        /* somebody else has the session, as far as is known */
    /* What the look found. */
    VEC(struct followed) events;
    struct buf texts;
    bool left, more; /* nobody holds it any more; there are more events */
    char *holder;    /* who holds it; NULL */
};

static void follow_free(struct tune_follow *follow) {
    if (follow->store)
        store_take_over(follow->store);
    store_close(follow->store);
    vec_free(&follow->events);
    buf_free(&follow->texts);
    free(follow->holder);
    free(follow->folder);
    free(follow);
}

/* ------------------------------------------------------------------------------- on the worker */

static size_t text_keep(struct buf *texts, const char *text) {
    size_t at = texts->len;
    buf_add(texts, text, strlen(text) + 1);
    return at;
}

static bool take(void *data, const struct store_event *event) {
    struct tune_follow *follow = data;
    size_t type = text_keep(&follow->texts, event->type);
    *vec_push(&follow->events) = (struct followed){event->seq, event->wall_ms, type,
                                                   text_keep(&follow->texts, event->payload)};
    follow->more = follow->texts.len > MOST;
    return !follow->more;
}

/* What the holder wrote last is read after it was seen to have left. */
static void look(void *data) {
    struct tune_follow *follow = data;
    struct err ignored = {0};
    if (!follow->store)
        follow->store = store_open(follow->folder, true, &ignored);
    if (!follow->store)
        return;
    store_take_over(follow->store); /* another worker had it the last time */
    follow->left = follow->is_held && store_is_free(follow->store, &follow->holder);
    (void)!store_replay(follow->store, follow->after, take, follow, &ignored);
}

/* --------------------------------------------------------------------------------- on the loop */

/* Who holds it now; true when that is news. */
static bool holder_take(struct tune_follow *follow, struct tune_state *state) {
    bool other = follow->holder && state->held_by && strcmp(follow->holder, state->held_by) != 0;
    bool news = other || follow->left != state->holder_left;
    if (other)
        state->held_by = tune_keep(state, follow->holder);
    state->holder_left = follow->left;
    return news;
}

static void look_begin(void *data);

static void on_look(void *data) {
    struct tune_follow *follow = data;
    struct tune_session *session = follow->session;
    follow->looks = false;
    if (!session) {
        follow_free(follow);
        return;
    }
    bool news = holder_take(follow, session->state) || follow->events.len;
    for (size_t i = 0; i < follow->events.len; i++) {
        const struct followed *at = &follow->events.at[i];
        tune_opening_apply(session,
                           &(struct store_event){at->seq, at->wall_ms, follow->texts.at + at->type,
                                                 follow->texts.at + at->payload});
    }
    if (follow->more)
        look_begin(follow);
    if (news && session->changed)
        session->changed(session->changed_context);
}

static void look_begin(void *data) {
    struct tune_follow *follow = data;
    const struct tune_state *state = follow->session->state;
    if (follow->looks) /* the disk has not answered yet */
        return;
    follow->looks = true;
    follow->after = state->seq;
    follow->is_held = state->held_by != NULL;
    follow->left = follow->more = false;
    follow->events.len = 0;
    buf_clear(&follow->texts);
    free(follow->holder);
    follow->holder = NULL;
    loop_job_start_owned(follow->session->loop, look, on_look, follow);
}

void tune_follow_begin(struct tune_session *session) {
    struct tune_follow *follow = mem_alloc(1, sizeof *follow);
    *follow = (struct tune_follow){.session = session,
                                   .folder = mem_strdup(store_folder(session->store))};
    /* A timer that repeats does not keep the loop busy. */
    follow->timer = loop_timer_start(session->loop, FOLLOW_MS, FOLLOW_MS, look_begin, follow);
    session->follow = follow;
}

void tune_follow_end(struct tune_session *session) {
    struct tune_follow *follow = session->follow;
    session->follow = NULL;
    if (!follow)
        return;
    follow->session = NULL;
    loop_timer_stop(follow->timer);
    if (!follow->looks) /* else the look frees it */
        follow_free(follow);
}
