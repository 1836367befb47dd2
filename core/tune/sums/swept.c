/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps in the state: which values of one were tried, what came of them, what is left. It runs
 * nothing. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "nki/nki.h"
#include "rewrite/rewrite.h"
#include "tune/sums/inner.h"
#include "tune/sums/sweep.h"

static bool same(const char *a, const char *b) {
    return a && b && !strcmp(a, b);
}

static const char *base_source(const struct tune_state *state, const struct tune_sweep *sweep) {
    const struct tune_attempt *base = tune_state_attempt(state, sweep->base);
    return base ? tune_source(state, base) : state->kernel_source;
}

/* The hash of a combination's kernel; empty when it cannot be made. */
static struct hash combination_hash(const struct tune_state *state, const struct tune_sweep *sweep,
                                    size_t index) {
    const char *source = base_source(state, sweep);
    struct buf key = {0}, text = {0};
    struct hash hash = {""};
    tune_sweep_key(sweep, index, &key);
    if (source && tune_sweep_apply(key.at, str_of(source), state->function, &text, NULL))
        hash = nki_source_hash(buf_str(&text));
    buf_free(&key);
    buf_free(&text);
    return hash;
}

const struct tune_attempt *tune_sweep_attempt(const struct tune_state *state,
                                              const struct tune_sweep *sweep, size_t index) {
    struct buf key = {0};
    const struct tune_attempt *found = NULL;
    tune_sweep_key(sweep, index, &key);
    for (size_t i = state->attempts.len; i > 0 && !found; i--)
        if (same(state->attempts.at[i - 1].plan.key, key.at))
            found = &state->attempts.at[i - 1];
    buf_free(&key);
    if (found)
        return found;
    struct hash hash = combination_hash(state, sweep, index);
    size_t at = 0;
    int first = -1, id;
    while (*hash.hex && (id = tune_normal_next(state, hash.hex, &at)) >= 0)
        first = first < 0 ? id : MIN_OF(first, id);
    return tune_state_attempt(state, first);
}

static bool is_rejected(const struct tune_state *state, const char *key) {
    for (size_t i = 0; i < state->rejections.len; i++)
        if (same(state->rejections.at[i].key, key))
            return true;
    return false;
}

/* ---- plans ---------------------------------------------------------------------------------- */

static void plan_make(const struct tune_sweep *sweep, size_t index, const struct tune_plan *like,
                      struct arena *arena, struct tune_plan *plan) {
    struct buf text = {0};
    *plan = *like;
    tune_sweep_key(sweep, index, &text);
    plan->key = arena_strdup(arena, text.at);
    buf_clear(&text);
    tune_sweep_title(sweep, index, &text);
    plan->title = arena_strdup(arena, text.at);
    plan->what = arena_printf(arena, "Set %s; nothing else changes.", text.at);
    buf_clear(&text);
    tune_sweep_print(sweep, &text);
    plan->sweep = arena_strdup(arena, text.at);
    buf_free(&text);
    if (!plan->why)
        plan->why = arena_printf(arena, "One of %zu to be compared: %s.",
                                 tune_sweep_combinations(sweep), plan->sweep);
    if (!plan->strategy)
        plan->strategy = "tile";
}

/* The plans of the combinations whose kernels were not tried yet. Texts live in the arena. `like`
 * gives author and reason; its key, title and `what` do not matter. Returns how many. */
static size_t sweep_plans(const struct tune_state *state, const struct tune_sweep *sweep,
                          const struct tune_plan *like, struct arena *arena,
                          struct tune_plan plans[TUNE_SWEEP_MOST]) {
    size_t count = 0, all = tune_sweep_combinations(sweep);
    for (size_t i = 0; i < all && count < TUNE_SWEEP_MOST; i++) {
        if (tune_sweep_attempt(state, sweep, i))
            continue;
        plan_make(sweep, i, like, arena, &plans[count]);
        count += !is_rejected(state, plans[count].key);
    }
    return count;
}

/* Cuts off what a model wrote after the values, in brackets or as a second sentence. */
static struct str without_remarks(struct str text) {
    bool digit = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        bool ends =
            c == '\n' || c == ';' || (c == '.' && i + 1 < text.len && text.at[i + 1] == ' ');
        if (digit && (ends || c == '('))
            return (struct str){text.at, i};
        digit |= isdigit((unsigned char)c) && i && strchr(" ,=[(", text.at[i - 1]);
    }
    return text;
}

