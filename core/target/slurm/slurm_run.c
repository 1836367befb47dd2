/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an evaluation under Slurm. It is submitted once, waited for, followed while it runs,
 * submitted again where the cluster lost it, and explained where it failed. Every decision is made
 * in step() from what is known. Callbacks only note what they learn. */
#include "target/slurm/slurm_own.h"

#include <stdio.h>
#include <stdlib.h>

#define OVER_DONE_MS 60000 /* for the result to arrive over a network file system */
#define OVER_MS 6000       /* the same for a job that failed */
#define OVER_GONE_MS 2000  /* the same where its runner is known to be gone */
#define MOST_PAUSE_S 30
#define MAX_OUTPUT 4000

/* --------------------------------------------------------------------------------- handing in */

void slurm_submit_free(struct slurm_submit *submit) {
    struct slurm_cluster *cluster = submit->cluster;
    size_t kept = 0;
    for (size_t i = 0; i < cluster->submits.len; i++)
        if (cluster->submits.at[i] != submit)
            cluster->submits.at[kept++] = cluster->submits.at[i];
    cluster->submits.len = kept;
    if (submit->run)
        submit->run->submit = NULL;
    free(submit->folder);
    free(submit);
}

static void on_retry(void *data) {
    struct slurm_run *run = data;
    run->retry = NULL;
    slurm_run_step_soon(run);
}

static void pause_then_step(struct slurm_run *run) {
    int pause_s = MIN_OF(1 << MIN_OF(run->pauses + 1, 10), MOST_PAUSE_S);
    run->pauses++;
    if (!run->retry)
        run->retry =
            loop_timer_start(run->cluster->loop, (uint64_t)pause_s * 1000, 0, on_retry, run);
}

static void refuse(struct slurm_run *run, const char *words) {
    struct err err;
    err_set(&err, ERR_USAGE, "%s refused the job: %s (options and time stand in [%s])",
            run->cluster->name, words, run->cluster->section);
    host_job_fail(run->job, &err);
}

static bool others_wait(const struct slurm_run *run) {
    for (size_t i = 0; i < run->cluster->runs.len; i++)
        if (run->cluster->runs.at[i] != run && run->cluster->runs.at[i]->id)
            return true;
    return false;
}

static void not_handed_in(struct slurm_run *run, const struct err *err) {
    char words[300], reason[340];
    slurm_words_of(err, words, sizeof words);
    enum slurm_trouble trouble = slurm_trouble_of(str_of(err->text));
    if (trouble == SLURM_REFUSED || (trouble == SLURM_LIMIT && !others_wait(run))) {
        run->handing_in = false;
        refuse(run, words);
        return;
    }
    if (!run->pauses)
        host_job_say(run->job, DIAG_WARNING, "%s did not take the job (%s); hone tries again",
                     run->cluster->name, words);
    snprintf(reason, sizeof reason, "not taken yet: %s", words);
    host_job_show(run->job, "waiting", reason);
    pause_then_step(run);
}

static void handed_in(struct slurm_run *run, const struct slurm_submit *submit) {
    run->handing_in = false;
    run->pauses = 0;
    run->id = submit->id;
    run->tries = submit->tries;
    run->seen = SLURM_UNSEEN;
    run->restarts = -1;
    run->over_ms = 0;
    host_job_say(run->job, DIAG_NOTE,
                 submit->known ? "job %lld of %s was submitted before; hone follows it again"
                               : "submitted as job %lld of %s",
                 run->id, run->cluster->name);
    slurm_poll_soon(run->cluster);
}

static void on_submitted(void *data, const char *name, const cJSON *event) {
    struct slurm_submit *submit = data;
    const cJSON *job = cJSON_GetObjectItemCaseSensitive(event, "job");
    const cJSON *tries = cJSON_GetObjectItemCaseSensitive(event, "try");
    if (strcmp(name, "submitted") != 0 || !cJSON_IsNumber(job) || !cJSON_IsNumber(tries))
        return;
    submit->id = (long long)job->valuedouble;
    submit->tries = tries->valueint;
    submit->known = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(event, "known"));
}

static void on_submit_done(void *data, const struct err *err, bool lost) {
    struct slurm_submit *submit = data;
    struct slurm_run *run = submit->run;
    struct err told = *err;
    if (told.kind == ERR_NONE && submit->id <= 0)
        err_set(&told, ERR_ENVIRONMENT, "sbatch said nothing that hone understands");
    if (!run)
        slurm_end(submit->cluster, submit->folder);
    if (run && !lost && told.kind != ERR_NONE)
        not_handed_in(run, &told);
    else if (run && !lost)
        handed_in(run, submit);
    slurm_submit_free(submit);
}

