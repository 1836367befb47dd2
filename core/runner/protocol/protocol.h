/* SPDX-License-Identifier: Apache-2.0 */
/* One evaluation of one kernel, as a protocol: a job goes in, events come out (PROTOCOL.md). */
#ifndef HONE_RUNNER_PROTOCOL_PROTOCOL_H
#define HONE_RUNNER_PROTOCOL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "loop/loop.h"
#include "task/task.h"

#define RUNNER_PROTOCOL 1
#define RUNNER_SENTINEL "@hone " /* at the start of every event's line */

/* ------------------------------------------------------------------------------------- the job */

/* An input without a reference, as --input gives it: normal numbers of this shape (seeded), those
 * of a file, or one Python number. */
struct runner_input {
    char name[64];
    const char *file; /* where the numbers are: .npy, whose header says dtype and shape; any
                       * other file is raw numbers in rows. NULL: there is none */
    enum dtype dtype; /* DTYPE_NONE: the number `value`, or what the .npy says. Given with
                       * an .npy of codes: what they stand for */
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS];
    double value;
    bool is_whole; /* the number is an int */
};

/* How the place that runs the job is set up, "cores" = "0-3": for remote runners (REMOTE.md). */
struct runner_setting {
    const char *name, *value;
};

/* What to evaluate. Strings and lists stay the caller's; runner_start copies what it needs. */
struct runner_job {
    const char *kernel_path;    /* as diagnostics name it */
    const char *kernel_text;    /* the source; NULL: read kernel_path */
    const char *kernel_name;    /* which function; NULL: the one that is jitted */
    const char *incumbent_text; /* timed beside the kernel; NULL: none */
    const char *reference_path; /* NULL: no inputs, or those of `inputs` */
    const struct runner_input *inputs;
    size_t input_count;
    const char *device;   /* "trn1", "trn2", "trn3"; NULL: trn2 */
    const int64_t *seeds; /* NULL: TASK_SEEDS */
    size_t seed_count;
    double tolerance; /* 0: the reference's, else TASK_TOLERANCE */
    bool check_only;  /* no timing, no numbers */
    bool no_time, no_verify;
    bool all_seeds;              /* go on after the first seed that fails */
    bool predict_only;           /* nothing but the compiler's own prediction, where the
                                  * place has one; the device model has none */
    bool strict;                 /* also what the NKI compiler's Python subset refuses */
    const char *artifact_folder; /* where profile.json goes; NULL: none is written */
    const char *output_folder;   /* where the kernel's outputs go; NULL: none are written */
    struct task_walling wall;    /* around the embedded runner. Not sent */
    const char *const *command;  /* argv of another runner on this machine; NULL: hone itself.
                                  * Not part of the job that is sent */
    /* What remote runners need (REMOTE.md). */
    const char *session;  /* id of the tuning session; NULL: none */
    const char *occasion; /* tells jobs of the same content apart: one that is done
                           * again on purpose has another. Not sent. NULL: "" */
    const char *model;    /* a whole model is timed, not the kernel alone: a JSON object
                           * as REMOTE.md has it; NULL: the kernel */
    const struct runner_setting *settings;
    size_t setting_count;
    /* Limits; 0 takes the defaults below. */
    double time_limit_s;
    uint64_t memory_limit; /* bytes */
    uint64_t instruction_limit, step_limit;
    uint64_t value_limit; /* bytes, while the kernel is evaluated to instructions */
    /* What all evaluations of this user's hones share on this machine (machine/inner.h). Not sent.
     */
    bool takes_turns;       /* it waits until the machine has room for it */
    uint64_t machine_bytes; /* for all of them; 0: what is free */
    int machine_children;   /* of them at once; 0: as many as processors */
};
#define RUNNER_TIME_LIMIT_S 600.0
#define RUNNER_MAX_INPUTS 64
#define RUNNER_ASIDE "HONE_ASIDE" /* in its environment: bytes that were put aside for it */

/* ---------------------------------------------------------------------------------- the events */

enum runner_event_kind {
    RUNNER_PHASE,       /* name, seconds: a phase ended; seconds < 0: it begins */
    RUNNER_LOG,         /* text, severity: a line for people */
    RUNNER_DIAGNOSTIC,  /* diag */
    RUNNER_CORRECTNESS, /* seed, value (rel_l2), max_abs, passed */
    RUNNER_SAMPLE,      /* value (us), incumbent, modelled */
    RUNNER_METRIC,      /* name, value, unit */
    RUNNER_ARTIFACT,    /* name ("profile", "output_0"), text (path), seed, array (outputs) */
    RUNNER_RESULT,      /* the last one */
    RUNNER_RESTART,     /* all begins anew: what came before does not count; local: nor is it
                         * in the file of events, which is another one now */
    RUNNER_PREDICTION,  /* prediction */
};
/* What the kernel's own compiler says of it without a device (nki 0.6, of the front half's result):
 * an opinion, never a measurement. */
