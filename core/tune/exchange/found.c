/* SPDX-License-Identifier: Apache-2.0 */
/* What of a task shows only when it runs: files whose names are put together at run time, files
 * that only a candidate imports, and which Python made the inputs. The files join those of the
 * session, so that a change in them is noticed, too, and an export has them. */
#include <stdlib.h>
#include <sys/stat.h>

#include "tune/exchange/private.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"

struct found {
    struct tune_session *session;
    struct arena *arena;
    char *root;                            /* the folder below which names of files are */
    const char *folder;                    /* of the reference; NULL: of nothing */
    VEC(struct tune_event_task_file) rows; /* the session's files and those that are new */
};

static bool is_known(const struct found *found, const char *name) {
    for (size_t i = 0; i < found->rows.len; i++)
        if (!strcmp(found->rows.at[i].name, name))
            return true;
    return false;
}

/* The name below the root; NULL: it lies elsewhere. */
static const char *name_of(const struct found *found, const char *path) {
    size_t len = strlen(found->root);
    bool below = !strncmp(path, found->root, len) && path[len] == '/';
    return below && tune_file_name_is_safe(path + len + 1) ? path + len + 1 : NULL;
}

/* Of a file that is too large only the hash is kept; false: it is not. */
static bool large_add(struct found *found, const char *path, const char *name, const char *of) {
    struct stat st;
    struct hash hash;
    int64_t size;
    if (!task_seen_stat(found->session->seen, path, &st) ||
        st.st_size <= (off_t)TASK_MAX_FILE_BYTES)
        return false;
    enum tune_large_is is = tune_large_sum(found->session, path, &size, &hash);
    if (is == TUNE_LARGE_BUSY)
        tune_large_want(found->session, path, name, of);
    if (is != TUNE_LARGE_KNOWN)
        return is == TUNE_LARGE_BUSY;
    *vec_push(&found->rows) =
        (struct tune_event_task_file){.name = arena_strdup(found->arena, name),
                                      .hash = arena_strdup(found->arena, hash.hex),
                                      .of = of,
                                      .left = size};
    return true;
}

static void file_add(struct found *found, const char *path, const char *of) {
    const char *name = name_of(found, path);
    size_t size = 0;
    struct hash hash;
    struct err err = {0};
    if (!name || is_known(found, name) || found->rows.len >= TASK_MAX_FILES)
        return;
    if (large_add(found, path, name, of))
        return;
    char *text = task_seen_read(found->session->seen, path, &size, &err);
    if (text && store_artefact_put(found->session->store, text, size, &hash, &err))
        *vec_push(&found->rows) =
            (struct tune_event_task_file){.name = arena_strdup(found->arena, name),
                                          .hash = arena_strdup(found->arena, hash.hex),
                                          .of = of};
    else
        tune_emit_log(found->session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "files",
                      "%.200s belongs to this task but is not kept: %.300s", name, err.text);
    free(text);
}

static char *read_path(const struct found *found, const char *name) {
    char *joined = path_join(found->folder, name), *path = task_path_plain(joined);
    free(joined);
    return path;
}

/* Reading what is known already would only take the loop's time. */
static bool wants(const struct found *found, const char *name) {
    char *path = read_path(found, name);
    const char *own = name_of(found, path);
    bool wanted = own && !is_known(found, own);
    free(path);
    return wanted;
}

static void on_read(struct found *found, const char *name) {
    char *path = read_path(found, name);
    file_add(found, path, str_ends(str_of(name), ".py") ? "reference imports" : "reference reads");
    free(path);
}

static void what_the_reference_read(struct found *found) {
    const struct tune_state *state = found->session->state;
    const char *reference = tune_reference_file(state);
    char *folder = reference ? path_folder(reference) : NULL;
    found->folder = folder;
    char *const *names;
    size_t count = tune_look_reads(found->session, &names);
    for (size_t i = 0; folder && i < count; i++)
        if (wants(found, names[i]))
            on_read(found, names[i]);
    free(folder);
}

static void what_the_candidate_imports(struct found *found, const char *source) {
    struct task_closure *closure = tune_files_now(found->session, source, false, NULL);
    for (size_t i = 0; closure && i < closure->files.len; i++)
        if (!closure->files.at[i].is_start)
            file_add(found, closure->files.at[i].path, tune_files_word(&closure->files.at[i]));
    for (size_t i = 0; closure && i < closure->left.len; i++)
        file_add(found, closure->left.at[i].path, tune_files_read_word(closure->left.at[i].of));
    task_closure_free(closure);
}

