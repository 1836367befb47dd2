/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a task is made of: kept in the session by content, compared with those on disk,
 * and put where they can be read when the session's own are to count. A person decides which ones
 * count; what follows from that is drive's. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "task/task.h"
#include "tune/exchange/private.h"
#include "tune/session/inner.h"
#include "tune/state/inner.h"
#include "tune/state/state.h"

#define MAX_DIFF_LINES 400 /* of a file */
#define MAX_DIFF_BYTES ((size_t)32 << 10)
#define APART_BYTES ((off_t)64 << 10) /* larger files are read by a worker */
#define KEPT "task"                   /* folder of the session's own copies */

const char *tune_files_read_word(unsigned of) {
    return of == (TASK_OF_KERNEL | TASK_OF_REFERENCE) ? "both read"
           : of == TASK_OF_KERNEL                     ? "kernel reads"
                                                      : "reference reads";
}

/* Words of an event: kernel or reference itself, or whose import it is. */
const char *tune_files_word(const struct task_file *file) {
    if (file->is_start)
        return file->of & TASK_OF_KERNEL ? "kernel" : "reference";
    if (file->by_text)
        return tune_files_read_word(file->of);
    return file->of == (TASK_OF_KERNEL | TASK_OF_REFERENCE) ? "both import"
           : file->of == TASK_OF_KERNEL                     ? "kernel imports"
                                                            : "reference imports";
}

static bool is_kernel(const struct tune_task_file *file) {
    return strcmp(file->of, "kernel") == 0;
}

/* --------------------------------------------------------------------------- what is on disk */

static bool is_there(const struct tune_session *session, const char *path) {
    struct stat st;
    return task_seen_stat(session->seen, path, &st);
}

struct task_closure *tune_files_now(const struct tune_session *session, const char *source,
                                    bool data, struct err *err) {
    const char *kernel = session->kernel_now, *reference = session->reference_now;
    char *folder = path_folder(reference ? reference : "x"), *beside = NULL;
    if (session->is_builtin) { /* no file: it stands for one beside its reference */
        beside = path_join(folder, "kernel.py");
        kernel = beside;
    }
    if (!source && (session->is_builtin || !is_there(session, kernel)))
        source = session->state->kernel_source;
    struct task_start start = {.kernel_path = kernel,
                               .kernel_text = source,
                               .reference_path = reference,
                               .no_data = !data,
                               .seen = session->seen};
    struct task_closure *closure = task_closure_find(&start, err);
    free(beside);
    free(folder);
    return closure;
}

char *tune_files_root_of(const struct tune_state *state, const char *anchor, const char *of) {
    const char *name = NULL;
    for (size_t i = 0; i < state->files.len; i++)
        if (!strcmp(state->files.at[i].of, of))
            name = state->files.at[i].name;
    char *plain = anchor ? task_path_plain(anchor) : NULL;
    size_t len = plain ? strlen(plain) : 0, tail = name ? strlen(name) : 0;
    bool fits = plain && name && len > tail && plain[len - tail - 1] == '/' &&
                strcmp(plain + len - tail, name) == 0;
    if (fits)
        plain[len - tail - 1] = '\0';
    if (fits && plain[0])
        return plain;
    free(plain);
    return NULL;
}

char *tune_files_root(const struct tune_session *session) {
    return session->is_builtin
               ? tune_files_root_of(session->state, session->reference_now, "reference")
               : tune_files_root_of(session->state, session->kernel_now, "kernel");
}

/* --------------------------------------------------------------------------------- writing down */

static bool artefacts_put(struct tune_session *session, const struct task_closure *closure,
                          struct err *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < closure->files.len; i++) {
        const struct task_file *file = &closure->files.at[i];
        struct hash hash;
        ok = store_artefact_put(session->store, file->text, file->size, &hash, err);
    }
    return ok;
}

