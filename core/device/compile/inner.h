/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation: what lives where on chip and when, and the instructions in the order they are
 * issued. It also holds what the compilers change (passes.def): loads kept resident instead of
 * repeated, zeroing as a flag, renamed buffers, spills where SBUF is too small. The schedule works
 * through it. */
#ifndef HONE_DEVICE_COMPILE_INNER_H
#define HONE_DEVICE_COMPILE_INNER_H

#include "device/cost/inner.h"
#include "device/image/inner.h"

/* The passes of passes.def, and their bits. */
enum pass {
#define PASS(id, ...) PASS_##id,
#include "device/compile/passes.def"
#undef PASS
    PASS_COUNT
};
#define PASS_BIT(id) (1u << PASS_##id)

enum issue_kind {
    ISSUE_INSTR,
    ISSUE_ABSENT, /* takes no time: its data is in SBUF already, or it is a flag of another */
    ISSUE_SAVE,
    ISSUE_RELOAD, /* a spill of `block` to HBM, and back */
};
/* What a queue issues: an instruction, or a transfer that a spill needs. */
struct issue {
    uint8_t kind;
    uint32_t instr;        /* the instruction, or the one that needs the spill */
    uint32_t block, bytes; /* of SAVE and RELOAD: what moves, bytes per partition */
};

/* An operand of an instruction, and the blocks it touches: [first, first + count). */
struct block_operand {
    const struct nki_ap *ap;
    uint32_t first;
    uint32_t count : 29; /* in one word with what follows: there are very many of these */
    bool is_dst : 1, is_src : 1, is_index : 1;
};

/* A stretch of a block's life in SBUF or PSUM, from the issue that brings it in until the last
 * issue that uses it is over. A spill ends one residence, and the reload begins the next. */
struct residence {
    uint32_t block;
    uint32_t users;      /* issues that use it */
    uint32_t first_user; /* the issue that brings it in */
    uint32_t bytes;      /* per partition */
    uint32_t needs;      /* of these, bytes that must be free when it begins: a tile filled in
                          * pieces takes over from the one before it piece by piece */
    bool psum;
};

/* A loop of which periods were left out (struct nki_fold), in issues. */
struct gap {
    uint32_t first, length, kept; /* as of nki_fold; those that are hidden do not count as kept */
    uint64_t left_out;            /* hidden ones too */
    uint32_t residence;           /* the first that it makes */
    uint32_t balance;             /* in allocation->balances, when its first period begins */
};
/* How busy the compiler thinks two engines are. */
struct balance {
    double vector_ns, scalar_ns; /* busy so far, after the smaller of the two is taken off both */
};

/* A change that is timed in the place of the program, at the instructions `op` of this line. The
 * memory that it takes is not counted. */
enum compile_change_kind {
    COMPILE_CHANGE_BUFFER,  /* what they write whole goes to two buffers in turn */
    COMPILE_CHANGE_WITHOUT, /* they take no time */
    COMPILE_CHANGE_JOINED,  /* `times` transfers in a row are one */
    COMPILE_CHANGE_ROOM     /* wherever they are: SBUF and PSUM have room for everything */
};
struct compile_change {
    enum compile_change_kind kind;
    uint32_t file, line;
    uint16_t op; /* enum nki_op; NKI_OP_COUNT: all of the line */
    uint16_t times;
};