size_t tune_sweep_expand(const struct tune_state *state, int parent, const struct tune_plan *plan,
                         struct arena *arena, struct tune_plan plans[TUNE_SWEEP_MOST],
                         struct err *err) {
    const struct tune_attempt *from = tune_state_attempt(state, parent);
    struct tune_sweep sweep;
    if (!plan->sweep || !from ||
        !tune_sweep_parse(without_remarks(str_of(plan->sweep)), &sweep, err) ||
        !tune_sweep_resolve(&sweep, str_of(tune_source(state, from)), state->function, err))
        return 0;
    sweep.base = parent;
    size_t count = sweep_plans(state, &sweep, plan, arena, plans);
    if (!count)
        err_set(err, ERR_KERNEL, "all of %s was tried", plan->sweep);
    return count;
}

size_t tune_sweep_asked(const struct tune_state *state, const char *text, struct arena *arena,
                        struct tune_plan plans[TUNE_SWEEP_MOST], struct err *err) {
    const struct tune_plan mine = {.author = "you",
                                   .sweep = text,
                                   .metric = "latency",
                                   .size = NAN,
                                   .latency = NAN,
                                   .moved = NAN};
    return tune_sweep_expand(state, state->incumbent, &mine, arena, plans, err);
}

/* ---- what is left --------------------------------------------------------------------------- */

static bool belongs(const char *key, const struct tune_sweep *sweep) {
    struct buf mine = {0};
    bool found = false;
    for (size_t i = 0; i < tune_sweep_combinations(sweep) && key && !found; i++) {
        buf_clear(&mine);
        tune_sweep_key(sweep, i, &mine);
        found = !strcmp(mine.at, key);
    }
    buf_free(&mine);
    return found;
}

static bool is_given_up(const struct tune_state *state, const struct tune_sweep *sweep) {
    for (size_t i = 0; i < state->rejections.len; i++)
        if (!state->rejections.at[i].by_loop && belongs(state->rejections.at[i].key, sweep))
            return true;
    return false;
}

/* A plan that is one value of a sweep: that of the last attempt, or one of those at hand. */
static const struct tune_plan *sweeping(const struct tune_state *state) {
    for (size_t i = 0; i < state->plans.len; i++)
        if (state->plans.at[i].sweep)
            return &state->plans.at[i];
    for (size_t i = state->attempts.len; i > 1; i--) {
        const struct tune_attempt *attempt = &state->attempts.at[i - 1];
        if (attempt->round + 1 < state->round)
            return NULL;
        if (attempt->plan.sweep)
            return &attempt->plan;
    }
    return NULL;
}

size_t tune_sweep_pending(const struct tune_state *state, struct arena *arena,
                          struct tune_plan plans[TUNE_SWEEP_MOST]) {
    const struct tune_plan *plan = sweeping(state);
    const struct tune_attempt *from = tune_state_attempt(state, state->incumbent);
    struct tune_sweep sweep;
    if (!plan || !from || !tune_sweep_parse(str_of(plan->sweep), &sweep, NULL) || sweep.base < 0)
        return 0;
    bool goes_on = from->id == sweep.base || same(from->plan.sweep, plan->sweep);
    if (!goes_on || is_given_up(state, &sweep))
        return 0;
    struct tune_plan like = *plan;
    like.held = TUNE_ANSWER_UNKNOWN;
    like.moved = NAN;
    like.edited = like.revised = false;
    return sweep_plans(state, &sweep, &like, arena, plans);
}

bool tune_sweep_is_one(const struct tune_plan *plan) {
    return plan && plan->sweep && plan->key && str_starts(str_of(plan->key), "sweep:");
}

bool tune_sweep_is_done(const struct tune_state *state, const struct tune_plan *plan) {
    for (size_t i = 0; i < state->attempts.len; i++)
        if (!state->attempts.at[i].outdated && same(state->attempts.at[i].plan.key, plan->key))
            return true;
    return is_rejected(state, plan->key);
}

bool tune_sweep_ends(const struct tune_state *state) {
    if (!sweeping(state)) /* asked at each step's end, also when a long log is read */
        return true;
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_SWEEP_MOST];
    size_t count = tune_sweep_pending(state, arena, plans);
    arena_free(arena);
    return count == 0;
}

