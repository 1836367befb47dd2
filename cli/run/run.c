/* SPDX-License-Identifier: Apache-2.0 */
/* hone run: the loop without a screen. It decides nothing itself. A person at the terminal decides,
 * or the gates do. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/run/private.h"
#include "cli/run/run.h"

/* ---------------------------------------------------------------------------------- as it goes */

/* Approves what waits at a gate, when the command line says that gates do not ask. */
static bool passes(struct run *run) {
    const struct tune_state *state = tune_session_state(run->session);
    const struct tune_action approve = {.kind = TUNE_ACT_APPROVE};
    struct err err = {0};
    bool green = state->steps[state->wait_step].is == TUNE_IS_OK;
    return state->wait == TUNE_WAIT_GATE && !state->trouble && cli_has(run->cli, "gate") &&
           (run->own.gate == TUNE_GATE_AUTO || (run->own.gate == TUNE_GATE_AUTO_GREEN && green)) &&
           tune_session_act(run->session, &approve, &err);
}

/* After every change: whether there is anything left to wait for. */
void run_look(void *data) {
    struct run *run = data;
    const struct tune_state *state = tune_session_state(run->session);
    run->looks = false;
    if (run_question_waits(run))
        return;
    if (tune_session_is_busy(run->session))
        return;
    if (state->changed.len && run_files_go_on(run))
        return;
    if (!state->changed.len && passes(run))
        return;
    if (!state->changed.len && state->wait == TUNE_WAIT_GATE && run->asks && !state->trouble) {
        if (!run->prompted)
            run_prompt(run);
        person_look(run->person);
        return;
    }
    if (!run->end && state->wait == TUNE_WAIT_GATE && !state->trouble)
        run->end = run->own.gate == TUNE_GATE_AUTO_GREEN && cli_has(run->cli, "gate")
                       ? "a step did not come out well, and auto-green waits for a person then: "
                         "decide in the workbench (hone TASK)"
                       : "a gate waits for a person: decide in the workbench (hone TASK), or run "
                         "again with --gate auto, which approves it";
    loop_stop(run->loop);
}

static void on_answer(void *data, const char *text) {
    struct run *run = data;
    tune_session_answer(run->session, text);
}

