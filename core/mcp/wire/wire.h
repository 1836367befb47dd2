/* SPDX-License-Identifier: Apache-2.0 */
/* The Model Context Protocol as messages: lines of JSON-RPC 2.0, the revisions of the protocol, and
 * the streams that lines come from. What is asked and answered is for others. Sources:
 * modelcontextprotocol.io, revisions 2026-07-28 and 2025-11-25. */
#ifndef HONE_MCP_WIRE_H
#define HONE_MCP_WIRE_H

#include <cjson/cJSON.h>

#include "base/base.h"

#define MCP_LINE_MOST ((size_t)8 << 20)    /* bytes of a message */
#define MCP_ANSWER_MOST ((size_t)48 << 10) /* bytes of a tool's answer as JSON (doc/agents.md) */

/* Errors of JSON-RPC, and those of the protocol. */
enum mcp_error {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_NO_RESOURCE = -32002, /* until 2025-11-25; then MCP_INVALID_PARAMS */
    MCP_NO_VERSION = -32022,  /* since 2026-07-28 */
};

/* ------------------------------------------------------------------------------- the messages */

/* Since 2026-07-28 every request says its revision; before, a connection agreed on one. */
extern const char *const mcp_revisions[]; /* the newest first; NULL ends */
const char *mcp_revision_of_requests(void);
/* The revision for a client that offers `offered` at the beginning of its connection: the same, or
 * the newest of those that have such a beginning. */
const char *mcp_revision_agreed(const char *offered);

enum mcp_message_is { MCP_REQUEST, MCP_NOTIFICATION, MCP_OTHER };
struct mcp_message {
    enum mcp_message_is is; /* OTHER: an answer, which nobody asked for */
    cJSON *whole;           /* owns what follows */
    const cJSON *id;        /* text, number, or as it came as cJSON_Raw where neither holds it;
                             * NULL: it has none, or none that can be used */
    const char *method;
    const cJSON *params, *meta, *token; /* objects, text or number; NULL: none */
};
/* Reads a line. False: it is no message, *code and *why say how to answer it; message->id is set
 * where it has one. Free in either case. */
bool mcp_message_read(struct str line, struct mcp_message *message, enum mcp_error *code,
                      const char **why) CC_MUST_USE;
void mcp_message_free(struct mcp_message *message);
/* An id or a token as it came, to the last digit and letter; the caller owns it. */
cJSON *mcp_id_copy(const cJSON *id) CC_MUST_USE;
/* Whether two ids are the same. */
bool mcp_id_same(const cJSON *a, const cJSON *b);

/* Messages to a client, as lines without their end; appended. `result`, `data` and `params` are
 * taken; `id` and `data` may be NULL. Texts in them may be any bytes. */
void mcp_result_print(const cJSON *id, cJSON *result, struct buf *out);
void mcp_error_print(const cJSON *id, enum mcp_error code, const char *text, cJSON *data,
                     struct buf *out);
void mcp_notification_print(const char *method, cJSON *params, struct buf *out);

/* -------------------------------------------------------------------------------- the streams */

/* Lines that come on one descriptor and go on another, or the same. Nothing in it waits: what
 * cannot be written is kept, and while much is kept nothing is read. */
struct loop;
struct mcp_stream;
struct mcp_stream_hooks {
    /* `whole` is false for a line that is too long, of which nothing is told. */
    void (*line)(void *data, struct str line, bool whole);
    void (*ended)(void *data); /* nothing more comes, or nothing more can be written */
    void *data;
};
/* The descriptors stay the caller's. They are read and written without waiting. */
struct mcp_stream *mcp_stream_new(struct loop *loop, int in, int out,
                                  const struct mcp_stream_hooks *hooks) CC_MUST_USE;
/* Sends a line; its end is added. */
void mcp_stream_send(struct mcp_stream *stream, struct str line);
/* Writes what is kept, for at most so long. */
void mcp_stream_flush(struct mcp_stream *stream, int limit_ms);
void mcp_stream_free(struct mcp_stream *stream); /* accepts NULL; not within `line` */

/* bound.c: takes what is over the limit of an answer out of its largest lists and texts. Says in
 * `left_out` how many rows or bytes of which, and in `more` how they are had. newest: the end of a
 * list stays. */
void mcp_bound(cJSON *answer, bool newest, const char *more);

#endif
