/* SPDX-License-Identifier: Apache-2.0 */
/* A session as a folder that can be given away: the best kernel with its reference, every attempt
 * with its numbers, every prompt and answer, every decision.
 *
 * - README.md, session.json: what it is, and the command that evaluates it again
 * - kernel.py, reference.py, model.ini: the best kernel: a task of its own, with the
 *   files it imports (or task/, see bundle_task.c)
 * - attempts/<n>.py, attempts/<n>.json: sources; plan, verdict, seeds, samples, metrics, lines
 * - profiles/<n>.json: timelines
 * - prompts/<n>-<role>.txt, answers/<n>-<role>.txt, calls.jsonl: what was asked and answered
 * - events.jsonl: the whole log, with decisions, gates and notes
 * - experiments.jsonl, optimization_memory/rewrites.json: as other NKI agents read them
 *
 * Folders of this machine become "." (the task's), "session" and "~"; what model.ini has of secrets
 * stays here. The folder is made beside its place, and takes it when all is on the disk. What grows
 * with the session is written as it is read. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/device.h"
#include "tune/apply/apply.h"
#include "tune/exchange/bundle.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"
#include "tune/exchange/private.h"
#include "tune/read/read.h"

#define PIECES ((size_t)64 << 10) /* bytes that are written at once */

struct bundle {
    struct store *store;
    struct tune_state *state;
    const char *folder;
    struct bundle_places places;
    struct bundle_task task;
    int fd;            /* of the file that is written piece by piece, */
    struct buf pieces; /* and what is to be written to it */
    struct err *err;
};

/* --------------------------------------------------------------------------------------- files */

/* A file: begin, any number of pieces, end. The pieces of a JSON file each have whole names. `how`:
 * O_EXCL, or O_TRUNC where one of that name may be there. */
static bool file_begin(struct bundle *bundle, const char *name, int how) {
    char *path = path_join(bundle->folder, name), *folder = path_folder(path);
    bool ok = file_make_dirs(folder, bundle->err);
    bundle->fd = ok ? open(path, O_WRONLY | O_CREAT | how | O_CLOEXEC, 0666) : -1;
    if (ok && bundle->fd < 0)
        ok =
            err_set(bundle->err, ERR_ENVIRONMENT, "cannot write %.200s: %s", path, strerror(errno));
    free(folder);
    free(path);
    return ok;
}

static bool file_failed(struct bundle *bundle) {
    return err_set(bundle->err, ERR_ENVIRONMENT, "cannot write to %.200s: %s", bundle->folder,
                   strerror(errno));
}

static bool pieces_write(struct bundle *bundle) {
    const struct buf *pieces = &bundle->pieces;
    size_t done = 0;
    ssize_t n = 0;
    while (done < pieces->len && (n = write(bundle->fd, pieces->at + done, pieces->len - done)) > 0)
        done += (size_t)n;
    bool ok = done == pieces->len || file_failed(bundle);
    buf_clear(&bundle->pieces);
    return ok;
}

static bool file_add(void *data, struct str piece) {
    struct bundle *bundle = data;
    bundle_places_clean(&bundle->places, piece, true, &bundle->pieces);
    return bundle->pieces.len < PIECES || pieces_write(bundle);
}

static bool file_end(struct bundle *bundle, bool ok) {
    ok = ok && pieces_write(bundle) && (os_sync_later(bundle->fd) || file_failed(bundle));
    if (bundle->fd >= 0)
        close(bundle->fd);
    bundle->fd = -1;
    buf_clear(&bundle->pieces);
    return ok;
}

/* Sources are the user's own and stay as they are. */
static bool put(struct bundle *bundle, const char *name, const char *text, size_t size) {
    bool ok = file_begin(bundle, name, O_TRUNC);
    if (str_ends(str_of(name), ".py"))
        buf_add(&bundle->pieces, text, size);
    else
        bundle_places_clean(&bundle->places, (struct str){text, size},
                            strstr(name, ".json") != NULL, &bundle->pieces);
    return file_end(bundle, ok);
}

static bool put_text(struct bundle *bundle, const char *name, const char *text) {
    return !text || put(bundle, name, text, strlen(text));
}

