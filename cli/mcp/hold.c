/* SPDX-License-Identifier: Apache-2.0 */
/* A session that hone mcp holds itself: for its own agent, and for others that join. */
#include <stdio.h>

#include "cli/mcp/private.h"
#include "version.h"

static void on_send(void *data, struct str line) {
    struct serving *serving = data;
    mcp_stream_send(serving->stream, line);
}

static void on_change(void *data) {
    struct serving *serving = data;
    mcp_server_changed(serving->server);
}

static void on_yield_later(void *data) {
    struct serving *serving = data;
    serving->again = NULL;
    serving_release(serving, "the session goes to a person's workbench: ask again");
    serving_look_again(serving);
}

/* It comes from within a call, so it is done later. */
static void on_yield(void *data) {
    struct serving *serving = data;
    if (!serving->again)
        serving->again = loop_timer_start(serving->loop, 0, 0, on_yield_later, serving);
}

static bool files_choose(struct serving *serving, struct err *err) {
    const char *which = cli_value(serving->cli, "changed");
    struct tune_action action = {.kind = TUNE_ACT_TAKE_FILES};
    if (!which || !tune_session_state(serving->session)->changed.len)
        return true;
    if (!strcmp(which, "keep"))
        action.kind = TUNE_ACT_KEEP_FILES;
    return tune_session_act(serving->session, &action, err);
}

/* A session that is held elsewhere can be looked at, and nothing can be handed in. */
static bool begin(struct serving *serving, struct err *err) {
    const struct tune_state *state = tune_session_state(serving->session);
    bool limited = serving->own.gate_set;
    for (int i = 0; i < TUNE_BUDGETS; i++)
        limited = limited || serving->own.limits[i] > 0;
    return state->read_only ||
           (files_choose(serving, err) &&
            (!limited || tune_session_run_begin(serving->session, &serving->own, err)));
}

bool serving_hold(struct serving *serving, struct err *err) {
    bool automatic = serving->own.gate_set && serving->own.gate == TUNE_GATE_AUTO;
    const struct mcp_options options = {.loop = serving->loop,
                                        .session = serving->session,
                                        .config = serving->config,
                                        .version = HONE_VERSION,
                                        .drives = true,
                                        .yield = on_yield,
                                        .data = serving,
                                        .approves = automatic};
    struct err alone = {0};
    if (!begin(serving, err))
        return false;
    serving->server = mcp_server_new(&options);
    serving->client = mcp_client_new(serving->server, on_send, serving);
    tune_session_on_change(serving->session, on_change, serving);
    if (!tune_session_state(serving->session)->read_only)
        serving->listener = mcp_listen(serving->server, &alone);
    if (alone.text[0])
        cli_say(stderr, "hone mcp: %s\n", alone.text);
    return true;
}

/* Who asked for the session hears that it is free by the end of the connection, so that comes
 * last. */
void serving_release(struct serving *serving, const char *why) {
    struct buf said = {0};
    if (!serving->session)
        return;
    if (serving->client && why)
        mcp_client_leave(serving->client, why);
    if (saved_elsewhere(serving->session, "TASK", &said))
        cli_say(stderr, "hone mcp: %s\n", said.at);
    buf_free(&said);
    tune_session_on_change(serving->session, NULL, NULL);
    if (!tune_session_state(serving->session)->read_only)
        tune_session_run_end(serving->session);
    tune_session_close(serving->session);
    mcp_client_free(serving->client);
    mcp_listener_free(serving->listener);
    mcp_server_free(serving->server);
    serving->session = NULL;
    serving->client = NULL;
    serving->listener = NULL;
    serving->server = NULL;
}
