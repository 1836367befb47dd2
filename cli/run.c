/* SPDX-License-Identifier: Apache-2.0 */
/* hone run: the loop without a screen. Prints what happens as a log for people or as one JSON event
 * a line, and what came of it at the end. It decides nothing: a person at the terminal does, or the
 * gates. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/kit/kit.h"
#include "cli/cli.h"
#include "loop/loop.h"
#include "tune/tune.h"

#define EXIT_SIGNAL 128 /* and its number, as shells report one */
#define EXIT_INTERRUPTED (EXIT_SIGNAL + SIGINT)

struct run {
    const struct cli *cli;
    struct loop *loop;
    struct tune_session *session;
    struct loop_signal *interrupt, *terminate, *hangup;
    struct person *person;
    struct config *config;
    struct ask *ask;         /* questions of the place */
    enum target_state noted; /* of the place, when it was said last */
    struct buf said;         /* what was said of it */
    const char *changed;     /* which files of the task count: "take", "keep"; NULL */
    struct buf files;        /* why it ended over them */
    int64_t retry_ms;        /* when it tried again, as was said */
    uint64_t started_ns;
    const char *end; /* why it ended before the loop did; NULL */
    bool json, asks, interrupted, prompted;
    bool rescued;     /* its files were gone */
    int signum;       /* that ended it */
    struct buf left;  /* what goes on without it */
    struct buf saved; /* where to, or why not */
    bool looks;       /* look() comes soon */
    int shown, given; /* the question that was shown last, and answered last; -1 */
};

/* ------------------------------------------------------------------------------------ printing */

static void line_end(struct run *run, struct buf *line) {
    struct buf safe = {0};
    if (run->json)
        buf_add(&safe, line->at, line->len);
    else
        text_sanitise(&safe, buf_str(line));
    buf_putc(&safe, '\n');
    fwrite(safe.at, 1, safe.len, stdout);
    /* Nobody reads any more: end as if interrupted. */
    if (fflush(stdout) != 0 && !run->interrupted) {
        run->interrupted = true;
        run->end = "nobody reads the output any more";
        loop_stop(run->loop);
    }
    buf_free(&safe);
    buf_free(line);
}

/* Which of several directions an event is about: "#7", before it has a number "lane 3". `lane` -1:
 * all. */
static void who_print(const struct tune_state *state, int lane, int attempt, struct buf *out) {
    char who[24] = "";
    if (!state->way->numbered && !tune_search_is_wide(state))
        return;
    if (attempt < 0)
        attempt = tune_lane_attempt(state, lane);
    if (attempt >= 0)
        snprintf(who, sizeof who, "#%d", attempt);
    else if (lane >= 0)
        snprintf(who, sizeof who, "lane %d", lane + 1);
    buf_printf(out, "%-7s ", who);
}

static void say_of(struct run *run, int lane, int attempt, const char *what, const char *text) {
    struct buf line = {0};
    const struct tune_state *state = tune_session_state(run->session);
    time_t now = time(NULL);
    struct tm parts;
    char when[16] = "";
    if (localtime_r(&now, &parts))
        strftime(when, sizeof when, "%H:%M:%S", &parts);
    buf_printf(&line, "%s  round %-3d ", when, state->round);
    who_print(state, lane, attempt, &line);
    buf_printf(&line, "%-10s %s", what, text ? text : "");
    line_end(run, &line);
}

static void say(struct run *run, const char *what, const char *text) {
    say_of(run, -1, -1, what, text);
}

static void say_log(struct run *run, const struct tune_event *event) {
    const struct tune_event_log *log = &event->log;
    if (log->level < TUNE_LEVELS && log->level != TUNE_LEVEL_DEBUG)
        say_of(run, event->lane, log->attempt, log->phase, log->text);
}

