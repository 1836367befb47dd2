/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does with its inputs and outputs: which inputs reach which output, how much of an
 * output is written, and where numbers become narrower. It follows storages and not elements, and
 * computes no numbers. What this means for a candidate is at the end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/program/program.h"

#define MOST_ELEMENTS ((int64_t)1 << 28) /* of an output that is followed; larger ones are not */
#define MOST_RUNS ((int64_t)1 << 26)     /* contiguous writes that are followed, in all */

/* Bits of the mantissa; 0 for types that are not floats. */
static int mantissa(enum dtype dtype) {
    static const struct {
        enum dtype dtype;
        int bits;
    } all[] = {{DTYPE_FLOAT64, 52},       {DTYPE_FLOAT32, 23},         {DTYPE_TFLOAT32, 10},
               {DTYPE_FLOAT16, 10},       {DTYPE_BFLOAT16, 7},         {DTYPE_FLOAT8_E4M3, 3},
               {DTYPE_FLOAT8_E4M3FN, 3},  {DTYPE_FLOAT8_E4M3FN_X4, 3}, {DTYPE_FLOAT8_E5M2, 2},
               {DTYPE_FLOAT8_E5M2_X4, 2}, {DTYPE_FLOAT4_E2M1FN_X4, 1}};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (all[i].dtype == dtype)
            return all[i].bits;
    return 0;
}

/* Bits of a whole number that has fewer than a float32 keeps; 0 for other types. */
static int short_bits(enum dtype dtype) {
    return dtype == DTYPE_INT8     ? 7
           : dtype == DTYPE_UINT8  ? 8
           : dtype == DTYPE_INT16  ? 15
           : dtype == DTYPE_UINT16 ? 16
                                   : 0;
}

/* ---- following the program ------------------------------------------------------------------ */

/* What a storage holds, for those of short whole numbers: truth values only, or floats that were
 * rounded: from and to which type, both DTYPE_NONE: none. */
struct whole {
    bool other; /* something besides truth values was written */
    enum dtype from, to;
};

struct follow {
    const struct nki_program *program;
    struct nki_facts *facts;
    uint64_t *holds;     /* by storage: inputs that its contents depend on */
    struct whole *whole; /* by storage */
    uint64_t registers;  /* of all registers together */
    uint8_t **written;   /* by output: one bit per element; NULL: not followed */
    int64_t runs;
};

static int line_of(const struct nki_program *program, uint32_t loc) {
    const struct nki_loc *at = loc < program->locs.len ? &program->locs.at[loc] : NULL;
    /* In a file that the kernel imports: the call in the kernel's own file that led there. */
    while (at && at->file != 0 && at->caller >= 0 && (size_t)at->caller < program->locs.len)
        at = &program->locs.at[at->caller];
    return at ? (int)at->line : 0;
}

static enum nki_role role_of(const struct nki_instr *instr, size_t i) {
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    return i < row->n_params ? row->params[i].role : NKI_ROLE_PLAIN;
}

static bool is_result(const struct nki_instr *instr, size_t i) {
    return nki_role_writes(role_of(instr, i));
}

static void note_cast(struct follow *follow, enum dtype from, enum dtype to, uint32_t loc) {
    int *line = &follow->facts->cast[from][to];
    if (mantissa(from) > mantissa(to) && mantissa(to) > 0 && !*line)
        *line = MAX_OF(line_of(follow->program, loc), 1);
}

static uint64_t read_ap(struct follow *follow, const struct nki_ap *ap, uint32_t loc) {
    const struct nki_storage *storage = follow->program->storages.at[ap->storage];
    uint64_t held = follow->holds[ap->storage];
    if (storage->input >= 0 && storage->input < 64)
        follow->facts->read |= (uint64_t)1 << storage->input;
    /* The same bytes read as a shorter float. Packed ones are taken apart on purpose. */
    if (dtype_bytes(ap->dtype) == dtype_bytes(storage->dtype))
        note_cast(follow, storage->dtype, ap->dtype, loc);
    if (ap->indirect && ap->indirect->index)
        held |= read_ap(follow, ap->indirect->index, loc);
    else if (ap->indirect)
        held |= follow->registers;
    return held;
}

static void widest_note(enum dtype *widest, enum dtype dtype) {
    if (mantissa(dtype) > mantissa(*widest))
        *widest = dtype;
}

/* What an instruction reads. */
struct reading {
    enum dtype widest;    /* its widest float */
    struct whole rounded; /* floats that were rounded to short whole numbers */
    bool truth;           /* all tiles hold truth values */
};

