/* SPDX-License-Identifier: Apache-2.0 */
/* A job's artefacts. They are brought to the session's folder one after the other, and checked by
 * their hash. An artefact that cannot be had is only noted: the numbers of the evaluation are here
 * already. */
#include "target/host/host_job.h"

#include <stdlib.h>

#define MAX_BYTES ((uint64_t)64 << 20)        /* larger ones stay there */
#define MAX_PROFILE_BYTES ((uint64_t)4 << 30) /* except for the one that the screens need */

struct host_fetch {
    struct host_job *job;
    void (*fetched)(struct host_job *job);
    size_t at; /* the present artefact */
    char *local;
    struct host_copy *copy;
    struct fetch_check *check;
    struct loop_timer *soon;
    bool tried; /* it came damaged once */
};

/* A file's hash, computed by a worker. */
struct fetch_check {
    struct host_fetch *fetch; /* NULL: nobody waits for it any more */
    char *path;
    char hex[65];
};

static void next(struct host_fetch *fetch);

static struct runner_artifact *current(const struct host_fetch *fetch) {
    return &fetch->job->result->artifacts.at[fetch->at];
}

static bool is_profile(const struct runner_artifact *artifact) {
    return strcmp(artifact->name, "profile") == 0;
}

static void finish(void *data) {
    struct host_fetch *fetch = data;
    struct host_job *job = fetch->job;
    void (*fetched)(struct host_job *) = fetch->fetched;
    fetch->soon = NULL;
    host_fetch_drop(fetch);
    fetched(job);
}

/* The present artefact cannot be had. Takes it out of the result, with a note. */
static void leave_out(struct host_fetch *fetch, const char *why) {
    struct runner_result *result = fetch->job->result;
    struct runner_artifact *artifact = current(fetch);
    host_job_say(fetch->job, DIAG_WARNING, "%.60s stays on %s: %.200s (%.200s)", artifact->name,
                 fetch->job->host->spec.name, why, artifact->path);
    free(artifact->name);
    free(artifact->path);
    memmove(artifact, artifact + 1, (result->artifacts.len - fetch->at - 1) * sizeof *artifact);
    result->artifacts.len--;
    fetch->tried = false;
    next(fetch);
}

static void keep(struct host_fetch *fetch) {
    struct runner_artifact *artifact = current(fetch);
    free(artifact->path);
    artifact->path = fetch->local;
    fetch->local = NULL;
    fetch->tried = false;
    fetch->at++;
    next(fetch);
}

/* ------------------------------------------------------------------------------------ checking */

static void check_work(void *data) {
    struct fetch_check *check = data;
    (void)!file_sha256(check->path, check->hex, NULL); /* what cannot be read is not whole */
}

static void check_done(void *data) {
    struct fetch_check *check = data;
    struct host_fetch *fetch = check->fetch;
    bool whole = fetch && strcmp(check->hex, current(fetch)->sha256) == 0;
    if (fetch)
        fetch->check = NULL;
    if (whole) {
        keep(fetch);
    } else if (fetch && !fetch->tried) {
        fetch->tried = true;
        next(fetch);
    } else if (fetch) {
        leave_out(fetch, "it arrived twice with content other than the host's");
    }
    free(check->path);
    free(check);
}

static void on_copied(void *data, const struct err *err, bool lost) {
    struct host_fetch *fetch = data;
    fetch->copy = NULL;
    if (lost)
        return; /* host_fetch_resume does */
    if (err->kind != ERR_NONE) {
        leave_out(fetch, err->text);
        return;
    }
    if (!current(fetch)->sha256[0]) {
        keep(fetch);
        return;
    }
    struct fetch_check *check = mem_alloc(1, sizeof *check);
    check->fetch = fetch;
    check->path = mem_strdup(fetch->local);
    fetch->check = check;
    loop_job_start_owned(fetch->job->host->loop, check_work, check_done, check);
}

/* ------------------------------------------------------------------------------------ fetching */

/* Where it goes here: by the last part of its name, when that is a plain one. NULL: it is not in
 * the job's folder. */
static char *local_path(const struct host_fetch *fetch) {
    const struct runner_artifact *artifact = current(fetch);
    const char *base = path_base(artifact->path);
    if (artifact->path[0] == '/' || strstr(artifact->path, ".."))
        return NULL;
    char name[80];
    snprintf(name, sizeof name, "artefact-%zu", fetch->at);
    bool plain = *base && *base != '.' && strlen(base) < 200;
    for (const char *c = base; *c; c++)
        plain = plain && ((unsigned char)*c > 32 && *c != 127);
    plain = plain && strcmp(base, "events.ndjson") != 0;
    return path_join(fetch->job->job->artifact_folder, plain ? base : name);
}

static void get(struct host_fetch *fetch) {
    struct host_job *job = fetch->job;
    const struct runner_artifact *artifact = current(fetch);
    uint64_t most = is_profile(artifact) ? MAX_PROFILE_BYTES : MAX_BYTES;
    free(fetch->local);
    fetch->local = local_path(fetch);
    if (!fetch->local || artifact->bytes > most) {
        leave_out(fetch, fetch->local ? "it is too large" : "it is not in the job's folder");
        return;
    }
    char *remote = path_join(job->folder, artifact->path);
    struct transport_copy_spec spec = {.kind = TRANSPORT_GET,
                                       .remote = remote,
                                       .local = fetch->local,
                                       .make_dirs = true,
                                       .max_bytes = most};
    fetch->copy = host_copy_start(job->host, &spec, on_copied, fetch, NULL);
    free(remote);
}

static void next(struct host_fetch *fetch) {
    bool any = fetch->job->job->artifact_folder != NULL;
    if (any && fetch->at < fetch->job->result->artifacts.len)
        get(fetch);
    else if (!fetch->soon)
        fetch->soon = loop_timer_start(fetch->job->host->loop, 0, 0, finish, fetch);
}

void host_fetch_start(struct host_job *job, void (*fetched)(struct host_job *job)) {
    struct host_fetch *fetch = mem_alloc(1, sizeof *fetch);
    fetch->job = job;
    fetch->fetched = fetched;
    job->fetch = fetch;
    next(fetch);
}

void host_fetch_resume(struct host_fetch *fetch) {
    if (!fetch->copy && !fetch->check && !fetch->soon)
        next(fetch);
}

void host_fetch_drop(struct host_fetch *fetch) {
    if (!fetch)
        return;
    loop_timer_stop(fetch->soon);
    host_copy_drop(fetch->copy);
    if (fetch->check)
        fetch->check->fetch = NULL;
    free(fetch->local);
    free(fetch);
}
