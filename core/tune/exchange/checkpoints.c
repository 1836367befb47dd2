/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of attempts as files: whether each is there as the log has it. What a person changed
 * in one is moved aside, not lost, and the kernel is written again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tune/exchange/private.h"
#include "tune/session/inner.h"
#include "tune/state/state.h"

#define MOST_CHANGED 1000 /* "<name>.changed.<n>" */
#define MOST_AT_ONCE 100  /* more of them are written in slices */
#define MOST_LOOKED 5000  /* files are looked at while a person waits */

bool tune_checkpoint_write(struct tune_session *session, const struct tune_attempt *attempt,
                           struct err *err) {
    if (!attempt->path)
        return true;
    char *path = path_join(store_folder(session->store), attempt->path);
    bool there = file_exists(path);
    char *source = there ? NULL : tune_source_copy(session->state, attempt);
    bool ok = there || store_file_write(session->store, attempt->path, str_of(source), err);
    free(source);
    free(path);
    return ok;
}

/* "<path>.changed", or the first of "<path>.changed.2" and on that does not exist. */
static bool set_aside(const char *path, struct buf *aside, struct err *err) {
    for (int n = 1; n < MOST_CHANGED; n++) {
        buf_clear(aside);
        buf_printf(aside, "%s.changed", path);
        if (n > 1)
            buf_printf(aside, ".%d", n);
        if (!file_exists(aside->at))
            break;
    }
    return rename(path, aside->at) == 0 ||
           err_set(err, ERR_ENVIRONMENT, "cannot rename it to %.300s: %s", aside->at,
                   strerror(errno));
}

enum found { WHOLE, MISSING, ALTERED };

int64_t tune_ns_of(const struct stat *st) {
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

int64_t tune_left_ns(const char *folder) {
    static const char *const names[] = {"session.db", "session.db-wal", "session.db-head"};
    int64_t ns = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char *path = path_join(folder, names[i]);
        struct stat st;
        if (stat(path, &st) == 0)
            ns = MAX_OF(ns, tune_ns_of(&st));
        free(path);
    }
    return ns;
}

/* Only one that changed after `since` is read. */
static enum found look(const struct tune_session *session, const struct tune_attempt *attempt,
                       int64_t since) {
    char *path = path_join(store_folder(session->store), attempt->path);
    struct stat st;
    enum found is = WHOLE;
    if (stat(path, &st) != 0)
        is = MISSING;
    else if (tune_ns_of(&st) >= since && !store_artefact_is(path, attempt->hash))
        is = ALTERED;
    free(path);
    return is;
}

/* Makes room for the kernel of an attempt where the file is another. */
static bool clear(struct tune_session *session, const struct tune_attempt *attempt) {
    char *path = path_join(store_folder(session->store), attempt->path);
    struct buf aside = {0};
    struct err err = {0};
    bool ok = set_aside(path, &aside, &err);
    if (ok)
        tune_note(session,
                  "%s was not the kernel of attempt %d any more: what it held is %s now, and the "
                  "kernel is written again",
                  attempt->path, attempt->id, path_base(aside.at));
    else
        tune_note(session, "%s is not the kernel of attempt %d: %s", attempt->path, attempt->id,
                  err.text);
    buf_free(&aside);
    free(path);
    return ok;
}

/* True where the kernel must be written now. Counts those that are missing. */
static bool lacks(struct tune_session *session, const struct tune_attempt *attempt, int64_t since,
                  size_t *missing) {
    enum found is = attempt->path ? look(session, attempt, since) : WHOLE;
    *missing += is == MISSING;
    return is == MISSING || (is == ALTERED && clear(session, attempt));
}

void tune_checkpoint_ensure(struct tune_session *session, int id) {
    struct err err = {0};
    size_t missing = 0;
    const struct tune_attempt *attempt = tune_state_attempt(session->state, id);
    if (!attempt || session->state->read_only || !lacks(session, attempt, 0, &missing))
        return;
    if (!tune_checkpoint_write(session, attempt, &err))
        tune_note(session, "%s", err.text);
}

/* Of very many, only those that are shown are looked at, unless files came or went since the
 * session was closed; hone session check looks at all. */
static bool looks_at_all(const struct tune_session *session) {
    char *folder = path_join(store_folder(session->store), "checkpoints");
    struct stat st;
    bool changed = stat(folder, &st) != 0 || tune_ns_of(&st) > session->left_ns;
    free(folder);
    return changed || session->state->attempts.len <= MOST_LOOKED;
}

void tune_checkpoints_mend(struct tune_session *session) {
    const struct tune_state *state = session->state;
    bool all = looks_at_all(session);
    struct tune_chosen chosen = {mem_alloc(state->attempts.len + 1, sizeof(bool)),
                                 state->attempts.len};
    struct err err = {0};
    size_t missing = 0, count = 0;
    for (size_t i = 0; i < chosen.count; i++) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        bool named = (int)i == state->best || (int)i == state->incumbent;
        chosen.is[i] = (all || named) && attempt->status != TUNE_STATUS_OPEN &&
                       lacks(session, attempt, named ? 0 : session->left_ns, &missing);
        count += chosen.is[i];
    }
    if (missing)
        tune_note(session, "%zu kernel%s missing in checkpoints/ %s written again from the log",
                  missing, PLURAL(missing), missing == 1 ? "is" : "are");
    bool ok = true;
    for (size_t i = 0; ok && count <= MOST_AT_ONCE && i < chosen.count; i++)
        ok = !chosen.is[i] || tune_checkpoint_write(session, &state->attempts.at[i], &err);
    if (!ok)
        tune_note(session, "%s", err.text);
    if (count > MOST_AT_ONCE)
        tune_derive_chosen(session, &chosen);
    free(chosen.is);
}
