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

/* An input for a kernel without a reference, as --input gives it: normal numbers of this shape
 * (seeded), those of a file, or one Python number. */
struct runner_input {
    char name[64];
    const char *file; /* where the numbers are: an .npy, whose header says dtype and shape; any
                       * other file has raw numbers in rows; NULL: no file */
    enum dtype dtype; /* DTYPE_NONE: the number `value`, or what the .npy says. With an .npy of
                       * codes: what they stand for */
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS];
    double value;
    bool is_whole; /* the number is an int */
};

/* How the place that runs the job is set up, such as "cores" = "0-3". For remote runners
 * (REMOTE.md). */
struct runner_setting {
    const char *name, *value;
};

/* What to evaluate. The caller owns strings and lists; runner_start copies what it needs. */
struct runner_job {
    const char *kernel_path;    /* as diagnostics name it */
    const char *kernel_text;    /* the source; NULL: it is in kernel_path */
    const char *kernel_name;    /* the function; NULL: the one that is decorated as a kernel */
    const char *incumbent_text; /* a kernel timed beside it; NULL: none */
    const char *parent_text;    /* a kernel that is right, which numbers that are wrong are compared
                                 * with; NULL: none; not for hosts */
    const char *reference_path; /* NULL: no inputs, or those of `inputs` */
    const struct runner_input *inputs;
    size_t input_count;
    const char *device;   /* "trn1", "trn2", "trn3"; NULL: trn2 */
    const char *release;  /* of the package nki that the kernel is for, "0.6"; NULL: the newest */
    const char *tracing;  /* "python3": Python evaluates the kernel, not hone's interpreter; NULL or
                           * "hone": hone does. Not for hosts */
    const int64_t *seeds; /* NULL: TASK_SEEDS */
    size_t seed_count;
    double tolerance; /* 0: the reference's, otherwise TASK_TOLERANCE */
    bool check_only;  /* no timing, no numbers */
    bool no_time, no_verify;
    bool all_seeds;        /* continue after the first seed that fails */
    int break_line;        /* of the kernel: its tiles are shown for the first seed; 0: none */
    int break_round;       /* which of the line's instructions; 0: the first */
    bool predict_only;     /* only the compiler's own prediction, where the place has one; the
                            * device model has none */
    bool strict;           /* report what releases that read a subset of Python refuse, also
                            * when `release` is none of them */
    const char *constants; /* a host's constants for the device model (calibrate): a JSON
                            * object of numbers by name; NULL: the device's own; not for
                            * hosts */
    bool first;            /* it does not wait for others that wait their turn. Not sent */
    bool pessimistic;      /* the device model's fitted and guessed constants go to that end
                            * of their range which makes kernels slower; not for hosts */
    bool unrounded;        /* tiles of narrow floats keep float32 (device_limits); not for hosts */
    const char *artifact_folder; /* where profile.json goes; NULL: none is written */
    const char *output_folder;   /* where the kernel's outputs go; NULL: none are written */
    struct task_walling wall;    /* around the embedded runner; not sent, but for `shown` where the
                                  * job traces */
    const char *const *command;  /* argv of another runner on this machine; NULL: hone itself; not
                                  * sent with the job */
    /* What remote runners need (REMOTE.md). */
    const char *session;  /* id of the tuning session; NULL: none */
    const char *occasion; /* tells jobs of the same content apart: one that is repeated on purpose
                           * has another; not sent; NULL: "" */
    const char *model;    /* times a whole model, not the kernel alone: a JSON object as in
                           * REMOTE.md; NULL: the kernel */
    const struct runner_setting *settings;
    size_t setting_count;
    /* Limits; 0 takes the defaults below. */
    double time_limit_s;
    uint64_t memory_limit; /* bytes */
    uint64_t instruction_limit, step_limit;
    int lnc;              /* physical cores to launch on, of the device model; 0: as the kernel's
                           * file does. A host has its own setting */
    uint64_t value_limit; /* bytes, while the kernel is turned into instructions */
    /* What the evaluations of all hones of this user share on this machine (machine/inner.h). Not
     * sent. */
    bool takes_turns;       /* it waits until the machine has room for it */
    uint64_t machine_bytes; /* for all of them; 0: what is free */
    int machine_children;   /* how many at once; 0: as many as processors */
    int machine_places;     /* of them for this one, where there are so many; 0: one */
};
#define RUNNER_TIME_LIMIT_S 600.0
/* Whether a job's `tracing` asks for Python. */
bool runner_job_traces(const struct runner_job *job);
#define RUNNER_MAX_INPUTS 64
#define RUNNER_ASIDE "HONE_ASIDE"   /* a variable of its environment: bytes put aside for it */
#define RUNNER_SERIES "HONE_SERIES" /* likewise: it checks one kernel after the other */

