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

/* --------------------------------------------------------------------------- whose plans wait */

static struct mcp_owner *owner_at(struct mcp_server *server, int number) {
    while (server->owners.len < (size_t)number)
        *vec_push(&server->owners) = (struct mcp_owner){NULL, server->began_ns};
    return &server->owners.at[number - 1];
}

struct mcp_client *mcp_owner_of(const struct mcp_server *server, int number) {
    bool known = number > 0 && (size_t)number <= server->owners.len;
    return known ? server->owners.at[number - 1].client : NULL;
}

void mcp_owner_set(struct mcp_client *client, int number) {
    owner_at(client->server, number)->client = client;
}

/* A plan that was left alone: its kernel did not come. */
static bool is_left(struct mcp_server *server, int number) {
    const struct tune_state *state = tune_session_state(server->options.session);
    struct tune_submission_view view;
    return !state->submissions.at[number - 1].source && !mcp_owner_of(server, number) &&
           tune_submission_look(state, number, &view) && view.is != TUNE_SUBMISSION_ENDED;
}

void mcp_owner_comes(struct mcp_client *client, const struct mcp_client *before) {
    struct mcp_server *server = client->server;
    const struct tune_state *state = tune_session_state(server->options.session);
    struct buf author = {0};
    mcp_author_print(client, &author);
    for (size_t i = 0; i < server->owners.len; i++)
        if (before && server->owners.at[i].client == before)
            server->owners.at[i].client = client;
    for (size_t i = 0; i < state->submissions.len; i++) {
        const char *by = state->submissions.at[i].plan.author;
        if (by && !strcmp(by, author.at) && is_left(server, (int)i + 1))
            mcp_owner_set(client, (int)i + 1);
    }
    buf_free(&author);
    mcp_server_changed(server);
}

void mcp_owner_goes(const struct mcp_client *client) {
    struct mcp_server *server = client->server;
    bool any = false;
    for (size_t i = 0; i < server->owners.len; i++)
        if (server->owners.at[i].client == client) {
            server->owners.at[i] = (struct mcp_owner){NULL, clock_monotonic_ns()};
            any = true;
        }
    if (any)
        mcp_server_changed(server);
}

static void on_patience(void *data) {
    struct mcp_server *server = data;
    server->patience = NULL;
    mcp_server_changed(server);
}

/* The others do not wait without end for a plan whose agent has gone. It may have gone with its
 * server, or while the session changed hands: then it is back soon. */
static void plan_look(struct mcp_server *server) {
    struct tune_session *session = server->options.session;
    int number = tune_session_wants_kernel(session);
    loop_timer_stop(server->patience);
    server->patience = NULL;
    if (!number || mcp_owner_of(server, number))
        return;
    const char *author = tune_session_state(session)->submissions.at[number - 1].plan.author;
    uint64_t gone_ms = (clock_monotonic_ns() - owner_at(server, number)->gone_ns) / 1000000;
    if (gone_ms < MCP_GONE_S * 1000) {
        server->patience = loop_timer_start(server->options.loop, MCP_GONE_S * 1000 - gone_ms + 1,
                                            0, on_patience, server);
        return;
    }
    struct buf why = {0};
    buf_printf(&why, "%s, whose plan it is, has gone and did not hand its kernel in",
               author ? author : "the agent");
    (void)tune_session_give_up(session, number, why.at);
    buf_free(&why);
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
    plan_look(server);
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
    server->began_ns = clock_monotonic_ns();
    server->evaluations.loop = server->commands.loop = options->loop;
    return server;
}

void mcp_server_free(struct mcp_server *server) {
    if (!server)
        return;
    loop_timer_stop(server->soon);
    loop_timer_stop(server->patience);
    vec_free(&server->owners);
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
