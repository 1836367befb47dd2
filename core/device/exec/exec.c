/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program, one instruction after the other in program order; every schedule must agree with
 * its results. Here are the loop, the operands as memory, and what a mask does to any instruction.
 * What instructions compute is in exec_*.c. */
#include "device/exec/run.h"

#include <stdio.h>
#include <stdlib.h>

static exec_fn *const runs[NKI_OP_COUNT] = {
#define INSTR(id, name, engines, check, run, ...) exec_##run,
#include "nki/program/instructions.def"
#undef INSTR
};

bool exec_fail(struct exec *x, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!x->instr)
        return err_set(x->err, ERR_KERNEL, "%s", text);
    const char *name = nki_op_name((enum nki_op)x->instr->op);
    if (x->instr->loc >= x->program->locs.len)
        return err_set(x->err, ERR_KERNEL, "%s: %s", name, text);
    const struct nki_loc *loc = &x->program->locs.at[x->instr->loc];
    const char *file = loc->file < x->program->files.len ? x->program->files.at[loc->file] : "";
    return err_set(x->err, ERR_KERNEL, "%s:%u:%u: %s: %s", file, loc->line, loc->column, name,
                   text);
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Reads an index that only the device knows. Sets *skip when it is out of bounds and the
 * instruction may skip it. */
static bool read_index(struct exec *x, const struct nki_indirect *indirect, int64_t *value,
                       bool *skip) {
    *value = 0;
    *skip = false;
    if (!indirect->index) {
        *value = x->registers[indirect->reg];
    } else {
        struct view view;
        if (!exec_read_ap(x, indirect->index, &view))
            return false;
        convert_load_ints(view.dtype, view.at, 0, value, 1);
    }
    if (*value >= 0 && (indirect->limit <= 0 || *value < indirect->limit))
        return true;
    *skip = indirect->skip_out_of_bounds;
    return *skip || exec_fail(x, "index %lld is out of bounds: it must be below %lld",
                              (long long)*value, (long long)indirect->limit);
}

/* Fails when a pattern with an index reaches beyond its memory. */
static bool check_reach(struct exec *x, const struct view *view, const uint8_t *base,
                        uint64_t bytes) {
    const uint8_t *low, *high;
    view_range(view, &low, &high);
    if (low >= base && high <= base + bytes)
        return true;
    return exec_fail(x, "the index moves the operand out of `%s`",
                     x->program->storages.at[view->storage]->name);
}

enum access { ACCESS_READ, ACCESS_WRITE, ACCESS_MODIFY };

/* Sets the shape, and the steps in bytes. The partition of an on-chip pattern is a row of its
 * block. */
static void shape_view(const struct exec *x, const struct nki_ap *ap, struct view *view) {
    const struct nki_storage *storage = x->program->storages.at[ap->storage];
    enum dtype dtype = exec_dtype(x, ap);
    int64_t size = (int64_t)dtype_bytes(dtype);
    *view = (struct view){.dtype = dtype, .n_dims = ap->n_dims, .storage = ap->storage};
    for (int d = 0; d < ap->n_dims; d++) {
        view->count[d] = ap->count[d];
        view->step[d] = ap->step[d] * size;
    }
    if (storage->space != NKI_HBM)
        view->step[0] = ap->step[0] * (int64_t)memory_row_bytes(x, ap->storage);
}

static bool covers(const struct exec *x, const struct view *view, uint64_t bytes) {
    return x->instr && !x->instr->more->mask && view_is_dense(view) &&
           (uint64_t)view_count(view) * dtype_bytes(view->dtype) == bytes;
}

static bool resolve(struct exec *x, const struct nki_ap *ap, enum access access,
                    struct view *view) {
    const struct nki_storage *storage = x->program->storages.at[ap->storage];
    bool on_chip = storage->space != NKI_HBM;
    int64_t at = ap->offset * (int64_t)dtype_bytes(exec_dtype(x, ap));
    uint64_t row = on_chip ? memory_row_bytes(x, ap->storage) : storage->bytes;
    uint64_t bytes = on_chip ? row * storage->partitions : row;
    uint32_t block = 0, last;
    if (on_chip && !x->image->whole[ap->storage]) {
        device_ap_blocks(x->program, ap, &block, &last);
        at -= (int64_t)(block * row);
    }
    shape_view(x, ap, view);
    bool overwrite = access == ACCESS_WRITE && !ap->indirect && covers(x, view, bytes);
    uint8_t *base = memory_block(x, ap->storage, block, overwrite);
    if (!base)
        return false;
    view->at = base + at + (on_chip ? (int64_t)(ap->partition * row) : 0);
    if (!ap->indirect || ap->indirect->vector)
        return true;
    if (ap->indirect->columns)
        return exec_gather_columns(x, ap, access != ACCESS_READ, view);
    int64_t index;
    bool skip;
    if (!read_index(x, ap->indirect, &index, &skip))
        return false;
    if (skip) {
        x->skip = true;
        return false;
    }
    if (index > (int64_t)1 << 40)
        return exec_fail(x, "index %lld is out of bounds", (long long)index);
    view->at += index * ap->indirect->step * (int64_t)dtype_bytes(view->dtype);
    return check_reach(x, view, base, bytes);
}

