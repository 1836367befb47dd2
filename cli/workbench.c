/* SPDX-License-Identifier: Apache-2.0 */
/* Wires the workbench. Keys go from the terminal to the views, and what the views ask for is done
 * here. A frame follows every change of the session, at most one in 16 ms. It decides nothing about
 * a kernel and draws nothing itself. */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/kit/kit.h"
#include "cli/query/query.h"
#include "cli/tiles.h"
#include "loop/loop.h"
#include "tui/term/term.h"
#include "tui/tui.h"
#include "tune/tune.h"
#include "views/views.h"

#define EXIT_SIGNAL 128 /* plus its number, as shells report a signal */
#define FRAME_MS 16     /* between frames that follow a change of the session */
#define MOVING_MS 100   /* between frames of a spinner */
#define CLOCK_MS 30000  /* the clock shows minutes */
#define ESCAPE_MS 25    /* how long an escape byte waits for the rest of a key */
#define FIRST_SEED "seeds/add_rmsnorm_matmul"

static const int signals[] = {SIGWINCH, SIGCONT, SIGTSTP, SIGHUP, SIGTERM, SIGINT};

struct workbench {
    struct loop *loop;
    struct tui_term *term;
    struct views *views;
    struct tune_session *session;
    struct mcp_host *agents;          /* that joined the session; NULL: none can */
    struct mcp_wish *wish;            /* for the session, until they can */
    struct tune_preflight *preflight; /* of the session's models; NULL: none */
    struct tune_options options;
    struct config *config;   /* lives longer than the session */
    enum target_state noted; /* state of the place, for the list of hosts */
    struct tune_recent *recent;
    size_t n_recent;
    char *task, *folder; /* of the session that was chosen last: options name them */
    struct begin *begin; /* a task is being written; NULL */
    struct tiles *tiles; /* of a line, on their way; NULL */
    struct migrating_here *migrating;
    struct questions *questions;
    struct loop_watch *input;
    struct loop_signal *signals[COUNT_OF(signals)];
    struct loop_timer *frame, *settle, *moving, *clock;
    uint64_t drawn_ns;
    bool editing, leaving;
    enum views_turn turn; /* as last drawn */
    int ended_by;         /* the signal that ended it; 0 */
    bool asked_rescue;    /* it has asked where to save a session whose files are gone */
    bool listed;          /* the session was chosen from the start screen */
    bool opened;          /* one was opened: the command line's options were for it */
    struct err failed;    /* why a session that was opened early cannot continue */
};

static void ask_rescue(struct workbench *bench);
static void draw(struct workbench *bench);

/* ---- frames --------------------------------------------------------------------------------- */

static void on_frame(void *data) {
    struct workbench *bench = data;
    bench->frame = NULL;
    draw(bench);
}

static void on_moving(void *data) {
    draw(data);
}

/* The terminal's title shows the state of the loop. The bell, where it is wanted, says that it is
 * the person's turn now; who opens a session sees that for himself. */
static void tell_terminal(struct workbench *bench) {
    struct buf title = {0};
    enum views_turn turn = views_title(bench->views, &title);
    tui_term_title(bench->term, title.at);
    bool begins = turn == VIEWS_TURN_PERSON && bench->turn == VIEWS_TURN_LOOP;
    if (begins && config_flag(bench->config, "screen", "bell"))
        tui_term_bell(bench->term);
    bench->turn = turn;
    buf_free(&title);
}

static void draw(struct workbench *bench) {
    if (tui_term_is_released(bench->term))
        return;
    struct tui_canvas *canvas = tui_term_canvas(bench->term);
    views_draw(bench->views, tui_area_all(canvas), loop_wall_ms(bench->loop));
    tui_term_show(bench->term);
    tell_terminal(bench);
    bench->drawn_ns = clock_monotonic_ns();
    bool moving = views_is_moving(bench->views);
    if (moving && !bench->moving)
        bench->moving = loop_timer_start(bench->loop, MOVING_MS, MOVING_MS, on_moving, bench);
    if (!moving && bench->moving) {
        loop_timer_stop(bench->moving);
        bench->moving = NULL;
    }
}

/* The state of a host is noted when it changed: a small file, written on a worker thread. */
struct note {
    struct target_info info;
    struct target_status status;
};

