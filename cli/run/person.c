/* SPDX-License-Identifier: Apache-2.0 */
/* A person at the terminal of a run, who decides at the gates, sends questions that are held, and
 * answers as a model. */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "cli/run/private.h"

/* ------------------------------------------------------------------------------------- at gates */

void run_prompt(struct run *run) {
    struct buf line = {0};
    run->prompted = true;
    if (run->json) {
        run_gate_json(run);
        return;
    }
    gate_print(tune_session_state(run->session), &line);
    run_line(run, &line);
}

/* "n 3 too small a step" means lane 3, and the rest is the reason. When only one lane waits, its
 * number may be left out. */
static bool lane_take(struct run *run, struct str *text, int *lane, struct err *err) {
    const struct tune_state *state = tune_session_state(run->session);
    struct str rest = *text, word;
    long long number = 0;
    *lane = TUNE_ANY_LANE;
    if (!state->way->numbered)
        return true;
    bool said = str_next(&rest, ' ', &word) && str_to_int(word, &number);
    if (!said && text->len && tune_lanes_open(state) == 1)
        return true;
    if (!said || number < 1 || number > (long long)state->lanes.len)
        return err_set(err, ERR_USAGE, "say which of the %zu lanes, and why: n 3 too small a step",
                       state->lanes.len);
    if (state->lanes.at[number - 1].closed)
        return err_set(err, ERR_USAGE, "lane %lld is closed: %s", number,
                       state->lanes.at[number - 1].closed);
    *text = str_trim(rest);
    *lane = (int)number - 1;
    return true;
}

static void answer(struct run *run, struct str text) {
    struct tune_action action = {.kind = TUNE_ACT_APPROVE};
    struct err err = {0};
    struct buf reason = {0};
    run->prompted = false;
    if (str_is(text, "q")) {
        run->end = "ended by you; the same command goes on";
        loop_stop(run->loop);
        return;
    }
    struct str rest = text, word = STR("");
    (void)!str_next(&rest, ' ', &word);
    rest = str_trim(rest);
    enum str_reply reply = str_reply(word);
    bool known = reply == STR_YES && !rest.len;
    if (reply == STR_NO) {
        action.kind = TUNE_ACT_REJECT;
        known = lane_take(run, &rest, &action.lane, &err);
        buf_add(&reason, rest.at, rest.len);
        action.text = reason.at ? reason.at : "";
    }
    const struct tune_state *state = tune_session_state(run->session);
    bool done = known && tune_session_act(run->session, &action, &err);
    /* Of several lanes, the others still wait. */
    if (done && action.kind == TUNE_ACT_REJECT && state->wait != TUNE_WAIT_GATE) {
        action = (struct tune_action){.kind = TUNE_ACT_START};
        if (!tune_session_act(run->session, &action, &err))
            run->end = "it cannot go on";
    }
    if (err.text[0])
        run_say(run, "?", err.text);
    if (!known)
        run_prompt(run);
    buf_free(&reason);
}

/* ---------------------------------------------------------------------- a person as the model */

/* Prints the question as it goes out: as it was kept, or, when it is held, as it is now. */
static void question_print(const struct run *run, int number, struct buf *out) {
    const struct tune_state *state = tune_session_state(run->session);
    const struct tune_call *call = &state->calls.at[number];
    enum tune_role role = TUNE_ROLE_PLANNER;
    struct err err = {0};
    if (call->prompt) {
        char *text = tune_session_artefact(run->session, call->prompt, &err);
        buf_puts(out, text ? text : err.text);
        free(text);
        return;
    }
    tune_role_find(call->role, &role);
    struct tune_context *context =
        tune_context_question(state, MAX_OF(call->lane, 0), role, number);
    const struct tune_role_view *view = state->roles ? &state->roles[role] : NULL;
    struct tune_prompt *whole = tune_prompt_build(context, role, NULL, 0);
    for (size_t i = 0; view && i < view->count; i++)
        if (call->model && !strcmp(view->models[i].name, call->model))
            tune_prompt_fit(whole, context, view->models[i].most);
    struct buf rest = {0};
    tune_prompt_print(whole, out, &rest);
    buf_add(out, rest.at ? rest.at : "", rest.len);
    buf_free(&rest);
    tune_prompt_free(whole);
    tune_context_free(context);
}

static void question_json(struct run *run, int number, const struct buf *text) {
    const struct tune_call *call = &tune_session_state(run->session)->calls.at[number];
    struct buf line = {0};
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "event", "question");
    cJSON_AddNumberToObject(object, "call", number);
    cJSON_AddStringToObject(object, "role", call->role);
    cJSON_AddStringToObject(object, "prompt", text->at ? text->at : "");
    char *printed = cJSON_PrintUnformatted(object);
    buf_puts(&line, printed ? printed : "{}");
    run_line(run, &line);
    free(printed);
    cJSON_Delete(object);
}