/* ---------------------------------------------------------------------------------- the events */

enum runner_event_kind {
    RUNNER_PHASE,       /* name, seconds: a phase ended; seconds < 0: it begins */
    RUNNER_LOG,         /* text, severity: a line for people; name "print": of a tile that the
                         * kernel or a breakpoint shows, otherwise NULL */
    RUNNER_DIAGNOSTIC,  /* diag */
    RUNNER_CORRECTNESS, /* seed, value (rel_l2), max_abs, passed */
    RUNNER_SAMPLE,      /* value (us), incumbent, modelled */
    RUNNER_METRIC,      /* name, value, unit */
    RUNNER_ARTIFACT,    /* name ("profile", "output_0"), text (path), seed, array (outputs) */
    RUNNER_RESULT,      /* the last one */
    RUNNER_RESTART,     /* all begins again, and what came before does not count; local: there is
                         * also another file of events now */
    RUNNER_PREDICTION,  /* prediction */
    RUNNER_TIMED,       /* result: its times are known, before its numbers are checked */
};
/* What the kernel's own compiler predicts without a device (nki 0.6, from the front half's result).
 * It is an opinion, never a measurement. */
#define RUNNER_MAX_ENGINES 16
struct runner_prediction {
    double us;   /* 0: there is none */
    char by[40]; /* "nki 0.6.0" */
    enum { RUNNER_OPTIMISED_UNKNOWN, RUNNER_NOT_OPTIMISED, RUNNER_OPTIMISED } optimised;
    /* whether the back end's own optimisations were on; @nki.jit ships the program without them */
    struct runner_utilisation {
        char engine[24];
        double percent;
    } engines[RUNNER_MAX_ENGINES];
    size_t engine_count;
    double macs, hbm_bytes; /* NAN: unknown */
};
struct runner_result;

