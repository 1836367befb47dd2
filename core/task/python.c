/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a Python that imports numpy, and keeping one with the harness in it. The probe is the
 * harness itself, so that a Python that works is started once. The requests are reference.c's. */
#include "task/python.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

#define READY_LIMIT_MS 60000
#define TAIL_BYTES 2000

struct python {
    struct loop *loop;
    char *reference_path;
    uint64_t memory_bytes;
    struct python_callbacks callbacks;
    struct loop_child *child;
    struct loop_timer *timer;
    bool ready;
    VEC(char *) candidates;
    size_t candidate;
    struct buf tried;           /* what came of the earlier candidates */
    struct buf tail;            /* the last lines of its stderr */
};

static const char *const usual_places[] = {"python3", "/usr/bin/python3", "/usr/local/bin/python3",
                                           "/opt/homebrew/bin/python3"};

static void add_candidate(struct python *python, const char *path) {
    for (size_t i = 0; i < python->candidates.len; i++)
        if (strcmp(python->candidates.at[i], path) == 0)
            return;
    *vec_push(&python->candidates) = mem_strdup(path);
}

/* The one that worked last time goes first: a python3 without numpy costs time at every start. */
static void list_candidates(struct python *python) {
    const char *chosen = getenv("HONE_PYTHON");
    if (chosen && *chosen) {
        add_candidate(python, chosen);
        return;
    }
    char *path = path_cache("python");
    char *known = file_read(path, 4096, NULL, NULL);
    if (known && known[0] && (known[0] != '/' || file_exists(known)))
        add_candidate(python, known);
    for (size_t i = 0; i < COUNT_OF(usual_places); i++)
        if (usual_places[i][0] != '/' || file_exists(usual_places[i]))
            add_candidate(python, usual_places[i]);
    free(known);
    free(path);
}

static void remember(const struct python *python) {
    if (python->candidate == 0 || getenv("HONE_PYTHON"))
        return;
    char *folder = path_cache("");
    char *path = path_cache("python");
    const char *good = python->candidates.at[python->candidate];
    /* Only a shortcut for the next start: without it all works as well. */
    if (file_make_dirs(folder, NULL))
        (void)!file_write(path, good, strlen(good), NULL);
    free(path);
    free(folder);
}

struct python *python_new(struct loop *loop, const char *reference_path, uint64_t memory_bytes,
                          const struct python_callbacks *callbacks) {
    struct python *python = mem_alloc(1, sizeof *python);
    python->loop = loop;
    python->reference_path = mem_strdup(reference_path);
    python->memory_bytes = memory_bytes;
    python->callbacks = *callbacks;
    list_candidates(python);
    return python;
}

void python_stop(struct python *python) {
    loop_timer_stop(python->timer);
    python->timer = NULL;
    if (python->child) {
        loop_child_forget(python->child);
        loop_child_kill(python->child, 0);
    }
    python->child = NULL;
    python->ready = false;
}

void python_free(struct python *python) {
    if (!python)
        return;
    python_stop(python);
    for (size_t i = 0; i < python->candidates.len; i++)
        free(python->candidates.at[i]);
    vec_free(&python->candidates);
    buf_free(&python->tried);
    buf_free(&python->tail);
    free(python->reference_path);
    free(python);
}

bool python_is_ready(const struct python *python) {
    return python->ready;
}

void python_send(struct python *python, struct str line) {
    loop_child_write(python->child, line.at, line.len);
}

/* -------------------------------------------------------------------------------------- starting */

static void start_candidate(void *data);

static void fail(struct python *python) {
    struct err err = {0};
    err_set(&err, ERR_ENVIRONMENT,
            "no numpy: the reference needs a python3 that imports numpy. Tried %s. Install it with "
            "`apt install python3-numpy`, or set HONE_PYTHON to a Python that has it",
            python->tried.at ? python->tried.at : "nothing");
    python->candidate = 0;
    buf_clear(&python->tried);
    python->callbacks.on_end(python->callbacks.data, &err);
}

