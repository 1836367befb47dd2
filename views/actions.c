/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that change a session. They collect what an action needs (a reason, a number, an
 * edited text) and hand it to core/tune, which says whether the action makes sense. */
#include "views/inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void act_text(struct views *views, enum tune_action_kind kind, struct str text) {
    char *copy = mem_alloc(text.len + 1, 1);
    memcpy(copy, text.at, text.len);
    views_act(views, &(struct tune_action){.kind = kind, .text = copy});
    free(copy);
}

/* ---- texts that $EDITOR changes ------------------------------------------------------------- */

/* What would be refused is said before anything is written. */
static bool may_write(struct views *views, struct tune_action action) {
    struct err err = {0};
    if (views_can(views, action.kind))
        return true;
    if (views->state->read_only)
        status_say_read_only(views, tune_action_name(action.kind));
    else if (!tune_act_check(views->state, &action, &err))
        views_say(views, true, "%s", err.text);
    return false;
}

void act_open_editor(struct views *views, struct tune_action action, const char *name, int line,
                     struct views_request *request) {
    if (!may_write(views, action))
        return;
    views->editing.action = action;
    views->editing.action.lane = views->lane;
    if (!views->editing.text.at)
        buf_puts(&views->editing.text, "");
    *request = (struct views_request){
        .wish = VIEWS_EDIT, .name = name, .text = views->editing.text.at, .line = line};
}

static void edit_plan(struct views *views, struct views_request *request) {
    const struct tune_plan *plan = tune_lane_plan(views->state, views->lane);
    buf_clear(&views->editing.text);
    if (plan)
        buf_printf(&views->editing.text, "%s\n\n%s\n", plan->title ? plan->title : "",
                   plan->what ? plan->what : "");
    act_open_editor(views, (struct tune_action){.kind = TUNE_ACT_EDIT_PLAN}, "plan.txt", 0,
                    request);
}

static void edit_kernel(struct views *views, struct views_request *request) {
    const struct tune_candidate *candidate = &tune_lane_of(views->state, views->lane)->candidate;
    buf_clear(&views->editing.text);
    buf_puts(&views->editing.text, candidate->source ? candidate->source : "");
    int line = candidate->hunks.len ? candidate->hunks.at[0].new_line : 0;
    act_open_editor(views, (struct tune_action){.kind = TUNE_ACT_EDIT_KERNEL}, "kernel.py", line,
                    request);
}

void act_migrate(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    const struct tune_attempt *incumbent = views_incumbent(views);
    const char *source =
        incumbent ? tune_source(views->state, incumbent) : views->state->kernel_source;
    struct buf release = {0};
    args = str_trim(args);
    buf_add(&release, args.at ? args.at : "", args.len);
    if (views->model.migrate && source)
        views->model.migrate(views->model.context, source, release.at ? release.at : "");
    else
        views_say(views, true, "there is no kernel that could be migrated here");
    buf_free(&release);
}

void act_edit_waiting(struct views *views, struct views_request *request) {
    if (!lanes_take_cursor(views))
        return;
    if (views_can(views, TUNE_ACT_EDIT_KERNEL))
        edit_kernel(views, request);
    else
        edit_plan(views, request);
}

bool act_can_edit_waiting(const struct views *views) {
    return views_can(views, TUNE_ACT_EDIT_PLAN) || views_can(views, TUNE_ACT_EDIT_KERNEL);
}

bool views_edited(struct views *views, const char *text, struct err *err) {
    struct tune_action action = views->editing.action;
    bool same = !text || (views->editing.text.at && strcmp(text, views->editing.text.at) == 0);
    if (same) {
        views_say(views, false, "nothing was changed");
        return true;
    }
    struct buf copy = {0};
    buf_puts(&copy, text);
    if (action.kind == TUNE_ACT_ANSWER)
        calls_answer_cut(&copy);
    action.text = copy.at;
    bool taken = views->model.act && views->model.act(views->model.context, &action, err);
    buf_free(&copy);
    lanes_follow(views);
    if (!taken)
        return false;
    if (action.kind == TUNE_ACT_WRITE_KERNEL) /* the last lane, where it came beside others */
        lanes_focus(views, (int)views->state->lanes.len - 1);
    views_say(views, false, "saved from the editor");
    return true;
}

