/* SPDX-License-Identifier: Apache-2.0 */
/* A program as text, one line for each instruction: number, engine, name, operands by parameter,
 * source line. An access pattern is shown as subscripts of the storage's declared shape when it is
 * a plain slice of it, otherwise as offset and steps. For people and golden tests. */
#include "nki/program/program.h"
#include "nki/program/testing.h"

static const char *const short_dtypes[DTYPE_COUNT] = {
    [DTYPE_BOOL] = "bool",   [DTYPE_INT8] = "i8",       [DTYPE_INT16] = "i16",
    [DTYPE_INT32] = "i32",   [DTYPE_UINT8] = "u8",      [DTYPE_UINT16] = "u16",
    [DTYPE_UINT32] = "u32",  [DTYPE_FLOAT32] = "f32",   [DTYPE_TFLOAT32] = "tf32",
    [DTYPE_FLOAT16] = "f16", [DTYPE_BFLOAT16] = "bf16",
};

static const char *short_dtype(enum dtype dtype) {
    return short_dtypes[dtype] ? short_dtypes[dtype] : dtype_name(dtype);
}

/* ---- access patterns ------------------------------------------------------------------------ */

#define MAX_AXES (ARRAY_MAX_DIMS + 1)

/* The storage as axes of elements. On chip the partition is not among them: it has its own
 * place. */
struct axes {
    int n;
    int partition_at; /* the partition is printed before this axis; -1: not yet */
    int64_t size[MAX_AXES], stride[MAX_AXES];
    int64_t start[MAX_AXES], count[MAX_AXES], step[MAX_AXES];
};

static void add_axis(struct axes *axes, int64_t size) {
    axes->size[axes->n] = size;
    axes->count[axes->n] = 1;
    axes->step[axes->n] = 1;
    axes->n++;
}

static bool storage_axes(const struct nki_storage *s, struct axes *axes) {
    int first = 0;
    *axes = (struct axes){.partition_at = -1};
    if (s->space != NKI_HBM) {
        int64_t blocks = 1;
        while (blocks < s->blocks && first < s->n_dims)
            blocks *= s->shape[first++];
        if (blocks != s->blocks)
            return false;
        if (s->blocks > 1)
            add_axis(axes, s->blocks);
        axes->partition_at = axes->n;
        first++;
    }
    for (int d = first; d < s->n_dims; d++)
        add_axis(axes, s->shape[d]);
    int64_t stride = 1;
    for (int k = axes->n - 1; k >= 0; k--) {
        axes->stride[k] = stride;
        stride *= MAX_OF(axes->size[k], 1);
    }
    return true;
}

/* Puts dimension d of the pattern on the axis that it walks along. */
static bool place_dimension(struct axes *axes, int64_t step, int64_t count) {
    for (int k = 0; k < axes->n; k++) {
        if (step <= 0 || step % axes->stride[k] != 0 || axes->count[k] != 1)
            continue;
        int64_t own = step / axes->stride[k];
        if (axes->start[k] + own * (count - 1) >= axes->size[k])
            continue;
        axes->count[k] = count;
        axes->step[k] = own;
        return true;
    }
    return false;
}

static bool as_slices(const struct nki_storage *s, const struct nki_ap *ap, struct axes *axes) {
    int first = s->space == NKI_HBM ? 0 : 1;
    if (ap->indirect || !storage_axes(s, axes) || ap->offset < 0 ||
        dtype_bytes(ap->dtype) != dtype_bytes(s->dtype))
        return false;
    int64_t rest = ap->offset;
    for (int k = 0; k < axes->n; k++) {
        axes->start[k] = rest / axes->stride[k];
        rest %= axes->stride[k];
        if (axes->start[k] >= axes->size[k])
            return false;
    }
    int last = -1;
    for (int d = first; d < ap->n_dims; d++) {
        if (ap->count[d] == 1)
            continue;
        if (!place_dimension(axes, ap->step[d], ap->count[d]))
            return false;
        /* Dimensions in another order than the axes are a transposed view, which is shown as
         * steps. */
        int k = 0;
        while (axes->stride[k] * axes->step[k] != ap->step[d] || axes->count[k] != ap->count[d])
            k++;
        if (k < last)
            return false;
        last = k;
    }
    return true;
}

