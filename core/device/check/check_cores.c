/* SPDX-License-Identifier: Apache-2.0 */
/* What two cores of a launch do in the HBM that they share. Where nothing orders them, neither may
 * touch what the other one writes: on the device either may come first. What orders them is a
 * nisa.core_barrier that names the tensor. Other meetings order what engines do, but a transfer
 * that is under way is not waited for (LNC guide), so with them alone there is a warning. What is
 * reached through indices is known on the device alone, and warned about. Kernels of AWS's library
 * let both cores write one result, by one statement: that is warned about, and right while both
 * write the same numbers, which the run sees. */
#include "device/check/check.h"
#include "device/check/own.h"

#include <stdlib.h>

/* Since when: nothing ordered the cores since then; or something did, that does not name the
 * tensor. */
enum since { SINCE_MEETING, SINCE_BARRIER, SINCES };

/* What one core has touched of the tensor. */
struct touched {
    uint8_t *bits[2][SINCES]; /* by [writes]: a bit each */
    bool any[2], indirect[2]; /* .. something; something through an index */
};

struct tensor {
    struct device_image *image;
    struct diag_list *diags;
    uint32_t storage;
    size_t element; /* bytes */
    int64_t n;
    struct touched core[2];
    uint32_t begins; /* the instruction since which nothing orders them */
    bool warned, warned_index, warned_twice;
};

static struct check_elements elements(const struct tensor *tensor, uint8_t *bits) {
    return (struct check_elements){.bits = bits, .n = tensor->n, .size = tensor->element};
}

/* The first element of the access that is set in one of the two, which may be NULL; -1. */
static int64_t find(const struct tensor *tensor, const struct nki_ap *ap, uint8_t *one,
                    uint8_t *other) {
    struct check_elements a = elements(tensor, one), b = elements(tensor, other);
    int64_t in_one = one ? check_elements_find(&a, ap) : -1;
    int64_t in_other = other ? check_elements_find(&b, ap) : -1;
    return in_one < 0 ? in_other : in_other < 0 ? in_one : MIN_OF(in_one, in_other);
}

/* ---- findings ------------------------------------------------------------------------------- */

/* The last instruction before `i` with which the other core touched the element. */
static uint32_t other_side(const struct tensor *tensor, uint32_t i, int64_t element, bool writes) {
    const struct device_image *image = tensor->image;
    const struct nki_program *program = image->program;
    uint8_t *bits = mem_alloc((size_t)tensor->n / 8 + 1, 1);
    uint32_t found = i;
    bits[element / 8] |= (uint8_t)(1u << (element % 8));
    for (uint32_t k = i; found == i && k-- > tensor->begins;) {
        struct device_operand operands[DEVICE_MAX_OPERANDS];
        size_t n = device_operands(image, k, operands);
        for (size_t o = 0; program->instrs.at[k].core != program->instrs.at[i].core && o < n; o++)
            if (operands[o].ap->storage == tensor->storage && (writes || operands[o].is_dst) &&
                program->instrs.at[k].op != NKI_OP_CORE_BARRIER &&
                find(tensor, operands[o].ap, bits, NULL) >= 0)
                found = k;
    }
    free(bits);
    return found;
}

static const char *does(const struct tensor *tensor, uint32_t i) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n = device_operands(tensor->image, i, operands);
    for (size_t o = 0; o < n; o++)
        if (operands[o].ap->storage == tensor->storage && operands[o].is_dst)
            return "writes";
    return "reads";
}

static void print_line(const struct nki_program *program, uint32_t i, struct buf *out) {
    const struct nki_loc *loc = &program->locs.at[program->instrs.at[i].loc];
    buf_printf(out, "%s:%u", program->files.at[loc->file], loc->line);
}

static void report(struct tensor *tensor, uint32_t i, int64_t element, bool writes, bool met) {
    const struct nki_program *program = tensor->image->program;
    const struct nki_storage *storage = program->storages.at[tensor->storage];
    uint32_t core = program->instrs.at[i].core;
    uint32_t other = other_side(tensor, i, element, writes);
    struct buf text = {0};
    buf_printf(&text, "core %u %s ", core, writes ? "writes" : "reads");
    check_print_element(storage, element, &text);
    buf_printf(&text, ", which core %u %s at ", 1 - core, does(tensor, other));
    print_line(program, other, &text);
    buf_printf(&text,
               met ? "; the cores meet between them, but not in a nisa.core_barrier that "
                     "names `%s`, so a transfer may still be under way"
                   : ", and nothing orders the two: give each core its own part, or put "
                     "nisa.core_barrier(%s, (0, 1)) between them",
               storage->name);
    device_report(program, tensor->diags, met ? DIAG_WARNING : DIAG_ERROR,
                  program->instrs.at[i].loc, met ? "hone-cores-order" : "hone-two-cores", "%s",
                  text.at);
    buf_free(&text);
}

