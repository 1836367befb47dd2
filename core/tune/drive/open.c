/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a session: the task, the folder, the log read back, the target and the
 * proposer by name. It starts nothing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/loop.h"
#include "nki/nki.h"
#include "task/task.h"
#include "tune/drive/private.h"
#include "tune/drive/opening.h"

#define MOST_PATH 480 /* bytes of a session's folder */
#define MAX_REFERENCE ((size_t)256 << 10)

/* -------------------------------------------------------------------------- what to write down */

/* No two sessions have the same id: hosts know the jobs of a session by it. */
static struct hash id_new(const struct task *task) {
    uint64_t now = clock_monotonic_ns();
    int64_t wall = clock_wall_ms();
    pid_t pid = getpid();
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    struct hash_stream *stream = hash_begin();
    hash_add(stream, &now, sizeof now);
    hash_add(stream, &wall, sizeof wall);
    hash_add(stream, &pid, sizeof pid);
    hash_add(stream, host, strlen(host));
    hash_add(stream, task->kernel_path, strlen(task->kernel_path));
    return hash_end(stream);
}

/* What a model is shown of the reference; a file that is no text of a usual size is not. */
static const char *reference_of(struct arena *arena, const char *path) {
    struct err err = {0};
    char *text = path ? file_read(path, MAX_REFERENCE, NULL, &err) : NULL;
    const char *kept = text ? arena_strdup(arena, text) : NULL;
    free(text);
    return kept;
}

static bool session_emit(struct tune_session *session, const struct tune_event *event,
                         struct err *err) {
    return tune_emit(session, TUNE_ALL_LANES, event) ||
           err_set(err, ERR_ENVIRONMENT, "%s", session->trouble);
}

/* The kernel of a file of several: what was asked for, or what the task says. */
static const char *function_of(const struct tune_options *options, const struct task *task) {
    struct str text = {task->kernel_text, task->kernel_len};
    struct err none = {0};
    if (options->function || !task->function)
        return options->function;
    return nki_has_kernel(task->kernel_path, text, task->function, &none) ? task->function : NULL;
}

/* What --reference names is found again from every folder; a file beside the kernel is anyway. */
static const char *reference_path(struct arena *arena, const struct tune_options *options,
                                  const struct task *task) {
    char *path = options->reference ? path_absolute(task->reference_path) : NULL;
    const char *kept = path ? arena_strdup(arena, path) : task->reference_path;
    free(path);
    return kept;
}

/* Rows of a session that was here and is gone are no rows of this one. */
static void rows_set_aside(const struct tune_session *session) {
    char *rows = path_join(store_folder(session->store), "experiments.jsonl");
    char *old = path_join(store_folder(session->store), "experiments.jsonl.old");
    if (file_exists(rows) && rename(rows, old) != 0)
        store_log(session->store, "warning", "experiments.jsonl of another session stays here");
    free(old);
    free(rows);
}

static bool session_begin(struct tune_session *session, const struct tune_options *options,
                          const struct task *task, const char *id, struct err *err) {
    struct arena *arena = arena_new();
    char *model = task->model ? task_model_without_secrets(task->model) : NULL;
    struct tune_event event = tune_event_empty(TUNE_EVENT_SESSION);
    event.session.id = id;
    event.session.task = task->name;
    event.session.kernel = task->kernel_path;
    event.session.reference = reference_path(arena, options, task);
    event.session.source = task->kernel_text;
    event.session.function = function_of(options, task);
    event.session.model = model;
    event.session.reference_source = reference_of(arena, task->reference_path);
    bool ok = tune_options_begin(&event.session, arena, options, err) &&
              session_emit(session, &event, err);
    if (ok) {
        rows_set_aside(session);
        tune_import_memory(session);
    }
    free(model);
    arena_free(arena);
    return ok;
}

