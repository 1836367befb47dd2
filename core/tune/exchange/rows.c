/* SPDX-License-Identifier: Apache-2.0 */
/* The attempts of a session as rows of tables: of those in session.db, which other tools read, and
 * of those that a question reads. Both are made from the log, which alone is believed. */
#include <math.h>
#include <stdlib.h>

#include "tune/exchange/private.h"
#include "tune/read/read.h"
#include "tune/state/state.h"

static struct store_cell integer(int64_t value) {
    return (struct store_cell){.is = STORE_INT, .integer = value};
}
static struct store_cell real(double value) {
    return (struct store_cell){.is = STORE_REAL, .real = value};
}
static struct store_cell text(const char *value) {
    return (struct store_cell){.is = STORE_TEXT, .text = value};
}

/* ------------------------------------------------------------------------------- one attempt */

struct rows {
    const struct tune_state *state;
    tune_wants_fn *wants; /* NULL: all tables are wanted */
    tune_row_fn *put;
    void *data;
    struct err *err;
};

#define PUT(rows, table, cells) \
    ((rows)->put((rows)->data, table, cells, COUNT_OF(cells), (rows)->err))

static bool wants(const struct rows *rows, const char *table) {
    return !rows->wants || rows->wants(rows->data, table);
}

static bool row_attempt(const struct rows *rows, const struct tune_attempt *attempt) {
    const struct tune_verdict *verdict = &attempt->verdict;
    const struct store_cell cells[] = {integer(attempt->id),
                                       integer(attempt->parent),
                                       integer(attempt->round),
                                       text(tune_status_word(attempt->status)),
                                       text(attempt->reason),
                                       text(attempt->author),
                                       text(attempt->plan.title),
                                       text(attempt->hash),
                                       text(attempt->path),
                                       text(tune_answer_word(verdict->compiles)),
                                       text(tune_answer_word(verdict->correct)),
                                       text(tune_answer_word(verdict->credible)),
                                       text(tune_answer_word(verdict->faster)),
                                       real(attempt->latency_us),
                                       real(attempt->floor_us),
                                       real(attempt->speedup),
                                       integer(attempt->modelled),
                                       integer(attempt->instructions)};
    return PUT(rows, "attempts", cells);
}

static bool rows_samples(const struct rows *rows, const struct tune_attempt *attempt,
                         bool of_parent) {
    const double *us = of_parent ? attempt->parent_samples.at : attempt->samples.at;
    size_t count = of_parent ? attempt->parent_samples.len : attempt->samples.len;
    for (size_t i = 0; i < count; i++) {
        const struct store_cell cells[] = {integer(attempt->id), integer((int64_t)i), real(us[i]),
                                           integer(of_parent)};
        if (!PUT(rows, "samples", cells))
            return false;
    }
    return true;
}

static bool rows_seeds(const struct rows *rows, const struct tune_attempt *attempt) {
    for (size_t i = 0; i < attempt->seeds.len; i++) {
        const struct tune_seed *seed = &attempt->seeds.at[i];
        const struct store_cell cells[] = {integer(attempt->id), integer(seed->seed),
                                           real(seed->rel_l2),
                                           text(tune_answer_word(seed->passed))};
        if (!PUT(rows, "seeds", cells))
            return false;
    }
    return true;
}

static bool rows_metrics(const struct rows *rows, const struct tune_attempt *attempt) {
    for (size_t i = 0; i < attempt->metrics.len; i++) {
        struct tune_metric metric = tune_metric_at(attempt, i);
        const struct store_cell cells[] = {integer(attempt->id), text(metric.name),
                                           real(metric.value), text(metric.unit)};
        if (!PUT(rows, "metrics", cells))
            return false;
    }
    return true;
}

static bool rows_lines(const struct rows *rows, const struct tune_attempt *attempt) {
    struct tune_lines lines = tune_lines(rows->state, attempt);
    for (size_t i = 0; i < lines.len; i++) {
        const struct tune_line_cost *line = &lines.at[i];
        const struct store_cell cells[] = {integer(attempt->id), integer(line->line),
                                           real(line->us), real(line->share), text(line->engine)};
        if (!PUT(rows, "lines", cells))
            return false;
    }
    return true;
}

