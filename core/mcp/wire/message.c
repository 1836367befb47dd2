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

/* Raw: as it came, see keep. */
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

/* Clients that cut a text may leave half of a character: "\ud83d" alone is JSON, but no text. Nor
 * is there one with a NUL in it, which would end it there. The length stays the same. */
static void texts_mend(char *text) {
    for (char *at = text; (at = strchr(at, '\\'));) {
        int code = at[1] == 'u' ? digits_read(at + 2) : -1;
        int next = code >= 0 && at[6] == '\\' && at[7] == 'u' ? digits_read(at + 8) : -1;
        bool first = (code & ~0x3ff) == 0xd800, whole = first && (next & ~0x3ff) == 0xdc00;
        if ((first && !whole) || (code & ~0x3ff) == 0xdc00 || !code)
            memcpy(at + 2, "fffd", 4);
        at += whole ? 12 : code >= 0 ? 6 : at[1] ? 2 : 1;
    }
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

/* The end of the text that begins at the quotation mark `at`. */
static const char *text_end(const char *at) {
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return at + (*at == '"');
}

/* Whether numbers, and what stands between values, are as JSON has them: cJSON takes 01 and 1. for
 * numbers, and every control character for a space. */
static bool is_strict(const char *at) {
    while (*at) {
        bool number = *at == '-' || isdigit((unsigned char)*at);
        size_t len = number ? number_len(at) : 1;
        if (!len || ((unsigned char)*at < ' ' && !strchr("\t\r\n", *at)))
            return false;
        at = *at == '"' ? text_end(at) : at + len;
    }
    return true;
}

/* -------------------------------------------------- what is answered to the letter as it came */

/* The value that begins at `at`; *end gets where it ends. cJSON measures a text of unknown length
 * to its end each time, which takes a message of many values for ever. */
static cJSON *value_read(const char *at, const char *stop, const char **end) {
    *end = stop;
    return cJSON_ParseWithLengthOpts(at, (size_t)(stop - at), end, false);
}

/* The value of `key` in the object that `at` begins with, which was read without error before;
 * NULL: it has none. */
static const char *value_find(const char *at, const char *key) {
    const char *stop = at + strlen(at) + 1, *end = at + strspn(at, " \t\r\n");
    while (*end == '{' || *end == ',') {
        cJSON *name = value_read(end + 1, stop, &end);
        bool is_it = cJSON_IsString(name) && !strcmp(name->valuestring, key);
        cJSON_Delete(name);
        end += strspn(end, " \t\r\n");
        if (*end != ':' || is_it)
            return is_it ? end + 1 + strspn(end + 1, " \t\r\n") : NULL;
        cJSON_Delete(value_read(end + 1, stop, &end));
        end += strspn(end, " \t\r\n");
    }
    return NULL;
}

/* Whether a double is that whole number, and no other one is. */
static bool is_held(const cJSON *number) {
    double value = number->valuedouble;
    return fabs(value) <= 9007199254740991.0 && !(value < rint(value)) && !(value > rint(value));
}

/* A line as it came, and as it was read: of the same length. */
struct line_texts {
    const char *came, *read;
};

/* Puts what came in place of what was read, where that is not the same: digits that no double
 * holds, characters that no text has. `path`: keys to the object that has it, NULL ends. */
static void keep(cJSON *whole, struct line_texts line, const char *const path[], const char *key) {
    cJSON *object = whole;
    for (size_t i = 0; path[i]; i++)
        object = cJSON_GetObjectItemCaseSensitive(object, path[i]);
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsString(value) && !(cJSON_IsNumber(value) && !is_held(value)))
        return;
    const char *at = line.read;
    for (size_t i = 0; path[i] && at; i++)
        at = value_find(at, path[i]);
    at = at ? value_find(at, key) : NULL;
    size_t len = !at ? 0 : *at == '"' ? (size_t)(text_end(at) - at) : number_len(at);
    const char *came = at ? line.came + (at - line.read) : "";
    struct buf kept = {0};
    if (!cJSON_IsString(value) || memcmp(came, at ? at : "", len) != 0)
        buf_add(&kept, came, len);
    if (kept.len)
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, cJSON_CreateRaw(kept.at));
    buf_free(&kept);
}

/* Programs count in nanoseconds, or draw 64 bits. */
static void all_keep(cJSON *whole, struct line_texts line) {
    static const char *const top[] = {NULL}, *const params[] = {"params", NULL},
                             *const meta[] = {"params", "_meta", NULL};
    keep(whole, line, top, "id");
    keep(whole, line, params, "requestId");
    keep(whole, line, meta, "progressToken");
}

bool mcp_message_read(struct str line, struct mcp_message *message, enum mcp_error *code,
                      const char **why) {
    const char *end = NULL;
    struct buf came = {0}, text = {0};
    *message = (struct mcp_message){.is = MCP_OTHER};
    buf_add(&came, line.at ? line.at : "", line.len);
    buf_add(&text, came.at, came.len);
    if (!memchr(text.at, 0, text.len) && is_strict(text.at)) {
        texts_mend(text.at);
        message->whole = cJSON_ParseWithOpts(text.at, &end, true);
        if (cJSON_IsObject(message->whole))
            all_keep(message->whole, (struct line_texts){came.at, text.at});
    }
    buf_free(&came);
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
