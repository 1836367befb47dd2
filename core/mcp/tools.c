/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tools: its schemas, and the arguments of a call held against it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/private.h"

struct argument {
    int tool;
    const char *name;
    enum mcp_kind kind;
    bool needed;
    const char *choices, *text; /* choices: "a|b"; "" */
};

enum {
#define TOOL(id, name, run, reads, first, title, text) TOOL_##id,
#define ARG(tool, name, kind, needed, choices, text)
#include "mcp/tools.def"
#undef TOOL
#undef ARG
};

static const struct mcp_tool tools[] = {
#define TOOL(id, name, run, reads, first, title, text) \
    {name, title, text, mcp_tool_##run, reads, first},
#define ARG(tool, name, kind, needed, choices, text)
#include "mcp/tools.def"
#undef TOOL
#undef ARG
};

static const struct argument arguments[] = {
#define TOOL(id, name, run, reads, first, title, text)
#define ARG(tool, name, kind, needed, choices, text) \
    {TOOL_##tool, name, MCP_##kind, needed, choices, text},
#include "mcp/tools.def"
#undef TOOL
#undef ARG
};

/* ------------------------------------------------------------------------------------ schemas */

static void choices_put(cJSON *schema, const char *choices) {
    struct str rest = str_of(choices), one;
    cJSON *list = *choices ? cJSON_AddArrayToObject(schema, "enum") : NULL;
    while (list && str_next(&rest, '|', &one)) {
        struct buf word = {0};
        buf_add(&word, one.at, one.len);
        cJSON_AddItemToArray(list, cJSON_CreateString(word.at));
        buf_free(&word);
    }
}

static cJSON *argument_schema(const struct argument *argument) {
    cJSON *schema = mcp_schema_of(argument->kind, argument->text);
    choices_put(schema, argument->choices);
    return schema;
}

static cJSON *tool_schema(int tool) {
    cJSON *schema = cJSON_CreateObject(), *needed = cJSON_CreateArray();
    cJSON_AddStringToObject(schema, "type", "object");
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties");
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        const struct argument *argument = &arguments[i];
        if (argument->tool != tool)
            continue;
        cJSON_AddItemToObject(properties, argument->name, argument_schema(argument));
        if (argument->needed)
            cJSON_AddItemToArray(needed, cJSON_CreateString(argument->name));
    }
    if (cJSON_GetArraySize(needed))
        cJSON_AddItemToObject(schema, "required", needed);
    else
        cJSON_Delete(needed);
    cJSON_AddFalseToObject(schema, "additionalProperties");
    return schema;
}

cJSON *mcp_tools_write(void) {
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        cJSON *tool = cJSON_CreateObject();
        cJSON_AddStringToObject(tool, "name", tools[i].name);
        cJSON_AddStringToObject(tool, "title", tools[i].title);
        cJSON_AddStringToObject(tool, "description", tools[i].text);
        cJSON_AddItemToObject(tool, "inputSchema", tool_schema((int)i));
        cJSON_AddItemToObject(tool, "outputSchema", mcp_answer_schema((int)i));
        cJSON *hints = cJSON_AddObjectToObject(tool, "annotations");
        cJSON_AddBoolToObject(hints, "readOnlyHint", tools[i].reads);
        cJSON_AddBoolToObject(hints, "destructiveHint", false);
        cJSON_AddBoolToObject(hints, "openWorldHint", false);
        cJSON_AddItemToArray(list, tool);
    }
    return list;
}

/* ---------------------------------------------------------------------------------- arguments */

static const struct argument *argument_find(int tool, const char *name) {
    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        if (arguments[i].tool == tool && !strcmp(arguments[i].name, name))
            return &arguments[i];
    return NULL;
}

static bool is_choice(const char *choices, const char *text) {
    struct str rest = str_of(choices), one;
    while (*choices && str_next(&rest, '|', &one))
        if (str_is(one, text))
            return true;
    return !*choices;
}

static bool texts_only(const cJSON *list) {
    const cJSON *one;
    cJSON_ArrayForEach(one, list) {
        if (!cJSON_IsString(one))
            return false;
    }
    return cJSON_IsArray(list);
}

static bool is_whole(const cJSON *value) {
    return cJSON_IsNumber(value) && fabs(value->valuedouble) <= 1e9 &&
           !(fabs(value->valuedouble - rint(value->valuedouble)) > 0);
}

static bool is_of_kind(const cJSON *value, enum mcp_kind kind) {
    switch (kind) {
    case MCP_TEXT: return cJSON_IsString(value);
    case MCP_WHOLE: return is_whole(value);
    case MCP_NUMBER: return cJSON_IsNumber(value) && isfinite(value->valuedouble);
    case MCP_FLAG: return cJSON_IsBool(value);
    case MCP_TEXTS: return texts_only(value);
    default: return false; /* no argument is more than that */
    }
}

