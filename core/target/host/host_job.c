/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job on a host: its files are put there, it is begun, followed and fetched. Its id
 * follows from what is evaluated. So a hone that was killed finds its job again instead of having
 * it done twice. Each stage may be done again after the connection was lost. */
#include "target/host/host_job.h"

#include <fcntl.h>
#include <stdlib.h>

#define MAX_RAW ((uint64_t)256 << 20) /* how much of a job's lines is kept on this machine */
#define SILENCE_NS 60000000000ull     /* `follow` writes something every 5 s */
#define WATCH_MS 15000
#define SETTLE_MS 1000 /* what came within this time counts as "picked up" */
#define MAX_FAILS 5
#define AGAIN_MS 1000

static void go(struct host_job *job);

/* -------------------------------------------------------------------------------------- words */

void host_job_say(struct host_job *job, enum diag_severity severity, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    struct runner_event event = {
        .kind = RUNNER_LOG, .severity = severity, .name = "host", .text = text.at, .local = true};
    if (job->callbacks.on_event)
        job->callbacks.on_event(job->callbacks.data, &event);
    buf_free(&text);
}

void host_job_show(struct host_job *job, const char *state, const char *reason) {
    snprintf(job->state, sizeof job->state, "%s", state);
    snprintf(job->reason, sizeof job->reason, "%s", reason ? reason : "");
    target_tell(job->host->board);
}

void host_job_look(const struct host_job *job, struct target_entry *entry) {
    static const char *const stages[] = {"reading", "copying",  "starting",
                                         "running", "fetching", "ending"};
    snprintf(entry->id, sizeof entry->id, "%.12s", job->id);
    snprintf(entry->state, sizeof entry->state, "%s",
             job->state[0] ? job->state : stages[job->stage]);
    snprintf(entry->reason, sizeof entry->reason, "%s", job->reason);
    if (job->stage > JOB_READING && !host_is_ready(job->host))
        snprintf(entry->reason, sizeof entry->reason, "%s",
                 job->asked ? "no connection; the job goes on there" : "no connection");
}

/* "1 204" */
static void count_print(struct buf *out, uint64_t count) {
    if (count >= 1000) {
        count_print(out, count / 1000);
        buf_printf(out, " %03d", (int)(count % 1000));
    } else {
        buf_printf(out, "%d", (int)count);
    }
}

/* ------------------------------------------------------------------------------------- the end */

/* Nothing of it is under way on this side any more. */
static void let_go(struct host_job *job) {
    loop_timer_stop(job->watch);
    loop_timer_stop(job->settle);
    loop_timer_stop(job->soon);
    job->watch = job->settle = job->soon = NULL;
    host_put_drop(job->put);
    host_call_drop(job->call);
    host_fetch_drop(job->fetch);
    job->put = NULL;
    job->call = NULL;
    job->fetch = NULL;
}

struct job_reading {
    struct host_job *job; /* NULL: nobody waits for it any more */
    struct arena *arena;
    struct runner_job like; /* what names the files, copied */
    struct bundle bundle;
    struct err err;
};

static void job_free(struct host_job *job) {
    struct host *host = job->host;
    let_go(job);
    size_t kept = 0;
    for (size_t i = 0; i < host->jobs.len; i++)
        if (host->jobs.at[i] != job)
            host->jobs.at[kept++] = host->jobs.at[i];
    host->jobs.len = kept;
    if (job->reading)
        job->reading->job = NULL;
    if (job->raw)
        fclose(job->raw);
    bundle_free(&job->bundle);
    for (size_t i = 0; i < job->files.len; i++)
        free(job->files.at[i].path);
    vec_free(&job->files);
    follow_free(&job->follow);
    runner_reader_free(job->reader);
    arena_free(job->arena);
    free(job->own);
    free(job);
}

static struct loop_exit exit_of(const struct host_job *job, enum loop_end end) {
    double elapsed = (double)(clock_monotonic_ns() - job->started_ns) * 1e-9;
    return (struct loop_exit){.end = end, .elapsed_s = elapsed};
}

static void tell_over(void *data) {
    struct host_job *job = data;
    job->soon = NULL;
    struct loop_exit how =
        exit_of(job, job->failure.kind == ERR_CANCELLED ? LOOP_KILLED : LOOP_EXITED);
    struct runner_result *result = runner_reader_finish(job->reader, &how);
    if (job->failure.kind != ERR_NONE)
        result->failure = job->failure;
    struct runner_callbacks callbacks = job->callbacks;
    callbacks.on_done(callbacks.data, result);
    job_free(job);
}