static void write_note(void *data) {
    struct note *note = data;
    known_note(&note->info, &note->status);
}

static void free_note(void *data) {
    struct note *note = data;
    vec_free(&note->status.cores);
    free(note);
}

static void note_place(struct workbench *bench) {
    const struct tune_place_view *place =
        bench->session ? tune_session_state(bench->session)->place : NULL;
    if (!place || place->status->state == bench->noted)
        return;
    struct note *note = mem_alloc(1, sizeof *note);
    bench->noted = place->status->state;
    *note = (struct note){*place->info, *place->status};
    memset(&note->status.cores, 0, sizeof note->status.cores);
    memset(&note->status.entries, 0, sizeof note->status.entries);
    for (size_t i = 0; i < place->status->cores.len; i++)
        *vec_push(&note->status.cores) = place->status->cores.at[i];
    loop_job_start_owned(bench->loop, write_note, free_note, note);
}

static void on_change(void *data) {
    struct workbench *bench = data;
    note_place(bench);
    mcp_host_changed(bench->agents);
    if (bench->session && tune_session_state(bench->session)->is_lost && !bench->asked_rescue) {
        bench->asked_rescue = true;
        ask_rescue(bench);
    }
    uint64_t since_ms = (clock_monotonic_ns() - bench->drawn_ns) / 1000000;
    if (bench->frame)
        return;
    uint64_t delay = since_ms >= FRAME_MS ? 0 : FRAME_MS - since_ms;
    bench->frame = loop_timer_start(bench->loop, delay, 0, on_frame, bench);
}

/* ---- the session ---------------------------------------------------------------------------- */

static bool on_rescue(void *data, const char *folder, struct err *err) {
    struct workbench *bench = data;
    return tune_session_rescue(bench->session, folder, err);
}

static void ask_rescue(struct workbench *bench) {
    char *place = tune_session_rescue_place(bench->session, true);
    views_ask_rescue(bench->views, place);
    free(place);
}

/* A session that lost its files asks once where to go on, and again at each action. */
static bool on_act(void *data, const struct tune_action *action, struct err *err) {
    struct workbench *bench = data;
    bool ok = tune_session_act(bench->session, action, err);
    bench->asked_rescue = tune_session_state(bench->session)->is_lost;
    if (bench->asked_rescue)
        ask_rescue(bench);
    return ok;
}

static void on_answer(void *data, const char *answer) {
    struct workbench *bench = data;
    if (bench->session)
        tune_session_answer(bench->session, answer);
}

static void on_retry(void *data) {
    struct workbench *bench = data;
    if (bench->session)
        tune_session_retry(bench->session);
}

static void on_watch(void *data) {
    struct workbench *bench = data;
    if (bench->session)
        tune_session_watch(bench->session);
}

static char *on_artefact(void *data, const char *hash) {
    struct workbench *bench = data;
    struct err err = {0};
    char *text = bench->session ? tune_session_artefact(bench->session, hash, &err) : NULL;
    if (err.kind == ERR_DAMAGED)
        views_say(bench->views, true, "%s", err.text);
    return text;
}

static void on_tiles(void *context, const char *source, int line, int round) {
    struct workbench *bench = context;
    tiles_drop(bench->tiles);
    bench->tiles =
        tiles_start(bench->loop, bench->views,
                    &(struct tiles_wanted){tune_session_state(bench->session), bench->config,
                                           source, line, round, on_change, bench});
}

static void on_query(void *context, int attempt, const char *sql) {
    struct workbench *bench = context;
    questions_ask(bench->questions, tune_session_folder(bench->session), attempt, sql);
}

static bool on_question(void *context, size_t index, struct views_question *question) {
    struct workbench *bench = context;
    struct question found;
    bool there = questions_at(bench->questions, index, &found);
    if (there)
        *question = (struct views_question){found.name, found.what, found.sql};
    return there;
}

static const char *on_name(void *context, size_t index) {
    (void)context;
    return questions_name(index);
}

static void on_migrate(void *context, const char *source, const char *release) {
    struct workbench *bench = context;
    migrating_start(bench->loop, bench->views,
                    &(struct migrating_wanted){bench->session, &bench->migrating, source, release,
                                               on_change, bench});
}

