/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a run. A block comes to life at its first use, filled with what unwritten memory
 * reads as, and is released after its last use. Inputs are used where they are, unless the kernel
 * writes them. This file knows blocks and bytes, but no access patterns. */
#include "device/exec/run.h"

#include <stdlib.h>

#define SPARE_BYTES_MAX (64ull << 20)
#define SPARES_MAX 256
#define LARGE_PAGE (2ull << 20)
#define LARGE_BYTES (8ull << 20)
#define DEFAULT_LIMIT (16ull << 30)

static const struct nki_storage *storage_of(const struct exec *x, uint32_t storage) {
    return x->program->storages.at[storage];
}

uint64_t memory_row_bytes(const struct exec *x, uint32_t storage) {
    const struct nki_storage *at = storage_of(x, storage);
    uint64_t bytes = at->block_bytes * (x->image->whole[storage] ? at->blocks : 1);
    return x->wide && x->wide[storage] ? bytes / dtype_bytes(at->dtype) * dtype_bytes(DTYPE_FLOAT32)
                                       : bytes;
}

static uint64_t block_bytes(const struct exec *x, uint32_t storage) {
    const struct nki_storage *at = storage_of(x, storage);
    return at->space == NKI_HBM ? at->bytes : memory_row_bytes(x, storage) * at->partitions;
}

/* ---- allocation ----------------------------------------------------------------------------- */

static uint8_t *take_spare(struct exec *x, uint64_t bytes) {
    for (size_t i = x->spares.len; i-- > 0;) {
        if (x->spares.at[i].bytes != bytes)
            continue;
        uint8_t *at = x->spares.at[i].at;
        x->spares.at[i] = x->spares.at[--x->spares.len];
        x->spare_bytes -= bytes;
        return at;
    }
    return NULL;
}

static void free_spares(struct exec *x) {
    for (size_t i = 0; i < x->spares.len; i++)
        free(x->spares.at[i].at);
    x->spares.len = 0;
    x->spare_bytes = 0;
}

static uint8_t *allocate(struct exec *x, uint64_t bytes) {
    if (x->used + bytes > x->limit) {
        exec_fail(x, "the kernel needs more than %.1f GiB of memory for what is live here",
                  (double)x->limit / (1 << 30));
        return NULL;
    }
    uint8_t *at = take_spare(x, bytes);
    if (!at) {
        if (x->used + x->spare_bytes + bytes > x->limit)
            free_spares(x);
        uint64_t align = bytes < LARGE_BYTES ? 64 : LARGE_PAGE;
        at = aligned_alloc(align, (bytes / align + 1) * align);
        if (at && bytes >= LARGE_BYTES)
            os_prefer_large_pages(at, bytes);
    }
    if (!at) {
        /* It is within the limit, so others have the memory: the kernel is not to blame. */
        exec_fail(x, "this machine has no %llu bytes of memory left for one tensor",
                  (unsigned long long)bytes);
        x->err->kind = ERR_ENVIRONMENT;
        return NULL;
    }
    x->used += bytes;
    return at;
}

static void give_back(struct exec *x, uint8_t *at, uint64_t bytes) {
    x->used -= bytes;
    if (bytes > SPARE_BYTES_MAX / 4 || x->spare_bytes + bytes > SPARE_BYTES_MAX ||
        x->spares.len >= SPARES_MAX) {
        free(at);
        return;
    }
    *vec_push(&x->spares) = (struct spare){at, bytes};
    x->spare_bytes += bytes;
}

static void fill(const struct exec *x, uint32_t storage, uint8_t *at) {
    const struct nki_storage *from = storage_of(x, storage);
    uint64_t bytes = block_bytes(x, storage);
    if (from->constant)
        memcpy(at, from->constant, bytes);
    else if (from->zeroed)
        memset(at, 0, bytes);
    else
        convert_fill_unwritten(x->wide && x->wide[storage] ? DTYPE_FLOAT32 : from->dtype, at,
                               bytes);
}

uint8_t *memory_block(struct exec *x, uint32_t storage, uint32_t block, bool overwrite) {
    uint32_t b = x->image->block_base[storage] + block;
    if (x->data[b])
        return x->data[b];
    x->data[b] = allocate(x, block_bytes(x, storage));
    if (x->data[b] && !overwrite)
        fill(x, storage, x->data[b]);
    return x->data[b];
}

static void release(struct exec *x, uint32_t b) {
    uint32_t storage = x->image->blocks[b].storage;
    if (x->data[b] && !x->borrowed[b])
        give_back(x, x->data[b], block_bytes(x, storage));
    x->data[b] = NULL;
    free(x->cells[b].map);
    x->cells[b] = (struct psum_cells){0};
}

/* ---- life spans ----------------------------------------------------------------------------- */

/* The instruction that uses the memory of block b last. A storage that is used as a whole has one
 * memory, which is its first block's. */