struct allocation {
    const struct device_image *image;
    const struct device_constants *table;
    VEC(struct block_operand)
    operands; /* of instruction i: operand_base[i] .. operand_base[i + 1] */
    uint32_t *operand_base;
    VEC(struct issue) issues;
    VEC(struct residence) residences; /* in the order they begin */
    VEC(uint32_t) uses; /* residences that issue s uses: uses[use_base[s] .. [s + 1]] */
    VEC(uint32_t) use_base;
    uint32_t *alias;     /* per block: the block whose storage it shares, mostly itself */
    bool *again;         /* per instruction: the compiler computes it twice */
    bool *input_in_psum; /* per instruction: the compiler put an input of it into PSUM */
    uint8_t *engine;     /* per instruction: enum nki_engine, as the compiler chose it */
    const struct compile_change *change; /* what is different from the program; NULL: nothing */
    bool renames;                        /* a load that fills a buffer anew fills another buffer */
    bool makes_descriptors;              /* the hardware makes those of the legacy dialect (DGE) */
    bool packs;                          /* short runs of a transfer share packets */
    bool legacy;                         /* the dialect that its compiler places and orders */
    bool dma_order;
    bool reorders;                 /* the compiler may reorder */
    uint32_t window;               /* how far: so many issues past the oldest not done */
    struct nki_fold *folds;        /* of the program, in their shortest periods */
    VEC(struct gap) gaps;          /* one for each fold of the program */
    VEC(struct balance) balances;  /* at the start of each period of each gap, and behind the gap */
    bool *hides;                   /* per instruction: it is of a hidden period; NULL: none is */
    bool is_foldable;              /* nothing but steady schedules stands against leaving out */
    uint64_t sbuf_room;            /* bytes per partition of SBUF that the schedule may use */
    uint64_t sbuf_peak, psum_peak; /* bytes per partition, in program order */
    uint64_t spill_save_bytes, spill_reload_bytes;
    uint64_t reload_bytes; /* inputs read again because SBUF could not hold them */
};
/* Makes the allocation of an image. It keeps a pointer to `table`. `without` has the bits of the
 * passes (passes.def) to leave out. Free it with allocation_free. */
struct allocation *allocation_make(const struct device_image *image,
                                   const struct device_constants *table, uint32_t without);
/* What an allocation before this one showed of the program's folds, one of each for each. */
struct hiding {
    uint32_t *hidden;       /* periods, of those that were kept, that are left out, too */
    struct nki_fold *folds; /* in their shortest periods; NULL: they are still to be found */
};
/* The same without the first periods of each fold that are to be hidden. */
struct allocation *allocation_hiding(const struct device_image *image,
                                     const struct device_constants *table, uint32_t without,
                                     const struct hiding *hiding);
void allocation_free(struct allocation *allocation);
static inline bool allocation_hides(const struct allocation *allocation, size_t i) {
    return allocation->hides && allocation->hides[i];
}
/* Whether a block is in the memory `space` (SBUF or PSUM). */
static inline bool allocation_is_in(const struct device_image *image, uint32_t block,
                                    enum nki_space space) {
    return image->blocks[block].space == space;
}
/* What instruction i reads and writes, as device_operands has it; *n is how many. */
static inline const struct block_operand *allocation_operands(const struct allocation *allocation,
                                                              size_t i, size_t *n) {
    *n = allocation->operand_base[i + 1] - allocation->operand_base[i];
    return allocation->operands.at + allocation->operand_base[i];
}

/* compiler.c, for each instruction: whether it becomes a flag of another, whether it fills a buffer
 * of its own, and which engine it is for. `absent` are those that take no time. */
void allocation_find_zero_flags(const struct allocation *allocation, bool *absent);
bool allocation_renames(const struct allocation *allocation, uint32_t i);
void allocation_choose_engines(struct allocation *allocation, bool shares, const bool *absent);

/* compiler.c: whether the change gives what instruction i writes another buffer. */
bool allocation_takes_turns(const struct allocation *allocation, uint32_t i);

/* recompute.c: `again`. */
void allocation_find_recomputed(struct allocation *allocation);

/* residency.c, for each instruction: whether the legacy compiler leaves out the load because its
 * data is in SBUF already. The block that the load filled becomes an alias. The second sets
 * input_in_psum. */
void allocation_find_resident_loads(struct allocation *allocation, bool *resident);
void allocation_find_psum_temporaries(struct allocation *allocation);

/* folds.c: whether the instructions of a fold are what nki_fold promises, and move through HBM that
 * nothing hands data on in. */
bool alike_fold(const struct device_image *image, const struct nki_fold *fold);
/* The same fold in shorter periods: what costs the same wherever it is in HBM repeats after fewer
 * rounds. Of a fold that is alike. */
struct nki_fold alike_parts(const struct device_image *image, const struct nki_fold *fold);

