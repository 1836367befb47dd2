/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the profile that an evaluation wrote among the session's artefacts. A worker thread does it,
 * because the profile may be large. */
#include <stdlib.h>
#include <unistd.h>

#include "loop/loop.h"
#include "tune/session/inner.h"
#include "tune/exchange/inner.h"

#define PROFILE_MAX ((size_t)256 << 20)

struct tune_ingest {
    struct tune_session *session; /* NULL: it was closed meanwhile */
    struct tune_ingest *next;
    int attempt;
    char *path, *artifacts; /* the file; the folder it goes to */
    struct hash hash;
    bool ok;
};

static void work(void *data) {
    struct tune_ingest *ingest = data;
    struct err err = {0};
    size_t size = 0;
    char *bytes = file_read(ingest->path, PROFILE_MAX, &size, &err);
    if (!bytes)
        return;
    ingest->hash = hash_content(bytes, size);
    char *target = path_join(ingest->artifacts, ingest->hash.hex);
    ingest->ok = store_artefact_is(target, ingest->hash.hex) ||
                 (file_make_private(ingest->artifacts, &err) &&
                  file_write_private(target, bytes, size, &err));
    char *folder = path_folder(ingest->path);
    unlink(ingest->path); /* a left-over does no harm */
    rmdir(folder);        /* a host's raw output stays */
    free(folder);
    free(target);
    free(bytes);
}

static void unlink_from(struct tune_ingest *ingest) {
    struct tune_ingest **place = &ingest->session->ingests;
    while (*place && *place != ingest)
        place = &(*place)->next;
    if (*place)
        *place = ingest->next;
}

static void done(void *data) {
    struct tune_ingest *ingest = data;
    struct tune_session *session = ingest->session;
    if (session)
        unlink_from(ingest);
    if (session && ingest->ok && !session->halted) {
        tune_emit(
            session, TUNE_ALL_LANES,
            TUNE_EVENT(TIMELINE, timeline, .attempt = ingest->attempt, .hash = ingest->hash.hex));
    }
    free(ingest->path);
    free(ingest->artifacts);
    free(ingest);
}

void tune_ingest_start(struct tune_session *session, int attempt, const char *path) {
    struct tune_ingest *ingest = mem_alloc(1, sizeof *ingest);
    *ingest = (struct tune_ingest){
        .session = session, .next = session->ingests, .attempt = attempt, .path = mem_strdup(path)};
    ingest->artifacts = path_join(store_folder(session->store), "artifacts");
    session->ingests = ingest;
    loop_job_start_owned(session->loop, work, done, ingest);
}

void tune_ingest_forget(struct tune_session *session) {
    for (struct tune_ingest *ingest = session->ingests; ingest; ingest = ingest->next)
        ingest->session = NULL;
    session->ingests = NULL;
}