static uint32_t last_use(const struct exec *x, uint32_t b) {
    const struct device_image *image = x->image;
    uint32_t storage = image->blocks[b].storage, last = DEVICE_NEVER;
    if (storage_of(x, storage)->output >= 0)
        return DEVICE_NEVER;
    if (!image->whole[storage])
        return image->blocks[b].last;
    if (b != image->block_base[storage])
        return DEVICE_NEVER;
    for (uint32_t k = b; k < image->block_base[storage + 1]; k++)
        if (image->blocks[k].last != DEVICE_NEVER &&
            (last == DEVICE_NEVER || image->blocks[k].last > last))
            last = image->blocks[k].last;
    return last;
}

/* Blocks in the order of their last use, by a counting sort. */
static void order_deaths(struct exec *x) {
    size_t n_instrs = x->program->instrs.len;
    uint32_t *start = mem_alloc(n_instrs + 2, sizeof *start);
    x->deaths = mem_alloc(x->image->n_blocks + 1, sizeof *x->deaths);
    for (uint32_t b = 0; b < x->image->n_blocks; b++)
        if (last_use(x, b) != DEVICE_NEVER)
            start[last_use(x, b) + 1]++;
    for (size_t i = 0; i < n_instrs; i++)
        start[i + 1] += start[i];
    x->n_deaths = start[n_instrs];
    for (uint32_t b = 0; b < x->image->n_blocks; b++)
        if (last_use(x, b) != DEVICE_NEVER)
            x->deaths[start[last_use(x, b)]++] = b;
    free(start);
}

void memory_release_dead(struct exec *x) {
    while (x->next_death < x->n_deaths && last_use(x, x->deaths[x->next_death]) <= x->i)
        release(x, x->deaths[x->next_death++]);
}

/* ---- inputs and outputs --------------------------------------------------------------------- */

static bool bind_input(struct exec *x, uint32_t storage, const struct array *input) {
    const struct nki_storage *to = storage_of(x, storage);
    uint32_t b = x->image->block_base[storage];
    if (input->dtype != to->dtype || array_bytes(input) != to->bytes)
        return err_set(x->err, ERR_USAGE,
                       "input %d (%s) is %s with %zu bytes; the kernel was specialised for %s with "
                       "%llu bytes",
                       to->input, to->name, dtype_name(input->dtype), array_bytes(input),
                       dtype_name(to->dtype), (unsigned long long)to->bytes);
    if (!x->image->written[storage]) {
        x->data[b] = input->data;
        x->borrowed[b] = true;
        return true;
    }
    x->data[b] = allocate(x, to->bytes);
    if (x->data[b])
        memcpy(x->data[b], input->data, to->bytes);
    return x->data[b] != NULL;
}

static bool bind_inputs(struct exec *x, const struct array *inputs, size_t n_inputs) {
    for (uint32_t s = 0; s < x->program->storages.len; s++) {
        int32_t input = storage_of(x, s)->input;
        if (input < 0)
            continue;
        if ((size_t)input >= n_inputs)
            return err_set(x->err, ERR_USAGE,
                           "the kernel takes input %d (%s), %zu inputs are given", input,
                           storage_of(x, s)->name, n_inputs);
        if (!bind_input(x, s, &inputs[input]))
            return false;
    }
    return true;
}

bool memory_open(struct exec *x, const struct array *inputs, size_t n_inputs) {
    size_t n = x->image->n_blocks;
    x->limit = x->limits && x->limits->memory_bytes ? x->limits->memory_bytes : DEFAULT_LIMIT;
    x->data = mem_alloc(n + 1, sizeof *x->data);
    x->borrowed = mem_alloc(n + 1, sizeof *x->borrowed);
    x->cells = mem_alloc(n + 1, sizeof *x->cells);
    order_deaths(x);
    return bind_inputs(x, inputs, n_inputs);
}

void memory_close(struct exec *x) {
    for (uint32_t b = 0; x->data && b < x->image->n_blocks; b++)
        release(x, b);
    free_spares(x);
    vec_free(&x->spares);
    free(x->data);
    free(x->borrowed);
    free(x->cells);
    free(x->deaths);
}

static bool take_output(struct exec *x, uint32_t storage, struct array *output) {
    const struct nki_storage *from = storage_of(x, storage);
    uint32_t b = x->image->block_base[storage];
    *output = (struct array){.dtype = from->dtype, .ndim = from->n_dims};
    memcpy(output->shape, from->shape, (size_t)from->n_dims * sizeof *from->shape);
    uint8_t *data = memory_block(x, storage, 0, false);
    if (!data)
        return false;
    output->data = x->borrowed[b] ? mem_dup(data, MAX_OF(from->bytes, 1u)) : data;
    if (!x->borrowed[b]) {
        x->used -= from->bytes;
        x->data[b] = output->data;
        x->borrowed[b] = true; /* the caller owns it now; a second output of it is a copy */
    }
    return true;
}

bool memory_take_outputs(struct exec *x, struct array *outputs) {
    size_t n = x->program->outputs.len;
    memset(outputs, 0, n * sizeof *outputs);
    for (size_t k = 0; k < n; k++) {
        if (take_output(x, x->program->outputs.at[k], &outputs[k]))
            continue;
        for (size_t done = 0; done < n; done++) {
            free(outputs[done].data);
            outputs[done].data = NULL;
        }
        return false;
    }
    return true;
}
