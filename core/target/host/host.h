/* SPDX-License-Identifier: Apache-2.0 */
/* A machine behind a transport, with hone's runner on it. ssh hosts and the head nodes of clusters
 * share this: the connection (made, lost, made again), putting the runner in place, the runner's
 * commands, files, and jobs that go on there whatever happens to the connection. */
#ifndef HONE_TARGET_HOST_H
#define HONE_TARGET_HOST_H

#include <cjson/cJSON.h>

#include "target/kind/kind.h"
#include "transport/transport.h"

/* ------------------------------------------------------------------------------ the connection */

struct host;
struct host_spec {
    const char *name;            /* for people, and for ~/.ssh/config: "trn2" */
    const char *section;         /* of the configuration, "host trn2"; NULL: none */
    const struct config *config; /* the caller's; it outlives the host; may be NULL */
    bool local;                  /* this machine, without SSH */
    const char *folder;          /* where `.hone` is there; NULL: the login folder */
    /* Another section, "cluster site". Its settings go to the runner too, and win. NULL: none. */
    const char *more;
    /* The host is connected and prepared, for the first time or again. May be NULL. */
    void (*on_ready)(void *data);
    /* Gets what the runner's `host` event said, each time it is asked. May be NULL. */
    void (*on_look)(void *data, const cJSON *event);
    void *data;
};
/* Begins to connect. The board shows the state, the question, and which cores and memory are free
 * there. Where `on_look` is given, the kind fills that part of the board. NULL and *err for
 * impossible settings. */
struct host *host_open(struct loop *loop, const struct host_spec *spec, struct target_board *board,
                       struct err *err) CC_MUST_USE;
/* Closes without further callbacks. The jobs of this host were closed or dropped before. Accepts
 * NULL. */
void host_close(struct host *host);
bool host_is_ready(const struct host *host);
/* Why it does not try again on its own. NULL: it does, or it is ready. */
const struct err *host_failure(const struct host *host);
void host_answer(struct host *host, const char *answer);
void host_retry(struct host *host);
/* A separate connection to the same machine, on any loop, without a person to ask. */
struct transport *host_transport_open(const struct host *host, struct loop *loop,
                                      const struct transport_callbacks *callbacks,
                                      struct err *err) CC_MUST_USE;
/* For a kind with `on_look`: what the board says after "connected"; "": nothing. */
void host_note(struct host *host, const char *text);
/* A path below `.hone` there, such as ".hone/jobs/5f0c". It is in the caller's arena. */
char *host_path(const struct host *host, struct arena *arena, const char *below);
const char *host_python(const struct host *host); /* its path there, when the host is ready */
const char *host_runner(const struct host *host); /* the path of the .pyz */
/* A setting of the section, or of the one that wins over it; else the default, or NULL. */
const char *host_setting(const struct host *host, const char *key);
double host_number(const struct host *host, const char *key, double otherwise);
/* The settings that go to the runner. Valid as long as the host. */
const struct runner_setting *host_settings(const struct host *host, size_t *count);

/* ------------------------------------------------------------------------- commands and copies */

/* How a command or a copy ended. `lost`: the connection went first. What became of it is unknown,
 * and it may be done again when the host is ready. */
typedef void host_done_fn(void *data, const struct err *err, bool lost);
struct host_call;
struct host_call_spec {
    const char *const *argv; /* ends with NULL */
    bool plain;              /* argv is the whole command; otherwise it follows python and runner */
    double limit_s;          /* 0: 60 s; below 0: none */
    void (*on_event)(void *data, const char *name, const cJSON *event); /* gets lines with the
                                                                         * sentinel; may be NULL */
    void (*on_line)(void *data, struct str line);   /* gets the others; may be NULL */
    void (*on_bytes)(void *data, struct str bytes); /* in place of both: gets bytes as they come */
    /* The last call. Environment: the command could not be run, ended with another status than 0
     * (with the last line that it wrote to standard error), or took too long. */
    host_done_fn *on_done;
    void *data;
};
/* NULL and *err when there is no connection. Callbacks never come before it returns. */
struct host_call *host_call_start(struct host *host, const struct host_call_spec *spec,
                                  struct err *err) CC_MUST_USE;
/* Ends it without further callbacks. What runs there may go on. Accepts NULL. */
void host_call_drop(struct host_call *call);

/* Like target_ask_start: the runner's command with the settings, for people. */
void *host_ask_start(struct host *host, const struct target_ask_spec *spec,
                     struct err *err) CC_MUST_USE;
void host_ask_drop(void *asked);