/* Those that are kept, and behind them those of which only the hash is. */
static size_t rows_of(struct tune_session *session, struct arena *arena,
                      const struct task_closure *closure, struct tune_event_task_file *rows) {
    size_t count = 0;
    for (size_t i = 0; i < closure->files.len; i++)
        rows[count++] = (struct tune_event_task_file){.name = closure->files.at[i].name,
                                                      .hash = closure->files.at[i].hash.hex,
                                                      .of = tune_files_word(&closure->files.at[i])};
    for (size_t i = 0; i < closure->left.len; i++) {
        const struct task_left *left = &closure->left.at[i];
        struct hash hash;
        int64_t size;
        enum tune_large_is is = tune_large_sum(session, left->path, &size, &hash);
        if (is == TUNE_LARGE_BUSY)
            tune_large_want(session, left->path, left->name, tune_files_read_word(left->of));
        if (is == TUNE_LARGE_KNOWN)
            rows[count++] = (struct tune_event_task_file){.name = left->name,
                                                          .hash = arena_strdup(arena, hash.hex),
                                                          .of = tune_files_read_word(left->of),
                                                          .left = size};
    }
    return count;
}

static bool closure_emit(struct tune_session *session, const struct task_closure *closure,
                         bool taken) {
    struct arena *arena = arena_new();
    struct tune_event_task_file *rows =
        ARENA_ARRAY(arena, struct tune_event_task_file, closure->files.len + closure->left.len + 1);
    size_t count = rows_of(session, arena, closure, rows);
    bool ok = tune_emit(session, TUNE_ALL_LANES,
                        TUNE_EVENT_AS(CLOSURE, CLOSURE_FILES, closure, .files = {rows, count, true},
                                      .taken = taken));
    arena_free(arena);
    return ok;
}

/* A reference that changed since an older hone wrote the session is noticed, too. */
static void reference_as_it_was(const struct tune_state *state, struct task_closure *closure) {
    for (size_t i = 0; state->reference_source && i < closure->files.len; i++) {
        struct task_file *file = &closure->files.at[i];
        if (!file->is_start || file->of & TASK_OF_KERNEL)
            continue;
        free(file->text);
        file->text = mem_strdup(state->reference_source);
        file->size = strlen(file->text);
        file->hash = hash_content(file->text, file->size);
    }
}

static void tell_left(struct tune_session *session, const struct task_closure *closure) {
    for (size_t i = 0; i < closure->left.len; i++)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "files",
                      "%.300s is too large to be kept with the session (%zu MB at most): only its "
                      "hash is. A change in it is noticed; hone export copies it from there",
                      closure->left.at[i].path, TASK_MAX_FILE_BYTES >> 20);
}

void tune_files_begin(struct tune_session *session) {
    struct err err = {0};
    if (session->state->files.len || !session->state->kernel_source)
        return;
    struct task_closure *closure =
        tune_files_now(session, session->state->kernel_source, true, &err);
    if (closure)
        reference_as_it_was(session->state, closure);
    if (!closure || !artefacts_put(session, closure, &err))
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "files",
                      "the files of this task cannot be stored: %s", err.text);
    else if (closure_emit(session, closure, false))
        tell_left(session, closure);
    task_closure_free(closure);
}

/* Whether the kernel's file is gone, so that there is nothing to take in its place. */
static bool kernel_is_gone(const struct tune_session *session) {
    return !session->is_builtin && session->kernel_now && !is_there(session, session->kernel_now);
}

/* Its latency is one of another task. */
static void tell_outdated(struct tune_session *session, int best) {
    if (best > 0)
        tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "files",
                      "the task is another one now: attempt %d, the best so far, and all others no "
                      "longer count; what they tried may be tried again",
                      best);
}

/* What is under way was written for the task as it was. */
static bool open_ones_end(struct tune_session *session) {
    const struct tune_state *state = session->state;
    bool ok = true;
    for (int id = 1; ok && (size_t)id < state->attempts.len; id++) {
        if (state->attempts.at[id].status != TUNE_STATUS_OPEN)
            continue;
        ok = tune_emit(session, TUNE_ALL_LANES,
                       TUNE_EVENT(DECIDED, decided, .attempt = id, .status = TUNE_STATUS_REVERT,
                                  .reason = "given up: files of the task changed meanwhile"));
        if (ok)
            tune_export(session, id);
    }
    return ok;
}

