/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the task that changed on disk, and whether they or the session's copies count. */
#include <string.h>

#include "cli/run/private.h"

/* The command line decides. Where it says nothing, the run stops and says so. */
bool run_files_choose(struct run *run, struct err *err) {
    const struct tune_state *state = tune_session_state(run->session);
    struct tune_action action = {.kind = TUNE_ACT_TAKE_FILES};
    if (!state->changed.len)
        return true;
    if (!run->changed)
        return err_set(err, ERR_USAGE,
                       "%.100s%s changed on disk since the session copied it: --changed take goes "
                       "on with the file on disk and measures everything again, --changed keep "
                       "goes on with the session's copy",
                       state->changed.at[0].name, state->changed.len > 1 ? " and others" : "");
    if (strcmp(run->changed, "keep") == 0)
        action.kind = TUNE_ACT_KEEP_FILES;
    return tune_session_act(run->session, &action, err);
}

bool run_files_go_on(struct run *run) {
    struct err err = {0};
    if (run_files_choose(run, &err))
        return true;
    buf_clear(&run->files);
    buf_puts(&run->files, err.text);
    run->end = run->files.at;
    return false;
}
