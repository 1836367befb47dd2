/* SPDX-License-Identifier: Apache-2.0 */
/* One look at the queue for all evaluations of a cluster together, and one at its nodes.
 * slurm_run.c knows what a change means for an evaluation. */
#include "target/slurm/slurm_own.h"

#include <stdio.h>
#include <stdlib.h>

#define POLL_FIRST_S 0.5 /* after something was submitted or followed anew */
#define POLL_S 2.0
#define POLL_MOST_S 10.0 /* when nothing changes, or no answer comes */
#define LOOK_MS 10000
#define WATCHED_MS 30000
#define MAX_NODES 512
#define MAX_OURS 100 /* how many jobs of a node are named */

static void poll_start(struct slurm_cluster *cluster);

static void on_poll_timer(void *data) {
    struct slurm_cluster *cluster = data;
    cluster->poll_timer = NULL;
    poll_start(cluster);
}

static void poll_later(struct slurm_cluster *cluster, double pause_s) {
    if (cluster->poll_timer || cluster->polling || !cluster->runs.len)
        return;
    cluster->poll_timer =
        loop_timer_start(cluster->loop, (uint64_t)(pause_s * 1000), 0, on_poll_timer, cluster);
}

void slurm_poll_soon(struct slurm_cluster *cluster) {
    loop_timer_stop(cluster->poll_timer);
    cluster->poll_timer = NULL;
    cluster->poll_s = POLL_S;
    poll_later(cluster, POLL_FIRST_S);
}

void slurm_poll_stop(struct slurm_cluster *cluster) {
    loop_timer_stop(cluster->poll_timer);
    loop_timer_stop(cluster->look_timer);
    host_call_drop(cluster->polling);
    host_call_drop(cluster->looking);
    cluster->poll_timer = cluster->look_timer = NULL;
    cluster->polling = cluster->looking = NULL;
    vec_free(&cluster->nodes);
}

/* ---------------------------------------------------------------------------------- the answer */

static bool is_same(const struct slurm_job *a, const struct slurm_job *b) {
    return strcmp(a->state, b->state) == 0 && strcmp(a->reason, b->reason) == 0 &&
           strcmp(a->start, b->start) == 0 && a->restarts == b->restarts;
}

/* "hone-5f0c" or "hone-5f0c-2". A job under our number that has another name is not ours. */
static bool is_ours(const struct slurm_run *run, const struct slurm_job *row) {
    const char *id = path_base(host_job_folder(run->job));
    size_t len = strlen(id);
    return strncmp(row->name, "hone-", 5) == 0 && strncmp(row->name + 5, id, len) == 0 &&
           (!row->name[5 + len] || row->name[5 + len] == '-');
}

static void on_line(void *data, struct str line) {
    struct slurm_cluster *cluster = data;
    struct slurm_job row;
    if (!slurm_job_read(line, &row))
        return;
    for (size_t i = 0; i < cluster->runs.len; i++) {
        struct slurm_run *run = cluster->runs.at[i];
        if (!run->asked || run->id != row.id || !is_ours(run, &row))
            continue;
        cluster->poll_changed |= run->seen != SLURM_SEEN || !is_same(&run->row, &row);
        run->row = row;
        run->seen = SLURM_SEEN;
        run->asked = false;
        slurm_run_step_soon(run);
    }
}

/* Jobs that were asked about and are not in the answer are not known any more. */
static void settle_missing(struct slurm_cluster *cluster) {
    for (size_t i = 0; i < cluster->runs.len; i++) {
        struct slurm_run *run = cluster->runs.at[i];
        if (!run->asked)
            continue;
        cluster->poll_changed |= run->seen != SLURM_MISSING;
        run->asked = false;
        run->seen = SLURM_MISSING;
        slurm_run_step_soon(run);
    }
}

static void tell_all(struct slurm_cluster *cluster, enum diag_severity severity, const char *text) {
    for (size_t i = 0; i < cluster->runs.len; i++)
        host_job_say(cluster->runs.at[i]->job, severity, "%s", text);
}

static void trouble_begin(struct slurm_cluster *cluster, const struct err *err) {
    bool is_new = !cluster->trouble[0];
    char text[600];
    slurm_words_of(err, cluster->trouble, sizeof cluster->trouble);
    snprintf(text, sizeof text, "hone cannot ask for the queue of %s (%s) and will try again",
             cluster->name, cluster->trouble);
    host_note(cluster->host, text);
    if (is_new)
        tell_all(cluster, DIAG_WARNING, text);
}

static void trouble_end(struct slurm_cluster *cluster) {
    if (!cluster->trouble[0])
        return;
    cluster->trouble[0] = 0;
    host_note(cluster->host, "");
    tell_all(cluster, DIAG_NOTE, "the cluster's queue answers again");
}

static void on_polled(void *data, const struct err *err, bool lost) {
    struct slurm_cluster *cluster = data;
    cluster->polling = NULL;
    if (lost)
        return; /* it is asked again when the host is ready */
    bool no_job = err->kind != ERR_NONE && slurm_trouble_of(str_of(err->text)) == SLURM_NO_JOB;
    if (err->kind == ERR_NONE || no_job) {
        trouble_end(cluster);
        settle_missing(cluster);
    } else {
        trouble_begin(cluster, err);
    }
    double longer = MIN_OF(cluster->poll_s * 1.5, POLL_MOST_S);
    cluster->poll_s = cluster->poll_changed ? POLL_S : longer;
    if (cluster->poll_changed) {
        target_tell(cluster->board);
        slurm_look_start(cluster);
    }
    poll_later(cluster, cluster->poll_s);
}

