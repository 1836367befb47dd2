/* SPDX-License-Identifier: Apache-2.0 */
/* A session whose files were taken away under it: saved to another folder, where it goes on. */
#include <stdio.h>
#include <stdlib.h>

#include "tune/drive/private.h"

#define MOST_PLACES 1000

/* "<base>", or the first of "<base>.2", "<base>.3" that is not there; a new string. */
static char *free_place(const char *base) {
    struct buf path = {0};
    for (int n = 1; n < MOST_PLACES; n++) {
        buf_clear(&path);
        buf_puts(&path, base);
        if (n > 1)
            buf_printf(&path, ".%d", n);
        if (!file_exists(path.at))
            break;
    }
    return buf_take(&path);
}

char *tune_session_rescue_place(const struct tune_session *session, bool beside) {
    const char *folder = store_folder(session->store);
    struct buf base = {0};
    if (beside) {
        buf_printf(&base, "%s.rescued", folder);
    } else {
        char *rescued = path_state("rescued");
        buf_printf(&base, "%s/%s", rescued, path_base(folder));
        free(rescued);
    }
    char *place = free_place(base.at);
    buf_free(&base);
    return place;
}

/* Where it is written down where the session of a folder was saved to, a new string. */
static char *note_path(const char *folder) {
    struct buf name = {0};
    char *absolute = path_absolute(folder), *rescued = path_state("rescued");
    buf_printf(&name, "%s/%s.place", rescued, hash_content(absolute, strlen(absolute)).hex);
    free(rescued);
    free(absolute);
    return buf_take(&name);
}

static void note_write(const char *folder, const char *saved) {
    struct err ignored = {0};
    char *path = note_path(folder), *above = path_folder(path), *to = path_absolute(saved);
    if (file_make_private(above, &ignored))
        (void)!file_write_private(path, to, strlen(to), &ignored);
    free(to);
    free(above);
    free(path);
}

/* The place that was chosen for it last; a new string, or NULL. */
static char *note_read(const char *folder) {
    struct err ignored = {0};
    char *path = note_path(folder);
    char *place = file_exists(path) ? file_read(path, 4096, NULL, &ignored) : NULL;
    free(path);
    if (place && store_exists(place))
        return place;
    free(place);
    return NULL;
}

/* The last one beside the folder; a new string, or NULL. */
static char *last_beside(const char *folder) {
    struct buf path = {0};
    char *found = NULL;
    for (int n = 1; n < MOST_PLACES; n++) {
        buf_clear(&path);
        buf_printf(&path, "%s.rescued", folder);
        if (n > 1)
            buf_printf(&path, ".%d", n);
        if (!store_exists(path.at))
            break;
        free(found);
        found = mem_strdup(path.at);
    }
    buf_free(&path);
    return found;
}

char *tune_rescued_place(const char *folder) {
    char *chosen = note_read(folder);
    return chosen ? chosen : last_beside(folder);
}

void tune_rescued_tell(struct tune_session *session) {
    const char *folder = store_folder(session->store);
    char *found = tune_rescued_place(folder);
    if (found && tune_left_ns(found) > session->left_ns)
        tune_note(session,
                  "a session that was here was saved when its files went away: --session %.300s "
                  "goes on with it, this one knows nothing of it",
                  found);
    free(found);
}

bool tune_session_is_lost(struct tune_session *session) {
    return store_is_lost(session->store);
}

bool tune_session_rescue(struct tune_session *session, const char *folder, struct err *err) {
    if (!store_is_lost(session->store))
        return err_set(err, ERR_USAGE, "the session is where it was: there is nothing to save");
    struct store *saved = store_rescue(session->store, folder, err);
    if (!saved)
        return false;
    note_write(store_folder(session->store), folder);
    store_close(session->store);
    session->store = saved;
    session->halted = false;
    session->state->is_lost = false;
    session->state->trouble = NULL;
    tune_emit_log(session, TUNE_ALL_LANES, TUNE_LEVEL_WARNING, "session",
                  "its files were removed or replaced while it was open; all events were saved to "
                  "%s, where it goes on",
                  folder);
    tune_kept_mend(session); /* with its folder the copies of the task's files are gone, too */
    tune_checkpoint_ensure(session, 0); /* these are named before there is time for all of them */
    tune_checkpoint_ensure(session, session->state->best);
    tune_checkpoints_mend(session);
    tune_export_mend(session);
    if (session->state->memory.len)
        tune_export_memory(session);
    tune_recent_note(session);
    bool ok = !session->halted || err_set(err, ERR_ENVIRONMENT, "%s", session->trouble);
    bool waits = session->state->wait == TUNE_WAIT_GATE; /* then nothing was under way */
    if (ok && !waits &&
        session->state->running) { /* what was under way was given up: start begins it again */
        session->halted = true;
        tune_trouble_set(session, "the session was saved elsewhere: start goes on there");
    }
    if (session->changed)
        session->changed(session->changed_context);
    return ok;
}