static bool is_predicate(const struct nki_instr *instr, size_t i) {
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    return i < row->n_params && !strcmp(row->params[i].name, "predicate");
}

static void read_whole(const struct follow *follow, const struct nki_ap *ap, bool predicate,
                       struct reading *reading) {
    const struct whole *whole = &follow->whole[ap->storage];
    reading->truth &= !whole->other && follow->program->storages.at[ap->storage]->input < 0;
    if (whole->to && short_bits(ap->dtype) && !predicate)
        reading->rounded = *whole;
}

/* The inputs behind what an instruction reads. */
static uint64_t read_operands(struct follow *follow, const struct nki_instr *instr,
                              struct reading *reading) {
    uint64_t held = 0;
    *reading = (struct reading){.truth = true};
    for (size_t i = 0; i < instr->n_operands; i++) {
        const struct nki_operand *operand = &instr->operands[i];
        bool is_list = operand->kind == NKI_OPERAND_APS;
        if (is_result(instr, i))
            continue;
        if (operand->kind == NKI_OPERAND_REG)
            held |= follow->registers;
        if (operand->kind != NKI_OPERAND_AP && !is_list)
            continue;
        for (uint32_t k = 0; k < (is_list ? operand->n : 1); k++) {
            const struct nki_ap *ap = is_list ? operand->aps[k] : operand->ap;
            held |= read_ap(follow, ap, instr->loc);
            widest_note(&reading->widest, ap->dtype);
            read_whole(follow, ap, is_predicate(instr, i), reading);
        }
    }
    return held;
}

static bool fills(const struct nki_storage *storage, const struct nki_ap *ap) {
    uint64_t bytes = storage->space == NKI_HBM
                         ? storage->bytes
                         : storage->block_bytes * storage->blocks * storage->partitions;
    for (int d = 0; d < ap->n_dims; d++)
        if (ap->count[d] > 1 && ap->step[d] == 0)
            return false;
    return !ap->indirect && (uint64_t)nki_ap_count(ap) * dtype_bytes(ap->dtype) >= bytes;
}

static void bits_set(uint8_t *bits, int64_t first, int64_t count) {
    while (count > 0 && first % 8) {
        bits[first / 8] |= (uint8_t)(1u << first % 8);
        first++, count--;
    }
    memset(bits + first / 8, 0xff, (size_t)(count / 8));
    first += count / 8 * 8;
    for (int64_t i = 0; i < count % 8; i++)
        bits[(first + i) / 8] |= (uint8_t)(1u << (first + i) % 8);
}

/* Marks the elements of an output that a pattern writes. Gives up when the pattern is too large. */
static void write_elements(struct follow *follow, const struct nki_ap *ap, int32_t output) {
    const struct nki_storage *storage = follow->program->storages.at[ap->storage];
    int64_t total = (int64_t)(storage->bytes / MAX_OF(dtype_bytes(storage->dtype), (size_t)1));
    int last = ap->n_dims - 1;
    int64_t run = last >= 0 && ap->step[last] == 1 ? ap->count[last] : 1;
    int64_t runs = run > 0 ? nki_ap_count(ap) / run : 0;
    follow->runs += runs;
    if (ap->indirect || follow->runs > MOST_RUNS || ap->dtype != storage->dtype) {
        free(follow->written[output]);
        follow->written[output] = NULL;
        return;
    }
    int outer = run == 1 && !(last >= 0 && ap->step[last] == 1) ? ap->n_dims : last;
    for (int64_t i = 0; i < runs; i++) {
        int64_t at = ap->offset, rest = i;
        for (int d = outer - 1; d >= 0; d--) {
            at += ap->step[d] * (rest % ap->count[d]);
            rest /= ap->count[d];
        }
        if (at >= 0 && at < total)
            bits_set(follow->written[output], at, MIN_OF(run, total - at));
    }
}

static void write_operand(struct follow *follow, const struct nki_instr *instr, size_t i,
                          uint64_t held) {
    const struct nki_ap *ap = instr->operands[i].ap;
    const struct nki_storage *storage = follow->program->storages.at[ap->storage];
    bool anew = role_of(instr, i) == NKI_ROLE_WRITES && !instr->more->mask && fills(storage, ap);
    int32_t output = storage->output;
    if (ap->indirect && ap->indirect->index)
        held |= read_ap(follow, ap->indirect->index, instr->loc);
    follow->holds[ap->storage] = anew ? held : follow->holds[ap->storage] | held;
    if (output >= 0 && (size_t)output < follow->facts->n_outputs && follow->written[output])
        write_elements(follow, ap, output);
}

