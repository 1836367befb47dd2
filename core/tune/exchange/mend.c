/* SPDX-License-Identifier: Apache-2.0 */
/* A session on disk, checked and repaired: what store knows of it, and what follows from the
 * meaning of its events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/apply/apply.h"
#include "tune/exchange/private.h"
#include "tune/read/read.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"

/* --------------------------------------------------------------------------------------- check */

struct checking {
    struct tune_state *state;
    struct arena *arena; /* of an event */
    struct map named;    /* artefacts that the log names */
    struct by_hash rows; /* rows that experiments.jsonl may have, by their texts */
    VEC(int) attempts;   /* whose they are, */
    /* and by attempt; a row before the last one is from before the attempt was decided anew */
    VEC(size_t) from;
    size_t changes;  /* of the state, that were looked at */
    bool sealed;     /* hone closed it in order: the files that follow from the log are as it left
                      * them */
    char *artefacts; /* what store found of those that are there; NULL: they are not whole */
    store_check_fn *fn;
    void *data;
};

static void found(struct checking *checking, const char *part, enum store_finding is,
                  const char *format, ...) CC_PRINTF(4, 5);
static void found(struct checking *checking, const char *part, enum store_finding is,
                  const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    checking->fn(checking->data, part, is, text.at ? text.at : "");
    buf_free(&text);
}

/* Those that are there were compared with their names by store, which cannot know how many there
 * should be. */
static void artefacts_tell(struct checking *checking) {
    if (checking->artefacts)
        found(checking, "artefacts", STORE_WHOLE, "%s", checking->artefacts);
}

static void artefacts_check(struct checking *checking, const char *folder) {
    struct buf names = {0};
    tune_named_state(&checking->named, checking->state);
    size_t count = tune_named_missing(&checking->named, folder, &names);
    if (count)
        found(checking, "artefacts", STORE_DAMAGED,
              "%zu of the %zu that the log names %s missing: %s. hone run puts back the copy of a "
              "task's file that is still on disk as it was",
              count, checking->named.len, count == 1 ? "is" : "are", names.at);
    else
        artefacts_tell(checking);
    buf_free(&names);
}

static void checkpoints_check(struct checking *checking, const char *folder) {
    const struct tune_state *state = checking->state;
    size_t whole = 0, missing = 0, other = 0, gone = 0;
    struct buf names = {0};
    for (size_t i = 0; i < state->attempts.len; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        char *path = attempt->path ? path_join(folder, attempt->path) : NULL;
        size_t size = 0;
        struct err err = {0};
        char *text = path && file_exists(path) ? file_read(path, 0, &size, &err) : NULL;
        char *source = text ? tune_source_copy(state, attempt) : NULL;
        bool same = text && str_equal((struct str){text, size}, str_of(source));
        whole += same;
        missing += path && !text;
        if (path && !text && attempt->status != TUNE_STATUS_OPEN)
            tune_name_list(&names, gone++, path_base(attempt->path));
        other += text && !same;
        if (text && !same)
            found(checking, "checkpoints", STORE_DAMAGED, "%.200s is not the kernel of attempt %zu",
                  attempt->path, i);
        free(source);
        free(text);
        free(path);
    }
    if (gone)
        found(
            checking, "checkpoints", STORE_UNPROVEN,
            "%zu of decided attempts %s gone: %s. hone run writes what is gone again from the log",
            gone, gone == 1 ? "is" : "are", names.at);
    if (!other && (missing > gone || !gone))
        found(checking, "checkpoints", missing > gone ? STORE_UNPROVEN : STORE_WHOLE,
              missing > gone ? "%zu are the same as in the log, %zu were not written yet"
                             : "%zu, each the same as in the log",
              whole, missing - gone);
    buf_free(&names);
}

/* Rows stand in the order in which attempts were decided, and each says what was known then: what
 * the device model or a compiler adds later is not in it. */
static void row_expect(struct checking *checking, int id) {
    const struct tune_attempt *attempt = tune_state_attempt(checking->state, id);
    struct buf line = {0};
    if (attempt)
        tune_experiment_print(checking->state, attempt, &line);
    if (line.len) {
        by_hash_put(&checking->rows, hash_quick(line.at, line.len - 1), checking->attempts.len);
        *vec_push(&checking->attempts) = id;
    }
    buf_free(&line);
}

static void rows_forget(struct checking *checking, int id) {
    while (checking->from.len <= (size_t)id)
        *vec_push(&checking->from) = 0;
    checking->from.at[id] = checking->attempts.len;
}