static void end_soon(struct host_job *job) {
    if (job->stage == JOB_OVER)
        return;
    let_go(job);
    job->stage = JOB_OVER;
    job->soon = loop_timer_start(job->host->loop, 0, 0, tell_over, job);
}

void host_job_fail(struct host_job *job, const struct err *err) {
    if (job->stage == JOB_OVER)
        return;
    job->failure = *err;
    end_soon(job);
}

void host_job_cancel(struct host_job *job) {
    if (job->stage == JOB_OVER)
        return;
    bool there = job->asked && job->stage < JOB_FETCHING;
    err_set(&job->failure, ERR_CANCELLED, "the evaluation was cancelled");
    end_soon(job);
    if (!there)
        return;
    if (job->hooks.end) {
        job->hooks.end(job->hooks.self, job->folder);
        return;
    }
    *vec_push(&job->host->ends) = mem_strdup(job->folder);
    host_ends_run(job->host);
}

void host_job_drop(struct host_job *job) {
    job_free(job);
}

/* ------------------------------------------------------------------- what is to be ended there */

static void on_ended(void *data, const struct err *err, bool lost) {
    struct host *host = data;
    (void)err; /* what cannot be ended no longer exists */
    host->ending = NULL;
    if (lost)
        return;
    free(host->ends.at[0]);
    memmove(host->ends.at, host->ends.at + 1, (host->ends.len - 1) * sizeof *host->ends.at);
    host->ends.len--;
    host_ends_run(host);
}

void host_ends_run(struct host *host) {
    if (!host->ends.len || host->ending || !host_is_ready(host))
        return;
    const char *argv[] = {"cancel", host->ends.at[0], NULL};
    struct host_call_spec spec = {.argv = argv, .on_done = on_ended, .data = host};
    host->ending = host_call_start(host, &spec, NULL);
}

/* ------------------------------------------------------------------------------------- reading */

static void reading_work(void *data) {
    struct job_reading *reading = data;
    bool ok = bundle_read(&reading->bundle, &reading->like, &reading->err);
    (void)ok; /* reading_done looks at the error */
}

/* The settings of the place, and where the files of the task are that the kernels import. */
static void settings_take(struct host_job *job, const char *task, struct runner_job *sent) {
    size_t count;
    const struct bundle *bundle = &job->bundle;
    const struct runner_setting *own = host_settings(job->host, &count);
    struct runner_setting *all = ARENA_ARRAY(job->arena, struct runner_setting, count + 2);
    if (count)
        memcpy(all, own, count * sizeof *all);
    if (bundle->kernel_files.len) {
        const char *folder = bundle->kernel_folder.len ? bundle->kernel_folder.at : ".";
        all[count++] = (struct runner_setting){
            "kernel_folder",
            host_path(job->host, job->arena, arena_printf(job->arena, "%s/%s", task, folder))};
        all[count++] = (struct runner_setting){"kernel_files", bundle->kernel_files.at};
    }
    sent->settings = all;
    sent->setting_count = count;
}

/* Writes the job as it is sent, and the id that follows from it. */
static void job_write(struct host_job *job) {
    struct host *host = job->host;
    struct arena *arena = job->arena;
    struct runner_job sent = *job->job;
    const char *task = arena_printf(arena, "tasks/%s", job->bundle.hash.hex);
    settings_take(job, task, &sent);
    sent.artifact_folder = sent.artifact_folder ? "out" : NULL; /* in the job's folder there */
    if (sent.reference_path)
        sent.reference_path =
            host_path(host, arena, arena_printf(arena, "%s/%s", task, job->bundle.reference.at));
    struct buf text = {0};
    runner_job_print(&sent, &text);
    const char *occasion = sent.occasion ? sent.occasion : "";
    struct hash_stream *stream = hash_begin();
    hash_add(stream, text.at, text.len);
    hash_add(stream, occasion, strlen(occasion));
    struct hash id = hash_end(stream);
    memcpy(job->id, id.hex, sizeof job->id);
    job->folder = host_path(host, arena, arena_printf(arena, "jobs/%s", job->id));
    for (size_t i = 0; i < job->bundle.files.len; i++) {
        struct host_file file = job->bundle.files.at[i];
        file.path =
            mem_strdup(host_path(host, arena, arena_printf(arena, "%s/%s", task, file.path)));
        *vec_push(&job->files) = file;
    }
    *vec_push(&job->files) =
        (struct host_file){.path = mem_strdup(arena_printf(arena, "%s/job.json", job->folder)),
                           .data = arena_strndup(arena, text.at, text.len),
                           .size = text.len};
    buf_free(&text);
}