static void print_range(int64_t start, int64_t count, int64_t step, struct buf *out) {
    if (count == 1)
        buf_printf(out, "%lld", (long long)start);
    else if (step == 1)
        buf_printf(out, "%lld:%lld", (long long)start, (long long)(start + count));
    else
        buf_printf(out, "%lld:%lld:%lld", (long long)start,
                   (long long)(start + (count - 1) * step + 1), (long long)step);
}

static void print_partitions(const struct nki_ap *ap, struct buf *out) {
    if (ap->step[0] == 0 && ap->count[0] > 1)
        buf_printf(out, "%ux%d", ap->partition, ap->count[0]);
    else if (ap->count[0] == 1)
        buf_printf(out, "%u:%u", ap->partition, ap->partition + 1);
    else
        print_range(ap->partition, ap->count[0], ap->step[0], out);
}

static void print_slices(const struct nki_ap *ap, const struct axes *axes, struct buf *out) {
    for (int k = 0; k < axes->n || k == axes->partition_at; k++) {
        if (k == axes->partition_at) {
            buf_puts(out, k ? ", " : "");
            print_partitions(ap, out);
        }
        if (k == axes->n)
            break;
        buf_puts(out, k || axes->partition_at == 0 ? ", " : "");
        print_range(axes->start[k], axes->count[k], axes->step[k], out);
    }
}

static void print_steps(const struct nki_storage *s, const struct nki_ap *ap, struct buf *out) {
    int first = 0;
    if (s->space != NKI_HBM) {
        print_partitions(ap, out);
        buf_puts(out, "; ");
        first = 1;
    }
    buf_printf(out, "%lld", (long long)ap->offset);
    for (int d = first; d < ap->n_dims; d++)
        buf_printf(out, " + %lld*%d", (long long)ap->step[d], ap->count[d]);
}

/* What all lines need. A name that several storages have is shown with their number. */
struct printer {
    const struct nki_program *program;
    bool *shared_name; /* by storage */
    struct buf *out;
};

static void print_ap(const struct printer *p, const struct nki_ap *ap);

static void print_indirect(const struct printer *p, const struct nki_indirect *indirect) {
    struct buf *out = p->out;
    buf_printf(out, "; %lld*", (long long)indirect->step);
    if (!indirect->index)
        buf_printf(out, "r%d", indirect->reg);
    else if (indirect->index->indirect) /* positions of positions are not nested deeper */
        buf_puts(out, "(indirect)");
    else
        print_ap(p, indirect->index);
    buf_puts(out, indirect->vector ? " per partition" : indirect->columns ? " per column" : "");
    buf_puts(out, indirect->skip_out_of_bounds ? " or none" : "");
}

static void print_storage(const struct printer *p, uint32_t index) {
    static const char *const spaces[] = {
        [NKI_HBM] = "hbm", [NKI_SBUF] = "sbuf", [NKI_PSUM] = "psum"};
    const struct nki_storage *s = p->program->storages.at[index];
    bool named = s->name && s->name[0];
    buf_printf(p->out, "%s:%s", spaces[s->space], named ? s->name : "");
    if (!named || p->shared_name[index])
        buf_printf(p->out, "#%u", index);
}

static void print_ap(const struct printer *p, const struct nki_ap *ap) {
    const struct nki_storage *s = p->program->storages.at[ap->storage];
    struct axes axes;
    print_storage(p, ap->storage);
    buf_putc(p->out, '[');
    if (as_slices(s, ap, &axes))
        print_slices(ap, &axes, p->out);
    else
        print_steps(s, ap, p->out);
    if (ap->indirect)
        print_indirect(p, ap->indirect);
    buf_printf(p->out, "] %s", short_dtype(ap->dtype));
}

/* ---- instructions --------------------------------------------------------------------------- */