static bool rows_of(const struct rows *rows, const struct tune_attempt *attempt) {
    return (!wants(rows, "attempts") || row_attempt(rows, attempt)) &&
           (!wants(rows, "samples") ||
            (rows_samples(rows, attempt, false) && rows_samples(rows, attempt, true))) &&
           (!wants(rows, "seeds") || rows_seeds(rows, attempt)) &&
           (!wants(rows, "metrics") || rows_metrics(rows, attempt)) &&
           (!wants(rows, "lines") || rows_lines(rows, attempt));
}

bool tune_attempt_rows(const struct tune_state *state, const struct tune_attempt *attempt,
                       tune_row_fn *put, void *data, struct err *err) {
    return rows_of(&(struct rows){state, NULL, put, data, err}, attempt);
}

/* ------------------------------------------------------------------------------------ rounds */

struct round {
    int number, attempts;
    const struct tune_attempt *best; /* the fastest that is not wrong, else the first */
};

static bool counts(const struct tune_attempt *attempt) {
    return attempt->verdict.compiles != TUNE_ANSWER_NO &&
           attempt->verdict.correct != TUNE_ANSWER_NO && isfinite(attempt->latency_us);
}

static bool is_better(const struct tune_attempt *attempt, const struct tune_attempt *best) {
    return !best || (counts(attempt) && (!counts(best) || attempt->latency_us < best->latency_us));
}

static bool row_round(const struct rows *rows, const struct round *round) {
    const struct tune_attempt *best = round->best;
    const struct store_cell cells[] = {
        integer(round->number), integer(round->attempts),
        integer(best->id),      text(tune_status_word(best->status)),
        text(best->plan.title), real(counts(best) ? best->latency_us : NAN),
        real(best->speedup)};
    return PUT(rows, "rounds", cells);
}

static int by_number(const void *a, const void *b) {
    const struct round *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Attempts of a round mostly follow each other, but lanes and imports mix them. */
static bool rows_rounds(const struct rows *rows) {
    VEC(struct round) found = {0};
    struct by_hash index = {0};
    for (size_t i = 0; i < rows->state->attempts.len; i++) {
        const struct tune_attempt *attempt = &rows->state->attempts.at[i];
        uint64_t hash = hash_quick(&attempt->round, sizeof attempt->round);
        size_t at = 0, row = 0;
        bool known = false;
        while (!known && by_hash_next(&index, hash, &at, &row))
            known = found.at[row].number == attempt->round;
        if (!known) {
            row = found.len;
            by_hash_put(&index, hash, row);
            *vec_push(&found) = (struct round){attempt->round, 0, NULL};
        }
        struct round *round = &found.at[row];
        round->attempts++;
        if (is_better(attempt, round->best))
            round->best = attempt;
    }
    by_hash_free(&index);
    if (found.len)
        qsort(found.at, found.len, sizeof *found.at, by_number);
    bool ok = true;
    for (size_t i = 0; ok && i < found.len; i++)
        ok = row_round(rows, &found.at[i]);
    vec_free(&found);
    return ok;
}

/* ----------------------------------------------------------------------------- a whole session */

/* What its lines cost is in memory while its rows are made, and not with those of all others. */
static bool rows_of_all(struct tune_state *state, const struct rows *rows) {
    bool ok = true;
    for (size_t i = 0; ok && i < state->attempts.len; i++) {
        ok = rows_of(rows, &state->attempts.at[i]) &&
             (!state->trouble || err_set(rows->err, ERR_DAMAGED, "%s", state->trouble));
        vec_free(&state->attempts.at[i].lines_kept);
    }
    return ok && (!wants(rows, "rounds") || rows_rounds(rows));
}

bool tune_session_rows(const char *session, tune_wants_fn *wanted, tune_row_fn *put, void *data,
                       struct err *err) {
    struct store *store = store_open(session, true, err);
    struct tune_state *state = store ? tune_state_new() : NULL;
    const struct rows rows = {state, wanted, put, data, err};
    bool ok = state && tune_log_read(&store, state, err) && rows_of_all(state, &rows);
    tune_state_free(state);
    store_close(store);
    return ok;
}
