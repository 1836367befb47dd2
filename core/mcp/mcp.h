/* SPDX-License-Identifier: Apache-2.0 */
/* A session for agents, over the Model Context Protocol: tools, resources and prompts about a task.
 * What agents hand in goes through the session's own loop; gates, budgets and checks are the
 * session's. */
#ifndef HONE_MCP_MCP_H
#define HONE_MCP_MCP_H

#include "base/base.h"
#include "mcp/wire/wire.h"
#include "tune/tune.h"

struct mcp_options {
    struct loop *loop;
    struct tune_session *session; /* outlives the server */
    const struct config *config;  /* likewise; NULL */
    const char *version;          /* of hone */
    bool drives; /* nobody else starts the loop: it goes on when a kernel was handed in. Else a
                  * person does; it goes on by itself only where it had stopped by itself */
    /* Somebody wants to hold the session instead, a person's workbench: it is to be closed, later
     * on the loop. NULL: it stays. */
    void (*yield)(void *data);
    void *data;
    bool approves; /* gates are automatic: what waits at one all the same is approved */
};
struct mcp_server;
struct mcp_server *mcp_server_new(const struct mcp_options *options) CC_MUST_USE;
/* Gives up what is under way; its clients must be gone. Accepts NULL. */
void mcp_server_free(struct mcp_server *server);
/* To be called when the session changed. It acts later, on the loop. */
void mcp_server_changed(struct mcp_server *server);
/* How many agents are connected. */
size_t mcp_server_clients(const struct mcp_server *server);

/* One agent: lines come in, and go out by `send`, which must neither call back nor free it. */
struct mcp_client;
typedef void mcp_send_fn(void *data, struct str line);
struct mcp_client *mcp_client_new(struct mcp_server *server, mcp_send_fn *send,
                                  void *data) CC_MUST_USE;
/* `whole` false: a line that was too long to be taken. */
void mcp_client_line(struct mcp_client *client, struct str line, bool whole);
/* It goes on with a connection that began elsewhere: takes its revision and name. */
void mcp_client_goes_on(struct mcp_client *client, const struct mcp_client *before);
/* Whether nothing that it asked is under way. */
bool mcp_client_rests(const struct mcp_client *client);
/* Answers what is under way with an error: what happened, and what to do. */
void mcp_client_leave(struct mcp_client *client, const char *why);
/* Gives up its calls. What it handed in stays. Accepts NULL. */
void mcp_client_free(struct mcp_client *client);

/* The socket in the session's folder (0600), through which further agents join. Where there is no
 * room for one, its requests are answered with that. NULL and *err. Free it before the server; it
 * drops whoever joined. */
struct mcp_listener;
struct mcp_listener *mcp_listen(struct mcp_server *server, struct err *err) CC_MUST_USE;
void mcp_listener_free(struct mcp_listener *listener); /* accepts NULL */
/* Joins who holds the session in that folder: a connected socket, or -1 and *err. */
int mcp_join(const char *session, struct err *err) CC_MUST_USE;
/* Asks a hone mcp to give the session to a person's workbench: a whole line. The answer says
 * whether it does; then it closes the connection when the session is free. */
#define MCP_YIELD_METHOD "hone/yield"
#define MCP_YIELD "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"" MCP_YIELD_METHOD "\"}\n"
#define MCP_YIELDS "\"yields\":true"

#endif