static char *list_ids(struct slurm_cluster *cluster, struct arena *arena) {
    struct buf text = {0};
    for (size_t i = 0; i < cluster->runs.len; i++) {
        struct slurm_run *run = cluster->runs.at[i];
        run->asked = run->id != 0;
        if (run->asked)
            buf_printf(&text, "%s%lld", text.len ? "," : "--jobs=", run->id);
    }
    char *list = text.len ? arena_strdup(arena, text.at) : NULL;
    buf_free(&text);
    return list;
}

static void poll_start(struct slurm_cluster *cluster) {
    if (cluster->polling || !host_is_ready(cluster->host) || !cluster->prepared)
        return;
    struct arena *arena = arena_new();
    const char *ids = list_ids(cluster, arena);
    const char *const rest[] = {
        "squeue", "--noheader", "--states=all", ids, "--Format=" SLURM_JOB_FORMAT, NULL};
    struct host_call_spec spec = {.argv = slurm_script(cluster, arena, "tool", rest),
                                  .plain = true,
                                  .on_line = on_line,
                                  .on_done = on_polled,
                                  .data = cluster};
    cluster->poll_changed = false;
    if (ids)
        cluster->polling = host_call_start(cluster->host, &spec, NULL);
    arena_free(arena);
}

/* --------------------------------------------------------------------------------------- nodes */

/* Prints which of our jobs run on a node that they have to themselves: "hone: job 12, 14". */
static void print_ours(const struct slurm_cluster *cluster, const char *node, struct buf *out) {
    int count = 0;
    for (size_t i = 0; i < cluster->runs.len && count < MAX_OURS; i++) {
        const struct slurm_run *run = cluster->runs.at[i];
        if (run->seen == SLURM_SEEN && strcmp(run->row.nodes, node) == 0 &&
            slurm_state_find(run->row.state)->is == SLURM_RUNS)
            buf_printf(out, "%s%lld", count++ ? ", " : "hone: job ", run->id);
    }
}

static void on_node(void *data, struct str line) {
    struct slurm_cluster *cluster = data;
    struct slurm_node node;
    if (!slurm_node_read(line, &node) || cluster->nodes.len >= MAX_NODES)
        return;
    for (size_t i = 0; i < cluster->nodes.len; i++) /* one line for each partition it is in */
        if (strcmp(cluster->nodes.at[i].name, node.name) == 0)
            return;
    struct target_core *core = vec_push(&cluster->nodes);
    struct buf holder = {0};
    *core = (struct target_core){0};
    print_ours(cluster, node.name, &holder);
    snprintf(core->name, sizeof core->name, "%s", node.name);
    snprintf(core->state, sizeof core->state, "%s", holder.len ? "ours" : node.state);
    if (holder.len || !node.reason[0])
        buf_printf(&holder, "%s%d of %d CPUs in use", holder.len ? "; " : "", node.cpus_busy,
                   node.cpus);
    snprintf(core->holder, sizeof core->holder, "%s", holder.len ? holder.at : node.reason);
    buf_free(&holder);
}

static void on_look_timer(void *data) {
    struct slurm_cluster *cluster = data;
    bool watched = clock_wall_ms() - cluster->board->watched_ms < WATCHED_MS;
    if (watched || cluster->runs.len)
        slurm_look_start(cluster);
}

static void on_looked(void *data, const struct err *err, bool lost) {
    struct slurm_cluster *cluster = data;
    struct target_status *status = &cluster->board->status;
    cluster->looking = NULL;
    if (err->kind != ERR_NONE || lost)
        return; /* what was last seen stays, with its time */
    status->cores.len = 0;
    for (size_t i = 0; i < cluster->nodes.len; i++)
        *vec_push(&status->cores) = cluster->nodes.at[i];
    status->looked_ms = clock_wall_ms();
    target_tell(cluster->board);
}

void slurm_look_start(struct slurm_cluster *cluster) {
    if (!cluster->look_timer)
        cluster->look_timer =
            loop_timer_start(cluster->loop, LOOK_MS, LOOK_MS, on_look_timer, cluster);
    if (cluster->looking || !host_is_ready(cluster->host) || !cluster->prepared)
        return;
    struct arena *arena = arena_new();
    const char *const rest[] = {"sinfo",
                                "--noheader",
                                "--Node",
                                "--format=" SLURM_NODE_FORMAT,
                                cluster->partition ? "--partition" : NULL,
                                cluster->partition,
                                NULL};
    struct host_call_spec spec = {.argv = slurm_script(cluster, arena, "tool", rest),
                                  .plain = true,
                                  .on_line = on_node,
                                  .on_done = on_looked,
                                  .data = cluster};
    cluster->nodes.len = 0;
    cluster->looking = host_call_start(cluster->host, &spec, NULL);
    arena_free(arena);
}
