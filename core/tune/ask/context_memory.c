/* SPDX-License-Identifier: Apache-2.0 */
/* The optimisation memory as a prompt has it: which experiences go in, in which words, how much of
 * their code, and what other agents tried without success. What is too long is cut here, experience
 * by experience, and the text says so. */
#include <math.h>

#include "tune/ask/context.h"
#include "tune/state/state.h"
#include "tune/ask/ask.h"
#include "tune/sums/sums.h"

#define MEMORY_MOST 16 /* experiences, the newest */
#define CODE_MOST 6    /* of them with code */
#define CODE_LINES 12  /* of either side */
#define CODE_COLS 110
#define CLOSED_COLS 240
#define TEXT_LINES 8
#define TEXT_COLS 500
#define CLOSED_MOST 60 /* lines */

static bool may_enter(const struct tune_state *state, size_t index) {
    return state->memory.at[index].is == TUNE_EXPERIENCE_APPROVED &&
           tune_memory_applies(state, &state->memory.at[index]);
}

bool tune_context_has_experience(const struct tune_state *state, size_t index) {
    const struct tune_experience *item = &state->memory.at[index];
    if (!may_enter(state, index))
        return false;
    size_t newer = 0;
    for (size_t i = index + 1; i < state->memory.len && newer < MEMORY_MOST; i++)
        newer += may_enter(state, i) && state->memory.at[i].closed == item->closed;
    return newer < MEMORY_MOST;
}

/* A line, cut where it is too long. */
static void line_print(struct buf *out, struct str line, size_t cols) {
    size_t len = MIN_OF(line.len, cols);
    while (len < line.len && len && (line.at[len] & 0xC0) == 0x80)
        len--;
    buf_printf(out, STR_FMT "%s\n", (int)len, line.at, len < line.len ? " [...]" : "");
}

/* Lines with a prefix each, at most so many; then how many were left out. */
static void lines_print(struct buf *out, const char *text, const char *before, int most,
                        size_t cols) {
    struct str rest = str_of(text), line;
    int count = 0;
    while (str_next(&rest, '\n', &line)) {
        if (!rest.len && !line.len)
            break;
        if (count++ >= most)
            continue;
        buf_puts(out, before);
        line_print(out, line, cols);
    }
    if (count > most)
        buf_printf(out, "%s[... %d line%s left out ...]\n", before, count - most,
                   PLURAL(count - most));
}

/* Models write pages. A line that looks like a heading of the prompt must not be taken for one. */
static void summary_print(struct buf *out, const char *summary) {
    struct str rest = str_of(summary ? summary : ""), line;
    int count = 0, left = 0;
    while (str_next(&rest, '\n', &line)) {
        line = str_trim(line);
        if (!line.len)
            continue;
        left += count >= TEXT_LINES;
        if (count++ >= TEXT_LINES)
            continue;
        buf_puts(out, count > 1 ? "  " : "");
        line_print(out, line, TEXT_COLS);
    }
    if (!count)
        buf_putc(out, '\n');
    if (left)
        buf_printf(out, "  [... %d line%s left out ...]\n", left, PLURAL(left));
}

static void experience_print(struct buf *out, const struct tune_experience *item, bool code) {
    buf_printf(out, "- %s", item->title ? item->title : "");
    if (!isnan(item->speedup))
        buf_printf(out, " (%.2fx)", item->speedup);
    buf_puts(out, ": ");
    summary_print(out, item->summary);
    bool some = (item->slow && *item->slow) || (item->fast && *item->fast);
    if (some && !code)
        buf_puts(out, "  [its code is left out]\n");
    if (!some || !code)
        return;
    if (item->slow && *item->slow) {
        buf_puts(out, "  slower:\n");
        lines_print(out, item->slow, "    ", CODE_LINES, CODE_COLS);
    }
    if (item->fast && *item->fast) {
        buf_puts(out, "  faster:\n");
        lines_print(out, item->fast, "    ", CODE_LINES, CODE_COLS);
    }
}

/* The newest have their code with them. */
static bool with_code(const struct tune_state *state, size_t index) {
    int newer = 0;
    for (size_t i = index + 1; i < state->memory.len; i++)
        newer += tune_context_has_experience(state, i) && !state->memory.at[i].closed;
    return newer < CODE_MOST;
}

/* What helped stands apart from what did harm: else a loss reads like advice. */
void tune_context_memory(const struct tune_state *state, struct buf *out) {
    static const char *const heads[] = {"These made kernels faster:\n",
                                        "These made kernels slower; do not do them again:\n"};
    for (int loss = 0; loss < 2; loss++) {
        bool said = false;
        for (size_t i = 0; i < state->memory.len; i++) {
            const struct tune_experience *item = &state->memory.at[i];
            if (!tune_context_has_experience(state, i) || item->closed ||
                (item->speedup < 1) != (loss == 1))
                continue;
            if (!said)
                buf_puts(out, heads[loss]);
            said = true;
            experience_print(out, item, with_code(state, i));
        }
    }
    size_t older = 0;
    for (size_t i = 0; i < state->memory.len; i++)
        older += may_enter(state, i) && !state->memory.at[i].closed &&
                 !tune_context_has_experience(state, i);
    if (older)
        buf_printf(out, "[... %zu older experience%s left out ...]\n", older, PLURAL(older));
}

void tune_context_closed(const struct tune_state *state, struct buf *out) {
    for (size_t i = 0; i < state->memory.len; i++) {
        const struct tune_experience *item = &state->memory.at[i];
        if (!item->closed || !tune_context_has_experience(state, i))
            continue;
        buf_printf(out, "%s:\n", item->title ? item->title : "");
        lines_print(out, item->summary ? item->summary : "", "  ", CLOSED_MOST, CLOSED_COLS);
    }
}
