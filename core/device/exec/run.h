/* SPDX-License-Identifier: Apache-2.0 */
/* Execution: the state of one run, operands as memory, and the loops that stream elements through
 * an engine. Private to this folder. */
#ifndef HONE_DEVICE_EXEC_RUN_H
#define HONE_DEVICE_EXEC_RUN_H

#include "device/exec/exec.h"
#include "device/image/inner.h"

/* ---- operands in memory --------------------------------------------------------------------- */

/* An access pattern as addresses: element (i0, i1, ..) is at `at + sum(step[d] * i[d])`, in
 * bytes. */
struct view {
    uint8_t *at;
    enum dtype dtype;
    int n_dims;
    int64_t count[NKI_MAX_DIMS], step[NKI_MAX_DIMS];
    uint32_t storage; /* DEVICE_NEVER: memory of no storage */
};
int64_t view_count(const struct view *view);
int64_t view_free(const struct view *view); /* elements per partition (all dims but 0) */
/* Whether the elements lie side by side, in order. */
bool view_is_dense(const struct view *view);
/* Lowest and one past the highest byte address. */
void view_range(const struct view *view, const uint8_t **low, const uint8_t **high);

/* ---- walking several views in step ---------------------------------------------------------- */

#define WALK_VIEWS 6
#define WALK_DIMS 16
/* Walks views that hold the same number of elements in different shapes, by dimensions that all
 * of them share. The last dimension is a run with a constant step in every view, as long as
 * possible. */
struct walk {
    int n_views, n_dims;
    int64_t count[WALK_DIMS], step[WALK_VIEWS][WALK_DIMS];
    int64_t index[WALK_DIMS];
    uint8_t *at[WALK_VIEWS]; /* start of the current run */
};
/* False when the shapes have no dimensions in common. With `rows` the first dimension (the
 * partition, equal in all views) is not merged with others: index[0] is the row. */
bool walk_start(struct walk *walk, const struct view *const *views, int n, bool rows);
bool walk_next(struct walk *walk); /* to the next run; false past the last */
static inline int64_t walk_run(const struct walk *walk) {
    return walk->count[walk->n_dims - 1];
}
static inline int64_t walk_step(const struct walk *walk, int view) {
    return walk->step[view][walk->n_dims - 1];
}

/* ---- the state of a run --------------------------------------------------------------------- */

#define STREAM_RUN 2048 /* elements that pass at once, so that they stay in the first cache */
#define STREAM_SOURCES 4

/* Which cells of a PSUM block were written. A matmul that adds where something was written needs
 * it. */
struct psum_cells {
    enum { CELLS_NONE, CELLS_SOME, CELLS_ALL } state;
    uint8_t *map; /* one byte for each 2 bytes of PSUM; NULL unless SOME */
};

/* An operand that the running instruction writes by a tile of positions. */
struct scatter {
    const struct nki_ap *ap;   /* NULL: there is none */
    struct view home, copy;    /* what the positions count from; what the instruction writes */
    struct psum_cells written; /* which cells of the copy were written before, in PSUM */
};

struct spare { /* memory of a dead block, kept for the next block of its size */
    uint8_t *at;
    uint64_t bytes;
};

struct exec {
    const struct device_image *image;
    const struct nki_program *program;
    const struct device_limits *limits;
    struct err *err;
    const struct nki_instr *instr;
    size_t i;  /* number of the running instruction */
    bool skip; /* set with a failure: leave out the instruction and continue */

    bool *wide;               /* per storage: its tiles keep float32; NULL: none does */
    uint8_t **data;           /* per block; NULL while it is not alive */
    bool *borrowed;           /* per block: it is an input's own memory */
    struct psum_cells *cells; /* per block */
    uint32_t *deaths;         /* blocks in the order of their last use */
    size_t n_deaths, next_death;
    uint64_t used, limit;
    VEC(struct spare) spares;
    uint64_t spare_bytes;

    struct scatter scatter;

    int64_t *registers;
    float scalar_acc[NKI_PARTITIONS]; /* accumulators of the Scalar engine */
    float vector_acc[NKI_PARTITIONS]; /* the Vector engine's */
    uint64_t random;                  /* state of the generator behind dropout and rng */

    struct arena *scratch; /* freed after every instruction */
    float *runs[STREAM_SOURCES + 1];
    float *panel[2]; /* matmul operands in fp32 */
    size_t panel_size[2];
};

/* Fails with a message that starts with the place of the running instruction. Returns false. */
bool exec_fail(struct exec *x, const char *format, ...) CC_PRINTF(2, 3);

/* What the elements of an operand are in memory. */
static inline enum dtype exec_dtype(const struct exec *x, const struct nki_ap *ap) {
    return x->wide && x->wide[ap->storage] ? DTYPE_FLOAT32 : (enum dtype)ap->dtype;
}
/* unrounded.c: which storages can keep float32, one for each of the program; free it. */
bool *exec_unrounded(const struct nki_program *program) CC_MUST_USE;

/* memory.c: blocks come to life at their first use and are released after their last use. */
bool memory_open(struct exec *x, const struct array *inputs, size_t n_inputs);
void memory_close(struct exec *x);
void memory_release_dead(struct exec *x); /* called after instruction x->i */
bool memory_take_outputs(struct exec *x, struct array *outputs);
/* The memory of the block or blocks that an operand lies in. With `overwrite` all of it is about to
 * be written, so it is not filled as unwritten. NULL after exec_fail. */
