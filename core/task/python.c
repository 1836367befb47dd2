/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a Python that imports numpy, and keeps one with the harness in it. The probe is the harness
 * itself, so a Python that works is started once. reference.c makes the requests. */
#include "task/python.h"
#include "task/cache.h"
#include "task/enclosure.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define READY_LIMIT_MS 60000
#define TAIL_BYTES 2000
#define MOST_KILLED 3 /* new starts of one that was killed while it started */
#define OUTPUT_LIMIT ((uint64_t)64 << 20)
#define WATCH_MS 250
#define DISK_LIMIT ((uint64_t)10 << 30) /* more than the whole cache */

struct python {
    struct loop *loop;
    char *reference_path;
    uint64_t memory_bytes;
    char *wall_level, *shown; /* as in struct task_walling */
    struct wall *wall;        /* of the child that runs; NULL: it has none of its own */
    struct python_callbacks callbacks;
    struct loop_child *child;
    struct loop_timer *timer, *watch;
    char *cache; /* where on the disk the reference may write */
    bool ready;
    int killed; /* starts of the candidate that somebody ended */
    VEC(char *) candidates;
    size_t candidate;
    struct buf tried; /* what was wrong with the earlier candidates */
    struct buf tail;  /* the last lines of its stderr */
};

static const char *const usual_places[] = {"python3", "/usr/bin/python3", "/usr/local/bin/python3",
                                           "/opt/homebrew/bin/python3"};

static void add_candidate(struct python *python, const char *path) {
    for (size_t i = 0; i < python->candidates.len; i++)
        if (strcmp(python->candidates.at[i], path) == 0)
            return;
    *vec_push(&python->candidates) = mem_strdup(path);
}

/* The one that worked last time comes first, because trying a python3 without numpy costs time at
 * every start. */
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

void task_python_remember(const char *good) {
    char *folder = path_cache("");
    char *path = path_cache("python");
    char *known = file_read(path, 4096, NULL, NULL);
    /* This is only a shortcut for the next start. All works without it. */
    if (!(known && strcmp(known, good) == 0) && file_make_dirs(folder, NULL))
        (void)!file_write(path, good, strlen(good), NULL);
    free(known);
    free(path);
    free(folder);
}

static void remember(const struct python *python) {
    if (python->candidate > 0 && !getenv("HONE_PYTHON"))
        task_python_remember(python->candidates.at[python->candidate]);
}

void python_add_places(struct wall *wall) {
    struct python python = {0};
    list_candidates(&python);
    for (size_t i = 0; i < python.candidates.len; i++) {
        enclosure_add_python(wall, python.candidates.at[i]);
        free(python.candidates.at[i]);
    }
    vec_free(&python.candidates);
}

char *python_choice(size_t n) {
    struct python python = {0};
    char *choice = NULL;
    list_candidates(&python);
    for (size_t i = 0; i < python.candidates.len; i++) {
        if (!choice && enclosure_has_program(python.candidates.at[i]) && !n--)
            choice = mem_strdup(python.candidates.at[i]);
        free(python.candidates.at[i]);
    }
    vec_free(&python.candidates);
    return choice;
}

struct python *python_new(struct loop *loop, const char *reference_path,
                          const struct task_reference_limits *limits,
                          const struct python_callbacks *callbacks) {
    struct python *python = mem_alloc(1, sizeof *python);
    const struct task_walling *wall = limits ? limits->wall : NULL;
    python->loop = loop;
    python->reference_path = mem_strdup(reference_path);
    python->memory_bytes = limits ? limits->memory_bytes : 0;
    python->wall_level = mem_strdup(wall && wall->level ? wall->level : "auto");
    python->cache = task_cache_of(reference_path, NULL);
    python->shown = mem_strdup(wall ? wall->shown : NULL);
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
    loop_timer_stop(python->watch);
    python->watch = NULL;
    wall_free(python->wall);
    python->wall = NULL;
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
    free(python->cache);
    free(python->wall_level);
    free(python->shown);
    free(python);
}

const char *python_found(const struct python *python) {
    bool found = python->ready && python->candidate > 0 && !getenv("HONE_PYTHON");
    return found ? python->candidates.at[python->candidate] : NULL;
}

bool python_is_ready(const struct python *python) {
    return python->ready;
}

void python_send(struct python *python, struct str line) {
    loop_child_write(python->child, line.at, line.len);
}

/* ------------------------------------------------------------------------------------ starting */

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

/* A Python that was killed while it started may still be a good one, so it is started again. */
static void killed_early(struct python *python, const char *how) {
    struct err err = {0};
    struct buf words = {0};
    buf_puts(&words, how); /* `how` may lie in what is stopped now */
    python_stop(python);
    if (python->killed++ < MOST_KILLED) {
        python_start(python);
    } else {
        python->killed = 0;
        err_set(&err, ERR_ENVIRONMENT, "%s ended while it started (%s), %d times",
                python->candidates.at[python->candidate], words.at, MOST_KILLED + 1);
        python->callbacks.on_end(python->callbacks.data, &err);
    }
    buf_free(&words);
}

/* The present candidate is no good. Tries the next one, or ends. */
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
        next_candidate(python, cJSON_IsString(error) ? error->valuestring : "it did not say why");
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

