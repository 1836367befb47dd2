/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of JSON-RPC: reading what a client sent, and printing answers. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/wire/wire.h"

const char *const mcp_revisions[] = {"2026-07-28", "2025-11-25", "2025-06-18", NULL};
#define FIRST_OF_CONNECTIONS 1 /* index of the newest that begins a connection with initialize */

const char *mcp_revision_of_requests(void) {
    return mcp_revisions[0];
}

const char *mcp_revision_agreed(const char *offered) {
    for (size_t i = FIRST_OF_CONNECTIONS; offered && mcp_revisions[i]; i++)
        if (!strcmp(offered, mcp_revisions[i]))
            return mcp_revisions[i];
    return mcp_revisions[FIRST_OF_CONNECTIONS];
}

/* ------------------------------------------------------------------------------------ reading */

/* Raw: a number as its text, see digits_keep. */
static bool is_id(const cJSON *id) {
    return cJSON_IsString(id) || cJSON_IsRaw(id) ||
           (cJSON_IsNumber(id) && isfinite(id->valuedouble));
}

static const cJSON *object_at(const cJSON *object, const char *key) {
    const cJSON *at = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsObject(at) ? at : NULL;
}

static bool wrong(enum mcp_error *code, const char **why, enum mcp_error its, const char *text) {
    *code = its;
    *why = text;
    return false;
}

static bool parts_find(struct mcp_message *message, enum mcp_error *code, const char **why) {
    const cJSON *whole = message->whole;
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(whole, "jsonrpc");
    const cJSON *method = cJSON_GetObjectItemCaseSensitive(whole, "method");
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(whole, "params");
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(whole, "id");
    message->id = is_id(id) ? id : NULL;
    if (!cJSON_IsString(version) || strcmp(version->valuestring, "2.0") != 0)
        return wrong(code, why, MCP_INVALID_REQUEST, "\"jsonrpc\" must be \"2.0\"");
    if (!method && (cJSON_HasObjectItem(whole, "result") || cJSON_HasObjectItem(whole, "error")))
        return true;
    if (!cJSON_IsString(method))
        return wrong(code, why, MCP_INVALID_REQUEST, "\"method\" must be a text");
    if (id && !message->id)
        return wrong(code, why, MCP_INVALID_REQUEST, "\"id\" must be a text or a number");
    if (params && !cJSON_IsObject(params))
        return wrong(code, why, MCP_INVALID_PARAMS, "\"params\" must be an object");
    const cJSON *meta = object_at(params, "_meta");
    const cJSON *token = cJSON_GetObjectItemCaseSensitive(meta, "progressToken");
    message->is = id ? MCP_REQUEST : MCP_NOTIFICATION;
    message->method = method->valuestring;
    message->params = params;
    message->meta = meta;
    message->token = is_id(token) ? token : NULL;
    return true;
}

/* The number of four hexadecimal digits; -1: they are none. */
static int digits_read(const char *at) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)at[i]))
            return -1;
        bool is_number = isdigit((unsigned char)at[i]);
        value = value * 16 + (is_number ? at[i] - '0' : (at[i] | 32) - 'a' + 10);
    }
    return value;
}

/* Clients that cut a text may leave half of a character: "\ud83d" alone is JSON, but no text. */
static void halves_mend(char *text) {
    for (char *at = text; (at = strchr(at, '\\'));) {
        int code = at[1] == 'u' ? digits_read(at + 2) : -1;
        int next = code >= 0 && at[6] == '\\' && at[7] == 'u' ? digits_read(at + 8) : -1;
        bool first = (code & ~0x3ff) == 0xd800, whole = first && (next & ~0x3ff) == 0xdc00;
        if ((first && !whole) || (code & ~0x3ff) == 0xdc00)
            memcpy(at + 2, "fffd", 4);
        at += whole ? 12 : code >= 0 ? 6 : at[1] ? 2 : 1;
    }
}

/* ---------------------------------------------------------- numbers that are lost in a double */

/* The value of `key` in the object that `at` begins with, which was read without error before;
 * NULL: it has none. */
static const char *value_find(const char *at, const char *key) {
    const char *end = at + strspn(at, " \t\r\n");
    while (*end == '{' || *end == ',') {
        cJSON *name = cJSON_ParseWithOpts(end + 1, &end, false);
        bool is_it = cJSON_IsString(name) && !strcmp(name->valuestring, key);
        cJSON_Delete(name);
        end += strspn(end, " \t\r\n");
        if (*end != ':' || is_it)
            return is_it ? end + 1 + strspn(end + 1, " \t\r\n") : NULL;
        cJSON_Delete(cJSON_ParseWithOpts(end + 1, &end, false));
        end += strspn(end, " \t\r\n");
    }
    return NULL;
}

/* Whether a double is that whole number, and no other one is. */
static bool is_held(const cJSON *number) {
    double value = number->valuedouble;
    return fabs(value) <= 9007199254740991.0 && !(value < rint(value)) && !(value > rint(value));
}

/* How far the text is a number by JSON's own grammar, which strtod does not keep to; 0: it is none.
 */
