/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters under Slurm as a kind of target: settings, the script that is put on the head node, and
 * cancelling jobs, which continues after an evaluation is forgotten here. slurm_queue.c has the
 * queue, slurm_run.c the life of an evaluation. hone itself schedules nothing. */
#include "target/slurm/slurm_own.h"

#include <stdio.h>
#include <stdlib.h>

#define SCRIPT_NAME "core/target/slurm/slurm.sh"
#define PLAIN_NAME "slurm" /* this machine's cluster, with the defaults */
#define END_PAUSE_MS 3000
#define FLUSH_MS 4000

/* ------------------------------------------------------------------------------------ settings */

static const char *section_of(const char *name, char *to, size_t size) {
    snprintf(to, size, "cluster %s", name);
    return to;
}

static bool takes(const char *name, const struct target_options *options) {
    char section[200];
    return strcmp(name, PLAIN_NAME) == 0 ||
           config_has(options->config, section_of(name, section, sizeof section));
}

static void list(const struct target_options *options, struct buf *out) {
    for (size_t i = 0; options->config; i++) {
        const char *name = config_name(options->config, "cluster", i);
        if (!name)
            break;
        buf_printf(out, ", %s", name);
    }
}

static bool read_settings(struct slurm_cluster *cluster, const struct config *config,
                          struct err *err) {
    const char *section = cluster->section;
    if (!slurm_options_split(config_get(config, section, "options", NULL), cluster->arena,
                             &cluster->options, err))
        return err_prefix(err, "options in [%s]", section);
    const char *commands = config_get(config, section, "commands", NULL);
    cluster->commands = arena_strdup(cluster->arena, commands ? commands : "");
    cluster->time = arena_strdup(cluster->arena, config_get(config, section, "time", NULL));
    cluster->partition = slurm_options_partition(cluster->options);
    cluster->retries = (int)config_number(config, section, "retries");
    cluster->board->info.parallel = (int)config_number(config, section, "parallel");
    return true;
}

static void describe(struct slurm_cluster *cluster, const char *head) {
    struct target_info *info = &cluster->board->info;
    snprintf(info->what, sizeof info->what, "Slurm cluster by %.40s%s%.40s",
             head ? head : "this machine", cluster->partition ? ", partition " : "",
             cluster->partition ? cluster->partition : "");
    info->modelled = false;
}

/* ---------------------------------------------------------------------------------- the script */

const char *const *slurm_script(const struct slurm_cluster *cluster, struct arena *arena,
                                const char *verb, const char *const *rest) {
    size_t count = 0;
    while (rest[count])
        count++;
    const char **argv = ARENA_ARRAY(arena, const char *, count + 5);
    const char *first[] = {"/bin/sh", cluster->script.path, verb, cluster->commands};
    memcpy(argv, first, sizeof first);
    memcpy(argv + COUNT_OF(first), rest, count * sizeof *rest);
    return argv;
}

void slurm_words_of(const struct err *err, char *to, size_t size) {
    static const char mark[] = "exit status ";
    const char *at = strstr(err->text, mark);
    const char *words = at ? strstr(at, ": ") : NULL;
    slurm_complaint_copy(str_of(words ? words + 2 : err->text), to, size);
}

static void ends_run(struct slurm_cluster *cluster);

static void on_put(void *data, const struct err *err, bool lost) {
    struct slurm_cluster *cluster = data;
    cluster->putting = NULL;
    if (lost)
        return;
    if (err->kind != ERR_NONE) {
        for (size_t i = 0; i < cluster->runs.len; i++)
            host_job_say(cluster->runs.at[i]->job, DIAG_ERROR, "%s", err->text);
        host_note(cluster->host, err->text);
        return;
    }
    cluster->prepared = true;
    for (size_t i = 0; i < cluster->runs.len; i++)
        slurm_run_step_soon(cluster->runs.at[i]);
    ends_run(cluster);
    slurm_look_start(cluster);
    slurm_poll_soon(cluster);
}