/* A product is a sum in float32, whatever its operands are. A transpose on the same engine is
 * not. */
static void count_product(struct nki_facts *facts, const struct nki_instr *instr) {
    const struct nki_operand *still = &instr->operands[NKI_NC_MATMUL_stationary];
    const struct nki_operand *moving = &instr->operands[NKI_NC_MATMUL_moving];
    if (still->kind != NKI_OPERAND_AP || moving->kind != NKI_OPERAND_AP)
        return;
    bool narrow = still->ap->dtype == DTYPE_BFLOAT16 && moving->ap->dtype == DTYPE_BFLOAT16;
    bool wide = still->ap->dtype == DTYPE_FLOAT32 || moving->ap->dtype == DTYPE_FLOAT32;
    if (narrow || wide)
        facts->multiply_adds[narrow] +=
            (double)nki_ap_free(still->ap) * (double)nki_ap_count(moving->ap);
}

static void note_product(struct follow *follow, const struct nki_instr *instr, enum dtype *widest) {
    struct nki_facts *facts = follow->facts;
    bool scaled = instr->op == NKI_OP_NC_MATMUL_MX;
    if (instr->op != NKI_OP_NC_MATMUL && !scaled)
        return;
    const struct nki_operand *moves = &instr->operands[NKI_NC_MATMUL_is_transpose];
    if (!scaled && moves->kind == NKI_OPERAND_BOOL && moves->i)
        return;
    *widest = DTYPE_FLOAT32;
    count_product(facts, instr);
    for (size_t i = NKI_NC_MATMUL_stationary; i <= NKI_NC_MATMUL_moving; i++) {
        enum dtype dtype =
            instr->operands[i].kind == NKI_OPERAND_AP ? instr->operands[i].ap->dtype : DTYPE_NONE;
        if (!mantissa(dtype) || (facts->narrowest && mantissa(dtype) >= mantissa(facts->narrowest)))
            continue;
        facts->narrowest = dtype;
        facts->narrowest_line = line_of(follow->program, instr->loc);
    }
}

/* Whether an instruction gives truth values: its last operator is a comparison, or there is none
 * and all that it reads are such. */
static bool gives_truth(const struct nki_instr *instr, const struct reading *reading) {
    enum nki_func last = NKI_FUNC_NONE;
    for (size_t i = 0; i < instr->n_operands; i++)
        if (instr->operands[i].kind == NKI_OPERAND_FUNC && instr->operands[i].i)
            last = (enum nki_func)instr->operands[i].i;
    bool logical = last >= NKI_FUNC_LOGICAL_AND && last <= NKI_FUNC_LOGICAL_NOT;
    return last == NKI_FUNC_NONE ? reading->truth : logical || nki_func_has(last, 'c');
}

/* Floats in short whole numbers are less exact once they are floats again; as indices, or as what
 * the kernel returns, they are what was asked for. */
static void note_rounding(struct follow *follow, const struct nki_instr *instr,
                          const struct reading *reading, const struct nki_ap *dst) {
    struct whole *whole = &follow->whole[dst->storage];
    int bits = short_bits(dst->dtype);
    if (gives_truth(instr, reading))
        return;
    whole->other = true;
    if (bits && mantissa(reading->widest) >= bits)
        *whole = (struct whole){true, reading->widest, dst->dtype};
    else if (bits && reading->rounded.to)
        *whole = reading->rounded;
    if (!mantissa(dst->dtype) || !reading->rounded.to)
        return;
    int *line = &follow->facts->cast[reading->rounded.from][reading->rounded.to];
    if (!*line)
        *line = MAX_OF(line_of(follow->program, instr->loc), 1);
}

static void follow_one(struct follow *follow, const struct nki_instr *instr) {
    struct reading reading;
    uint64_t held = read_operands(follow, instr, &reading);
    note_product(follow, instr, &reading.widest);
    for (size_t i = 0; i < instr->n_operands; i++) {
        const struct nki_operand *operand = &instr->operands[i];
        if (!is_result(instr, i))
            continue;
        if (operand->kind == NKI_OPERAND_REG)
            follow->registers |= held;
        if (operand->kind != NKI_OPERAND_AP)
            continue;
        note_cast(follow, reading.widest, operand->ap->dtype, instr->loc);
        note_rounding(follow, instr, &reading, operand->ap);
        write_operand(follow, instr, i, held);
    }
}

