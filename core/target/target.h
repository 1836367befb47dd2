/* SPDX-License-Identifier: Apache-2.0 */
/* A place where kernels are evaluated: `sim`, the device model on this machine; a host over SSH; a
 * cluster under Slurm. */
#ifndef HONE_TARGET_TARGET_H
#define HONE_TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "loop/loop.h"
#include "runner/runner.h" /* the job, the events and the result */
#include "task/task.h"

struct target_info {
    char name[64];    /* as the user writes it: "sim" */
    const char *kind; /* "sim", "ssh", "slurm" */
    char what[120];   /* one line: "device model on this machine, 2 cores" */
    bool modelled;    /* latencies come from the model, not from a device */
    int parallel;     /* evaluations that run at once without slowing each other */
};

struct target;
/* How a target is opened beside its name; all may be NULL. Copied. */
struct target_options {
    const struct config *config; /* where hosts and clusters are described; stays the caller's and
                                  * outlives the target. NULL: none */
    const char *session;         /* id of the tuning session, for canaries; NULL: one of its own */
};
/* A target by name: "sim"; a [host NAME] or [cluster NAME] of the configuration; an alias of
 * ~/.ssh/config or user@host. It returns at once and connects in the background. NULL and *err
 * (usage) with the names there are, when it is none of these. */
struct target *target_open(struct loop *loop, const char *name,
                           const struct target_options *options, struct err *err) CC_MUST_USE;
/* Ends what still runs, without further callbacks; not from within on_event. Accepts NULL. */
void target_free(struct target *target);
const struct target_info *target_describe(const struct target *target);

/* Starts an evaluation; any number may be started, `parallel` of them run and the rest wait their
 * turn. Callbacks as with runner_start: on_done comes once for each, last. The job is copied. NULL
 * and *err when it cannot be started at all. */
struct target_run;
struct target_run *target_start(struct target *target, const struct runner_job *job,
                                const struct runner_callbacks *callbacks,
                                struct err *err) CC_MUST_USE;
/* on_done still comes, with a cancelled failure. The handle is gone once on_done was called. */
void target_cancel(struct target_run *run);
/* -------------------------------------------------------------- what goes on there, for people */

enum target_state {
    TARGET_READY,
    TARGET_CONNECTING, /* the first time, or preparing the host */
    TARGET_LOST,       /* was connected; tries again by itself */
    TARGET_ASKING,     /* waits for target_answer */
    TARGET_FAILED,     /* does not try again before target_retry: text says what to do */
};
/* A core of a host, or a node of a cluster. */
struct target_core {
    char name[48];    /* "0", or a node's name */
    char state[24];   /* "free", "busy", "ours"; a node's own word */
    char holder[120]; /* who holds it: user, process, command; "" */
};
/* An evaluation that was handed over and has not ended. */
struct target_entry {
    char id[48]; /* of the remote job; a cluster's job number; "" while it waits here */
    char kernel[64];
    char state[24];   /* "waiting", "copying", "PENDING", "running" */
    char reason[120]; /* why it waits: "Resources", "core 0 is held by ..." */
    int64_t since_ms; /* wall clock */
};
struct target_status {
    enum target_state state;
    char text[400]; /* one or two sentences: "connected", "connection lost 12 s ago (...)" */
    int64_t since_ms, retry_ms; /* wall clock: of this state; of the next try (0: none) */
    char host[160];             /* "ubuntu@10.0.0.5 (libssh2, ed25519 key)"; "" for sim */
    char release[64];           /* "Neuron SDK 2.29, nki 0.3.0"; "" not known */
    uint64_t memory_bytes, disk_free_bytes; /* 0: not known */
    VEC(struct target_core) cores;
    VEC(struct target_entry) entries;
    int64_t looked_ms; /* when cores and entries were looked at last; 0: never */
};
struct target_question {
    bool secret; /* not echoed, wiped after use */
    char text[512];
};
/* `changed` comes after the status or the question did, from the loop's thread. */
void target_listen(struct target *target, void (*changed)(void *data), void *data);
const struct target_status *target_look(const struct target *target);
/* Somebody watches: cores, memory and disk are kept fresh (10 s) for the next half minute, as they
 * are while jobs run. */
void target_watch(struct target *target);
/* The question that waits for a person; NULL: none. */
const struct target_question *target_asks(const struct target *target);
void target_answer(struct target *target, const char *answer); /* NULL declines */
/* Connects again now, after TARGET_FAILED or while TARGET_LOST waits for its next try. */
void target_retry(struct target *target);

/* ---------------------------------------------------------------------- commands of the runner */

/* A command of the runner there (REMOTE.md): doctor, setup, probe, jobs, sweep. The target adds
 * what the configuration says of it (--settings). Strings are copied. */
struct cJSON;
struct target_ask_spec {
    const char *const *argv; /* the command and its arguments; ends with NULL */
    double limit_s;          /* 0: none */
    void (*on_event)(void *data, const char *name, const struct cJSON *event);
    void (*on_line)(void *data, struct str line); /* what is no event. May be NULL */
    /* Last. Kind none: the runner did it. The handle is gone. */
    void (*on_done)(void *data, const struct err *why);
    void *data;
};
struct target_ask;
/* NULL and *err when the target is not TARGET_READY, or is one without a runner (sim). Callbacks
 * never come before it returns. */
struct target_ask *target_ask_start(struct target *target, const struct target_ask_spec *spec,
                                    struct err *err) CC_MUST_USE;
/* Ends it without further callbacks, before the target is freed. Accepts NULL. */
void target_ask_drop(struct target_ask *ask);

/* Names of the kinds of target, in order; NULL when index is past the last. */
const char *target_kind_name(size_t index);

#endif