/* ---- decisions with a reason ---------------------------------------------------------------- */

/* Asks which files count, unless they are as they were again. */
static bool asks_files(struct views *views) {
    if (!views->state->changed.len)
        return false;
    views->change_seen = NULL;
    bool started = views_act(views, &(struct tune_action){.kind = TUNE_ACT_START});
    if (views->state->changed.len)
        views->message[0] = 0; /* the question says it */
    return started || views->state->changed.len;
}

void act_approve(struct views *views, struct str args, struct views_request *request) {
    if (asks_files(views))
        return;
    if (views_can(views, TUNE_ACT_SEND) && !views_can(views, TUNE_ACT_APPROVE))
        calls_send(views, args, request);
    else
        views_act(views, &(struct tune_action){.kind = TUNE_ACT_APPROVE});
}

static void reject_with(struct views *views, struct str text, struct views_request *request) {
    (void)request;
    act_text(views, TUNE_ACT_REJECT, text);
}

/* In a round of several lanes one is closed and the others wait on. What was learnt of one lane is
 * dropped. */
static void ask_reject_lane(struct views *views) {
    const struct tune_state *state = views->state;
    int others = tune_lanes_open(state) - 1, lane = views->lane + 1;
    struct buf text = {0};
    char title[32];
    snprintf(title, sizeof title, "reject lane %d", lane);
    if (state->wait_step >= TUNE_STEP_SUMMARISE)
        buf_printf(&text, "Why? What was %s of lane %d is dropped; the other lanes go on.",
                   state->wait_step == TUNE_STEP_REFLECT ? "noted" : "learnt", lane);
    else if (others)
        buf_printf(&text,
                   "Why? The reason goes into the context of later proposals. Lane %d is closed; "
                   "%d other%s wait%s here as before.",
                   lane, others, PLURAL(others), others == 1 ? "s" : "");
    else
        buf_puts(&text, "Why? The reason goes into the context of later proposals. This is the "
                        "last open lane: the round ends and the loop pauses.");
    views_ask_note(views, title, text.at, "", reject_with);
    buf_free(&text);
}

void act_reject(struct views *views, struct str args, struct views_request *request) {
    if (!lanes_take_cursor(views))
        return;
    if (args.len) {
        reject_with(views, args, request);
        return;
    }
    if (!views_can(views, TUNE_ACT_REJECT)) {
        views_act(views, &(struct tune_action){.kind = TUNE_ACT_REJECT});
        return;
    }
    if (lanes_any(views)) {
        ask_reject_lane(views);
        return;
    }
    views_ask_note(views, "reject",
                   "Why? The reason goes into the next proposal's context. The loop pauses.", "",
                   reject_with);
}

static void another_with(struct views *views, struct str text, struct views_request *request) {
    (void)request;
    act_text(views, TUNE_ACT_ANOTHER, text);
}

void act_another(struct views *views, struct str args, struct views_request *request) {
    enum tune_wait wait = views->state->wait;
    bool takes =
        wait == TUNE_WAIT_GATE || (views->view == VIEW_LANES && wait != TUNE_WAIT_REJECTED);
    if (takes && !lanes_take_cursor(views))
        return;
    if (args.len || !views_can(views, TUNE_ACT_ANOTHER)) {
        another_with(views, args, request);
        return;
    }
    bool lanes = lanes_any(views) && views->state->wait == TUNE_WAIT_GATE;
    views_ask_note(views, "another proposal",
                   lanes ? "What should be different? (may be left empty) Only this lane starts "
                           "over; the others wait."
                         : "What should be different? (may be left empty)",
                   "", another_with);
}

/* The person did not agree to what the loop decided while the question stood: they are asked
 * again. */