/* ---- the facts ------------------------------------------------------------------------------ */

static void begin(struct follow *follow) {
    const struct nki_program *program = follow->program;
    struct nki_facts *facts = follow->facts;
    facts->n_outputs = MIN_OF(program->outputs.len, (size_t)NKI_FACT_OUTPUTS);
    follow->holds = mem_alloc(program->storages.len + 1, sizeof *follow->holds);
    follow->written = mem_alloc(facts->n_outputs + 1, sizeof *follow->written);
    follow->whole = mem_alloc(program->storages.len + 1, sizeof *follow->whole);
    for (size_t i = 0; i < program->storages.len; i++) {
        const struct nki_storage *storage = program->storages.at[i];
        if (storage->input < 0 || storage->input >= 64)
            continue;
        follow->holds[i] = (uint64_t)1 << storage->input;
        facts->inputs |= follow->holds[i];
    }
    for (size_t i = 0; i < facts->n_outputs; i++) {
        const struct nki_storage *storage = program->storages.at[program->outputs.at[i]];
        int64_t count = (int64_t)(storage->bytes / MAX_OF(dtype_bytes(storage->dtype), (size_t)1));
        bool is_own = storage->output == (int32_t)i && storage->input < 0;
        if (is_own && count > 0 && count <= MOST_ELEMENTS)
            follow->written[i] = mem_alloc((size_t)(count + 7) / 8, 1);
    }
}

static double share_of(const uint8_t *bits, int64_t count) {
    int64_t set = 0;
    for (int64_t i = 0; i < (count + 7) / 8; i++)
        set += __builtin_popcount(bits[i]);
    return count > 0 ? (double)set / (double)count : (double)NAN;
}

static void end(struct follow *follow) {
    const struct nki_program *program = follow->program;
    for (size_t i = 0; i < follow->facts->n_outputs; i++) {
        uint32_t at = program->outputs.at[i];
        const struct nki_storage *storage = program->storages.at[at];
        int64_t count = (int64_t)(storage->bytes / MAX_OF(dtype_bytes(storage->dtype), (size_t)1));
        follow->facts->outputs[i].inputs = follow->holds[at];
        follow->facts->outputs[i].written =
            follow->written[i] ? share_of(follow->written[i], count) : (double)NAN;
        follow->facts->outputs[i].input = storage->input;
        follow->facts->outputs[i].line = line_of(program, storage->loc);
        snprintf(follow->facts->outputs[i].name, sizeof follow->facts->outputs[i].name, "%s",
                 storage->name ? storage->name : "");
        free(follow->written[i]);
    }
    mem_free_(follow->written);
    mem_free_(follow->whole);
    mem_free_(follow->holds);
}

void nki_facts_find(const struct nki_program *program, struct nki_facts *facts) {
    *facts = (struct nki_facts){0};
    struct follow follow = {.program = program, .facts = facts};
    begin(&follow);
    for (size_t i = 0; i < program->instrs.len; i++)
        follow_one(&follow, &program->instrs.at[i]);
    end(&follow);
    snprintf(facts->kept, sizeof facts->kept, "%s", program->kept ? program->kept : "");
    facts->kept_line = program->kept_line;
}

/* ---- a candidate against its original ------------------------------------------------------- */

static void compare_output(const struct nki_facts *candidate, const struct nki_facts *original,
                           size_t i, const char *file, struct diag_list *diags) {
    uint64_t had = original->outputs[i].inputs;
    double written = candidate->outputs[i].written;
    const char *name = candidate->outputs[i].name;
    if (had && !candidate->outputs[i].inputs)
        diag_add(diags, DIAG_ERROR, "hone-candidate-constant", file, candidate->outputs[i].line, 1,
                 "output %zu (%s) does not depend on any input: it is the same whatever the kernel "
                 "is given; compute it from the inputs, as the original does",
                 i, name);
    else if (written < 1 && !(original->outputs[i].written < 1))
        diag_add(diags, DIAG_ERROR, "hone-candidate-unwritten", file, candidate->outputs[i].line, 1,
                 "only %.4g %% of output %zu (%s) is written, the rest holds what was in memory "
                 "before; store every element",
                 written * 100, i, name);
}