bool exec_read_ap(struct exec *x, const struct nki_ap *ap, struct view *view) {
    return resolve(x, ap, ACCESS_READ, view);
}

static bool exec_modify_ap(struct exec *x, const struct nki_ap *ap, struct view *view) {
    if (!resolve(x, ap, ACCESS_MODIFY, view))
        return false;
    exec_mark_cells(x, view);
    return true;
}

bool exec_read(struct exec *x, size_t k, struct view *view) {
    return resolve(x, x->instr->operands[k].ap, ACCESS_READ, view);
}

bool exec_write(struct exec *x, size_t k, struct view *view) {
    if (!resolve(x, x->instr->operands[k].ap, ACCESS_WRITE, view))
        return false;
    exec_mark_cells(x, view);
    return true;
}

bool exec_target(struct exec *x, size_t k, struct view *view) {
    return resolve(x, x->instr->operands[k].ap, ACCESS_WRITE, view);
}

bool exec_modify(struct exec *x, size_t k, struct view *view) {
    return exec_modify_ap(x, x->instr->operands[k].ap, view);
}

bool exec_has(const struct exec *x, size_t k) {
    return x->instr->operands[k].kind != NKI_OPERAND_NONE;
}

double exec_number(const struct exec *x, size_t k, double missing) {
    const struct nki_operand *operand = &x->instr->operands[k];
    switch (operand->kind) {
    case NKI_OPERAND_FLOAT: return operand->f;
    case NKI_OPERAND_INT:
    case NKI_OPERAND_BOOL: return (double)operand->i;
    case NKI_OPERAND_REG: return (double)x->registers[operand->i];
    default: return missing;
    }
}

int64_t exec_int(const struct exec *x, size_t k, int64_t missing) {
    const struct nki_operand *operand = &x->instr->operands[k];
    switch (operand->kind) {
    case NKI_OPERAND_NONE: return missing;
    case NKI_OPERAND_REG: return x->registers[operand->i];
    case NKI_OPERAND_FLOAT: return (int64_t)MAX_OF(-0x1p62, MIN_OF(operand->f, 0x1p62));
    default: return operand->i;
    }
}

bool exec_flag(const struct exec *x, size_t k) {
    return exec_has(x, k) && x->instr->operands[k].i != 0;
}

enum nki_func exec_func(const struct exec *x, size_t k, enum nki_func missing) {
    return exec_has(x, k) ? (enum nki_func)x->instr->operands[k].i : missing;
}

/* Repeats one element over a shape: over all of it, or over the free dimensions. */
static void repeat_over(struct view *view, const struct view *like, int64_t partition_step) {
    view->n_dims = like->n_dims;
    for (int d = 0; d < like->n_dims; d++) {
        view->count[d] = like->count[d];
        view->step[d] = 0;
    }
    view->step[0] = partition_step;
}

bool exec_scalar(struct exec *x, size_t k, const struct view *like, double missing,
                 struct view *view) {
    if (x->instr->operands[k].kind == NKI_OPERAND_AP) {
        if (!exec_read(x, k, view))
            return false;
        repeat_over(view, like, view->count[0] == 1 ? 0 : view->step[0]);
        return true;
    }
    float *value = arena_alloc(x->scratch, 1, sizeof *value);
    *value = (float)exec_number(x, k, missing);
    *view = (struct view){.at = (uint8_t *)value, .dtype = DTYPE_FLOAT32, .storage = DEVICE_NEVER};
    repeat_over(view, like, 0);
    return true;
}