static void set_model(struct workbench *bench) {
    const struct views_model model = {.state = bench->session ? tune_session_state(bench->session)
                                                              : NULL,
                                      .act = on_act,
                                      .artefact = on_artefact,
                                      .answer = on_answer,
                                      .retry = on_retry,
                                      .watch = on_watch,
                                      .tiles = on_tiles,
                                      .migrate = on_migrate,
                                      .query = on_query,
                                      .question = on_question,
                                      .name = on_name,
                                      .rescue = on_rescue,
                                      .context = bench,
                                      .recent = bench->recent,
                                      .n_recent = bench->n_recent};
    views_set_model(bench->views, &model);
}

static void on_models(void *data, const struct err *err) {
    struct workbench *bench = data;
    if (err->kind == ERR_NONE)
        return;
    views_say(bench->views, true, "%.400s (hone model test says more)", err->text);
    on_change(bench);
}

/* Tries the models in the background, while the person looks around. */
static void try_models(struct workbench *bench) {
    const struct tune_state *state = tune_session_state(bench->session);
    struct tune_preflight_hooks hooks = {.on_done = on_models, .data = bench};
    struct err err = {0};
    tune_preflight_free(bench->preflight);
    bench->preflight = NULL;
    if (state->roles && !state->read_only)
        bench->preflight =
            tune_preflight_start(bench->loop, bench->config, state->proposer, false, &hooks, &err);
}

/* Agents may join a session that this process holds. That they cannot is no trouble of the
 * session: they hear it themselves. */
static void let_agents_join(struct workbench *bench) {
    struct err ignored = {0};
    const struct tune_state *state = tune_session_state(bench->session);
    if (!bench->agents && !state->read_only)
        bench->agents = mcp_host_open(bench->loop, bench->session, bench->config, &ignored);
    mcp_wish_end(bench->wish);
    bench->wish = NULL;
}

static void leave_session(struct workbench *bench);

static void on_opening_failed(void *data) {
    struct workbench *bench = data;
    leave_session(bench);
    views_say(bench->views, true, "%s", bench->failed.text);
    bench->failed = (struct err){0};
    draw(bench);
}

/* The log is whole, or the session cannot be opened. The screen that asked for it shows which. */
static void on_opened(void *data, const struct err *err) {
    struct workbench *bench = data;
    if (err->kind == ERR_NONE) {
        set_model(bench);
        try_models(bench);
        let_agents_join(bench);
        on_change(bench);
        return;
    }
    bench->failed = *err;
    if (bench->listed)
        loop_post(bench->loop, on_opening_failed, bench);
    else
        loop_stop(bench->loop);
}

/* A hone mcp that was started at the same time has the session, and gives it up. */
static bool is_given_up(struct workbench *bench) {
    const char *folder = tune_session_folder(bench->session);
    if (!tune_session_state(bench->session)->held_by)
        return false;
    if (!bench->wish) /* there was no session to wish for */
        bench->wish = mcp_wish_begin(folder);
    return mcp_host_ask(folder);
}

static bool open_session(struct workbench *bench, const char *task, struct err *err) {
    struct tune_options options = bench->options;
    struct config *config = settings_load(task, err);
    if (!config)
        return false;
    config_free(bench->config);
    options.config = bench->config = config;
    options.task = task;
    options.early = true;
    if (!options.read_only)
        bench->wish = mcp_host_take(task, options.session_dir);
    bench->session = tune_session_open(&options, bench->loop, err);
    if (bench->session && !options.read_only && is_given_up(bench)) {
        tune_session_close(bench->session);
        bench->session = tune_session_open(&options, bench->loop, err);
    }
    if (!bench->session) {
        mcp_wish_end(bench->wish);
        bench->wish = NULL;
        return false;
    }
    bench->opened = true;
    tune_session_on_change(bench->session, on_change, bench);
    if (tune_session_state(bench->session)->opening)
        tune_session_on_opened(bench->session, on_opened, bench);
    else {
        try_models(bench);
        let_agents_join(bench);
    }
    return true;
}

static void list_recent(struct workbench *bench) {
    tune_recent_free(bench->recent, bench->n_recent);
    bench->recent = tune_recent_list(&bench->n_recent);
}

