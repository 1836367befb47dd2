/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to a host: made, prepared, lost, made again after growing pauses, and given up
 * when only a person can help. It also writes what the board says of it. Commands are in
 * host_call.c, the steps of the preparation in host_prepare.c, jobs in host_job.c. */
#include "target/host/host_own.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_PAUSE_S 30.0
#define REFRESH_MS 10000
#define WATCHED_MS 30000 /* how long after a look somebody counts as watching */
#define SWEEP_LIMIT_S 600.0

static void connect_now(struct host *host);

/* ------------------------------------------------------------------------------------ settings */

static const char *preset_of(const char *key) {
    for (size_t i = 0; i < config_row_count; i++)
        if (strcmp(config_rows[i].section, "host *") == 0 && strcmp(config_rows[i].key, key) == 0)
            return config_rows[i].preset;
    return NULL;
}

static bool section_knows(const char *section, const char *key) {
    const char *space = section ? strchr(section, ' ') : NULL;
    size_t kind = space ? (size_t)(space - section) : 0;
    for (size_t i = 0; kind && i < config_row_count; i++)
        if (strncmp(config_rows[i].section, section, kind) == 0 &&
            strcmp(config_rows[i].section + kind, " *") == 0 &&
            strcmp(config_rows[i].key, key) == 0)
            return true;
    return false;
}

const char *host_setting(const struct host *host, const char *key) {
    const struct config *config = host->spec.config;
    const char *sections[] = {host->spec.more, host->spec.section};
    for (size_t i = 0; config && i < COUNT_OF(sections); i++) {
        if (!section_knows(sections[i], key) || !config_has(config, sections[i]))
            continue;
        const char *value = config_get(config, sections[i], key, NULL);
        if (value)
            return *value ? value : NULL;
    }
    return preset_of(key);
}

double host_number(const struct host *host, const char *key, double otherwise) {
    double value;
    const char *text = host_setting(host, key);
    return text && str_to_double(str_of(text), &value) ? value : otherwise;
}

const struct runner_setting *host_settings(const struct host *host, size_t *count) {
    *count = host->settings.len;
    return host->settings.at;
}

static void settings_gather(struct host *host) {
    static const char *const keys[] = {
        "environment",     "cores",       "lnc",          "samples",       "warmup_s",
        "compile_limit_s", "run_limit_s", "tools",        "compile_flags", "lock",
        "python",          "wall",        "wall_network", "wall_read"};
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const char *value = host_setting(host, keys[i]);
        if (!value)
            continue;
        value = arena_strdup(host->arena, value);
        *vec_push(&host->settings) = (struct runner_setting){keys[i], value};
        cJSON_AddStringToObject(object, keys[i], value);
    }
    char *text = cJSON_PrintUnformatted(object);
    host->settings_json = arena_strdup(host->arena, text ? text : "{}");
    free(text);
    cJSON_Delete(object);
}

/* ------------------------------------------------------------------------------ going and gone */

static void forget_question(struct host *host) {
    host->board->asks = false;
    explicit_bzero(&host->board->question, sizeof host->board->question);
}

static void on_retry(void *data) {
    struct host *host = data;
    host->retry = NULL;
    connect_now(host);
}

/* 1, 2, 4 ... 30 s, each longer or shorter by up to a fifth, so that many hones do not come at
 * once. */
static double pause_of(const struct host *host) {
    double pause_s = MOST_PAUSE_S;
    if (host->tries < 6)
        pause_s = MIN_OF(MOST_PAUSE_S, (double)(1 << MAX_OF(host->tries - 1, 0)));
    uint64_t now = clock_monotonic_ns();
    return pause_s * (0.8 + 0.4 * (double)(hash_quick(&now, sizeof now) % 1000) / 1000);
}

static void give_up(struct host *host, const struct err *why) {
    host->failure = *why;
    host->board->status.retry_ms = 0;
    target_show(host->board, TARGET_FAILED, "%s", why->text);
    host_jobs_failed(host, why);
}

static double tried_for(const struct host *host) {
    return (double)(clock_monotonic_ns() - host->since_ns) * 1e-9;
}

/* A host that never answered may not exist at all, so a person has to look. One that did answer is
 * waited for. */
static bool never_reached(struct host *host, const struct err *why) {
    double tried_s = tried_for(host);
    struct err err = {0};
    if (host->was_ready || tried_s < host_number(host, "reach_limit_s", 120))
        return false;
    err_set(
        &err, ERR_ENVIRONMENT,
        "%s was not reached in %.0f s and %d tries (%.200s). Is it on, is its "
        "address right? hone host doctor %s says more; start, or the same command, tries again. "
        "reach_limit_s of [host NAME] says how long",
        host->spec.name, tried_s, host->tries, why->text, host->spec.name);
    give_up(host, &err);
    return true;
}