static void undo_anyway(struct views *views, struct str text, struct views_request *request) {
    struct tune_back back = {.lane = -1};
    (void)text;
    if (tune_back_of(views->state, &back) && back.index != views->over.about) {
        act_undo(views, STR(""), request);
        return;
    }
    if (!views_act(views, &(struct tune_action){.kind = TUNE_ACT_TAKE_BACK}))
        return;
    lanes_focus(views, back.lane);
    views_say(views, false, "taken back; U does it again");
}

/* The attempts that were decided since then, newest first. */
static void decided_print(const struct tune_state *state, int count, struct buf *out) {
    int named = 0;
    for (size_t i = state->attempts.len; i-- > 1 && named < MIN_OF(count, 4);) {
        const struct tune_attempt *attempt = &state->attempts.at[i];
        if (attempt->status == TUNE_STATUS_OPEN)
            continue;
        buf_printf(out, "%s#%d %s", named ? ", " : "", attempt->id,
                   tune_status_word(attempt->status));
        named++;
    }
    buf_puts(out, count > named ? " and more" : "");
}

static void undo_print(const struct tune_state *state, const struct tune_back *back,
                       struct buf *out) {
    int others = back->decisions - back->by_loop;
    if (others > 0) {
        buf_printf(out, "%d decision%s since round %d: ", others, PLURAL(others), back->round);
        decided_print(state, others, out);
        buf_puts(out, "; and ");
    }
    buf_printf(out, "%s: %s. ", back->by_loop ? "what the loop decided" : "what you did",
               back->what);
    if (back->flow)
        buf_printf(out, "The loop stands at %s of round %d again%s. What was measured stays. ",
                   tune_step_word(back->step), back->round, back->by_loop ? " and is paused" : "");
    buf_puts(out, "U does it again.");
}

void act_undo(struct views *views, struct str args, struct views_request *request) {
    struct tune_back back;
    struct buf text = {0};
    (void)args;
    (void)request;
    if (!views_can(views, TUNE_ACT_TAKE_BACK) || !tune_back_of(views->state, &back)) {
        views_act(views, &(struct tune_action){.kind = TUNE_ACT_TAKE_BACK}); /* says why not */
        return;
    }
    buf_puts(&text, "This takes back ");
    undo_print(views->state, &back, &text);
    views_ask_confirm(views, "undo", text.at, undo_anyway);
    views->over.about = back.index;
    buf_free(&text);
}

void act_redo(struct views *views, struct str args, struct views_request *request) {
    char what[200];
    (void)args;
    (void)request;
    snprintf(what, sizeof what, "%s", views->state->redo_what ? views->state->redo_what : "");
    if (views_act(views, &(struct tune_action){.kind = TUNE_ACT_DO_AGAIN}))
        views_say(views, false, "done again: %s; u takes it back", what);
}

static void revert_to(struct views *views, struct str text, struct views_request *request) {
    (void)text;
    (void)request;
    if (views_act(views,
                  &(struct tune_action){.kind = TUNE_ACT_REVERT, .attempt = views->over.about}))
        views_show(views, VIEW_WORKBENCH);
}

/* What going back does to a beam search. */
static void revert_beam_print(const struct tune_state *state, int id, struct buf *out) {
    if (state->way->numbered)
        buf_printf(out, "The %d lanes of this round are closed. ", lanes_count(state));
    if (state->beam.len > 1 || (state->beam.len == 1 && state->beam.at[0] != id))
        buf_printf(out, "The beam of %d is given up: the", (int)state->beam.len);
    else
        buf_puts(out, "The");
    buf_printf(out,
               " next round starts from #%d alone, and the beam is what comes of it. Nothing is "
               "deleted, and u takes it back.",
               id);
}

static bool waits_at_plan(const struct tune_state *state) {
    return state->wait == TUNE_WAIT_GATE && state->wait_step == TUNE_STEP_PLAN;
}