struct host_copy;
/* The callbacks in `copy` stay empty. This on_done comes once. */
struct host_copy *host_copy_start(struct host *host, const struct transport_copy_spec *copy,
                                  host_done_fn *on_done, void *data, struct err *err) CC_MUST_USE;
void host_copy_drop(struct host_copy *copy);

/* Puts those files that are not there yet (by size and SHA-256), each as a whole or not at all. The
 * caller owns everything in it until on_done. */
struct host_file {
    char *path; /* its path there */
    char *data;
    size_t size;
    bool there; /* it was found there, as it should be */
};
struct host_put;
struct host_put *host_put_start(struct host *host, struct host_file *files, size_t count,
                                host_done_fn *on_done, void *data) CC_MUST_USE;
void host_put_drop(struct host_put *put);

/* ----------------------------------------------------------------------------------- following */

/* The output of `follow JOB OFFSET`, split into lines and counted (REMOTE.md). `offset` is what to
 * ask for next. It is kept from connection to connection. Zero all but fn and data. */
struct follow {
    void (*fn)(void *data, struct str line); /* gets each line of the job once, in order */
    void *data;
    uint64_t offset; /* whole lines so far, in bytes */
    char file[40];   /* the id of the file in which they are counted; "": unknown */
    uint64_t lines;
    bool begun;         /* the line `follow` of this connection came */
    bool fresh;         /* all that was there came: the first `alive` or `end` */
    bool ended;         /* `end`: the job is over, and all of it was delivered */
    char gone[240];     /* `gone`: how the process ended without a result; otherwise "" */
    struct buf partial; /* the beginning of a line */
    bool too_long;      /* in the middle of a line over the limit */
    size_t skipped;     /* bytes of that line so far */
};
void follow_begin(struct follow *follow); /* for a new connection */
void follow_bytes(struct follow *follow, struct str bytes);
void follow_free(struct follow *follow);

/* ---------------------------------------------------------------------------------------- jobs */

/* One evaluation as a job there. Its folder and the task's files are put there, it is begun, its
 * events are followed, and its artefacts are fetched. The kind says how it is begun and ended. */
struct host_job;
struct host_job_hooks {
    /* The folder is there: makes sure that the job runs. host_job_began or host_job_fail answers
     * it. After a lost connection it is called again, so it must find out whether the job was begun
     * before. NULL: the runner's `start`. */
    void (*begin)(struct host_job *job);
    /* Makes sure that the job ends, now or as soon as the host is ready; host_job_free may come
     * before. NULL: the runner's `cancel`. `folder` as in host_job_folder. */
    void (*end)(void *self, const char *folder);
    /* The job's process went without a result (`gone`), or another job runs in its place. True: it
     * will be begun again; then, as after `begin`, host_job_began (and it is followed on) or
     * host_job_fail is called. False: an environment failure. NULL: it is begun once more. */
    bool (*again)(struct host_job *job, const char *why);
    void *self;
};
/* Starts a job. on_done comes once, as the last call, and never before this returns. `job` does not
 * change until then. Text about the way to the host comes as log events with `local` set. */
struct host_job *host_job_open(struct host *host, const struct runner_job *job,
                               const struct runner_callbacks *callbacks,
                               const struct host_job_hooks *hooks);
void host_job_cancel(struct host_job *job); /* on_done comes soon, whatever the host does */
void host_job_drop(struct host_job *job);   /* frees it; what runs there goes on */
void host_job_look(const struct host_job *job, struct target_entry *entry);
const char *host_job_folder(const struct host_job *job); /* ".hone/jobs/5f0c..." */
/* Whether the runner has said all that it had to say. Then only its artefacts are left to fetch. */
bool host_job_has_result(const struct host_job *job);
/* Memory for the kind: `size` bytes, cleared, which live as long as the job. */
void *host_job_own(struct host_job *job, size_t size);
void host_job_began(struct host_job *job);
void host_job_fail(struct host_job *job, const struct err *err);
void host_job_say(struct host_job *job, enum diag_severity severity, const char *format, ...)
    CC_PRINTF(3, 4);
/* What the entry shows while the kind deals with the job: a queue's state and reason. */
void host_job_show(struct host_job *job, const char *state, const char *reason);
/* Makes all jobs of the host go on where they stopped. The host calls it when it is ready, lost or
 * failed. */
void host_jobs_ready(struct host *host);
void host_jobs_lost(struct host *host, const char *why);
void host_jobs_failed(struct host *host, const struct err *why);

/* ssh.c: the kind of target that is one host. */
extern const struct target_kind target_ssh;

#endif
