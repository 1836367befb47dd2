/* SPDX-License-Identifier: Apache-2.0 */
/* A machine behind a transport with hone's runner on it. What ssh hosts and the
 * head nodes of clusters share: the connection (made, lost, made again), the runner put in place,
 * commands of the runner, files, and jobs that go on there whatever happens to the connection. */
#ifndef HONE_TARGET_HOST_H
#define HONE_TARGET_HOST_H

#include <cjson/cJSON.h>

#include "target/kind/kind.h"
#include "transport/transport.h"

/* ------------------------------------------------------------------------------ the connection */

struct host;
struct host_spec {
    const char *name;            /* for people and for ~/.ssh/config: "trn2" */
    const char *section;         /* of the configuration, "host trn2"; NULL: none */
    const struct config *config; /* stays the caller's and outlives the host; may be NULL */
    bool local;                  /* this machine, without SSH */
    const char *folder;          /* where `.hone` lies there; NULL: the login folder */
    /* Settings of this section go to the runner too, and win ("cluster site"). NULL: none. */
    const char *more;
    /* Connected and prepared, the first time and each time again. May be NULL. */
    void (*on_ready)(void *data);
    /* What the runner's `host` event said, each time it is asked. May be NULL. */
    void (*on_look)(void *data, const cJSON *event);
    void *data;
};
/* Begins to connect. The board shows state, question, cores and what is free there; that of a
 * cluster is its kind's where `on_look` is given. NULL and *err for settings that cannot be. */
struct host *host_open(struct loop *loop, const struct host_spec *spec, struct target_board *board,
                       struct err *err) CC_MUST_USE;
/* Without further callbacks; the jobs of this host were closed or dropped before. Accepts NULL. */
void host_close(struct host *host);
bool host_is_ready(const struct host *host);
/* Does not try again by itself: the text says why. NULL: it does, or is ready. */
const struct err *host_failure(const struct host *host);
void host_answer(struct host *host, const char *answer);
void host_retry(struct host *host);
/* A connection of its own to the same machine, on any loop; without a person to ask. */
struct transport *host_transport_open(const struct host *host, struct loop *loop,
                                      const struct transport_callbacks *callbacks,
                                      struct err *err) CC_MUST_USE;
/* What the board says behind "connected" of a host whose kind has `on_look`; "": nothing. */
void host_note(struct host *host, const char *text);
/* A path below `.hone` there: ".hone/jobs/5f0c"; lives in the arena of the caller. */
char *host_path(const struct host *host, struct arena *arena, const char *below);
const char *host_python(const struct host *host); /* path there; once ready */
const char *host_runner(const struct host *host); /* the same of the .pyz */
/* A setting of the section (or the one that wins over it), the default, or NULL. */
const char *host_setting(const struct host *host, const char *key);
double host_number(const struct host *host, const char *key, double otherwise);
/* What the runner is told of them; valid as long as the host. */
const struct runner_setting *host_settings(const struct host *host, size_t *count);

/* ------------------------------------------------------------------------- commands and copies */

/* How a command or a copy ended. `lost`: the connection went first; what happened is unknown, and
 * it may be done again once the host is ready. */
typedef void host_done_fn(void *data, const struct err *err, bool lost);
struct host_call;
struct host_call_spec {
    const char *const *argv; /* ends with NULL */
    bool plain;              /* argv is the whole command; else it follows python and runner */
    double limit_s;          /* 0: 60 s; below 0: none */
    void (*on_event)(void *data, const char *name, const cJSON *event); /* lines with the
                                                                         * sentinel. May be NULL */
    void (*on_line)(void *data, struct str line);   /* the others. May be NULL */
    void (*on_bytes)(void *data, struct str bytes); /* instead of both: as they come */
    /* Last. Environment: it could not be run, ended with another status than 0 (with the last line
     * it wrote to standard error) or took too long. */
    host_done_fn *on_done;
    void *data;
};
/* NULL and *err when there is no connection. Callbacks never come before it returns. */
struct host_call *host_call_start(struct host *host, const struct host_call_spec *spec,
                                  struct err *err) CC_MUST_USE;
/* Ends it (what runs there may go on) without further callbacks. Accepts NULL. */
void host_call_drop(struct host_call *call);

/* As target_ask_start: the runner's command with the settings, for people. */
void *host_ask_start(struct host *host, const struct target_ask_spec *spec,
                     struct err *err) CC_MUST_USE;
void host_ask_drop(void *asked);