static bool has_time(const char *const *words) {
    for (size_t i = 0; words[i]; i++)
        if (strncmp(words[i], "--time=", 7) == 0 || strncmp(words[i], "-t", 2) == 0 ||
            strcmp(words[i], "--time") == 0)
            return true;
    return false;
}

/* sbatch reads % in its paths as placeholders. */
static char *output_option(const char *folder, struct arena *arena) {
    struct buf text = {0};
    buf_puts(&text, "--output=");
    for (const char *at = folder; *at; at++)
        buf_printf(&text, *at == '%' ? "%%%%" : "%c", *at);
    buf_puts(&text, "/slurm.out");
    char *option = arena_strdup(arena, text.at);
    buf_free(&text);
    return option;
}

/* The arguments of slurm.sh submit: those of sbatch, then the script and what it runs. */
static const char *const *submit_argv(const struct slurm_run *run, struct arena *arena) {
    const struct slurm_cluster *cluster = run->cluster;
    const char *folder = host_job_folder(run->job);
    size_t own = 0, count = 0;
    while (cluster->options[own])
        own++;
    const char **argv = ARENA_ARRAY(arena, const char *, own + 24);
    argv[count++] = folder;
    argv[count++] = arena_printf(arena, "%d", run->tries);
    for (size_t i = 0; i < own; i++)
        argv[count++] = cluster->options[i];
    argv[count++] = "--parsable";
    argv[count++] = "--requeue";
    argv[count++] = "--open-mode=append";
    argv[count++] = output_option(folder, arena);
    if (!has_time(cluster->options))
        argv[count++] = arena_printf(arena, "--time=%s", cluster->time);
    const char *last[] = {cluster->script.path,       "run", "",    host_python(cluster->host),
                          host_runner(cluster->host), "run", folder};
    for (size_t i = 0; i < COUNT_OF(last); i++)
        argv[count++] = last[i];
    return slurm_script(cluster, arena, "submit", argv);
}

static void hand_in(struct slurm_run *run) {
    struct arena *arena = arena_new();
    struct slurm_submit *submit = mem_alloc(1, sizeof *submit);
    *submit = (struct slurm_submit){
        .cluster = run->cluster, .run = run, .folder = mem_strdup(host_job_folder(run->job))};
    struct host_call_spec spec = {.argv = submit_argv(run, arena),
                                  .plain = true,
                                  .limit_s = 120,
                                  .on_event = on_submitted,
                                  .on_done = on_submit_done,
                                  .data = submit};
    *vec_push(&run->cluster->submits) = run->submit = submit;
    host_job_show(run->job, "handing in", NULL);
    if (!host_call_start(run->cluster->host, &spec, NULL))
        slurm_submit_free(submit); /* the connection went; it is asked again when it is back */
    arena_free(arena);
}

/* -------------------------------------------------------------------------------------- losses */

static bool may_go_on(struct slurm_run *run, const char *what) {
    int losses = run->losses + MAX_OF(run->restarts, 0), most = run->cluster->retries;
    if (losses <= most) {
        host_job_say(run->job, DIAG_WARNING, "job %lld %s; it starts over (%d of %d)", run->id,
                     what, losses, most);
        return true;
    }
    struct err err;
    err_set(&err, ERR_ENVIRONMENT,
            "job %lld of %s %s; this happened %d times, and [%s] allows %d retries", run->id,
            run->cluster->name, what, losses, run->cluster->section, most);
    slurm_end(run->cluster, host_job_folder(run->job));
    host_job_fail(run->job, &err);
    return false;
}

/* The cluster put the job back into its queue, perhaps more than once since the last look. */
static bool note_restarts(struct slurm_run *run) {
    int before = run->restarts;
    run->restarts = run->row.restarts;
    if (before < 0 || run->restarts <= before)
        return true;
    run->over_ms = 0;
    return may_go_on(run, "was put back into the queue (its node failed, or another job took it)");
}

static void hand_in_again(struct slurm_run *run, const char *what) {
    run->losses += 1 + MAX_OF(run->restarts, 0);
    run->restarts = 0;
    run->over_ms = 0;
    if (!may_go_on(run, what))
        return;
    run->id = 0;
    run->tries++;
    run->handing_in = true;
}

/* ------------------------------------------------------------------------------------- the end */

static void on_explained(void *data, struct str line) {
    struct slurm_run *run = data;
    if (str_starts(line, "scontrol ")) {
        slurm_member(line, "JobState", run->remembered, sizeof run->remembered);
    } else if (str_starts(line, "sacct ")) {
        struct str rest = {line.at + 6, line.len - 6}, state = {0}, word = {0};
        if (str_next(&rest, '|', &state) && str_next(&state, ' ', &word)) /* "CANCELLED by 1000" */
            slurm_copy_clean(run->remembered, sizeof run->remembered, word);
    } else if (str_starts(line, "out ") && run->output.len < MAX_OUTPUT) {
        text_sanitise(&run->output, (struct str){line.at + 4, line.len - 4});
        buf_putc(&run->output, '\n');
    }
}

