/* SPDX-License-Identifier: Apache-2.0 */
/* What is tuned: a kernel, its reference, inputs and tolerance; and the verdict on a candidate. */
#ifndef HONE_TASK_TASK_H
#define HONE_TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "loop/loop.h"
#include "task/closure.h"
#include "task/seen.h"

/* The relative L2 that counts as equal, and the seeds for which it must hold, unless a task says
 * otherwise. The values are NKIBench's. */
#define TASK_TOLERANCE 2e-5
#define TASK_SEEDS \
    { 0, 21, 42, 63, 84 }
#define TASK_MAX_SEEDS 64
#define TASK_MAX_VALUES 64

struct task {
    char *name;        /* "silu": the folder's name, or that of the kernel file without .py */
    char *folder;      /* where `.hone` is: beside the kernel; "." for a built-in seed */
    char *kernel_path; /* as the user and diagnostics see it */
    char *kernel_text; /* at the time of task_open; terminated */
    size_t kernel_len;
    char *reference_path; /* a file on this machine; NULL when the task has none */
    char *model;          /* model.ini beside kernel.py, as the JSON that a job takes: the kernel is
                           * timed inside a model; NULL: alone */
    char *function;       /* what an export of a session names as its kernel; the file need not
                           * have it. NULL: none does */
    bool is_builtin;      /* the kernel is in the binary, and kernel_path is no file */
};
/* Opens a task. `path` is a folder with kernel.py and reference.py, a kernel file, or the name of a
 * seed ("silu" or "seeds/silu"). A kernel file takes `reference`, or, when its name is kernel.py, a
 * reference.py in its folder. A seed is looked for in a folder of that name here, then in the
 * configuration folder, then in the binary. `reference` may be NULL. NULL and *err (usage) when
 * there is no such task. */
struct task *task_open(const char *path, const char *reference, struct err *err) CC_MUST_USE;
/* Reads the description of a model (doc/own-kernel.md) as JSON; a new string. NULL and *err (usage)
 * with section and key for what is unknown, missing or no number. */
char *task_model_read(const char *path, struct err *err) CC_MUST_USE;
/* The description for others to have, as a model.ini that reads the same, and as JSON. Variables of
 * [env] whose names are those of secrets (TOKEN, KEY, ...) are left out. The second returns a new
 * string. */
void task_model_print(const char *json, struct buf *out);
char *task_model_without_secrets(const char *json) CC_MUST_USE;
/* The description `json` with the secrets of `whole`, which has them. A new string. */
char *task_model_with_secrets(const char *json, const char *whole) CC_MUST_USE;
void task_free(struct task *task); /* accepts NULL */
/* The names of the built-in seeds, in order; at == NULL when index is past the last. */
struct str task_seed_name(size_t index);

/* ------------------------------------------------------------------------------ the reference */

enum task_value_kind {
    TASK_ARRAY,
    TASK_FLOAT,
    TASK_INT,
    TASK_BOOL,
    TASK_TEXT,
    TASK_NONE,
    TASK_DTYPE, /* text: its name */
    TASK_TUPLE, /* from here on containers: `items` values follow, each with what it contains */
    TASK_LIST,
    TASK_DICT,   /* items are named by their keys */
    TASK_RECORD, /* a dataclass or named tuple, text: its class; items are named by the fields */
    TASK_MEMBER  /* of an Enum, text: "Class.MEMBER"; one item, its value */
};

/* One argument of the kernel, or a value in one. */
struct task_value {
    enum task_value_kind kind;
    char *name;         /* the keyword, or the key in the container before it; NULL: none */
    size_t items;       /* of a container */
    struct array array; /* TASK_ARRAY; its data is mapped from the cache, read only; NULL where only
                         * shapes were asked for */
    double number;      /* TASK_FLOAT */
    int64_t integer;    /* TASK_INT, TASK_BOOL */
    char *text;         /* TASK_TEXT, and where kinds say so */
};
/* The least that any kernel of a reference has to do. It is found by running forward once on arrays
 * that record (record/): inputs that matter read once, in the kernel's types; elements of the
 * outputs; products in their cheapest order, by the width of their operands. When it is not
 * `known`, `refused` says which operation could not be recorded, and `line` where it is in the
 * reference. */
