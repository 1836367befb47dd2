/* SPDX-License-Identifier: Apache-2.0 */
/* What is made from the state for others to read: the query tables, experiments.jsonl and the
 * checkpoints (fields as other NKI agents write them, and ours). The event log depends on none of
 * it. A row is in experiments.jsonl when the table of attempts says that the attempt is decided:
 * both are committed at once. The optimisation memory is in remember.c. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tune/session/inner.h"
#include "tune/state/state.h"
#include "tune/exchange/private.h"
#include "tune/read/read.h"

static bool row_put(void *data, const char *table, const struct store_cell *cells, size_t count,
                    struct err *err) {
    return store_table_row(data, table, cells, count, err);
}

/* `seq`: the event up to which the tables are true. */
static bool tables_write(struct tune_session *session, const struct tune_attempt *attempt,
                         int64_t seq, struct err *err) {
    struct store *store = session->store;
    return store_attempt_begin(store, attempt->id, err) &&
           tune_attempt_rows(session->state, attempt, row_put, store, err) &&
           store_attempt_end(store, seq, err);
}

/* -------------------------------------------------------------------------- experiments.jsonl */

void tune_experiment_print(const struct tune_state *state, const struct tune_attempt *attempt,
                           struct buf *out) {
    if (attempt->status == TUNE_STATUS_OPEN)
        return;
    cJSON *line = tune_attempt_write(state, attempt, TUNE_ATTEMPT_ROW, NULL);
    tune_json_print(line, false, out);
    buf_putc(out, '\n');
    cJSON_Delete(line);
}

bool tune_row_write(struct tune_session *session, const struct tune_attempt *attempt,
                    struct err *err) {
    struct buf line = {0};
    tune_experiment_print(session->state, attempt, &line);
    bool ok = !line.len || store_rows_add(session->store, buf_str(&line), err);
    buf_free(&line);
    return ok;
}

static bool rows_write_anew(struct tune_session *session, struct err *err) {
    const struct tune_state *state = session->state;
    bool ok = store_rows_begin(session->store, err);
    for (size_t i = 0; ok && i < state->attempts.len; i++)
        ok = tune_row_write(session, &state->attempts.at[i], err);
    return ok && store_rows_end(session->store, err);
}

/* ------------------------------------------------------------------------------ what is written */

static bool note_status(void *data, size_t count, const char *const *names,
                        const char *const *values) {
    (void)count, (void)names;
    bool *decided = data;
    *decided = values[0] && strcmp(values[0], tune_status_word(TUNE_STATUS_OPEN)) != 0;
    return true;
}

static bool has_row(struct tune_session *session, int attempt) {
    char sql[80];
    bool decided = false;
    struct err err = {0};
    snprintf(sql, sizeof sql, "SELECT status FROM attempts WHERE attempt = %d", attempt);
    return store_query(session->store, sql, note_status, &decided, &err) && decided;
}

/* Whether their rows are new ones, which can go to the end of the file. */
static bool can_add(struct tune_session *session, const struct tune_chosen *chosen) {
    bool can = store_rows_mend(session->store);
    for (size_t i = 0; can && i < chosen->count; i++)
        can = !chosen->is[i] || !has_row(session, (int)i);
    return can;
}

bool tune_derive(struct tune_session *session, int attempt, bool adds, int64_t seq,
                 struct err *err) {
    const struct tune_attempt *at = &session->state->attempts.at[attempt];
    return (!adds || tune_row_write(session, at, err)) && tables_write(session, at, seq, err) &&
           tune_checkpoint_write(session, at, err);
}

static void derive_now(struct tune_session *session, const struct tune_chosen *chosen, bool adds) {
    const struct tune_state *state = session->state;
    struct err err = {0};
    bool ok = true;
    int64_t before = store_derived_seq(session->store);
    size_t last = chosen->count;
    while (last && !chosen->is[last - 1])
        last--;
    for (size_t i = 0; ok && i < last; i++)
        if (chosen->is[i])
            ok = tune_derive(session, (int)i, adds, i + 1 < last ? before : state->seq, &err);
    ok = ok && (adds || rows_write_anew(session, &err));
    if (!ok)
        store_log(session->store, "warning", err.text);
}

