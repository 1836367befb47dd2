/* SPDX-License-Identifier: Apache-2.0 */
/* Which operands an instruction reads and writes, and which bytes and blocks they reach. Also
 * reports findings with their place in the source. */
#include "device/image/inner.h"
#include "device/image/testing.h"

/* ---- operands ------------------------------------------------------------------------------- */

struct operand_list {
    struct device_operand *at;
    size_t n;
};

static inline void add_operand(struct operand_list *list, const struct nki_ap *ap, size_t param,
                               enum nki_role role) {
    if (!ap || list->n == DEVICE_MAX_OPERANDS)
        return;
    list->at[list->n++] = (struct device_operand){.ap = ap,
                                                  .param = (int16_t)param,
                                                  .is_dst = nki_role_writes(role),
                                                  .is_src = role != NKI_ROLE_WRITES};
}

static void add_index(struct operand_list *list, const struct nki_ap *index, int16_t param) {
    if (list->n < DEVICE_MAX_OPERANDS)
        list->at[list->n++] =
            (struct device_operand){.ap = index, .param = param, .is_src = true, .is_index = true};
}

/* The contents stay where an indirect write skips a row or a position, or a mask an element. So an
 * operand that is written so is read too. */
static enum nki_role effective_role(const struct nki_instr *instr, const struct nki_ap *ap,
                                    enum nki_role role) {
    const struct nki_indirect *indirect = ap ? ap->indirect : NULL;
    bool in_part = ap && (instr->more->mask ||
                          (indirect && (indirect->skip_out_of_bounds || indirect->columns)));
    return role == NKI_ROLE_WRITES && in_part ? NKI_ROLE_UPDATES : role;
}

static void add_parameter(struct operand_list *list, const struct nki_instr *instr, size_t k,
                          enum nki_role role) {
    const struct nki_operand *operand = &instr->operands[k];
    if (operand->kind == NKI_OPERAND_AP)
        add_operand(list, operand->ap, k, effective_role(instr, operand->ap, role));
    if (operand->kind == NKI_OPERAND_APS)
        for (uint32_t i = 0; i < operand->n; i++)
            add_operand(list, operand->aps[i], k, role);
}

static size_t find_operands(const struct device_image *image, size_t i,
                            struct device_operand operands[DEVICE_MAX_OPERANDS]) {
    const struct nki_instr *instr = &image->program->instrs.at[i];
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    size_t n_params = MIN_OF(row->n_params, instr->n_operands), n_read = 0;
    uint8_t read[UINT8_MAX];
    struct operand_list list = {operands, 0};
    for (size_t k = 0; k < n_params; k++) {
        uint8_t kind = instr->operands[k].kind;
        if (kind != NKI_OPERAND_AP && kind != NKI_OPERAND_APS)
            continue;
        if (nki_role_writes(row->params[k].role))
            add_parameter(&list, instr, k, row->params[k].role);
        else
            read[n_read++] = (uint8_t)k;
    }
    for (size_t k = 0; k < n_read; k++)
        add_parameter(&list, instr, read[k], row->params[read[k]].role);
    size_t n = list.n;
    for (size_t k = 0; k < n; k++)
        if (operands[k].ap->indirect && operands[k].ap->indirect->index)
            add_index(&list, operands[k].ap->indirect->index, operands[k].param);
    return list.n;
}

/* Those of the first instruction of the kind, with this one's patterns. Lists of operands, and
 * tiles of indices, are the same ones: instructions that differ in them are of different kinds. */
static size_t operands_like(const struct device_image *image, size_t i,
                            struct device_operand operands[DEVICE_MAX_OPERANDS]) {
    const struct nki_operand *own = image->program->instrs.at[i].operands;
    const uint32_t *base = &image->reach_base[image->kind[i]];
    size_t n = base[1] - base[0];
    for (size_t k = 0; k < n; k++) {
        operands[k] = image->reached[base[0] + k];
        const struct nki_operand *operand = &own[operands[k].param];
        if (operand->kind == NKI_OPERAND_AP && !operands[k].is_index)
            operands[k].ap = operand->ap;
    }
    return n;
}

size_t device_operands(const struct device_image *image, size_t i,
                       struct device_operand operands[DEVICE_MAX_OPERANDS]) {
    bool known = image->reach_kinds && image->kind[i] < image->reach_kinds;
    return known ? operands_like(image, i, operands) : find_operands(image, i, operands);
}

