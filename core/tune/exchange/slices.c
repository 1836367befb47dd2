/* SPDX-License-Identifier: Apache-2.0 */
/* Derived tables and files of many attempts: made in slices of the loop, between which keys and
 * frames have their turn. A session that lost its files, or that another hone wrote, may have a
 * hundred thousand attempts. What is decided in the meantime waits until it is done. A process that
 * ends before leaves the mark of before, and the next one begins again. */
#include <stdlib.h>

#include "loop/loop.h"
#include "tune/exchange/private.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"

#define AT_ONCE 100 /* attempts that are not worth slices */
#define SLICE_MS 8
#define BREATH_MS 2

struct tune_slices {
    struct tune_chosen chosen, waiting;
    struct tune_chosen rows; /* of the file that is made anew; none: rows are added */
    size_t at, last;         /* chosen; rows */
    int64_t seq, before;     /* the event up to which all is true when it is done; until then */
    bool adds, in_rows;
    struct loop_timer *timer;
};

static size_t count_of(const struct tune_chosen *chosen) {
    size_t count = 0;
    for (size_t i = 0; i < chosen->count; i++)
        count += chosen->is[i];
    return count;
}

static struct tune_chosen copy_of(const struct tune_chosen *chosen) {
    return (struct tune_chosen){mem_dup(chosen->is, chosen->count * sizeof *chosen->is),
                                chosen->count};
}

static bool is_in(const struct tune_chosen *chosen, size_t attempt) {
    return attempt < chosen->count && chosen->is[attempt];
}

void tune_slices_forget(struct tune_session *session) {
    struct tune_slices *slices = session->slices;
    if (!slices)
        return;
    loop_timer_stop(slices->timer);
    free(slices->chosen.is);
    free(slices->waiting.is);
    free(slices->rows.is);
    free(slices);
    session->slices = NULL;
}

/* All that have a table by now; who waits gets a row later. */
static bool rows_begin(struct tune_session *session, struct err *err) {
    struct tune_slices *slices = session->slices;
    const struct tune_state *state = session->state;
    size_t count = state->attempts.len;
    slices->in_rows = true;
    slices->at = 0;
    slices->rows = (struct tune_chosen){mem_alloc(count + 1, sizeof *slices->rows.is), count};
    for (size_t i = 0; i < count; i++)
        slices->rows.is[i] =
            state->attempts.at[i].status != TUNE_STATUS_OPEN && !is_in(&slices->waiting, i);
    return store_rows_begin(session->store, err);
}

/* One attempt further; *done: there are no more. */
static bool next_table(struct tune_session *session, bool *done, struct err *err) {
    struct tune_slices *slices = session->slices;
    while (slices->at < slices->last && !slices->chosen.is[slices->at])
        slices->at++;
    if (slices->at == slices->last) {
        *done = slices->adds;
        return slices->adds || rows_begin(session, err);
    }
    size_t attempt = slices->at++;
    return tune_derive(session, (int)attempt, slices->adds,
                       slices->at < slices->last ? slices->before : slices->seq, err);
}

static bool next_row(struct tune_session *session, bool *done, struct err *err) {
    struct tune_slices *slices = session->slices;
    while (slices->at < slices->rows.count && !slices->rows.is[slices->at])
        slices->at++;
    *done = slices->at == slices->rows.count;
    if (*done)
        return store_rows_end(session->store, err);
    return tune_row_write(session, &session->state->attempts.at[slices->at++], err);
}

/* What was decided in the meantime. */
static void slices_end(struct tune_session *session) {
    struct tune_chosen waiting = session->slices->waiting;
    session->slices->waiting = (struct tune_chosen){0};
    tune_slices_forget(session);
    if (count_of(&waiting))
        tune_derive_chosen(session, &waiting);
    free(waiting.is);
}

static void on_slice(void *data) {
    struct tune_session *session = data;
    struct tune_slices *slices = session->slices;
    uint64_t until_ns = clock_monotonic_ns() + (uint64_t)SLICE_MS * 1000000;
    struct err err = {0};
    bool ok = true, done = false;
    slices->timer = NULL;
    while (ok && !done && clock_monotonic_ns() < until_ns)
        ok = slices->in_rows ? next_row(session, &done, &err) : next_table(session, &done, &err);
    if (!ok)
        store_log(session->store, "warning", err.text);
    if (ok && !done)
        slices->timer = loop_timer_start(session->loop, BREATH_MS, 0, on_slice, session);
    else
        slices_end(session);
}

bool tune_slices_begin(struct tune_session *session, const struct tune_chosen *chosen, bool adds) {
    if (count_of(chosen) <= AT_ONCE && (adds || session->state->attempts.len <= AT_ONCE))
        return false;
    struct tune_slices *slices = session->slices = mem_alloc(1, sizeof *slices);
    slices->chosen = copy_of(chosen);
    slices->adds = adds;
    slices->seq = session->state->seq;
    slices->before = store_derived_seq(session->store);
    slices->last = chosen->count;
    while (slices->last && !chosen->is[slices->last - 1])
        slices->last--;
    slices->timer = loop_timer_start(session->loop, BREATH_MS, 0, on_slice, session);
    return true;
}

bool tune_slices_take(struct tune_session *session, const struct tune_chosen *chosen) {
    struct tune_slices *slices = session->slices;
    if (!slices)
        return false;
    size_t count = MAX_OF(slices->waiting.count, chosen->count);
    slices->waiting.is = mem_resize(slices->waiting.is, count + 1, sizeof *slices->waiting.is);
    for (size_t i = 0; i < count; i++)
        slices->waiting.is[i] = is_in(&slices->waiting, i) || is_in(chosen, i);
    slices->waiting.count = count;
    return true;
}