/* What cannot be done is said before anything is asked. */
static void ask_revert(struct views *views, int id) {
    const struct tune_attempt *attempt = tune_state_attempt(views->state, id);
    const struct tune_action revert = {.kind = TUNE_ACT_REVERT, .attempt = id};
    struct err err = {0};
    if (!attempt) {
        if (id < 0)
            views_say(views, true, "no attempt is chosen; 7 shows them all");
        else
            views_say(views, true, "there is no attempt %d; 7 shows them all", id);
        return;
    }
    if (!tune_act_check(views->state, &revert, &err)) {
        views_say(views, true, "%s", err.text);
        return;
    }
    struct buf text = {0};
    buf_printf(&text, "Make attempt #%d (%s) the incumbent? ", id,
               show_latency(attempt->latency_us).text);
    if (lanes_may(views))
        revert_beam_print(views->state, id, &text);
    else
        buf_puts(&text, tune_lane_of(views->state, views->lane)->candidate.exists ||
                                waits_at_plan(views->state)
                            ? "The proposal that is open now is closed; nothing is deleted, and u "
                              "takes it back."
                            : "The next round starts from it. Nothing is deleted, and u takes it "
                              "back.");
    views->over.about = id;
    views_ask_confirm(views, "revert", text.at, revert_to);
    buf_free(&text);
}

void act_revert(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    long long id;
    if (args.len && !str_to_int(args, &id)) {
        views_say(views, true, "revert takes the number of an attempt: revert 3");
    } else if (args.len) {
        ask_revert(views, (int)MIN_OF(MAX_OF(id, -1), 1000000));
    } else if (screen_here(views)->attempt) {
        ask_revert(views, screen_here(views)->attempt(views));
    } else if (!views->state->attempts.len) {
        views_say(views, true, "there is no attempt to go back to yet");
    } else {
        views_show(views, VIEW_HISTORY);
        views_say(views, false, "choose an attempt and press R");
    }
}

/* Nothing can be started at a gate: says what the keys there do. */
static bool says_gate(struct views *views) {
    const struct tune_state *state = views->state;
    if (state->wait != TUNE_WAIT_GATE || state->read_only)
        return false;
    bool asks = views_can(views, TUNE_ACT_ANOTHER);
    views_say(
        views, false, "%s waits for you, not for a start: a approves it and the loop goes on%s%s",
        tune_step_word(state->wait_step), views_can(views, TUNE_ACT_REJECT) ? ", r rejects it" : "",
        asks ? ", n asks for another one" : "");
    return true;
}

void act_run(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    if (views->state && views->state->holder_left) {
        request->wish = VIEWS_AGAIN;
        return;
    }
    bool lost = views->state && views->state->is_lost; /* the attempt asks where to save it */
    if (!lost && (asks_files(views) || says_gate(views)))
        return;
    bool pause = views_can(views, TUNE_ACT_PAUSE) && !views_can(views, TUNE_ACT_START);
    bool asks = calls_running(views->state) > 0 || tune_state_waits(views->state);
    if (views_act(views, &(struct tune_action){.kind = pause ? TUNE_ACT_PAUSE : TUNE_ACT_START}) &&
        pause)
        views_say(views, false,
                  asks ? "the question was given up; s asks it again"
                       : "pauses after the running step; s goes on");
}

/* ---- settings ------------------------------------------------------------------------------- */

#define GATE_QUESTIONS (TUNE_STEPS + 1) /* the row of the menu after those of the steps */

/* The setting that all gates have; TUNE_GATES: they differ. */
static enum tune_gate common_gate(const struct tune_state *state) {
    for (int i = 1; i < TUNE_STEPS; i++)
        if (state->steps[i].gate != state->steps[0].gate)
            return TUNE_GATES;
    return state->steps[0].gate;
}

static void list_gates(struct views *views) {
    static const char *const meaning[TUNE_GATES] = {"waits for you", "goes on by itself",
                                                    "goes on by itself when it came out well"};
    enum tune_gate all = common_gate(views->state);
    struct buf text = {0};
    views->over.rows.len = 0;
    buf_printf(&text, "%-11s set every gate to the next setting",
               all < TUNE_GATES ? tune_gate_word(all) : "mixed");
    views_menu_row(views, TUNE_STEPS, "", "all steps", text.at);
    for (int i = 0; i < TUNE_STEPS; i++) {
        enum tune_gate gate = views->state->steps[i].gate;
        buf_clear(&text);
        buf_printf(&text, "%-11s after it, the loop %s", tune_gate_word(gate), meaning[gate]);
        views_menu_row(views, i, "", tune_step_word((enum tune_step)i), text.at);
    }
    bool holds = views->state->holds;
    views_menu_row(views, GATE_QUESTIONS, "", "questions",
                   holds ? "ask         before one goes to a model, it waits for you (screen 9)"
                         : "auto        they go to a model at once");
    buf_free(&text);
}