static void say_diagnostic(struct run *run, const struct tune_event *event) {
    const struct tune_event_diagnostic *diag = &event->diagnostic;
    struct buf text = {0};
    buf_printf(&text, "%s:%d: %s: %s", diag->file ? diag->file : "kernel", diag->line,
               diag->severity ? diag->severity : "note", diag->message ? diag->message : "");
    say_of(run, event->lane, diag->attempt, "check", text.at);
    buf_free(&text);
}

static void say_step(struct run *run, const struct tune_event *event) {
    enum tune_step_is is = event->step_end.is;
    if (is < TUNE_STEP_STATES && is != TUNE_IS_SKIPPED)
        say(run, tune_step_word(event->step_end.step), event->step_end.summary);
}

/* Plans are told when all lanes have theirs. */
static void say_lane_end(struct run *run, const struct tune_event *event) {
    const struct tune_event_lane_end *end = &event->lane_end;
    bool told = end->is < TUNE_STEP_STATES && end->is != TUNE_IS_SKIPPED &&
                end->step < TUNE_STEPS && end->step != TUNE_STEP_PLAN;
    if (told && end->summary && *end->summary)
        say_of(run, event->lane, -1, tune_step_word(end->step), end->summary);
}

/* From here on its lines have the number of the attempt. */
static void say_attempt(struct run *run, const struct tune_event *event) {
    int lane = event->lane, repairs = event->attempt.repairs;
    const struct tune_plan *plan = tune_lane_plan(tune_session_state(run->session), lane);
    struct buf text = {0};
    if (lane < 0)
        return;
    buf_printf(&text, "lane %d: %s", lane + 1, plan && plan->title ? plan->title : "-");
    if (repairs > 0)
        buf_printf(&text, ", repair %d", repairs);
    say_of(run, lane, event->attempt.attempt, "verify", text.at);
    buf_free(&text);
}

static void say_assigned(struct run *run, const struct tune_event *event) {
    const struct tune_state *state = tune_session_state(run->session);
    (void)event;
    for (size_t i = 0; i < state->lanes.len; i++) {
        const struct tune_lane *lane = &state->lanes.at[i];
        const struct tune_plan *plan = tune_lane_plan(state, (int)i);
        struct buf text = {0};
        if (lane->step != TUNE_STEP_PLAN)
            continue;
        buf_printf(&text, "of #%d: %s", lane->parent,
                   lane->closed          ? lane->closed
                   : plan && plan->title ? plan->title
                                         : "-");
        say_of(run, (int)i, -1, "plan", text.at);
        buf_free(&text);
    }
}

static void say_stop(struct run *run, const struct tune_event *event) {
    say(run, "stop", event->stop.text);
}

static void say_pause(struct run *run, const struct tune_event *event) {
    say(run, "stop", event->pause.text);
}

static void say_lines(struct run *run, const char *what, const char *text) {
    struct str rest = str_of(text), line;
    while (str_next(&rest, '\n', &line)) {
        struct buf copy = {0};
        buf_add(&copy, line.at, line.len);
        say(run, what, copy.at ? copy.at : "");
        buf_free(&copy);
    }
}

static void say_changes(struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    for (size_t i = 0; i < state->changed.len; i++) {
        const struct tune_file_change *file = &state->changed.at[i];
        struct buf text = {0};
        buf_printf(&text, "%s %s", file->name,
                   !file->was   ? "is new"
                   : !file->now ? "is gone"
                                : "changed on disk");
        say(run, "files", text.at);
        say_lines(run, "files", file->diff ? file->diff : "");
        buf_free(&text);
    }
}

static void say_changed(struct run *run, const struct tune_event *event) {
    (void)event;
    say_changes(run);
}

static void count_print(struct buf *out, double count, const char *what) {
    if (isnan(count))
        buf_printf(out, ", tokens %s not reported", what);
    else
        buf_printf(out, ", %.0f tokens %s", count, what);
}

/* The question of that number, which an event is about; -1: the last one. NULL: there is none. */
static const struct tune_call *call_of(const struct run *run, int number) {
    const struct tune_state *state = tune_session_state(run->session);
    size_t at = number >= 0 ? (size_t)number : state->calls.len - 1;
    return at < state->calls.len ? &state->calls.at[at] : NULL;
}

