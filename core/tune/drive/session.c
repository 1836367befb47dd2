/* SPDX-License-Identifier: Apache-2.0 */
/* What a person does. Opening is in open.c; which step comes next is in drive.c. */
#include <stdio.h>
#include <stdlib.h>

#include "loop/loop.h"
#include "tune/act/inner.h"
#include "tune/drive/private.h"

/* ------------------------------------------------------------------------------------ actions */

static bool changes_memory(enum tune_action_kind kind) {
    return kind == TUNE_ACT_APPROVE || kind == TUNE_ACT_REJECT || kind == TUNE_ACT_UNDO ||
           kind == TUNE_ACT_REDO || kind == TUNE_ACT_TAKE_BACK || kind == TUNE_ACT_DO_AGAIN ||
           (kind >= TUNE_ACT_APPROVE_MEMORY && kind <= TUNE_ACT_DELETE_MEMORY);
}

/* The kernel that a person wrote, as it is kept: a new string; NULL: the action has none. */
static char *kernel_of(const struct tune_state *state, const struct tune_action *action) {
    int parent = action->kind == TUNE_ACT_EDIT_KERNEL
                     ? tune_lane_of(state, action->lane)->candidate.parent
                     : state->incumbent;
    bool has = action->kind == TUNE_ACT_EDIT_KERNEL || action->kind == TUNE_ACT_WRITE_KERNEL;
    return has ? tune_source_ended(state, parent, action->text) : NULL;
}

static bool act_store(struct tune_session *session, const struct tune_action *action,
                      struct err *err) {
    const struct tune_state *state = session->state;
    struct tune_action kept = *action;
    char *kernel = kernel_of(state, action);
    kept.text = kernel ? kernel : action->text;
    size_t count = state->attempts.len, remembered = state->memory.len;
    enum tune_status *before = mem_alloc(count + 1, sizeof *before);
    for (size_t i = 0; i < count; i++)
        before[i] = state->attempts.at[i].status;
    struct tune_event event = tune_act_event(state, &kept);
    bool ok = tune_emit(session, TUNE_ALL_LANES, &event);
    if (ok)
        tune_export_changed(session, before, count);
    if (ok && remembered && changes_memory(action->kind))
        tune_export_memory(session);
    if (!ok)
        err_set(err, ERR_ENVIRONMENT, "%s", session->trouble);
    free(kernel);
    free(before);
    return ok;
}

/* The person said which files count. */
static bool files_chosen(struct tune_session *session, enum tune_action_kind kind,
                         struct err *err) {
    struct err none = {0};
    if (kind == TUNE_ACT_TAKE_FILES) {
        tune_beside_free(session);
        tune_opinion_free(session);
        free(session->original);
        session->original = NULL;
        if (!tune_files_take(session))
            return err_set(err, ERR_USAGE, "%s",
                           session->state->wait_text ? session->state->wait_text : "");
    }
    if (!tune_files_place(session, &none))
        tune_give_up(session, TUNE_ALL_LANES, false, "%s", none.text);
    return true;
}

static bool does_later(struct tune_session *session, enum tune_action_kind kind) {
    session->later = kind;
    return session->acts_later = true;
}

static bool act_do(struct tune_session *session, const struct tune_action *action,
                   struct err *err) {
    if (action->kind == TUNE_ACT_KEEP_FILES && !tune_files_restore(session, err))
        return false;
    if (action->kind == TUNE_ACT_KEEP_FILES && tune_large_is_busy(session))
        return does_later(session, action->kind); /* when the copy is done */
    bool again = session->halted && action->kind == TUNE_ACT_START && session->state->running;
    session->halted = false;
    session->state->trouble = NULL;
    session->state->is_lost = false;
    bool ok = again || act_store(session, action, err);
    if (ok && (action->kind == TUNE_ACT_TAKE_FILES || action->kind == TUNE_ACT_KEEP_FILES))
        ok = files_chosen(session, action->kind, err);
    if (ok && action->kind == TUNE_ACT_ANSWER && session->proposer->answer)
        session->proposer->answer(session->proposer->self, action->index, str_of(action->text));
    if (ok && action->kind == TUNE_ACT_SEND && session->proposer->send)
        session->proposer->send(session->proposer->self, action->index);
    tune_advance(session);
    return ok;
}

static bool is_whole(const struct tune_session *session, struct err *err) {
    return !session->state->opening ||
           err_set(err, ERR_USAGE, "the session is still being read; wait until it is whole");
}

/* Nothing is done that could not be written down: what is in memory has to be saved first. */
static bool is_found(const struct tune_session *session, struct err *err) {
    return !session->state->is_lost || !store_is_lost(session->store) ||
           err_set(err, ERR_DAMAGED, "%s", session->trouble ? session->trouble : "");
}

/* Files are looked at first, which takes a while where their disk does not answer. */
static bool needs_files(const struct tune_session *session, const struct tune_action *action) {
    return session->state->changed.len &&
           (action->kind == TUNE_ACT_START || action->kind == TUNE_ACT_TAKE_FILES ||
            action->kind == TUNE_ACT_KEEP_FILES);
}

bool tune_act_looked(struct tune_session *session, const struct tune_action *action,
                     struct err *err) {
    if (!is_whole(session, err) || !is_found(session, err))
        return false;
    bool decided = session->acts_later && session->later != TUNE_ACT_START;
    if (decided && action->kind == TUNE_ACT_START) /* which files count is decided, not yet done */
        return session->starts_later = true;
    if (needs_files(session, action)) {
        if (!tune_look_await(session, action->kind == TUNE_ACT_TAKE_FILES))
            return does_later(session, action->kind);
        if (action->kind == TUNE_ACT_START)
            tune_files_check(session, false); /* they may be as they were again */
    }
    struct tune_action meant = *action;
    meant.lane = tune_act_lane(session->state, action);
    return tune_act_check(session->state, &meant, err) && act_do(session, &meant, err);
}

bool tune_session_act(struct tune_session *session, const struct tune_action *action,
                      struct err *err) {
    tune_look_end(session);
    return tune_act_looked(session, action, err);
}

bool tune_session_run_begin(struct tune_session *session, const struct tune_run *run,
                            struct err *err) {
    struct arena *arena = arena_new();
    struct tune_event event = tune_event_empty(TUNE_EVENT_RUN);
    tune_options_run(&event.run, arena, session->state, run);
    bool ok = tune_emit(session, TUNE_ALL_LANES, &event);
    arena_free(arena);
    return ok || err_set(err, ERR_ENVIRONMENT, "%s", session->trouble);
}

void tune_session_run_end(struct tune_session *session) {
    if (session->state->by_run && !session->halted)
        tune_emit(session, TUNE_ALL_LANES, TUNE_EVENT_ONLY(RUN_END));
}

bool tune_session_is_busy(const struct tune_session *session) {
    const struct tune_state *state = session->state;
    if (session->halted || state->opening || state->read_only)
        return false;
    return tune_works(session) || tune_large_is_busy(session) || tune_look_is_busy(session) ||
           (state->running && state->wait == TUNE_WAIT_NOTHING);
}
