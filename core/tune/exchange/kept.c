/* SPDX-License-Identifier: Apache-2.0 */
/* Artefacts that the log names. When a session is opened for writing, copies of the task's files
 * that are missing or altered are put back where the same file is elsewhere, and the person is
 * told. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "task/task.h"
#include "tune/exchange/private.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"

#define MOST_NAMES 5                /* in a sentence */
#define MOST_READ ((off_t)32 << 20) /* bytes of copies that are compared when it is opened */

/* ---------------------------------------------------------------------- what the log has names of
 */

/* Names by hash, but for those of `there`, which may be NULL: of a long session only what is
 * missing gets a name. */
struct naming {
    struct map *named;
    const struct map *there;
};

static void name_put(struct naming naming, const char *hash, const char *format, ...)
    CC_PRINTF(3, 4);
static void name_put(struct naming naming, const char *hash, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    if (!hash || !*hash || (naming.there && map_find(naming.there, str_of(hash))) ||
        map_get(naming.named, str_of(hash)))
        return;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    map_put(naming.named, str_of(hash))->value = buf_take(&text);
}

void tune_named_closure(struct map *named, const struct tune_event *event) {
    for (size_t i = 0; i < event->closure.files.count; i++) {
        const struct tune_event_task_file *file = &event->closure.files.at[i];
        if (file->name && !(file->left > 0))
            name_put((struct naming){named, NULL}, file->hash, "%.200s", file->name);
    }
}

static void name_files(struct naming naming, const struct tune_state *state) {
    for (size_t i = 0; i < state->files.len; i++)
        if (!state->files.at[i].left_bytes)
            name_put(naming, state->files.at[i].hash, "%.200s", state->files.at[i].name);
}

static void name_others(struct naming naming, const struct tune_state *state) {
    for (size_t i = 0; i < state->attempts.len; i++)
        name_put(naming, state->attempts.at[i].timeline, "the profile of attempt %zu", i);
    for (size_t i = 0; i < state->calls.len; i++) {
        name_put(naming, state->calls.at[i].prompt, "the prompt of question %zu", i + 1);
        name_put(naming, state->calls.at[i].answer, "the answer of question %zu", i + 1);
    }
    for (int i = 0; i < TUNE_STEPS; i++)
        name_put(naming, state->steps[i].artefact, "a file of step %s",
                 tune_step_word((enum tune_step)i));
}

void tune_named_state(struct map *named, const struct tune_state *state) {
    name_files((struct naming){named, NULL}, state);
    name_others((struct naming){named, NULL}, state);
}

void tune_named_free(struct map *named) {
    for (size_t i = 0; i < named->len; i++)
        free(named->entries[i].value);
    map_free(named);
}

void tune_name_list(struct buf *names, size_t count, const char *name) {
    if (count < MOST_NAMES)
        buf_printf(names, "%s%s", count ? ", " : "", name);
    else if (count == MOST_NAMES)
        buf_puts(names, ", ...");
}

/* Keys are those of `folder` that have the form of a hash. One look at the folder is much cheaper
 * than one at each file. */
static void artefacts_list(const char *session, struct map *there) {
    char *folder = path_join(session, "artifacts");
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strlen(entry->d_name) == 32)
            map_put(there, str_of(entry->d_name));
    if (dir)
        closedir(dir);
    free(folder);
}

size_t tune_named_missing(const struct map *named, const char *session, struct buf *names) {
    struct map there = {0};
    size_t count = 0;
    artefacts_list(session, &there);
    for (size_t i = 0; i < named->len; i++) {
        const struct map_entry *entry = &named->entries[i];
        if (!map_find(&there, (struct str){entry->key, entry->key_len}))
            tune_name_list(names, count++, entry->value);
    }
    map_free(&there);
    return count;
}

/* ------------------------------------------------------------------------------ artefacts, again
 */

static bool put_if(struct tune_session *session, const char *text, size_t size, const char *hash) {
    struct hash put;
    return text && !strcmp(hash_content(text, size).hex, hash) &&
           store_artefact_put(session->store, text, size, &put, NULL);
}

static bool put_from(struct tune_session *session, const char *folder, const char *name,
                     const char *hash) {
    size_t size = 0;
    char *path = folder ? path_join(folder, name) : NULL;
    char *text = path ? task_seen_read(session->seen, path, &size, NULL) : NULL;
    bool ok = put_if(session, text, size, hash);
    free(text);
    free(path);
    return ok;
}

/* From the task's folder, the session's own copies, or the log. */
static bool put_back(struct tune_session *session, const char *root,
                     const struct tune_task_file *file) {
    const struct tune_state *state = session->state;
    const char *const texts[] = {state->kernel_source, state->reference_source};
    char *own = path_join(store_folder(session->store), "task");
    bool safe = tune_file_name_is_safe(file->name);
    bool ok = safe && (put_from(session, root, file->name, file->hash) ||
                       put_from(session, own, file->name, file->hash));
    for (size_t i = 0; !ok && i < COUNT_OF(texts); i++)
        ok = texts[i] && put_if(session, texts[i], strlen(texts[i]), file->hash);
    free(own);
    return ok;
}

/* Whether the copy is there and, as far as there is time to compare, what it was. */
static bool copy_is_whole(const struct tune_session *session, const char *hash, off_t *read) {
    char *path = store_artefact_path(session->store, hash);
    struct stat st;
    bool whole = path && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (whole && *read + st.st_size <= MOST_READ) {
        *read += st.st_size;
        whole = store_artefact_is(path, hash);
    }
    free(path);
    return whole;
}

static void files_mend(struct tune_session *session) {
    const struct tune_state *state = session->state;
    char *root = tune_files_root(session);
    struct buf back = {0}, lost = {0};
    size_t n_back = 0, n_lost = 0;
    off_t read = 0;
    for (size_t i = 0; i < state->files.len; i++) {
        const struct tune_task_file *file = &state->files.at[i];
        if (file->left_bytes || copy_is_whole(session, file->hash, &read))
            continue;
        if (put_back(session, root, file))
            tune_name_list(&back, n_back++, file->name);
        else
            tune_name_list(&lost, n_lost++, file->name);
    }
    if (n_back)
        tune_note(
            session,
            "the session's cop%s of %s %s missing or altered, and put back from the same file",
            n_back == 1 ? "y" : "ies", back.at, n_back == 1 ? "was" : "were");
    if (n_lost)
        tune_note(
            session,
            "the session's cop%s of %s %s missing or altered, and the same file is nowhere else: "
            "a change in it cannot be shown, and hone export lacks it",
            n_lost == 1 ? "y" : "ies", lost.at, n_lost == 1 ? "is" : "are");
    buf_free(&back);
    buf_free(&lost);
    free(root);
}

/* Nothing else has what was profiled, asked and answered. */
static void others_tell(struct tune_session *session) {
    struct map missing = {0}, there = {0};
    struct buf names = {0};
    artefacts_list(store_folder(session->store), &there);
    name_others((struct naming){&missing, &there}, session->state);
    for (size_t i = 0; i < missing.len; i++)
        tune_name_list(&names, i, missing.entries[i].value);
    if (missing.len)
        tune_note(session, "%zu file%s gone from artifacts/: %s", missing.len,
                  missing.len == 1 ? " is" : "s are", names.at);
    buf_free(&names);
    tune_named_free(&missing);
    map_free(&there);
}

void tune_kept_mend(struct tune_session *session) {
    files_mend(session);
    others_tell(session);
}
