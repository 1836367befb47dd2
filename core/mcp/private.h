/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/mcp: clients, their calls, and the tables of what can be asked. */
#ifndef HONE_MCP_PRIVATE_H
#define HONE_MCP_PRIVATE_H

#include "loop/loop.h"
#include "mcp/mcp.h"
#include "runner/runner.h"

struct mcp_call;
struct mcp_tool;

/* turn.c: a place in the queue for a child, for whose start `go` is called, from the loop. */
struct mcp_turn {
    struct mcp_client *client;
    void (*go)(void *data);
    void *data;
    struct mcp_turn *next;   /* private from here on */
    struct mcp_turns *turns; /* NULL: it does not queue, and has no turn */
};
/* A queue of children of one kind. */
struct mcp_turns {
    struct loop *loop;
    struct mcp_turn *waiting, *working; /* waiting: the oldest first */
    struct loop_timer *soon;            /* one is started then; NULL: none */
    int count;                          /* of those at work */
};
void mcp_turn_ask(struct mcp_turns *turns, struct mcp_turn *turn);
/* Its child has ended, or it is given up; nothing where it does not queue. */
void mcp_turn_end(struct mcp_turn *turn);
void mcp_turns_stop(struct mcp_turns *turns); /* nobody queues any more */

/* Who handed something in, as long as it is connected. */
struct mcp_owner {
    struct mcp_client *client; /* NULL: it has gone, or is not here again yet, */
    uint64_t gone_ns;          /* since then */
};
struct mcp_server {
    struct mcp_options options;
    struct mcp_client *clients;
    struct loop_timer *soon;      /* it looks at the session then */
    int started_for;              /* the last submission that the loop was started for */
    bool began;                   /* it had the first kernel measured */
    struct runner_checks *checks; /* the child that checks kernels; NULL: not yet */
    struct mcp_turns evaluations, commands;
    VEC(struct mcp_owner) owners; /* by number, of what was handed in */
    uint64_t began_ns;
    struct loop_timer *patience; /* with a plan whose agent has gone; NULL: none waits */
};

struct mcp_client {
    struct mcp_server *server;
    struct mcp_client *next;
    mcp_send_fn *send;
    void *data;
    struct mcp_call *calls; /* under way */
    const char *revision;   /* that the connection agreed on; NULL: none yet */
    char name[48];          /* as the client calls itself; "" */
    bool named;
};

/* A request, until it is answered. */
struct mcp_call {
    struct mcp_client *client;
    struct mcp_call *next;
    struct mcp_message message;
    bool by_request; /* its revision came with it, and its result says what it is */
    const struct mcp_tool *tool;
    const cJSON *args; /* of the tool; checked; NULL: none */
    bool waits_first;  /* for the first kernel's numbers */
    /* Work that goes on: called when the session changed, and to give it up; NULL: neither. The
     * latter frees `work`. */
    void (*look)(struct mcp_call *call);
    void (*cancel)(struct mcp_call *call);
    void *work;
    double progress; /* as it was told last */
    char told[120];  /* the words of it that were told last */
};

static inline const struct tune_state *mcp_state(const struct mcp_call *call) {
    return tune_session_state(call->client->server->options.session);
}

/* call.c: ends of a call, each of which frees it. `result` and `structured` are taken. */
void mcp_call_result(struct mcp_call *call, cJSON *result);
void mcp_call_error(struct mcp_call *call, enum mcp_error code, const char *format, ...)
    CC_PRINTF(3, 4);
void mcp_call_version_error(struct mcp_call *call, const char *asked);
/* Of a tool: an object, as such and as text; with `uri` a link to more (NULL: none). */
void mcp_call_done(struct mcp_call *call, cJSON *structured, const char *uri);
/* It could not be done: what happened, and what to do. */
void mcp_call_failed(struct mcp_call *call, const char *format, ...) CC_PRINTF(2, 3);
/* Gives it up without an answer. */
void mcp_call_drop(struct mcp_call *call);
/* How far it is, if the client wants to know; `total` NAN: not known. */
void mcp_call_progress(struct mcp_call *call, double total, const char *format, ...)
    CC_PRINTF(3, 4);
#define MCP_TELLS_EVERY_MS 5000 /* clients give up what they hear nothing of */
/* The same of where the loop stands, in words; each is told once. `before`: what comes first. */
void mcp_call_stands(struct mcp_call *call, const char *before);

/* client.c */
void mcp_client_print(struct mcp_client *client, struct buf *line); /* sends and frees it */
/* Takes the name that a client gives itself. */
void mcp_client_name(struct mcp_client *client, const cJSON *info);
/* "agent/NAME": who hands something in. */
void mcp_author_print(const struct mcp_client *client, struct buf *out);

/* methods.c */
struct mcp_method {
    const char *name;
    void (*run)(struct mcp_call *call);
    bool opens;       /* a connection may begin with it */
    bool by_request;  /* there is such a request since 2026-07-28 */
    bool before_that; /* and before */
};
extern const struct mcp_method mcp_methods[];

/* tools.c */
/* Of arguments, and of what is answered; those after MCP_TEXTS are only answered. ROWS: objects. */
enum mcp_kind {
    MCP_TEXT,
    MCP_WHOLE,
    MCP_NUMBER,
    MCP_FLAG,
    MCP_TEXTS,
    MCP_OBJECT,
    MCP_ROWS,
    MCP_LIST
};
struct mcp_tool {
    const char *name, *title, *text;
    void (*run)(struct mcp_call *call);
    bool reads; /* it changes nothing of the session */
    bool first; /* it needs the first kernel's numbers */
};
cJSON *mcp_tools_write(void) CC_MUST_USE;
/* schema.c: an object of the kind `type` with what it is ("" says nothing), for a schema; the same
 * of a tool's answer, by its place in tools.def. */