static bool is_open(const struct tune_state *state, int id) {
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    return attempt && attempt->status == TUNE_STATUS_OPEN;
}

/* A person's action may change any attempt, and then the file is made anew. What is measured again
 * keeps its row until it is decided again. */
static void rows_expect(struct checking *checking, const struct tune_event *event) {
    const struct tune_state *state = checking->state;
    for (; checking->changes < state->own->changes.len; checking->changes++) {
        int id = state->own->changes.at[checking->changes].attempt;
        if (is_open(state, id))
            continue;
        rows_forget(checking, id);
        row_expect(checking, id);
    }
    switch (event->is) {
    case TUNE_EVENT_DECIDED: row_expect(checking, event->decided.attempt); break;
    case TUNE_EVENT_MODELLED: row_expect(checking, event->modelled.attempt); break;
    case TUNE_EVENT_PREDICTED: row_expect(checking, event->predicted.attempt); break;
    default: break;
    }
}

static bool read_one(void *data, const struct store_event *event) {
    struct checking *checking = data;
    struct tune_event_said *said =
        tune_event_hear(checking->arena, event->type, event->payload, true);
    tune_state_apply_read(checking->state, event->seq, event->wall_ms, said);
    if (said->is_read)
        rows_expect(checking, &said->event);
    if (said->is_read && said->event.is == TUNE_EVENT_CLOSURE)
        tune_named_closure(&checking->named, &said->event);
    arena_reset(checking->arena);
    return true;
}

/* The attempt whose row this line is, among those that have none yet; -1. */
static int row_of(const struct checking *checking, struct str line, const bool *seen) {
    size_t at = 0, row;
    while (by_hash_next(&checking->rows, hash_quick(line.at, line.len), &at, &row)) {
        size_t id = (size_t)checking->attempts.at[row];
        bool counts = id >= checking->from.len || row >= checking->from.at[id];
        if (counts && !seen[id])
            return (int)id;
    }
    return -1;
}

static void experiments_check(struct checking *checking, const char *folder) {
    const struct tune_state *state = checking->state;
    char *path = path_join(folder, "experiments.jsonl");
    struct err err = {0};
    size_t size = 0, rows = 0, wrong = 0, expected = 0, old = 0;
    bool *seen = mem_alloc(state->attempts.len + 1, sizeof *seen);
    for (size_t i = 0; i < state->attempts.len; i++) {
        expected += state->attempts.at[i].status != TUNE_STATUS_OPEN;
        row_expect(checking, (int)i); /* as one that is made anew has it */
    }
    char *text = file_exists(path) ? file_read(path, 0, &size, &err) : NULL;
    bool cut = size && text[size - 1] != '\n';
    struct str rest = {text, size - (size && !cut)}, line;
    while (size && str_next(&rest, '\n', &line)) {
        int id = row_of(checking, line, seen);
        rows++;
        if (id >= 0)
            seen[id] = true;
        else
            wrong++;
        old += id >= 0 && is_open(state, id);
    }
    if (text && (wrong || cut || rows - old != expected))
        found(checking, "experiments", STORE_DAMAGED,
              "%zu of %zu row%s of experiments.jsonl not as in the log, which has %zu: remove "
              "the file, it is made again",
              wrong, rows, PLURAL(rows), expected);
    else
        found(checking, "experiments", text || !expected ? STORE_WHOLE : STORE_UNPROVEN,
              text || !expected ? "%zu row%s, each the same as in the log"
                                : "%zu row%s: experiments.jsonl was not written yet",
              rows, PLURAL(rows));
    free(seen);
    free(text);
    free(path);
}

static bool piece_keep(void *data, struct str piece) {
    buf_add(data, piece.at, piece.len);
    return true;
}

static void memory_check(struct checking *checking, const char *folder) {
    char *path = path_join(folder, TUNE_REWRITES);
    struct buf log = {0};
    struct err err = {0};
    size_t size = 0;
    char *text = file_exists(path) ? file_read(path, 0, &size, &err) : NULL;
    (void)!tune_memory_print(checking->state, piece_keep, &log);
    if (text && str_equal((struct str){text, size}, buf_str(&log)))
        found(checking, "memory", STORE_WHOLE, "%zu experience%s as in the log",
              checking->state->memory.len, checking->state->memory.len == 1 ? "" : "s");
    else if (text && checking->state->memory.len && checking->sealed)
        found(checking, "memory", STORE_DAMAGED,
              TUNE_REWRITES " is not what the log says: remove the file, it is made again when the "
                            "session is opened");
    else if (text || checking->state->memory.len)
        found(checking, "memory", STORE_UNPROVEN,
              text ? TUNE_REWRITES " is not what the log says; hone did not close the session "
                                   "properly, or did not write the file"
                   : TUNE_REWRITES " is not there; it is made again when the session is opened");
    free(text);
    free(path);
    buf_free(&log);
}

