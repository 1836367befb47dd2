/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster, its queue, and an evaluation in it. Private to this folder. */
#ifndef HONE_TARGET_SLURM_OWN_H
#define HONE_TARGET_SLURM_OWN_H

#include "target/host/host.h"
#include "target/slurm/slurm.h"

struct slurm_run;

struct slurm_cluster {
    struct loop *loop;
    struct target_board *board;
    struct host *host; /* the head node, or this machine */
    struct arena *arena;
    char *name, *section;        /* "site", "cluster site" */
    const char **options;        /* for sbatch, as the site needs them; ends with NULL */
    const char *partition;       /* the one that the options ask for; NULL */
    const char *time, *commands; /* time limit of a job; folder of Slurm's commands, or "" */
    int retries;
    /* slurm.sh, which is put on the head node after each connection. */
    struct host_file script;
    struct host_put *putting;
    bool prepared;
    VEC(struct slurm_run *) runs;
    VEC(struct slurm_submit *) submits; /* calls of sbatch, even those of runs that are gone */
    VEC(struct slurm_end *) ends;       /* jobs to cancel, likewise */
    struct loop_timer *end_timer;
    /* slurm_queue.c */
    struct host_call *polling;
    struct loop_timer *poll_timer;
    double poll_s;                  /* pause before the next look */
    bool poll_changed, poll_no_job; /* of the answer that is being read */
    char trouble[300];              /* why the controller does not answer; otherwise "" */
    struct host_call *looking;      /* at the nodes */
    struct loop_timer *look_timer;
    VEC(struct target_core) nodes; /* of the answer that is being read */
};

/* What the cluster last said about a job. */
enum slurm_seen {
    SLURM_UNSEEN,  /* not asked since the job was submitted */
    SLURM_SEEN,    /* it is in `row` */
    SLURM_MISSING, /* the cluster knows no such job */
};

struct slurm_run {
    struct slurm_cluster *cluster;
    struct host_job *job;
    struct runner_callbacks callbacks; /* of the evaluation's owner */
    bool wanted;                       /* host_job waits for host_job_began or host_job_fail */
    bool handing_in;                   /* sbatch was called, or will be */
    bool explaining;                   /* hone is finding out how it ended */
    long long id;                      /* 0: not submitted */
    int tries;                         /* the number, from 1, of the sbatch that counts */
    int losses;                        /* how many jobs were lost, without `restarts` */
    int restarts;                      /* of this id, as Slurm counts them; below 0: unknown yet */
    bool asked;                        /* in the present poll */
    enum slurm_seen seen;
    struct slurm_job row;
    int64_t over_ms; /* monotonic: since when the cluster says it is over; 0 */
    int pauses;      /* in a row, between attempts to submit it */
    struct slurm_submit *submit;
    struct host_call *explain;
    char remembered[24]; /* its state as scontrol or sacct remember it; "" */
    struct buf output;   /* the end of what the job wrote */
    struct loop_timer *step, *retry;
};

/* A call of sbatch. It runs to its end even when its evaluation is gone. Then the job is
 * cancelled. */
struct slurm_submit {
    struct slurm_cluster *cluster;
    struct slurm_run *run; /* NULL: the run is gone */
    char *folder;
    long long id;
    int tries;
    bool known; /* an earlier hone had submitted it */
};
void slurm_submit_free(struct slurm_submit *submit);

/* slurm.c: the argv of a call of slurm.sh; `rest` ends with NULL. It is in the arena. */
const char *const *slurm_script(const struct slurm_cluster *cluster, struct arena *arena,
                                const char *verb, const char *const *rest);
/* Cancels what was submitted for a folder, now or when the cluster can be asked. */
void slurm_end(struct slurm_cluster *cluster, const char *folder);
/* Copies the words of a command that failed, without hone's own around them. */
void slurm_words_of(const struct err *err, char *to, size_t size);

/* slurm_queue.c */
void slurm_poll_soon(struct slurm_cluster *cluster); /* something changed */
void slurm_poll_stop(struct slurm_cluster *cluster);
void slurm_look_start(struct slurm_cluster *cluster);

/* slurm_ask.c: as in struct target_kind */
void *slurm_ask_start(void *self, const struct target_ask_spec *spec, struct err *err);
void slurm_ask_drop(void *asked);

/* slurm_run.c */
void *slurm_run_start(void *self, const struct runner_job *job,
                      const struct runner_callbacks *callbacks, struct err *err);
void slurm_run_cancel(void *run);
void slurm_run_drop(void *run);
void slurm_run_look(const void *run, struct target_entry *entry);
/* Something about the run changed. What follows from it is done on the loop's next turn. */
void slurm_run_step_soon(struct slurm_run *run);

#endif
