/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the menu in the next question to a planner: the facts of the state, the draw that
 * follows from its numbers, the entries as text. */
#include <math.h>

#include "device/device.h"
#include "tune/state/state.h"
#include "tune/ask/menu.h"
#include "tune/state/inner.h"
#include "tune/ask/ask.h"
#include "tune/read/read.h"
#include "tune/sums/sums.h"

/* The call whose question is put again, or whose answer is mended; else -1. */
static int same_before(const struct tune_call *call) {
    return call->repeats >= 0 ? call->repeats : call->mends;
}

/* Which question of the round it is. A question that mends an answer is the same one again, and so
 * is one that is put again because it was not answered. */
static int question_number(const struct tune_state *state, int call) {
    const char *planner = "planner";
    size_t before = call >= 0 && (size_t)call < state->calls.len ? (size_t)call : state->calls.len;
    int count = 0;
    while (before < state->calls.len && same_before(&state->calls.at[before]) >= 0 &&
           (size_t)same_before(&state->calls.at[before]) < before)
        before = (size_t)same_before(&state->calls.at[before]);
    for (size_t i = 0; i < before; i++) {
        const struct tune_call *at = &state->calls.at[i];
        count += at->round == state->round && same_before(at) < 0 && at->role &&
                 !strcmp(at->role, planner);
    }
    return count;
}

static double spilled(const struct tune_attempt *attempt) {
    double saved = tune_attempt_metric(attempt, "spill_save_bytes");
    double reloaded = tune_attempt_metric(attempt, "spill_reload_bytes");
    if (isnan(saved) || isnan(reloaded))
        return isnan(saved) ? reloaded : saved;
    return saved + reloaded;
}

static bool same(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* The conditions of a measurement stand before the entries that share them. */
static void entries_print(const struct tune_menu *menu, const size_t *order, size_t count,
                          struct buf *out) {
    const char *before = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct tune_strategy *entry = &menu->entries.at[order[i]];
        if (!same(entry->measured, before))
            buf_printf(out, "%s:\n", entry->measured ? entry->measured : "Besides");
        before = entry->measured;
        buf_printf(out, "- %s%s%s\n", entry->avoid ? "" : entry->name, entry->avoid ? "" : ": ",
                   entry->text);
    }
}

struct tune_menu_facts tune_menu_facts_of(const struct tune_state *state, int parent,
                                          struct arena *arena) {
    const struct tune_attempt *from = tune_state_attempt(state, parent);
    const char *source = from ? tune_source(state, from) : state->kernel_source;
    struct buf families = {0}, limited = {0};
    tune_memory_family_of(state, &families);
    if (from)
        tune_limited_names(from, &limited);
    const struct tune_menu_facts facts = {
        .device = device_name(state->device),
        .dialect = source ? tune_memory_dialect(source) : NULL,
        .families = families.len ? arena_strdup(arena, families.at) : NULL,
        .source = source,
        .bound_by = limited.len ? arena_strdup(arena, limited.at) : NULL,
        .release = tune_release(state),
        .any_precision = tune_precision_allowed(state) == TUNE_PRECISION_ANY,
        .spilled_bytes = from ? spilled(from) : (double)NAN,
        .tried = state->attempts.at,
        .n_tried = state->attempts.len};
    buf_free(&families);
    buf_free(&limited);
    return facts;
}

void tune_menu_show(const struct tune_state *state, int parent, int call, struct buf *out,
                    struct buf *avoid) {
    struct arena *arena = arena_new();
    const struct tune_menu_facts facts = tune_menu_facts_of(state, parent, arena);
    const struct tune_menu_draw draw = {state->id, state->round, parent,
                                        question_number(state, call), state->menu_keep};
    struct tune_menu *menu = tune_menu_load();
    size_t *order = mem_alloc(menu->entries.len + 1, sizeof *order), harmful;
    size_t shown = tune_menu_choose(menu, &facts, &draw, order, &harmful);
    entries_print(menu, order, shown, out);
    entries_print(menu, order + shown, harmful, avoid);
    mem_free_(order);
    tune_menu_free(menu);
    arena_free(arena);
}