/* ---- walking -------------------------------------------------------------------------------- */

static void warn_of_index(struct tensor *tensor, uint32_t i) {
    const struct nki_program *program = tensor->image->program;
    if (!tensor->warned_index)
        device_report(program, tensor->diags, DIAG_WARNING, program->instrs.at[i].loc,
                      "hone-cores-index",
                      "both cores use `%s` here and one of them through indices, which only the "
                      "device knows: nothing may be touched by one that the other one writes",
                      program->storages.at[tensor->storage]->name);
    tensor->warned_index = true;
}

static void note(struct tensor *tensor, const struct nki_ap *ap, int core, bool writes) {
    struct touched *own = &tensor->core[core];
    own->any[writes] = true;
    own->indirect[writes] |= ap->indirect != NULL;
    struct check_elements noted = elements(tensor, own->bits[writes][SINCE_MEETING]);
    if (!ap->indirect)
        check_elements_add(&noted, ap);
}

/* Whether the instruction is the statement with which the other core wrote the same elements, and
 * that core has not read them. */
static bool is_twice(struct tensor *tensor, uint32_t i, const struct nki_ap *ap, int64_t at) {
    const struct nki_program *program = tensor->image->program;
    uint32_t k = other_side(tensor, i, at, true);
    const struct nki_instr *a = &program->instrs.at[i], *b = &program->instrs.at[k];
    const struct touched *other = &tensor->core[1 - a->core];
    const struct nki_ap *dst = b->operands[NKI_DST].ap;
    if (a->loc != b->loc || a->op != NKI_OP_DMA_COPY || b->op != NKI_OP_DMA_COPY ||
        dst->storage != ap->storage || ap != a->operands[NKI_DST].ap || dst->indirect ||
        find(tensor, ap, other->bits[0][SINCE_MEETING], NULL) >= 0 || dst->n_dims != ap->n_dims ||
        dst->offset != ap->offset || dst->dtype != ap->dtype)
        return false;
    for (int d = 0; d < ap->n_dims; d++)
        if (dst->count[d] != ap->count[d] || dst->step[d] != ap->step[d])
            return false;
    return true;
}

static void note_twice(struct tensor *tensor, uint32_t i) {
    struct device_image *image = tensor->image;
    const struct nki_program *program = image->program;
    if (!image->twice)
        image->twice = ARENA_ARRAY(image->arena, bool, program->instrs.len + 1);
    image->twice[i] = true;
    if (!tensor->warned_twice)
        device_report(program, tensor->diags, DIAG_WARNING, program->instrs.at[i].loc,
                      "hone-two-cores",
                      "both cores write the same part of `%s` here: that is right only while both "
                      "write the same numbers, and one of the two transfers is for nothing",
                      program->storages.at[tensor->storage]->name);
    tensor->warned_twice = true;
}

/* False after an error. */
static bool meet(struct tensor *tensor, uint32_t i, const struct nki_ap *ap, bool writes) {
    int core = tensor->image->program->instrs.at[i].core;
    const struct touched *other = &tensor->core[1 - core];
    bool any = other->any[1] || (writes && other->any[0]);
    bool index = ap->indirect || other->indirect[1] || (writes && other->indirect[0]);
    if (any && index)
        warn_of_index(tensor, i);
    for (int since = 0; any && !ap->indirect && since < SINCES; since++) {
        int64_t at = find(tensor, ap, other->bits[1][since], writes ? other->bits[0][since] : NULL);
        if (at < 0 || (since == SINCE_BARRIER && tensor->warned))
            continue;
        if (since == SINCE_MEETING && writes && is_twice(tensor, i, ap, at)) {
            note_twice(tensor, i);
            continue;
        }
        report(tensor, i, at, writes, since == SINCE_BARRIER);
        tensor->warned = true;
        if (since == SINCE_MEETING)
            return false;
    }
    note(tensor, ap, core, writes);
    return true;
}

