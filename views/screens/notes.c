/* SPDX-License-Identifier: Apache-2.0 */
/* Screen 6: what was learned of each attempt; below the list the note in full, or the scores. */
#include "views/inner.h"

#include <stdio.h>

struct notes {
    struct tui_list list;
    bool scores; /* below the list; else the note under the cursor */
};

static struct notes *own(const struct views *views) {
    return views->own[VIEW_NOTES];
}

/* The word for people; the last is the glossary's for what was decided. */
static const struct {
    const char *glyph;
    enum tui_role role;
    const char *word, *decided;
} categories[TUNE_CATEGORIES] = {
    [TUNE_CATEGORY_IMPROVED] = {"✓", TUI_GOOD, "improved", "keep"},
    [TUNE_CATEGORY_NO_IMPROVEMENT] = {"=", TUI_DIM, "no gain", "revert"},
    [TUNE_CATEGORY_REGRESSION] = {"↓", TUI_WARN, "slower", "revert"},
    [TUNE_CATEGORY_ERROR] = {"✗", TUI_BAD, "failed", "failed"},
    [TUNE_CATEGORY_REJECTED] = {"×", TUI_DIM, "rejected", "reject"},
};

static const char *held_word(enum tune_answer held) {
    static const char *const words[TUNE_ANSWERS] = {"-", "failed", "held", "open"};
    return words[held];
}

/* What became of the prediction of the plan that the note is about. */
static const char *note_held(const struct views *views, const struct tune_note *note) {
    bool computed = tune_prediction_computed(tune_state_attempt(views->state, note->attempt));
    return computed && note->held != TUNE_ANSWER_UNKNOWN ? "computed" : held_word(note->held);
}

static void draw_note(struct views *views, struct tui_area area, int row, int index) {
    const struct tune_note *note = &views->state->notes.at[index];
    struct tui_area ink = note->dropped ? tui_ink(area, TUI_DIM) : area;
    tui_say(tui_ink(area, TUI_KEY), row, 1, "%s", note->pinned ? "▸" : " ");
    tui_say(tui_ink(area, TUI_DIM), row, 3, "round %d", note->round);
    area = rows_behind(area, (size_t)MAX_OF(views->state->round, 0), 3);
    ink = note->dropped ? tui_ink(area, TUI_DIM) : area;
    tui_say(tui_ink(area, categories[note->category].role), row, 13, "%s %s",
            categories[note->category].glyph, categories[note->category].word);
    tui_say(ink, row, 31, "%s", note_held(views, note));
    tui_put_short(ink, row, (struct tui_rect){0, 40, 1, area.cols - 42}, str_of(note->lesson));
    find_mark(views, area, row, 40, str_of(note->lesson));
    if (note->dropped)
        tui_say_right(tui_ink(area, TUI_WARN), row, area.cols - 1, " dropped");
}

static const char *diagnosis_word(enum tune_answer diagnosis) {
    static const char *const words[TUNE_ANSWERS] = {"not judged", "wrong", "right", "unclear"};
    return words[diagnosis];
}

static void draw_note_detail(const struct views *views, struct tui_area area,
                             const struct tune_note *note) {
    char text[128];
    int row = rows_field(area, 0, 13, "lesson", note->lesson);
    row = rows_field(area, row, 13, "evidence", note->evidence);
    row = rows_field(area, row, 13, "plan", note->plan);
    snprintf(text, sizeof text, "%s; entered %d prompt%s%s%s%s",
             note->held == TUNE_ANSWER_UNKNOWN ? "none" : note_held(views, note), note->entered,
             PLURAL(note->entered), note->pinned ? "; pinned" : "",
             note->dropped ? "; dropped" : "", note->edited ? "; edited by you" : "");
    row = rows_field(area, row, 13, "prediction", text);
    snprintf(text, sizeof text, "%s%s%.60s", diagnosis_word(note->diagnosis),
             note->author ? ", says " : "", note->author ? note->author : "");
    rows_field(area, row, 13, "diagnosis", text);
}