/* Values that may not change once something was measured. */
static bool same_place(const struct tune_state *state, const struct tune_options *options,
                       struct err *err) {
    const struct {
        const char *what, *before, *now;
    } all[] = {{"device", state->device, options->device},
               {"target", state->target, options->target},
               {"kernel-name", state->function, options->function},
               {"release", tune_release(state) ? tune_release(state) : nki_release_newest(),
                options->release}};
    for (size_t i = 0; i < COUNT_OF(all) && state->attempts.len; i++)
        if (all[i].now && all[i].before && strcmp(all[i].now, all[i].before) != 0)
            return err_set(err, ERR_USAGE,
                           "this session was measured with --%s %s; for %s start another session "
                           "with --session DIR or --fresh",
                           all[i].what, all[i].before, all[i].now);
    if (state->attempts.len && options->tracing &&
        strcmp(options->tracing, state->tracing ? state->tracing : "hone") != 0)
        return err_set(err, ERR_USAGE,
                       "in this session %s evaluates kernels; for --tracing %.20s start another "
                       "session with --session DIR or --fresh",
                       state->tracing ? state->tracing : "hone", options->tracing);
    if (state->attempts.len && options->lnc && options->lnc != state->lnc)
        return err_set(err, ERR_USAGE,
                       "this session launches kernels %s; for --lnc %d start another session with "
                       "--session DIR or --fresh",
                       state->lnc == 2   ? "on two cores"
                       : state->lnc == 1 ? "on one core"
                                         : "as their files do",
                       options->lnc);
    return true;
}

/* What the command line changes of a session that exists. */
static bool session_change(struct tune_session *session, const struct tune_options *options,
                           struct err *err) {
    const struct tune_state *state = session->state;
    struct arena *arena = arena_new();
    struct tune_event event = tune_event_empty(TUNE_EVENT_SESSION);
    event.form = TUNE_FORM_SESSION_CHANGE;
    bool ok = tune_options_change(&event.session, arena, state, options, err);
    if (options->rounds > 0)
        event.session.rounds = (int)state->budgets[TUNE_BUDGET_ROUNDS].spent + options->rounds;
    /* Every change of a value is written down with where it came from. */
    if (ok && event.session.origins.count)
        ok = session_emit(session, &event, err);
    arena_free(arena);
    return ok;
}

static bool session_continue(struct tune_session *session, const struct tune_options *options,
                             struct err *err) {
    const struct tune_state *state = session->state;
    if (!same_place(state, options, err))
        return false;
    bool under_way = state->running;
    for (int i = 0; i < TUNE_STEPS; i++)
        under_way = under_way || state->steps[i].is == TUNE_IS_RUNNING;
    if (under_way)
        tune_emit(session, TUNE_ALL_LANES, TUNE_EVENT_ONLY(RESUMED));
    tune_session_run_end(session); /* of a run that was killed */
    if (store_note(session->store))
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "session", "%s",
                      store_note(session->store));
    bool ok = session_change(session, options, err);
    if (ok)
        tune_export_mend(session);
    if (ok)
        tune_checkpoints_mend(session);
    return ok;
}

/* ---------------------------------------------------------------------------------- the folder */

static char *folder_of(const struct tune_options *options, const struct task *task) {
    if (options->session_dir)
        return mem_strdup(options->session_dir);
    char *hone = path_join(task->folder, ".hone");
    char *folder = path_join(hone, task->name);
    free(hone);
    return folder;
}

/* No session begins beside one of the same kernel without a word. */
static bool is_found(const char *folder, const struct tune_options *options,
                     const struct task *task, struct err *err) {
    return options->session_dir || options->fresh || task->is_builtin ||
           strcmp(path_base(task->kernel_path), "kernel.py") != 0 ||
           !tune_session_renamed(folder, ", or begin a new one with --fresh", err);
}

/* Begins anew in a folder: the old session is moved aside, the optimisation memory stays. */
static bool folder_refresh(const char *folder, struct err *err) {
    char *memory = path_join(folder, "optimization_memory/rewrites.json");
    size_t size = 0;
    char *kept = file_exists(memory) ? file_read(memory, 0, &size, err) : NULL;
    char *memory_folder = path_folder(memory);
    bool ok = store_set_aside(folder, err);
    if (ok && kept)
        ok = file_make_private(memory_folder, err) && file_write_private(memory, kept, size, err);
    free(memory_folder);
    free(kept);
    free(memory);
    return ok;
}

/* "rewriter", "agents", or a person, or models; see tune_models_new. */
static bool proposer_open(struct tune_session *session, const struct config *config,
                          const char *name, struct err *err) {
    if (session->proposer)
        return true;
    if (name && !strcmp(name, "agents"))
        session->proposer = tune_agents_new();
    else if (name && strcmp(name, "rewriter") != 0)
        session->proposer = tune_models_new(session->loop, config, name, err);
    else
        session->proposer = tune_rewriter_new(session->loop);
    return session->proposer != NULL;
}

