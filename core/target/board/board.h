/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a target: what it is, what state it is in, what it asks, and what is asked of
 * its runner. A kind of target fills the board. Screens and commands read it. */
#ifndef HONE_TARGET_BOARD_H
#define HONE_TARGET_BOARD_H

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
    int parallel;     /* evaluations that can run at once without slowing each other */
};

/* How to open a target, besides its name. All may be NULL. Copied. */
struct target_options {
    const struct config *config; /* the configuration, with its hosts and clusters; the caller owns
                                  * it and keeps it longer than the target; NULL: none */
    const char *session;         /* id of the tuning session, for canaries; NULL: a new one */
};

enum target_state {
    TARGET_READY,
    TARGET_CONNECTING, /* connects for the first time, or prepares the host */
    TARGET_LOST,       /* was connected; tries again on its own */
    TARGET_ASKING,     /* waits for target_answer */
    TARGET_FAILED,     /* tries again only after target_retry; text says what to do */
};
/* A core of a host, or a node of a cluster. */
struct target_core {
    char name[48];    /* "0", or a node's name */
    char state[24];   /* "free", "busy", "ours", or a node's own word */
    char holder[120]; /* who holds it: user, process, command; "" */
};
/* An evaluation that was started and has not ended. */
struct target_entry {
    char id[48]; /* of the remote job, or a cluster's job number; "" while it waits here */
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
    char release[64];           /* "Neuron SDK 2.29, nki 0.3.0"; "" unknown */
    uint64_t memory_bytes, disk_free_bytes; /* 0: unknown */
    VEC(struct target_core) cores;
    VEC(struct target_entry) entries;
    int64_t looked_ms; /* when cores and entries were last looked at; 0: never */
};
struct target_question {
    bool secret; /* not shown while it is typed, and wiped after use */
    char text[512];
};

/* A command of the runner on the host (REMOTE.md): doctor, setup, probe, jobs, sweep. The target
 * adds what the configuration says of the host (--settings). Strings are copied. */
struct cJSON;
struct target_ask_spec {
    const char *const *argv; /* the command and its arguments; ends with NULL */
    double limit_s;          /* 0: none */
    void (*on_event)(void *data, const char *name, const struct cJSON *event);
    void (*on_line)(void *data, struct str line); /* lines that are no events; may be NULL */
    /* The last call. Kind none: the runner did it. The handle is gone. */
    void (*on_done)(void *data, const struct err *why);
    void *data;
};

/* --------------------------------------------------------------------------------- the board */

/* What people can see of a target. The target owns it; its kind fills it and calls target_tell. The
 * entries of the status are gathered from the runs, not by the kind. */
struct target_board {
    struct target_info info;
    struct target_status status;
    struct target_question question;
    bool asks;                /* `question` waits for an answer */
    int64_t watched_ms;       /* wall clock: when somebody last looked; 0: never */
    void (*told)(void *data); /* called after target_tell; NULL: nobody listens */
    void *told_data;
};
/* Says that the board changed. Whoever listens hears of it soon, never from within this call. */
void target_tell(struct target_board *board);
/* Sets the state and its sentence. When the state is another than before, also its time. */
void target_show(struct target_board *board, enum target_state state, const char *format, ...)
    CC_PRINTF(3, 4);

#endif