uint8_t *memory_block(struct exec *x, uint32_t storage, uint32_t block, bool overwrite);
/* Bytes per partition of what memory_block returns. */
uint64_t memory_row_bytes(const struct exec *x, uint32_t storage);

/* Operand k of the running instruction as a view. exec_read is for an operand that is only read,
 * exec_write for one whose elements are all written, exec_modify for one of which some are written
 * or that is read too. */
bool exec_read(struct exec *x, size_t k, struct view *view);
bool exec_write(struct exec *x, size_t k, struct view *view);
bool exec_target(struct exec *x, size_t k, struct view *view); /* exec_write, but the cells of PSUM
                                                                * are not marked */
bool exec_modify(struct exec *x, size_t k, struct view *view);
/* Puts back the elements of dst that the mask excludes. `saved` has dst's bytes from before, side
 * by side; `first` is the mask's index of dst's first row. */
void exec_put_back(const struct view *dst, int64_t first, const struct nki_mask *mask,
                   const uint8_t *saved);
bool exec_read_ap(struct exec *x, const struct nki_ap *ap, struct view *view);
/* Gathers the rows that an operand's tile of indices names, and makes the view that of the copy.
 * Rows that are out of bounds and may be skipped read as unwritten. Does nothing without such a
 * tile. */
bool exec_gather_ap(struct exec *x, const struct nki_ap *ap, struct view *view);
/* columns.c. The first replaces the view of an operand of NkiTensor.indirect() by one of a copy
 * whose elements lie side by side; what is written to it, exec_scatter_columns puts in its place
 * after the instruction. */
bool exec_gather_columns(struct exec *x, const struct nki_ap *ap, bool writes, struct view *view);
bool exec_scatter_columns(struct exec *x);
/* Operand k as a number, or as one number per partition, repeated over the shape of `like`.
 * `missing` stands for an operand that is missing. */
bool exec_scalar(struct exec *x, size_t k, const struct view *like, double missing,
                 struct view *view);
/* The same for bitwise operators and exact integers: 32 bits, not rounded. */
bool exec_scalar_int(struct exec *x, size_t k, const struct view *like, struct view *view);
bool exec_has(const struct exec *x, size_t k);
bool exec_flag(const struct exec *x, size_t k); /* a boolean; false when missing */
int64_t exec_int(const struct exec *x, size_t k, int64_t missing);
double exec_number(const struct exec *x, size_t k, double missing);
enum nki_func exec_func(const struct exec *x, size_t k, enum nki_func missing);
/* Notes that the cells of PSUM under a view are written. Does nothing in other memories. */
void exec_mark_cells(struct exec *x, const struct view *view);
struct psum_cells *exec_cells(struct exec *x, const struct view *view, const uint8_t **base);

/* ---- streams -------------------------------------------------------------------------------- */

/* A piece of a stream: up to STREAM_RUN elements. All are of one row when the stream keeps rows. */
struct chunk {
    float *dst;
    const float *src[STREAM_SOURCES];
    size_t n;
    size_t row;
};
typedef void stream_fn(void *job, const struct chunk *chunk);
struct stream {
    const struct view *dst; /* NULL: nothing is written */
    const struct view *src[STREAM_SOURCES];
    int n_src;
    bool rows;
    stream_fn *run;
    void *job;
};
/* Passes all elements through `run` in fp32, in row-major order. A source that overlaps the
 * destination in another shape is read first, as a whole. */
bool stream_floats(struct exec *x, const struct stream *stream);

struct int_chunk {
    int64_t *dst;
    const int64_t *src[2];
    size_t n;
    size_t row;
};
typedef void stream_ints_fn(void *job, const struct int_chunk *chunk);
struct int_stream {
    const struct view *dst, *src[2];
    int n_src;
    bool rows;
    stream_ints_fn *run;
    void *job;
};
bool stream_ints(struct exec *x, const struct int_stream *stream);

/* Copies all elements of a view, in order and as fp32, to `to`; or from an array into the view. */
void view_to_floats(const struct view *view, float *to);
void view_from_floats(const struct view *view, const float *from);
void view_to_ints(const struct view *view, int64_t *to);
void view_from_ints(const struct view *view, const int64_t *from);
/* Copies the bytes of the elements, in order and unconverted. */
void view_to_bytes(const struct view *view, uint8_t *to);
void view_from_bytes(const struct view *view, const uint8_t *from);
/* dst = src, element by element: bit for bit between equal types, otherwise through fp32. */
bool view_copy(struct exec *x, const struct view *dst, const struct view *src);

/* The values of a tile of an x4 type times their scales, as [4 * K, width] in the scratch arena.
 * Row 4 * k + j is place j of partition k. */
float *exec_mx_load(struct exec *x, const struct view *data, const struct view *scale);
/* One function for each name in the `exec` column of the table of instructions. Runs x->instr;
 * false after exec_fail. */
typedef bool exec_fn(struct exec *x);
#define INSTR(id, name, engines, check, run, ...) exec_fn exec_##run;
#include "nki/program/instructions.def"
#undef INSTR

#endif