/* What the session is about to have: given, else its own, else the configuration's. */
static const char *name_of(const struct tune_session *session, const char *key, const char *given,
                           const char *own) {
    return given                 ? given
           : session->state->seq ? own
                                 : config_get(session->config, "defaults", key, NULL);
}

/* Target and proposer by name. They come before anything is written down: a name that does not
 * exist does not get into the session. */
static bool ways_open(struct tune_session *session, const struct tune_options *options,
                      const char *id, struct err *err) {
    const struct tune_state *state = session->state;
    struct target_options where = {.config = options->config, .session = id};
    const char *target = name_of(session, "target", options->target, state->target);
    const char *proposer = options->agents
                               ? "agents"
                               : name_of(session, "proposer", options->proposer, state->proposer);
    return (options->place ||
            tune_place_open(&session->place, session->loop, target, &where, err)) &&
           proposer_open(session, options->config, proposer, err);
}

/* Who only looks sees everything up to the damage, and the words for it. */
static bool log_end(struct tune_session *session, const struct tune_options *options, bool whole,
                    struct err *err) {
    struct tune_state *state = session->state;
    bool shown = !whole && options->read_only && err->kind == ERR_DAMAGED && state->seq;
    if (shown) {
        tune_trouble_set(session, err->text);
        *err = (struct err){0};
    }
    return whole || shown;
}

/* The log has paths as whoever began it gave them, maybe from another folder than this one. */
static void files_name(struct tune_state *state, const struct task *task) {
    if (state->keeps_files || task->is_builtin)
        return;
    state->kernel_file = tune_keep(state, task->kernel_path);
    if (task->reference_path)
        state->reference_file = tune_keep(state, task->reference_path);
}

#define AGENTS_PROPOSE "agents propose while hone mcp holds the session"
#define OWN_PROPOSES " proposes from here on; agents did before"

/* Who proposes is an option of each opening: the log says where it changes hands. */
static void proposer_tell(struct tune_session *session, const struct tune_options *options) {
    const struct tune_state *state = session->state;
    const char *own = state->proposer ? state->proposer : "rewriter";
    bool did = false;
    for (size_t i = 0; i < state->logs.len; i++) {
        const char *text = state->logs.at[i].text;
        if (!strcmp(text, AGENTS_PROPOSE) || strstr(text, OWN_PROPOSES))
            did = !strcmp(text, AGENTS_PROPOSE);
    }
    if (options->agents && !did)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "session", "%s", AGENTS_PROPOSE);
    else if (!options->agents && did && strcmp(own, "agents") != 0)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "session", "%s%s", own,
                      OWN_PROPOSES);
}

/* The log is read: what the session needs beside it. */
static bool session_complete(struct tune_session *session, const struct tune_options *options,
                             const struct task *task, struct err *err) {
    struct tune_state *state = session->state;
    state->read_only = store_is_read_only(session->store);
    state->held_by = store_holder(session->store);
    state->why_read_only = store_why_read_only(session->store);
    if (state->read_only) {
        files_name(state, task);
        tune_follow_begin(session);
        return true;
    }
    struct hash id = id_new(task);
    if (!options->idle && !ways_open(session, options, state->id ? state->id : id.hex, err))
        return false;
    bool is_new = !state->seq;
    if (is_new ? !session_begin(session, options, task, id.hex, err)
               : !session_continue(session, options, err))
        return false;
    if (!options->fresh)
        tune_rescued_tell(session);
    tune_files_begin(session);
    if (!is_new)
        tune_kept_mend(session);
    if (!tune_files_place(session, err))
        return false;
    if (options->idle)
        return true;
    if (options->early) /* a person sees the screen before the disk has answered */
        tune_look_and_compare(session);
    else
        tune_files_check(session, false);
    if (state->model)
        session->model = task_model_with_secrets(state->model, task->model);
    if (state->model && session->place.modelled)
        return err_set(err, ERR_USAGE,
                       "%s has a model.ini: the kernel is timed inside a whole model, "
                       "which the device model cannot run. Give --target with a host or a cluster",
                       state->task);
    tune_place_follow(session);
    state->roles = session->proposer->roles;
    proposer_tell(session, options);
    tune_recent_note(session);
    return true;
}