/* The host fails where it needs them, so they are named before. */
static void left_say(struct host_job *job) {
    struct str rest = buf_str(&job->bundle.left), line;
    while (str_next(&rest, '\n', &line))
        if (line.len)
            host_job_say(job, DIAG_WARNING,
                         STR_FMT " belongs to the task but does not go to %s: a file may have %zu "
                                 "MiB, all together %zu MiB. Put it there yourself, and let the "
                                 "task read it by its absolute path",
                         STR_ARG(line), job->host->spec.name, TASK_MAX_FILE_BYTES >> 20,
                         BUNDLE_MAX_BYTES >> 20);
}

static void reading_done(void *data) {
    struct job_reading *reading = data;
    struct host_job *job = reading->job;
    if (job) {
        job->reading = NULL;
        job->bundle = reading->bundle;
        reading->bundle = (struct bundle){0};
    }
    if (job && reading->err.kind != ERR_NONE) {
        host_job_fail(job, &reading->err);
    } else if (job && job->stage == JOB_READING) {
        left_say(job);
        job_write(job);
        job->stage = JOB_COPYING;
        go(job);
    }
    bundle_free(&reading->bundle);
    arena_free(reading->arena);
    free(reading);
}

/* -------------------------------------------------------------------------- copying, beginning */

static void on_put(void *data, const struct err *err, bool lost) {
    struct host_job *job = data;
    job->put = NULL;
    if (lost)
        return;
    if (err->kind != ERR_NONE) {
        host_job_fail(job, err);
        return;
    }
    job->stage = JOB_BEGINNING;
    go(job);
}

static void copy(struct host_job *job) {
    host_job_show(job, "copying", NULL);
    job->put = host_put_start(job->host, job->files.at, job->files.len, on_put, job);
}

static void on_started(void *data, const char *name, const cJSON *event) {
    struct host_job *job = data;
    if (strcmp(name, "started") != 0)
        return;
    bool already = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(event, "already"));
    if (already && !job->lost)
        host_job_say(job, DIAG_NOTE, "the job was already started on %s; hone follows it again",
                     job->host->spec.name);
}

static void on_begun(void *data, const struct err *err, bool lost) {
    struct host_job *job = data;
    job->call = NULL;
    if (lost)
        return;
    if (err->kind != ERR_NONE)
        host_job_fail(job, err);
    else
        host_job_began(job);
}

static void begin(struct host_job *job) {
    host_job_show(job, "starting", NULL);
    job->asked = true;
    if (job->hooks.begin) {
        job->hooks.begin(job);
        return;
    }
    const char *argv[] = {"start", job->folder, NULL};
    struct host_call_spec spec = {
        .argv = argv, .on_event = on_started, .on_done = on_begun, .data = job};
    job->call = host_call_start(job->host, &spec, NULL);
}

void host_job_began(struct host_job *job) {
    if (job->stage != JOB_BEGINNING)
        return;
    job->stage = JOB_FOLLOWING;
    job->state[0] = job->reason[0] = 0;
    go(job);
}

/* -------------------------------------------------------------------------------- what it says */

static void raw_write(struct host_job *job, struct str line) {
    if (!job->raw && job->job->artifact_folder && !job->raw_bytes) {
        char *path = path_join(job->job->artifact_folder, "events.ndjson");
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        job->raw = fd >= 0 ? fdopen(fd, "w") : NULL;
        job->raw_bytes = !job->raw; /* then none of it is kept, and it is not tried again */
        free(path);
    }
    if (!job->raw)
        return;
    job->raw_bytes += line.len + 1;
    fwrite(line.at, 1, line.len, job->raw);
    fputc('\n', job->raw);
    if (job->raw_bytes < MAX_RAW)
        return;
    fputs("the rest was not kept here\n", job->raw);
    fclose(job->raw);
    job->raw = NULL;
}

static void on_line(void *data, struct str line) {
    struct host_job *job = data;
    raw_write(job, line);
    runner_reader_line(job->reader, line);
}

/* Keeps what the entry shows, and passes on the event. */
static void on_event(void *data, const struct runner_event *event) {
    struct host_job *job = data;
    bool waits = strcmp(job->state, "waiting") == 0;
    if (event->kind == RUNNER_PHASE)
        host_job_show(job,
                      event->seconds >= 0                ? ""
                      : strcmp(event->name, "wait") == 0 ? "waiting"
                                                         : event->name,
                      NULL);
    else if (event->kind == RUNNER_LOG && waits)
        host_job_show(job, "waiting", event->text);
    if (job->callbacks.on_event)
        job->callbacks.on_event(job->callbacks.data, event);
}

