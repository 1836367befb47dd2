/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a host's jobs share. Private to this folder. */
#ifndef HONE_TARGET_HOST_JOB_H
#define HONE_TARGET_HOST_JOB_H

#include <stdio.h>

#include "target/host/bundle.h"
#include "target/host/host_own.h"

/* In the order in which a job goes through them. After a lost connection it goes on with the same
 * stage. */
enum job_stage {
    JOB_READING,   /* a worker reads the task's files */
    JOB_COPYING,   /* folder and files are put; waits here for the connection */
    JOB_BEGINNING, /* it is begun there */
    JOB_FOLLOWING, /* it runs, or waits in a queue */
    JOB_FETCHING,  /* artefacts */
    JOB_OVER,
};

struct host_job {
    struct host *host;
    const struct runner_job *job; /* the queue owns it, as long as this lives */
    struct runner_callbacks callbacks;
    struct host_job_hooks hooks;
    struct arena *arena;
    enum job_stage stage;
    struct job_reading *reading;
    struct bundle bundle;
    VEC(struct host_file) files; /* to be put: the task's, and job.json */
    char id[33];
    char *folder;
    bool asked; /* `begin` was called, so it may run there */
    int again;  /* how often it was begun again after it was gone */
    struct host_put *put;
    struct host_call *call;
    struct host_fetch *fetch;
    struct follow follow;
    struct runner_reader *reader;
    struct runner_result *result; /* the reader's, when all was said */
    FILE *raw;                    /* gets every line as it came */
    uint64_t raw_bytes;
    struct loop_timer *soon, *watch, *settle;
    struct err failure; /* why it ended early */
    uint64_t started_ns, heard_ns;
    bool lost, waits_told; /* lost: there is no connection; the host knows since when */
    uint64_t lines_before;
    int fails;                   /* how often in a row follow ended without a reason */
    char state[24], reason[120]; /* what the entry shows */
    void *own;
};

/* host_fetch.c: copies the artefacts of job->result, checks them, and writes into the result where
 * they are. Calls fetched when there is nothing left to do. */
struct host_fetch;
void host_fetch_start(struct host_job *job, void (*fetched)(struct host_job *job));
void host_fetch_resume(struct host_fetch *fetch);
void host_fetch_drop(struct host_fetch *fetch);

#endif