/* -------------------------------------------------------------------------------- reading back */

/* What a session that is opened early is completed with. */
struct tune_early {
    struct tune_options options; /* with copies of its texts where it needs them */
    struct arena *arena;
    struct task *task;
};

static void early_forget(struct tune_session *session) {
    if (!session->early)
        return;
    arena_free(session->early->arena);
    task_free(session->early->task);
    free(session->early);
    session->early = NULL;
}

static void early_keep(struct tune_session *session, const struct tune_options *options,
                       struct task *task) {
    struct tune_early *early = session->early = mem_alloc(1, sizeof *early);
    const char **texts[] = {
        &early->options.task,   &early->options.reference, &early->options.device,
        &early->options.target, &early->options.proposer,  &early->options.search,
        &early->options.seeds,  &early->options.precision, &early->options.session_dir};
    early->options = *options;
    early->arena = arena_new();
    early->task = task;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (*texts[i])
            *texts[i] = arena_strdup(early->arena, *texts[i]);
}

static void early_end(struct tune_session *session, struct err *err) {
    struct tune_early *early = session->early;
    bool whole = err->kind == ERR_NONE && store_settle(session->store, err);
    bool ok = log_end(session, &early->options, whole, err) &&
              session_complete(session, &early->options, early->task, err);
    early_forget(session);
    if (ok)
        *err = (struct err){0};
    session->unread = !ok;
    if (session->opened)
        session->opened(session->opened_context, err);
}

/* The task belongs to the session's opening when it goes on. */
static bool session_read(struct tune_session *session, const struct tune_options *options,
                         struct task *task, struct err *err) {
    bool ok = options->early ? tune_opening_start(session, early_end, err)
                             : tune_opening_read(session, err);
    if (ok && session->state->opening) {
        early_keep(session, options, task);
        return true;
    }
    ok = ok && store_settle(session->store, err);
    ok = log_end(session, options, ok, err) && session_complete(session, options, task, err);
    task_free(task);
    return ok;
}

/* A number of [search], and in *from where it was set; NAN when it is not. */
static double search_number(struct tune_state *state, const struct config *config, const char *key,
                            const char **from) {
    struct config_origin origin;
    struct buf text = {0};
    if (!config_get(config, "search", key, &origin))
        return NAN;
    config_origin_print(&origin, &text);
    *from = tune_keep(state, text.at);
    buf_free(&text);
    return config_number(config, "search", key);
}

/* Where the compiler is asked for its prediction: nowhere on this machine, unless a person said
 * so. */
static const char *nki_python(struct tune_state *state, const struct config *config) {
    const char *set = config_get(config, "defaults", "nki_python", NULL);
    return set && *set && strcmp(set, "none") != 0 ? tune_keep(state, set) : NULL;
}

static enum tune_prune_by prune_by(const struct config *config) {
    static const char *const words[] = {[TUNE_PRUNE_MODEL] = "model",
                                        [TUNE_PRUNE_COMPILER] = "compiler",
                                        [TUNE_PRUNE_BOTH] = "both"};
    const char *set = config_get(config, "search", "prune_by", NULL);
    for (size_t i = 0; set && i < COUNT_OF(words); i++)
        if (!strcmp(set, words[i]))
            return (enum tune_prune_by)i;
    return TUNE_PRUNE_MODEL;
}

static enum tune_asks asks(const struct config *config) {
    const char *set = config_get(config, "roles", "ask", NULL);
    return set && !strcmp(set, "once")    ? TUNE_ASKS_ONCE
           : set && !strcmp(set, "twice") ? TUNE_ASKS_TWICE
                                          : TUNE_ASKS_AUTO;
}

/* What belongs to this process, not to the session. */
static void limits_read(struct tune_session *session, const struct config *config) {
    struct tune_state *state = session->state;
    state->questions = (int)search_number(state, config, "questions", &state->questions_from);
    state->prune = search_number(state, config, "prune", &state->prune_from);
    state->prune_by = prune_by(config);
    state->asks = asks(config);
    const char *inside = config_get(config, "search", "keep_inside", NULL);
    state->keeps_inside = inside && !strcmp(inside, "yes");
    state->nki_python = nki_python(state, config);
    session->questions = state->questions;
    session->prune = state->prune;
}

