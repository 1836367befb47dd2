/* SPDX-License-Identifier: Apache-2.0 */
/* Products that are added to what a tile of PSUM holds. With accumulate=True a matmul must have
 * started the sum: what nothing wrote is undefined on all targets, and before trn3 what another
 * instruction wrote is not supported (ISA reference of nc_matmul). The legacy compiler finds the
 * first write itself. */
#include "device/check/own.h"

#include <stdlib.h>

/* Who wrote to a storage so far, anywhere in it. */
enum { BY_PRODUCT = 1, BY_OTHER = 2 };

struct sums {
    struct device_image *image;
    struct diag_list *diags;
    uint8_t *writers; /* per storage */
};

static bool is_product(enum nki_op op) {
    return op == NKI_OP_NC_MATMUL || op == NKI_OP_NC_MATMUL_MX || op == NKI_OP_NC_TRANSPOSE;
}

static bool adds(const struct nki_instr *instr) {
    size_t k = instr->op == NKI_OP_NC_MATMUL      ? NKI_NC_MATMUL_accumulate
               : instr->op == NKI_OP_NC_MATMUL_MX ? NKI_NC_MATMUL_MX_accumulate
                                                  : instr->n_operands;
    return k < instr->n_operands && instr->operands[k].kind == NKI_OPERAND_BOOL &&
           instr->operands[k].i;
}

static bool refuse(const struct sums *sums, const struct nki_instr *instr, uint32_t storage) {
    const struct nki_program *program = sums->image->program;
    const char *name = program->storages.at[storage]->name;
    bool filled = sums->writers[storage] & BY_OTHER;
    device_report(program, sums->diags, DIAG_ERROR, instr->loc, "hone-accumulate",
                  "%s: accumulate=True adds to `%s`, %s; the first product of a sum has "
                  "accumulate=False or leaves it out",
                  nki_op_name((enum nki_op)instr->op), name,
                  filled ? "which no matmul wrote: adding to what another instruction filled is "
                           "not supported before trn3"
                         : "which nothing wrote: the sum is undefined");
    return false;
}

/* False after an error. */
static bool look_at(const struct sums *sums, const struct nki_instr *instr) {
    const struct nki_program *program = sums->image->program;
    const struct nki_op_row *row = nki_op_row((enum nki_op)instr->op);
    const bool late = sums->image->generation->generation >= NKI_GEN4;
    for (size_t k = 0; k < instr->n_operands; k++) {
        const struct nki_operand *operand = &instr->operands[k];
        if (operand->kind != NKI_OPERAND_AP || !nki_role_writes(row->params[k].role) ||
            program->storages.at[operand->ap->storage]->space != NKI_PSUM)
            continue;
        uint32_t s = operand->ap->storage;
        uint8_t starts = late ? BY_PRODUCT | BY_OTHER : BY_PRODUCT;
        /* Tiles that the kernel places may lie where another one's sum was started. */
        bool known = program->storages.at[s]->address_partition < 0 || sums->writers[s];
        if (k == NKI_DST && adds(instr) && known && !(sums->writers[s] & starts))
            return refuse(sums, instr, s);
        sums->writers[s] |= is_product((enum nki_op)instr->op) ? BY_PRODUCT : BY_OTHER;
    }
    return true;
}

bool check_sums(struct device_image *image, struct diag_list *diags) {
    const struct nki_program *program = image->program;
    if (program->dialect == NKI_DIALECT_LEGACY)
        return true;
    struct sums sums = {image, diags, mem_alloc(program->storages.len + 1, 1)};
    bool good = true;
    for (size_t s = 0; s < program->storages.len; s++)
        sums.writers[s] = program->storages.at[s]->zeroed ? BY_OTHER : 0;
    for (size_t i = 0; i < program->instrs.len && good; i++)
        good = look_at(&sums, &program->instrs.at[i]);
    free(sums.writers);
    return good;
}