/* Checks what is made from the log, where the whole log can be read and nobody writes it now. */
static void derived_check(struct checking *checking, const char *folder) {
    struct err err = {0};
    struct store *store = store_open(folder, true, &err);
    checking->state = tune_state_new();
    checking->arena = arena_new();
    tune_log_leave(checking->state, &store);
    if (store && store_replay(store, 0, read_one, checking, &err)) {
        artefacts_check(checking, folder);
        checkpoints_check(checking, folder);
        experiments_check(checking, folder);
        memory_check(checking, folder);
    } else {
        artefacts_tell(checking);
    }
    tune_named_free(&checking->named);
    by_hash_free(&checking->rows);
    vec_free(&checking->attempts);
    vec_free(&checking->from);
    arena_free(checking->arena);
    tune_state_free(checking->state);
    store_close(store);
}

static void on_part(void *data, const char *part, enum store_finding is, const char *text) {
    struct checking *checking = data;
    checking->sealed |= !strcmp(part, "file") && is == STORE_WHOLE;
    if (!strcmp(part, "artefacts") && is == STORE_WHOLE)
        checking->artefacts = mem_strdup(text);
    else
        checking->fn(checking->data, part, is, text);
}

bool tune_session_check(const char *folder, store_check_fn *fn, void *data, struct err *err) {
    struct checking checking = {.fn = fn, .data = data};
    if (!store_check(folder, on_part, &checking, err))
        return false;
    derived_check(&checking, folder);
    free(checking.artefacts);
    return true;
}

/* -------------------------------------------------------------------------------------- repair */

/* Nothing else refers to these events: without one, the state is the same but for a line on a
 * screen. */
static const char *const harmless[] = {"log", "progress", "diagnostic", "entered", NULL};

static void stand_in(int64_t seq, struct buf *payload) {
    struct buf text = {0};
    buf_printf(&text, "event %lld was damaged; it is lost (hone session repair)", (long long)seq);
    tune_event_write(TUNE_EVENT(LOG, log, .attempt = -1, .level = TUNE_LEVEL_WARNING,
                                .phase = "session", .text = text.at),
                     TUNE_ALL_LANES, payload);
    buf_free(&text);
}

struct behind {
    const char *folder;
    struct buf events;
    size_t kernels;
};

/* The kernel of an attempt is worth keeping by itself, whatever became of what it refers to. */
static void kernel_keep(struct behind *behind, int64_t seq, const cJSON *payload) {
    const char *source = tune_json_text(payload, "source");
    struct buf path = {0};
    struct err err = {0};
    if (!source || !*source)
        return;
    buf_printf(&path, "%s/behind", behind->folder);
    bool ok = file_make_private(path.at, &err);
    buf_printf(&path, "/kernel_of_event_%lld.py", (long long)seq);
    behind->kernels += ok && file_write_private(path.at, source, strlen(source), &err);
    buf_free(&path);
}

static void keep_behind(void *data, int64_t seq, bool proven, struct str type, struct str payload) {
    struct behind *behind = data;
    cJSON *line = cJSON_CreateObject();
    char *word = mem_dup(type.at, type.len + 1);
    cJSON *is = cJSON_ParseWithLength(payload.at, payload.len);
    word[type.len] = '\0';
    cJSON_AddNumberToObject(line, "seq", (double)seq);
    cJSON_AddBoolToObject(line, "proven", proven);
    tune_json_put_text(line, "event", word);
    if (proven && is && (!strcmp(word, "attempt") || !strcmp(word, "candidate")))
        kernel_keep(behind, seq, is);
    if (is)
        cJSON_AddItemToObject(line, "is", is);
    else
        cJSON_AddNullToObject(line, "is");
    char *printed = cJSON_PrintUnformatted(line);
    buf_printf(&behind->events, "%s\n", printed ? printed : "{}");
    free(printed);
    free(word);
    cJSON_Delete(line);
}

static bool behind_write(const struct behind *behind, struct err *err) {
    if (!behind->events.len)
        return true;
    struct buf path = {0};
    buf_printf(&path, "%s/behind", behind->folder);
    bool ok = file_make_private(path.at, err);
    buf_puts(&path, "/events.jsonl");
    ok = ok && file_write_private(path.at, behind->events.at, behind->events.len, err);
    buf_free(&path);
    return ok;
}