static void on_ready(void *data) {
    struct slurm_cluster *cluster = data;
    host_put_drop(cluster->putting);
    cluster->prepared = false;
    cluster->putting = host_put_start(cluster->host, &cluster->script, 1, on_put, cluster);
}

/* The head node says nothing about what the nodes are like. */
static void on_look(void *data, const cJSON *event) {
    struct slurm_cluster *cluster = data;
    double free_bytes = -1;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, "disk_free_bytes");
    if (cJSON_IsNumber(item))
        free_bytes = item->valuedouble;
    cluster->board->status.disk_free_bytes =
        free_bytes > 0 && free_bytes < 1e18 ? (uint64_t)free_bytes : 0;
}

static void load_script(struct slurm_cluster *cluster) {
    struct str text = embed_find(SCRIPT_NAME);
    if (!text.at)
        HONE_BUG("slurm.sh is not built in");
    struct hash hash = hash_content(text.at, text.len);
    const char *below = arena_printf(cluster->arena, "runner/slurm-%s.sh", hash.hex);
    cluster->script = (struct host_file){.path = host_path(cluster->host, cluster->arena, below),
                                         .data = arena_dup(cluster->arena, text.at, text.len),
                                         .size = text.len};
}

/* ------------------------------------------------------------------------------------ the ends */

/* A job to cancel. It is kept until the cluster has cancelled it, or says that it cannot. */
struct slurm_end {
    struct slurm_cluster *cluster;
    char *folder;
    struct host_call *call;
};

static void end_free(struct slurm_end *end) {
    struct slurm_cluster *cluster = end->cluster;
    size_t kept = 0;
    for (size_t i = 0; i < cluster->ends.len; i++)
        if (cluster->ends.at[i] != end)
            cluster->ends.at[kept++] = cluster->ends.at[i];
    cluster->ends.len = kept;
    host_call_drop(end->call);
    free(end->folder);
    free(end);
}

static void on_end_timer(void *data) {
    struct slurm_cluster *cluster = data;
    cluster->end_timer = NULL;
    ends_run(cluster);
}

static void on_ended(void *data, const struct err *err, bool lost) {
    struct slurm_end *end = data;
    struct slurm_cluster *cluster = end->cluster;
    end->call = NULL;
    bool again = err->kind != ERR_NONE && slurm_trouble_of(str_of(err->text)) != SLURM_REFUSED;
    if (err->kind == ERR_NONE || (!lost && !again))
        end_free(end);
    else if (!cluster->end_timer)
        cluster->end_timer =
            loop_timer_start(cluster->loop, END_PAUSE_MS, 0, on_end_timer, cluster);
}

static void ends_run(struct slurm_cluster *cluster) {
    if (!host_is_ready(cluster->host) || !cluster->prepared)
        return;
    for (size_t i = 0; i < cluster->ends.len; i++) {
        struct slurm_end *end = cluster->ends.at[i];
        if (end->call)
            continue;
        struct arena *arena = arena_new();
        const char *const rest[] = {end->folder, NULL};
        struct host_call_spec spec = {.argv = slurm_script(cluster, arena, "cancel", rest),
                                      .plain = true,
                                      .on_done = on_ended,
                                      .data = end};
        end->call = host_call_start(cluster->host, &spec, NULL);
        arena_free(arena);
    }
}

void slurm_end(struct slurm_cluster *cluster, const char *folder) {
    struct slurm_end *end = mem_alloc(1, sizeof *end);
    *end = (struct slurm_end){.cluster = cluster, .folder = mem_strdup(folder)};
    *vec_push(&cluster->ends) = end;
    ends_run(cluster);
}

/* For the last jobs to cancel, hone's loop may no longer be served. So a loop of its own does it,
 * for a moment. */
struct flush {
    const struct slurm_cluster *cluster;
    struct transport *transport;
    bool over;
};

static void on_flushed(void *data, const struct transport_exit *result) {
    struct flush *flush = data;
    (void)result; /* nobody is left to hear of it */
    flush->over = true;
}