static void say_asked(struct run *run, const struct tune_event *event) {
    const struct tune_call *call = call_of(run, -1);
    struct buf text = {0};
    (void)event;
    if (!call)
        return;
    buf_printf(&text, "asks %s, about %.0f tokens", call->model, call->estimate);
    if (call->hold_tokens > 0) {
        buf_puts(&text, "; with the answer up to ");
        tune_budget_print(&text, TUNE_BUDGET_TOKENS, call->hold_tokens);
        buf_puts(&text, isnan(call->hold_dollars) ? ", dollars not known" : ", ");
        if (!isnan(call->hold_dollars))
            tune_budget_print(&text, TUNE_BUDGET_DOLLARS, call->hold_dollars);
    }
    say_of(run, call->lane, -1, call->role, text.at);
    buf_free(&text);
}

static void say_answered(struct run *run, const struct tune_event *event) {
    const struct tune_call *call = call_of(run, event->answered.call);
    struct buf text = {0};
    if (!call)
        return;
    buf_printf(&text, "%s%s", call->model, call->failure ? ": " : "");
    buf_puts(&text, call->failure ? call->failure : "");
    count_print(&text, call->input, "in");
    count_print(&text, call->output, "out");
    if (isnan(call->dollars))
        buf_puts(&text, ", cost not reported");
    else
        buf_printf(&text, ", $%.4f", call->dollars);
    if (!isnan(call->elapsed_s))
        buf_printf(&text, ", %.1f s", call->elapsed_s);
    say_of(run, call->lane, -1, call->role, text.at);
    buf_free(&text);
}

typedef void say_fn(struct run *run, const struct tune_event *event);
static say_fn *const told[TUNE_EVENTS] = {
    [TUNE_EVENT_LOG] = say_log,         [TUNE_EVENT_DIAGNOSTIC] = say_diagnostic,
    [TUNE_EVENT_STEP_END] = say_step,   [TUNE_EVENT_LANE_END] = say_lane_end,
    [TUNE_EVENT_ATTEMPT] = say_attempt, [TUNE_EVENT_LANES_ASSIGN] = say_assigned,
    [TUNE_EVENT_ASKED] = say_asked,     [TUNE_EVENT_ANSWERED] = say_answered,
    [TUNE_EVENT_CHANGED] = say_changed, [TUNE_EVENT_STOP] = say_stop,
    [TUNE_EVENT_PAUSE] = say_pause};

static void event_json(struct run *run, int64_t seq, const char *type, const char *json) {
    struct buf line = {0};
    buf_printf(&line, "{\"event\":\"%s\",\"seq\":%lld%s%s", type, (long long)seq,
               json[1] == '}' ? "" : ",", json + 1);
    line_end(run, &line);
}

static void on_event(void *data, int64_t seq, const char *type, const char *json) {
    struct run *run = data;
    struct tune_event event;
    if (run->json) {
        event_json(run, seq, type, json);
        return;
    }
    struct arena *arena = arena_new();
    if (tune_event_read(arena, type, json, &event) && told[event.is])
        told[event.is](run, &event);
    arena_free(arena);
}

/* ----------------------------------------------------------------------------- what came of it */

static void number_or_null(cJSON *object, const char *key, double value) {
    if (isfinite(value))
        cJSON_AddNumberToObject(object, key, value);
    else
        cJSON_AddNullToObject(object, key);
}

/* Correct means: on every seed of the session. */
static void correct_put(cJSON *object, const struct tune_state *state,
                        const struct tune_attempt *attempt) {
    bool whole = attempt->seeds.len >= state->seeds.len;
    if (attempt->verdict.correct == TUNE_ANSWER_YES && whole)
        cJSON_AddTrueToObject(object, "correct");
    else if (attempt->verdict.correct == TUNE_ANSWER_NO)
        cJSON_AddFalseToObject(object, "correct");
    else
        cJSON_AddNullToObject(object, "correct");
}

