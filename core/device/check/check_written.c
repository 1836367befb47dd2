/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of tiles that are read, and of outputs that are returned, to which nothing was written:
 * warnings, one for each tile. What the kernel computes of them is anything, though it may be of no
 * use to it. Tiles to which nothing at all is written are told by check.c.
 *
 * Where it cannot be told what was written (rows that an index selects, tiles that share memory in
 * a loop on the device), nothing is said. What a mask keeps from being written counts as written.
 * Of outputs the elements are counted, and looked for only where they are too few: an element for
 * which another one is written twice is not missed. */
#include "device/check/own.h"

#include <stdlib.h>

#define MOST_ELEMENTS ((int64_t)1 << 28)
/* Work, in runs of elements: so many, and so many more for each instruction. */
#define MOST_WORK ((int64_t)1 << 22)
#define MORE_WORK 128
#define ELEMENTS_OF_WORK 64 /* of a run take as long as another run */

/* What is known of a storage to a part of which something was written. */
struct part {
    struct check_elements missing; /* to which nothing was written; bits NULL: not yet made */
    const struct nki_ap *clean;    /* the last pattern that was found written */
    int64_t written;               /* elements of an output, those written twice counted twice */
};

struct walk {
    const struct device_image *image;
    const struct nki_program *program;
    struct diag_list *diags;
    uint32_t *part_of; /* by storage: its part's number + 1; 0: nothing was written; SETTLED */
    VEC(struct part) parts;
    uint32_t instr;
    int64_t work; /* that is left */
};

#define SETTLED UINT32_MAX /* all is written, or it cannot be told, or it was told */

static struct part *part_of(struct walk *w, uint32_t s) {
    bool exists = w->part_of[s] && w->part_of[s] != SETTLED;
    return exists ? &w->parts.at[w->part_of[s] - 1] : NULL;
}

static struct part *part_make(struct walk *w, uint32_t s) {
    if (!part_of(w, s)) {
        *vec_push(&w->parts) = (struct part){0};
        w->part_of[s] = (uint32_t)w->parts.len;
    }
    return part_of(w, s);
}

/* The pattern as one of elements from the start of the storage, whose partitions follow each
 * other. `steps` has room for its steps. */
static struct nki_ap flat(const struct nki_program *program, const struct nki_ap *ap,
                          int64_t steps[NKI_MAX_DIMS]) {
    const struct nki_storage *storage = program->storages.at[ap->storage];
    int64_t row = (int64_t)(storage->blocks * storage->block_bytes / dtype_bytes(ap->dtype));
    struct nki_ap out = *ap;
    if (storage->space == NKI_HBM)
        return out;
    memcpy(steps, ap->step, ap->n_dims * sizeof *steps);
    steps[0] *= row;
    out.step = steps;
    out.offset += row * ap->partition;
    return out;
}

/* Runs of elements that a pattern has, and what each takes. */
static int64_t work_of(const struct nki_ap *ap) {
    int64_t runs = 1, last = 1;
    for (int d = 0; d < ap->n_dims; d++) {
        bool run = d == ap->n_dims - 1 && ap->step[d] == 1;
        if (run)
            last += ap->count[d] / ELEMENTS_OF_WORK;
        else if (ap->step[d])
            runs *= ap->count[d];
    }
    return runs * last;
}

/* Whether a write is of the whole storage. */
static bool is_whole(const struct check_elements *all, const struct nki_ap *ap) {
    bool repeats = false;
    for (int d = 0; d < ap->n_dims; d++)
        repeats |= ap->step[d] == 0 && ap->count[d] > 1;
    return !repeats &&
           nki_ap_count(ap) * (int64_t)dtype_bytes(ap->dtype) >= all->n * (int64_t)all->size;
}

static struct check_elements elements_of(const struct nki_storage *storage) {
    size_t size = MAX_OF(dtype_bytes(storage->dtype), 1u);
    uint64_t bytes = storage->space == NKI_HBM
                         ? storage->bytes
                         : storage->blocks * storage->block_bytes * storage->partitions;
    return (struct check_elements){.n = (int64_t)(bytes / size), .size = size};
}

/* Takes the elements of a pattern off those that are missing. */
static void remove_written(struct walk *w, struct part *part, const struct check_elements *all,
                           const struct nki_ap *ap) {
    int64_t steps[NKI_MAX_DIMS];
    struct nki_ap one = flat(w->program, ap, steps);
    if (!part->missing.bits) {
        part->missing = *all;
        part->missing.bits = mem_alloc((size_t)all->n / 8 + 1, 1);
        memset(part->missing.bits, 0xff, (size_t)all->n / 8 + 1);
    }
    check_elements_remove(&part->missing, &one);
}

static void note_write(struct walk *w, const struct nki_ap *ap) {
    const struct nki_storage *storage = w->program->storages.at[ap->storage];
    if (w->part_of[ap->storage] == SETTLED)
        return;
    struct check_elements all = elements_of(storage);
    bool counts = storage->space == NKI_HBM;
    w->work -= counts ? 0 : work_of(ap);
    if (ap->indirect || ap->n_dims > NKI_MAX_DIMS || is_whole(&all, ap) || all.n > MOST_ELEMENTS ||
        w->work < 0) {
        w->part_of[ap->storage] = SETTLED;
        return;
    }
    struct part *part = part_make(w, ap->storage);
    part->written += nki_ap_count(ap) * (int64_t)dtype_bytes(ap->dtype) / (int64_t)all.size;
    if (!counts)
        remove_written(w, part, &all, ap);
    else if (part->written >= all.n)
        w->part_of[ap->storage] = SETTLED;
}