/* dma.c: how a transfer loads the DMA engines. */
struct transfer {
    uint32_t engines; /* engines that it uses */
    uint32_t first;   /* the first of them: that of its first partition in SBUF */
    double engine_ns; /* how long each of them is busy */
    uint64_t bytes;   /* bytes moved */
    uint64_t descriptors;
    bool reads_hbm, writes_hbm;
    bool software;    /* GpSimd writes its descriptors: .. */
    uint64_t written; /* .. one for each partition, however many runs lie in it */
};
/* Who makes the descriptors of transfer i, as far as the kernel says it (NKI DGE guide). */
enum nki_dge_mode transfer_dge(const struct device_image *image, size_t i);
struct transfer transfer_of(const struct allocation *allocation, size_t i,
                            const struct device_constants *table);
/* The same pattern n times in one transfer; `longer`: as pieces that are n times as long. */
struct transfer transfer_times(const struct allocation *allocation, const struct transfer *one,
                               uint32_t n, bool longer, const struct device_constants *table);
/* joined.c: whether these instructions, which come one after the other, can be one transfer, and
 * that transfer. */
bool allocation_joins(const struct allocation *allocation, const uint32_t *members, uint32_t n);
struct transfer transfer_joined(const struct allocation *allocation, const uint32_t *members,
                                uint32_t n, const struct device_constants *table);
struct transfer transfer_of_spill(const struct allocation *allocation, const struct issue *issue,
                                  const struct device_constants *table);

/* issues.c: the queue of each issue, and what the issue costs whenever it is scheduled. */
enum queue {
    QUEUE_TENSOR,
    QUEUE_VECTOR,
    QUEUE_SCALAR,
    QUEUE_GPSIMD,
    QUEUE_DMA_IN,
    QUEUE_DMA_OUT,
    QUEUE_COUNT
};
extern const char *const queue_names[QUEUE_COUNT];
enum nki_engine queue_engine(enum queue queue);
struct issue_cost {
    double interval_ns, latency_ns; /* of an instruction */
    double active_ns;               /* of one on the Tensor engine: what its clock counts */
    struct transfer transfer;       /* of a transfer */
    double issue_ns;                /* of a transfer: how long its issuer takes to issue it */
    double start_ns;                /* of a transfer: from its issue to its first byte */
    uint16_t function_set;          /* of an activation: the table it needs; 0: none */
    bool port;                      /* it needs the port that Vector and GpSimd share */
    uint16_t tiles;                 /* as in struct cost */
    uint8_t queue, issuer;          /* issuer: the enum nki_engine that triggers a transfer */
};
/* The cost of each issue. There are few different ones, and each is kept once. */
struct issue_costs {
    VEC(struct issue_cost) all;
    uint32_t *of;    /* per issue: which of them */
    uint32_t *after; /* per issue: the transfer, plus 1, that it is joined with and starts after;
                      * NULL: a change joins none */
    bool fails;      /* the change cannot be made */
};
struct issue_costs *issue_costs_make(const struct allocation *allocation,
                                     const struct device_constants *table);
void issue_costs_free(struct issue_costs *costs); /* accepts NULL */
static inline const struct issue_cost *issue_cost_at(const struct issue_costs *costs, size_t s) {
    return &costs->all.at[costs->of[s]];
}

/* depend.c: which issues an issue waits for. */
#define DEPENDS_ORDER 0x80000000u /* start after it, need not wait for its result */
struct depends {
    size_t n;
    bool orders;             /* queues may reorder, so edges of order are needed */
    uint32_t *base;          /* producers of issue s: producer[base[s] .. base[s + 1]] */
    uint32_t *consumer_base; /* the same edges from the producers' side */
    uint32_t *consumer;      /* issue numbers, some with DEPENDS_ORDER */
    VEC(uint32_t)
    producer; /* issue numbers, some with DEPENDS_ORDER; none any more after
               * depends_end_producers */
};
struct depends *depends_make(const struct allocation *allocation, const struct issue_costs *costs);
/* Gives back what only a search for steady states reads; schedules need the other side alone. */
void depends_end_producers(struct depends *depends);
void depends_free(struct depends *depends);

#endif
