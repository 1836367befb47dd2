/* SPDX-License-Identifier: Apache-2.0 */
/* The log of a session as its state. Threads read a long log ahead, and kernels, why they take
 * their time and what their lines cost stay where they are in the log: a kernel takes some
 * kilobytes, and a person looks at ten of a thousand. */
#include <stdlib.h>

#include "tune/apply/apply.h"
#include "tune/session/inner.h"
#include "tune/state/inner.h"

#define WARM_EVENTS 1024 /* so often the heap is looked at: they take some 50 kB of it */

/* ------------------------------------------------------------------- texts that stay in the log */

struct taking {
    tune_left_take_fn *take;
    void *into;
    bool taken;
};

static bool take_one(void *data, const struct store_event *event) {
    struct taking *taking = data;
    struct arena *arena = arena_new();
    struct tune_event read;
    taking->taken = tune_event_read(arena, event->type, event->payload, &read);
    if (taking->taken)
        taking->take(taking->into, &read);
    arena_free(arena);
    return false;
}

/* Its hash is compared once more, because the file may have changed since the log was read. If it
 * did, nothing is written to the file any more. */
static bool event_left(void *data, int64_t seq, tune_left_take_fn *take, void *into,
                       struct err *err) {
    struct store *const *store = data;
    struct taking taking = {take, into, false};
    bool ok = store_replay(*store, seq - 1, take_one, &taking, err);
    if (taking.taken)
        return true;
    if (ok)
        err_set(err, ERR_DAMAGED, "event %lld of %.300s/session.db is gone", (long long)seq,
                store_folder(*store));
    store_log(*store, "error", err->text);
    return false;
}

static char *file_kept(void *data, const char *hash) {
    struct store *const *store = data;
    return store_artefact_read(*store, hash, NULL, NULL);
}

void tune_log_leave(struct tune_state *state, struct store **store) {
    tune_sources_leave(state, event_left, store);
    state->own->kept_file = file_kept;
}

/* -------------------------------------------------------------------------------------- reading */

/* This runs on a thread of its own. */
static void *event_make(struct arena *arena, const struct store_event *event) {
    return tune_event_hear(arena, event->type, event->payload, true);
}

struct store_ahead *tune_ahead_begin(struct store *store) {
    return store_ahead_begin(store, event_make);
}

enum store_ahead_is tune_ahead_apply(struct store_ahead *ahead, struct tune_state *state,
                                     int wait_ms) {
    struct store_made made;
    enum store_ahead_is is = store_ahead_next(ahead, wait_ms, &made);
    if (is != STORE_AHEAD_EVENT)
        return is;
    if (made.seq % WARM_EVENTS == 0)
        state->own->warm = os_warm_heap(state->own->warm);
    tune_state_apply_read(state, made.seq, made.wall_ms, made.made);
    return is;
}

static bool apply_one(void *data, const struct store_event *event) {
    tune_state_apply(data, event->seq, event->wall_ms, event->type, event->payload);
    return true;
}

bool tune_log_read(struct store **store, struct tune_state *state, struct err *err) {
    struct store_ahead *ahead = tune_ahead_begin(*store);
    tune_log_leave(state, store);
    while (ahead && tune_ahead_apply(ahead, state, -1) == STORE_AHEAD_EVENT)
        ;
    store_ahead_free(ahead);
    bool ok = store_replay(*store, state->seq, apply_one, state, err);
    tune_sources_keep(state);
    return ok;
}