bool tune_files_take(struct tune_session *session) {
    struct err err = {0};
    bool gone = kernel_is_gone(session);
    int best = session->state->best;
    if (gone)
        err_set(&err, ERR_USAGE,
                "%.200s is gone. Put it back and take it in, or keep the "
                "session's files (k)",
                session->kernel_now);
    struct task_closure *closure = gone ? NULL : tune_files_now(session, NULL, true, &err);
    bool ok = closure && artefacts_put(session, closure, &err);
    struct tune_event event = tune_event_empty(TUNE_EVENT_SESSION);
    event.form = TUNE_FORM_SESSION_SOURCE;
    for (size_t i = 0; ok && i < closure->files.len; i++) {
        const struct task_file *file = &closure->files.at[i];
        if (file->is_start && file->of & TASK_OF_KERNEL)
            event.session.source = file->text;
        if (file->is_start && file->of & TASK_OF_REFERENCE)
            event.session.reference_source = file->text;
    }
    if (!ok)
        tune_give_up(session, TUNE_ALL_LANES, false, "the changed files cannot be stored: %s",
                     err.text);
    ok = ok && open_ones_end(session) && tune_emit(session, TUNE_ALL_LANES, &event) &&
         closure_emit(session, closure, true);
    if (ok)
        tell_outdated(session, best);
    if (ok)
        tell_left(session, closure);
    task_closure_free(closure);
    return ok;
}

/* --------------------------------------------------------------------------------- what changed */

static char *artefact_text(const struct tune_session *session, const char *hash, size_t *size) {
    *size = 0;
    return hash ? store_artefact_read(session->store, hash, size, NULL) : NULL;
}

static void lines_print(struct str text, int first, int count, char sign, struct buf *out) {
    struct str line;
    for (int number = 1; number < first + count && str_next(&text, '\n', &line); number++)
        if (number >= first)
            buf_printf(out, "%c" STR_FMT "\n", sign, (int)MIN_OF(line.len, 500), line.at);
}

static void diff_print(const char *old, const char *now, struct buf *out) {
    struct str before = str_of(old ? old : ""), after = str_of(now ? now : "");
    size_t count = 0, i;
    int lines = 0;
    struct tune_hunk *hunks = tune_hunks(before, after, &count);
    for (i = 0; i < count && lines < MAX_DIFF_LINES && out->len < MAX_DIFF_BYTES; i++) {
        const struct tune_hunk *hunk = &hunks[i];
        int less = MIN_OF(hunk->old_count, MAX_DIFF_LINES);
        int more = MIN_OF(hunk->new_count, MAX_DIFF_LINES);
        /* A side without lines is named by the line before, as diff does. */
        buf_printf(out, "@@ -%d,%d +%d,%d @@\n", hunk->old_line - !hunk->old_count, hunk->old_count,
                   hunk->new_line - !hunk->new_count, hunk->new_count);
        lines_print(before, hunk->old_line, less, '-', out);
        lines_print(after, hunk->new_line, more, '+', out);
        lines += less + more;
    }
    if (i < count)
        buf_printf(out, "and %zu more place%s\n", count - i, PLURAL(count - i));
    free(hunks);
}

static bool is_binary(const char *data, size_t size) {
    return data && memchr(data, '\0', size);
}

struct changes {
    struct tune_session *session;
    struct arena *arena;
    VEC(struct tune_event_file_change) rows;
};