void tune_derive_chosen(struct tune_session *session, const struct tune_chosen *chosen) {
    if (tune_slices_take(session, chosen))
        return;
    bool adds = can_add(session, chosen);
    if (!tune_slices_begin(session, chosen, adds))
        derive_now(session, chosen, adds);
}

void tune_export(struct tune_session *session, int attempt) {
    size_t count = (size_t)attempt + 1;
    struct tune_chosen chosen = {mem_alloc(count, sizeof *chosen.is), count};
    chosen.is[attempt] = true;
    tune_derive_chosen(session, &chosen);
    free(chosen.is);
}

void tune_export_changed(struct tune_session *session, const enum tune_status *before,
                         size_t count) {
    const struct tune_state *state = session->state;
    struct tune_chosen chosen = {mem_alloc(count + 1, sizeof *chosen.is), count};
    bool any = false;
    for (size_t i = 0; i < count && i < state->attempts.len; i++) {
        chosen.is[i] = state->attempts.at[i].status != before[i];
        any = any || chosen.is[i];
    }
    if (any)
        tune_derive_chosen(session, &chosen);
    free(chosen.is);
}

/* -------------------------------------------------------------------------------- when it opens */

struct mending {
    struct tune_chosen chosen;
    const struct tune_state *state;
};

/* Attempts whose status is the one in the table are left alone. */
static bool mend_status(void *data, size_t count, const char *const *names,
                        const char *const *values) {
    (void)count, (void)names;
    struct mending *mending = data;
    long long id = -1;
    bool known = values[0] && values[1] && str_to_int(str_of(values[0]), &id);
    const struct tune_attempt *attempt =
        known ? tune_state_attempt(mending->state, (int)MAX_OF(-1, MIN_OF(id, INT32_MAX))) : NULL;
    if (attempt && !strcmp(values[1], tune_status_word(attempt->status)))
        mending->chosen.is[attempt->id] = false;
    return true;
}

static bool any_decided(const struct tune_state *state) {
    for (size_t i = 0; i < state->attempts.len; i++)
        if (state->attempts.at[i].status != TUNE_STATUS_OPEN)
            return true;
    return false;
}

/* hone writes the rows before it closes the log. Rows that are newer are not hone's, or a hone was
 * killed just then. */
static void rows_doubt(struct tune_session *session) {
    char *path = path_join(store_folder(session->store), "experiments.jsonl");
    struct err err = {0};
    struct stat st;
    bool newer = stat(path, &st) == 0 && tune_ns_of(&st) > session->left_ns;
    bool killed = store_derived_seq(session->store) < session->state->own->decided_seq;
    free(path);
    if (!newer)
        return;
    if (!store_rows_begin(session->store, &err)) /* what is there counts no more */
        store_log(session->store, "warning", err.text);
    if (!killed)
        tune_note(session,
                  "experiments.jsonl is newer than the session, which was closed before: it is "
                  "made again from the log");
}

void tune_export_mend(struct tune_session *session) {
    const struct tune_state *state = session->state;
    size_t count = state->attempts.len;
    int64_t derived = store_derived_seq(session->store);
    struct err err = {0};
    tune_slices_forget(session);
    rows_doubt(session);
    bool whole = store_rows_mend(session->store);
    tune_memory_mend(session);
    if ((whole && derived >= state->own->decided_seq) || (!derived && !any_decided(state)))
        return;
    struct mending mending = {{mem_alloc(count + 1, sizeof(bool)), count}, state};
    for (size_t i = 0; i < count; i++)
        mending.chosen.is[i] = state->attempts.at[i].status != TUNE_STATUS_OPEN;
    if (derived && !store_query(session->store, "SELECT attempt, status FROM attempts", mend_status,
                                &mending, &err))
        store_log(session->store, "warning", err.text);
    /* Decided after the tables were committed. */
    for (size_t i = 0; derived && i < count; i++)
        mending.chosen.is[i] |= state->attempts.at[i].decided_seq > derived;
    tune_derive_chosen(session, &mending.chosen);
    free(mending.chosen.is);
}
