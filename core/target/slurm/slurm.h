/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm: the kind of target, and its words: what its commands print, and what its states and
 * reasons mean. */
#ifndef HONE_TARGET_SLURM_H
#define HONE_TARGET_SLURM_H

#include "target/kind/kind.h"

/* slurm.c */
extern const struct target_kind target_slurm;

/* ------------------------------------------------------------------------------------- states */

/* What a state of a job (squeue's long form) means for an evaluation. */
enum slurm_is {
    SLURM_WAITS, /* in the queue; also while its node is started */
    SLURM_RUNS,
    SLURM_ENDS,      /* its processes are gone or going, and another state follows */
    SLURM_DONE,      /* its script ended with exit status 0 */
    SLURM_FAILED,    /* trying again would end the same way */
    SLURM_LOST,      /* not the job's fault, so worth another try */
    SLURM_CANCELLED, /* by scancel or the administrator */
};
struct slurm_state {
    const char *name;
    enum slurm_is is;
    const char *words; /* completes "job 12 ...": "was lost when its node failed" */
};
/* Never NULL. An unknown state counts as waiting. */
const struct slurm_state *slurm_state_find(const char *name);

/* Prints why a job waits, in words for people with Slurm's own in brackets: "held by the
 * administrator (JobHeldAdmin)". `start` is the expected start as squeue prints it ("N/A":
 * unknown). Prints "" when there is nothing to say. */
void slurm_reason_print(const char *reason, const char *start, struct buf *out);

/* ------------------------------------------------------------------------------------- output */

/* Copies text from outside without the blanks around it, cut to the size. What is not printable
 * ASCII becomes '?'. */
void slurm_copy_clean(char *to, size_t size, struct str from);

/* One job of squeue --Format=SLURM_JOB_FORMAT, whose columns have fixed widths. */
#define SLURM_JOB_FORMAT \
    "name:48,jobid:16,state:20,starttime:24,restartcnt:12,exit_code:12,nodelist:64,reason:96"
struct slurm_job {
    char name[49], state[21], start[25], nodes[65], reason[97];
    long long id;
    int restarts, exit_code;
};
/* Reads a line; false when it is no job. */
bool slurm_job_read(struct str line, struct slurm_job *job);

/* One node of sinfo -N -o SLURM_NODE_FORMAT. */
#define SLURM_NODE_FORMAT "%N|%T|%C|%E"
struct slurm_node {
    char name[48], state[24];
    int cpus, cpus_busy;
    char reason[120]; /* why it cannot be used; otherwise "" */
};
bool slurm_node_read(struct str line, struct slurm_node *node);

/* A member of the one-line answer of scontrol or sacct, such as "JobState=COMPLETED", copied
 * without blanks. False when it is not there. */
bool slurm_member(struct str text, const char *name, char *value, size_t size);

/* Prints how a failed job's script ended, from the number that Slurm keeps: "exit status 3",
 * "signal 9 (Killed)". */
void slurm_exit_print(int exit_code, struct buf *out);

/* What went wrong with a command, as its stderr shows it. */
enum slurm_trouble {
    SLURM_REFUSED, /* what was asked for is not allowed, or not known here */
    SLURM_BUSY,    /* not now: the controller is down */
    SLURM_LIMIT,   /* too many jobs, or too large a one; it does not say which */
    SLURM_UNSURE,  /* no answer came, so it may have been done */
    SLURM_NO_JOB,  /* there is no such job (any more) */
};
enum slurm_trouble slurm_trouble_of(struct str complaint);
/* Copies the command's own words in one line, without its name: at most `size` - 1 bytes. */
void slurm_complaint_copy(struct str complaint, char *to, size_t size);

/* ------------------------------------------------------------------------------------ options */

/* Splits an option line into words. Blanks separate. '...' and "..." keep blanks. A backslash takes
 * the next character as it is, except inside '...'. Nothing is expanded. Usage error for a quote
 * without its end, for more than 256 words, and for options with which the job would no longer be
 * hone's. The words are in the arena; *words ends with NULL. */
bool slurm_options_split(const char *text, struct arena *arena, const char ***words,
                         struct err *err) CC_MUST_USE;
/* The partitions that the options ask for, "compute1,compute2"; NULL: none. */
const char *slurm_options_partition(const char *const *words);

#endif