/* `text` NULL: it is gone; `was` NULL: it is new. */
static void change_add(struct changes *changes, const char *name, const char *was, const char *text,
                       size_t size) {
    struct buf diff = {0};
    size_t before;
    char *old = artefact_text(changes->session, was, &before);
    struct hash hash = hash_content(text ? text : "", size);
    if (is_binary(old, before) || is_binary(text, size))
        buf_printf(&diff, "%zu bytes, %zu before: no text, so its lines are not shown\n", size,
                   before);
    else if (was && !old)
        buf_puts(&diff, "the session's copy is missing or damaged, so what changed in this file "
                        "cannot be shown\n");
    else
        diff_print(old, text, &diff);
    *vec_push(&changes->rows) = (struct tune_event_file_change){
        .name = arena_strdup(changes->arena, name),
        .was = was ? arena_strdup(changes->arena, was) : NULL,
        .now = text ? arena_strdup(changes->arena, hash.hex) : NULL,
        .diff = arena_strdup(changes->arena, diff.at ? diff.at : "")};
    buf_free(&diff);
    free(old);
}

/* The kernel of an attempt in the place of the first kernel is not news. */
static bool is_attempts(const struct tune_state *state, const char *hash) {
    for (size_t i = 0; i < state->attempts.len; i++)
        if (!strcmp(state->attempts.at[i].hash, hash))
            return true;
    return false;
}

/* Whether it takes longer than the loop should wait for a disk. */
static bool is_read_apart(const struct stat *st) {
    return S_ISREG(st->st_mode) && st->st_size > APART_BYTES;
}

/* A file of which only the hash is kept. */
static void large_compare(struct changes *changes, const char *path,
                          const struct tune_task_file *file) {
    struct buf text = {0};
    struct hash hash;
    int64_t size = 0;
    enum tune_large_is is = tune_large_sum(changes->session, path, &size, &hash);
    bool there = is == TUNE_LARGE_KNOWN;
    if (is == TUNE_LARGE_BUSY) /* it changed just now; the next look finds it */
        return;
    if (there && size == file->left_bytes && !strcmp(hash.hex, file->hash))
        return;
    buf_printf(&text, "%lld bytes, %lld before: too large for its lines to be shown\n",
               (long long)size, (long long)file->left_bytes);
    *vec_push(&changes->rows) = (struct tune_event_file_change){
        .name = arena_strdup(changes->arena, file->name),
        .was = arena_strdup(changes->arena, file->hash),
        .now = there ? arena_strdup(changes->arena, hash.hex) : NULL,
        .diff = arena_strdup(changes->arena, text.at)};
    buf_free(&text);
}

/* Whether a file that a worker reads is what the session has, as far as is known; the next look
 * finds what changed just now. */
static bool is_same_apart(struct tune_session *session, const char *path, const struct stat *st,
                          const struct tune_task_file *file) {
    struct hash hash;
    int64_t size;
    if (!is_read_apart(st))
        return false;
    enum tune_large_is is = tune_large_sum(session, path, &size, &hash);
    return is == TUNE_LARGE_BUSY || (is == TUNE_LARGE_KNOWN && !strcmp(hash.hex, file->hash));
}

static void file_compare(struct changes *changes, const char *root,
                         const struct tune_task_file *file) {
    const struct tune_session *session = changes->session;
    char *path = path_join(root, file->name);
    size_t size = 0;
    if (file->left_bytes) {
        large_compare(changes, path, file);
        free(path);
        return;
    }
    struct stat before;
    bool there = task_seen_stat(session->seen, path, &before);
    if (there && (task_seen_is(session->seen, path, file->hash) ||
                  is_same_apart(changes->session, path, &before, file))) {
        free(path);
        return;
    }
    char *text = task_seen_read(session->seen, path, &size, NULL);
    struct hash hash = hash_content(text ? text : "", size);
    bool same = text && !strcmp(hash.hex, file->hash);
    /* The kernel's own source is in the log. */
    if (is_kernel(file))
        same = same || session->is_builtin || (text && is_attempts(session->state, hash.hex));
    if (!same)
        change_add(changes, file->name, file->hash, text, size);
    free(text);
    free(path);
}

static bool is_known(const struct tune_state *state, const char *name) {
    for (size_t i = 0; i < state->files.len; i++)
        if (!strcmp(state->files.at[i].name, name))
            return true;
    return false;
}