struct task_work {
    bool known;
    double read_bytes, written, fp32, bf16, fp8; /* the last three: multiply-adds */
    char refused[160];
    int line;
};
/* A task may have several shapes: get_inputs makes them from the arguments that SHAPES of the
 * reference names, and the latency that counts is their mean by WEIGHTS. The first is the one that
 * profiles and the rewriter see. */
#define TASK_MAX_SHAPES 16
struct task_shape {
    char name[32]; /* letters, digits, _ - . */
    double weight;
};
/* The seed for which a reference makes inputs of shape number `shape`. Only a reference with SHAPES
 * divides a seed so. */
static inline int64_t task_seed_of_shape(int64_t seed, size_t shape) {
    return shape ? (int64_t)((uint64_t)shape << 32 | (uint32_t)seed) : seed;
}

/* What the reference made of one seed: the kernel's arguments, mapped into memory. */
struct task_inputs {
    struct task_value values[TASK_MAX_VALUES];
    size_t count;
    double tolerance; /* the reference's TOLERANCE; 0 when it has none */
    struct task_shape shapes[TASK_MAX_SHAPES];
    size_t shape_count; /* 0: the task has one, without a name */
    bool from_cache;
    double elapsed_s;           /* how long the reference ran */
    char python[24], numpy[24]; /* versions that made them; "" unknown */
    struct task_work work;
    void *mapping; /* private */
    size_t mapping_bytes;
};
void task_inputs_free(struct task_inputs *inputs); /* accepts NULL */
/* The inputs of a seed if the cache has them, otherwise NULL. Never starts Python. With
 * `shapes_only` no data is mapped, and any seed of that reference will do. */
struct task_inputs *task_inputs_cached(const char *reference_path, int64_t seed,
                                       bool shapes_only) CC_MUST_USE;
/* The same without data, and without opening files that are in `seen` (as of struct task_start). */
struct task_inputs *task_shapes_cached(const char *reference_path, int64_t seed,
                                       struct task_seen *seen) CC_MUST_USE;
/* A copy of inputs that have no data; accepts NULL. */
struct task_inputs *task_shapes_copy(const struct task_inputs *inputs) CC_MUST_USE;
/* Calls fn for each file in or below the reference's folder that it read or imported when it made
 * what the cache has of the seed, however it came to the name, and that is still as it was then.
 * Those that are not wanted are not looked at. The name is below that folder; one may come
 * twice. */
struct task_reading {
    const char *reference_path;
    struct task_seen *seen; /* as of struct task_start */
    bool (*wants)(void *data, const char *name);
    void (*fn)(void *data, const char *name);
    void *data;
};
void task_reference_read(const struct task_reading *reading, int64_t seed);

/* What was recorded of the reference (record/graph.py) as JSON; a new string. It is in the cache
 * once shapes or inputs of a seed were made. NULL and *err (environment) when it is not. */
char *task_graph_read(const char *reference_path, size_t *size, struct err *err) CC_MUST_USE;
/* Whether the cache has it; what was recorded may say that the reference cannot be. `seen` is as of
 * struct task_start. */
bool task_graph_is_cached(const char *reference_path, struct task_seen *seen);

/* One output of the kernel against the reference's, computed in double precision after
 * transform_nki_outputs. */
struct task_match {
    double rel_l2;             /* ||kernel - reference|| / ||reference||; NaN: not finite, or not
                                * infinite where the reference is */
    double share;              /* part of the tolerance that this output may take; 0: all of it */
    double max_abs;            /* largest difference of an element; NaN: not finite */
    bool finite;               /* every element of the kernel's output is finite */
    bool zero, reference_zero; /* every element is 0 */
    bool is_input;             /* equals an input bit for bit where the reference does not */
};
struct task_comparison {
    int64_t seed;
    struct task_match outputs[TASK_MAX_VALUES];
    size_t count;
    double rel_l2; /* that of the worst of them: the output which takes most of what it may */
    size_t worst;  /* its number */
    double elapsed_s;
};
/* Whether each output is within its share of the tolerance. */
bool task_comparison_holds(const struct task_comparison *comparison, double tolerance);