bool tune_sweep_goes_on(const struct tune_state *state) {
    const struct tune_plan *plan = tune_lane_plan(state, tune_lane_first(state));
    if (!tune_sweep_is_one(plan))
        return false;
    for (size_t i = 0; i < state->attempts.len; i++)
        if (state->attempts.at[i].round < state->round && !state->attempts.at[i].outdated &&
            same(state->attempts.at[i].plan.sweep, plan->sweep))
            return true;
    return false;
}

bool tune_sweep_passes(const struct tune_state *state, enum tune_step step) {
    if (step == TUNE_STEP_PROFILE)
        return !tune_sweep_ends(state);
    if (!tune_sweep_is_one(tune_lane_plan(state, tune_lane_first(state))))
        return false;
    if (step == TUNE_STEP_PLAN)
        return tune_sweep_goes_on(state);
    return step == TUNE_STEP_REWRITE || !tune_sweep_ends(state);
}

/* ---- what came of it ------------------------------------------------------------------------ */

static void outcome_print(const struct tune_attempt *attempt, struct buf *out) {
    if (attempt->status == TUNE_STATUS_OPEN)
        buf_puts(out, "under way");
    else if (attempt->verdict.compiles == TUNE_ANSWER_NO)
        buf_puts(out, "does not compile");
    else if (attempt->verdict.correct == TUNE_ANSWER_NO)
        buf_puts(out, "not correct");
    else
        buf_puts(out, tune_status_word(attempt->status));
}

double tune_sweep_ratio(const struct tune_state *state, const struct tune_sweep *sweep,
                        const struct tune_attempt *attempt) {
    const struct tune_attempt *base = tune_state_attempt(state, sweep->base);
    return attempt && base ? attempt->speedup / base->speedup : (double)NAN;
}

void tune_sweep_line(const struct tune_state *state, const struct tune_sweep *sweep, size_t index,
                     struct buf *out) {
    const struct tune_attempt *attempt = tune_sweep_attempt(state, sweep, index);
    tune_sweep_title(sweep, index, out);
    buf_puts(out, attempt ? ": " : ": not tried");
    if (!attempt)
        return;
    double ratio = tune_sweep_ratio(state, sweep, attempt);
    if (!isnan(ratio))
        buf_printf(out, "%.3fx, ", ratio);
    outcome_print(attempt, out);
    buf_printf(out, " (#%d)", attempt->id);
}

static void row_print(const struct tune_state *state, const struct tune_sweep *sweep,
                      const struct tune_attempt *attempt, struct buf *out) {
    struct buf what = {0}, time = {0};
    double ratio = tune_sweep_ratio(state, sweep, attempt);
    if (attempt)
        outcome_print(attempt, &what);
    if (attempt && !isnan(attempt->latency_us))
        clock_print_duration(&time, attempt->latency_us * 1e-6);
    if (!time.len)
        buf_putc(&time, '-');
    int blanks = MAX_OF(11 - (int)text_columns(buf_str(&time)), 0);
    buf_printf(out, " %-18s %*s%s", attempt ? what.at : "not tried", blanks, "", time.at);
    if (!isnan(ratio))
        buf_printf(out, "  %.3fx", ratio);
    else if (attempt)
        buf_printf(out, "  %6s", "-");
    if (attempt)
        buf_printf(out, "  #%d%s", attempt->id, attempt->id == state->best ? "  best" : "");
    buf_free(&what);
    buf_free(&time);
}

void tune_sweep_table(const struct tune_state *state, const struct tune_sweep *sweep,
                      struct buf *out) {
    struct buf title = {0};
    size_t width = 24;
    for (size_t i = 0; i < tune_sweep_combinations(sweep); i++) {
        buf_clear(&title);
        tune_sweep_title(sweep, i, &title);
        width = MAX_OF(width, title.len);
    }
    for (size_t i = 0; i < tune_sweep_combinations(sweep); i++) {
        buf_clear(&title);
        tune_sweep_title(sweep, i, &title);
        buf_printf(out, "%-*s", (int)width, title.at);
        row_print(state, sweep, tune_sweep_attempt(state, sweep, i), out);
        buf_putc(out, '\n');
    }
    buf_free(&title);
}