/* Where the log lost something, the file may have more than it, as long as it can be read. */
static bool memory_is_kept(const char *from, const char *to) {
    char *old = path_join(from, TUNE_REWRITES), *new = path_join(to, TUNE_REWRITES);
    char *folder = path_folder(new);
    struct err err = {0};
    size_t size = 0;
    char *text = file_exists(old) ? file_read(old, 0, &size, &err) : NULL;
    cJSON *list = text ? cJSON_ParseWithLength(text, size) : NULL;
    bool ok = cJSON_IsArray(list) && file_make_private(folder, &err) &&
              file_write_private(new, text, size, &err);
    cJSON_Delete(list);
    free(text);
    free(folder);
    free(new);
    free(old);
    return ok;
}

/* Otherwise it is made from the log when the new session is opened. */
static void memory_repair(const char *from, const char *to, const struct store_repaired *done) {
    if (done->cut <= done->last)
        (void)memory_is_kept(from, to);
}

/* The new session says what it is. */
static bool repair_note(const char *to, const struct store_repaired *done, struct err *err) {
    struct buf text = {0}, payload = {0};
    buf_printf(&text, "repaired: %lld event%s saved, %lld of them put right, %lld replaced",
               (long long)done->events, PLURAL(done->events), (long long)done->mended,
               (long long)done->dropped);
    if (done->cut <= done->last)
        buf_printf(&text, "; events %lld to %lld are lost to it", (long long)done->cut,
                   (long long)done->last);
    tune_event_write(TUNE_EVENT(LOG, log, .attempt = -1, .level = TUNE_LEVEL_WARNING,
                                .phase = "session", .text = text.at),
                     TUNE_ALL_LANES, &payload);
    struct store *store = store_open(to, false, err);
    bool ok = store && store_append(store, clock_wall_ms(), "log", payload.at, NULL, err);
    store_close(store);
    buf_free(&payload);
    buf_free(&text);
    return ok;
}

static bool name_one(void *data, const struct store_event *event) {
    struct checking *checking = data;
    struct tune_event_said *said =
        tune_event_hear(checking->arena, event->type, event->payload, true);
    tune_state_apply_read(checking->state, event->seq, event->wall_ms, said);
    if (said->is_read && said->event.is == TUNE_EVENT_CLOSURE)
        tune_named_closure(&checking->named, &said->event);
    arena_reset(checking->arena);
    return true;
}

/* What nothing has any more, a repair cannot bring back: it is said. */
static void missing_note(const char *to, struct tune_repaired *done) {
    struct err err = {0};
    struct store *store = store_open(to, true, &err);
    struct checking checking = {.state = tune_state_new(), .arena = arena_new()};
    tune_log_leave(checking.state, &store);
    if (store && store_replay(store, 0, name_one, &checking, &err)) {
        tune_named_state(&checking.named, checking.state);
        done->missing = tune_named_missing(&checking.named, to, &done->names);
    }
    tune_named_free(&checking.named);
    arena_free(checking.arena);
    tune_state_free(checking.state);
    store_close(store);
}

static bool repair_into(const char *folder, const char *to, struct tune_repaired *done,
                        struct err *err) {
    struct behind behind = {.folder = to};
    const struct store_repair_ways ways = {.harmless = harmless,
                                           .stand_in_type = "log",
                                           .stand_in = stand_in,
                                           .behind = keep_behind,
                                           .data = &behind};
    bool ok = store_repair(folder, to, &ways, &done->store, err) && behind_write(&behind, err) &&
              repair_note(to, &done->store, err);
    if (ok)
        memory_repair(folder, to, &done->store);
    if (ok)
        missing_note(to, done);
    done->kernels = behind.kernels;
    buf_free(&behind.events);
    return ok;
}

/* It gets its place when it is whole. */
bool tune_session_repair(const char *folder, const char *to, struct tune_repaired *done,
                         struct err *err) {
    struct os_pending *pending = os_pending_begin(to);
    const char *beside = os_pending_path(pending);
    bool ok = repair_into(folder, beside, done, err);
    if (ok && rename(beside, to) != 0)
        ok = err_set(err, ERR_ENVIRONMENT, "cannot move %.200s to %.200s: %s", beside, to,
                     strerror(errno));
    if (!ok && !os_pending_undo(pending))
        err_prefix(err, "%.200s could not be removed and is not whole", beside);
    os_pending_end(pending);
    return ok;
}