/* The user's reference at work: one Python child that serves any number of seeds. */
struct task_reference;
struct task_reference_limits {
    double seed_s;                   /* time for one request; 0: 120 s */
    uint64_t memory_bytes;           /* 0: none */
    const struct task_walling *wall; /* NULL: the strongest there is */
};
/* The wall that the settings ask for. */
struct task_walling {
    const char *level; /* NULL: "auto"; "inside": this process is behind one already, and so is all
                        * that it starts */
    const char *shown; /* further folders that a reference may read, separated by :; NULL */
};
/* Opens a reference. Python is started with the first request that the cache cannot answer. It is
 * HONE_PYTHON when that is set, otherwise the first one that imports numpy, of python3 on PATH and
 * the usual places. */
struct task_reference *task_reference_open(struct loop *loop, const char *path,
                                           const struct task_reference_limits *limits,
                                           struct err *err) CC_MUST_USE;
/* Kills the child. Pending requests get no answer. Accepts NULL. */
void task_reference_free(struct task_reference *reference);
/* Gets the inputs of the seed, which become the receiver's (task_inputs_free), or NULL and what
 * went wrong. That is a usage error for a reference that raises or returns what nobody can use, and
 * an environment error for no Python, a hang or no memory. Requests are answered in order, never
 * before the call returns. */
typedef void task_inputs_fn(void *data, struct task_inputs *inputs, const struct err *err);
void task_reference_prepare(struct task_reference *reference, int64_t seed, task_inputs_fn *fn,
                            void *data);
/* The same without the numbers: shapes, types and scalars, and arrays without data. Where a
 * reference's arguments do not depend on random numbers, none are made for this. */
void task_reference_shapes(struct task_reference *reference, int64_t seed, task_inputs_fn *fn,
                           void *data);
/* Has the reference's own outputs made ahead, while the caller is busy with something else.
 * task_reference_compare reports what goes wrong. */
void task_reference_forward(struct task_reference *reference, int64_t seed);
/* Gets the arrays that forward goes through for the seed, with their numbers as float32: the first
 * value is a text with a line for each array that follows, "LINE\tNAME" (foreign; the line is the
 * reference's, 0 unknown); the last ones are the outputs. There are at most TASK_MAX_VALUES - 1;
 * what comes later than that, or would take more than 200 MB, is left out. Answers as
 * task_reference_prepare. */
void task_reference_steps(struct task_reference *reference, int64_t seed, task_inputs_fn *fn,
                          void *data);
/* Compares the kernel's outputs with the reference's. They are in the order in which the kernel
 * returned them, and their data must stay until the answer comes. comparison is NULL when it
 * failed. */
typedef void task_compare_fn(void *data, const struct task_comparison *comparison,
                             const struct err *err);
void task_reference_compare(struct task_reference *reference, int64_t seed,
                            const struct array *outputs, size_t count, task_compare_fn *fn,
                            void *data);
/* Shows a wall what a reference and its Python need, and where the reference's inputs are kept. */
void task_wall_add(struct wall *wall, const char *reference_path, const char *shown);
/* The same for a Python alone. */
void task_wall_add_python(struct wall *wall, const char *shown);
/* "PYTHONUSERBASE=...": where pip installed packages for this user. A new string. */
char *task_user_base(void) CC_MUST_USE;
/* The Python in use when it is not the first that was tried. NULL: there is none, or it is the
 * first. */
const char *task_reference_python(const struct task_reference *reference);
/* Remembers a Python that works. The next runner tries it first. */
void task_python_remember(const char *path);
/* Removes the least recently used seeds of all references until the cache fits its limit. */
void task_cache_tidy(void);
/* The environment variable with the limit of the cache, such as "500M". Children keep to it too. */
#define TASK_CACHE_LIMIT "HONE_CACHE_LIMIT"
/* Reads such a size, in bytes. */
bool task_cache_limit_read(const char *text, uint64_t *bytes) CC_MUST_USE;
uint64_t task_cache_limit(void);
/* Bytes that the cache takes on the disk. */
uint64_t task_cache_bytes(void);
/* Empties the cache. Returns the bytes that this freed. */
uint64_t task_cache_empty(void);
/* Removes from the scratch folder what a process left that was killed during a comparison. */
void task_scratch_clean(int pid);

/* ---- a Python that is waited for ------------------------------------------------------------- */

/* It runs a program of hone's beside a piece of work, and talks with it in messages. All of it
 * happens on the thread that calls. */