static void on_change(void *data) {
    struct run *run = data;
    run_follow_place(run);
    const struct tune_state *state = tune_session_state(run->session);
    bool waits = tune_can(state, TUNE_ANY_LANE, TUNE_ACT_ANSWER) ||
                 tune_can(state, TUNE_ANY_LANE, TUNE_ACT_SEND);
    if (run->looks || (tune_session_is_busy(run->session) && !waits && run->shown < 0))
        return;
    run->looks = true;
    loop_post(run->loop, run_look, run);
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

/* --------------------------------------------------------------------------------- the command */

static bool options_read(struct run *run, struct tune_options *options) {
    const struct cli *cli = run->cli;
    double cores = 0;
    if (!cli_number(cli, "rounds", 1, 100000, &run->own.limits[TUNE_BUDGET_ROUNDS]) ||
        !cli_number(cli, "tolerance", 1e-12, 0.999, &options->tolerance) ||
        !cli_number(cli, "lnc", 1, 2, &cores) || !cli_limits(cli, run->own.limits))
        return false;
    options->task = cli->args.at[0];
    options->reference = cli_value(cli, "reference");
    options->function = cli_value(cli, "kernel-name");
    options->session_dir = cli_value(cli, "session");
    options->device = cli_value(cli, "device");
    options->release = cli_release(cli, NULL);
    options->tracing = cli_value(cli, "tracing");
    options->target = cli_value(cli, "target");
    options->proposer = cli_value(cli, "proposer");
    options->search = cli_value(cli, "search");
    options->precision = cli_value(cli, "precision");
    options->seeds = cli_value(cli, "seeds");
    options->fresh = cli_has(cli, "fresh");
    options->lnc = (int)cores;
    options->pessimistic = cli_has(cli, "pessimistic");
    run->changed = cli_value(cli, "changed");
    options->config = run->config;
    run->own.gate = TUNE_GATE_AUTO;
    run->own.gate_set = true;
    const char *gate = cli_value(cli, "gate");
    if (!gate)
        gate = config_get(run->config, "defaults", "gate", NULL);
    if (gate && !tune_gate_find(gate, &run->own.gate)) {
        cli_wrong_usage(cli, "--gate must be ask, auto or auto-green");
        return false;
    }
    return true;
}

static bool start(struct run *run, struct err *err) {
    struct tune_action action = {.kind = TUNE_ACT_START};
    const struct tune_state *state = tune_session_state(run->session);
    if (state->read_only)
        return err_set(err, ERR_ENVIRONMENT, "%s%s; %suse another folder with --session",
                       state->held_by ? "this session is open in " : "nothing can run here: ",
                       state->held_by ? state->held_by : state->why_read_only,
                       state->held_by ? "close that one first, or " : "");
    struct buf why = {0};
    double dollars = run->own.limits[TUNE_BUDGET_DOLLARS];
    if (!tune_budget_is_priced(
            state, dollars > 0 ? dollars : state->budgets[TUNE_BUDGET_DOLLARS].limit, &why))
        err_set(err, ERR_USAGE, "%s", why.at);
    buf_free(&why);
    bool chosen = state->changed.len > 0;
    if (chosen && !run->json) /* it was noticed when the session was opened */
        run_say_changes(run);
    return err->kind == ERR_NONE && run_files_choose(run, err) &&
           tune_session_run_begin(run->session, &run->own, err) &&
           ((chosen && state->running) || state->wait == TUNE_WAIT_GATE ||
            tune_session_act(run->session, &action, err));
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

/* Asks the models before any work. So a run does not end after its profile because a key is
 * missing. */
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

/* The session's files were removed during the run. So nothing more is done, whatever the state
 * says. */
static void rescue(struct run *run) {
    run->rescued = saved_elsewhere(run->session, run->cli->args.at[0], &run->saved);
    if (!run->rescued)
        return;
    run->end = run->saved.at;
    cli_say(stderr, "hone run: %s\n", run->saved.at);
}

/* What was wrong in the session's folder. */
static void notes_print(struct run *run) {
    char *notes = tune_session_notes(run->session);
    struct str rest = str_of(notes ? notes : ""), line;
    while (rest.len && str_next(&rest, '\n', &line))
        if (line.len)
            cli_say(stderr, "hone run: " STR_FMT "\n", (int)line.len, line.at);
    free(notes);
}

static int serve(struct run *run) {
    struct err err = {0};
    run->interrupt = loop_signal_start(run->loop, SIGINT, on_signal, run);
    run->terminate = loop_signal_start(run->loop, SIGTERM, on_signal, run);
    run->hangup = loop_signal_start(run->loop, SIGHUP, on_signal, run);
    if (tune_session_note(run->session))
        cli_say(stderr, "hone run: %s\n", tune_session_note(run->session));
    notes_print(run);
    if (!models_answer(run, &err))
        return cli_fail(run->cli, &err);
    if (run->interrupted)
        return run->signum ? EXIT_SIGNAL + run->signum : EXIT_INTERRUPTED;
    tune_session_on_event(run->session, run_on_event, run);
    tune_session_on_change(run->session, on_change, run);
    if (!run_somebody_answers(run, &err) || !start(run, &err)) {
        tune_session_run_end(run->session);
        return cli_fail(run->cli, &err);
    }
    loop_post(run->loop, run_look, run);
    loop_run(run->loop);
    rescue(run);
    if (!run->rescued && !tune_session_state(run->session)->finished)
        tune_session_summarise(run->session, run_end_reason(run));
    if (!run->rescued)
        tune_checkpoint_ensure(run->session, tune_session_state(run->session)->best);
    notes_print(run);
    run_end_print(run);
    int status = run_end_status(run);
    tune_session_on_event(run->session, NULL, NULL); /* the end was told */
    tune_session_run_end(run->session);
    return status;
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
    buf_free(&run->left);
    buf_free(&run->files);
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
    bool program = run.json && run.own.gate == TUNE_GATE_ASK && person_is_there();
    if (status == CLI_OK && run.own.gate == TUNE_GATE_ASK && !terminal && !program)
        status = cli_wrong_usage(cli,
                                 "--gate ask needs a person at a terminal, or with --json a "
                                 "program at a pipe: open the workbench "
                                 "with hone %s, or use --gate auto or --gate auto-green",
                                 options.task);
    if (status == CLI_OK)
        status = run_session(&run, &options, terminal || program);
    config_free(run.config);
    return status;
}