static void leave_session(struct workbench *bench) {
    tune_preflight_free(bench->preflight);
    bench->preflight = NULL;
    mcp_host_close(bench->agents);
    mcp_wish_end(bench->wish);
    bench->agents = NULL;
    bench->wish = NULL;
    tiles_drop(bench->tiles);
    bench->tiles = NULL;
    migrating_drop(&bench->migrating);
    questions_drop(bench->questions);
    tune_session_close(bench->session);
    bench->session = NULL;
    list_recent(bench);
    set_model(bench);
}

/* From now on the options are those of another session: of the command line's, which were given for
 * the first one, nothing is left but that it is only looked at. `folder` NULL: the task's own. */
static void choose(struct workbench *bench, const char *task, const char *folder) {
    char *new_task = mem_strdup(task), *new_folder = folder ? mem_strdup(folder) : NULL;
    if (bench->opened)
        bench->options = (struct tune_options){.read_only = bench->options.read_only};
    bench->options.task = new_task;
    if (folder || bench->listed)
        bench->options.session_dir = new_folder;
    free(bench->task);
    free(bench->folder);
    bench->task = new_task;
    bench->folder = new_folder;
}

static void open_chosen(struct workbench *bench) {
    struct err err = {0};
    bench->listed = true;
    if (open_session(bench, bench->options.task, &err))
        set_model(bench);
    else
        views_say(bench->views, true, "%s", err.text);
}

static void switch_session(struct workbench *bench, const char *task, const char *folder) {
    choose(bench, task, folder);
    open_chosen(bench);
}

/* The session was read-only, and who held it has left. What is new of it is read with the rest. */
static void open_again(struct workbench *bench) {
    bench->options.fresh = false;
    leave_session(bench);
    open_chosen(bench);
}

/* ---- a new task ----------------------------------------------------------------------------- */

static void on_begun(void *data, const char *folder, const char *why) {
    struct workbench *bench = data;
    if (!why)
        switch_session(bench, folder, NULL);
    else if (folder)
        views_say(bench->views, true, "%s/kernel.py is a skeleton: %s", folder, why);
    else
        views_say(bench->views, true, "%s", why);
    begin_free(bench->begin);
    bench->begin = NULL;
    draw(bench);
}

static void begin_task(struct workbench *bench, const struct views_request *request) {
    struct err err = {0};
    begin_free(bench->begin);
    bench->begin = begin_start(bench->loop, request->name, request->task, on_begun, bench, &err);
    if (!bench->begin)
        views_say(bench->views, true, "%s", err.text);
}

/* ---- the editor ----------------------------------------------------------------------------- */

static void on_input(void *data, int events);

static bool on_edited(void *data, const char *text, const char *path, const struct err *err) {
    struct workbench *bench = data;
    struct err wrong = {0};
    bench->editing = false;
    tui_term_reclaim(bench->term);
    bench->input =
        loop_watch_start(bench->loop, tui_term_fd(bench->term), LOOP_READABLE, on_input, bench);
    bool taken = views_edited(bench->views, text, &wrong);
    if (!text)
        views_say(bench->views, true, "%s", err->text);
    else if (!taken)
        views_say(bench->views, true, "%s (the text is kept in %s)", wrong.text, path);
    draw(bench);
    return taken;
}

static void edit(struct workbench *bench, const struct views_request *request) {
    struct err err = {0};
    tui_term_release(bench->term);
    loop_watch_stop(bench->input);
    bench->input = NULL;
    struct editor *editor =
        editor_start(bench->loop, request->name, request->text, request->line, &err);
    if (editor) {
        bench->editing = true;
        editor_on_done(editor, on_edited, bench);
        return;
    }
    tui_term_reclaim(bench->term);
    bench->input =
        loop_watch_start(bench->loop, tui_term_fd(bench->term), LOOP_READABLE, on_input, bench);
    views_edited(bench->views, NULL, &err);
    views_say(bench->views, true, "%s", err.text);
}

/* ---- keys and signals ----------------------------------------------------------------------- */

