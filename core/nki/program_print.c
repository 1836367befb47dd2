/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as text: one line for each storage and instruction. For people and golden tests; nothing
 * reads it back. */
#include "nki/program.h"

static const char *const spaces[] = {[NKI_HBM] = "hbm", [NKI_SBUF] = "sbuf", [NKI_PSUM] = "psum"};

static void print_storage(const struct nki_storage *storage, size_t index, struct buf *out) {
    buf_printf(out, "%%%zu = %s %s(", index, spaces[storage->space], dtype_name(storage->dtype));
    for (int d = 0; d < storage->n_dims; d++)
        buf_printf(out, "%s%lld", d ? ", " : "", (long long)storage->shape[d]);
    buf_puts(out, ")");
    if (storage->space != NKI_HBM)
        buf_printf(out, " [%u x %llu B%s", storage->partitions,
                   (unsigned long long)storage->block_bytes, storage->blocks > 1 ? "" : "]");
    if (storage->space != NKI_HBM && storage->blocks > 1)
        buf_printf(out, " x %u blocks]", storage->blocks);
    if (storage->name && storage->name[0])
        buf_printf(out, " '%s'", storage->name);
    if (storage->input >= 0)
        buf_printf(out, " input %d", storage->input);
    if (storage->output >= 0)
        buf_printf(out, " output %d", storage->output);
    if (storage->zeroed)
        buf_puts(out, " zeroed");
    if (storage->constant)
        buf_puts(out, " constant");
    if (storage->address_partition >= 0)
        buf_printf(out, " at (%d, %lld)", storage->address_partition,
                   (long long)storage->address_byte);
    buf_putc(out, '\n');
}

/* %storage[partition:offset; count*step, ..] */
static void print_ap(const struct nki_program *program, const struct nki_ap *ap, int depth,
                     struct buf *out) {
    const struct nki_storage *storage = &program->storages.at[ap->storage];
    buf_printf(out, "%%%u[", ap->storage);
    if (storage->space != NKI_HBM && ap->partition)
        buf_printf(out, "p%u ", ap->partition);
    if (ap->offset)
        buf_printf(out, "+%lld ", (long long)ap->offset);
    for (int d = 0; d < ap->n_dims; d++) {
        buf_printf(out, "%s%d", d ? " " : "", ap->count[d]);
        if (ap->step[d] != 1)
            buf_printf(out, "*%lld", (long long)ap->step[d]);
    }
    buf_putc(out, ']');
    if (ap->dtype != storage->dtype)
        buf_printf(out, ":%s", dtype_name(ap->dtype));
    if (ap->indirect && depth == 0) {
        buf_printf(out, "{%s ", ap->indirect->vector ? "rows" : "at");
        if (ap->indirect->index)
            print_ap(program, ap->indirect->index, depth + 1, out);
        else
            buf_printf(out, "r%d", ap->indirect->reg);
        buf_printf(out, "*%lld}", (long long)ap->indirect->step);
    }
}

static void print_operand(const struct nki_program *program, const struct nki_operand *operand,
                          struct buf *out) {
    switch ((enum nki_operand_kind)operand->kind) {
    case NKI_OPERAND_NONE: buf_putc(out, '-'); break;
    case NKI_OPERAND_AP: print_ap(program, operand->ap, 0, out); break;
    case NKI_OPERAND_APS:
        buf_putc(out, '(');
        for (uint32_t i = 0; i < operand->n; i++) {
            buf_puts(out, i ? " " : "");
            print_ap(program, operand->aps[i], 0, out);
        }
        buf_putc(out, ')');
        break;
    case NKI_OPERAND_INT:
    case NKI_OPERAND_ENUM: buf_printf(out, "%lld", (long long)operand->i); break;
    case NKI_OPERAND_FLOAT: buf_printf(out, "%.9g", operand->f); break;
    case NKI_OPERAND_BOOL: buf_puts(out, operand->i ? "true" : "false"); break;
    case NKI_OPERAND_FUNC: buf_puts(out, nki_func_name((enum nki_func)operand->i)); break;
    case NKI_OPERAND_DTYPE: buf_puts(out, dtype_name((enum dtype)operand->i)); break;
    case NKI_OPERAND_INTS:
        buf_putc(out, '(');
        for (uint32_t i = 0; i < operand->n; i++)
            buf_printf(out, "%s%lld", i ? " " : "", (long long)operand->ints[i]);
        buf_putc(out, ')');
        break;
    case NKI_OPERAND_REG: buf_printf(out, "r%lld", (long long)operand->i); break;
    }
}

static void print_mask(const struct nki_mask *mask, struct buf *out) {
    for (int k = 0; k < mask->n_terms; k++) {
        buf_printf(out, "%s%lld", k ? " and " : " where ", (long long)mask->term[k].c0);
        for (int d = 0; d < NKI_MAX_DIMS; d++)
            if (mask->term[k].c[d])
                buf_printf(out, " + %lld*i%d", (long long)mask->term[k].c[d], d);
        buf_puts(out, " >= 0");
    }
}

/* The line of the call; trailing operands that say nothing are left out. */
static void print_instr(const struct nki_program *program, const struct nki_instr *instr,
                        struct buf *out) {
    int n = instr->n_operands;
    while (n > 0 && instr->operands[n - 1].kind == NKI_OPERAND_NONE)
        n--;
    buf_printf(out, "%u: %s", program->locs.at[instr->loc].line,
               nki_op_name((enum nki_op)instr->op));
    if (instr->engine != NKI_ENGINE_UNKNOWN)
        buf_printf(out, ".%s", nki_engine_name((enum nki_engine)instr->engine));
    for (int k = 0; k < n; k++) {
        buf_puts(out, k ? ", " : " ");
        print_operand(program, &instr->operands[k], out);
    }
    if (instr->mask)
        print_mask(instr->mask, out);
    if (instr->order_group)
        buf_printf(out, " ordered %u", instr->order_group);
    buf_putc(out, '\n');
}

void nki_program_print(const struct nki_program *program, struct buf *out) {
    for (size_t i = 0; i < program->storages.len; i++)
        print_storage(&program->storages.at[i], i, out);
    for (size_t i = 0; i < program->instrs.len; i++)
        print_instr(program, &program->instrs.at[i], out);
}