bool exec_scalar_int(struct exec *x, size_t k, const struct view *like, struct view *view) {
    if (x->instr->operands[k].kind == NKI_OPERAND_AP)
        return exec_scalar(x, k, like, 0, view);
    int32_t *value = arena_alloc(x->scratch, 1, sizeof *value);
    *value = (int32_t)(uint32_t)exec_int(x, k, 0);
    *view = (struct view){.at = (uint8_t *)value, .dtype = DTYPE_INT32, .storage = DEVICE_NEVER};
    repeat_over(view, like, 0);
    return true;
}

/* ---- cells of PSUM -------------------------------------------------------------------------- */

static uint32_t block_of(const struct exec *x, const struct view *view) {
    uint32_t first = x->image->block_base[view->storage];
    uint32_t last = x->image->block_base[view->storage + 1];
    uint64_t row = memory_row_bytes(x, view->storage);
    uint64_t bytes = row * x->program->storages.at[view->storage]->partitions;
    for (uint32_t b = first; b < last; b++)
        if (x->data[b] && view->at >= x->data[b] && view->at < x->data[b] + bytes)
            return b;
    return first;
}

struct psum_cells *exec_cells(struct exec *x, const struct view *view, const uint8_t **base) {
    if (view->storage == DEVICE_NEVER) {
        *base = x->scatter.copy.at;
        return &x->scatter.written;
    }
    uint32_t b = block_of(x, view);
    *base = x->data[b];
    return &x->cells[b];
}

void exec_mark_cells(struct exec *x, const struct view *view) {
    if (view->storage == DEVICE_NEVER)
        return;
    const struct nki_storage *storage = x->program->storages.at[view->storage];
    if (storage->space != NKI_PSUM)
        return;
    uint32_t b = block_of(x, view);
    struct psum_cells *cells = &x->cells[b];
    uint64_t bytes = memory_row_bytes(x, view->storage) * storage->partitions;
    if (cells->state == CELLS_ALL)
        return;
    if (covers(x, view, bytes)) {
        free(cells->map);
        *cells = (struct psum_cells){.state = CELLS_ALL};
        return;
    }
    if (!cells->map)
        cells->map = mem_alloc(bytes / 2 + 1, 1);
    cells->state = CELLS_SOME;
    struct walk walk;
    size_t size = dtype_bytes(view->dtype), width = MAX_OF(size / 2, 1u);
    walk_start(&walk, &view, 1, false);
    int64_t step = walk_step(&walk, 0);
    size_t run = (size_t)walk_run(&walk);
    do {
        uint8_t *at = cells->map + (walk.at[0] - x->data[b]) / 2;
        if (step == (int64_t)size)
            memset(at, 1, (run * size + 1) / 2);
        else
            for (size_t i = 0; i < run; i++)
                memset(cells->map + (walk.at[0] + (int64_t)i * step - x->data[b]) / 2, 1, width);
    } while (walk_next(&walk));
}

/* ---- masks ---------------------------------------------------------------------------------- */

static bool is_kept_out(const struct nki_mask *mask, const int64_t *index, int n_dims) {
    for (int t = 0; t < mask->n_terms; t++) {
        int64_t sum = mask->term[t].c0;
        for (int d = 0; d < n_dims; d++)
            sum += mask->term[t].c[d] * index[d];
        if (sum < 0)
            return true;
    }
    return false;
}

void exec_put_back(const struct view *dst, int64_t first, const struct nki_mask *mask,
                   const uint8_t *saved) {
    int64_t index[NKI_MAX_DIMS] = {first}, n = view_count(dst);
    size_t size = dtype_bytes(dst->dtype);
    for (int64_t i = 0; i < n; i++, saved += size) {
        if (is_kept_out(mask, index, dst->n_dims)) {
            uint8_t *at = dst->at;
            for (int d = 0; d < dst->n_dims; d++)
                at += dst->step[d] * (d ? index[d] : index[0] - first);
            memcpy(at, saved, size);
        }
        for (int d = dst->n_dims - 1; ++index[d] == dst->count[d] && d > 0; d--)
            index[d] = 0;
    }
}

/* Runs a masked instruction as if it had no mask, then restores what it should not have touched.
 * What writes rows by a vector of indices asks the mask itself. */
static bool run_masked(struct exec *x) {
    struct view dst;
    const struct nki_operand *operand = &x->instr->operands[NKI_DST];
    if (operand->kind != NKI_OPERAND_AP)
        return false;
    if (operand->ap->indirect && operand->ap->indirect->vector)
        return runs[x->instr->op](x);
    if (!exec_modify(x, NKI_DST, &dst))
        return false;
    size_t n = (size_t)view_count(&dst), size = dtype_bytes(dst.dtype);
    uint8_t *saved = mem_alloc(n + 1, size);
    view_to_bytes(&dst, saved);
    bool ok = runs[x->instr->op](x);
    if (ok)
        exec_put_back(&dst, 0, x->instr->more->mask, saved);
    free(saved);
    return ok;
}

