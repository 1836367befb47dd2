/* SPDX-License-Identifier: Apache-2.0 */
/* What evaluating a kernel may use: steps, memory, instructions. The evaluator counts every step
 * where it goes round. Work in C counts by how much there is of it, and memory where an arena takes
 * another block from the system. A budget that is used up ends the evaluation at the next step,
 * past every `except`. The error says where that was and what had grown. */
#include "nki/python/inner.h"

#include <stdio.h>

#define STEPS_BETWEEN_CHECKS 4096

/* The next step checks all budgets. */
static void on_growth(void *data) {
    struct interp *in = data;
    in->next_check = 0;
}

void budget_open(struct interp *in) {
    const struct nki_specialise_options *options = in->options;
    in->max_steps = options->max_steps ? options->max_steps : NKI_DEFAULT_STEPS;
    in->max_instructions =
        options->max_instructions ? options->max_instructions : NKI_DEFAULT_INSTRUCTIONS;
    in->max_bytes = options->max_bytes ? options->max_bytes : NKI_DEFAULT_BYTES;
    in->next_check = MIN_OF((uint64_t)STEPS_BETWEEN_CHECKS, in->max_steps);
    arena_watch(in->heap, on_growth, in);
    arena_watch(in->program->arena, on_growth, in);
}

void budget_close(struct interp *in) {
    arena_watch(in->program->arena, NULL, NULL);
}

/* ---- what grew ------------------------------------------------------------------------------ */

static const char *const grown_names[GROWN_COUNT] = {
    [GROWN_LISTS] = "lists and tuples",
    [GROWN_DICTS] = "dicts and sets",
    [GROWN_TEXTS] = "strings",
    [GROWN_ARRAYS] = "numpy arrays",
    [GROWN_TILES] = "tiles",
    [GROWN_PROGRAM] = "instructions",
    [GROWN_SOURCES] = "imported files",
    [GROWN_OBJECTS] = "objects, functions and their calls",
};

void interp_grew(struct interp *in, enum grown what, uint64_t items, uint64_t bytes) {
    in->grown[what].bytes += bytes;
    in->grown[what].largest = MAX_OF(in->grown[what].largest, items);
}

static size_t bytes_of_program(const struct interp *in) {
    const struct nki_program *p = in->program;
    return p->instrs.cap * sizeof *p->instrs.at + p->locs.cap * sizeof *p->locs.at +
           p->storages.cap * sizeof *p->storages.at;
}

static size_t bytes_in_use(const struct interp *in) {
    return arena_bytes(in->heap) + arena_bytes(in->program->arena) + bytes_of_program(in) +
           in->grown[GROWN_SOURCES].bytes + in->grown[GROWN_TILES].bytes;
}

/* What nobody counted separately: in the program's arena the parts of instructions, in the heap
 * objects, functions and frames. */
static void count_rest(struct interp *in) {
    struct grown_bytes *grown = in->grown;
    uint64_t kept = grown[GROWN_TEXTS].bytes + grown[GROWN_ARRAYS].bytes;
    uint64_t values = grown[GROWN_LISTS].bytes + grown[GROWN_DICTS].bytes;
    size_t program = arena_bytes(in->program->arena), heap = arena_bytes(in->heap);
    grown[GROWN_PROGRAM].bytes = bytes_of_program(in) + (program > kept ? program - kept : 0);
    grown[GROWN_PROGRAM].largest = in->program->instrs.len;
    grown[GROWN_OBJECTS].bytes = heap > values ? heap - values : 0;
}

static void print_growth(struct interp *in, struct buf *out) {
    enum grown most = GROWN_LISTS;
    count_rest(in);
    for (enum grown i = GROWN_LISTS; i < GROWN_COUNT; i++)
        if (in->grown[i].bytes > in->grown[most].bytes)
            most = i;
    const struct grown_bytes *grown = &in->grown[most];
    /* Instructions need tiles. A loop that makes only tiles has no instructions. */
    bool tiles = most == GROWN_PROGRAM && in->program->storages.len > in->program->instrs.len;
    buf_printf(out, "%llu MiB of it are %s", (unsigned long long)(grown->bytes >> 20),
               grown_names[tiles ? GROWN_TILES : most]);
    uint64_t largest = tiles ? in->program->storages.len : grown->largest;
    if (most == GROWN_PROGRAM)
        buf_printf(out, " (%llu)", (unsigned long long)largest);
    else if (most != GROWN_OBJECTS && most != GROWN_SOURCES && largest)
        buf_printf(out, ", the largest of %llu %s", (unsigned long long)largest,
                   most == GROWN_TEXTS ? "characters" : "items");
}

/* ---- the loop that was under way ------------------------------------------------------------ */

