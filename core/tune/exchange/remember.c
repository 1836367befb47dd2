/* SPDX-License-Identifier: Apache-2.0 */
/* The optimisation memory as the loop keeps it: written to rewrites.json, read from a file that was
 * there before the session, imported from other agents, expired by age and by what was found since.
 * What experiences are about is in sums/memory.c. */
#include "tune/state/state.h"

#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "tune/session/inner.h"
#include "tune/foreign/foreign.h"
#include "tune/exchange/inner.h"
#include "tune/sums/sums.h"

#define REWRITES_MAX ((size_t)16 << 20)
#define MEMORY_MAX 500
#define DAY_MS (24 * 3600 * (int64_t)1000)
/* Compilers and devices change: what nobody found again for this long is doubted. */
#define AGE_DAYS 365
#define ROWS_AT_ONCE 200

/* ------------------------------------------------------------------------------ rewrites.json */

/* An experience of this session applies to the kernel and device it was found with. */
void tune_memory_applies_to(const struct tune_state *state, struct arena *arena,
                            struct tune_experience *item) {
    struct buf text = {0};
    item->applies_to = arena_printf(arena, "%s, %s%s%s", state->task ? state->task : "kernel",
                                    device_name(state->device), state->sizes ? ", " : "",
                                    state->sizes ? state->sizes : "");
    tune_memory_family_of(state, &text);
    item->family = text.len ? arena_strndup(arena, text.at, text.len) : NULL;
    item->generation = device_name(state->device);
    item->dialect = tune_memory_dialect(state->kernel_source);
    buf_free(&text);
}

static void evidence_write(cJSON *object, const struct tune_experience *item) {
    cJSON *evidence = cJSON_AddArrayToObject(object, "evidence");
    if (item->attempt >= 0)
        cJSON_AddItemToArray(evidence, cJSON_CreateNumber(item->against));
    if (item->attempt >= 0)
        cJSON_AddItemToArray(evidence, cJSON_CreateNumber(item->attempt));
    tune_json_put_text(object, "more_evidence", item->evidence);
    tune_json_put_text(object, "source", item->source);
}

static cJSON *experience_write(const struct tune_experience *item) {
    cJSON *object = cJSON_CreateObject();
    tune_json_put_text(object, "title", item->title ? item->title : "");
    tune_json_put_text(object, "summary", item->summary ? item->summary : "");
    tune_json_put_text(object, "status", tune_experience_word(item->is));
    tune_json_put_number(object, "speedup", item->speedup);
    tune_json_put_text(object, "slow_kernel", item->slow);
    tune_json_put_text(object, "fast_kernel", item->fast);
    cJSON *applies = cJSON_AddObjectToObject(object, "applies_to");
    tune_json_put_text(applies, "text", item->applies_to);
    tune_json_put_text(applies, "family", item->family);
    tune_json_put_text(applies, "generation", item->generation);
    tune_json_put_text(applies, "dialect", item->dialect);
    evidence_write(object, item);
    tune_json_put_text(object, "direction", item->key);
    tune_json_put_text(object, "expired", item->expired);
    if (item->closed)
        tune_json_put_bool(object, "closed", true);
    cJSON_AddNumberToObject(object, "recorded_ms", (double)item->recorded_ms);
    return object;
}

/* One of a list, as it stands in it. */
static bool experience_print(const struct tune_experience *item, bool first, tune_piece_fn *fn,
                             void *data) {
    cJSON *list = cJSON_CreateArray();
    cJSON_AddItemToArray(list, experience_write(item));
    struct buf text = {0};
    tune_json_print(list, true, &text);
    bool ok = (first || fn(data, STR(", "))) && fn(data, (struct str){text.at + 1, text.len - 2});
    buf_free(&text);
    cJSON_Delete(list);
    return ok;
}

bool tune_memory_print(const struct tune_state *state, tune_piece_fn *fn, void *data) {
    bool first = true, ok = fn(data, STR("["));
    for (size_t i = 0; ok && i < state->memory.len; i++) {
        if (state->memory.at[i].is == TUNE_EXPERIENCE_DELETED)
            continue;
        ok = experience_print(&state->memory.at[i], first, fn, data);
        first = false;
    }
    return ok && fn(data, STR("]"));
}

static bool piece_keep(void *data, struct str piece) {
    buf_add(data, piece.at, piece.len);
    return true;
}

void tune_export_memory(struct tune_session *session) {
    struct buf text = {0};
    struct err err = {0};
    (void)!tune_memory_print(session->state, piece_keep, &text);
    if (!store_file_write(session->store, TUNE_REWRITES, buf_str(&text), &err))
        store_log(session->store, "warning", err.text);
    buf_free(&text);
}