/* Runs what writes the numbers of the other core over them, and sees that they are the same. */
static bool run_twice(struct exec *x) {
    struct view dst;
    if (!exec_read(x, NKI_DST, &dst))
        return false;
    size_t n = (size_t)view_count(&dst), size = dtype_bytes(dst.dtype);
    uint8_t *first = mem_alloc(n + 1, size), *second = mem_alloc(n + 1, size);
    view_to_bytes(&dst, first);
    bool ok = runs[x->instr->op](x) && exec_read(x, NKI_DST, &dst);
    if (ok)
        view_to_bytes(&dst, second);
    if (ok && memcmp(first, second, n * size) != 0)
        ok = exec_fail(x,
                       "core %u writes other numbers to `%s` than core %u, and nothing orders "
                       "the two: give each core its own part, or let one of them write",
                       x->instr->core, x->program->storages.at[dst.storage]->name,
                       1u - x->instr->core);
    free(first);
    free(second);
    return ok;
}

/* ---- the loop ------------------------------------------------------------------------------- */

static bool is_cancelled(const struct exec *x) {
    return x->limits && x->limits->cancel && *x->limits->cancel;
}

size_t device_watch_read(struct exec *run, const struct nki_ap *ap, size_t most, float *to) {
    struct view view;
    if (ap->indirect || (uint64_t)nki_ap_count(ap) > most || !exec_read_ap(run, ap, &view))
        return 0;
    view_to_floats(&view, to);
    return (size_t)view_count(&view);
}

static bool watch(struct exec *x, bool before) {
    if (!x->limits || !x->limits->watch || x->limits->watch(x->limits->watching, x, x->i, before))
        return true;
    return err_set(x->err, ERR_CANCELLED, "stopped");
}

static bool run_all(struct exec *x) {
    for (x->i = 0; x->i < x->program->instrs.len; x->i++) {
        x->instr = &x->program->instrs.at[x->i];
        if (x->i % 64 == 0 && is_cancelled(x))
            return err_set(x->err, ERR_CANCELLED, "stopped");
        if (!watch(x, true))
            return false;
        bool twice = x->image->twice && x->image->twice[x->i];
        bool ok = x->instr->more->mask ? run_masked(x)
                  : twice              ? run_twice(x)
                                       : runs[x->instr->op](x);
        if (x->scatter.ap)
            ok = ok && exec_scatter_columns(x);
        x->scatter.ap = NULL;
        if (!ok && !x->skip)
            return false;
        x->skip = false;
        if (!watch(x, false))
            return false;
        memory_release_dead(x);
        if (arena_bytes(x->scratch))
            arena_reset(x->scratch);
    }
    x->instr = NULL;
    return true;
}

static void open_runs(struct exec *x) {
    for (size_t i = 0; i < COUNT_OF(x->runs); i++)
        x->runs[i] = aligned_alloc(64, STREAM_RUN * sizeof(float));
    for (size_t i = 0; i < COUNT_OF(x->runs); i++)
        if (!x->runs[i])
            HONE_BUG("no memory for runs of elements");
}

bool device_execute(const struct device_image *image, const struct array *inputs, size_t n_inputs,
                    struct array *outputs, const struct device_limits *limits, struct err *err) {
    struct exec x = {.image = image,
                     .program = image->program,
                     .limits = limits,
                     .err = err,
                     .random = 0x9e3779b97f4a7c15u};
    x.scratch = arena_new();
    x.registers = mem_alloc((size_t)MAX_OF(image->program->n_registers, 0) + 1, sizeof(int64_t));
    x.wide = limits && limits->unrounded ? exec_unrounded(x.program) : NULL;
    open_runs(&x);
    bool ok = memory_open(&x, inputs, n_inputs) && run_all(&x) && memory_take_outputs(&x, outputs);
    memory_close(&x);
    for (size_t i = 0; i < COUNT_OF(x.runs); i++)
        free(x.runs[i]);
    for (size_t i = 0; i < COUNT_OF(x.panel); i++)
        free(x.panel[i]);
    free(x.registers);
    free(x.wide);
    arena_free(x.scratch);
    return ok;
}