static bool put_json(struct bundle *bundle, const char *name, cJSON *json) {
    char *text = cJSON_Print(json);
    bool ok = put_text(bundle, name, text ? text : "null");
    free(text);
    cJSON_Delete(json);
    return ok;
}

/* Copies a file of artifacts/. One that is gone does not end the export; one that is damaged is not
 * given away. */
static bool put_artefact(struct bundle *bundle, const char *name, const char *hash) {
    char *path = hash ? store_artefact_path(bundle->store, hash) : NULL;
    size_t size = 0;
    bool there = path && file_exists(path);
    char *data = there ? store_artefact_read(bundle->store, hash, &size, bundle->err) : NULL;
    bool ok = data ? put(bundle, name, data, size) : !there;
    free(data);
    free(path);
    return ok;
}

/* ------------------------------------------------------------------------------------ attempts */

static bool put_attempts(struct bundle *bundle) {
    bool ok = true;
    for (size_t i = 0; ok && i < bundle->state->attempts.len; i++) {
        const struct tune_attempt *attempt = &bundle->state->attempts.at[i];
        char source[40], numbers[40], profile[40];
        snprintf(source, sizeof source, "attempts/%03zu.py", i);
        snprintf(numbers, sizeof numbers, "attempts/%03zu.json", i);
        snprintf(profile, sizeof profile, "profiles/%03zu.json", i);
        char *text = tune_source_copy(bundle->state, attempt);
        ok = put_text(bundle, source, text) &&
             put_json(bundle, numbers,
                      tune_attempt_write(bundle->state, attempt, TUNE_ATTEMPT_BUNDLE, NULL)) &&
             put_artefact(bundle, profile, attempt->timeline);
        free(text);
    }
    return ok;
}

/* --------------------------------------------------------------------------------------- calls */

static void call_print(const struct tune_call *call, size_t number, struct buf *out) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "call", (double)number);
    tune_json_put_text(object, "role", call->role);
    tune_json_put_text(object, "model", call->model);
    cJSON_AddNumberToObject(object, "round", call->round);
    tune_json_put_number(object, "input", call->input);
    tune_json_put_number(object, "output", call->output);
    tune_json_put_number(object, "dollars", call->dollars);
    tune_json_put_number(object, "elapsed_s", call->elapsed_s);
    tune_json_put_text(object, "failure", call->failure);
    char *text = cJSON_PrintUnformatted(object);
    buf_printf(out, "%s\n", text ? text : "{}");
    free(text);
    cJSON_Delete(object);
}

static bool put_prompts(struct bundle *bundle) {
    bool ok = true;
    for (size_t i = 0; ok && i < bundle->state->calls.len; i++) {
        const struct tune_call *call = &bundle->state->calls.at[i];
        char prompt[80], answer[80];
        const char *role = call->role && !strchr(call->role, '/') ? call->role : "model";
        snprintf(prompt, sizeof prompt, "prompts/%03zu-%.30s.txt", i, role);
        snprintf(answer, sizeof answer, "answers/%03zu-%.30s.txt", i, role);
        ok = put_artefact(bundle, prompt, call->prompt) &&
             put_artefact(bundle, answer, call->answer);
    }
    return ok;
}

static bool put_calls(struct bundle *bundle) {
    if (!bundle->state->calls.len)
        return true;
    struct buf line = {0};
    bool ok = file_begin(bundle, "calls.jsonl", O_EXCL);
    for (size_t i = 0; ok && i < bundle->state->calls.len; i++) {
        buf_clear(&line);
        call_print(&bundle->state->calls.at[i], i, &line);
        ok = file_add(bundle, buf_str(&line));
    }
    buf_free(&line);
    return file_end(bundle, ok);
}

/* ---------------------------------------------------------------------------------- what it is */

static const struct tune_attempt *best_of(const struct tune_state *state) {
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    return best ? best : tune_state_attempt(state, 0);
}

static void seeds_print(const struct tune_state *state, struct buf *out) {
    for (size_t i = 0; i < state->seeds.len; i++)
        buf_printf(out, "%s%lld", i ? "," : "", (long long)state->seeds.at[i]);
}

