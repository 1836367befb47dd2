/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of the runner on a head node. Its doctor looks for devices, which only nodes have. So
 * what it misses is no failure of the cluster, and the queue itself gets a line. */
#include "target/slurm/slurm_own.h"

#include <stdio.h>
#include <stdlib.h>

struct slurm_ask {
    struct slurm_cluster *cluster;
    struct target_ask_spec spec; /* the caller's callbacks */
    bool is_doctor;
    void *asked; /* host_ask's */
};

/* Checks of a machine that runs kernels. */
static bool is_of_nodes(const char *name) {
    static const char *const names[] = {"driver",      "cores", "lock", "wall",
                                        "environment", "nki",   "tools"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static const char *text_of(const cJSON *event, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(event, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static void put(cJSON *event, const char *name, const char *text) {
    cJSON_DeleteItemFromObjectCaseSensitive(event, name);
    cJSON_AddStringToObject(event, name, text);
}

static void on_event(void *data, const char *name, const cJSON *event) {
    struct slurm_ask *ask = data;
    if (!ask->spec.on_event)
        return;
    bool excused = ask->is_doctor && strcmp(name, "check") == 0 &&
                   strcmp(text_of(event, "state"), "ok") != 0 &&
                   is_of_nodes(text_of(event, "name"));
    cJSON *copy = excused ? cJSON_Duplicate(event, true) : NULL;
    if (copy) {
        put(copy, "state", "warning");
        put(copy, "advice",
            "this is the head node, which needs none: each job finds out what its node has");
    }
    ask->spec.on_event(ask->spec.data, name, copy ? copy : event);
    cJSON_Delete(copy);
}

static void on_line(void *data, struct str line) {
    struct slurm_ask *ask = data;
    if (ask->spec.on_line)
        ask->spec.on_line(ask->spec.data, line);
}

/* "8 nodes: 5 idle, 3 allocated" */
static void count_nodes(const struct slurm_cluster *cluster, struct buf *out) {
    const struct target_status *status = &cluster->board->status;
    struct map counts = {0};
    for (size_t i = 0; i < status->cores.len; i++) {
        struct map_entry *entry = map_put(&counts, str_of(status->cores.at[i].state));
        entry->value = (void *)((uintptr_t)entry->value + 1);
    }
    buf_printf(out, "%zu nodes%s%s", status->cores.len, cluster->partition ? " in " : "",
               cluster->partition ? cluster->partition : "");
    for (size_t i = 0; i < counts.len; i++)
        buf_printf(out, "%s%zu %s", i ? ", " : ": ", (size_t)(uintptr_t)counts.entries[i].value,
                   counts.entries[i].key);
    map_free(&counts);
}

static void tell_queue(const struct slurm_ask *ask) {
    const struct slurm_cluster *cluster = ask->cluster;
    bool looked = cluster->board->status.looked_ms > 0 && !cluster->trouble[0];
    struct buf found = {0};
    if (cluster->trouble[0])
        buf_puts(&found, cluster->trouble);
    else if (looked)
        count_nodes(cluster, &found);
    else
        buf_puts(&found, "no answer yet");
    bool none = looked && !cluster->board->status.cores.len;
    cJSON *event = cJSON_CreateObject();
    cJSON_AddStringToObject(event, "event", "check");
    cJSON_AddStringToObject(event, "name", "slurm");
    cJSON_AddStringToObject(event, "state", looked && !none ? "ok" : "failed");
    cJSON_AddStringToObject(event, "found", found.at);
    cJSON_AddStringToObject(event, "advice",
                            none     ? "is the partition in options one of sinfo's?"
                            : looked ? ""
                                     : "try sinfo on the head node; commands in the cluster's "
                                       "section names the folder of Slurm's commands");
    ask->spec.on_event(ask->spec.data, "check", event);
    cJSON_Delete(event);
    buf_free(&found);
}

static void on_done(void *data, const struct err *why) {
    struct slurm_ask *ask = data;
    struct target_ask_spec spec = ask->spec;
    if (ask->is_doctor && spec.on_event && why->kind == ERR_NONE)
        tell_queue(ask);
    free(ask);
    spec.on_done(spec.data, why);
}

void *slurm_ask_start(void *self, const struct target_ask_spec *spec, struct err *err) {
    struct slurm_ask *ask = mem_alloc(1, sizeof *ask);
    *ask = (struct slurm_ask){
        .cluster = self, .spec = *spec, .is_doctor = strcmp(spec->argv[0], "doctor") == 0};
    struct target_ask_spec own = {.argv = spec->argv,
                                  .limit_s = spec->limit_s,
                                  .on_event = on_event,
                                  .on_line = on_line,
                                  .on_done = on_done,
                                  .data = ask};
    ask->asked = host_ask_start(ask->cluster->host, &own, err);
    if (ask->asked)
        return ask;
    free(ask);
    return NULL;
}

void slurm_ask_drop(void *asked) {
    struct slurm_ask *ask = asked;
    host_ask_drop(ask->asked);
    free(ask);
}