/* ----------------------------------------------------------------------------------- following */

static void follow_start(struct host_job *job);

static void say_connected(struct host_job *job) {
    loop_timer_stop(job->settle);
    job->settle = NULL;
    if (!job->lost)
        return;
    job->lost = false;
    struct buf text = {0};
    uint64_t lines = job->follow.lines - job->lines_before;
    int64_t away_ms = clock_wall_ms() - job->host->lost_ms;
    buf_printf(&text, "connected to %s again after %.0f s, ", job->host->spec.name,
               (double)MAX_OF(away_ms, 0) / 1000);
    count_print(&text, lines);
    buf_puts(&text, lines == 1 ? " line picked up" : " lines picked up");
    host_job_say(job, DIAG_NOTE, "%s", text.at);
    buf_free(&text);
}

static void on_settled(void *data) {
    struct host_job *job = data;
    job->settle = NULL;
    say_connected(job);
}

static void on_bytes(void *data, struct str bytes) {
    struct host_job *job = data;
    bool begun = job->follow.begun;
    uint64_t lines = job->follow.lines;
    job->heard_ns = clock_monotonic_ns();
    follow_bytes(&job->follow, bytes);
    if (job->follow.lines != lines)
        job->fails = 0;
    if (!job->lost)
        return;
    if (job->follow.fresh)
        say_connected(job);
    else if (!begun && job->follow.begun && !job->settle)
        job->settle = loop_timer_start(job->host->loop, SETTLE_MS, 0, on_settled, job);
}

static void fetched(struct host_job *job) {
    job->fetch = NULL;
    end_soon(job);
}

static void all_said(struct host_job *job) {
    struct loop_exit how = exit_of(job, LOOP_EXITED);
    say_connected(job);
    loop_timer_stop(job->watch);
    job->watch = NULL;
    if (job->raw)
        fflush(job->raw);
    job->result = runner_reader_finish(job->reader, &how);
    job->stage = JOB_FETCHING;
    host_job_show(job, "fetching", NULL);
    host_fetch_start(job, fetched);
}

static void again_default(struct host_job *job) {
    host_job_say(job, DIAG_WARNING, "%s; starting it once more", job->follow.gone);
    job->stage = JOB_BEGINNING;
    go(job);
}

static void gone(struct host_job *job) {
    bool more = job->again++ < 1;
    say_connected(job);
    if (job->hooks.again) {
        job->stage = JOB_BEGINNING;
        if (job->hooks.again(job, job->follow.gone))
            return;
    } else if (more) {
        again_default(job);
        return;
    }
    struct err err;
    err_set(&err, ERR_ENVIRONMENT, "the evaluation on %s failed: %s", job->host->spec.name,
            job->follow.gone);
    host_job_fail(job, &err);
}

static void on_again(void *data) {
    struct host_job *job = data;
    job->settle = NULL;
    go(job);
}

static void on_followed(void *data, const struct err *err, bool lost) {
    struct host_job *job = data;
    job->call = NULL;
    if (job->follow.ended) {
        all_said(job);
    } else if (job->follow.gone[0]) {
        gone(job);
    } else if (lost) {
        return;
    } else if (++job->fails <= MAX_FAILS) {
        loop_timer_stop(job->settle);
        job->settle = loop_timer_start(job->host->loop, AGAIN_MS, 0, on_again, job);
    } else {
        struct err told;
        err_set(&told, ERR_ENVIRONMENT, "the job on %s cannot be followed: %s",
                job->host->spec.name,
                err->kind != ERR_NONE ? err->text : "the runner ended without a result");
        host_job_fail(job, &told);
    }
}

/* A `follow` that writes nothing hangs, so another one is started. */
static void on_watch(void *data) {
    struct host_job *job = data;
    if (!job->call || clock_monotonic_ns() - job->heard_ns < SILENCE_NS)
        return;
    host_call_drop(job->call);
    job->call = NULL;
    host_job_say(job, DIAG_WARNING, "%s has been silent for a minute; the job is asked for again",
                 job->host->spec.name);
    go(job);
}

