/* SPDX-License-Identifier: Apache-2.0 */
/* Prints model.ini again from what was read from one (model.c), for a task that is given away.
 * Values of the environment whose names are those of secrets are left out. Nothing is checked. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>

#include "task/task.h"

#define LINE_COLS 96

static bool is_secret(const char *name) {
    static const char *const words[] = {"TOKEN",  "SECRET",     "PASSWORD",
                                        "PASSWD", "CREDENTIAL", "_KEY"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcasestr(name, words[i]))
            return true;
    return !strcasecmp(name, "KEY");
}

/* Prints a word so that it reads as it was: in quotes where it has blanks, and piece by piece where
 * it has quotes. */
static void word_print(struct buf *out, const char *word) {
    bool plain = *word && !strpbrk(word, " \t\"'") && *word != '#' && *word != ';';
    if (plain) {
        buf_puts(out, word);
        return;
    }
    do {
        char quote = *word == '"' ? '\'' : '"';
        size_t len = strcspn(word, quote == '"' ? "\"" : "'");
        buf_printf(out, "%c%.*s%c", quote, (int)len, word, quote);
        word += len;
    } while (*word);
}

static void words_print(struct buf *out, const char *key, const cJSON *list) {
    size_t line = out->len;
    const cJSON *item;
    buf_printf(out, "%s =", key);
    cJSON_ArrayForEach(item, list) {
        struct buf word = {0};
        word_print(&word, cJSON_IsString(item) ? item->valuestring : "");
        bool full = out->len - line + word.len > LINE_COLS;
        if (full)
            line = out->len;
        buf_printf(out, "%s%s", full ? "\n    " : " ", word.at);
        buf_free(&word);
    }
    buf_putc(out, '\n');
}

static void value_print(struct buf *out, const char *key, const cJSON *value) {
    if (cJSON_IsArray(value))
        words_print(out, key, value);
    else if (cJSON_IsNumber(value))
        buf_printf(out, "%s = %.15g\n", key, value->valuedouble);
    else
        buf_printf(out, "%s = %s\n", key, cJSON_IsString(value) ? value->valuestring : "");
}

static void env_print(struct buf *out, const cJSON *env) {
    const cJSON *item;
    cJSON_ArrayForEach(item, env) {
        if (is_secret(item->string))
            buf_printf(out, "; a secret by its name, left out:\n; %s =\n", item->string);
        else
            value_print(out, item->string, item);
    }
}

/* Prints the "pattern" or "scale" of the rows that have one. */
static void rows_print(struct buf *out, const cJSON *patterns, const char *which,
                       const char *section) {
    const cJSON *row;
    bool said = false;
    cJSON_ArrayForEach(row, patterns) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, which);
        if (!value)
            continue;
        if (!said)
            buf_printf(out, "\n[%s]\n", section);
        said = true;
        value_print(out, row->string, value);
    }
}

static void section_print(struct buf *out, const cJSON *section) {
    const cJSON *value;
    if (!strcmp(section->string, "patterns")) {
        rows_print(out, section, "pattern", "patterns");
        rows_print(out, section, "scale", "scale");
        return;
    }
    buf_printf(out, "\n[%s]\n", section->string);
    if (!strcmp(section->string, "env"))
        env_print(out, section);
    else
        cJSON_ArrayForEach(value, section) value_print(out, value->string, value);
}

void task_model_print(const char *json, struct buf *out) {
    cJSON *model = cJSON_Parse(json);
    const cJSON *item;
    buf_puts(out, "[model]\n");
    cJSON_ArrayForEach(item, model) if (!cJSON_IsObject(item)) value_print(out, item->string, item);
    cJSON_ArrayForEach(item, model) if (cJSON_IsObject(item)) section_print(out, item);
    cJSON_Delete(model);
}

char *task_model_with_secrets(const char *json, const char *whole) {
    cJSON *model = cJSON_Parse(json), *other = cJSON_Parse(whole);
    cJSON *env = cJSON_GetObjectItemCaseSensitive(model, "env"), *item, *next;
    cJSON *from = cJSON_GetObjectItemCaseSensitive(other, "env");
    if (from && model && !env)
        env = cJSON_AddObjectToObject(model, "env");
    for (item = from ? from->child : NULL; item && env; item = next) {
        next = item->next;
        if (is_secret(item->string) && !cJSON_HasObjectItem(env, item->string))
            cJSON_AddItemToObject(env, item->string, cJSON_Duplicate(item, true));
    }
    char *text = model ? cJSON_PrintUnformatted(model) : NULL;
    cJSON_Delete(other);
    cJSON_Delete(model);
    return text ? text : mem_strdup("{}");
}

char *task_model_without_secrets(const char *json) {
    cJSON *model = cJSON_Parse(json);
    cJSON *env = cJSON_GetObjectItemCaseSensitive(model, "env"), *item, *next;
    for (item = env ? env->child : NULL; item; item = next) {
        next = item->next;
        if (is_secret(item->string))
            cJSON_Delete(cJSON_DetachItemViaPointer(env, item));
    }
    char *text = model ? cJSON_PrintUnformatted(model) : NULL;
    cJSON_Delete(model);
    return text ? text : mem_strdup("{}");
}
