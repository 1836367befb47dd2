/* SPDX-License-Identifier: Apache-2.0 */
/* The log in a bundle: events.jsonl, and the sources of attempts, which lie in the events and are
 * not in memory. The log is read event by event, by a thread with a store of its own, while others
 * write what follows from the state, for which they read the log, too. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/events/events.h"
#include "tune/exchange/bundle.h"
#include "tune/exchange/private.h"

/* Which event has the source of an attempt. */
struct place {
    int64_t seq;
    int attempt;
};

struct bundle_log {
    char *session;
    int64_t last; /* the event that the state ends with: a hone may add more meanwhile */
    struct bundle_out events, sources;
    struct err err;
    VEC(struct place) places; /* by event; */
    size_t at;                /* the next of them */
    struct arena *scratch;
    struct buf row;
    pthread_t thread;
    bool started, ok;
    atomic_bool given_up;
};

/* ------------------------------------------------------------------------------------- sources */

static int by_seq(const void *a, const void *b) {
    int64_t x = ((const struct place *)a)->seq, y = ((const struct place *)b)->seq;
    return (x > y) - (x < y);
}

static void places_find(struct bundle_log *log, const struct tune_state *state) {
    for (size_t i = 0; i < state->attempts.len; i++)
        if (!state->attempts.at[i].source_kept)
            *vec_push(&log->places) = (struct place){state->attempts.at[i].source_seq, (int)i};
    if (log->places.len)
        qsort(log->places.at, log->places.len, sizeof *log->places.at, by_seq);
}

static bool source_put(struct bundle_log *log, const struct store_event *event, int attempt) {
    char name[40];
    const char *source = NULL;
    struct tune_event read;
    snprintf(name, sizeof name, BUNDLE_SOURCE, attempt);
    if (tune_event_read(log->scratch, event->type, event->payload, &read))
        source = tune_event_source(&read);
    bool ok = bundle_put(&log->sources, name, str_of(source ? source : ""));
    arena_reset(log->scratch);
    return ok;
}

static bool sources_put(struct bundle_log *log, const struct store_event *event) {
    bool ok = true;
    for (; ok && log->at < log->places.len && log->places.at[log->at].seq <= event->seq; log->at++)
        if (log->places.at[log->at].seq == event->seq)
            ok = source_put(log, event, log->places.at[log->at].attempt);
    return ok;
}

/* -------------------------------------------------------------------------------------- events */

/* The description of a model without its secrets, wherever an event has one. */
static char *payload_clean(const char *payload) {
    cJSON *object = cJSON_Parse(payload);
    const char *model = tune_json_text(object, "model");
    if (!model || *model != '{') {
        cJSON_Delete(object);
        return mem_strdup(payload);
    }
    char *clean = task_model_without_secrets(model);
    cJSON_ReplaceItemInObjectCaseSensitive(object, "model", cJSON_CreateString(clean));
    struct buf text = {0};
    tune_json_print(object, false, &text);
    free(clean);
    cJSON_Delete(object);
    return buf_take(&text);
}

static void row_print(struct buf *row, const struct store_event *event, const char *payload) {
    buf_clear(row);
    buf_puts(row, "{\"seq\":");
    tune_number_print(row, (double)event->seq);
    buf_puts(row, ",\"wall_ms\":");
    tune_number_print(row, (double)event->wall_ms);
    buf_puts(row, ",\"event\":\"");
    buf_puts(row, event->type);
    buf_puts(row, "\",\"is\":");
    buf_puts(row, payload);
    buf_puts(row, "}\n");
}

static bool event_put(void *data, const struct store_event *event) {
    struct bundle_log *log = data;
    if (event->seq > log->last)
        return false;
    char *clean = strcmp(event->type, "session") ? NULL : payload_clean(event->payload);
    row_print(&log->row, event, clean ? clean : event->payload);
    free(clean);
    return !atomic_load_explicit(&log->given_up, memory_order_relaxed) &&
           bundle_file_add(&log->events, buf_str(&log->row)) && sources_put(log, event);
}

static void *log_run(void *data) {
    struct bundle_log *log = data;
    struct store *store = store_open(log->session, true, &log->err);
    bool ok = store && bundle_file_begin(&log->events, "events.jsonl", O_EXCL) &&
              store_replay(store, 0, event_put, log, &log->err);
    log->ok = bundle_file_end(&log->events, ok && log->err.kind == ERR_NONE);
    store_close(store);
    return NULL;
}

/* ------------------------------------------------------------------------------------ the whole */

/* Signals are for the thread that started it. */
static bool thread_start(struct bundle_log *log) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&log->thread, NULL, log_run, log) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

struct bundle_log *bundle_log_begin(const struct bundle_out *like, const char *session,
                                    const struct tune_state *state) {
    struct bundle_log *log = mem_alloc(1, sizeof *log);
    *log = (struct bundle_log){
        .session = mem_strdup(session), .last = state->seq, .scratch = arena_new()};
    log->events = log->sources = (struct bundle_out){
        .folder = like->folder, .places = like->places, .fd = -1, .err = &log->err};
    places_find(log, state);
    log->started = thread_start(log);
    return log;
}

bool bundle_log_end(struct bundle_log *log, bool give_up, struct err *err) {
    atomic_store(&log->given_up, give_up);
    if (log->started)
        pthread_join(log->thread, NULL);
    else if (!give_up)
        log_run(log);
    bool ok = log->ok;
    if (!ok && !give_up)
        *err = log->err;
    bundle_out_free(&log->events);
    bundle_out_free(&log->sources);
    arena_free(log->scratch);
    vec_free(&log->places);
    buf_free(&log->row);
    free(log->session);
    free(log);
    return ok;
}