static void serve(struct workbench *bench, const struct views_request *request) {
    switch (request->wish) {
    case VIEWS_NOTHING: break;
    case VIEWS_QUIT:
        bench->leaving = true;
        loop_stop(bench->loop);
        break;
    case VIEWS_SUSPEND: tui_term_suspend(bench->term); break;
    case VIEWS_REPAINT:
        tui_term_release(bench->term);
        tui_term_reclaim(bench->term);
        break;
    case VIEWS_EDIT: edit(bench, request); break;
    case VIEWS_OPEN:
        switch_session(bench, request->chosen->path,
                       request->chosen->is_seed ? NULL : request->chosen->folder);
        break;
    case VIEWS_AGAIN: open_again(bench); break;
    case VIEWS_LEAVE: leave_session(bench); break;
    case VIEWS_NEW: begin_task(bench, request); break;
    }
}

static void on_settle(void *data) {
    struct workbench *bench = data;
    bench->settle = NULL;
    tui_term_settle(bench->term);
    on_input(bench, LOOP_READABLE);
}

static void on_input(void *data, int events) {
    struct workbench *bench = data;
    struct tui_event event;
    bool any = false;
    (void)events;
    loop_timer_stop(bench->settle);
    bench->settle = NULL;
    while (!bench->editing && !bench->leaving && tui_term_next(bench->term, &event)) {
        struct views_request request = views_event(bench->views, &event);
        serve(bench, &request);
        any = true;
    }
    if (tui_term_is_lost(bench->term)) {
        loop_watch_stop(bench->input);
        bench->input = NULL;
        loop_stop(bench->loop);
        return;
    }
    if (tui_term_waits(bench->term))
        bench->settle = loop_timer_start(bench->loop, ESCAPE_MS, 0, on_settle, bench);
    if (any)
        draw(bench);
}

/* Somebody else stopped us, or an editor has the terminal. Stops as asked. */
static void on_stop(struct workbench *bench) {
    if (tui_term_is_released(bench->term))
        raise(SIGSTOP);
    else
        tui_term_suspend(bench->term);
}

static void on_signal(void *data, int signum) {
    struct workbench *bench = data;
    switch (signum) {
    case SIGWINCH:
        tui_term_resize(bench->term);
        draw(bench);
        break;
    case SIGCONT:
        if (!tui_term_is_released(bench->term)) {
            tui_term_release(bench->term);
            tui_term_reclaim(bench->term);
        }
        draw(bench);
        break;
    case SIGTSTP:
        on_stop(bench);
        draw(bench);
        break;
    case SIGINT:
        if (bench->editing)
            break;
        loop_stop(bench->loop);
        break;
    default:
        bench->ended_by = signum;
        loop_stop(bench->loop);
        break;
    }
}

/* ---- start and end -------------------------------------------------------------------------- */

static void on_answered(void *data, const char *text, bool failed) {
    struct workbench *bench = data;
    views_query_answered(bench->views, text, failed);
    on_change(bench);
}

static bool make_views(struct workbench *bench, struct err *err) {
    char *path = path_config("keys"), *keys = NULL;
    bool fine = true;
    if (file_exists(path)) {
        keys = file_read(path, 1u << 20, NULL, err);
        fine = keys != NULL;
    }
    if (fine)
        bench->views = views_new(keys, path, err);
    if (bench->views)
        bench->questions = questions_new(bench->loop, on_answered, bench);
    free(keys);
    free(path);
    return bench->views != NULL;
}

static bool was_used(const struct workbench *bench) {
    for (size_t i = 0; i < bench->n_recent; i++)
        if (bench->recent[i].used_ms)
            return true;
    return false;
}

/* Opens the session before the terminal, so that what is wrong with it is shown in the shell. */
static bool open_first(struct workbench *bench, struct err *err) {
    if (bench->options.task)
        return open_session(bench, bench->options.task, err);
    list_recent(bench);
    if (was_used(bench))
        return true;
    bench->options.task = FIRST_SEED;
    return open_session(bench, FIRST_SEED, err);
}

static bool open_terminal(struct workbench *bench, struct err *err) {
    char *log = path_state("hone.log");
    bool mouse = !getenv("HONE_NO_MOUSE") && config_flag(bench->config, "screen", "mouse");
    bool title = config_flag(bench->config, "screen", "title");
    struct tui_term_options options = {.log_path = log, .no_mouse = !mouse, .no_title = !title};
    bench->term = tui_term_new(&options, err);
    free(log);
    return bench->term != NULL;
}