static void on_flush_ready(void *data) {
    struct flush *flush = data;
    const struct slurm_cluster *cluster = flush->cluster;
    struct arena *arena = arena_new();
    const char **folders = ARENA_ARRAY(arena, const char *, cluster->ends.len + 1);
    for (size_t i = 0; i < cluster->ends.len; i++)
        folders[i] = cluster->ends.at[i]->folder;
    struct transport_command_spec spec = {.argv = slurm_script(cluster, arena, "cancel", folders),
                                          .on_exit = on_flushed,
                                          .data = flush};
    if (!transport_command_start(flush->transport, &spec, NULL))
        flush->over = true;
    arena_free(arena);
}

static void on_flush_closed(void *data, const struct err *why) {
    struct flush *flush = data;
    (void)why;
    flush->over = true;
}

static void flush_ends(struct slurm_cluster *cluster) {
    struct flush flush = {.cluster = cluster};
    if (cluster->ends.len && cluster->prepared && host_is_ready(cluster->host)) {
        struct transport_callbacks callbacks = {
            .on_ready = on_flush_ready, .on_closed = on_flush_closed, .data = &flush};
        struct loop *loop = loop_new();
        flush.transport = host_transport_open(cluster->host, loop, &callbacks, NULL);
        if (flush.transport)
            (void)loop_run_until(loop, &flush.over, FLUSH_MS);
        transport_close(flush.transport);
        loop_free(loop);
    }
    while (cluster->ends.len)
        end_free(cluster->ends.at[0]);
}

/* ------------------------------------------------------------------------------------ the kind */

static void close_cluster(void *self) {
    struct slurm_cluster *cluster = self;
    slurm_poll_stop(cluster);
    loop_timer_stop(cluster->end_timer);
    host_put_drop(cluster->putting);
    flush_ends(cluster);
    host_close(cluster->host);
    while (cluster->submits.len)
        slurm_submit_free(cluster->submits.at[0]);
    vec_free(&cluster->submits);
    vec_free(&cluster->ends);
    vec_free(&cluster->runs);
    arena_free(cluster->arena);
    free(cluster);
}

static struct host *open_head(struct slurm_cluster *cluster, const struct target_options *options,
                              struct err *err) {
    const struct config *config = options->config;
    const char *head = config_get(config, cluster->section, "head", NULL);
    char section[200];
    if (head)
        snprintf(section, sizeof section, "host %s", head);
    struct host_spec spec = {.name = head ? head : cluster->name,
                             .config = config,
                             .local = !head,
                             .section = head && config_has(config, section) ? section : NULL,
                             .folder = config_get(config, cluster->section, "folder", NULL),
                             .more = cluster->section,
                             .on_ready = on_ready,
                             .on_look = on_look,
                             .data = cluster};
    describe(cluster, head);
    return host_open(cluster->loop, &spec, cluster->board, err);
}

static void *open_cluster(struct loop *loop, const char *name, const struct target_options *options,
                          struct target_board *board, struct err *err) {
    struct slurm_cluster *cluster = mem_alloc(1, sizeof *cluster);
    struct arena *arena = arena_new();
    *cluster = (struct slurm_cluster){.loop = loop, .board = board, .arena = arena};
    cluster->name = arena_strdup(arena, name);
    cluster->section = arena_printf(arena, "cluster %s", name);
    if (read_settings(cluster, options->config, err))
        cluster->host = open_head(cluster, options, err);
    if (cluster->host) {
        load_script(cluster);
        return cluster;
    }
    close_cluster(cluster);
    return NULL;
}

static void answer(void *self, const char *text) {
    host_answer(((struct slurm_cluster *)self)->host, text);
}

static void retry(void *self) {
    struct slurm_cluster *cluster = self;
    host_retry(cluster->host);
    slurm_poll_soon(cluster);
}

const struct target_kind target_slurm = {
    .name = PLAIN_NAME,
    .takes = takes,
    .list = list,
    .open = open_cluster,
    .close = close_cluster,
    .start = slurm_run_start,
    .cancel = slurm_run_cancel,
    .drop = slurm_run_drop,
    .look = slurm_run_look,
    .answer = answer,
    .retry = retry,
    .ask = slurm_ask_start,
    .ask_drop = slurm_ask_drop,
};