static void files_emit(struct found *found, size_t before) {
    struct buf names = {0};
    for (size_t i = before; i < found->rows.len; i++)
        buf_printf(&names, "%s%s%s", i > before ? ", " : "", found->rows.at[i].name,
                   found->rows.at[i].left ? " (only its hash: it is too large)" : "");
    if (tune_emit(found->session, TUNE_ALL_LANES,
                  TUNE_EVENT_AS(CLOSURE, CLOSURE_FILES, closure,
                                .files = {found->rows.at, found->rows.len, true})))
        tune_emit_log(found->session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "files",
                      "this task also uses %.400s: kept with the session", names.at);
    buf_free(&names);
}

static void found_begin(struct found *found) {
    const struct tune_state *state = found->session->state;
    found->arena = arena_new();
    for (size_t i = 0; i < state->files.len; i++)
        *vec_push(&found->rows) =
            (struct tune_event_task_file){.name = state->files.at[i].name,
                                          .hash = state->files.at[i].hash,
                                          .of = state->files.at[i].of,
                                          .left = state->files.at[i].left_bytes};
}

static void found_end(struct found *found, size_t before) {
    if (found->rows.len > before)
        files_emit(found, before);
    vec_free(&found->rows);
    arena_free(found->arena);
    free(found->root);
}

void tune_files_late(struct tune_session *session, const char *name, const char *of, int64_t size,
                     const struct hash *hash) {
    struct found found = {.session = session};
    if (session->state->keeps_files || session->state->read_only)
        return;
    found_begin(&found);
    size_t before = found.rows.len;
    if (!is_known(&found, name))
        *vec_push(&found.rows) = (struct tune_event_task_file){
            .name = name, .hash = arena_strdup(found.arena, hash->hex), .of = of, .left = size};
    found_end(&found, before);
}

void tune_files_found(struct tune_session *session, const char *source) {
    const struct tune_state *state = session->state;
    struct found found = {.session = session};
    /* The session's own copies are what counts then; a change that waits for an answer comes
     * first. */
    if (!state->files.len || state->keeps_files || state->changed.len || state->read_only ||
        !(found.root = tune_files_root(session)))
        return;
    found_begin(&found);
    size_t before = found.rows.len;
    what_the_reference_read(&found);
    if (source)
        what_the_candidate_imports(&found, source);
    found_end(&found, before);
}

#define SIZES_MOST 8 /* inputs that are told */

/* "x float32 (4096, 4096), g float32 (4096,)": the arrays among the inputs. */
static void sizes_print(const struct task_inputs *inputs, struct buf *out) {
    size_t arrays = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct task_value *value = &inputs->values[i];
        if (value->kind != TASK_ARRAY || arrays++ >= SIZES_MOST)
            continue;
        buf_printf(out, "%s%s%s%s (", out->len ? ", " : "", value->name ? value->name : "",
                   value->name ? " " : "", dtype_name(value->array.dtype));
        for (int k = 0; k < value->array.ndim; k++)
            buf_printf(out, "%s%lld", k ? ", " : "", (long long)value->array.shape[k]);
        buf_puts(out, value->array.ndim == 1 ? ",)" : ")");
    }
    if (arrays > SIZES_MOST)
        buf_printf(out, " and %zu more", arrays - SIZES_MOST);
}

void tune_files_versions(struct tune_session *session) {
    const struct tune_state *state = session->state;
    const char *path = tune_reference_file(state);
    const struct task_inputs *inputs = path ? tune_look_shapes(session) : NULL;
    bool told = inputs && inputs->python[0] && inputs->numpy[0];
    bool same = told && state->python && state->numpy && !strcmp(state->python, inputs->python) &&
                !strcmp(state->numpy, inputs->numpy);
    if (told && !same && state->python)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "files",
                      "the inputs now come from Python %s with numpy %s; before, they came from "
                      "Python %s with numpy %s",
                      inputs->python, inputs->numpy, state->python,
                      state->numpy ? state->numpy : "?");
    struct buf sizes = {0};
    if (inputs)
        sizes_print(inputs, &sizes);
    same = same && (!sizes.len || (state->sizes && !strcmp(state->sizes, sizes.at)));
    if (told && !same)
        tune_emit(session, TUNE_ALL_LANES,
                  TUNE_EVENT_AS(CLOSURE, CLOSURE_VERSIONS, closure, .python = inputs->python,
                                .numpy = inputs->numpy, .sizes = sizes.len ? sizes.at : NULL));
    buf_free(&sizes);
}
