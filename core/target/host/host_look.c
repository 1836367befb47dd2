/* SPDX-License-Identifier: Apache-2.0 */
/* What a host says of itself: its `host` event as lines of the board. It is asked for again while
 * somebody looks or jobs run. What a host is good for is shown as the runner reports it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "target/host/host_own.h"

#define MAX_CORES 512
#define SKEW_S 60.0 /* a clock that differs by less is not worth a word */

const char *host_text(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

double host_amount(const cJSON *object, const char *name, double otherwise) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static void put_text(char *to, size_t size, const char *text) {
    struct buf safe = {0};
    text_sanitise(&safe, str_of(text));
    snprintf(to, size, "%s", safe.len ? safe.at : "");
    for (; *to; to++)
        if (*to == '\n' || *to == '\t')
            *to = ' ';
    buf_free(&safe);
}

static uint64_t bytes_of(const cJSON *event, const char *name) {
    double value = host_amount(event, name, 0);
    return value > 0 && value < 1e18 ? (uint64_t)value : 0;
}

/* --------------------------------------------------------------------------------------- cores */

static void core_read(const cJSON *row, struct target_core *core) {
    *core = (struct target_core){0};
    double number = host_amount(row, "core", -1), pid = host_amount(row, "pid", -1);
    if (number >= 0)
        snprintf(core->name, sizeof core->name, "%.0f", number);
    else
        put_text(core->name, sizeof core->name, host_text(row, "core"));
    const char *holder = host_text(row, "holder"), *command = host_text(row, "command");
    bool ours = strstr(command, ".hone/") != NULL;
    snprintf(core->state, sizeof core->state, "%s",
             pid < 0 && !*holder ? "free"
             : ours              ? "ours"
                                 : "busy");
    struct buf text = {0};
    if (*holder)
        buf_printf(&text, "%s ", holder);
    if (pid >= 0)
        buf_printf(&text, "pid %.0f ", pid);
    buf_puts(&text, command);
    put_text(core->holder, sizeof core->holder, text.at ? text.at : "");
    buf_free(&text);
}

static void cores_read(struct target_status *status, const cJSON *rows) {
    status->cores.len = 0;
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next)
        if (status->cores.len < MAX_CORES)
            core_read(row, vec_push(&status->cores));
}

/* ------------------------------------------------------------------------------------ the rest */

static void release_read(struct target_status *status, const cJSON *event) {
    const char *release = host_text(event, "release"), *chosen = host_text(event, "chosen");
    const char *nki = "";
    const cJSON *environment;
    cJSON_ArrayForEach(environment, cJSON_GetObjectItemCaseSensitive(event, "environments")) {
        const cJSON *packages = cJSON_GetObjectItemCaseSensitive(environment, "packages");
        if (strcmp(host_text(environment, "path"), chosen) == 0)
            nki = host_text(packages, "nki");
    }
    char text[sizeof status->release];
    snprintf(text, sizeof text, "%s%.20s%s%.20s", *release ? "Neuron SDK " : "", release,
             *nki ? ", nki " : "", nki);
    put_text(status->release, sizeof status->release, text);
}

/* What is worth knowing while all is well: the first of these. */
static void note_read(struct host *host, const cJSON *event) {
    const char *chosen = host_text(event, "chosen"), *why = host_text(event, "why");
    const cJSON *warnings = cJSON_GetObjectItemCaseSensitive(event, "warnings");
    const cJSON *first = cJSON_IsArray(warnings) ? warnings->child : NULL;
    struct buf text = {0};
    if (!*chosen)
        buf_printf(&text, "no Neuron environment: %s", *why ? why : "none was found");
    else if (cJSON_IsString(first))
        buf_puts(&text, first->valuestring);
    put_text(host->note, sizeof host->note, text.at ? text.at : "");
    buf_free(&text);
}

/* Compares its clock with the middle of the time in which it answered, because the time that an
 * answer takes is no skew. */
static void clock_read(struct host *host, const cJSON *event, int64_t asked_ms) {
    double clock = host_amount(event, "clock", 0);
    double before = (double)asked_ms / 1000, after = (double)clock_wall_ms() / 1000;
    host->skew_s = 0;
    if (clock <= 0)
        return;
    double skew = clock < before ? clock - before : clock > after ? clock - after : 0;
    if (fabs(skew) >= SKEW_S)
        host->skew_s = skew;
}

void host_look_read(struct host *host, const cJSON *event, int64_t asked_ms) {
    struct target_status *status = &host->board->status;
    clock_read(host, event, asked_ms);
    if (host->spec.on_look) {
        host->spec.on_look(host->spec.data, event);
        return;
    }
    note_read(host, event);
    release_read(status, event);
    status->memory_bytes = bytes_of(event, "memory_bytes");
    status->disk_free_bytes = bytes_of(event, "disk_free_bytes");
    cores_read(status, cJSON_GetObjectItemCaseSensitive(event, "cores"));
    status->looked_ms = clock_wall_ms();
}

static void skew_print(double skew_s, struct buf *out) {
    double size = fabs(skew_s);
    const char *unit = size < 600 ? "s" : size < 7200 ? "min" : size < 172800 ? "h" : "days";
    double by = size < 600 ? 1 : size < 7200 ? 60 : size < 172800 ? 3600 : 86400;
    buf_printf(out, "; its clock is %.0f %s %s this machine's", size / by, unit,
               skew_s > 0 ? "ahead of" : "behind");
}

void host_look_show(struct host *host) {
    struct buf text = {0};
    buf_puts(&text, "connected");
    if (host->skew_s != 0)
        skew_print(host->skew_s, &text);
    if (host->note[0])
        buf_printf(&text, "; %s", host->note);
    target_show(host->board, TARGET_READY, "%s", text.at);
    buf_free(&text);
}

void host_note(struct host *host, const char *text) {
    snprintf(host->note, sizeof host->note, "%s", text);
    if (host->phase == HOST_READY)
        host_look_show(host);
}

/* ------------------------------------------------------------------------------------- looking */

static void on_host(void *data, const char *name, const cJSON *event) {
    struct host *host = data;
    if (strcmp(name, "host") == 0)
        host_look_read(host, event, host->asked_ms);
}

static void on_looked(void *data, const struct err *err, bool lost) {
    struct host *host = data;
    host->looking = NULL;
    if (err->kind == ERR_NONE && !lost && host->phase == HOST_READY)
        host_look_show(host);
}

void host_look_start(struct host *host) {
    if (host->looking || host->phase != HOST_READY)
        return;
    const char *argv[] = {"probe", "--settings", host->settings_json, NULL};
    struct host_call_spec spec = {
        .argv = argv, .on_event = on_host, .on_done = on_looked, .data = host};
    host->asked_ms = clock_wall_ms();
    host->looking = host_call_start(host, &spec, NULL);
}