static void command_print(const struct bundle_task *task, const char *device, struct buf *out) {
    if (task->flat || !task->kernel)
        buf_puts(out, "hone sim .");
    else
        buf_printf(out, "hone sim %s", task->kernel);
    if (!task->flat && task->reference)
        buf_printf(out, " --reference %s", task->reference);
    buf_printf(out, " --device %s", device);
}

static bool put_readme(struct bundle *bundle) {
    const struct tune_state *state = bundle->state;
    const struct tune_attempt *best = best_of(state);
    const char *device = device_name(state->device);
    struct buf text = {0};
    buf_printf(&text, "# %s\n\n", state->task ? state->task : "kernel");
    if (best && !isnan(best->latency_us)) {
        buf_printf(&text, "The best kernel is attempt %d of %zu: ", best->id, state->attempts.len);
        clock_print_duration(&text, best->latency_us * 1e-6);
        buf_printf(&text, "%s on %s", best->modelled ? " (modelled)" : "", device);
    }
    if (best && !isnan(best->latency_us) && best->id > 0 && !isnan(best->speedup))
        buf_printf(&text, ", %.3fx against the kernel as it came", best->speedup);
    buf_puts(&text, best && !isnan(best->latency_us) ? ".\n\n" : "Nothing was measured yet.\n\n");
    if (bundle->task.lacks.at)
        buf_puts(&text, bundle->task.lacks.at);
    buf_puts(&text, "To evaluate it again, in this folder:\n\n    ");
    if (state->model) /* the device model cannot do it */
        buf_puts(&text, "hone run . --target HOST --rounds 1");
    else
        command_print(&bundle->task, device, &text);
    if (state->seeds.len)
        buf_puts(&text, " --seeds ");
    seeds_print(state, &text);
    if (!isnan(state->tolerance))
        buf_printf(&text, " --tolerance %g", state->tolerance);
    buf_printf(&text,
               "\n\nThe times of the session are from the target \"%s\". The seed kernel is "
               "attempts/000.py; what was decided and why is in events.jsonl.\n\n"
               "## What came of it\n\n```\n",
               state->target ? state->target : "sim");
    tune_summary_print(state, NULL, NULL, &text);
    buf_puts(&text, "```\n");
    bool ok = put(bundle, "README.md", text.at, text.len);
    buf_free(&text);
    return ok;
}

static bool put_session(struct bundle *bundle) {
    const struct tune_state *state = bundle->state;
    cJSON *object = cJSON_CreateObject();
    const struct {
        const char *key, *text;
    } texts[] = {{"id", state->id},
                 {"task", state->task},
                 {"function", state->function},
                 {"device", state->device},
                 {"target", state->target},
                 {"precision", state->precision},
                 {"proposer", state->proposer},
                 {"search", state->search}};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        tune_json_put_text(object, texts[i].key, texts[i].text);
    tune_json_put_number(object, "tolerance", state->tolerance);
    cJSON *seeds = cJSON_AddArrayToObject(object, "seeds");
    for (size_t i = 0; i < state->seeds.len; i++)
        cJSON_AddItemToArray(seeds, cJSON_CreateNumber((double)state->seeds.at[i]));
    cJSON_AddNumberToObject(object, "best", best_of(state) ? best_of(state)->id : -1);
    for (int i = 0; i < TUNE_BUDGETS; i++)
        tune_json_put_number(object, tune_budget_word((enum tune_budget)i),
                             state->budgets[i].spent);
    return put_json(bundle, "session.json", object);
}

static bool put_task(struct bundle *bundle) {
    bool ok = true;
    for (size_t i = 0; ok && i < bundle->task.files.len; i++) {
        const struct bundle_file *file = &bundle->task.files.at[i];
        char *path = path_join(bundle->folder, file->name);
        ok = file->from ? tune_large_copy(file->from, path, file->hash, bundle->err)
                        : put(bundle, file->name, file->text, file->size);
        free(path);
    }
    return ok;
}