/* Whether an import that led to no file of the task leads to one now. */
static void new_files(struct changes *changes, const char *root) {
    struct task_closure *closure =
        tune_files_now(changes->session, changes->session->state->kernel_source, false, NULL);
    size_t len = strlen(root);
    for (size_t i = 0; closure && i < closure->files.len; i++) {
        const struct task_file *file = &closure->files.at[i];
        bool below = !strncmp(file->path, root, len) && file->path[len] == '/';
        const char *name = below ? file->path + len + 1 : file->path;
        /* An older hone did not look for files that strings name. */
        if (!file->by_text && !is_known(changes->session->state, name))
            change_add(changes, name, NULL, file->text, file->size);
    }
    task_closure_free(closure);
}

static void changes_find(struct changes *changes) {
    const struct tune_state *state = changes->session->state;
    char *root = tune_files_root(changes->session);
    for (size_t i = 0; root && i < state->files.len; i++)
        if (tune_file_name_is_safe(state->files.at[i].name))
            file_compare(changes, root, &state->files.at[i]);
    if (root)
        new_files(changes, root);
    free(root);
}

static bool is_told(const struct tune_state *state, const struct changes *changes) {
    bool same = state->changed.len == changes->rows.len;
    for (size_t i = 0; same && i < changes->rows.len; i++) {
        const char *now = changes->rows.at[i].now, *told = state->changed.at[i].now;
        same = !strcmp(state->changed.at[i].name, changes->rows.at[i].name) &&
               (now && told ? !strcmp(now, told) : now == told);
    }
    return same;
}

/* Whether a person kept the session's files rather than this content. */
static bool is_declined(const struct tune_state *state, const struct tune_event_file_change *row) {
    for (size_t i = 0; state->keeps_files && i < state->own->declined.len; i++) {
        const struct tune_file_change *change = &state->own->declined.at[i];
        const char *then = change->now;
        if (!strcmp(change->name, row->name) &&
            (then && row->now ? !strcmp(then, row->now) : then == row->now))
            return true;
    }
    return false;
}

/* What was answered is not asked again. Where there is more, all of it is shown: all would be taken
 * in. */
static void drop_answered(const struct tune_state *state, struct changes *changes) {
    bool all = true;
    for (size_t i = 0; all && i < changes->rows.len; i++)
        all = is_declined(state, &changes->rows.at[i]);
    if (all)
        changes->rows.len = 0;
}

/* A task that had no reference has one now: there is nothing to ask, because nothing was measured
 * with another. */
static bool is_first_reference(const struct tune_state *state, const struct changes *changes) {
    bool has = state->reference_source != NULL;
    for (size_t i = 0; i < state->files.len; i++)
        has = has || !strcmp(state->files.at[i].of, "reference");
    for (size_t i = 0; i < changes->rows.len; i++)
        has = has || changes->rows.at[i].was;
    return !has && changes->rows.len;
}

static void reference_look(struct tune_session *session) {
    char *folder = session->kernel_now ? path_folder(session->kernel_now) : NULL;
    char *beside = folder ? path_join(folder, "reference.py") : NULL;
    if (!session->reference_now && !session->is_builtin && beside && is_there(session, beside))
        session->reference_now = mem_strdup(beside);
    free(beside);
    free(folder);
}

static bool reference_take(struct tune_session *session) {
    struct err err = {0};
    tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_INFO, "files",
                  "there is a reference now: it is taken in");
    return tune_files_take(session) && tune_files_place(session, &err);
}

bool tune_files_ready(struct tune_session *session) {
    const struct tune_state *state = session->state;
    char *root = state->files.len && !state->read_only ? tune_files_root(session) : NULL;
    bool busy = tune_large_is_busy(session);
    for (size_t i = 0; root && i < state->files.len; i++) {
        const struct tune_task_file *file = &state->files.at[i];
        struct hash hash;
        int64_t size;
        char *path = path_join(root, file->name);
        struct stat now;
        bool apart =
            file->left_bytes || (task_seen_stat(session->seen, path, &now) && is_read_apart(&now) &&
                                 !task_seen_is(session->seen, path, file->hash));
        if (apart && tune_file_name_is_safe(file->name))
            busy |= tune_large_sum(session, path, &size, &hash) == TUNE_LARGE_BUSY;
        free(path);
    }
    free(root);
    return !busy;
}