/* Where the original makes an array of its own, the next launch would find its inputs changed. */
static void compare_place(const struct nki_facts *candidate, const struct nki_facts *original,
                          size_t i, const char *file, struct diag_list *diags) {
    if (candidate->outputs[i].input < 0 || original->outputs[i].input >= 0)
        return;
    diag_add(
        diags, DIAG_ERROR, "hone-candidate-input", file, candidate->outputs[i].line, 1,
        "output %zu is the array argument %d itself, which the kernel then changes for whoever "
        "reads it next; the original returns an array of its own: allocate one",
        i, candidate->outputs[i].input);
}

static void compare_reads(const struct nki_facts *candidate, const struct nki_facts *original,
                          const char *file, struct diag_list *diags) {
    uint64_t lost = original->read & candidate->inputs & ~candidate->read;
    for (int i = 0; i < 64; i++)
        if (lost >> i & 1)
            diag_add(diags, DIAG_ERROR, "hone-candidate-unread", file,
                     candidate->n_outputs ? candidate->outputs[0].line : 1, 1,
                     "the array argument %d is never read, which the original does: work was left "
                     "out; compute with all inputs",
                     i);
}

static void compare_casts(const struct nki_facts *candidate, const struct nki_facts *original,
                          enum nki_precision precision, const char *file, struct diag_list *diags) {
    static const char *const words[] = {"keep", "split", "any"};
    bool splits = precision == NKI_PRECISION_SPLIT;
    for (int from = 0; from < DTYPE_COUNT; from++)
        for (int to = 0; to < DTYPE_COUNT; to++)
            if (candidate->cast[from][to] && !original->cast[from][to] &&
                !(splits && from == DTYPE_FLOAT32 && to == DTYPE_BFLOAT16))
                diag_add(diags, DIAG_ERROR, "hone-candidate-precision", file,
                         candidate->cast[from][to], 1,
                         "numbers in %s become %s here, which the original never does, and the "
                         "precision policy is \"%s\"; keep %s",
                         dtype_name((enum dtype)from), dtype_name((enum dtype)to), words[precision],
                         dtype_name((enum dtype)from));
    if (original->narrowest && candidate->narrowest &&
        mantissa(candidate->narrowest) < mantissa(original->narrowest) &&
        !(splits && candidate->narrowest == DTYPE_BFLOAT16))
        diag_add(diags, DIAG_ERROR, "hone-candidate-precision", file, candidate->narrowest_line, 1,
                 "this matrix product takes %s, those of the original take %s, and the precision "
                 "policy is \"%s\"; keep %s",
                 dtype_name(candidate->narrowest), dtype_name(original->narrowest),
                 words[precision], dtype_name(original->narrowest));
}

/* Python keeps what a file's names hold from one call to the next. */
static void compare_kept(const struct nki_facts *candidate, const struct nki_facts *original,
                         const char *file, struct diag_list *diags) {
    if (*candidate->kept && !*original->kept)
        diag_add(diags, DIAG_ERROR, "hone-candidate-global", file, MAX_OF(candidate->kept_line, 1),
                 1,
                 "a call changes what '%s' holds, and the next call finds it so: what a call "
                 "computes must follow from its arguments",
                 candidate->kept);
}

void nki_facts_check_split(const struct nki_facts *candidate, double needed, const char *file,
                           struct diag_list *diags) {
    double wide = candidate->multiply_adds[0], narrow = candidate->multiply_adds[1];
    if (candidate->narrowest == DTYPE_BFLOAT16 && wide + narrow / 2 < needed * 0.99)
        diag_add(diags, DIAG_ERROR, "hone-candidate-precision", file, candidate->narrowest_line, 1,
                 "%.3g multiply-adds in bfloat16 and %.3g in float32 stand for %.3g in float32, "
                 "and the precision policy is \"split\": multiply the high and the low parts of "
                 "both operands, and add the products in float32",
                 narrow, wide, needed);
}

void nki_facts_compare(const struct nki_facts *candidate, const struct nki_facts *original,
                       enum nki_precision precision, const char *file, struct diag_list *diags) {
    size_t first = diags->all.len;
    for (size_t i = 0; i < candidate->n_outputs && i < original->n_outputs; i++)
        compare_output(candidate, original, i, file, diags);
    for (size_t i = 0; i < candidate->n_outputs && i < original->n_outputs; i++)
        compare_place(candidate, original, i, file, diags);
    compare_reads(candidate, original, file, diags);
    compare_kept(candidate, original, file, diags);
    if (precision != NKI_PRECISION_ANY)
        compare_casts(candidate, original, precision, file, diags);
    nki_sort_findings(diags, first);
}