/* An agent that guessed a name reads here what it could have given. */
static bool refuse_unknown(int tool, const char *name, struct err *err) {
    struct buf takes = {0};
    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        if (arguments[i].tool == tool)
            buf_printf(&takes, "%s%s%s", takes.len ? ", " : "", arguments[i].name,
                       arguments[i].needed ? " (needed)" : "");
    err_set(err, ERR_USAGE, "%s takes no \"%.60s\"; it takes %s", tools[tool].name, name,
            takes.len ? takes.at : "nothing");
    buf_free(&takes);
    return false;
}

static bool argument_check(int tool, const cJSON *value, struct err *err) {
    static const char *const words[] = {[MCP_TEXT] = "a text",
                                        [MCP_WHOLE] = "a whole number",
                                        [MCP_NUMBER] = "a number",
                                        [MCP_FLAG] = "true or false",
                                        [MCP_TEXTS] = "a list of texts"};
    const struct argument *argument = argument_find(tool, value->string);
    if (!argument)
        return refuse_unknown(tool, value->string, err);
    if (!is_of_kind(value, argument->kind))
        return err_set(err, ERR_USAGE, "%s: \"%s\" must be %s", tools[tool].name, argument->name,
                       words[argument->kind]);
    return argument->kind != MCP_TEXT || is_choice(argument->choices, value->valuestring) ||
           err_set(err, ERR_USAGE, "%s: \"%s\" must be one of %s", tools[tool].name, argument->name,
                   argument->choices);
}

static bool arguments_check(int tool, const cJSON *args, struct err *err) {
    const cJSON *value;
    cJSON_ArrayForEach(value, args) {
        if (!argument_check(tool, value, err))
            return false;
        if (cJSON_GetObjectItemCaseSensitive(args, value->string) != value)
            return err_set(err, ERR_USAGE, "%s: \"%s\" is given twice", tools[tool].name,
                           value->string);
    }
    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        if (arguments[i].tool == tool && arguments[i].needed &&
            !cJSON_GetObjectItemCaseSensitive(args, arguments[i].name))
            return err_set(err, ERR_USAGE, "%s needs \"%s\": %s", tools[tool].name,
                           arguments[i].name, arguments[i].text);
    return true;
}

const char *mcp_text(const struct mcp_call *call, const char *name) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(call->args, name);
    return cJSON_IsString(value) ? value->valuestring : NULL;
}

int mcp_int(const struct mcp_call *call, const char *name, int missing) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(call->args, name);
    return cJSON_IsNumber(value) ? (int)value->valuedouble : missing;
}

double mcp_number(const struct mcp_call *call, const char *name) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(call->args, name);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

/* --------------------------------------------------------------------------------------- calls */

static int tool_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(tools); i++)
        if (!strcmp(tools[i].name, name))
            return (int)i;
    return -1;
}

/* Why the first kernel will have no numbers soon; NULL: it has them, or they come. */
static const char *never_first(const struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    if (state->incumbent >= 0 || tune_session_is_busy(call->client->server->options.session))
        return NULL;
    return state->trouble     ? state->trouble
           : state->wait_text ? state->wait_text
                              : "the session waits for a person";
}

bool mcp_tool_awaits_first(struct mcp_call *call) {
    const struct tune_state *state = mcp_state(call);
    bool here = !state->target || !strcmp(state->target, "sim");
    call->waits_first = here && state->incumbent < 0 && !never_first(call);
    return call->waits_first;
}

void mcp_tool_go_on(struct mcp_call *call) {
    const char *why = call->tool->first ? never_first(call) : NULL;
    call->waits_first = call->tool->first && mcp_state(call)->incumbent < 0 && !why;
    if (call->waits_first)
        mcp_call_stands(call, "the first kernel: ");
    else if (why)
        mcp_call_failed(call,
                        "%s needs the first kernel's numbers, and there are none: %s. A person "
                        "starts the loop in the workbench (hone TASK), or submit a kernel",
                        call->tool->name, why);
    else
        call->tool->run(call);
}

void mcp_tool_call(struct mcp_call *call) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(call->message.params, "name");
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(call->message.params, "arguments");
    struct err err = {0};
    int tool = cJSON_IsString(name) ? tool_find(name->valuestring) : -1;
    if (!cJSON_IsString(name))
        mcp_call_error(call, MCP_INVALID_PARAMS, "\"name\" must be the name of a tool");
    else if (tool < 0)
        mcp_call_error(call, MCP_INVALID_PARAMS, "Unknown tool: %.80s", name->valuestring);
    else if (args && !cJSON_IsObject(args) && !cJSON_IsNull(args))
        mcp_call_error(call, MCP_INVALID_PARAMS, "\"arguments\" must be an object");
    else if (!arguments_check(tool, args, &err))
        mcp_call_failed(call, "%s", err.text);
    else {
        call->tool = &tools[tool];
        call->args = args;
        mcp_server_begin(call->client->server);
        mcp_tool_go_on(call);
    }
}
