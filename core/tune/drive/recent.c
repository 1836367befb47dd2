/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sessions that were used lately, in the user's state folder, and the seeds that come
 * with hone. It is a convenience: what cannot be read or written is let go. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/drive/private.h"

#define RECENT_MAX 40
#define RECENT_BYTES ((size_t)1 << 20)

static cJSON *recent_read(void) {
    char *path = path_state("recent.json");
    struct err err = {0};
    size_t size = 0;
    char *data = file_exists(path) ? file_read(path, RECENT_BYTES, &size, &err) : NULL;
    cJSON *list = data ? cJSON_ParseWithLength(data, size) : NULL;
    free(data);
    free(path);
    if (cJSON_IsArray(list))
        return list;
    cJSON_Delete(list);
    return cJSON_CreateArray();
}

static void recent_write(const cJSON *list) {
    char *path = path_state("recent.json"), *folder = path_folder(path);
    char *text = cJSON_Print(list);
    struct err err = {0};
    if (text && file_make_private(folder, &err) &&
        !file_write_private(path, text, strlen(text), &err))
        err.kind = ERR_NONE;
    free(text);
    free(folder);
    free(path);
}

static void last_print(const struct tune_state *state, struct buf *out) {
    const struct tune_attempt *best = tune_state_attempt(state, state->best);
    if (!best)
        return;
    buf_printf(out, "%.2fx, ", best->speedup);
    clock_print_duration(out, best->latency_us * 1e-6);
    int rounds = (int)state->budgets[TUNE_BUDGET_ROUNDS].spent;
    buf_printf(out, " after %d %s", rounds, rounds == 1 ? "round" : "rounds");
}

void tune_recent_note(const struct tune_session *session) {
    char *folder = path_absolute(store_folder(session->store));
    cJSON *old = recent_read(), *list = cJSON_CreateArray(), *item = cJSON_CreateObject();
    struct buf last = {0};
    last_print(session->state, &last);
    tune_json_put_text(item, "task", session->state->task);
    tune_json_put_text(item, "path", session->task_path);
    tune_json_put_text(item, "reference", session->state->reference_path);
    tune_json_put_text(item, "folder", folder);
    tune_json_put_text(item, "last", last.at);
    cJSON_AddNumberToObject(item, "used_ms", (double)clock_wall_ms());
    cJSON_AddItemToArray(list, item);
    const cJSON *other;
    cJSON_ArrayForEach(other, old) {
        const char *where = tune_json_text(other, "folder");
        if (where && strcmp(where, folder) != 0 && cJSON_GetArraySize(list) < RECENT_MAX)
            cJSON_AddItemToArray(list, cJSON_Duplicate(other, true));
    }
    recent_write(list);
    buf_free(&last);
    cJSON_Delete(list);
    cJSON_Delete(old);
    free(folder);
}

/* ---------------------------------------------------------------------------------- reading it */

static char *copy_of(const cJSON *item, const char *key) {
    return mem_strdup(tune_json_text(item, key));
}

/* The first line of a seed's README that is no heading, as plain text; a new string or NULL. */
static char *seed_about(const char *name) {
    char path[300];
    snprintf(path, sizeof path, "seeds/%s/README.md", name);
    struct str rest = embed_find(path), line;
    while (rest.at && str_next(&rest, '\n', &line)) {
        line = str_trim(line);
        if (!line.len || line.at[0] == '#')
            continue;
        struct buf text = {0};
        for (size_t i = 0; i < line.len; i++)
            if (line.at[i] != '`') /* Markdown's, of no use on a screen */
                buf_putc(&text, line.at[i]);
        return buf_take(&text);
    }
    return NULL;
}

typedef VEC(struct tune_recent) recent_list;

static void sessions_add(recent_list *list) {
    cJSON *all = recent_read();
    const cJSON *item;
    cJSON_ArrayForEach(item, all) {
        struct tune_recent one = {.task = copy_of(item, "task"),
                                  .path = copy_of(item, "path"),
                                  .folder = copy_of(item, "folder"),
                                  .last = copy_of(item, "last"),
                                  .used_ms = tune_json_int64(item, "used_ms", 0)};
        one.is_gone = !one.folder || !store_exists(one.folder);
        *vec_push(list) = one;
    }
    cJSON_Delete(all);
}

static void seeds_add(recent_list *list) {
    for (size_t i = 0; task_seed_name(i).at; i++) {
        struct str name = task_seed_name(i);
        struct buf text = {0};
        buf_add(&text, name.at, name.len);
        struct tune_recent one = {.task = buf_take(&text), .is_seed = true};
        buf_printf(&text, "seeds/%s", one.task);
        one.path = buf_take(&text);
        one.about = seed_about(one.task);
        *vec_push(list) = one;
    }
}

struct tune_recent *tune_recent_list(size_t *count) {
    recent_list list = {0};
    sessions_add(&list);
    seeds_add(&list);
    *count = list.len;
    return list.at;
}

void tune_recent_free(struct tune_recent *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(list[i].task);
        free(list[i].path);
        free(list[i].folder);
        free(list[i].about);
        free(list[i].last);
    }
    free(list);
}
