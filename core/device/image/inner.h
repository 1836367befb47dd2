/* SPDX-License-Identifier: Apache-2.0 */
/* The image: a program with what the device adds to it. Private to this folder: load.c fills it,
 * place.c adds addresses, exec*.c and profile.c read it. Nothing changes after device_load. */
#ifndef HONE_DEVICE_IMAGE_INNER_H
#define HONE_DEVICE_IMAGE_INNER_H

#include "device/image/image.h"

#define DEVICE_NEVER UINT32_MAX /* instruction number of something that does not happen */

/* One block of a storage (HBM storages have one): when it lives and where it lies. */
struct device_block {
    uint32_t storage;
    uint32_t first, last; /* instructions that touch it first and last; DEVICE_NEVER */
    uint32_t first_write; /* DEVICE_NEVER: only read */
    uint32_t bytes;       /* per partition that it takes in its memory; 0 in HBM */
    uint8_t space;        /* enum nki_space */
};

/* An operand of an instruction, and the blocks it touches: [first, first + count). */
struct block_operand {
    const struct nki_ap *ap;
    uint32_t first, count;
    bool is_dst, is_src, is_index;
};

struct device_image {
    const struct nki_program *program;
    const struct device_generation *generation;
    struct arena *arena;         /* owns all arrays below */
    uint8_t *engine;             /* enum nki_engine, one per instruction, never UNKNOWN */
    struct device_block *blocks; /* blocks of storage s: block_base[s] .. block_base[s + 1] */
    size_t n_blocks;
    uint32_t *block_base;               /* one per storage, and one more */
    bool *whole;                        /* per storage: some operand spans several of its blocks */
    bool *written, *read;               /* per storage: some instruction writes it, reads it */
    VEC(struct block_operand) operands; /* of instruction i: [operand_base[i], .. [i + 1]) */
    uint32_t *operand_base;
};
/* What instruction i reads and writes: see device_operands. */
static inline const struct block_operand *device_block_operands(const struct device_image *image,
                                                                size_t i, size_t *n) {
    *n = image->operand_base[i + 1] - image->operand_base[i];
    return image->operands.at + image->operand_base[i];
}

/* What an instruction reads or writes: an access pattern among its operands, the tile of indices
 * of an indirect one included. An operand that is added to, kept in part (a mask, a predicate, rows
 * skipped as out of bounds) is both written and read. */
struct device_operand {
    const struct nki_ap *ap;
    int16_t param; /* which parameter of the instruction's row */
    bool is_dst, is_src, is_index;
};
#define DEVICE_MAX_OPERANDS 64
/* Where one function serves several instructions it says the first one's name. */
#define DEVICE_SAME(a, b, parameter) \
    _Static_assert(NKI_##a##_##parameter == NKI_##b##_##parameter, #a " and " #b)
DEVICE_SAME(DMA_COPY, DMA_TRANSPOSE, src);
DEVICE_SAME(NC_MATMUL, NC_MATMUL_MX, stationary);
DEVICE_SAME(NC_MATMUL, NC_MATMUL_MX, moving);
DEVICE_SAME(ACTIVATION, ACTIVATION_REDUCE, op);
DEVICE_SAME(ACTIVATION, ACTIVATION_REDUCE, data);
DEVICE_SAME(ACTIVATION, ACTIVATE2, op);

/* Fills up to DEVICE_MAX_OPERANDS operands of instruction i and returns how many: those written
 * first, then those read, each group in the order of the parameters. Needs image->program only. */
size_t device_operands(const struct device_image *image, size_t i,
                       struct device_operand operands[DEVICE_MAX_OPERANDS]);

/* The span of elements an access pattern can reach, from its smallest to its largest element offset
 * (on chip within a partition, in HBM from the storage's start), both included; an indirect
 * pattern reaches all its storage holds. */
void device_ap_span(const struct nki_program *program, const struct nki_ap *ap, int64_t *low,
                    int64_t *high);
/* The blocks (numbers within the storage, both included) such a pattern touches. */
void device_ap_blocks(const struct nki_program *program, const struct nki_ap *ap, uint32_t *first,
                      uint32_t *last);
/* Adds a finding at a place of the program, with notes for the calls that led there. */
struct diag *device_report(const struct nki_program *program, struct diag_list *diags,
                           enum diag_severity severity, uint32_t loc, const char *code,
                           const char *format, ...) CC_PRINTF(6, 7);

/* Whether the compiler spills what does not fit SBUF: it does unless the kernel of the current
 * dialect places tiles at addresses of its own, or one instruction needs more than there is. */
bool device_image_spills(const struct device_image *image);
/* Bytes per partition that a block takes in its memory. */
static inline uint64_t device_block_bytes(const struct device_image *image, uint32_t block) {
    return image->blocks[block].bytes;
}

#include "device/image/convert.h"

#endif