static void attempt_put(cJSON *root, const char *key, const struct run *run, int id) {
    const struct tune_state *state = tune_session_state(run->session);
    const struct tune_attempt *attempt = tune_state_attempt(state, id);
    if (!attempt) {
        cJSON_AddNullToObject(root, key);
        return;
    }
    cJSON *object = cJSON_AddObjectToObject(root, key);
    cJSON_AddNumberToObject(object, "attempt", attempt->id);
    char *path = path_join(tune_session_folder(run->session), attempt->path ? attempt->path : "");
    cJSON_AddStringToObject(object, "kernel", path);
    free(path);
    number_or_null(object, "latency_us", attempt->latency_us);
    number_or_null(object, "floor_us", attempt->floor_us);
    cJSON_AddBoolToObject(object, "floor_modelled", attempt->floor_modelled || attempt->modelled);
    number_or_null(object, "speedup", attempt->speedup);
    cJSON_AddBoolToObject(object, "modelled", attempt->modelled);
    tune_predicted_put(object, attempt);
    correct_put(object, state, attempt);
}

static const char *end_reason(const struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    if (run->end)
        return run->end;
    return state->trouble ? state->trouble : state->wait_text;
}

static void end_json(struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "event", "end");
    attempt_put(root, "baseline", run, 0);
    attempt_put(root, "best", run, state->best);
    cJSON_AddNumberToObject(root, "rounds", state->budgets[TUNE_BUDGET_ROUNDS].spent);
    cJSON_AddNumberToObject(root, "attempts", (double)state->attempts.len);
    cJSON_AddNumberToObject(root, "elapsed_s",
                            (double)(clock_monotonic_ns() - run->started_ns) * 1e-9);
    cJSON *cost = cJSON_AddObjectToObject(root, "cost");
    number_or_null(cost, "dollars", state->budgets[TUNE_BUDGET_DOLLARS].spent);
    number_or_null(cost, "tokens", state->budgets[TUNE_BUDGET_TOKENS].spent);
    number_or_null(cost, "device_s", state->budgets[TUNE_BUDGET_DEVICE_S].spent);
    const char *reason = end_reason(run);
    if (reason)
        cJSON_AddStringToObject(root, "reason", reason);
    cJSON_AddStringToObject(root, "session", tune_session_folder(run->session));
    char *text = cJSON_PrintUnformatted(root);
    struct buf line = {0};
    buf_puts(&line, text ? text : "{\"event\":\"end\"}");
    line_end(run, &line);
    free(text);
    cJSON_Delete(root);
}

static void end_text(struct run *run) {
    struct buf line = {0};
    tune_summary_print(tune_session_state(run->session), tune_session_folder(run->session),
                       end_reason(run), &line);
    fputc('\n', stdout);
    if (line.len && line.at[line.len - 1] == '\n')
        line.len--;
    line_end(run, &line);
}

/* ------------------------------------------------------------------- a person at the terminal */

static void prompt(struct run *run) {
    struct buf line = {0};
    gate_print(tune_session_state(run->session), &line);
    line_end(run, &line);
    run->prompted = true;
}