static void notes_draw(struct views *views, struct tui_area body) {
    const struct tune_state *state = views->state;
    struct notes *notes = own(views);
    const char *const titles[] = {"notes", "▸ pinned", notes->scores ? "scores" : "note"};
    struct rows_pair pair = rows_pair(body, notes->scores ? 4 : 0, titles);
    rows_draw(views, pair.list, &notes->list, (int)state->notes.len, draw_note);
    if (notes->scores)
        scores_draw(views, pair.detail);
    else if (notes->list.count)
        draw_note_detail(views, pair.detail, &state->notes.at[notes->list.cursor]);
    if (!notes->list.count)
        tui_say(tui_ink(pair.list, TUI_DIM), 1, 2,
                "No notes yet: the reflect step writes one after every round.");
}

/* ---- what the keys do ----------------------------------------------------------------------- */

static void edit_note(struct views *views, struct views_request *request) {
    int index = own(views)->list.cursor;
    const char *lesson = views->state->notes.at[index].lesson;
    buf_clear(&views->editing.text);
    buf_printf(&views->editing.text, "%s\n", lesson ? lesson : "");
    act_open_editor(views, (struct tune_action){.kind = TUNE_ACT_EDIT_NOTE, .index = index},
                    "note.txt", 0, request);
}

static void do_pin(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views_act(views,
              &(struct tune_action){.kind = TUNE_ACT_PIN_NOTE, .index = own(views)->list.cursor});
}

static void do_drop(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views_act(views,
              &(struct tune_action){.kind = TUNE_ACT_DROP_NOTE, .index = own(views)->list.cursor});
}

static void do_scores(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    own(views)->scores = !own(views)->scores;
}

static bool has_notes(const struct views *views) {
    return views->state->notes.len > 0;
}

static struct tui_list *notes_list(struct views *views) {
    return &own(views)->list;
}

static struct str notes_line(const void *data, int row) {
    const struct views *views = data;
    bool there = row >= 0 && (size_t)row < views->state->notes.len;
    return str_of(there ? views->state->notes.at[row].lesson : "");
}

static enum explain_what notes_explain(const struct views *views, struct buf *out) {
    int row = own(views)->list.cursor;
    if (row < 0 || (size_t)row >= views->state->notes.len)
        return EXPLAIN_NOTHING;
    buf_puts(out, categories[views->state->notes.at[row].category].decided);
    return EXPLAIN_WORD;
}

static void notes_forget(struct views *views) {
    own(views)->list = (struct tui_list){0};
}

static const struct command commands[] = {
    {"scores", "scores", "show what became of each model's plans; again: the note", WHERE_OWN,
     PLACE_BACK, TUNE_ACTIONS, do_scores, NULL, NULL},
    {"pin", "pin", "keep the note in every prompt", WHERE_OWN, PLACE_BACK, TUNE_ACTIONS, do_pin,
     has_notes, NULL},
    {"drop", "drop", "leave the note out of prompts; again: take it back", WHERE_OWN, PLACE_BACK,
     TUNE_ACTIONS, do_drop, has_notes, NULL},
};

const struct screen notes_screen = {
    .name = "notes",
    .about = "what was learned, and which prompts it enters",
    .command = {"notes", "", "screen 6: what was learned", WHERE_TUNING, PLACE_OPEN, TUNE_ACTIONS,
                NULL, NULL, NULL},
    .key = "6",
    .takes = "approve",
    .keys = "e edit\np pin\nx drop\nTab scores\nn next-match\nN previous-match\n",
    .commands = commands,
    .n_commands = COUNT_OF(commands),
    .own_first = true,
    .size = sizeof(struct notes),
    .forget = notes_forget,
    .draw = notes_draw,
    .list = notes_list,
    .line_of = notes_line,
    .explain = notes_explain,
    .edit = edit_note,
    .can_edit = has_notes,
};
