/* SPDX-License-Identifier: Apache-2.0 */
/* A NeuronCore: its generations, limits, the execution of a program, and its timing.
 *
 *     program ──device_load──▶ image ──┬─▶ device_execute  numbers, once per seed
 *     (limits checked, engines chosen, └─▶ device_time     the schedule: latency, metrics, timeline
 *      life spans known)
 */
#ifndef HONE_DEVICE_DEVICE_H
#define HONE_DEVICE_DEVICE_H

#include "device/causes/causes.h"
#include "device/exec/exec.h"
#include "device/image/image.h"
#include "device/time/time.h"

/* Checks every limit: partition and free sizes, engines and buffers, dtypes, capacity, placement,
 * accumulation. Reports all it finds, up to 50 errors, each with file, line, column, what was found
 * and what is allowed. NULL when there was an error. The program must outlive the image. */
struct device_image *device_load(const struct nki_program *program,
                                 const struct device_generation *generation,
                                 struct diag_list *diags) CC_MUST_USE;
void device_unload(struct device_image *image); /* accepts NULL */

/* Schedules every instruction on its engine and every transfer on its queue. Deterministic. Free
 * the profile with device_profile_free. NULL when rounds of loops were left out of the program and
 * the schedule does not become steady in those that were kept. */
struct device_profile *device_time(const struct device_image *image) CC_MUST_USE;
/* The same with other constants than the generation's own (NULL: its own). */
struct device_profile *device_time_with(const struct device_image *image,
                                        const struct device_constants *constants) CC_MUST_USE;
/* Only the latency of device_time_with, in microseconds, from one schedule; 0 where that has no
 * profile. */
double device_time_latency(const struct device_image *image,
                           const struct device_constants *constants);

/* Why it takes that long (causes.h), from one more schedule. `reasons`: those of the spans of
 * device_time_with, too, of a program of at most DEVICE_MOST_REASONS instructions of which nothing
 * was left out. NULL where that has no profile. Free it with device_causes_free. */
#define DEVICE_MOST_REASONS 1000000u
struct device_causes *device_causes_of(const struct device_image *image,
                                       const struct device_constants *constants,
                                       bool reasons) CC_MUST_USE;

/* What a line of the kernel's own file does, elsewhere. */
struct device_change {
    uint32_t line;  /* from 1 */
    const char *to; /* "vector", "scalar", "gpsimd", "tensor": its instructions run there; "sbuf",
                     * "psum": the tiles that it writes are there; "buffers": it fills two buffers
                     * in turn */
};
/* The latency with the change, in microseconds, timed as for device_time_latency. 0 and *err
 * (usage) where the hardware does not allow it, or the line does nothing that it is about. */
double device_time_change(const struct device_image *image,
                          const struct device_constants *constants,
                          const struct device_change *change, struct err *err) CC_MUST_USE;
/* Times changes of the lines that the critical path has most of, and adds them to the causes: each
 * on the other engines that can run it, or away; tiles that are waited for in two buffers; larger
 * transfers; room for everything. `constants` as for the causes. Of more than 100 000 instructions
 * most rounds of loops are left out; nothing where the schedule does not become steady then. */
void device_causes_try(struct device_causes *causes, const struct device_image *image,
                       const struct device_constants *constants);

/* A kernel that was timed. */
struct device_kernel {
    struct nki_program *program; /* some rounds of loops may be left out: nki_program_count */
    struct device_image *image;
    struct device_profile *profile;
};
/* Specialises, loads and times a kernel, with loops folded (nki_fold) where that leaves out
 * options->fold_least instructions or more and the same comes out as without; only the spans are
 * then those of the rounds that were kept. `constants` as for device_time_with. The program may not
 * be executed. False with errors in *diags; what there is is in *kernel all the same. Free it with
 * device_kernel_free. */
bool device_kernel_time(const struct nki_tree *tree, const struct nki_specialise_options *options,
                        const struct device_constants *constants, struct diag_list *diags,
                        struct device_kernel *kernel);
void device_kernel_free(struct device_kernel *kernel);
/* Only the latency, in microseconds, that the profile of device_kernel_time would have, in a part
 * of the time. 0 with errors in *diags. */
double device_kernel_latency(const struct nki_tree *tree,
                             const struct nki_specialise_options *options,
                             const struct device_constants *constants, struct diag_list *diags);
/* For who does that step by step: options->fold_rounds to begin with (NULL), then after a program
 * that did not become steady; 0: all. */
uint32_t device_fold_rounds(const struct nki_program *before);

/* One operation, by itself. */
struct device_ask {
    enum nki_op op;
    enum nki_func func;        /* its operator; NONE: add, exp of an activation */
    enum nki_engine engine;    /* that can run it */
    enum dtype dtype;          /* of its tiles; a product's result is float32 */
    enum nki_space from;       /* where its first source is; SBUF of a transfer: it stores */
    uint32_t partitions, free; /* of its tiles; of a product K and N */
    uint32_t columns;          /* of a product's stationary tile: M */
};
#define DEVICE_PRICE_PARTS 8
struct device_price {
    double interval_ns; /* until its engine takes the next one; of a transfer among others: between
                         * two of them */
    double latency_ns;  /* from its start until its result can be used */
    /* Which constants the latter rests on, and with how much of it, most first. */
    struct device_price_part {
        const struct device_constant *row;
        double ns;
    } parts[DEVICE_PRICE_PARTS];
    size_t parts_count;
    enum device_how how; /* the weakest of those that make up 5 % or more */
    double percent;      /* by how much it may be off */
};
/* What it costs, with the generation's own constants. False and *err (usage) where the hardware
 * does not allow it, or it has no price alone. */
bool device_price(const struct device_ask *ask, const struct device_generation *generation,
                  struct device_price *price, struct err *err) CC_MUST_USE;
/* The engines that can run it, the default first, one at a time; UNKNOWN past the last. */
enum nki_engine device_price_engine(enum nki_op op, size_t i);

#endif