void tune_memory_mend(struct tune_session *session) {
    char *path = path_join(store_folder(session->store), TUNE_REWRITES);
    if (session->state->memory.len && !file_exists(path))
        tune_export_memory(session);
    free(path);
}

/* ---------------------------------------------------------------------- what was there before */

static void applies_read(const cJSON *item, struct tune_experience *into) {
    const cJSON *applies = tune_json_at(item, "applies_to");
    bool text = cJSON_IsString(applies);
    into->applies_to = text ? applies->valuestring : tune_json_text(applies, "text");
    into->family = tune_json_text(applies, "family");
    into->generation = tune_json_text(applies, "generation");
    into->dialect = tune_json_text(applies, "dialect");
}

/* "#7 against #5" means attempts of this session; these were another one's. */
static char *evidence_elsewhere(struct arena *arena, const char *evidence) {
    struct buf text = {0};
    for (; evidence && *evidence; evidence++)
        if (*evidence == '#')
            buf_puts(&text, "attempt ");
        else
            buf_putc(&text, *evidence);
    char *kept = text.len ? arena_strndup(arena, text.at, text.len) : NULL;
    buf_free(&text);
    return kept;
}

/* Without a status it is another agent's: nobody here has approved it. */
static void experience_read(struct tune_session *session, const cJSON *item, int number) {
    const char *title = tune_json_text(item, "title"), *summary = tune_json_text(item, "summary");
    enum tune_experience_is is = TUNE_EXPERIENCE_PROPOSED;
    bool own = tune_experience_find(tune_json_text(item, "status"), &is);
    if ((!title && !summary) || is == TUNE_EXPERIENCE_DELETED)
        return;
    int64_t recorded = tune_json_int64(item, "recorded_ms", 0), now = clock_wall_ms();
    const char *expired = tune_json_text(item, "expired"), *source = tune_json_text(item, "source");
    struct buf from = {0};
    buf_printf(&from, "%s, rewrites.json:%d", own ? "hone" : "nki-kernel-agent", number);
    if (recorded > 0 && now - recorded > AGE_DAYS * DAY_MS && is != TUNE_EXPERIENCE_EXPIRED) {
        is = TUNE_EXPERIENCE_EXPIRED;
        expired = "it is more than a year old, and nothing has confirmed it since";
    }
    struct tune_event event = tune_event_empty(TUNE_EVENT_EXPERIENCE);
    event.form = TUNE_FORM_EXPERIENCE_KEPT;
    event.experience = (struct tune_experience){
        .attempt = -1,
        .against = -1,
        .title = title,
        .summary = summary,
        .slow = tune_json_text(item, "slow_kernel"),
        .fast = tune_json_text(item, "fast_kernel"),
        .speedup = tune_json_number(item, "speedup"),
        .is = is,
        .source = source ? source : from.at,
        .key = tune_json_text(item, "direction"),
        .evidence =
            evidence_elsewhere(session->state->arena, tune_json_text(item, "more_evidence")),
        .expired = expired,
        .recorded_ms = MAX_OF(recorded, 0),
        .imported = true,
        .closed = tune_json_bool(item, "closed"),
    };
    applies_read(item, &event.experience);
    tune_emit(session, TUNE_ALL_LANES, &event);
    buf_free(&from);
}

static bool experience_import(struct tune_session *session, const struct tune_experience *item) {
    struct tune_event event = {.is = TUNE_EVENT_EXPERIENCE, .form = TUNE_FORM_EXPERIENCE_BROUGHT};
    event.experience = *item;
    event.experience.is = TUNE_EXPERIENCE_PROPOSED;
    event.experience.imported = true;
    return tune_emit(session, TUNE_ALL_LANES, &event);
}

static void complaints_log(struct tune_session *session, const struct tune_foreign *foreign) {
    for (size_t i = 0; i < foreign->complaints.len && !session->halted; i++)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "memory", "%s",
                      foreign->complaints.at[i]);
}

/* Another agent's list does not say whether anybody believes an experience. */
static bool import_list(struct tune_session *session, struct str text, const cJSON *list) {
    const cJSON *item;
    cJSON_ArrayForEach(item, list) if (tune_json_text(item, "status")) return false;
    struct tune_foreign foreign = {0};
    tune_foreign_text(TUNE_REWRITES, text, &foreign);
    complaints_log(session, &foreign);
    for (size_t i = 0; i < foreign.experiences.len && !session->halted; i++)
        experience_import(session, &foreign.experiences.at[i]);
    tune_foreign_free(&foreign);
    return true;
}