void budget_blame_loop(struct interp *in, const struct nki_node *loop, int64_t round,
                       int64_t length) {
    struct failure *failure = &in->failure;
    if (!failure->fatal || round <= failure->loop.round)
        return;
    failure->loop.unit = in->frame->unit;
    failure->loop.node = loop;
    failure->loop.round = round;
    failure->loop.length = length;
}

void budget_print_loop(const struct failure *failure, struct buf *out) {
    const struct failure_loop *loop = &failure->loop;
    if (!failure->fatal || !loop->node)
        return;
    buf_printf(out, "; the loop in line %d%s%s was in round %lld",
               nki_place_of(loop->unit->tree, loop->node->start).line,
               loop->unit == failure->unit ? "" : " of ",
               loop->unit == failure->unit ? "" : path_base(loop->unit->path),
               (long long)loop->round);
    if (loop->length >= 0)
        buf_printf(out, " of %lld", (long long)loop->length);
}

/* ---- the budgets ---------------------------------------------------------------------------- */

static bool out_of_memory(struct interp *in, const struct nki_node *node) {
    struct buf what = {0};
    print_growth(in, &what);
    interp_fatal(in, node, "hone-memory",
                 "evaluating the kernel needs more than the %zu MiB of memory it may use; %s",
                 in->max_bytes >> 20, what.at);
    buf_free(&what);
    return false;
}

bool interp_check(struct interp *in, const struct nki_node *node) {
    if (in->options->cancel && *in->options->cancel)
        return interp_fatal(in, node, "Cancelled", "specialising was stopped here");
    if (in->steps >= in->max_steps)
        return interp_fatal(in, node, "hone-steps",
                            "evaluating the kernel takes more than %llu steps, the limit; is "
                            "there a loop that never ends?",
                            (unsigned long long)in->max_steps);
    if (bytes_in_use(in) > in->max_bytes)
        return out_of_memory(in, node);
    in->next_check = MIN_OF(in->steps + STEPS_BETWEEN_CHECKS, in->max_steps);
    return true;
}

void interp_count(struct interp *in, uint64_t steps) {
    if (__builtin_add_overflow(in->steps, steps, &in->steps))
        in->steps = UINT64_MAX;
}

bool interp_spend(struct interp *in, const struct nki_node *node, uint64_t steps) {
    interp_count(in, steps);
    return in->steps < in->next_check || interp_check(in, node);
}

bool interp_room(struct interp *in, const struct nki_node *node, uint64_t count, size_t size) {
    uint64_t bytes;
    if (__builtin_mul_overflow(count, (uint64_t)size, &bytes) || bytes > in->max_bytes ||
        count > (size == 1 ? INTERP_MAX_TEXT : INTERP_MAX_ITEMS))
        return interp_error(in, node, "MemoryError",
                            "a value of %llu %s is too large for a kernel's meta-program",
                            (unsigned long long)count, size == 1 ? "characters" : "items");
    if (bytes > in->max_bytes - MIN_OF(in->max_bytes, bytes_in_use(in)))
        return out_of_memory(in, node);
    return interp_spend(in, node, count / 16);
}

bool budget_allows(struct interp *in, uint64_t times, uint64_t instrs, uint64_t bytes) {
    uint64_t more, size;
    if (__builtin_mul_overflow(times, instrs, &more) ||
        __builtin_mul_overflow(times, bytes, &size) ||
        more > in->max_instructions - MIN_OF(in->max_instructions, in->program->instrs.len) ||
        more > in->max_steps - MIN_OF(in->max_steps, in->steps) ||
        size > in->max_bytes - MIN_OF(in->max_bytes, bytes_in_use(in)))
        return false;
    interp_count(in, more);
    return true;
}

/* Whether an instruction lacks a tile that stands for an input that is missing. */
static bool lacks_input(const struct interp *in, const struct nki_instr *instr) {
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    if (!in->options->partial || instr->n_operands != row->n_params)
        return false;
    for (size_t k = 0; k < row->n_params; k++)
        if (instr->operands[k].kind == NKI_OPERAND_NONE &&
            !(row->params[k].takes >> NKI_OPERAND_NONE & 1))
            return true;
    return false;
}

bool interp_emit(struct interp *in, const struct nki_node *node, const struct nki_instr *instr) {
    if (in->tolerant)
        return interp_error(in, node, "hone-outside-kernel",
                            "an instruction outside of a kernel function");
    if (in->program->instrs.len >= in->max_instructions)
        return interp_fatal(in, node, "hone-instructions",
                            "the kernel unrolls to more than %zu instructions, the limit; "
                            "larger tiles or fewer loop iterations make fewer",
                            in->max_instructions);
    if (lacks_input(in, instr))
        return interp_error(in, node, "hone-argument", "an input is missing here");
    if (!interp_step(in, node))
        return false;
    if (in->rounds.len || in->program->round_marks.len)
        rounds_mark(in);
    *vec_push(&in->program->instrs) = *instr;
    in->program->instrs.at[in->program->instrs.len - 1].core = in->core;
    return true;
}
