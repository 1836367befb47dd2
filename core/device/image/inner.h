/* SPDX-License-Identifier: Apache-2.0 */
/* The image: a program with what the device adds to it. load.c fills it, place.c checks that it
 * fits, and the rooms of the device read it; others see image.h. Nothing changes after
 * device_load. */
#ifndef HONE_DEVICE_IMAGE_INNER_H
#define HONE_DEVICE_IMAGE_INNER_H

#include "device/image/image.h"

#define DEVICE_NEVER UINT32_MAX /* the instruction number of what does not happen */

/* One block of a storage (an HBM storage has one): when it lives and how much memory it takes. */
struct device_block {
    uint32_t storage : 30; /* there are very many of these, so they are small */
    uint32_t space : 2;    /* enum nki_space */
    uint32_t first, last;  /* the instructions that touch it first and last; DEVICE_NEVER */
    uint32_t first_write;  /* DEVICE_NEVER: it is only read */
    uint32_t bytes;        /* per partition, in its memory; 0 in HBM */
};

/* What an instruction reads or writes: an access pattern among its operands, or the tile of indices
 * of an indirect one. An operand is both written and read when it is added to, or kept in part (a
 * mask, a predicate, rows skipped as out of bounds). */
struct device_operand {
    const struct nki_ap *ap;
    int16_t param; /* the parameter's number in the instruction's row */
    bool is_dst, is_src, is_index;
};

/* What an operand reaches: the same for all instructions of a kind, wherever their patterns lie. */
struct device_reach {
    int64_t low, high;         /* its first and last byte, from the pattern's offset .. */
    uint32_t size;             /* .. which counts elements of so many bytes */
    uint32_t p0, p1;           /* partitions, both included; 0 in HBM */
    uint64_t bytes, all_bytes; /* that its elements are: in a partition, in all */
};

/* What one core of a launch on several does, as a program and an image of its own. */
struct device_core {
    struct nki_program program; /* shares all but its instructions with the whole one */
    struct device_image *image;
    uint32_t *instrs; /* per instruction: its number in the whole program */
};

struct device_image {
    const struct nki_program *program;
    const struct device_generation *generation;
    struct arena *arena;         /* owns all arrays below */
    uint8_t *engine;             /* enum nki_engine, one per instruction, never UNKNOWN */
    uint32_t *kind;              /* per instruction: its kind. Those of a kind differ only in which
                                  * tiles of one sort they use, and where in them or in HBM */
    VEC(uint32_t) kinds;         /* the first instruction of each */
    struct device_block *blocks; /* blocks of storage s: block_base[s] .. block_base[s + 1] */
    size_t n_blocks;
    uint32_t *block_base;           /* one for each storage, and one more */
    bool *whole;                    /* per storage: an operand spans several of its blocks */
    bool *written, *read;           /* per storage: an instruction writes it, reads it */
    struct device_operand *reached; /* by the first instruction of each of the first kinds .. */
    struct device_reach *reaches;   /* .. and what that is; see device_reaches */
    uint32_t *reach_base, reach_kinds;
    bool *twice; /* per instruction: it writes in HBM what the other core writes by the same
                  * statement, so it has to be the same numbers; NULL: none does */
    struct device_core *cores; /* program->cores of them where that is more than 1; else NULL */
};
/* The first instruction of the kind of instruction i. Where many are alike it is at hand, and
 * instruction i is not. */
static inline uint32_t device_like(const struct device_image *image, size_t i) {
    return image->kinds.at[image->kind[i]];
}

#define DEVICE_MAX_OPERANDS 64
/* Where one function serves several instructions, it uses the first one's names of parameters. This
 * proves that the numbers are the same. */
#define DEVICE_SAME(a, b, parameter) \
    _Static_assert(NKI_##a##_##parameter == NKI_##b##_##parameter, #a " and " #b)
DEVICE_SAME(DMA_COPY, DMA_TRANSPOSE, src);
DEVICE_SAME(NC_MATMUL, NC_MATMUL_MX, stationary);
DEVICE_SAME(NC_MATMUL, NC_MATMUL_MX, moving);
DEVICE_SAME(ACTIVATION, ACTIVATION_REDUCE, op);
DEVICE_SAME(ACTIVATION, ACTIVATION_REDUCE, data);
DEVICE_SAME(ACTIVATION, ACTIVATE2, op);

/* Fills at most DEVICE_MAX_OPERANDS operands of instruction i and returns how many. Written ones
 * come first, then read ones, each in the order of the parameters. Needs image->program only. */
size_t device_operands(const struct device_image *image, size_t i,
                       struct device_operand operands[DEVICE_MAX_OPERANDS]);

/* Works out what operands reach, when the kinds of instructions are known. */
void device_find_reaches(struct device_image *image);
const struct device_reach *device_reaches_anew(const struct device_image *image, size_t i,
                                               struct device_reach own[DEVICE_MAX_OPERANDS]);
/* What the operands of instruction i (device_operands) reach; perhaps worked out in `own`. */
static inline const struct device_reach *
device_reaches(const struct device_image *image, size_t i,
               struct device_reach own[DEVICE_MAX_OPERANDS]) {
    uint32_t kind = image->kind[i];
    return kind < image->reach_kinds ? image->reaches + image->reach_base[kind]
                                     : device_reaches_anew(image, i, own);
}

/* The elements that an access pattern can reach: the smallest and the largest element offset, both
 * included. Offsets count within a partition on chip, and from the storage's start in HBM. An
 * indirect pattern reaches all that its storage holds. */
void device_ap_span(const struct nki_program *program, const struct nki_ap *ap, int64_t *low,
                    int64_t *high);
/* The first and the last block (numbers within the storage) that such a pattern touches. */
void device_ap_blocks(const struct nki_program *program, const struct nki_ap *ap, uint32_t *first,
                      uint32_t *last);
/* Adds a finding at a place of the program, with a note for each call that led there. */
struct diag *device_report(const struct nki_program *program, struct diag_list *diags,
                           enum diag_severity severity, uint32_t loc, const char *code,
                           const char *format, ...) CC_PRINTF(6, 7);

/* Whether the compiler spills what does not fit SBUF. The legacy compiler does. The current one
 * does unless the kernel places its tiles itself, or one instruction needs more than there is. */
bool device_image_spills(const struct device_image *image);
/* Bytes per partition that a block takes in its memory. */
static inline uint64_t device_block_bytes(const struct device_image *image, uint32_t block) {
    return image->blocks[block].bytes;
}

#include "device/image/convert.h"

#endif