/* The last line of the job's own output that says something; "" when there is none. */
static void last_words(const struct slurm_run *run, char *to, size_t size) {
    struct str rest = buf_str(&run->output), line;
    to[0] = 0;
    while (str_next(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.len && !str_starts(line, RUNNER_SENTINEL))
            snprintf(to, size, STR_FMT, (int)MIN_OF(line.len, size - 1), line.at);
    }
}

static void fail_explained(struct slurm_run *run, enum slurm_is is, const char *state,
                           const char *words) {
    char said[160];
    struct buf text = {0}, how = {0};
    slurm_exit_print(run->row.exit_code, &how);
    last_words(run, said, sizeof said);
    buf_printf(&text, "job %lld of %s %s", run->id, run->cluster->name, words);
    bool timed_out = strcmp(state, "TIMEOUT") == 0, no_memory = strcmp(state, "OUT_OF_MEMORY") == 0;
    if (timed_out)
        buf_printf(&text, ": raise time in [%s] if it needs more", run->cluster->section);
    else if (no_memory)
        buf_printf(&text, ": give it more with --mem in the options of [%s]",
                   run->cluster->section);
    else if (is == SLURM_DONE)
        buf_puts(&text, " without a result");
    else if (is == SLURM_FAILED && run->seen == SLURM_SEEN)
        buf_printf(&text, " (%s)", how.at);
    if (said[0] && !timed_out)
        buf_printf(&text, "; its last words: %s", said);
    struct err err;
    err_set(&err, timed_out || no_memory ? ERR_KERNEL : ERR_ENVIRONMENT, "%.480s", text.at);
    host_job_fail(run->job, &err);
    buf_free(&text);
    buf_free(&how);
}

static void on_explain_done(void *data, const struct err *err, bool lost) {
    struct slurm_run *run = data;
    (void)err; /* what could be found out is in the run */
    run->explain = NULL;
    run->explaining = false;
    if (lost)
        return;
    const char *state = run->seen == SLURM_SEEN ? run->row.state : run->remembered;
    const struct slurm_state *known = slurm_state_find(state);
    if (known->is == SLURM_LOST)
        hand_in_again(run, known->words);
    else if (known->is == SLURM_WAITS || known->is == SLURM_RUNS || known->is == SLURM_ENDS)
        fail_explained(run, SLURM_FAILED, "", "is not known there any more, and left no result");
    else
        fail_explained(run, known->is, state, known->words);
    if (run->handing_in)
        slurm_run_step_soon(run);
}

static void explain(struct slurm_run *run) {
    char id[24];
    snprintf(id, sizeof id, "%lld", run->id);
    struct arena *arena = arena_new();
    const char *const rest[] = {host_job_folder(run->job), id, NULL};
    struct host_call_spec spec = {.argv = slurm_script(run->cluster, arena, "explain", rest),
                                  .plain = true,
                                  .on_line = on_explained,
                                  .on_done = on_explain_done,
                                  .data = run};
    buf_clear(&run->output);
    run->remembered[0] = 0;
    run->explain = host_call_start(run->cluster->host, &spec, NULL);
    run->explaining = run->explain != NULL;
    arena_free(arena);
}

/* The job is over for the cluster. Before anything is said, its result is waited for. */
static void over(struct slurm_run *run, enum slurm_is is, bool gone) {
    int64_t now = (int64_t)(clock_monotonic_ns() / 1000000);
    if (!run->over_ms) {
        run->over_ms = now;
        slurm_poll_soon(run->cluster);
    }
    int64_t limit_ms = is == SLURM_LOST   ? 0
                       : gone             ? OVER_GONE_MS
                       : is == SLURM_DONE ? OVER_DONE_MS
                                          : OVER_MS;
    if (now - run->over_ms >= limit_ms)
        explain(run);
}

/* --------------------------------------------------------------------------------------- steps */

/* Where it has begun, or is over, there may be something to follow. */
static void follow(struct slurm_run *run) {
    if (!run->wanted)
        return;
    run->wanted = false;
    host_job_began(run->job);
}

static void look_at_row(struct slurm_run *run) {
    const struct slurm_state *state = slurm_state_find(run->row.state);
    bool gone = run->wanted;
    if (!note_restarts(run))
        return;
    if (state->is == SLURM_WAITS) {
        run->over_ms = 0;
        return;
    }
    if (state->is != SLURM_LOST)
        follow(run);
    if (state->is != SLURM_RUNS && state->is != SLURM_ENDS)
        over(run, state->is, gone);
}

