/* SPDX-License-Identifier: Apache-2.0 */
/* Programs built by hand: storages, access patterns and instructions, without a kernel's source. */
#ifndef TESTS_DEVICE_BUILD_H
#define TESTS_DEVICE_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "device/device.h"

struct build {
    struct nki_program *program;
    const struct device_generation *generation;
    struct diag_list diags;
    struct array inputs[8];
    size_t n_inputs;
    struct array outputs[8];
    struct err err;
};

static inline struct build build_start(const char *generation) {
    struct build b = {.program = mem_alloc(1, sizeof(struct nki_program)),
                      .generation = device_generation_find(generation)};
    b.program->arena = arena_new();
    b.program->dialect = NKI_DIALECT_CURRENT;
    b.program->generation = b.generation->generation;
    b.program->rules = nki_rules_of(NULL);
    b.program->kernel = "kernel";
    *vec_push(&b.program->files) = "kernel.py";
    return b;
}

static inline void build_end(struct build *b) {
    for (size_t i = 0; i < COUNT_OF(b->inputs); i++)
        free(b->inputs[i].data);
    for (size_t i = 0; i < COUNT_OF(b->outputs); i++)
        free(b->outputs[i].data);
    diag_free(&b->diags);
    nki_program_free(b->program);
}

static inline uint32_t build_storage(struct build *b, struct nki_storage storage) {
    storage.input = storage.input ? storage.input - 1 : -1;
    storage.output = storage.output ? storage.output - 1 : -1;
    storage.address_partition = -1;
    storage.name = storage.name ? storage.name : "";
    return nki_storage_add(b->program, &storage);
}

/* A declared shape, in the program's memory. */
static inline const int64_t *build_shape(struct build *b, int rows, int columns) {
    int64_t shape[ARRAY_MAX_DIMS] = {rows, columns};
    return arena_dup(b->program->arena, shape, sizeof shape);
}

/* A tile [p, f] on chip. */
static inline uint32_t build_tile(struct build *b, enum nki_space space, enum dtype dtype, int p,
                                  int f) {
    return build_storage(b, (struct nki_storage){.space = space,
                                                 .dtype = dtype,
                                                 .n_dims = 2,
                                                 .shape = build_shape(b, p, f),
                                                 .partitions = (uint32_t)p,
                                                 .blocks = 1,
                                                 .name = "tile",
                                                 .block_bytes = (uint64_t)f * dtype_bytes(dtype)});
}

static inline uint32_t build_hbm(struct build *b, enum dtype dtype, int rows, int columns) {
    return build_storage(
        b, (struct nki_storage){.space = NKI_HBM,
                                .dtype = dtype,
                                .n_dims = 2,
                                .name = "hbm",
                                .shape = build_shape(b, rows, columns),
                                .blocks = 1,
                                .bytes = (uint64_t)rows * (uint64_t)columns * dtype_bytes(dtype)});
}

/* The next input of the kernel, filled from floats (cast to its type). */
static inline uint32_t build_input(struct build *b, enum dtype dtype, int rows, int columns,
                                   const float *values) {
    uint32_t storage = build_hbm(b, dtype, rows, columns);
    struct array *input = &b->inputs[b->n_inputs];
    *input = (struct array){.dtype = dtype, .ndim = 2, .shape = {rows, columns}};
    input->data = mem_alloc(array_bytes(input) + 1, 1);
    if (values)
        device_from_float(dtype, values, input->data, (size_t)(rows * columns));
    b->program->storages.at[storage]->input = (int32_t)b->n_inputs++;
    return storage;
}

static inline uint32_t build_output(struct build *b, enum dtype dtype, int rows, int columns) {
    uint32_t storage = build_hbm(b, dtype, rows, columns);
    b->program->storages.at[storage]->output = (int32_t)b->program->outputs.len;
    *vec_push(&b->program->outputs) = storage;
    return storage;
}

/* A pattern with its own steps and counts, which may be written to. */
static inline struct nki_ap *build_new_ap(struct build *b, struct nki_ap ap) {
    int64_t *step = ARENA_ARRAY(b->program->arena, int64_t, NKI_MAX_DIMS);
    int32_t *count = ARENA_ARRAY(b->program->arena, int32_t, NKI_MAX_DIMS);
    memcpy(step, ap.step, ap.n_dims * sizeof *step);
    memcpy(count, ap.count, ap.n_dims * sizeof *count);
    ap.step = step;
    ap.count = count;
    return arena_dup(b->program->arena, &ap, sizeof ap);
}

/* All of a storage of two dimensions. */
static inline struct nki_ap *build_all(struct build *b, uint32_t storage) {
    const struct nki_storage *s = b->program->storages.at[storage];
    return build_new_ap(
        b, (struct nki_ap){.storage = storage,
                           .dtype = s->dtype,
                           .n_dims = 2,
                           .step = (int64_t[]){s->space == NKI_HBM ? s->shape[1] : 1, 1},
                           .count = (int32_t[]){(int32_t)s->shape[0], (int32_t)s->shape[1]}});
}