/* The next setting of a gate, or of all gates; "mixed" is followed by the first one. What was typed
 * to find the row stays. */
static void next_gate(struct views *views, struct str text, struct views_request *request) {
    long long step;
    (void)request;
    if (!str_to_int(text, &step) || step < 0 || step > GATE_QUESTIONS)
        return;
    enum tune_gate gate =
        step < TUNE_STEPS ? views->state->steps[step].gate : common_gate(views->state);
    struct tune_action action = {.kind = TUNE_ACT_SET_GATE,
                                 .step = (enum tune_step)step,
                                 .gate = gate >= TUNE_GATES - 1 ? 0 : gate + 1};
    if (step == GATE_QUESTIONS)
        action = (struct tune_action){.kind = TUNE_ACT_HOLD};
    views_act(views, &action);
    list_gates(views);
    tui_menu_rows(&views->over.menu, views->over.rows.at, (int)views->over.rows.len);
    views->over.answer = next_gate;
    views->over.is = OVERLAY_MENU;
}

void act_gates(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    list_gates(views);
    views_open_menu(views, "gates (Enter changes, Esc closes)", next_gate);
}

static struct str take_word(struct str *text) {
    struct str word;
    *text = str_trim(*text);
    if (!str_next(text, ' ', &word))
        return STR("");
    *text = str_trim(*text);
    return word;
}

void act_gate(struct views *views, struct str args, struct views_request *request) {
    struct str name = take_word(&args);
    struct buf step_word = {0}, gate_word = {0};
    buf_add(&step_word, name.at, name.len);
    buf_add(&gate_word, args.at, args.len);
    enum tune_step step = TUNE_STEPS;
    enum tune_gate gate;
    if (name.len == 0)
        act_gates(views, args, request);
    else if (!str_is(name, "all") && !tune_step_find(step_word.at, &step))
        views_say(views, true, "no step is called '%s'; or say all", step_word.at);
    else if (!tune_gate_find(gate_word.at, &gate))
        views_say(views, true, "a gate is ask, auto or auto-green");
    else
        views_act(views,
                  &(struct tune_action){.kind = TUNE_ACT_SET_GATE, .step = step, .gate = gate});
    buf_free(&step_word);
    buf_free(&gate_word);
}

void act_budget(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    struct str name = take_word(&args);
    struct buf word = {0};
    buf_add(&word, name.at, name.len);
    enum tune_budget budget;
    double number = NAN;
    if (!tune_budget_find(word.at, &budget))
        views_say(views, true, "budgets are rounds, wall, device, tokens and dollars");
    else if (!str_is(args, "none") && !str_to_double(args, &number))
        views_say(views, true, "say a number or none: budget rounds 20");
    else
        views_act(views, &(struct tune_action){
                             .kind = TUNE_ACT_SET_BUDGET, .index = (int)budget, .number = number});
    buf_free(&word);
}

void act_tolerance(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    double number;
    if (!str_to_double(args, &number))
        views_say(views, true, "say a number: tolerance 2e-5");
    else
        views_act(views, &(struct tune_action){.kind = TUNE_ACT_SET_TOLERANCE, .number = number});
}

void act_precision(struct views *views, struct str args, struct views_request *request) {
    (void)request;
    if (!args.len)
        precision_ask(views);
    else if (!precision_set(views, args))
        views_say(views, true, "say one of these: precision keep, split or any");
}

void act_allow(struct views *views, struct str args, struct views_request *request) {
    (void)args;
    (void)request;
    views_act(views, &(struct tune_action){.kind = TUNE_ACT_ALLOW});
}