/* A reference that exits, aborts or crashes does so itself. */
static bool is_from_outside(const struct loop_exit *result) {
    static const int signals[] = {SIGKILL, SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if (result->end == LOOP_SIGNALLED && result->signum == signals[i])
            return true;
    return false;
}

static void on_exit_child(void *data, const struct loop_exit *result) {
    struct python *python = data;
    python->child = NULL;
    struct buf how = {0};
    loop_exit_print(result, &how);
    struct str words = last_words(python);
    if (words.len)
        buf_printf(&how, ": " STR_FMT, (int)MIN_OF(words.len, 160), words.at);
    if (!python->ready && result->end == LOOP_SIGNALLED) {
        killed_early(python, how.at);
    } else if (!python->ready) {
        next_candidate(python, how.at);
    } else {
        python->ready = false;
        loop_timer_stop(python->timer);
        python->timer = NULL;
        struct err err = {0};
        bool outside = is_from_outside(result);
        err_set(&err, outside ? ERR_ENVIRONMENT : ERR_USAGE,
                outside ? "the Python of the reference was ended from outside (%s): by the system "
                          "when memory runs out, or by somebody"
                        : "the reference ended its Python (%s)",
                how.at);
        python->callbacks.on_end(python->callbacks.data, &err);
    }
    buf_free(&how);
}

/* False and *err when the settings demand a wall that cannot be had. */
static bool make_wall(struct python *python, struct err *err) {
    if (strcmp(python->wall_level, "inside") == 0)
        return true;
    python->wall = wall_new();
    task_wall_add(python->wall, python->reference_path, python->shown);
    return wall_choose(python->wall, python->wall_level, err);
}

/* Watches the limits that no system call has: how many processes there are, and how much is on the
 * disk. */
static void watch(void *data) {
    struct python *python = data;
    struct err err = {0};
    if (!python->child)
        return;
    pid_t pid = loop_child_pid(python->child);
    const char *folder = python->wall && python->wall->owns_folder ? python->wall->folder : NULL;
    uint64_t bytes = python->cache ? file_tree_bytes(python->cache) : 0;
    bytes += folder ? file_tree_bytes(folder) : 0;
    if (os_count_descendants(pid) > wall_processes())
        err_set(&err, ERR_USAGE, "the reference started over %u processes; it was ended",
                wall_processes());
    else if (bytes > DISK_LIMIT)
        err_set(&err, ERR_USAGE, "the reference wrote over %llu GB; it was ended",
                (unsigned long long)(DISK_LIMIT >> 30));
    if (err.kind == ERR_NONE)
        return;
    os_end_descendants(pid);
    python_stop(python);
    if (bytes > DISK_LIMIT)
        (void)!file_remove_tree(python->cache, NULL);
    python->callbacks.on_end(python->callbacks.data, &err);
}

struct str python_program(void) {
    struct str program = embed_find("task/harness.py");
    if (!program.len)
        HONE_BUG("the harness is not in the program");
    return program;
}

/* The program comes on stdin, before the requests: an argument has at most 128 KiB on Linux. Bytes
 * are read as they lie there, since what is buffered would be missing from the requests. After the
 * text comes its byte code, which a Python of the build's release takes: to compile the text takes
 * a fifth of a start. */
static void print_start(struct buf *out, size_t text, size_t code) {
    buf_printf(out,
               "import marshal, os, sys\n"
               "def take(size):\n"
               "    taken = b''\n"
               "    while len(taken) < size:\n"
               "        taken += os.read(0, size - len(taken)) or sys.exit(1)\n"
               "    return taken\n"
               "text, code = take(%zu), take(%zu)\n"
               "try:\n"
               "    from _frozen_importlib_external import MAGIC_NUMBER\n"
               "except ImportError:\n"
               "    MAGIC_NUMBER = None\n"
               "exec(marshal.loads(code[4:]) if code[:4] == MAGIC_NUMBER\n"
               "     else compile(text, '<string>', 'exec'))\n",
               text, code);
}

static void launch(struct python *python, struct err *err) {
    struct buf start = {0};
    struct str program = python_program(), code = embed_find("task/harness.code");
    print_start(&start, program.len, code.len);
    const char *argv[] = {python->candidates.at[python->candidate], "-c", start.at,
                          python->reference_path, NULL};
    char *base = task_user_base();
    const char *env[] = {"PYTHONDONTWRITEBYTECODE=1",
                         "PYTHONIOENCODING=utf-8",
                         "HONE_WALL",
                         "XDG_CACHE_HOME",
                         python->wall ? base : NULL,
                         NULL};
    struct loop_child_spec spec = {.argv = argv,
                                   .env = env,
                                   .keep_input = true,
                                   .out = LOOP_LINES,
                                   .err = LOOP_LINES,
                                   .memory_limit = python->memory_bytes,
                                   .output_limit = OUTPUT_LIMIT,
                                   .wall = python->wall,
                                   .on_output = on_output,
                                   .on_exit = on_exit_child,
                                   .data = python};
    do
        python->child = loop_child_start(python->loop, &spec, err);
    while (!python->child && python->wall && wall_weaken(python->wall));
    free(base);
    if (python->child && loop_child_write(python->child, program.at, program.len))
        (void)loop_child_write(python->child, code.at, code.len);
    buf_free(&start);
    if (python->child && !python->watch)
        python->watch = loop_timer_start(python->loop, WATCH_MS, WATCH_MS, watch, python);
}

static void start_candidate(void *data) {
    struct python *python = data;
    struct err err = {0};
    python->timer = NULL;
    if (python->candidate == python->candidates.len) {
        fail(python);
        return;
    }
    buf_clear(&python->tail);
    if (!enclosure_has_program(python->candidates.at[python->candidate])) {
        next_candidate(python, "No such file or directory");
        return;
    }
    if (!python->wall && !make_wall(python, &err)) {
        python->candidate = 0;
        python->callbacks.on_end(python->callbacks.data, &err);
        return;
    }
    launch(python, &err);
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