struct task_tracer;
struct task_tracer_limits {
    double time_s;              /* from start to stop; 0: TASK_TRACER_S */
    uint64_t memory_bytes;      /* of address space; 0: none */
    const volatile int *cancel; /* non-zero ends it; NULL */
    const char *const *folders; /* that its programs may read; ends with NULL; NULL: none */
    const char *shown;          /* further ones, as in task_walling */
    const char *python;         /* which one; NULL: as below */
    const char *level;          /* of its wall, as in task_walling; "inside": this process is behind
                                 * one, and it gets a narrower one if the system has it */
};
#define TASK_TRACER_S 120.0
/* Nothing is started. Limits are copied, but for the folders, which it needs until it starts. */
struct task_tracer *task_tracer_new(const struct task_tracer_limits *limits) CC_MUST_USE;
/* Starts HONE_PYTHON, else the python3 that references use, and gives it the program's text, which
 * finds its messages on standard input and output. False and *err (environment). */
bool task_tracer_start(struct task_tracer *tracer, struct str program, struct err *err);
/* Sends a message, unless it is empty, and waits for one, which is good until the next call. False
 * and *err (cancelled, or else kernel) when there comes none: the program ended, and how, or a
 * limit ended it. Afterwards there is nobody to talk to. */
bool task_tracer_exchange(struct task_tracer *tracer, struct str message, struct str *next,
                          struct err *err);
/* Ends the program. It may be started again. */
void task_tracer_stop(struct task_tracer *tracer);
void task_tracer_free(struct task_tracer *tracer); /* accepts NULL */

/* -------------------------------------------------------------------------------- the verdict */

enum task_answer { TASK_NOT_ASKED, TASK_YES, TASK_NO, TASK_INCONCLUSIVE };
const char *task_answer_name(enum task_answer answer); /* "not asked", "yes", "no", ... */
struct task_judgement {
    enum task_answer answer;
    char reason[240]; /* one sentence; "" where a yes needs none */
};
/* Four separate answers, never one flag. */
struct task_verdict {
    struct task_judgement compiles, correct, credible, faster;
};
void task_judge(struct task_judgement *judgement, enum task_answer answer, const char *format, ...)
    CC_PRINTF(3, 4);
/* Sets correct to yes: equal for `seeds` seeds, with `worst` as the largest relative L2. */
void task_judge_equal(struct task_verdict *verdict, size_t seeds, double worst);
/* Sets correct and credible from the comparisons of all seeds. A floor or latency of 0 is unknown.
 * A latency below the floor is not credible. */
void task_judge_numbers(struct task_verdict *verdict, const struct task_comparison *seeds,
                        size_t count, double tolerance);
void task_judge_latency(struct task_verdict *verdict, double latency_us, double floor_us);
struct task_samples {
    const double *us;
    size_t count;
    bool modelled;
    int cores; /* physical ones of a launch; 0: not known */
};
/* How many times faster the candidate is. It is the geometric mean of the ratios of pairs: the i-th
 * sample of the incumbent over the i-th of the candidate, taken one after the other. Its 95 %
 * interval is Student's t for the mean of their logarithms (n - 1 degrees of freedom). What drifts
 * with time is in both of a pair and cancels. `seen` is the smallest difference that so many
 * samples of this spread would have shown, as a share: half the width of the interval. All are NAN
 * for fewer than 2 pairs, or when a sample is no positive number. */
struct task_ratio {
    double ratio, low, high, seen;
    size_t pairs;
};
struct task_ratio task_ratio_of(struct task_samples incumbent, struct task_samples candidate);
/* Sets faster. One modelled sample each are compared directly. Measured samples are compared by
 * task_ratio_of: yes when the whole interval is above 1 and the ratio above TASK_SAME, no when the
 * whole interval is below TASK_SAME, otherwise inconclusive. With fewer than 5 pairs it is
 * inconclusive too. */
#define TASK_SAME 1.002 /* a gain below this share is none */
void task_judge_speed(struct task_verdict *verdict, struct task_samples incumbent,
                      struct task_samples candidate);
/* Sets faster to inconclusive, for two modelled latencies whose ratio is less than `least`. From
 * `least` on, the model can tell which of two kernels is faster when they have `differ` ("other
 * tiles"). */
void task_judge_inside(struct task_verdict *verdict, double ratio, double least,
                       const char *differ);
/* Whether compiles, correct and credible are all yes (or not asked). What faster says does not
 * count. */
bool task_verdict_is_green(const struct task_verdict *verdict);

#endif
