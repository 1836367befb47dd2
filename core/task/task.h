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

/* Relative L2 that counts as equal, and the seeds it must hold for, unless a task says otherwise:
 * the values of NKIBench. */
#define TASK_TOLERANCE 2e-5
#define TASK_SEEDS \
    { 0, 21, 42, 63, 84 }
#define TASK_MAX_SEEDS 64
#define TASK_MAX_VALUES 64

struct task {
    char *name;        /* "silu": the folder's name, or the kernel file's without .py */
    char *folder;      /* where `.hone` goes: beside the kernel; "." for a built-in seed */
    char *kernel_path; /* as shown to the user and in diagnostics */
    char *kernel_text; /* at the time of task_open; terminated */
    size_t kernel_len;
    char *reference_path; /* a file on this machine; NULL when the task has none */
    char *model;          /* model.ini beside kernel.py, as the JSON a job takes: the kernel is
                           * timed inside a model; NULL: on its own */
    bool is_builtin;      /* the kernel comes from the binary: kernel_path is no file */
};
/* Opens a task: a folder with kernel.py and reference.py, a kernel file (with `reference`, or with
 * a reference.py in its folder when the file is named kernel.py), or the name of a seed ("silu" or
 * "seeds/silu"; a folder of that name here wins, then the configuration folder, then the binary).
 * `reference` may be NULL. NULL and *err (usage) when there is no such thing. */
struct task *task_open(const char *path, const char *reference, struct err *err) CC_MUST_USE;
/* The description of a model (doc/own-kernel.md) as JSON; a new string. NULL and
 * *err (usage) with section and key for what is unknown, missing or no number. */
char *task_model_read(const char *path, struct err *err) CC_MUST_USE;
/* The description as a model.ini that reads the same, and as JSON, for others to have: without the
 * variables of [env] that are secrets by their names (TOKEN, KEY, ...). The second is a new
 * string. */
void task_model_print(const char *json, struct buf *out);
char *task_model_without_secrets(const char *json) CC_MUST_USE;
/* The first with the secrets of the second, a description that has them; a new string. */
char *task_model_with_secrets(const char *json, const char *whole) CC_MUST_USE;
void task_free(struct task *task); /* accepts NULL */
/* Names of the built-in seeds, in order; at == NULL when index is past the last. */
struct str task_seed_name(size_t index);

/* ------------------------------------------------------------------------------ the reference */

enum task_value_kind { TASK_ARRAY, TASK_FLOAT, TASK_INT, TASK_BOOL, TASK_TEXT, TASK_NONE };

/* One argument of the kernel, in order. */
struct task_value {
    enum task_value_kind kind;
    struct array array; /* TASK_ARRAY; data is mapped from the cache, read only; NULL where
                         * only shapes were asked for */
    double number;      /* TASK_FLOAT */
    int64_t integer;    /* TASK_INT, TASK_BOOL */
    char *text;         /* TASK_TEXT */
};
/* What the reference made of one seed: the kernel's arguments, mapped into memory. */
struct task_inputs {
    struct task_value values[TASK_MAX_VALUES];
    size_t count;
    double tolerance; /* the reference's TOLERANCE; 0 when it has none */
    bool from_cache;
    double elapsed_s;           /* what the reference took when it ran */
    char python[24], numpy[24]; /* versions that made them; "" not told */
    void *mapping;              /* private */
    size_t mapping_bytes;
};
void task_inputs_free(struct task_inputs *inputs); /* accepts NULL */
/* The inputs of a seed when they are in the cache already, else NULL; never starts Python. With
 * `shapes_only` no data is mapped and any seed of that reference will do. */
struct task_inputs *task_inputs_cached(const char *reference_path, int64_t seed,
                                       bool shapes_only) CC_MUST_USE;

/* One kernel output against the reference's, computed in double precision after
 * transform_nki_outputs. */
struct task_match {
    double rel_l2;             /* ||kernel - reference|| / ||reference||; not finite: NaN */
    double max_abs;            /* largest difference of an element; not finite: NaN */
    bool finite;               /* every element of the kernel's output is */
    bool zero, reference_zero; /* every element is 0 */
    bool is_input;             /* equals an input bit for bit where the reference does not */
};
struct task_comparison {
    int64_t seed;
    struct task_match outputs[TASK_MAX_VALUES];
    size_t count;
    double rel_l2; /* the worst of them */
    double elapsed_s;
};

/* The user's reference at work: one Python child that serves any number of seeds. */
struct task_reference;
struct task_reference_limits {
    double seed_s;                   /* for one request; 0: 120 s */
    uint64_t memory_bytes;           /* 0: none */
    const struct task_walling *wall; /* NULL: the strongest there is */
};
/* The wall that the settings ask for. */
struct task_walling {
    const char *level; /* NULL: "auto"; "inside": this process is behind one already, and so
                        * is all that it starts */
    const char *shown; /* further folders that a reference may read, with : between; NULL */
};
/* Python is started with the first request that the cache cannot answer: HONE_PYTHON when it is
 * set, else the first that imports numpy of python3 on PATH and the usual places. */
struct task_reference *task_reference_open(struct loop *loop, const char *path,
                                           const struct task_reference_limits *limits,
                                           struct err *err) CC_MUST_USE;