/* "n 3 too small a step": looks at lane 3 and leaves the rest as the reason. */
static bool lane_take(struct run *run, struct str *text, struct err *err) {
    const struct tune_state *state = tune_session_state(run->session);
    struct str rest = *text, word;
    long long number = 0;
    if (!state->way->numbered)
        return true;
    bool said = str_next(&rest, ' ', &word) && str_to_int(word, &number);
    if (!said || number < 1 || number > (long long)state->lanes.len)
        return err_set(err, ERR_USAGE, "say which of the %zu lanes, and why: n 3 too small a step",
                       state->lanes.len);
    if (state->lanes.at[number - 1].closed)
        return err_set(err, ERR_USAGE, "lane %lld is closed: %s", number,
                       state->lanes.at[number - 1].closed);
    *text = str_trim(rest);
    return tune_session_act(
        run->session, &(struct tune_action){.kind = TUNE_ACT_FOCUS, .index = (int)number - 1}, err);
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
        known = lane_take(run, &rest, &err);
        buf_add(&reason, rest.at, rest.len);
        action = (struct tune_action){.kind = TUNE_ACT_REJECT, .text = reason.at ? reason.at : ""};
    }
    const struct tune_state *state = tune_session_state(run->session);
    bool done = known && tune_session_act(run->session, &action, &err);
    /* Of several lanes the others wait still. */
    if (done && action.kind == TUNE_ACT_REJECT && state->wait != TUNE_WAIT_GATE) {
        action = (struct tune_action){.kind = TUNE_ACT_START};
        if (!tune_session_act(run->session, &action, &err))
            run->end = "it cannot go on";
    }
    if (err.text[0])
        say(run, "?", err.text);
    if (!known)
        prompt(run);
    buf_free(&reason);
}

/* ---------------------------------------------------------------------- a person as the model */

/* The question as it goes out: as it was kept, or, when it is held, as it is now. */
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
    line_end(run, &line);
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
        line_end(run, &line);
    }
    buf_free(&text);
}

static void send_or_end(struct run *run, struct str text) {
    struct err err = {0};
    if (str_is(text, "q")) {
        run->end = "ended by you; the same command goes on";
        loop_stop(run->loop);
    } else if (str_reply(text) != STR_YES) {
        say(run, "?", "y sends the question, q ends; the workbench lets you edit it (hone TASK)");
    } else {
        struct tune_action action = {.kind = TUNE_ACT_SEND, .index = run->shown};
        run->shown = -1;
        run->prompted = false;
        if (!tune_session_act(run->session, &action, &err))
            say(run, "?", err.text);
    }
}

/* Whether a question waits for a person: then it is shown, and what comes is for it. */
static bool question_waits(struct run *run) {
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

static void look(void *data);

static bool on_wants_line(void *data) {
    const struct run *run = data;
    return run->prompted && !ask_is_open(run->ask); /* what is typed now answers that */
}

static void on_line(void *data, struct str line) {
    struct run *run = data;
    if (run->shown >= 0)
        send_or_end(run, str_trim(line));
    else
        answer(run, str_trim(line));
    look(run);
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
        say(run, "?", err.text);
        run->given = -1;
    }
    buf_free(&copy);
    loop_post(run->loop, look, run);
}

static void on_input_end(void *data, const char *why) {
    struct run *run = data;
    run->end = why;
    loop_stop(run->loop);
}

/* --------------------------------------------------------------------------------- the command */

/* Files of the task changed: whose count is what the command line said, or nobody did. False with
 * *err where that stops it. */
static bool files_choose(struct run *run, struct err *err) {
    const struct tune_state *state = tune_session_state(run->session);
    struct tune_action action = {.kind = TUNE_ACT_TAKE_FILES};
    if (!state->changed.len)
        return true;
    if (!run->changed)
        return err_set(err, ERR_USAGE,
                       "%.100s%s changed on disk since this session has it: --changed take goes on "
                       "with what is on disk and measures all anew, --changed keep with the "
                       "session's own",
                       state->changed.at[0].name, state->changed.len > 1 ? " and others" : "");
    if (strcmp(run->changed, "keep") == 0)
        action.kind = TUNE_ACT_KEEP_FILES;
    return tune_session_act(run->session, &action, err);
}

/* While it runs. */
static bool files_go_on(struct run *run) {
    struct err err = {0};
    if (files_choose(run, &err))
        return true;
    buf_clear(&run->files);
    buf_puts(&run->files, err.text);
    run->end = run->files.at;
    return false;
}

