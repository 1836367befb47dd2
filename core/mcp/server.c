/* SPDX-License-Identifier: Apache-2.0 */
/* The server of one session: who is connected, and when the loop goes on. */
#include <stdlib.h>

#include "mcp/private.h"

/* Whether something that was handed in is not decided about. What was under way when a session was
 * closed is, too. */
static bool any_waits(const struct tune_state *state) {
    struct tune_submission_view view;
    for (size_t i = 0; i < state->submissions.len; i++)
        if (tune_submission_look(state, (int)i + 1, &view) && view.is != TUNE_SUBMISSION_ENDED)
            return true;
    return false;
}

/* Whether the loop is started for kernels that wait. Each is a reason once: a loop that stops all
 * the same, at a limit perhaps, is the person's. */
static bool starts(const struct mcp_server *server) {
    const struct tune_state *state = tune_session_state(server->options.session);
    bool by_itself = state->wait == TUNE_WAIT_STOPPED || state->wait == TUNE_WAIT_REJECTED;
    return any_waits(state) && (server->options.drives || by_itself) &&
           (int)state->submissions.len > server->started_for && !state->trouble &&
           !tune_session_is_busy(server->options.session) &&
           tune_can(state, TUNE_ANY_LANE, TUNE_ACT_START);
}

static void drive(struct mcp_server *server) {
    const struct tune_state *state = tune_session_state(server->options.session);
    struct tune_action action = {.kind = TUNE_ACT_START};
    if (server->options.approves && state->wait == TUNE_WAIT_GATE && !state->trouble) {
        action.kind = TUNE_ACT_APPROVE;
    } else if (starts(server)) {
        server->started_for = (int)state->submissions.len;
    } else {
        return;
    }
    (void)tune_session_act(server->options.session, &action, &(struct err){0});
}

/* The first kernel is measured when somebody asks for the first time, and not by a server that
 * nobody uses. */
void mcp_server_begin(struct mcp_server *server) {
    const struct tune_state *state = tune_session_state(server->options.session);
    struct tune_action action = {.kind = TUNE_ACT_START};
    if (!server->options.drives || server->began || state->incumbent >= 0 || state->read_only)
        return;
    server->began = true;
    if (tune_can(state, TUNE_ANY_LANE, TUNE_ACT_START))
        (void)tune_session_act(server->options.session, &action, &(struct err){0});
}

/* A call may end while it looks, and then it is gone; it ends no other one. */
static void calls_look(struct mcp_client *client) {
    for (struct mcp_call *at = client->calls, *next; at; at = next) {
        next = at->next;
        if (at->waits_first)
            mcp_tool_go_on(at);
        else if (at->look)
            at->look(at);
    }
}

static void look(void *data) {
    struct mcp_server *server = data;
    server->soon = NULL;
    drive(server);
    for (struct mcp_client *at = server->clients; at; at = at->next)
        calls_look(at);
}

void mcp_server_changed(struct mcp_server *server) {
    if (!server->soon)
        server->soon = loop_timer_start(server->options.loop, 0, 0, look, server);
}

struct mcp_server *mcp_server_new(const struct mcp_options *options) {
    struct mcp_server *server = mem_alloc(1, sizeof *server);
    server->options = *options;
    server->evaluations.loop = server->commands.loop = options->loop;
    return server;
}

void mcp_server_free(struct mcp_server *server) {
    if (!server)
        return;
    loop_timer_stop(server->soon);
    mcp_turns_stop(&server->evaluations);
    mcp_turns_stop(&server->commands);
    runner_checks_free(server->checks);
    free(server);
}

size_t mcp_server_clients(const struct mcp_server *server) {
    size_t count = 0;
    for (const struct mcp_client *at = server->clients; at; at = at->next)
        count++;
    return count;
}