static void question_show(struct run *run, int number) {
    const struct tune_call *call = &tune_session_state(run->session)->calls.at[number];
    struct buf text = {0}, line = {0};
    if (run->shown == number)
        return;
    run->shown = number;
    question_print(run, number, &text);
    if (run->json) {
        question_json(run, number, &text);
    } else {
        buf_printf(&line, "\n---- question %d, to the %s ----\n\n%s\n---- ", number, call->role,
                   text.at);
        if (call->held)
            buf_printf(&line, "not sent yet, to %s, about %.0f tokens: y sends it, q ends ----",
                       call->model, call->estimate);
        else
            buf_puts(&line, "write the answer; a line with nothing but a dot ends it ----");
        run_line(run, &line);
    }
    buf_free(&text);
}

static void send_or_end(struct run *run, struct str text) {
    struct err err = {0};
    if (str_is(text, "q")) {
        run->end = "ended by you; the same command goes on";
        loop_stop(run->loop);
    } else if (str_reply(text) != STR_YES) {
        run_say(run, "?",
                "y sends the question, q ends; the workbench lets you edit it (hone TASK)");
    } else {
        struct tune_action action = {.kind = TUNE_ACT_SEND, .index = run->shown};
        run->shown = -1;
        run->prompted = false;
        if (!tune_session_act(run->session, &action, &err))
            run_say(run, "?", err.text);
    }
}

/* Whether a question waits for a person. Then it is shown, and what comes next answers it. */
bool run_question_waits(struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    for (size_t i = 0; i < state->calls.len; i++) {
        const struct tune_call *call = &state->calls.at[i];
        if ((!call->waits && !call->held) || (int)i == run->given)
            continue;
        if (!run->person || (call->held && !run->asks)) {
            run->end =
                call->held
                    ? "a question waits to be sent: look at it in the workbench (hone TASK)"
                    : "a question waits for a person: answer it in the workbench (hone TASK)";
            loop_stop(run->loop);
            return true;
        }
        question_show(run, (int)i);
        run->prompted = call->held;
        person_ask(run->person, call->held ? -1 : (int)i);
        return true;
    }
    if (run->shown >= 0)
        person_ask(run->person, -1);
    run->shown = -1;
    return false;
}

/* ------------------------------------------------------------------------------ what is typed */

static bool on_wants_line(void *data) {
    const struct run *run = data;
    return run->prompted && !ask_is_open(run->ask); /* what is typed now answers it */
}

static void on_line(void *data, struct str line) {
    struct run *run = data;
    if (run->json)
        run_decide(run, str_trim(line));
    else if (run->shown >= 0)
        send_or_end(run, str_trim(line));
    else
        answer(run, str_trim(line));
    run_look(run);
}

static void on_person_answer(void *data, int call, struct str text) {
    struct run *run = data;
    struct err err = {0};
    struct buf copy = {0};
    buf_add(&copy, text.at ? text.at : "", text.len);
    run->given = call;
    if (!tune_session_act(
            run->session,
            &(struct tune_action){.kind = TUNE_ACT_ANSWER, .index = call, .text = copy.at}, &err)) {
        run_say(run, "?", err.text);
        run->given = -1;
    }
    buf_free(&copy);
    loop_post(run->loop, run_look, run);
}

static void on_input_end(void *data, const char *why) {
    struct run *run = data;
    run->end = why;
    loop_stop(run->loop);
}

static bool person_is_asked(const struct tune_state *state) {
    for (int i = 0; state->roles && i < TUNE_ROLES; i++)
        for (size_t k = 0; k < state->roles[i].count; k++)
            if (state->roles[i].models[k].person)
                return true;
    return false;
}

/* Reads standard input when somebody there is asked. False when nobody could answer. */
bool run_somebody_answers(struct run *run, struct err *err) {
    const struct tune_state *state = tune_session_state(run->session);
    const struct person_hooks hooks = {.wants_line = on_wants_line,
                                       .line = on_line,
                                       .answer = on_person_answer,
                                       .ended = on_input_end,
                                       .data = run};
    bool asked = person_is_asked(state);
    run->shown = run->given = -1;
    if (asked && !person_is_there())
        return err_set(
            err, ERR_USAGE,
            "a person is asked (human), and nobody can answer: standard input is neither a "
            "terminal nor a pipe. Answer there, or in the workbench (hone %s)",
            run->cli->args.at[0]);
    if (state->holds && state->roles && !run->asks)
        return err_set(
            err, ERR_USAGE,
            "in this session questions to models wait until you send them, and there is no "
            "terminal: use the workbench (hone %s), where h on screen 9 ends that",
            run->cli->args.at[0]);
    if (asked || run->asks)
        run->person = person_new(run->loop, &hooks);
    person_hold(run->person, ask_is_open(run->ask));
    return true;
}