static void pause_then_retry(struct host *host, const struct err *why) {
    host->tries++;
    if (never_reached(host, why))
        return;
    double pause_s = pause_of(host);
    if (!host->was_ready) /* the last try is when the time is up */
        pause_s = fmin(pause_s, host_number(host, "reach_limit_s", 120) - tried_for(host) + 0.01);
    pause_s = fmax(pause_s, 0.01);
    host->retry = loop_timer_start(host->loop, (uint64_t)(pause_s * 1000), 0, on_retry, host);
    host->board->status.retry_ms = loop_wall_ms(host->loop) + (int64_t)(pause_s * 1000);
    if (host->was_ready)
        target_show(host->board, TARGET_LOST, "connection to %s lost; jobs there go on (%.250s)",
                    host->spec.name, why->text);
    else
        target_show(host->board, TARGET_CONNECTING, "no connection to %s yet (%.300s)",
                    host->spec.name, why->text);
}

/* The transport is gone or about to be. Everything on it has ended, or ends here. */
static void went(struct host *host, const struct err *why, bool for_good) {
    bool was_ready = host->phase == HOST_READY;
    loop_timer_stop(host->breaking);
    loop_timer_stop(host->refresh);
    host->breaking = host->refresh = NULL;
    host_prepare_free(host);
    struct transport *transport = host->transport;
    host->phase = HOST_CLOSED;
    host->transport = NULL;
    transport_close(transport);
    host_calls_lose(host);
    forget_question(host);
    if (was_ready)
        host->lost_ms = clock_wall_ms();
    if (for_good) {
        give_up(host, why);
        return;
    }
    pause_then_retry(host, why);
    host_jobs_lost(host, why->text);
}

static void on_breaking(void *data) {
    struct host *host = data;
    struct err why = host->breaking_why;
    host->breaking = NULL;
    went(host, &why, why.kind != ERR_NONE && host->failure.kind != ERR_NONE);
}

/* The connection is useless (it hangs). It is ended on the next turn of the loop, as if it was
 * lost. */
static void host_break(struct host *host, const struct err *why) {
    if (host->breaking || !host->transport)
        return;
    host->breaking_why = *why;
    host->breaking = loop_timer_start(host->loop, 0, 0, on_breaking, host);
}

void host_fail(struct host *host, const struct err *why) {
    host->failure = *why;
    loop_timer_stop(host->breaking);
    host->breaking = NULL;
    host_break(host, why);
}

/* ------------------------------------------------------------------------------- the transport */

static void on_ready(void *data) {
    struct host *host = data;
    struct target_status *status = &host->board->status;
    host->phase = HOST_PREPARING;
    forget_question(host);
    snprintf(status->host, sizeof status->host, "%s", transport_describe(host->transport));
    host_prepare_start(host);
}

static void on_question(void *data, const struct transport_question *question) {
    struct host *host = data;
    struct target_board *board = host->board;
    board->question.secret = question->secret;
    snprintf(board->question.text, sizeof board->question.text, "%s", question->text);
    board->asks = true;
    target_show(board, TARGET_ASKING, "%.390s", question->text);
}

static void on_note(void *data, const char *text) {
    struct host *host = data;
    target_show(host->board, TARGET_CONNECTING, "%s", text);
    for (size_t i = 0; i < host->jobs.len; i++)
        host_job_say(host->jobs.at[i], DIAG_NOTE, "%s", text);
}

static void on_closed(void *data, const struct err *why) {
    struct host *host = data;
    struct err told = host->failure.kind != ERR_NONE ? host->failure : *why;
    bool for_good =
        told.kind == ERR_USAGE || told.kind == ERR_CANCELLED || host->failure.kind != ERR_NONE;
    went(host, &told, for_good);
}

static bool is_alias(const char *name) {
    size_t count = 0;
    bool found = false;
    char **names = transport_known_names(NULL, &count);
    for (size_t i = 0; i < count; i++) {
        found = found || !strcmp(names[i], name);
        free(names[i]);
    }
    free(names);
    return found;
}

/* The address in a section may itself be an alias of ~/.ssh/config, as one types it after ssh. */
struct transport *host_transport_open(const struct host *host, struct loop *loop,
                                      const struct transport_callbacks *callbacks,
                                      struct err *err) {
    if (host->spec.local)
        return transport_open_local(loop, NULL, callbacks);
    const char *address = host_setting(host, "address");
    bool own = !address || is_alias(host->spec.name);
    struct transport_host where = {.name = own ? host->spec.name : address,
                                   .host = own ? address : NULL,
                                   .user = host_setting(host, "user"),
                                   .identity = host_setting(host, "identity"),
                                   .port = (int)host_number(host, "port", 0),
                                   .client = host_setting(host, "client")};
    return transport_open_ssh(loop, &where, callbacks, err);
}