static void follow_start(struct host_job *job) {
    char offset[24];
    snprintf(offset, sizeof offset, "%llu", (unsigned long long)job->follow.offset);
    const char *file = job->follow.file[0] ? job->follow.file : NULL;
    const char *argv[] = {"follow", job->folder, offset, file, NULL};
    struct host_call_spec spec = {
        .argv = argv, .limit_s = -1, .on_bytes = on_bytes, .on_done = on_followed, .data = job};
    follow_begin(&job->follow);
    job->heard_ns = clock_monotonic_ns();
    job->call = host_call_start(job->host, &spec, NULL);
    if (!job->watch)
        job->watch = loop_timer_start(job->host->loop, WATCH_MS, WATCH_MS, on_watch, job);
}

/* ------------------------------------------------------------------------------------ going on */

/* Does what the stage asks for, when the host is ready and nothing of it is under way. */
static void go(struct host_job *job) {
    bool busy = job->put || job->call;
    if (!host_is_ready(job->host) || busy)
        return;
    if (job->stage == JOB_COPYING)
        copy(job);
    else if (job->stage == JOB_BEGINNING)
        begin(job);
    else if (job->stage == JOB_FOLLOWING)
        follow_start(job);
    else if (job->stage == JOB_FETCHING && job->fetch)
        host_fetch_resume(job->fetch);
}

void host_jobs_ready(struct host *host) {
    for (size_t i = 0; i < host->jobs.len; i++)
        go(host->jobs.at[i]);
}

void host_jobs_lost(struct host *host, const char *why) {
    for (size_t i = 0; i < host->jobs.len; i++) {
        struct host_job *job = host->jobs.at[i];
        if (job->stage >= JOB_FETCHING)
            continue;
        loop_timer_stop(job->settle);
        job->settle = NULL;
        if (job->asked && !job->lost)
            host_job_say(job, DIAG_WARNING, "connection to %s lost; the job goes on there (%s)",
                         host->spec.name, why);
        else if (!job->asked && !job->waits_told)
            host_job_say(job, DIAG_WARNING,
                         "no connection to %s; the evaluation begins when there "
                         "is one (%s)",
                         host->spec.name, why);
        job->waits_told = true;
        if (job->asked && !job->lost)
            job->lines_before = job->follow.lines;
        job->lost = job->asked;
    }
}

void host_jobs_failed(struct host *host, const struct err *why) {
    for (size_t i = 0; i < host->jobs.len; i++)
        host_job_fail(host->jobs.at[i], why);
}

/* ------------------------------------------------------------------------------------- outside */

static void like_keep(struct arena *arena, const struct runner_job *job, struct runner_job *like) {
    int64_t *seeds = ARENA_ARRAY(arena, int64_t, job->seed_count + 1);
    if (job->seed_count)
        memcpy(seeds, job->seeds, job->seed_count * sizeof *seeds);
    *like = (struct runner_job){.kernel_path = arena_strdup(arena, job->kernel_path),
                                .kernel_text = arena_strdup(arena, job->kernel_text),
                                .incumbent_text = arena_strdup(arena, job->incumbent_text),
                                .reference_path = arena_strdup(arena, job->reference_path),
                                .seeds = job->seeds ? seeds : NULL,
                                .seed_count = job->seed_count};
}

struct host_job *host_job_open(struct host *host, const struct runner_job *job,
                               const struct runner_callbacks *callbacks,
                               const struct host_job_hooks *hooks) {
    struct host_job *made = mem_alloc(1, sizeof *made);
    *made = (struct host_job){.host = host,
                              .job = job,
                              .callbacks = *callbacks,
                              .arena = arena_new(),
                              .started_ns = clock_monotonic_ns()};
    if (hooks)
        made->hooks = *hooks;
    made->follow = (struct follow){.fn = on_line, .data = made};
    made->reader = runner_reader_new(on_event, made);
    *vec_push(&host->jobs) = made;
    struct job_reading *reading = mem_alloc(1, sizeof *reading);
    *reading = (struct job_reading){.job = made, .arena = arena_new()};
    like_keep(reading->arena, job, &reading->like);
    made->reading = reading;
    loop_job_start_owned(host->loop, reading_work, reading_done, reading);
    if (host_failure(host))
        host_retry(host); /* perhaps it is better now, because the person asked for it */
    return made;
}

const char *host_job_folder(const struct host_job *job) {
    return job->folder;
}

bool host_job_has_result(const struct host_job *job) {
    return job->stage >= JOB_FETCHING;
}

void *host_job_own(struct host_job *job, size_t size) {
    if (!job->own)
        job->own = mem_alloc(1, size);
    return job->own;
}
