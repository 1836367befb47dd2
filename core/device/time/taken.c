/* SPDX-License-Identifier: Apache-2.0 */
/* What became of which line: the passes of the compilers that changed its instructions. */
#include "device/time/run.h"

#include <stdlib.h>

static const struct {
    const char *name, *word;
} passes[PASS_COUNT] = {
#define PASS(id, name, word, ...) {name, word},
#include "device/compile/passes.def"
#undef PASS
};

/* Whether a load fills a buffer anew that another has filled before, and gets one of its own. */
static bool is_renamed(const struct allocation *allocation, uint32_t i) {
    size_t n;
    const struct block_operand *operands = allocation_operands(allocation, i, &n);
    return n && allocation_renames(allocation, i) &&
           allocation->image->blocks[operands[0].first].first_write != i;
}

/* The passes that changed an issue, as bits. */
static uint32_t passes_of(const struct allocation *allocation, const struct issue *issue) {
    uint32_t i = issue->instr, bits = 0;
    if (issue->kind == ISSUE_SAVE || issue->kind == ISSUE_RELOAD)
        return PASS_BIT(SPILLS);
    if (issue->kind == ISSUE_ABSENT)
        return allocation->image->program->instrs.at[i].op == NKI_OP_MEMSET ? PASS_BIT(ZERO_FLAGS)
                                                                            : PASS_BIT(RESIDENCY);
    if (allocation->input_in_psum && allocation->input_in_psum[i])
        bits |= PASS_BIT(PSUM_INPUTS);
    if (allocation->again && allocation->again[i])
        bits |= PASS_BIT(RECOMPUTES);
    if (allocation->engine[i] != allocation->image->engine[i])
        bits |= PASS_BIT(SHARED_COPIES);
    return is_renamed(allocation, i) ? bits | PASS_BIT(RENAMING) : bits;
}

static void add(struct time_trace *trace, struct map *index, struct time_place place, int pass,
                uint64_t times) {
    struct {
        struct time_place place;
        int pass;
    } key;
    memset(&key, 0, sizeof key);
    key.place = place;
    key.pass = pass;
    struct map_entry *entry = map_put(index, (struct str){(const char *)&key, sizeof key});
    if (!entry->value) {
        *vec_push(&trace->taken) =
            (struct time_taken){place, passes[pass].name, passes[pass].word, 0};
        entry->value = (void *)(uintptr_t)trace->taken.len;
    }
    trace->taken.at[(uintptr_t)entry->value - 1].times += times;
}

static int by_line(const void *a, const void *b) {
    const struct time_taken *x = a, *y = b;
    if (x->place.line != y->place.line)
        return x->place.line < y->place.line ? -1 : 1;
    if (x->place.kind != y->place.kind)
        return x->place.kind < y->place.kind ? -1 : 1;
    return x->times > y->times ? -1 : x->times < y->times;
}

void taken_find(const struct folded *folded, struct time_trace *trace) {
    const struct allocation *allocation = folded->allocation;
    struct map index = {0};
    for (uint32_t s = 0; s < allocation->issues.len; s++)
        for (uint32_t bits = passes_of(allocation, &allocation->issues.at[s]); bits;
             bits &= bits - 1)
            add(trace, &index, trace_place(folded, s), __builtin_ctz(bits),
                folded_weight(folded, s));
    if (trace->taken.len)
        qsort(trace->taken.at, trace->taken.len, sizeof *trace->taken.at, by_line);
    map_free(&index);
}