/* The present candidate is no good: the next one, or the end. */
static void next_candidate(struct python *python, const char *why) {
    buf_printf(&python->tried, "%s%s (%s)", python->tried.len ? ", " : "",
               python->candidates.at[python->candidate], why);
    python_stop(python);
    python->candidate++;
    python_start(python);
}

static void on_late(void *data) {
    struct python *python = data;
    python->timer = NULL;
    next_candidate(python, "it does not start within a minute");
}

static void first_answer(struct python *python, const cJSON *answer) {
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(answer, "error");
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(answer, "ready"))) {
        next_candidate(python, cJSON_IsString(error) ? error->valuestring : "it cannot say why");
        return;
    }
    loop_timer_stop(python->timer);
    python->timer = NULL;
    python->ready = true;
    remember(python);
    python->callbacks.on_ready(python->callbacks.data);
}

static void keep_tail(struct python *python, struct str text) {
    buf_add(&python->tail, text.at, text.len);
    buf_putc(&python->tail, '\n');
    if (python->tail.len > 2 * TAIL_BYTES) {
        struct buf rest = {0};
        buf_add(&rest, python->tail.at + python->tail.len - TAIL_BYTES, TAIL_BYTES);
        buf_free(&python->tail);
        python->tail = rest;
    }
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct python *python = data;
    if (stream == LOOP_STDERR || !whole) {
        keep_tail(python, text);
        return;
    }
    if (python->ready) {
        python->callbacks.on_answer(python->callbacks.data, text);
        return;
    }
    cJSON *answer = cJSON_ParseWithLength(text.at, text.len);
    if (cJSON_IsObject(answer))
        first_answer(python, answer);
    cJSON_Delete(answer);
}

/* The last line it wrote to stderr, for the message. */
static struct str last_words(const struct python *python) {
    struct str text = str_trim(buf_str(&python->tail));
    for (size_t i = text.len; i-- > 0;)
        if (text.at[i] == '\n')
            return (struct str){text.at + i + 1, text.len - i - 1};
    return text;
}

static void on_exit_child(void *data, const struct loop_exit *result) {
    struct python *python = data;
    python->child = NULL;
    struct buf how = {0};
    loop_exit_print(result, &how);
    struct str words = last_words(python);
    if (words.len)
        buf_printf(&how, ": " STR_FMT, (int)MIN_OF(words.len, 160), words.at);
    if (!python->ready) {
        next_candidate(python, how.at);
    } else {
        python->ready = false;
        loop_timer_stop(python->timer);
        python->timer = NULL;
        struct err err = {0};
        err_set(&err, ERR_ENVIRONMENT, "the reference ended its Python (%s)%s", how.at,
                result->end == LOOP_SIGNALLED && result->signum == 9 ?
                "; most likely memory ran out" : "");
        python->callbacks.on_end(python->callbacks.data, &err);
    }
    buf_free(&how);
}

static void start_candidate(void *data) {
    struct python *python = data;
    python->timer = NULL;
    if (python->candidate == python->candidates.len) {
        fail(python);
        return;
    }
    struct str harness = embed_find("core/task/harness.py");
    const char *argv[] = {python->candidates.at[python->candidate], "-c", harness.at,
                          python->reference_path, NULL};
    const char *env[] = {"PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8", NULL};
    struct loop_child_spec spec = {
        .argv = argv, .env = env, .keep_input = true, .out = LOOP_LINES, .err = LOOP_LINES,
        .memory_limit = python->memory_bytes, .on_output = on_output, .on_exit = on_exit_child,
        .data = python};
    struct err err = {0};
    buf_clear(&python->tail);
    python->child = loop_child_start(python->loop, &spec, &err);
    if (!python->child) {
        const char *colon = strrchr(err.text, ':');
        next_candidate(python, colon ? colon + 2 : err.text);
        return;
    }
    python->timer = loop_timer_start(python->loop, READY_LIMIT_MS, 0, on_late, python);
}

void python_start(struct python *python) {
    if (!python->child && !python->timer)
        python->timer = loop_timer_start(python->loop, 0, 0, start_candidate, python);
}
