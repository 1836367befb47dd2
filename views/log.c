/* SPDX-License-Identifier: Apache-2.0 */
/* The session's log as rows of a list: only lines that pass a filter, each in as many rows as
 * it needs; what is said again counted at the first time. Rows hold only numbers; the text stays
 * in the state. */
#include "views/inner.h"

#define TIMES_COLS 6   /* for "  ×12" behind a row that is broken */
#define MOST_PIECES 12 /* of one line */
#define FOLD_BACK 24   /* entries back in which the same one is looked for */

/* Findings, with the notes that belong to them. */
static bool is_loud(const struct tune_log *log) {
    return log->level >= TUNE_LEVEL_WARNING || log->diagnostic >= 0;
}

static bool passes(const struct tune_log *log, const struct log_filter *filter) {
    return log->level >= filter->level &&
           (!filter->phase || strcmp(filter->phase, log->phase) == 0) &&
           (filter->attempt < 0 || log->attempt == filter->attempt) &&
           filter_passes(filter->pattern, str_of(log->text));
}

static const struct tune_diagnostic *diagnostic_at(const struct tune_state *state,
                                                   const struct tune_log *log) {
    bool there = log->diagnostic >= 0 && (size_t)log->diagnostic < state->diagnostics.len;
    return there ? &state->diagnostics.at[log->diagnostic] : NULL;
}

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether one of them is about a source that the other's turn replaced. */
static bool is_other_turn(const struct tune_log *a, const struct tune_log *b) {
    return a->attempt == b->attempt && a->turn != b->turn;
}

/* Whether both belong to one piece of work: attempts of a sweep differ only in a number. */
static bool belong_together(const struct tune_state *state, const struct tune_log *a,
                            const struct tune_log *b) {
    const struct tune_attempt *one = tune_state_attempt(state, a->attempt);
    const struct tune_attempt *other = tune_state_attempt(state, b->attempt);
    if (a->attempt == b->attempt)
        return a->lane == b->lane && a->turn == b->turn;
    return one && other && one->plan.sweep && other->plan.sweep &&
           strcmp(one->plan.sweep, other->plan.sweep) == 0;
}

/* Whether it is the same finding at the same line; the column does not matter. */
static bool is_same(const struct tune_state *state, const struct tune_log *a,
                    const struct tune_log *b) {
    const struct tune_diagnostic *one = diagnostic_at(state, a), *other = diagnostic_at(state, b);
    if (a->level != b->level || !belong_together(state, a, b))
        return false;
    if (one && other)
        return one->line == other->line && same_text(one->message, other->message) &&
               same_text(one->file, other->file);
    return !one && !other && same_text(a->phase, b->phase) && same_text(a->text, b->text);
}

/* Counts it with an entry that said the same a moment ago; false when there is none. */
static bool fold(struct log_rows *rows, const struct tune_state *state,
                 const struct tune_log *log) {
    int looked = 0;
    for (size_t i = rows->all.len; is_loud(log) && i-- > 0 && looked < FOLD_BACK;) {
        struct log_row *row = &rows->all.at[i];
        const struct tune_log *other = &state->logs.at[row->log];
        if (row->from)
            continue;
        if (is_other_turn(other, log) ||
            (other->attempt != log->attempt && !belong_together(state, other, log)))
            return false;
        looked++;
        if (is_same(state, other, log)) {
            row->times++;
            return true;
        }
    }
    return false;
}

static void add(struct log_rows *rows, const struct tune_state *state, int index, int cols) {
    const struct tune_log *log = &state->logs.at[index];
    struct str rest = str_of(log->text);
    size_t from = 0;
    int most = MAX_OF(is_loud(log) ? cols - TIMES_COLS : cols, 10); /* others are not counted */
    if (fold(rows, state, log))
        return;
    for (int piece = 0; piece < MOST_PIECES && (piece == 0 || rest.len); piece++) {
        bool breaks = piece + 1 < MOST_PIECES;
        size_t len = breaks ? tui_line_length(rest, most) : rest.len;
        *vec_push(&rows->all) = (struct log_row){index, (int)from, (int)len, 1};
        from += len;
        rest = (struct str){rest.at + len, rest.len - len};
    }
}

/* Looks only at new lines, unless the numbers of lines changed. */
void log_rows_update(struct log_rows *rows, const struct tune_state *state,
                     const struct log_filter *filter, int cols) {
    if (rows->seq == state->seq && rows->seq >= 0 && rows->cols == cols)
        return;
    bool anew = rows->seq < 0 || rows->cols != cols || rows->seen < state->logs_gone ||
                rows->gone != state->logs_gone;
    size_t first = anew ? 0 : (size_t)(rows->seen - state->logs_gone);
    rows->seq = state->seq;
    rows->cols = cols;
    rows->gone = state->logs_gone;
    rows->seen = state->logs_gone + (int64_t)state->logs.len;
    if (anew)
        rows->all.len = 0;
    for (size_t i = first; i < state->logs.len; i++)
        if (passes(&state->logs.at[i], filter))
            add(rows, state, (int)i, cols);
}

/* Whether the row begins a note with a line: wrong numbers are traced by them. */
static bool names_line(const struct log_rows *rows, const struct tune_state *state, size_t row) {
    const struct tune_log *log = &state->logs.at[rows->all.at[row].log];
    bool note = log->diagnostic >= 0 && log->level < TUNE_LEVEL_WARNING;
    return note && !rows->all.at[row].from && log->line > 0;
}

int log_rows_cause(const struct log_rows *rows, const struct tune_state *state, int *first) {
    size_t end = rows->all.len, error = end, begin = end;
    const struct tune_log *last = end ? &state->logs.at[rows->all.at[end - 1].log] : NULL;
    int cause = -1;
    for (; begin > 0; begin--) {
        const struct tune_log *log = &state->logs.at[rows->all.at[begin - 1].log];
        if (!is_loud(log) || log->attempt != last->attempt || is_other_turn(log, last))
            break;
        bool is = log->level == TUNE_LEVEL_ERROR && rows->all.at[begin - 1].from == 0;
        error = is ? begin - 1 : error;
        cause = is && log->line > 0 ? (int)begin - 1 : cause;
    }
    for (size_t i = error < end ? error : begin; cause < 0 && i < end; i++)
        cause = names_line(rows, state, i) ? (int)i : -1;
    for (size_t i = begin; cause < 0 && i < end; i++)
        cause = names_line(rows, state, i) ? (int)i : -1;
    *first = error < end ? (int)error : cause;
    return cause >= 0 ? cause : *first;
}