static void tell(struct walk *w, uint32_t s, int64_t at, uint32_t loc, const char *does) {
    const struct nki_storage *storage = w->program->storages.at[s];
    struct buf text = {0};
    bool named = storage->name && storage->name[0];
    buf_printf(&text, "%s %s%s%s, but nothing was written to a part of it, such as ", does,
               named ? "`" : "", named ? storage->name : "a tensor", named ? "`" : "");
    check_print_element(storage, at, &text);
    device_report(w->program, w->diags, DIAG_WARNING, loc, "hone-unwritten",
                  "%s; it holds anything", text.at);
    buf_free(&text);
    w->part_of[s] = SETTLED;
}

static void note_read(struct walk *w, const struct nki_ap *ap, bool is_dst) {
    struct part *part = part_of(w, ap->storage);
    int64_t steps[NKI_MAX_DIMS];
    if (w->part_of[ap->storage] == SETTLED || (part ? part->clean == ap : !is_dst) ||
        ap->indirect || ap->n_dims > NKI_MAX_DIMS ||
        w->program->storages.at[ap->storage]->space == NKI_HBM)
        return;
    if (!part) {
        tell(w, ap->storage, 0, w->program->instrs.at[w->instr].loc, "nc_matmul adds to");
        return;
    }
    struct nki_ap one = flat(w->program, ap, steps);
    w->work -= work_of(ap);
    int64_t at = w->work < 0 ? -1 : check_elements_find(&part->missing, &one);
    part->clean = ap;
    if (at < 0)
        return;
    const struct nki_instr *instr = &w->program->instrs.at[w->instr];
    struct buf does = {0};
    buf_printf(&does, "%s reads", nki_op_name((enum nki_op)instr->op));
    tell(w, ap->storage, at, instr->loc, does.at);
    buf_free(&does);
}

/* accumulate=True adds to what is there; without it, the first product of a tile overwrites. */
static bool adds_always(const struct nki_instr *instr) {
    const struct nki_operand *flag = &instr->operands[NKI_NC_MATMUL_accumulate];
    return instr->op == NKI_OP_NC_MATMUL && flag->kind == NKI_OPERAND_BOOL && flag->i;
}

static void look_at(struct walk *w) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    const struct nki_instr *instr = &w->program->instrs.at[w->instr];
    size_t n = device_operands(w->image, w->instr, operands);
    if (instr->op == NKI_OP_CORE_BARRIER || instr->op == NKI_OP_COLLECTIVE)
        n = 0;
    for (size_t k = 0; k < n; k++)
        if (operands[k].is_src && (!operands[k].is_dst || adds_always(instr)))
            note_read(w, operands[k].ap, operands[k].is_dst);
    for (size_t k = 0; k < n; k++)
        if (operands[k].is_dst)
            note_write(w, operands[k].ap);
}

/* What holds something from the start, or of which it cannot be told. */
static void settle(struct walk *w) {
    for (size_t s = 0; s < w->program->storages.len; s++) {
        const struct nki_storage *storage = w->program->storages.at[s];
        if (storage->zeroed || storage->constant || storage->input >= 0 || storage->again ||
            (storage->space == NKI_HBM && storage->output < 0))
            w->part_of[s] = SETTLED;
        if (storage->again)
            w->part_of[storage->again - 1] = SETTLED;
    }
    /* What several exchange is written by what is no operand here. */
    for (size_t i = 0; i < w->program->instrs.len; i++) {
        struct device_operand operands[DEVICE_MAX_OPERANDS];
        uint16_t op = (uint16_t)w->program->instrs.at[i].op;
        size_t n = op == NKI_OP_COLLECTIVE ? device_operands(w->image, i, operands) : 0;
        for (size_t k = 0; k < n; k++)
            w->part_of[operands[k].ap->storage] = SETTLED;
    }
}

/* The first element of an output that no instruction writes; negative: there is none. */
static int64_t find_missing(struct walk *w, uint32_t s) {
    struct part *part = part_of(w, s);
    struct check_elements all = elements_of(w->program->storages.at[s]);
    for (size_t i = 0; i < w->program->instrs.len; i++) {
        struct device_operand operands[DEVICE_MAX_OPERANDS];
        size_t n = device_operands(w->image, i, operands);
        for (size_t k = 0; k < n; k++)
            if (operands[k].is_dst && operands[k].ap->storage == s)
                remove_written(w, part, &all, operands[k].ap);
    }
    struct nki_ap whole = {.storage = s,
                           .n_dims = 1,
                           .dtype = (uint8_t)w->program->storages.at[s]->dtype,
                           .step = (int64_t[]){1},
                           .count = (int32_t[]){(int32_t)all.n}};
    return part->missing.bits ? check_elements_find(&part->missing, &whole) : -1;
}

static void look_at_outputs(struct walk *w) {
    for (size_t k = 0; k < w->program->outputs.len; k++) {
        uint32_t s = w->program->outputs.at[k];
        int64_t at = part_of(w, s) ? find_missing(w, s) : -1;
        if (at >= 0)
            tell(w, s, at, w->program->storages.at[s]->loc, "the kernel returns");
    }
}

void check_written(const struct device_image *image, struct diag_list *diags) {
    const struct nki_program *program = image->program;
    struct walk w = {.image = image, .program = program, .diags = diags};
    w.part_of = mem_alloc(program->storages.len + 1, sizeof *w.part_of);
    w.work = MOST_WORK + MORE_WORK * (int64_t)program->instrs.len;
    settle(&w);
    for (; w.instr < program->instrs.len; w.instr++)
        look_at(&w);
    look_at_outputs(&w);
    for (size_t k = 0; k < w.parts.len; k++)
        free(w.parts.at[k].missing.bits);
    vec_free(&w.parts);
    free(w.part_of);
}