void device_ap_span(const struct nki_program *program, const struct nki_ap *ap, int64_t *low,
                    int64_t *high) {
    const struct nki_storage *storage = program->storages.at[ap->storage];
    bool on_chip = storage->space != NKI_HBM;
    size_t size = dtype_bytes(ap->dtype);
    if (ap->indirect && !(on_chip && ap->indirect->vector)) {
        uint64_t bytes = on_chip ? storage->block_bytes * storage->blocks : storage->bytes;
        *low = 0;
        *high = size && bytes >= size ? (int64_t)(bytes / size) - 1 : 0;
        return;
    }
    *low = *high = ap->offset;
    for (int d = on_chip ? 1 : 0; d < ap->n_dims; d++) {
        int64_t reach = ap->step[d] * (ap->count[d] - 1);
        *(reach < 0 ? low : high) += reach;
    }
}

void device_ap_blocks(const struct nki_program *program, const struct nki_ap *ap, uint32_t *first,
                      uint32_t *last) {
    const struct nki_storage *storage = program->storages.at[ap->storage];
    *first = *last = 0;
    if (storage->space == NKI_HBM || storage->blocks < 2 || storage->block_bytes == 0)
        return;
    int64_t low, high, size = (int64_t)dtype_bytes(ap->dtype);
    device_ap_span(program, ap, &low, &high);
    int64_t block = (int64_t)storage->block_bytes, top = (int64_t)storage->blocks - 1;
    *first = (uint32_t)MAX_OF(0, MIN_OF(low * size / block, top));
    *last = (uint32_t)MAX_OF(0, MIN_OF((high * size + size - 1) / block, top));
}

/* ---- findings ------------------------------------------------------------------------------- */

static const char *loc_file(const struct nki_program *program, const struct nki_loc *loc) {
    return loc->file < program->files.len ? program->files.at[loc->file] : "";
}

struct diag *device_report(const struct nki_program *program, struct diag_list *diags,
                           enum diag_severity severity, uint32_t loc, const char *code,
                           const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    static const struct nki_loc nowhere = {.caller = -1};
    const struct nki_loc *at = loc < program->locs.len ? &program->locs.at[loc] : &nowhere;
    struct diag *diag = diag_add(diags, severity, code, loc_file(program, at), (int)at->line,
                                 (int)at->column, "%s", text.at ? text.at : "");
    buf_free(&text);
    int32_t caller = at->caller;
    for (int depth = 0; depth < 8 && caller >= 0 && (size_t)caller < program->locs.len; depth++) {
        const struct nki_loc *from = &program->locs.at[caller];
        diag_add(diags, DIAG_NOTE, "", loc_file(program, from), (int)from->line, (int)from->column,
                 "called from here");
        caller = from->caller;
    }
    /* Adding notes may have moved the list. */
    size_t index = diags->all.len;
    while (index > 0 && diags->all.at[index - 1].severity == DIAG_NOTE)
        index--;
    return index > 0 ? &diags->all.at[index - 1] : diag;
}

/* ---- the image ------------------------------------------------------------------------------ */

const struct nki_program *device_image_program(const struct device_image *image) {
    return image->program;
}

enum nki_engine device_image_engine(const struct device_image *image, size_t i) {
    return (enum nki_engine)image->engine[i];
}

/* Bytes per partition of SBUF that one instruction needs at once. With `each`, a tile counts for
 * each operand: at least as much, and the same for all instructions of a kind. */
static uint64_t needed_bytes(const struct device_image *image, size_t i, bool each) {
    struct device_operand operands[DEVICE_MAX_OPERANDS];
    size_t n = device_operands(image, i, operands);
    uint64_t bytes = 0;
    for (size_t k = 0; k < n; k++) {
        const struct nki_storage *storage = image->program->storages.at[operands[k].ap->storage];
        size_t before = each ? k : 0;
        while (before < k && operands[before].ap->storage != operands[k].ap->storage)
            before++;
        if (storage->space == NKI_SBUF && before == k)
            bytes += storage->block_bytes;
    }
    return bytes;
}

/* Whether each instruction has room in SBUF alone. */
static bool all_fit(const struct device_image *image) {
    uint64_t room = image->generation->sbuf_partition_bytes;
    bool fit = true;
    for (size_t kind = 0; kind < image->kinds.len && fit; kind++)
        fit = needed_bytes(image, image->kinds.at[kind], true) <= room;
    for (size_t i = 0; i < image->program->instrs.len && !fit; i++)
        if (needed_bytes(image, i, false) > room)
            return false;
    return true;
}

bool device_image_spills(const struct device_image *image) {
    if (image->program->dialect == NKI_DIALECT_LEGACY)
        return true;
    for (size_t s = 0; s < image->program->storages.len; s++) {
        const struct nki_storage *storage = image->program->storages.at[s];
        if (storage->space == NKI_SBUF && storage->address_partition >= 0)
            return false;
    }
    return all_fit(image);
}