#define RUNNER_MAX_ENGINES 16
struct runner_prediction {
    double us;   /* 0: there is none */
    char by[40]; /* "nki 0.6.0" */
    enum { RUNNER_OPTIMISED_UNKNOWN, RUNNER_NOT_OPTIMISED, RUNNER_OPTIMISED } optimised;
    /* whether the back end's own optimisations were on: @nki.jit ships
     * the program without */
    struct runner_utilisation {
        char engine[24];
        double percent;
    } engines[RUNNER_MAX_ENGINES];
    size_t engine_count;
    double macs, hbm_bytes; /* NAN: not told */
};
/* One event. Text belongs to the event and is gone after the callback. */
struct runner_event {
    enum runner_event_kind kind;
    const char *name, *text, *unit;
    double value, seconds, max_abs;
    int64_t seed;
    bool passed, incumbent, modelled;
    bool local; /* a log line about the way to the runner, not from it */
    enum diag_severity severity;
    const struct diag *diag;
    const struct array *array; /* an output's dtype and shape; NULL: it is not an output */
    const struct runner_prediction *prediction;
};

struct runner_seed {
    int64_t seed;
    double rel_l2, max_abs;
    bool passed;
};
struct runner_metric {
    char name[64];
    char unit[16];
    double value;
};
struct runner_phase {
    char name[24];
    double seconds;
};
/* A file that the runner made. Remote runners tell size and SHA-256 (hex); else 0 and "". An output
 * has a seed, and dtype and shape in `array` (else dtype is DTYPE_NONE). */
struct runner_artifact {
    char *name, *path;
    uint64_t bytes;
    char sha256[65];
    int64_t seed;
    struct array array;
};
/* What a line of the kernel's file costs: its share of the critical path (all lines sum to 1), and
 * the engine most of its work is on. */
struct runner_line {
    int line;
    double us, share;
    char engine[16];
    uint64_t instructions, hbm_bytes;
};
/* A resource that can bind: how busy it is, and the latency were it infinitely fast. */
struct runner_bound {
    char name[32];
    double busy_us, without_us;
};

/* All that an evaluation said, gathered; complete when the result came or the runner ended. */
struct runner_result {
    struct task_verdict verdict; /* `faster` is asked only where the job has an incumbent */
    struct diag_list diagnostics;
    VEC(struct runner_seed) seeds;
    VEC(double) samples_us; /* of the kernel */
    VEC(double) incumbent_us;
    bool modelled; /* the samples come from the device model */
    double tolerance;
    double latency_us, floor_us;         /* 0: not known */
    double floor_split_us, floor_any_us; /* floors in other precisions; see device_profile */
    double low_us, high_us; /* where hardware lay for eight of ten such kernels; 0: not known */
    char floor_bound[32];   /* what the floor is set by: "HBM", "Tensor", or "" */
    char bound[32];         /* what limits the kernel now: "DMA", "Vector", or "" */
    uint64_t instructions;
    int lnc; /* physical cores of a launch on a host; 0: not told */
    char kernel_name[64], device[16], dialect[16];
    struct runner_prediction prediction;
    char wall[16];    /* what stood around kernel and reference (wall_name); "" not told */
    char python[256]; /* of the embedded runner: one that took looking for; "" */
    char nki[24];     /* release of the package nki on a host; "" none, or not known */
    VEC(struct runner_metric) metrics;
    VEC(struct runner_phase) phases;
    VEC(struct runner_artifact) artifacts;
    VEC(struct runner_line) lines; /* by descending share */
    VEC(struct runner_bound) bounds;
    uint64_t needs_bytes; /* more than was put aside, so it was not executed; 0 */
    double elapsed_s;     /* wall clock, as the client saw it */
    double device_s;      /* how long a core was held; 0: not told */
    /* Kind none: the runner did its work (whatever the verdict). Kernel: this kernel went over a
     * limit of time or memory, or has what no evaluation can do. Environment: it was killed from
     * outside, could not start, spoke nonsense or had no Python. Unknown: it crashed, or ended
     * without a word. Usage: a reference nobody can use. Cancelled: by runner_cancel. What is
     * environment or unknown says nothing about the kernel (err_may_pass). */
    struct err failure;
};
void runner_result_free(struct runner_result *result); /* the content, not the struct itself */

/* -------------------------------------------------------------------------------- both sides */

/* The job as one line of JSON, and back. The parsed job owns its strings through the arena. */
void runner_job_print(const struct runner_job *job, struct buf *out);
bool runner_job_parse(struct str text, struct arena *arena, struct runner_job *job,
                      struct err *err) CC_MUST_USE;

/* Receives a runner's output line by line; keeps the gathered result. */
struct runner_reader;
typedef void runner_event_fn(void *data, const struct runner_event *event);
struct runner_reader *runner_reader_new(runner_event_fn *fn, void *data);
void runner_reader_free(struct runner_reader *reader);
/* A line of output. A line without the sentinel, or one that is not an event, becomes a log
 * event. */
void runner_reader_line(struct runner_reader *reader, struct str line);
/* Whether it said anything that is an event. */
bool runner_reader_heard(const struct runner_reader *reader);
/* A line of its standard error, which is never an event. */
void runner_reader_noise(struct runner_reader *reader, struct str line);
/* The runner ended: settles what is missing, such as the verdict of a runner that was killed. The
 * result stays the reader's. */
struct runner_result *runner_reader_finish(struct runner_reader *reader,
                                           const struct loop_exit *exit);

#endif
