/* SPDX-License-Identifier: Apache-2.0 */
/* Answers are short: what is over the limit is left out of the largest lists and texts first, and
 * the answer says how much of which, and how to get it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/wire/wire.h"

#define SLACK 1024 /* for what is said of what is left out */
#define MOST_CUTS 64
#define LEAST_TEXT 200 /* bytes; shorter texts are not cut */

static size_t size_of(const cJSON *node) {
    char *text = cJSON_PrintUnformatted(node);
    size_t size = text ? strlen(text) : 0;
    free(text);
    return size;
}

static const cJSON *heaviest(const cJSON *node, size_t *size) {
    const cJSON *best = NULL;
    *size = 0;
    for (const cJSON *child = node->child; child; child = child->next) {
        size_t one = size_of(child);
        if (one > *size) {
            *size = one;
            best = child;
        }
    }
    return best;
}

/* What is cut: the list or the text that has most of the answer. Prints where it is. */
static cJSON *find_large(cJSON *answer, struct buf *path) {
    const cJSON *node = answer;
    for (size_t all = size_of(answer), size = 0;;) {
        const cJSON *child = heaviest(node, &size);
        if (cJSON_IsArray(node) && (!child || size < all / 2))
            return (cJSON *)(uintptr_t)node;
        if (!child)
            return cJSON_IsString(node) ? (cJSON *)(uintptr_t)node : NULL;
        if (child->string)
            buf_printf(path, "%s%s", path->len ? "." : "", child->string);
        if (cJSON_IsString(child))
            return strlen(child->valuestring) > LEAST_TEXT ? (cJSON *)(uintptr_t)child : NULL;
        all = size;
        node = child;
    }
}

/* Returns how many rows are taken out. */
static size_t cut_list(cJSON *list, size_t over, bool newest) {
    size_t count = (size_t)cJSON_GetArraySize(list), size = size_of(list);
    size_t keep = size > over ? count * (size - over) / size : 0;
    for (size_t i = keep; i < count; i++)
        cJSON_DeleteItemFromArray(list, newest ? 0 : (int)keep);
    return count - keep;
}

/* Returns how many bytes are taken out. Ends at a whole line where there is one, and between
 * characters. */
static size_t cut_text(cJSON *text, size_t over) {
    char *at = text->valuestring;
    size_t len = strlen(at), keep = len > over + LEAST_TEXT ? len - over : LEAST_TEXT;
    size_t line = keep;
    while (line > keep / 2 && at[line - 1] != '\n')
        line--;
    keep = line > keep / 2 ? line : keep;
    while (keep && ((unsigned char)at[keep] & 0xc0) == 0x80)
        keep--;
    at[keep] = '\0';
    return len - keep;
}

/* Adds to what is said of one place; it may be cut more than once. */
static void note_left(cJSON *left, const char *path, size_t count) {
    cJSON *before = cJSON_GetObjectItemCaseSensitive(left, path);
    if (before)
        cJSON_SetNumberValue(before, before->valuedouble + (double)count);
    else
        cJSON_AddNumberToObject(left, path, (double)count);
}

void mcp_bound(cJSON *answer, bool newest, const char *more) {
    cJSON *left = cJSON_CreateObject();
    for (int cuts = 0; cuts < MOST_CUTS; cuts++) {
        size_t size = size_of(answer);
        if (size <= MCP_ANSWER_MOST)
            break;
        struct buf path = {0};
        cJSON *large = find_large(answer, &path);
        size_t over = size - MCP_ANSWER_MOST + SLACK;
        size_t count = !large                 ? 0
                       : cJSON_IsArray(large) ? cut_list(large, over, newest)
                                              : cut_text(large, over);
        if (count)
            note_left(left, path.len ? path.at : "answer", count);
        buf_free(&path);
        if (!count)
            break;
    }
    if (left->child) {
        cJSON_AddItemToObject(answer, "left_out", left);
        cJSON_AddStringToObject(answer, "more", more);
    } else {
        cJSON_Delete(left);
    }
}