/* After every change: is there anything left to wait for? */
static void look(void *data) {
    struct run *run = data;
    const struct tune_state *state = tune_session_state(run->session);
    run->looks = false;
    if (question_waits(run))
        return;
    if (tune_session_is_busy(run->session))
        return;
    if (state->changed.len && files_go_on(run))
        return;
    if (!state->changed.len && state->wait == TUNE_WAIT_GATE && run->asks && !state->trouble) {
        if (!run->prompted)
            prompt(run);
        person_look(run->person);
        return;
    }
    if (!run->end && state->wait == TUNE_WAIT_GATE && !state->trouble)
        run->end = "a gate waits for a person: decide in the workbench (hone TASK), or run again "
                   "with --gate auto";
    loop_stop(run->loop);
}

static void on_answer(void *data, const char *text) {
    struct run *run = data;
    tune_session_answer(run->session, text);
}

static void place_json(struct run *run, const struct tune_place_view *place) {
    static const char *const states[] = {[TARGET_READY] = "connected",
                                         [TARGET_CONNECTING] = "connecting",
                                         [TARGET_LOST] = "lost",
                                         [TARGET_ASKING] = "asking",
                                         [TARGET_FAILED] = "failed"};
    cJSON *object = cJSON_CreateObject();
    struct buf line = {0};
    cJSON_AddStringToObject(object, "event", "place");
    cJSON_AddStringToObject(object, "name", place->info->name);
    cJSON_AddStringToObject(object, "state", states[place->status->state]);
    cJSON_AddStringToObject(object, "text", place->status->text);
    if (place->status->retry_ms)
        cJSON_AddNumberToObject(object, "retry_ms", (double)place->status->retry_ms);
    char *text = cJSON_PrintUnformatted(object);
    buf_puts(&line, text ? text : "{}");
    line_end(run, &line);
    free(text);
    cJSON_Delete(object);
}

static void say_place(struct run *run, const struct tune_place_view *place) {
    const struct target_status *status = place->status;
    struct buf text = {0};
    buf_puts(&text, status->text);
    if (status->retry_ms)
        buf_printf(&text, "; next try in %.0f s",
                   fmax(ceil((double)(status->retry_ms - clock_wall_ms()) / 1000), 0));
    say(run, place->info->name, text.at);
    buf_free(&text);
}

/* Says how the connection is when that changed, and asks what only a person can answer. */
static void follow_place(struct run *run) {
    const struct tune_place_view *place = tune_session_state(run->session)->place;
    if (!place)
        return;
    const struct target_status *status = place->status;
    bool changed = status->state != run->noted;
    person_hold(run->person, place->asks && place->asks->text[0]);
    ask_follow(run->ask, place->asks);
    /* It comes back to the same sentence with every try; the first time is enough, unless it may
     * never have been there, which does not take long. */
    bool again = strcmp(run->said.at ? run->said.at : "", status->text) != 0;
    bool waits = status->retry_ms && status->retry_ms != run->retry_ms &&
                 (again || status->state == TARGET_CONNECTING);
    run->retry_ms = status->retry_ms;
    run->noted = status->state;
    if ((changed || waits) && run->json && strcmp(place->info->kind, "sim") != 0)
        place_json(run, place);
    else if ((changed || waits) && status->state != TARGET_ASKING && status->text[0])
        say_place(run, place);
    if (waits) {
        buf_clear(&run->said);
        buf_puts(&run->said, status->text);
    }
    if (changed)
        known_note(place->info, status);
}

static void on_change(void *data) {
    struct run *run = data;
    follow_place(run);
    const struct tune_state *state = tune_session_state(run->session);
    bool waits = tune_can(state, TUNE_ACT_ANSWER) || tune_can(state, TUNE_ACT_SEND);
    if (run->looks || (tune_session_is_busy(run->session) && !waits && run->shown < 0))
        return;
    run->looks = true;
    loop_post(run->loop, look, run);
}