static size_t number_len(const char *text) {
    const char *at = text + (*text == '-');
    size_t digits = strspn(at, "0123456789"), sign;
    if (!digits || (*at == '0' && digits > 1))
        return 0;
    at += digits;
    digits = *at == '.' ? strspn(at + 1, "0123456789") : 0;
    at += digits ? digits + 1 : 0;
    sign = (*at == 'e' || *at == 'E') && (at[1] == '+' || at[1] == '-');
    digits = *at == 'e' || *at == 'E' ? strspn(at + 1 + sign, "0123456789") : 0;
    at += digits ? digits + 1 + sign : 0;
    return *at && strchr(".eE+-", *at) ? 0 : (size_t)(at - text);
}

/* Puts the number's own digits in its place. `path`: keys to the object that has it, NULL ends. */
static void digits_keep(cJSON *whole, const char *text, const char *const path[], const char *key) {
    cJSON *object = whole;
    for (size_t i = 0; path[i]; i++)
        object = cJSON_GetObjectItemCaseSensitive(object, path[i]);
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(number) || is_held(number))
        return;
    for (size_t i = 0; path[i] && text; i++)
        text = value_find(text, path[i]);
    const char *at = text ? value_find(text, key) : NULL;
    struct buf digits = {0};
    buf_add(&digits, at ? at : "", at ? number_len(at) : 0);
    if (digits.len)
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, cJSON_CreateRaw(digits.at));
    buf_free(&digits);
}

/* What is answered as it came: programs count in nanoseconds, or draw 64 bits. */
static void all_digits_keep(cJSON *whole, const char *text) {
    static const char *const top[] = {NULL}, *const params[] = {"params", NULL},
                             *const meta[] = {"params", "_meta", NULL};
    digits_keep(whole, text, top, "id");
    digits_keep(whole, text, params, "requestId");
    digits_keep(whole, text, meta, "progressToken");
}

bool mcp_message_read(struct str line, struct mcp_message *message, enum mcp_error *code,
                      const char **why) {
    const char *end = NULL;
    struct buf text = {0};
    *message = (struct mcp_message){.is = MCP_OTHER};
    buf_add(&text, line.at ? line.at : "", line.len);
    if (!memchr(text.at, 0, text.len)) {
        halves_mend(text.at);
        message->whole = cJSON_ParseWithOpts(text.at, &end, true);
        if (cJSON_IsObject(message->whole))
            all_digits_keep(message->whole, text.at);
    }
    buf_free(&text);
    if (!message->whole)
        return wrong(code, why, MCP_PARSE_ERROR, "this line is no JSON");
    if (cJSON_IsArray(message->whole))
        return wrong(code, why, MCP_INVALID_REQUEST, "a line has one message, not a list of them");
    if (!cJSON_IsObject(message->whole))
        return wrong(code, why, MCP_INVALID_REQUEST, "a message is a JSON object");
    return parts_find(message, code, why);
}

void mcp_message_free(struct mcp_message *message) {
    cJSON_Delete(message->whole);
    *message = (struct mcp_message){.is = MCP_OTHER};
}

bool mcp_id_same(const cJSON *a, const cJSON *b) {
    if ((cJSON_IsString(a) && cJSON_IsString(b)) || (cJSON_IsRaw(a) && cJSON_IsRaw(b)))
        return !strcmp(a->valuestring, b->valuestring);
    return cJSON_IsNumber(a) && cJSON_IsNumber(b) && !(a->valuedouble < b->valuedouble) &&
           !(a->valuedouble > b->valuedouble);
}

/* ----------------------------------------------------------------------------------- printing */

/* On one line, as UTF-8. */
static void print(cJSON *message, struct buf *out) {
    char *text = cJSON_PrintUnformatted(message);
    if (text)
        text_json(out, str_of(text));
    free(text);
    cJSON_Delete(message);
}

cJSON *mcp_id_copy(const cJSON *id) {
    char digits[40];
    if (!cJSON_IsNumber(id) || !is_held(id))
        return cJSON_Duplicate(id, false);
    snprintf(digits, sizeof digits, "%.0f", id->valuedouble);
    return cJSON_CreateRaw(digits);
}

static cJSON *message_new(const cJSON *id) {
    cJSON *message = cJSON_CreateObject();
    cJSON_AddStringToObject(message, "jsonrpc", "2.0");
    if (id)
        cJSON_AddItemToObject(message, "id", mcp_id_copy(id));
    return message;
}

void mcp_result_print(const cJSON *id, cJSON *result, struct buf *out) {
    cJSON *message = message_new(id);
    cJSON_AddItemToObject(message, "result", result);
    print(message, out);
}

void mcp_error_print(const cJSON *id, enum mcp_error code, const char *text, cJSON *data,
                     struct buf *out) {
    cJSON *message = message_new(id);
    if (!id)
        cJSON_AddNullToObject(message, "id");
    cJSON *error = cJSON_AddObjectToObject(message, "error");
    cJSON_AddNumberToObject(error, "code", code);
    cJSON_AddStringToObject(error, "message", text);
    if (data)
        cJSON_AddItemToObject(error, "data", data);
    print(message, out);
}

void mcp_notification_print(const char *method, cJSON *params, struct buf *out) {
    cJSON *message = message_new(NULL);
    cJSON_AddStringToObject(message, "method", method);
    cJSON_AddItemToObject(message, "params", params);
    print(message, out);
}