static void print_operand(const struct printer *p, const struct nki_operand *operand) {
    struct buf *out = p->out;
    switch ((enum nki_operand_kind)operand->kind) {
    case NKI_OPERAND_AP: print_ap(p, operand->ap); break;
    case NKI_OPERAND_APS:
        for (uint32_t i = 0; i < operand->n; i++) {
            buf_puts(out, i ? ", " : "(");
            print_ap(p, operand->aps[i]);
        }
        buf_puts(out, operand->n ? ")" : "()");
        break;
    case NKI_OPERAND_INTS:
        for (uint32_t i = 0; i < operand->n; i++)
            buf_printf(out, "%s%lld", i ? "," : "[", (long long)operand->ints[i]);
        buf_puts(out, operand->n ? "]" : "[]");
        break;
    case NKI_OPERAND_FLOAT: buf_printf(out, "%.9g", operand->f); break;
    case NKI_OPERAND_BOOL: buf_puts(out, operand->i ? "True" : "False"); break;
    case NKI_OPERAND_FUNC: buf_puts(out, nki_func_name((enum nki_func)operand->i)); break;
    case NKI_OPERAND_DTYPE: buf_puts(out, short_dtype((enum dtype)operand->i)); break;
    case NKI_OPERAND_REG: buf_printf(out, "r%lld", (long long)operand->i); break;
    case NKI_OPERAND_INT:
    case NKI_OPERAND_ENUM: buf_printf(out, "%lld", (long long)operand->i); break;
    case NKI_OPERAND_NONE: buf_puts(out, "None"); break;
    }
}

static void print_mask(const struct nki_mask *mask, struct buf *out) {
    buf_puts(out, " mask=");
    for (int t = 0; t < mask->n_terms; t++) {
        buf_printf(out, "%s%lld", t ? " & " : "", (long long)mask->term[t].c0);
        for (int d = 0; d < NKI_MAX_DIMS; d++)
            if (mask->term[t].c[d])
                buf_printf(out, "%+lld*i%d", (long long)mask->term[t].c[d], d);
        buf_puts(out, ">=0");
    }
}

static void print_instr(const struct printer *p, const struct nki_instr *instr) {
    struct buf *out = p->out;
    buf_puts(out, nki_op_name((enum nki_op)instr->op));
    if (instr->engine != NKI_ENGINE_UNKNOWN)
        buf_printf(out, "@%s", nki_engine_name((enum nki_engine)instr->engine));
    for (uint8_t k = 0; k < instr->n_operands; k++) {
        const struct nki_operand *operand = &instr->operands[k];
        if (operand->kind == NKI_OPERAND_NONE || (operand->kind == NKI_OPERAND_BOOL && !operand->i))
            continue; /* nothing was asked for */
        buf_printf(out, " %s=", nki_op_row((enum nki_op)instr->op)->params[k].name);
        print_operand(p, operand);
    }
    if (instr->more->mask)
        print_mask(instr->more->mask, out);
    if (instr->more->label)
        buf_printf(out, " name=%s", instr->more->label);
    if (instr->more->order_group)
        buf_printf(out, " ordered=%u", instr->more->order_group);
    if (instr->more->mark)
        buf_printf(out, " mark=%u", instr->more->mark);
    for (uint32_t i = 0; i < instr->more->n_after; i++)
        buf_printf(out, " after=%u", instr->more->after[i]);
}

static bool *shared_names(const struct nki_program *program) {
    bool *shared = mem_alloc(program->storages.len, sizeof *shared);
    struct map names = {0};
    for (size_t i = 0; i < program->storages.len; i++) {
        const char *name = program->storages.at[i]->name;
        struct map_entry *entry = map_put(&names, str_of(name ? name : ""));
        uintptr_t first = (uintptr_t)entry->value;
        if (first)
            shared[i] = shared[first - 1] = true;
        else
            entry->value = (void *)(i + 1);
    }
    map_free(&names);
    return shared;
}

void nki_ap_print(const struct nki_program *program, const struct nki_ap *ap, struct buf *out) {
    struct printer p = {program, mem_alloc(program->storages.len, sizeof(bool)), out};
    print_ap(&p, ap);
    mem_free_(p.shared_name);
}

void nki_program_print(const struct nki_program *program, struct buf *out) {
    struct printer p = {program, shared_names(program), out};
    for (size_t i = 0; i < program->instrs.len; i++) {
        const struct nki_instr *instr = &program->instrs.at[i];
        buf_printf(out, "%zu ", i);
        print_instr(&p, instr);
        if (instr->loc < program->locs.len)
            buf_printf(out, "  # line %u", program->locs.at[instr->loc].line);
        buf_putc(out, '\n');
    }
    mem_free_(p.shared_name);
}