static void on_signal(void *data, int signum) {
    struct run *run = data;
    run->interrupted = true;
    run->signum = signum;
    buf_clear(&run->left);
    buf_printf(&run->left, "%s; the same command goes on from here, ",
               signum == SIGINT    ? "interrupted"
               : signum == SIGTERM ? "ended from outside (SIGTERM)"
                                   : "the terminal is gone (SIGHUP)");
    tune_session_left(run->session, &run->left);
    run->end = run->left.at;
    loop_stop(run->loop);
}

static bool options_read(struct run *run, struct tune_options *options) {
    const struct cli *cli = run->cli;
    double rounds = 0;
    if (!cli_number(cli, "rounds", 1, 100000, &rounds) ||
        !cli_number(cli, "tolerance", 1e-12, 0.999, &options->tolerance) ||
        !cli_limits(cli, options->limits))
        return false;
    options->task = cli->args.at[0];
    options->rounds = (int)rounds;
    options->reference = cli_value(cli, "reference");
    options->session_dir = cli_value(cli, "session");
    options->device = cli_value(cli, "device");
    options->target = cli_value(cli, "target");
    options->proposer = cli_value(cli, "proposer");
    options->search = cli_value(cli, "search");
    options->seeds = cli_value(cli, "seeds");
    options->fresh = cli_has(cli, "fresh");
    run->changed = cli_value(cli, "changed");
    options->config = run->config;
    options->gate = TUNE_GATE_AUTO;
    options->gate_set = true;
    const char *gate = cli_value(cli, "gate");
    if (!gate)
        gate = config_get(run->config, "defaults", "gate", NULL);
    if (gate && !tune_gate_find(gate, &options->gate)) {
        cli_wrong_usage(cli, "--gate is ask, auto or auto-green");
        return false;
    }
    return true;
}

static bool start(struct run *run, struct err *err) {
    struct tune_action action = {.kind = TUNE_ACT_START};
    const struct tune_state *state = tune_session_state(run->session);
    if (state->read_only)
        return err_set(err, ERR_ENVIRONMENT, "%s%s; %suse another folder with --session",
                       state->held_by ? "this session is held by " : "nothing can run here: ",
                       state->held_by ? state->held_by : state->why_read_only,
                       state->held_by ? "end it first, or " : "");
    struct buf why = {0};
    if (!tune_budget_is_priced(state, &why))
        err_set(err, ERR_USAGE, "%s", why.at);
    buf_free(&why);
    bool chosen = state->changed.len > 0;
    if (chosen && !run->json) /* noticed when it was opened */
        say_changes(run);
    return err->kind == ERR_NONE && files_choose(run, err) &&
           ((chosen && state->running) || state->wait == TUNE_WAIT_GATE ||
            tune_session_act(run->session, &action, err));
}

static bool person_is_asked(const struct tune_state *state) {
    for (int i = 0; state->roles && i < TUNE_ROLES; i++)
        for (size_t k = 0; k < state->roles[i].count; k++)
            if (state->roles[i].models[k].person)
                return true;
    return false;
}