/* A session goes beside its kernel: not beside a device or a pipe. */
static bool is_odd(const char *path) {
    struct stat st;
    return path && stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static bool kernel_is_file(const char *task, struct err *err) {
    char *kernel = task ? path_join(task, "kernel.py") : NULL;
    const char *odd = is_odd(task) ? task : is_odd(kernel) ? kernel : NULL;
    if (odd)
        err_set(
            err, ERR_USAGE,
            "%s is a device or a pipe: a task's kernel is a file, beside which its session goes",
            odd);
    free(kernel);
    return !odd;
}

/* SQLite takes paths of 512 bytes, and follows links before it counts. */
static bool fits_sqlite(const char *folder, struct err *err) {
    char *path = path_absolute(folder);
    size_t length = strlen(path);
    free(path);
    return length <= MOST_PATH ||
           err_set(err, ERR_USAGE,
                   "the path of the session's folder has %zu bytes, and %d are possible: give a "
                   "shorter one with --session, or move the task to a folder with a shorter path",
                   length, MOST_PATH);
}

struct tune_session *tune_session_open(const struct tune_options *options, struct loop *loop,
                                       struct err *err) {
    if (!tune_options_check(options, err))
        return NULL;
    struct task *task = kernel_is_file(options->task, err)
                            ? task_open(options->task, options->reference, err)
                            : NULL;
    if (!task)
        return NULL;
    struct str text = {task->kernel_text, task->kernel_len};
    if (options->function && !nki_has_kernel(task->kernel_path, text, options->function, err)) {
        task_free(task);
        return NULL;
    }
    struct tune_session *session = mem_alloc(1, sizeof *session);
    session->loop = loop;
    session->driver = &tune_drive;
    session->config = options->config;
    session->proposer = options->use;
    if (options->place)
        session->place = *options->place;
    session->state = tune_state_new();
    session->seen = task_seen_new();
    limits_read(session, options->config);
    session->task_path =
        task->is_builtin ? mem_strdup(options->task) : path_absolute(options->task);
    session->kernel_now = mem_strdup(task->kernel_path);
    session->reference_now = mem_strdup(task->reference_path);
    session->is_builtin = task->is_builtin;
    char *folder = folder_of(options, task);
    bool ok = fits_sqlite(folder, err) && is_found(folder, options, task, err) &&
              (!options->fresh || folder_refresh(folder, err));
    session->left_ns = tune_left_ns(folder);
    session->store = !ok              ? NULL
                     : options->early ? store_open_early(folder, options->read_only, err)
                                      : store_open(folder, options->read_only, err);
    ok = session->store != NULL;
    free(folder);
    if (!ok)
        task_free(task);
    if (ok && session_read(session, options, task, err))
        return session;
    session->unread = true;
    tune_session_close(session);
    return NULL;
}

void tune_session_close(struct tune_session *session) {
    if (!session)
        return;
    session->closing = true;
    session->changed = NULL;
    session->on_event = NULL;
    tune_follow_end(session);
    loop_timer_stop(session->deadline);
    session->unread |= session->state->opening;
    tune_opening_forget(session);
    early_forget(session);
    tune_slices_forget(session);
    tune_large_forget(session);
    tune_look_forget(session);
    task_seen_free(session->seen);
    tune_ingest_forget(session);
    if (session->proposer)
        tune_work_cancel(session);
    tune_beside_free(session);
    tune_opinion_free(session);
    if (session->place.free)
        session->place.free(session->place.self);
    while (session->evaluations)
        tune_evaluation_drop(session->evaluations);
    if (session->proposer && session->proposer->free)
        session->proposer->free(session->proposer->self);
    if (!session->unread && !store_is_read_only(session->store) && session->state->seq)
        tune_recent_note(session);
    for (struct tune_reply *at = session->replies; at; at = at->next)
        at->done = true;
    tune_replies_free(session);
    free(session->model);
    free(session->original);
    store_close(session->store);
    tune_state_free(session->state);
    free(session->trouble);
    free(session->task_path);
    buf_free(&session->notes);
    free(session->kernel_now);
    free(session->reference_now);
    free(session);
}
