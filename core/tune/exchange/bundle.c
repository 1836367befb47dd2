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
 * - SHA256SUMS: the hashes of all these, for import and for sha256sum -c
 *
 * Folders of this machine become "." (the task's), "session" and "~"; what model.ini has of secrets
 * stays here. The folder is made beside its place, and takes it when all is on the disk. What grows
 * with the session is written as it is read. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/device.h"
#include "tune/apply/apply.h"
#include "tune/exchange/bundle.h"
#include "tune/foreign/foreign.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"
#include "tune/exchange/private.h"
#include "tune/read/read.h"

struct bundle {
    struct store *store;
    struct tune_state *state;
    struct bundle_places places;
    struct bundle_task task;
    struct bundle_out out;
    struct err *err;
};

/* --------------------------------------------------------------------------------------- files */

static bool put_text(struct bundle *bundle, const char *name, const char *text) {
    return !text || bundle_put(&bundle->out, name, str_of(text));
}

/* As cJSON_Print would have it. */
static bool put_json(struct bundle *bundle, const char *name, cJSON *json) {
    struct buf text = {0};
    tune_json_print(json, true, &text);
    bool ok = bundle_put(&bundle->out, name, buf_str(&text));
    buf_free(&text);
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
    bool ok = data ? bundle_put(&bundle->out, name, (struct str){data, size}) : !there;
    free(data);
    free(path);
    return ok;
}

/* ------------------------------------------------------------------------------------ attempts */

/* Sources that are left in the log are written when it is read again (bundle_log.c). */
static bool put_attempts(struct bundle *bundle) {
    bool ok = true;
    for (size_t i = 0; ok && i < bundle->state->attempts.len; i++) {
        const struct tune_attempt *attempt = &bundle->state->attempts.at[i];
        char source[40], numbers[40], profile[40];
        snprintf(source, sizeof source, BUNDLE_SOURCE, (int)i);
        snprintf(numbers, sizeof numbers, "attempts/%03zu.json", i);
        snprintf(profile, sizeof profile, "profiles/%03zu.json", i);
        ok = put_text(bundle, source, attempt->source_kept) &&
             put_json(bundle, numbers,
                      tune_attempt_write(bundle->state, attempt, TUNE_ATTEMPT_BUNDLE, NULL)) &&
             put_artefact(bundle, profile, attempt->timeline);
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
    tune_json_print(object, false, out);
    buf_putc(out, '\n');
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
    bool ok = bundle_file_begin(&bundle->out, "calls.jsonl", O_EXCL);
    for (size_t i = 0; ok && i < bundle->state->calls.len; i++) {
        buf_clear(&line);
        call_print(&bundle->state->calls.at[i], i, &line);
        ok = bundle_file_add(&bundle->out, buf_str(&line));
    }
    buf_free(&line);
    return bundle_file_end(&bundle->out, ok);
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

static void command_print(const struct bundle_task *task, const struct tune_state *state,
                          const char *device, struct buf *out) {
    const char *release = tune_release(state);
    if (task->flat || !task->kernel)
        buf_puts(out, "hone sim .");
    else
        buf_printf(out, "hone sim %s", task->kernel);
    if (!task->flat && task->reference)
        buf_printf(out, " --reference %s", task->reference);
    if (state->function)
        buf_printf(out, " --kernel-name %s", state->function);
    buf_printf(out, " --device %s", device);
    if (release && nki_release_find(release))
        buf_printf(out, " --release %s", nki_release_find(release));
    if (state->lnc)
        buf_printf(out, " --lnc %d", state->lnc);
    if (state->tracing)
        buf_printf(out, " --tracing %s", state->tracing);
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
        buf_printf(&text, "%s on %s", tune_attempt_how(best), device);
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
        command_print(&bundle->task, state, device, &text);
    if (state->seeds.len)
        buf_puts(&text, " --seeds ");
    seeds_print(state, &text);
    if (!isnan(state->tolerance))
        buf_printf(&text, " --tolerance %g", state->tolerance);
    buf_printf(&text,
               "\n\nThe times of the session are from the target \"%s\". The seed kernel is "
               "attempts/000.py; what was decided and why is in events.jsonl. "
               "sha256sum -c SHA256SUMS tells whether a file was changed since.\n\n"
               "## What came of it\n\n```\n",
               state->target ? state->target : "sim");
    tune_summary_print(state, NULL, NULL, &text);
    buf_puts(&text, "```\n");
    bool ok = bundle_put(&bundle->out, "README.md", buf_str(&text));
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
    tune_json_put_number(object, "lnc", state->lnc ? state->lnc : NAN);
    tune_json_put_text(object, "release", tune_release(state));
    tune_json_put_text(object, "tracing", state->tracing);
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
        char *path = path_join(bundle->out.folder, file->name);
        ok = file->from
                 ? tune_large_copy(file->from, path, file->hash, bundle->err)
                 : bundle_put(&bundle->out, file->name, (struct str){file->text, file->size});
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
        state->attempts.at[i].path = arena_printf(state->arena, BUNDLE_SOURCE, (int)i);
}

static bool put_experiments(struct bundle *bundle) {
    struct buf row = {0};
    bool ok = bundle_file_begin(&bundle->out, "experiments.jsonl", O_EXCL);
    for (size_t i = 0; ok && i < bundle->state->attempts.len; i++) {
        buf_clear(&row);
        tune_experiment_print(bundle->state, &bundle->state->attempts.at[i], &row);
        ok = bundle_file_add(&bundle->out, buf_str(&row));
    }
    buf_free(&row);
    return bundle_file_end(&bundle->out, ok);
}

static bool put_memory(struct bundle *bundle) {
    struct bundle_out *out = &bundle->out;
    bool ok = bundle_file_begin(out, "optimization_memory/rewrites.json", O_EXCL) &&
              tune_memory_print(bundle->state, bundle_file_add, out);
    return bundle_file_end(&bundle->out, ok);
}

static bool put_parts(struct bundle *bundle) {
    const struct tune_attempt *best = best_of(bundle->state);
    paths_set(bundle->state);
    return bundle_task_find(&bundle->task, bundle->state, bundle->store,
                            tune_source(bundle->state, best), bundle->err) &&
           put_task(bundle) && put_model(bundle);
}

static bool put_state(struct bundle *bundle) {
    return put_attempts(bundle) && put_prompts(bundle) && put_calls(bundle) &&
           put_experiments(bundle) && put_memory(bundle) && put_session(bundle) &&
           put_readme(bundle);
}

/* The log is read once more by a thread. */
static bool put_all(struct bundle *bundle) {
    if (!put_parts(bundle))
        return false;
    struct bundle_log *log =
        bundle_log_begin(&bundle->out, store_folder(bundle->store), bundle->state);
    bool ok = put_state(bundle);
    return bundle_log_end(log, !ok, bundle->err) && ok;
}

/* ------------------------------------------------------------------------------------- reading */

static bool bundle_open(struct bundle *bundle, const char *session, struct err *err) {
    *bundle = (struct bundle){.err = err};
    bundle->out = (struct bundle_out){.places = &bundle->places, .fd = -1, .err = err};
    /* What is left of a session that lost its log is opened, and said to be damaged. */
    char *head = path_join(session, "session.db-head");
    bool is_session = store_exists(session) || file_exists(head);
    free(head);
    if (!is_session)
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
    bundle_out_free(&bundle->out);
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

static bool evaluate_with(struct bundle *bundle, tune_bundle_fn *evaluate, void *data) {
    const struct tune_state *state = bundle->state;
    const struct tune_attempt *best = best_of(state);
    const struct bundle_task *task = &bundle->task;
    char *kernel = path_join(bundle->out.folder, task->kernel);
    char *reference = task->reference ? path_join(bundle->out.folder, task->reference) : NULL;
    struct tune_bundle_made made = {.kernel = kernel,
                                    .reference = reference,
                                    .function = state->function,
                                    .device = state->device,
                                    .release = tune_release(state),
                                    .tracing = state->tracing,
                                    .lnc = state->lnc,
                                    .seed = state->seeds.len ? state->seeds.at[0] : 0,
                                    .tolerance = state->tolerance > 0 ? state->tolerance : 0,
                                    .holds = best && best->modelled &&
                                             best->verdict.compiles == TUNE_ANSWER_YES &&
                                             best->verdict.correct == TUNE_ANSWER_YES,
                                    .is_inside_model = state->model != NULL,
                                    .lacks = task->lacking};
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

static bool make_at(struct bundle *bundle, const char *place, tune_bundle_fn *evaluate,
                    void *data) {
    struct os_pending *pending = os_pending_begin(place);
    const char *beside = os_pending_path(pending);
    char *above = path_folder(beside);
    bundle->out.folder = beside;
    os_sweep(above); /* what killed ones left that could note nothing */
    bool ok = file_make_dirs(beside, bundle->err) && put_all(bundle) &&
              tune_manifest_write(beside, bundle->err) &&
              (!evaluate || !bundle->task.kernel || evaluate_with(bundle, evaluate, data)) &&
              take_place(beside, place, bundle->err);
    if (!ok && !os_pending_undo(pending))
        err_prefix(bundle->err, "%.200s could not be removed and is not whole", beside);
    os_pending_end(pending);
    free(above);
    return ok;
}

bool tune_bundle_write(const char *session, const char *folder, tune_bundle_fn *evaluate,
                       void *data, struct err *err) {
    struct bundle bundle;
    struct str name = str_of(folder);
    while (name.len > 1 && name.at[name.len - 1] == '/')
        name.len--;
    if (file_exists(folder) && (!file_is_dir(folder) || !is_empty(folder)))
        return err_set(err, ERR_USAGE, "%.200s already exists; give another --output", folder);
    struct buf named = {0};
    buf_add(&named, name.at, name.len);
    char *place = buf_take(&named);
    bool ok = bundle_open(&bundle, session, err);
    if (ok) {
        bundle_places_find(&bundle.places, bundle.state, session);
        ok = make_at(&bundle, place, evaluate, data);
    }
    bundle_close(&bundle);
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

char *tune_session_function(const char *session) {
    struct bundle bundle;
    struct err none = {0};
    char *function = NULL;
    if (bundle_open(&bundle, session, &none))
        function = mem_strdup(bundle.state->function);
    bundle_close(&bundle);
    return function;
}

static bool attempt_find(const struct tune_state *state, int number, const char *session,
                         struct tune_session_kernel *found, struct err *err) {
    int wanted = number >= 0 ? number : MAX_OF(state->best, 0);
    const struct tune_attempt *attempt = tune_state_attempt(state, wanted);
    if (!attempt && !state->attempts.len)
        return err_set(err, ERR_USAGE, "%.200s has no attempts yet", session);
    if (!attempt)
        return err_set(err, ERR_USAGE, "%.200s has no attempt %d; its attempts are 0 to %zu",
                       session, wanted, state->attempts.len - 1);
    found->attempt = wanted;
    found->source = tune_source_copy(state, attempt);
    if (attempt->timeline && !attempt->modelled && !attempt->profile_modelled)
        found->measured = mem_strdup(attempt->timeline);
    return (found->source && *found->source) ||
           err_set(err, ERR_DAMAGED, "the source of attempt %d cannot be read from %.200s", wanted,
                   session);
}

bool tune_session_kernel(const char *session, int attempt, struct tune_session_kernel *found,
                         struct err *err) {
    struct bundle bundle;
    *found = (struct tune_session_kernel){0};
    bool ok = bundle_open(&bundle, session, err) &&
              attempt_find(bundle.state, attempt, session, found, err);
    if (ok) {
        found->kernel = mem_strdup(tune_kernel_file(bundle.state));
        found->reference = mem_strdup(tune_reference_file(bundle.state));
        found->function = mem_strdup(bundle.state->function);
        found->device = mem_strdup(bundle.state->device);
        found->release = mem_strdup(tune_release(bundle.state));
        found->tracing = mem_strdup(bundle.state->tracing);
        found->lnc = bundle.state->lnc;
        found->is_pessimistic = bundle.state->is_pessimistic;
    }
    bundle_close(&bundle);
    return ok;
}

void tune_session_kernel_free(struct tune_session_kernel *found) {
    free(found->source);
    free(found->kernel);
    free(found->reference);
    free(found->function);
    free(found->device);
    free(found->release);
    free(found->tracing);
    free(found->measured);
    *found = (struct tune_session_kernel){0};
}