static bool begin(struct host *host, struct err *err) {
    host->failure = (struct err){0};
    host->board->status.retry_ms = 0;
    if (!host->tries)
        host->since_ns = clock_monotonic_ns();
    struct transport_callbacks callbacks = {.on_ready = on_ready,
                                            .on_question = on_question,
                                            .on_note = on_note,
                                            .on_closed = on_closed,
                                            .data = host};
    host->transport = host_transport_open(host, host->loop, &callbacks, err);
    if (!host->transport)
        return false;
    host->phase = HOST_OPENING;
    target_show(host->board, host->was_ready ? TARGET_LOST : TARGET_CONNECTING,
                host->was_ready ? "connecting to %s again" : "connecting to %s", host->spec.name);
    return true;
}

static void connect_now(struct host *host) {
    struct err err = {0};
    if (!begin(host, &err))
        give_up(host, &err);
}

/* --------------------------------------------------------------------------------------- ready */

static void on_refresh(void *data) {
    struct host *host = data;
    bool watched = clock_wall_ms() - host->board->watched_ms < WATCHED_MS;
    if (watched || host->jobs.len)
        host_look_start(host);
}

static void on_swept(void *data, const struct err *err, bool lost) {
    struct host *host = data;
    (void)err, (void)lost; /* what is old stays a little longer */
    host->sweeping = NULL;
}

static void sweep(struct host *host) {
    char days[24];
    snprintf(days, sizeof days, "%.0f", host_number(host, "keep_days", 7));
    const char *argv[] = {"sweep", days, NULL};
    struct host_call_spec spec = {
        .argv = argv, .limit_s = SWEEP_LIMIT_S, .on_done = on_swept, .data = host};
    host->sweeping = host_call_start(host, &spec, NULL);
}

void host_be_ready(struct host *host) {
    bool first = !host->was_ready;
    host->phase = HOST_READY;
    host->was_ready = true;
    host->tries = 0;
    host_look_show(host);
    host->refresh = loop_timer_start(host->loop, REFRESH_MS, REFRESH_MS, on_refresh, host);
    if (first)
        sweep(host);
    host_ends_run(host);
    host_jobs_ready(host);
    if (host->spec.on_ready)
        host->spec.on_ready(host->spec.data);
}

/* ------------------------------------------------------------------------------------- outside */

struct host *host_open(struct loop *loop, const struct host_spec *spec, struct target_board *board,
                       struct err *err) {
    struct host *host = mem_alloc(1, sizeof *host);
    struct arena *arena = arena_new();
    *host = (struct host){.loop = loop, .board = board, .spec = *spec, .arena = arena};
    host->spec.name = arena_strdup(arena, spec->name);
    host->spec.section = arena_strdup(arena, spec->section);
    host->spec.folder = arena_strdup(arena, spec->folder);
    host->spec.more = arena_strdup(arena, spec->more);
    settings_gather(host);
    if (begin(host, err))
        return host;
    host_close(host);
    return NULL;
}

void host_close(struct host *host) {
    if (!host)
        return;
    if (host->jobs.len)
        HONE_BUG("a host is closed while it has jobs");
    loop_timer_stop(host->retry);
    loop_timer_stop(host->refresh);
    loop_timer_stop(host->breaking);
    host_prepare_free(host);
    transport_close(host->transport);
    host_calls_free(host);
    host_puts_free(host);
    for (size_t i = 0; i < host->ends.len; i++)
        free(host->ends.at[i]);
    vec_free(&host->ends);
    vec_free(&host->jobs);
    vec_free(&host->settings);
    free(host->python);
    free(host->runner);
    forget_question(host);
    arena_free(host->arena);
    free(host);
}

bool host_is_ready(const struct host *host) {
    return host->phase == HOST_READY;
}

const struct err *host_failure(const struct host *host) {
    return host->phase == HOST_CLOSED && host->failure.kind != ERR_NONE ? &host->failure : NULL;
}

void host_answer(struct host *host, const char *answer) {
    if (!host->board->asks || !host->transport)
        return;
    forget_question(host);
    host->since_ns = clock_monotonic_ns();
    target_show(host->board, TARGET_CONNECTING, "connecting to %s", host->spec.name);
    transport_answer(host->transport, answer);
}

void host_retry(struct host *host) {
    if (host->phase != HOST_CLOSED)
        return;
    loop_timer_stop(host->retry);
    host->retry = NULL;
    host->tries = 0;
    connect_now(host);
}

char *host_path(const struct host *host, struct arena *arena, const char *below) {
    const char *folder = host->spec.folder;
    return arena_printf(arena, "%s%s.hone/%s", folder ? folder : "", folder ? "/" : "", below);
}

const char *host_python(const struct host *host) {
    return host->python;
}

const char *host_runner(const struct host *host) {
    return host->runner;
}