/* Kills the child; pending requests are not answered. Accepts NULL. */
void task_reference_free(struct task_reference *reference);
/* Answers with the seed's inputs, which become the receiver's (task_inputs_free), or with NULL and
 * what went wrong: usage for a reference that raises or returns what nobody can use, environment
 * for no Python, a hang, no memory. Requests are answered in order, never before this returns. */
typedef void task_inputs_fn(void *data, struct task_inputs *inputs, const struct err *err);
void task_reference_prepare(struct task_reference *reference, int64_t seed, task_inputs_fn *fn,
                            void *data);
/* The same without the numbers: shapes, types and scalars, arrays without data. Those of a
 * reference whose arguments do not depend on random numbers are told without making any. */
void task_reference_shapes(struct task_reference *reference, int64_t seed, task_inputs_fn *fn,
                           void *data);
/* Has the reference's own outputs made ahead, while the caller is busy with something else; what
 * goes wrong is told by task_reference_compare. */
void task_reference_forward(struct task_reference *reference, int64_t seed);
/* Compares the kernel's outputs (in the order it returned them; the data must stay until the
 * answer comes) with the reference's. comparison is NULL when that failed. */
typedef void task_compare_fn(void *data, const struct task_comparison *comparison,
                             const struct err *err);
void task_reference_compare(struct task_reference *reference, int64_t seed,
                            const struct array *outputs, size_t count, task_compare_fn *fn,
                            void *data);
/* Shows what a reference and its Python need to a wall, and where its inputs are kept. */
void task_wall_add(struct wall *wall, const char *reference_path, const char *shown);
/* "PYTHONUSERBASE=...", where pip put what was installed for this user; a new string. */
char *task_user_base(void) CC_MUST_USE;
/* The Python in use when it was not the first that was tried; NULL: none, or it was. */
const char *task_reference_python(const struct task_reference *reference);
/* The Python that a runner found to be of use: tried first by the next one. */
void task_python_remember(const char *path);
/* Removes the least recently used seeds of all references until the cache fits its limit. */
void task_cache_tidy(void);
/* The environment variable with the limit, as "500M", which children go by, too; such a size in
 * bytes; the limit; what the cache takes on the disk; emptying it, with what that freed. */
#define TASK_CACHE_LIMIT "HONE_CACHE_LIMIT"
bool task_cache_limit_read(const char *text, uint64_t *bytes) CC_MUST_USE;
uint64_t task_cache_limit(void);
uint64_t task_cache_bytes(void);
uint64_t task_cache_empty(void);
/* Removes what a process that was killed in the middle of a comparison left in the scratch
 * folder. */
void task_scratch_clean(int pid);

/* -------------------------------------------------------------------------------- the verdict */

enum task_answer { TASK_NOT_ASKED, TASK_YES, TASK_NO, TASK_INCONCLUSIVE };
const char *task_answer_name(enum task_answer answer); /* "not asked", "yes", "no", ... */
struct task_judgement {
    enum task_answer answer;
    char reason[240]; /* one sentence; "" where yes speaks for itself */
};
/* Four separate answers, never one flag. */
struct task_verdict {
    struct task_judgement compiles, correct, credible, faster;
};
void task_judge(struct task_judgement *judgement, enum task_answer answer, const char *format, ...)
    CC_PRINTF(3, 4);
/* Sets correct to yes: equal for so many seeds, `worst` the largest relative L2. */
void task_judge_equal(struct task_verdict *verdict, size_t seeds, double worst);
/* Sets correct and credible from the comparisons of all seeds. A floor or latency of 0 is unknown;
 * a latency below the floor is not credible. */
void task_judge_numbers(struct task_verdict *verdict, const struct task_comparison *seeds,
                        size_t count, double tolerance);
void task_judge_latency(struct task_verdict *verdict, double latency_us, double floor_us);
struct task_samples {
    const double *us;
    size_t count;
    bool modelled;
};
/* How many times faster the candidate is: the geometric mean of the ratios of pairs (the i-th
 * sample of the incumbent over the i-th of the candidate, taken one after the other), with the 95 %
 * interval of Student's t for the mean of their logarithms (n - 1 degrees of freedom). What drifts
 * with time is in both of a pair and falls out. `seen` is the smallest difference that so many
 * samples of this spread would have shown, as a share: the half width of the interval. All NAN for
 * fewer than 2 pairs or a sample that is no positive number. */
struct task_ratio {
    double ratio, low, high, seen;
    size_t pairs;
};
struct task_ratio task_ratio_of(struct task_samples incumbent, struct task_samples candidate);
/* Sets faster. One modelled sample each is compared as it is; measured ones by task_ratio_of: yes
 * when the whole interval is above 1, no when it is below TASK_SAME, else inconclusive, as with
 * under 5 pairs. */
#define TASK_SAME 1.002 /* a gain below this share is none */
void task_judge_speed(struct task_verdict *verdict, struct task_samples incumbent,
                      struct task_samples candidate);
/* Two modelled latencies whose ratio is less than `least`, from which on the model can tell which
 * of two kernels is the faster one when they have `differ` ("other tiles"). */
void task_judge_inside(struct task_verdict *verdict, double ratio, double least,
                       const char *differ);
/* compiles, correct and credible are all yes (or not asked); what faster says is left aside. */
bool task_verdict_is_green(const struct task_verdict *verdict);

#endif