/* A memory that is there before the session: from an earlier session, or another agent's. */
void tune_import_memory(struct tune_session *session) {
    char *path = path_join(store_folder(session->store), TUNE_REWRITES);
    struct err err = {0};
    size_t size = 0;
    char *data = file_exists(path) ? file_read(path, REWRITES_MAX, &size, &err) : NULL;
    cJSON *list = data ? cJSON_ParseWithLength(data, size) : NULL;
    int count = 0;
    const cJSON *item;
    bool foreign = cJSON_IsArray(list) && import_list(session, (struct str){data, size}, list);
    cJSON_ArrayForEach(item, list) if (!foreign && count++ < MEMORY_MAX && !session->halted)
        experience_read(session, item, count);
    if (data && !cJSON_IsArray(list))
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "memory",
                      "%s is not a list of experiences; hone did not change it", path);
    if (session->state->memory.len && !session->halted)
        tune_export_memory(session);
    cJSON_Delete(list);
    free(data);
    free(path);
}

/* ------------------------------------------------------------------------------- contradiction */

static void contradicted(struct tune_session *session, int lane, size_t index,
                         const struct tune_attempt *attempt) {
    const struct tune_experience *item = &session->state->memory.at[index];
    struct buf why = {0};
    if (attempt->verdict.correct == TUNE_ANSWER_NO)
        buf_printf(&why, "attempt #%d did the same and was not correct", attempt->id);
    else
        buf_printf(&why, "attempt #%d did the same against #%d: %.3fx", attempt->id,
                   attempt->parent, attempt->vs_parent);
    if (tune_emit(session, lane,
                  TUNE_EVENT(EXPIRED, expired, .index = (int)index, .attempt = attempt->id,
                             .why = why.at)))
        tune_emit_log(session, lane, TUNE_LEVEL_INFO, "memory", "expired \"%s\": %s",
                      item->title ? item->title : "", why.at);
    buf_free(&why);
}

void tune_memory_contradict(struct tune_session *session, int lane,
                            const struct tune_attempt *attempt) {
    const struct tune_state *state = session->state;
    int id = attempt->id;
    bool some = false;
    for (size_t i = 0; i < state->memory.len && !session->halted; i++) {
        attempt = tune_state_attempt(state, id);
        if (!tune_memory_contradicts(&state->memory.at[i], attempt))
            continue;
        contradicted(session, lane, i, attempt);
        some = true;
    }
    if (some && !session->halted)
        tune_export_memory(session);
}

/* ------------------------------------------------------------------------- other agents' files */

static bool history_import(struct tune_session *session, const struct tune_foreign *foreign) {
    for (size_t from = 0; from < foreign->attempts.len; from += ROWS_AT_ONCE) {
        size_t count = MIN_OF(foreign->attempts.len - from, ROWS_AT_ONCE);
        if (!tune_emit(session, TUNE_ALL_LANES,
                       TUNE_EVENT(HISTORY, history, .rows = {foreign->attempts.at + from, count})))
            return false;
    }
    return true;
}

static void complaints_tell(const struct tune_foreign *foreign, struct tune_import_report *report) {
    for (size_t i = 0; i < foreign->complaints.len; i++)
        buf_printf(&report->complaints, "%s\n", foreign->complaints.at[i]);
    if (foreign->left_out)
        buf_printf(&report->complaints, "and %zu more like these\n", foreign->left_out);
}

bool tune_session_import(struct tune_session *session, const char *path,
                         struct tune_import_report *report, struct err *err) {
    const struct tune_state *state = session->state;
    struct tune_foreign foreign = {.own = store_folder(session->store)};
    size_t memory = state->memory.len, imports = state->imports.len;
    bool ok = !state->read_only ||
              err_set(err, ERR_ENVIRONMENT, "the session cannot be changed: %s",
                      state->why_read_only ? state->why_read_only : "it is open elsewhere");
    ok = ok && tune_foreign_read(path, &foreign, err);
    complaints_tell(&foreign, report);
    report->files += foreign.files;
    report->altered += foreign.altered;
    bool stored = ok;
    for (size_t i = 0; stored && i < foreign.experiences.len; i++)
        stored = experience_import(session, &foreign.experiences.at[i]);
    stored = stored && history_import(session, &foreign);
    if (ok && !stored)
        err_set(err, ERR_ENVIRONMENT, "%s", session->trouble ? session->trouble : "not stored");
    if (stored && foreign.experiences.len)
        tune_export_memory(session);
    report->experiences += state->memory.len - memory;
    for (size_t i = memory; i < state->memory.len; i++)
        report->fit += tune_memory_applies(state, &state->memory.at[i]);
    report->attempts += state->imports.len - imports;
    if (stored)
        report->known += foreign.experiences.len - (state->memory.len - memory) +
                         foreign.attempts.len - (state->imports.len - imports);
    tune_foreign_free(&foreign);
    return stored;
}
