/* SPDX-License-Identifier: Apache-2.0 */
/* What a person does to notes and experiences. */
#include "tune/act/private.h"
#include "tune/sums/inner.h"

static struct tune_note *note_of(struct tune_state *state, const struct tune_action *act) {
    return act->index >= 0 && (size_t)act->index < state->notes.len ? &state->notes.at[act->index]
                                                                    : NULL;
}

static struct tune_experience *memory_of(struct tune_state *state, const struct tune_action *act) {
    return act->index >= 0 && (size_t)act->index < state->memory.len ? &state->memory.at[act->index]
                                                                     : NULL;
}

void tune_do_edit_note(struct tune_state *state, const struct tune_action *act) {
    struct tune_note *note = note_of(state, act);
    if (!note)
        return;
    struct str text = str_trim(str_of(act->text));
    note->lesson = tune_keep_str(state, text);
    note->edited = true;
}

void tune_do_pin_note(struct tune_state *state, const struct tune_action *act) {
    struct tune_note *note = note_of(state, act);
    if (note)
        note->pinned = !note->pinned;
}

void tune_do_drop_note(struct tune_state *state, const struct tune_action *act) {
    struct tune_note *note = note_of(state, act);
    if (note)
        note->dropped = !note->dropped;
}

void tune_do_approve_memory(struct tune_state *state, const struct tune_action *act) {
    struct tune_experience *item = memory_of(state, act);
    if (!item)
        return;
    item->is = TUNE_EXPERIENCE_APPROVED;
    item->expired = NULL;
}

void tune_do_edit_memory(struct tune_state *state, const struct tune_action *act) {
    struct tune_experience *item = memory_of(state, act);
    if (!item)
        return;
    tune_act_text_split(state, act->text, &item->title, &item->summary);
    item->edited = true;
    tune_memory_index(state, (size_t)act->index);
}

void tune_do_expire_memory(struct tune_state *state, const struct tune_action *act) {
    struct tune_experience *item = memory_of(state, act);
    if (item)
        item->is = item->is == TUNE_EXPERIENCE_EXPIRED ? TUNE_EXPERIENCE_APPROVED
                                                       : TUNE_EXPERIENCE_EXPIRED;
}

void tune_do_delete_memory(struct tune_state *state, const struct tune_action *act) {
    struct tune_experience *item = memory_of(state, act);
    if (item)
        item->is = TUNE_EXPERIENCE_DELETED;
}