static void step(void *data) {
    struct slurm_run *run = data;
    run->step = NULL;
    bool ready = host_is_ready(run->cluster->host) && run->cluster->prepared;
    if (!ready || run->explaining || run->submit || run->retry || host_job_has_result(run->job))
        return;
    if (run->handing_in) {
        hand_in(run);
    } else if (run->id && run->seen == SLURM_SEEN) {
        look_at_row(run);
    } else if (run->id && run->seen == SLURM_MISSING) {
        bool gone = run->wanted;
        follow(run);
        over(run, SLURM_FAILED, gone);
    }
}

void slurm_run_step_soon(struct slurm_run *run) {
    if (!run->step && run->job)
        run->step = loop_timer_start(run->cluster->loop, 0, 0, step, run);
}

/* ----------------------------------------------------------------------------- between the two */

static void begin(struct host_job *job) {
    struct slurm_run *run = *(struct slurm_run **)host_job_own(job, sizeof run);
    run->wanted = true;
    if (!run->id)
        run->handing_in = true;
    slurm_run_step_soon(run);
    slurm_poll_soon(run->cluster);
}

static void end(void *self, const char *folder) {
    slurm_end(self, folder);
}

/* The process is gone. What the cluster says about the job decides, so the cluster is asked. */
static bool again(struct host_job *job, const char *why) {
    struct slurm_run *run = *(struct slurm_run **)host_job_own(job, sizeof run);
    (void)why;
    run->wanted = true;
    slurm_poll_soon(run->cluster);
    return true;
}

static void run_free(struct slurm_run *run) {
    struct slurm_cluster *cluster = run->cluster;
    size_t kept = 0;
    for (size_t i = 0; i < cluster->runs.len; i++)
        if (cluster->runs.at[i] != run)
            cluster->runs.at[kept++] = cluster->runs.at[i];
    cluster->runs.len = kept;
    if (run->submit)
        run->submit->run = NULL;
    host_call_drop(run->explain);
    loop_timer_stop(run->step);
    loop_timer_stop(run->retry);
    buf_free(&run->output);
    free(run);
}

static void on_event(void *data, const struct runner_event *event) {
    struct slurm_run *run = data;
    if (run->callbacks.on_event)
        run->callbacks.on_event(run->callbacks.data, event);
}

static void on_done(void *data, struct runner_result *result) {
    struct slurm_run *run = data;
    struct runner_callbacks callbacks = run->callbacks;
    run_free(run);
    callbacks.on_done(callbacks.data, result);
}

void *slurm_run_start(void *self, const struct runner_job *job,
                      const struct runner_callbacks *callbacks, struct err *err) {
    struct slurm_cluster *cluster = self;
    (void)err; /* what goes wrong is reported later */
    struct slurm_run *run = mem_alloc(1, sizeof *run);
    *run =
        (struct slurm_run){.cluster = cluster, .callbacks = *callbacks, .tries = 1, .restarts = -1};
    struct runner_callbacks own = {on_event, on_done, run};
    struct host_job_hooks hooks = {.begin = begin, .end = end, .again = again, .self = cluster};
    *vec_push(&cluster->runs) = run;
    run->job = host_job_open(cluster->host, job, &own, &hooks);
    *(struct slurm_run **)host_job_own(run->job, sizeof run) = run;
    return run;
}

void slurm_run_cancel(void *data) {
    struct slurm_run *run = data;
    host_job_cancel(run->job);
}

void slurm_run_drop(void *data) {
    struct slurm_run *run = data;
    struct host_job *job = run->job;
    if ((run->id || run->submit) && !host_job_has_result(job))
        slurm_end(run->cluster, host_job_folder(job));
    run_free(run);
    host_job_drop(job);
}

/* Shows what the queue says about it, where that is more than its runner says. */
static void look_at_queue(const struct slurm_run *run, struct target_entry *entry) {
    enum slurm_is is = slurm_state_find(run->row.state)->is;
    struct buf text = {0};
    if (is == SLURM_WAITS) {
        snprintf(entry->state, sizeof entry->state, "%s", run->row.state);
        slurm_reason_print(run->row.reason, run->row.start, &text);
        snprintf(entry->reason, sizeof entry->reason, "%s", text.len ? text.at : "");
    } else if (is == SLURM_RUNS && run->row.nodes[0] && !entry->reason[0]) {
        snprintf(entry->reason, sizeof entry->reason, "on %s", run->row.nodes);
    }
    buf_free(&text);
}

void slurm_run_look(const void *data, struct target_entry *entry) {
    const struct slurm_run *run = data;
    host_job_look(run->job, entry);
    if (run->id)
        snprintf(entry->id, sizeof entry->id, "%lld", run->id);
    if (run->id && run->seen == SLURM_SEEN && host_is_ready(run->cluster->host))
        look_at_queue(run, entry);
}
