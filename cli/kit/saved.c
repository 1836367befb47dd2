/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kit/saved.h"

#include <stdlib.h>

#include "tune/tune.h"

static bool save_to(struct tune_session *session, bool beside, struct buf *where, struct err *err) {
    char *place = tune_session_rescue_place(session, beside), *whole = path_absolute(place);
    bool ok = tune_session_rescue(session, place, err);
    if (ok)
        buf_puts(where, whole);
    free(whole);
    free(place);
    return ok;
}

bool saved_elsewhere(struct tune_session *session, const char *task, struct buf *said) {
    struct err err = {0};
    struct buf where = {0};
    if (!tune_session_is_lost(session))
        return false;
    buf_puts(said, "the session's files were removed or replaced while hone was using them");
    if (save_to(session, true, &where, &err) || save_to(session, false, &where, &err))
        buf_printf(said, ". All its events were saved to %s; go on with --session %s (hone run %s)",
                   where.at, where.at, task);
    else
        buf_printf(said, ", and it could not be saved elsewhere: %s", err.text);
    char *notes = where.len ? tune_session_notes(session) : NULL;
    struct str rest = str_of(notes ? notes : ""), note;
    while (str_next(&rest, '\n', &note)) /* what was in its folder and could not be had again */
        if (note.len)
            buf_printf(said, "; " STR_FMT, STR_ARG(note));
    free(notes);
    buf_free(&where);
    return true;
}