/* Rows [row, row + rows) and columns [column, column + columns) of it. */
static inline struct nki_ap *build_part(struct build *b, uint32_t storage, int row, int rows,
                                        int column, int columns) {
    struct nki_ap *ap = build_all(b, storage);
    bool hbm = b->program->storages.at[storage]->space == NKI_HBM;
    ap->offset = column + (hbm ? row * ap->step[0] : 0);
    ap->partition = hbm ? 0 : (uint32_t)row;
    ap->count[0] = rows;
    ap->count[1] = columns;
    return ap;
}

static inline struct nki_operand tile(const struct nki_ap *ap) {
    return (struct nki_operand){.kind = NKI_OPERAND_AP, .ap = ap};
}
static inline struct nki_operand func(enum nki_func f) {
    return (struct nki_operand){.kind = NKI_OPERAND_FUNC, .i = f};
}
static inline struct nki_operand number(double f) {
    return (struct nki_operand){.kind = NKI_OPERAND_FLOAT, .f = f};
}
static inline struct nki_operand integer(int64_t i) {
    return (struct nki_operand){.kind = NKI_OPERAND_INT, .i = i};
}
static inline struct nki_operand flag(bool value) {
    return (struct nki_operand){.kind = NKI_OPERAND_BOOL, .i = value};
}
static inline struct nki_operand member(int64_t i) {
    return (struct nki_operand){.kind = NKI_OPERAND_ENUM, .i = i};
}
static inline struct nki_operand integers(const int64_t *at, uint32_t n) {
    return (struct nki_operand){.kind = NKI_OPERAND_INTS, .ints = at, .n = n};
}
static inline struct nki_operand none(void) {
    return (struct nki_operand){0};
}

/* Adds an instruction. Operands that are left out at the end are None. Each instruction has a line
 * of its own, counted from 1. */
static inline struct nki_instr *build_instr(struct build *b, enum nki_op op,
                                            const struct nki_operand *operands, size_t n) {
    size_t all = nki_op_row(op)->n_params;
    struct nki_operand *copy = ARENA_ARRAY(b->program->arena, struct nki_operand, all + 1);
    for (size_t i = 0; i < n && i < all; i++)
        copy[i] = operands[i];
    *vec_push(&b->program->locs) =
        (struct nki_loc){.line = (uint32_t)b->program->instrs.len + 1, .column = 1, .caller = -1};
    struct nki_instr *instr = vec_push(&b->program->instrs);
    *instr = (struct nki_instr){.op = (uint8_t)op,
                                .n_operands = (uint8_t)all,
                                .operands = copy,
                                .more = &nki_nothing_more,
                                .loc = (uint32_t)b->program->locs.len - 1};
    return instr;
}
#define RUN(b, op, ...)                                                      \
    build_instr((b), NKI_OP_##op, (const struct nki_operand[]){__VA_ARGS__}, \
                sizeof((const struct nki_operand[]){__VA_ARGS__}) / sizeof(struct nki_operand))

/* Leaves out the elements that the mask excludes. */
static inline void build_mask(struct build *b, struct nki_instr *instr,
                              const struct nki_mask *mask) {
    struct nki_more *more = arena_dup(b->program->arena, instr->more, sizeof *more);
    more->mask = arena_dup(b->program->arena, mask, sizeof *mask);
    instr->more = more;
}

static inline void build_copy(struct build *b, const struct nki_ap *dst, const struct nki_ap *src) {
    RUN(b, DMA_COPY, tile(dst), tile(src));
}

/* A tile with the contents of a new input. */
static inline uint32_t build_loaded(struct build *b, enum dtype dtype, int p, int f,
                                    const float *values) {
    uint32_t input = build_input(b, dtype, p, f, values);
    uint32_t storage = build_tile(b, NKI_SBUF, dtype, p, f);
    build_copy(b, build_all(b, storage), build_all(b, input));
    return storage;
}

/* A new output with the contents of a tile. */
static inline void build_store(struct build *b, uint32_t storage) {
    const struct nki_storage s = *b->program->storages.at[storage];
    uint32_t output = build_output(b, s.dtype, (int)s.shape[0], (int)s.shape[1]);
    build_copy(b, build_all(b, output), build_all(b, storage));
}

static inline bool build_run(struct build *b) {
    struct device_image *image = device_load(b->program, b->generation, &b->diags);
    if (!image)
        return false;
    bool ok = device_execute(image, b->inputs, b->n_inputs, b->outputs, NULL, &b->err);
    device_unload(image);
    return ok;
}

/* Runs the program. When it fails, fails the test with its message. */
static inline void build_must_run(struct build *b) {
    bool ok = build_run(b);
    if (!ok && b->diags.all.len)
        print_error("%s\n", b->diags.all.at[0].message);
    if (!ok && b->err.kind)
        print_error("%s\n", b->err.text);
    assert_true(ok);
}

static inline float build_value(const struct build *b, size_t output, size_t i) {
    const struct array *array = &b->outputs[output];
    float value;
    device_to_float(array->dtype, (const char *)array->data + i * dtype_bytes(array->dtype), &value,
                    1);
    return value;
}

/* The message of the first error, "" when it loads. */
static inline const char *build_error(struct build *b) {
    struct device_image *image = device_load(b->program, b->generation, &b->diags);
    device_unload(image);
    if (image)
        return "";
    for (size_t i = 0; i < b->diags.all.len; i++)
        if (b->diags.all.at[i].severity == DIAG_ERROR)
            return b->diags.all.at[i].message;
    return "no message";
}

#endif