struct host_copy;
/* `copy`'s own callbacks stay empty; on_done of this comes once. */
struct host_copy *host_copy_start(struct host *host, const struct transport_copy_spec *copy,
                                  host_done_fn *on_done, void *data, struct err *err) CC_MUST_USE;
void host_copy_drop(struct host_copy *copy);

/* Puts files that are not there yet (by size and SHA-256), each whole or not at all. Everything in
 * it stays the caller's until on_done. */
struct host_file {
    char *path; /* there */
    char *data;
    size_t size;
    bool there; /* found there as it should be */
};
struct host_put;
struct host_put *host_put_start(struct host *host, struct host_file *files, size_t count,
                                host_done_fn *on_done, void *data) CC_MUST_USE;
void host_put_drop(struct host_put *put);

/* ----------------------------------------------------------------------------------- following */

/* The output of `follow JOB OFFSET`, cut into lines and counted (REMOTE.md): `offset` is what to
 * ask for next. Zero it but for fn and data; it is kept over connections. */
struct follow {
    void (*fn)(void *data, struct str line); /* each line of the job once, in order */
    void *data;
    uint64_t offset; /* whole lines so far, in bytes */
    char file[40];   /* the id of the file they are counted in; "": not known */
    uint64_t lines;
    bool begun;         /* this connection's `follow` came */
    bool fresh;         /* all that was there came: the first `alive` or `end` */
    bool ended;         /* `end`: the job is over and all is told */
    char gone[240];     /* `gone`: the process went without a result, and how; else "" */
    struct buf partial; /* of a line */
    bool too_long;      /* in the middle of a line over the limit */
    size_t skipped;     /* bytes of that so far */
};
void follow_begin(struct follow *follow); /* a new connection */
void follow_bytes(struct follow *follow, struct str bytes);
void follow_free(struct follow *follow);

/* ---------------------------------------------------------------------------------------- jobs */

/* One evaluation as a job there: its folder and the task's files are put there, it is begun, its
 * events are followed, its artefacts fetched. How it is begun and ended is the kind's. */
struct host_job;
struct host_job_hooks {
    /* The folder is there: see that it runs. Answered by host_job_began or host_job_fail; asked
     * again after the connection was lost, so it must find out whether it was begun before. NULL:
     * the runner's `start`. */
    void (*begin)(struct host_job *job);
    /* See that it ends, now or as soon as the host is ready; host_job_free may come before. NULL:
     * the runner's `cancel`. `folder` as host_job_folder. */
    void (*end)(void *self, const char *folder);
    /* Its process went without a result (`gone`), or another job runs in its place: true: it will
     * be begun again, and host_job_began (then it is followed on) or host_job_fail is called once
     * that is so, as after `begin`; false: an environment failure. NULL: once more. */
    bool (*again)(struct host_job *job, const char *why);
    void *self;
};
/* A job that is under way; on_done comes once, last, never before it returns. `job` stays as it is
 * until then. Text about the way there comes as log events with `local` set. */
struct host_job *host_job_open(struct host *host, const struct runner_job *job,
                               const struct runner_callbacks *callbacks,
                               const struct host_job_hooks *hooks);
void host_job_cancel(struct host_job *job); /* on_done comes soon, whatever the host does */
void host_job_drop(struct host_job *job);   /* frees it; the job goes on there */
void host_job_look(const struct host_job *job, struct target_entry *entry);
const char *host_job_folder(const struct host_job *job); /* ".hone/jobs/5f0c..." */
/* The runner said all it had to say: what is left is to fetch its artefacts. */
bool host_job_has_result(const struct host_job *job);
/* The place of the kind's own, cleared memory of `size` bytes that lives as long as the job. */
void *host_job_own(struct host_job *job, size_t size);
void host_job_began(struct host_job *job);
void host_job_fail(struct host_job *job, const struct err *err);
void host_job_say(struct host_job *job, enum diag_severity severity, const char *format, ...)
    CC_PRINTF(3, 4);
/* What the entry shows while the kind has its hands on it: a queue's state and reason. */
void host_job_show(struct host_job *job, const char *state, const char *reason);
/* All jobs of the host go on where they stopped: called by the host when it is ready, lost,
 * failed. */
void host_jobs_ready(struct host *host);
void host_jobs_lost(struct host *host, const char *why);
void host_jobs_failed(struct host *host, const struct err *why);

/* ssh.c: the kind of target that is one host. */
extern const struct target_kind target_ssh;

#endif