static void pass_meeting(struct tensor *tensor, uint32_t i, bool names) {
    size_t bytes = (size_t)tensor->n / 8 + 1;
    for (int core = 0; core < 2; core++) {
        struct touched *own = &tensor->core[core];
        for (int writes = 0; writes < 2; writes++) {
            uint8_t **bits = own->bits[writes];
            for (size_t b = 0; b < bytes; b++)
                bits[SINCE_BARRIER][b] =
                    names ? 0 : bits[SINCE_BARRIER][b] | bits[SINCE_MEETING][b];
            memset(bits[SINCE_MEETING], 0, bytes);
            own->any[writes] &= !names;
            own->indirect[writes] &= !names;
        }
    }
    if (names)
        tensor->begins = i;
}

static bool names(const struct nki_instr *instr, uint32_t storage) {
    return instr->op == NKI_OP_CORE_BARRIER && instr->operands[NKI_DST].ap->storage == storage;
}

/* What the instruction and the other core's do together, each to its own tensors. Those of
 * sendrecv and core_barrier are on chip, or are not touched. */
static bool is_done_together(const struct nki_program *program, const struct nki_instr *instr) {
    return instr->more->mate &&
           (instr->op != NKI_OP_COLLECTIVE ||
            nki_collective_is_shared(instr, &program->instrs.at[instr->more->mate - 1]));
}

/* Ranks wait for each other in a collective, and so do the cores of each, but not for transfers to
 * what it does not name. */
static bool reaches(const struct device_operand *operands, size_t n, const struct nki_instr *instr,
                    uint32_t storage) {
    for (size_t k = 0; instr->op == NKI_OP_COLLECTIVE && k < n; k++)
        if (operands[k].ap->storage == storage)
            return true;
    return false;
}

static bool walk(struct tensor *tensor) {
    const struct nki_program *program = tensor->image->program;
    for (uint32_t i = 0; i < program->instrs.len; i++) {
        struct device_operand operands[DEVICE_MAX_OPERANDS];
        size_t n = device_operands(tensor->image, i, operands);
        const struct nki_instr *instr = &program->instrs.at[i];
        if (instr->more->mate > i) /* once for each pair */
            pass_meeting(tensor, i,
                         names(instr, tensor->storage) ||
                             reaches(operands, n, instr, tensor->storage));
        if (is_done_together(program, instr))
            continue;
        for (size_t k = 0; k < n; k++)
            if (operands[k].ap->storage == tensor->storage &&
                !meet(tensor, i, operands[k].ap, operands[k].is_dst))
                return false;
    }
    return true;
}

static bool check_storage(struct device_image *image, uint32_t s, struct diag_list *diags) {
    const struct nki_storage *storage = image->program->storages.at[s];
    if (storage->space != NKI_HBM) {
        device_report(image->program, diags, DIAG_ERROR, storage->loc, "hone-two-cores",
                      "both cores use `%s`, but each has its own SBUF and PSUM", storage->name);
        return false;
    }
    struct tensor tensor = {.image = image,
                            .diags = diags,
                            .storage = s,
                            .element = MAX_OF(dtype_bytes(storage->dtype), 1u)};
    tensor.n = (int64_t)(storage->bytes / tensor.element);
    for (int k = 0; k < 2 * 2 * SINCES; k++)
        tensor.core[k / 4].bits[k / 2 % 2][k % 2] = mem_alloc((size_t)tensor.n / 8 + 1, 1);
    bool good = walk(&tensor);
    for (int k = 0; k < 2 * 2 * SINCES; k++)
        free(tensor.core[k / 4].bits[k / 2 % 2][k % 2]);
    return good;
}

bool check_cores(struct device_image *image, struct diag_list *diags) {
    const struct nki_program *program = image->program;
    uint8_t *users = mem_alloc(program->storages.len + 1, 1);
    for (uint32_t i = 0; i < program->instrs.len; i++) {
        struct device_operand operands[DEVICE_MAX_OPERANDS];
        size_t n = device_operands(image, i, operands);
        for (size_t k = 0; !is_done_together(program, &program->instrs.at[i]) && k < n; k++)
            users[operands[k].ap->storage] |= (uint8_t)(1u << program->instrs.at[i].core);
    }
    bool good = true;
    for (uint32_t s = 0; s < program->storages.len && good; s++)
        if (users[s] == 3 && image->written[s])
            good = check_storage(image, s, diags);
    free(users);
    return good;
}