static bool put_model(struct bundle *bundle) {
    struct buf text = {0};
    if (bundle->state->model)
        task_model_print(bundle->state->model, &text);
    bool ok = put_text(bundle, "model.ini", text.at);
    buf_free(&text);
    return ok;
}

/* Where the kernels are in the bundle. */
static void paths_set(struct tune_state *state) {
    for (size_t i = 0; i < state->attempts.len; i++)
        state->attempts.at[i].path = arena_printf(state->arena, "attempts/%03zu.py", i);
}

static bool put_experiments(struct bundle *bundle) {
    struct buf row = {0};
    bool ok = file_begin(bundle, "experiments.jsonl", O_EXCL);
    for (size_t i = 0; ok && i < bundle->state->attempts.len; i++) {
        buf_clear(&row);
        tune_experiment_print(bundle->state, &bundle->state->attempts.at[i], &row);
        ok = file_add(bundle, buf_str(&row));
    }
    buf_free(&row);
    return file_end(bundle, ok);
}

static bool put_memory(struct bundle *bundle) {
    bool ok = file_begin(bundle, "optimization_memory/rewrites.json", O_EXCL) &&
              tune_memory_print(bundle->state, file_add, bundle);
    return file_end(bundle, ok);
}

static bool put_events(struct bundle *bundle);

static bool put_all(struct bundle *bundle) {
    const struct tune_attempt *best = best_of(bundle->state);
    paths_set(bundle->state);
    return bundle_task_find(&bundle->task, bundle->state, bundle->store,
                            tune_source(bundle->state, best), bundle->err) &&
           put_task(bundle) && put_model(bundle) && put_attempts(bundle) && put_prompts(bundle) &&
           put_calls(bundle) && put_events(bundle) && put_experiments(bundle) &&
           put_memory(bundle) && put_session(bundle) && put_readme(bundle);
}

/* ------------------------------------------------------------------------------------- reading */

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
    char *text = cJSON_PrintUnformatted(object);
    free(clean);
    cJSON_Delete(object);
    return text ? text : mem_strdup("{}");
}

static bool event_put(void *data, const struct store_event *event) {
    struct bundle *bundle = data;
    bool may = !strcmp(event->type, "session");
    char *clean = may ? payload_clean(event->payload) : NULL;
    struct buf row = {0};
    buf_printf(&row, "{\"seq\":%lld,\"wall_ms\":%lld,\"event\":\"%s\",\"is\":%s}\n",
               (long long)event->seq, (long long)event->wall_ms, event->type,
               clean ? clean : event->payload);
    bool ok = file_add(bundle, buf_str(&row));
    buf_free(&row);
    free(clean);
    return ok;
}

/* The log is read a second time: it need not fit into memory. */
static bool put_events(struct bundle *bundle) {
    bool ok = file_begin(bundle, "events.jsonl", O_EXCL) &&
              store_replay(bundle->store, 0, event_put, bundle, bundle->err);
    return file_end(bundle, ok && bundle->err->kind == ERR_NONE);
}

static bool bundle_open(struct bundle *bundle, const char *session, struct err *err) {
    *bundle = (struct bundle){.err = err, .fd = -1};
    if (!store_exists(session))
        return err_set(err, ERR_USAGE, "%.200s holds no session", session);
    bundle->store = store_open(session, true, err);
    bundle->state = bundle->store ? tune_state_new() : NULL;
    if (!bundle->store || !tune_log_read(&bundle->store, bundle->state, err))
        return false;
    return bundle->state->seq || err_set(err, ERR_USAGE, "the session %.200s is empty", session);
}

static void bundle_close(struct bundle *bundle) {
    store_close(bundle->store);
    tune_state_free(bundle->state);
    bundle_task_free(&bundle->task);
    bundle_places_free(&bundle->places);
    buf_free(&bundle->pieces);
}

static bool is_empty(const char *folder) {
    DIR *dir = opendir(folder);
    bool empty = true;
    for (struct dirent *entry; dir && empty && (entry = readdir(dir));)
        empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    if (dir)
        closedir(dir);
    return empty;
}