bool tune_files_check(struct tune_session *session, bool again) {
    const struct tune_state *state = session->state;
    struct changes changes = {.session = session};
    if (!tune_files_ready(session) && !again)
        return false;
    if (!state->files.len || state->read_only || (again && state->keeps_files))
        return true;
    changes.arena = arena_new();
    if (!state->keeps_files)
        reference_look(session);
    changes_find(&changes);
    drop_answered(state, &changes);
    bool first = !again && !state->keeps_files && is_first_reference(state, &changes);
    bool none = !changes.rows.len || (first && reference_take(session));
    if (!(first && none) && !is_told(state, &changes))
        tune_emit(session, TUNE_ALL_LANES,
                  TUNE_EVENT(CHANGED, changed, .files = {changes.rows.at, changes.rows.len, true},
                             .again = again && !none));
    vec_free(&changes.rows);
    arena_free(changes.arena);
    return none;
}

/* ---------------------------------------------------------------------------- the session's own */

/* There is no copy: the file itself is taken, as long as it is what it was. */
static bool restore_large(struct tune_session *session, const struct tune_task_file *file,
                          struct err *err) {
    char *root = tune_files_root(session), *from = root ? path_join(root, file->name) : NULL;
    char *own = path_join(store_folder(session->store), KEPT), *to = path_join(own, file->name);
    bool ok = tune_large_restore(session, from, to, file->hash, err);
    free(to);
    free(own);
    free(from);
    free(root);
    return ok;
}

static bool restore_one(struct tune_session *session, const struct tune_task_file *file,
                        struct err *err) {
    size_t size;
    if (file->left_bytes && tune_file_name_is_safe(file->name))
        return restore_large(session, file, err);
    char *text = artefact_text(session, file->hash, &size);
    char *name = path_join(KEPT, file->name);
    bool ok = tune_file_name_is_safe(file->name) && text;
    if (!ok)
        err_set(err, ERR_ENVIRONMENT, "the session's copy of %.100s is gone", file->name);
    ok = ok && store_file_write(session->store, name, (struct str){text, size}, err);
    free(name);
    free(text);
    return ok;
}

static void use_own(struct tune_session *session) {
    struct tune_state *state = session->state;
    char *own = path_join(store_folder(session->store), KEPT);
    for (size_t i = 0; i < state->files.len; i++) {
        const struct tune_task_file *file = &state->files.at[i];
        char *path = path_join(own, file->name);
        if (is_kernel(file) && !session->is_builtin)
            state->kernel_file = tune_keep(state, path);
        if (!strcmp(file->of, "reference"))
            state->reference_file = tune_keep(state, path);
        free(path);
    }
    free(own);
}

bool tune_files_restore(struct tune_session *session, struct err *err) {
    const struct tune_state *state = session->state;
    bool ok = true;
    for (size_t i = 0; ok && i < state->files.len; i++)
        ok = restore_one(session, &state->files.at[i], err);
    return ok;
}

bool tune_files_place(struct tune_session *session, struct err *err) {
    struct tune_state *state = session->state;
    state->kernel_file = session->is_builtin ? NULL : tune_keep(state, session->kernel_now);
    state->reference_file = tune_keep(state, session->reference_now);
    if (!state->keeps_files)
        return true;
    bool ok = tune_files_restore(session, err);
    if (ok)
        use_own(session);
    return ok;
}

/* What was compared with a large file, or copied from one, is done now. */
void tune_files_known(struct tune_session *session) {
    struct err err = {0};
    if (session->state->keeps_files && !tune_files_place(session, &err))
        tune_give_up(session, TUNE_ALL_LANES, false, "%s", err.text);
    else if (!tune_large_is_busy(session) && !tune_works(session))
        tune_files_check(session, false);
}
