/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of cli/mcp share. Private to this folder. */
#ifndef HONE_CLI_MCP_PRIVATE_H
#define HONE_CLI_MCP_PRIVATE_H

#include "cli/mcp/mcp.h"
#include "loop/loop.h"
#include "mcp/mcp.h"
#include "tune/tune.h"

/* print.c: what a client's configuration needs, to stdout. */
int mcp_config_print(const struct cli *cli, const char *client);

/* The agent at standard input and output. Its session is held here, or by another process of hone,
 * which it joins; it may go over from one to the other, and the agent need not know. */
struct serving {
    const struct cli *cli;
    struct loop *loop;
    struct config *config;
    struct tune_options options;
    struct tune_run own;       /* gates and limits that hold for this run alone */
    struct mcp_stream *stream; /* of the agent */
    struct buf first;          /* the line with which it began its connection; empty: none did */
    struct buf queue;          /* lines that came while the session was nowhere */
    struct loop_timer *again;  /* looks for the session then, */
    uint64_t until_ns;         /* and takes it as it is from then on; */
    uint64_t wish_until_ns;    /* from then on even where a workbench waits for it */
    int status;
    /* held here */
    struct tune_session *session;
    struct mcp_server *server;
    struct mcp_listener *listener;
    struct mcp_client *client;
    /* joined */
    struct mcp_stream *other;
    int fd;
    bool swallows;          /* the answer to `first`, which the agent has already */
    VEC(cJSON *) under_way; /* ids of requests that the other side has */
};

/* hold.c: the session is held here. Release: it is free for others; the agent's calls are
 * answered with `why`, NULL: not at all. */
bool serving_hold(struct serving *serving, struct err *err) CC_MUST_USE;
void serving_release(struct serving *serving, const char *why);
/* join.c: another process holds it. */
void serving_join(struct serving *serving, int fd);
void serving_pass(struct serving *serving, struct str line);
void serving_part(struct serving *serving);
/* host.c: whether a workbench waits for the session in that folder, and is to have it first. */
bool mcp_is_wished(const char *folder);
/* mcp.c: looks for the session a moment later. */
void serving_look_again(struct serving *serving);

#endif