/* Reads standard input when somebody there is asked; false when nobody could answer. */
static bool somebody_answers(struct run *run, struct err *err) {
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

struct trying {
    struct run *run;
    bool done;
    struct err err;
};

static void on_tried(void *data, const struct err *err) {
    struct trying *trying = data;
    trying->err = *err;
    trying->done = true;
    loop_stop(trying->run->loop);
}

/* Before any work: a run does not end after its profile for a key that is not there. */
static bool models_answer(struct run *run, struct err *err) {
    const char *names = tune_session_state(run->session)->proposer;
    struct trying trying = {.run = run};
    struct tune_preflight_hooks hooks = {.on_done = on_tried, .data = &trying};
    if (!tune_session_state(run->session)->roles)
        return true;
    struct tune_preflight *preflight =
        tune_preflight_start(run->loop, run->config, names, false, &hooks, err);
    if (preflight)
        loop_run(run->loop);
    tune_preflight_free(preflight);
    if (trying.err.kind != ERR_NONE)
        err_set(err, trying.err.kind, "%.350s (hone model test %.60s says more)", trying.err.text,
                names);
    return err->kind == ERR_NONE;
}

static int end_status(const struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    if (run->interrupted)
        return run->signum ? EXIT_SIGNAL + run->signum : EXIT_INTERRUPTED;
    if (run->rescued)
        return CLI_DAMAGED;
    if (state->trouble || state->stopped_by_environment)
        return CLI_ENVIRONMENT_FAILED;
    if (state->changed.len)
        return CLI_WRONG_USAGE;
    const struct tune_attempt *seed = tune_state_attempt(state, 0);
    bool failed = seed && seed->status == TUNE_STATUS_FAILED;
    return failed && !run->end ? CLI_KERNEL_FAILED : CLI_OK;
}

/* A session that was taken away under the run: nothing is done, whatever the state says. */
static void rescue(struct run *run) {
    run->rescued = saved_elsewhere(run->session, run->cli->args.at[0], &run->saved);
    if (!run->rescued)
        return;
    run->end = run->saved.at;
    fprintf(stderr, "hone run: %s\n", run->saved.at);
}

static int serve(struct run *run) {
    struct err err = {0};
    run->interrupt = loop_signal_start(run->loop, SIGINT, on_signal, run);
    run->terminate = loop_signal_start(run->loop, SIGTERM, on_signal, run);
    run->hangup = loop_signal_start(run->loop, SIGHUP, on_signal, run);
    if (!models_answer(run, &err))
        return cli_fail(run->cli, &err);
    if (run->interrupted)
        return run->signum ? EXIT_SIGNAL + run->signum : EXIT_INTERRUPTED;
    tune_session_on_event(run->session, on_event, run);
    tune_session_on_change(run->session, on_change, run);
    if (!somebody_answers(run, &err) || !start(run, &err))
        return cli_fail(run->cli, &err);
    loop_post(run->loop, look, run);
    loop_run(run->loop);
    rescue(run);
    if (!run->rescued && !tune_session_state(run->session)->finished)
        tune_session_summarise(run->session, end_reason(run));
    if (run->json)
        end_json(run);
    else
        end_text(run);
    return end_status(run);
}

static int run_session(struct run *run, const struct tune_options *options, bool terminal) {
    struct err err = {0};
    run->asks = terminal;
    signal(SIGPIPE, SIG_IGN);
    run->loop = loop_new();
    run->ask = ask_new(run->loop, on_answer, run);
    run->session = tune_session_open(options, run->loop, &err);
    int status = run->session ? serve(run) : cli_fail(run->cli, &err);
    person_free(run->person);
    loop_signal_stop(run->interrupt);
    loop_signal_stop(run->terminate);
    loop_signal_stop(run->hangup);
    ask_free(run->ask);
    buf_free(&run->said);
    buf_free(&run->saved);
    buf_free(&run->files);
    buf_free(&run->left);
    tune_session_close(run->session);
    loop_free(run->loop);
    return status;
}

int cli_run(const struct cli *cli) {
    struct run run = {.cli = cli, .json = cli_has(cli, "json"), .started_ns = clock_monotonic_ns()};
    struct tune_options options = {0};
    struct err err = {0};
    run.config = settings_load(cli->args.at[0], &err);
    if (!run.config)
        return cli_fail(cli, &err);
    int status = options_read(&run, &options) ? CLI_OK : CLI_WRONG_USAGE;
    bool terminal = isatty(STDIN_FILENO) && !run.json;
    if (status == CLI_OK && options.gate == TUNE_GATE_ASK && !terminal)
        status = cli_wrong_usage(cli,
                                 "--gate ask needs a person at a terminal: open the workbench "
                                 "with hone %s, or use --gate auto or --gate auto-green",
                                 options.task);
    if (status == CLI_OK)
        status = run_session(&run, &options, terminal);
    config_free(run.config);
    return status;
}