/* Removes what earlier exports to the same place left when they were killed. */
static void drop_left_overs(const char *folder) {
    char *above = path_folder(folder);
    DIR *dir = opendir(above);
    size_t len = strlen(path_base(folder));
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct str rest = {entry->d_name + len, 0};
        long long pid = 0;
        if (strncmp(entry->d_name, path_base(folder), len) != 0 ||
            !str_ends(str_of(rest.at), ".part") || *rest.at != '.')
            continue;
        rest = (struct str){rest.at + 1, strlen(rest.at) - strlen("..part")};
        char *path = path_join(above, entry->d_name);
        if (str_to_int(rest, &pid) && pid > 1 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            (void)!file_remove_tree(path, NULL);
        free(path);
    }
    if (dir)
        closedir(dir);
    free(above);
}

static bool evaluate_with(struct bundle *bundle, tune_bundle_fn *evaluate, void *data) {
    const struct tune_state *state = bundle->state;
    const struct tune_attempt *best = best_of(state);
    const struct bundle_task *task = &bundle->task;
    char *kernel = path_join(bundle->folder, task->kernel);
    char *reference = task->reference ? path_join(bundle->folder, task->reference) : NULL;
    struct tune_bundle_made made = {.kernel = kernel,
                                    .reference = reference,
                                    .function = state->function,
                                    .device = state->device,
                                    .seed = state->seeds.len ? state->seeds.at[0] : 0,
                                    .tolerance = state->tolerance > 0 ? state->tolerance : 0,
                                    .holds = best && best->modelled &&
                                             best->verdict.compiles == TUNE_ANSWER_YES &&
                                             best->verdict.correct == TUNE_ANSWER_YES,
                                    .is_inside_model = state->model != NULL};
    bool ok = evaluate(data, &made, bundle->err);
    free(reference);
    free(kernel);
    return ok;
}

/* All of it must be on the disk before it gets its name. */
static bool take_place(const char *made, const char *folder, struct err *err) {
    char *above = path_folder(folder);
    int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int inside = open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = inside >= 0 && os_sync_last(inside) && rename(made, folder) == 0;
    if (inside >= 0)
        close(inside);
    if (!ok)
        err_set(err, ERR_ENVIRONMENT, "cannot make %.200s: %s", folder, strerror(errno));
    if (ok && fd >= 0)
        (void)!fsync(fd);
    if (fd >= 0)
        close(fd);
    free(above);
    return ok;
}

bool tune_bundle_write(const char *session, const char *folder, tune_bundle_fn *evaluate,
                       void *data, struct err *err) {
    struct bundle bundle;
    struct buf beside = {0};
    struct str name = str_of(folder);
    while (name.len > 1 && name.at[name.len - 1] == '/')
        name.len--;
    if (file_exists(folder) && (!file_is_dir(folder) || !is_empty(folder)))
        return err_set(err, ERR_USAGE, "%.200s already exists; give another --output", folder);
    buf_add(&beside, name.at, name.len);
    char *place = buf_take(&beside);
    buf_printf(&beside, "%s.%d.part", place, (int)getpid());
    bool ok = bundle_open(&bundle, session, err);
    bundle.folder = beside.at;
    drop_left_overs(place);
    if (ok)
        bundle_places_find(&bundle.places, bundle.state, session);
    ok = ok && file_make_dirs(beside.at, err) && put_all(&bundle);
    ok = ok && (!evaluate || !bundle.task.kernel || evaluate_with(&bundle, evaluate, data));
    ok = ok && take_place(beside.at, place, err);
    if (!ok)
        (void)!file_remove_tree(beside.at, NULL);
    bundle_close(&bundle);
    buf_free(&beside);
    free(place);
    return ok;
}

bool tune_session_about(const char *session, char **kernel, char **reference, struct err *err) {
    struct bundle bundle;
    bool ok = bundle_open(&bundle, session, err);
    ok = ok && (bundle.state->kernel_path ||
                err_set(err, ERR_USAGE, "the session %.200s names no kernel", session));
    if (ok) {
        *kernel = mem_strdup(bundle.state->kernel_path);
        *reference = mem_strdup(bundle.state->reference_path);
    }
    bundle_close(&bundle);
    return ok;
}