cJSON *mcp_schema_of(enum mcp_kind kind, const char *text) CC_MUST_USE;
cJSON *mcp_answer_schema(int tool) CC_MUST_USE;
void mcp_tool_call(struct mcp_call *call);
/* Runs it when what it waited for is there. */
void mcp_tool_go_on(struct mcp_call *call);
/* For a tool that does without them: whether the first kernel's numbers come soon, from the device
 * model. Then the tool is run again when they are there. */
bool mcp_tool_awaits_first(struct mcp_call *call);
/* Arguments: NULL, `missing`, NAN or false where they were not given. */
const char *mcp_text(const struct mcp_call *call, const char *name);
int mcp_int(const struct mcp_call *call, const char *name, int missing);
double mcp_number(const struct mcp_call *call, const char *name);

/* kernel.c: a kernel as arguments name it: `kernel` (source), `file`, `attempt`; none of them: the
 * incumbent. NULL and *err; else a new string, and in *name what to call it. */
char *mcp_kernel_of(const struct mcp_call *call, char name[64], struct err *err) CC_MUST_USE;
/* The kernel of an attempt, a new string; NULL and *err where it cannot be read back from the log.
 */
char *mcp_source_of(const struct tune_state *state, const struct tune_attempt *attempt,
                    struct err *err) CC_MUST_USE;
/* An attempt by the argument `key`; the incumbent where it was not given. NULL and *err. */
const struct tune_attempt *mcp_attempt_of(const struct mcp_call *call, const char *key,
                                          struct err *err);

/* command.c: a command of hone that answers a call, in a child, as JSON. `answer` takes what it
 * printed and ends the call; where the command fails, what it said ends it. */
struct mcp_command;
typedef void mcp_answer_fn(struct mcp_call *call, cJSON *answer);
struct mcp_command *mcp_command_new(struct mcp_call *call, const char *name,
                                    mcp_answer_fn *answer) CC_MUST_USE;
/* Adds an argument, or an option with its value; NULL: nothing. Both are copied. */
void mcp_command_add(struct mcp_command *command, const char *option, const char *value);
/* Adds the kernel that the call is about, as mcp_kernel_of finds it. False and *err. */
bool mcp_command_kernel(struct mcp_command *command, struct err *err);
/* The same as a file of its own, for commands that know no session. */
bool mcp_command_source(struct mcp_command *command, struct err *err);
/* Runs it, or, where *err is set, ends the call with that. Takes the command. */
void mcp_command_run(struct mcp_command *command, struct err *err);

/* write.c: parts of answers. What is not known is left out. */
void mcp_put_text(cJSON *object, const char *key, const char *text);
/* What limits it, by the one rule. */
void mcp_put_limited(cJSON *object, const char *key, const struct tune_attempt *attempt);
void mcp_put_number(cJSON *object, const char *key, double number);
cJSON *mcp_attempt_brief(const struct tune_state *state, const struct tune_attempt *attempt);
/* Its costs: lines with their text, bounds, metrics. */
void mcp_put_profile(cJSON *object, const struct tune_state *state,
                     const struct tune_attempt *attempt, size_t most);
/* The line with that number, from 1, without its indentation; appended. */
void mcp_line_print(const char *source, int number, struct buf *out);
/* tool_attempt.c: the changed lines, each run with its place; not without end. */
void mcp_diff_print(struct buf *out, const char *a, const char *b);
/* The kernel that the loop waits for, of plan `number`; appended. */
void mcp_awaited_print(const struct mcp_server *server, int number, struct buf *out);
cJSON *mcp_submission_write(const struct mcp_call *call, int number) CC_MUST_USE;

/* tool_submit.c: whether nothing comes of what waits, as the loop stands. */
bool mcp_loop_stands(const struct mcp_server *server);

/* server.c: has the first kernel measured, once, where the loop is the server's to start. */
void mcp_server_begin(struct mcp_server *server);
/* Whose a submission is; NULL: nobody's who is connected. A client that comes back under the name
 * that it had has what it left behind, and what a client owned it may hand over. */
struct mcp_client *mcp_owner_of(const struct mcp_server *server, int number);
void mcp_owner_set(struct mcp_client *client, int number);
void mcp_owner_comes(struct mcp_client *client, const struct mcp_client *before);
void mcp_owner_goes(const struct mcp_client *client);
#define MCP_GONE_S 30 /* a plan waits so long for an agent that has gone */

/* resources.c, prompts.c: methods. */
void mcp_resources_list(struct mcp_call *call);
void mcp_resource_templates_list(struct mcp_call *call);
void mcp_resource_read(struct mcp_call *call);
void mcp_prompts_list(struct mcp_call *call);
void mcp_prompt_get(struct mcp_call *call);
/* Marks a result that clients may keep for so long. */
void mcp_put_kept(const struct mcp_call *call, cJSON *result, int ms);

/* The tools, a function each (tools.def). */
#define TOOL(id, name, run, reads, first, title, text) void mcp_tool_##run(struct mcp_call *call);
#define ARG(tool, name, kind, needed, choices, text)
#include "mcp/tools.def"
#undef TOOL
#undef ARG

#endif