/* One event. The event owns its text, which is gone after the callback. */
struct runner_event {
    enum runner_event_kind kind;
    const char *name, *text, *unit;
    double value, seconds, max_abs;
    int64_t seed;
    bool passed, incumbent, modelled;
    bool local; /* a log line about the way to the runner, not from the runner */
    enum diag_severity severity;
    const struct diag *diag;
    const struct array *array; /* dtype and shape of an output; NULL: it is no output */
    const struct runner_prediction *prediction;
    const struct runner_result *result; /* so far */
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
/* A file that the runner made. Remote runners report size and SHA-256 (hex); otherwise they are 0
 * and "". An output has a seed, and dtype and shape in `array` (otherwise dtype is DTYPE_NONE). */
struct runner_artifact {
    char *name, *path;
    uint64_t bytes;
    char sha256[65];
    int64_t seed;
    struct array array;
};
/* What a line of the kernel's file costs: its share of the critical path (those of all lines sum to
 * 1), and the engine that does most of its work. */
struct runner_line {
    int line;
    double us, share;      /* of the critical path; of a device's profile, of its span */
    double calls, busy_us; /* instructions of `engine`, and what they take in all; NAN: unknown */
    char engine[16];
    uint64_t instructions, hbm_bytes;
};
/* A resource that can limit: how busy it is, and the latency if it were infinitely fast. */
struct runner_bound {
    char name[32];
    double busy_us, without_us;
};

/* All that an evaluation reported. It is complete when the result came or the runner ended. */
struct runner_result {
    struct task_verdict verdict; /* `faster` is asked only where the job has an incumbent */
    struct diag_list diagnostics;
    VEC(struct runner_seed) seeds;
    VEC(double) samples_us; /* of the kernel */
    VEC(double) incumbent_us;
    bool modelled; /* the samples come from the device model */
    double tolerance;
    double latency_us, floor_us;         /* 0: unknown */
    double floor_split_us, floor_any_us; /* floors in other precisions; see device_profile */
    double low_us, high_us;              /* hardware of eight of ten such kernels; 0: unknown */
    char floor_bound[32];                /* what sets the floor: "HBM", "Tensor", or "" */
    char bound[32];                      /* what limits the kernel now: "DMA", "Vector", or "" */
    char *causes;                        /* why it takes that long: the object `causes` of
                                          * PROTOCOL.md as JSON; NULL: unknown */
    char *causes_text;                   /* the same in words; NULL: unknown */
    uint64_t instructions;
    int lnc; /* physical cores of a launch; 0: unknown */
    char kernel_name[64], device[16], dialect[16];
    struct runner_prediction prediction;
    char wall[16];    /* the wall around kernel and reference (wall_name); "" unknown */
    char python[256]; /* of the embedded runner, if it had to be looked for; otherwise "" */
    char nki[24];     /* release of the package nki on a host; "" none, or unknown */
    char release[16]; /* of the package nki that the device model took the kernel as, "0.6"; "" the
                       * legacy dialect, or a host */
    VEC(struct runner_metric) metrics;
    VEC(struct runner_phase) phases;
    VEC(struct runner_artifact) artifacts;
    VEC(struct runner_line) lines; /* in descending order of share */
    VEC(struct runner_bound) bounds;
    uint64_t needs_bytes; /* more than was put aside, so it was not run; otherwise 0 */
    double elapsed_s;     /* by the wall clock, as the client saw it */
    double device_s;      /* how long a core was held; 0: unknown */
    /* Kind none: the runner did its work, whatever the verdict. Kernel: this kernel went over a
     * limit of time or memory, or has something that no evaluation can do. Environment: the
     * runner was killed from outside, could not start, wrote nonsense or had no Python. Unknown:
     * it crashed, or ended without a word. Usage: a reference that nobody can use. Cancelled:
     * runner_cancel ended it. Environment and unknown say nothing about the kernel
     * (err_may_pass). */
    struct err failure;
};
void runner_result_free(struct runner_result *result); /* frees its content only */

/* -------------------------------------------------------------------------------- both sides */

/* The job as one line of JSON, and back. The arena holds the strings of the parsed job. */
void runner_job_print(const struct runner_job *job, struct buf *out);
bool runner_job_parse(struct str text, struct arena *arena, struct runner_job *job,
                      struct err *err) CC_MUST_USE;

/* Receives a runner's output line by line, and keeps the result so far. */
struct runner_reader;
typedef void runner_event_fn(void *data, const struct runner_event *event);
struct runner_reader *runner_reader_new(runner_event_fn *fn, void *data);
void runner_reader_free(struct runner_reader *reader);
/* Takes a line of output. A line without the sentinel, or one that is not an event, becomes a log
 * event. */
void runner_reader_line(struct runner_reader *reader, struct str line);
/* Says behind which wall the runner works, which it may not know itself. */
void runner_reader_wall(struct runner_reader *reader, const char *name);
/* Whether any line was an event. */
bool runner_reader_heard(const struct runner_reader *reader);
/* Whether its result has come, which is its last event. */
bool runner_reader_ended(const struct runner_reader *reader);
/* Takes a line of its standard error, which is never an event. */
void runner_reader_noise(struct runner_reader *reader, struct str line);
/* The runner ended. Settles what is missing, such as the verdict of a runner that was killed. The
 * reader owns the result. */
struct runner_result *runner_reader_finish(struct runner_reader *reader,
                                           const struct loop_exit *exit);

#endif