static void listen_to_all(struct workbench *bench) {
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        bench->signals[i] = loop_signal_start(bench->loop, signals[i], on_signal, bench);
    bench->input =
        loop_watch_start(bench->loop, tui_term_fd(bench->term), LOOP_READABLE, on_input, bench);
    bench->clock = loop_timer_start(bench->loop, CLOCK_MS, CLOCK_MS, on_moving, bench);
}

/* Says in the shell, when the screen is gone, what nobody could have asked for. */
static void say_last(struct workbench *bench) {
    struct buf said = {0};
    if (bench->session && !saved_elsewhere(bench->session, "TASK", &said) &&
        (bench->ended_by == SIGTERM || bench->ended_by == SIGHUP)) {
        buf_printf(&said, "ended from outside (%s); ",
                   bench->ended_by == SIGTERM ? "SIGTERM" : "SIGHUP: the terminal is gone");
        tune_session_left(bench->session, &said);
    }
    if (said.len)
        cli_say(stderr, "hone: %s\n", said.at);
    buf_free(&said);
}

static void close_all(struct workbench *bench) {
    tui_term_free(bench->term);
    say_last(bench);
    begin_free(bench->begin);
    tiles_drop(bench->tiles);
    migrating_drop(&bench->migrating);
    questions_free(bench->questions);
    views_free(bench->views);
    tune_preflight_free(bench->preflight);
    mcp_host_close(bench->agents);
    mcp_wish_end(bench->wish);
    tune_session_close(bench->session);
    loop_timer_stop(bench->frame);
    loop_timer_stop(bench->settle);
    loop_timer_stop(bench->moving);
    loop_timer_stop(bench->clock);
    loop_watch_stop(bench->input);
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        loop_signal_stop(bench->signals[i]);
    loop_free(bench->loop);
    config_free(bench->config);
    tune_recent_free(bench->recent, bench->n_recent);
    free(bench->task);
    free(bench->folder);
}

static bool run(const struct tune_options *options, int *ended_by, struct err *err) {
    struct workbench bench = {.options = *options, .loop = loop_new()};
    bool fine = make_views(&bench, err);
    if (fine && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
        fine = open_terminal(&bench, err); /* it says what to do in its place */
    fine = fine && open_first(&bench, err) && (bench.term || open_terminal(&bench, err));
    if (fine) {
        set_model(&bench);
        listen_to_all(&bench);
        tui_term_resize(bench.term); /* the size may have changed before anybody listened */
        draw(&bench);
        loop_run(bench.loop);
        fine = bench.failed.kind == ERR_NONE;
        if (!fine)
            *err = bench.failed;
    }
    *ended_by = bench.ended_by;
    close_all(&bench);
    return fine;
}

int cli_workbench(const struct cli *cli) {
    double rounds = 0, cores = 0;
    struct err err = {0};
    struct tune_options options = {
        .task = cli->args.len ? cli->args.at[0] : NULL,
        .reference = cli_value(cli, "reference"),
        .function = cli_value(cli, "kernel-name"),
        .device = cli_value(cli, "device"),
        .release = cli_release(cli, NULL),
        .tracing = cli_value(cli, "tracing"),
        .target = cli_value(cli, "target"),
        .proposer = cli_value(cli, "proposer"),
        .search = cli_value(cli, "search"),
        .precision = cli_value(cli, "precision"),
        .session_dir = cli_value(cli, "session"),
        .fresh = cli_has(cli, "fresh"),
        .read_only = cli_has(cli, "read-only"),
    };
    if (!cli_number(cli, "rounds", 1, 1000000, &rounds) || !cli_number(cli, "lnc", 1, 2, &cores) ||
        !cli_limits(cli, options.limits))
        return CLI_WRONG_USAGE;
    options.rounds = (int)rounds;
    options.lnc = (int)cores;
    options.gate_set =
        cli_has(cli, "gate") && tune_gate_find(cli_value(cli, "gate"), &options.gate);
    int ended_by = 0;
    if (!run(&options, &ended_by, &err))
        return cli_fail(cli, &err);
    return ended_by == SIGTERM || ended_by == SIGHUP ? EXIT_SIGNAL + ended_by : CLI_OK;
}
