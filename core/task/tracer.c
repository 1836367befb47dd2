/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the Python and waits for its messages, in an event loop of its own: there the child has
 * its limits, its wall and an end in every case. */
#include "loop/loop.h"
#include "task/enclosure.h"
#include "task/python.h"
#include "task/task.h"

#include <stdio.h>
#include <stdlib.h>

#define LARGEST ((size_t)160 << 20) /* bytes of a message */
#define MOST_NOISE ((size_t)16 << 20)
#define TAIL_BYTES ((size_t)2000)
#define SHOWN_BYTES ((size_t)300)
#define LOOK_MS 100 /* between two looks at `cancel` */

struct task_tracer {
    struct task_tracer_limits limits;
    struct loop *loop;
    struct loop_child *child; /* NULL: it does not run */
    struct wall *wall;
    char *python;
    struct buf in; /* what came: messages, or parts of one */
    size_t used;   /* bytes of it that were the last message */
    struct buf tail;
    size_t noise;
    bool ready; /* a message is whole, the program ended, or it is to be looked at */
    bool ended;
    struct loop_exit how;
};

struct task_tracer *task_tracer_new(const struct task_tracer_limits *limits) {
    struct task_tracer *tracer = mem_alloc(1, sizeof *tracer);
    tracer->limits = *limits;
    if (tracer->limits.time_s <= 0)
        tracer->limits.time_s = TASK_TRACER_S;
    return tracer;
}

/* ---- what comes ------------------------------------------------------------------------------ */

static uint32_t length_at(const struct task_tracer *tracer) {
    const unsigned char *at = (const unsigned char *)tracer->in.at + tracer->used;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static size_t waiting(const struct task_tracer *tracer) {
    return tracer->in.len - tracer->used;
}

static bool is_too_large(const struct task_tracer *tracer) {
    return waiting(tracer) >= 4 && length_at(tracer) > LARGEST;
}

static bool is_whole(const struct task_tracer *tracer) {
    return waiting(tracer) >= 4 && waiting(tracer) - 4 >= length_at(tracer);
}

static void keep_noise(struct task_tracer *tracer, struct str text) {
    tracer->noise += text.len;
    buf_add(&tracer->tail, text.at, text.len);
    if (tracer->tail.len > 2 * TAIL_BYTES) {
        struct buf rest = {0};
        buf_add(&rest, tracer->tail.at + tracer->tail.len - TAIL_BYTES, TAIL_BYTES);
        buf_free(&tracer->tail);
        tracer->tail = rest;
    }
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct task_tracer *tracer = data;
    (void)whole;
    if (stream == LOOP_STDERR)
        keep_noise(tracer, text);
    else
        buf_add(&tracer->in, text.at, text.len);
    bool flood = tracer->noise > MOST_NOISE || is_too_large(tracer);
    tracer->ready |= flood || is_whole(tracer);
}

static void on_exit_child(void *data, const struct loop_exit *how) {
    struct task_tracer *tracer = data;
    tracer->child = NULL;
    tracer->how = *how;
    tracer->ended = tracer->ready = true;
}

static bool is_cancelled(const struct task_tracer *tracer) {
    return tracer->limits.cancel && *tracer->limits.cancel;
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool make_wall(struct task_tracer *tracer, struct err *err) {
    const struct task_tracer_limits *limits = &tracer->limits;
    bool inside = limits->level && strcmp(limits->level, "inside") == 0;
    tracer->wall = wall_new();
    task_wall_add_python(tracer->wall, limits->shown);
    enclosure_add_python(tracer->wall, tracer->python);
    for (const char *const *folder = limits->folders; folder && *folder; folder++)
        wall_add_folder(tracer->wall, *folder);
    if (!inside)
        return wall_choose(tracer->wall, limits->level ? limits->level : "auto", err);
    if (wall_choose(tracer->wall, wall_name(WALL_LANDLOCK), NULL))
        return true;
    wall_free(tracer->wall);
    tracer->wall = NULL;
    return true;
}

/* The program comes first on standard input; its messages follow. */
static bool launch(struct task_tracer *tracer, struct str program, struct err *err) {
    char start[400];
    snprintf(start, sizeof start,
             "import os, sys\n"
             "text = b''\n"
             "while len(text) < %zu:\n"
             "    text += os.read(0, %zu - len(text)) or sys.exit(1)\n"
             "exec(compile(text, '<hone>', 'exec'), {'__name__': '__hone__'})\n",
             program.len, program.len);
    const char *argv[] = {tracer->python, "-c", start, NULL};
    char *base = task_user_base();
    const char *env[] = {"PYTHONDONTWRITEBYTECODE=1",
                         "PYTHONIOENCODING=utf-8",
                         "PYTHONHASHSEED=0",
                         "XDG_CACHE_HOME",
                         base,
                         NULL};
    struct loop_child_spec spec = {.argv = argv,
                                   .env = env,
                                   .keep_input = true,
                                   .out = LOOP_RAW,
                                   .err = LOOP_RAW,
                                   .wall = tracer->wall,
                                   .time_limit_s = tracer->limits.time_s,
                                   .memory_limit = tracer->limits.memory_bytes,
                                   .on_output = on_output,
                                   .on_exit = on_exit_child,
                                   .data = tracer};
    do
        tracer->child = loop_child_start(tracer->loop, &spec, err);
    while (!tracer->child && tracer->wall && wall_weaken(tracer->wall));
    free(base);
    return tracer->child && loop_child_write(tracer->child, program.at, program.len);
}

void task_tracer_stop(struct task_tracer *tracer) {
    if (tracer->child) {
        loop_child_forget(tracer->child);
        loop_child_kill(tracer->child, 0);
    }
    tracer->child = NULL;
    loop_free(tracer->loop);
    tracer->loop = NULL;
    wall_free(tracer->wall);
    tracer->wall = NULL;
    free(tracer->python);
    tracer->python = NULL;
    buf_free(&tracer->in);
    buf_free(&tracer->tail);
    tracer->used = tracer->noise = 0;
    tracer->ready = tracer->ended = false;
}

void task_tracer_free(struct task_tracer *tracer) {
    if (!tracer)
        return;
    task_tracer_stop(tracer);
    free(tracer);
}

/* Starts the program under a Python, a string that becomes the tracer's. */
static bool start_under(struct task_tracer *tracer, char *python, struct str program,
                        struct err *err) {
    tracer->python = python;
    tracer->loop = loop_new();
    return make_wall(tracer, err) && launch(tracer, program, err);
}

static bool has_numpy(struct task_tracer *tracer, const char *python) {
    bool good = start_under(tracer, mem_strdup(python),
                            STR("import importlib.util, sys\n"
                                "sys.exit(importlib.util.find_spec('numpy') is None)\n"),
                            NULL);
    while (good && !tracer->ended && !is_cancelled(tracer))
        (void)loop_run_until(tracer->loop, &tracer->ended, LOOK_MS);
    good = good && tracer->ended && tracer->how.end == LOOP_EXITED && !tracer->how.status;
    task_tracer_stop(tracer);
    return good;
}

/* The one that a reference would run under, whether or not one was started: the first that has
 * numpy, else the first. */
static char *choose_python(struct task_tracer *tracer) {
    char *first = python_choice(0), *choice = NULL;
    if (getenv("HONE_PYTHON"))
        return first;
    for (size_t n = 0; !choice && (choice = python_choice(n)) != NULL; n++)
        if (!has_numpy(tracer, choice)) {
            free(choice);
            choice = NULL;
        }
    if (choice)
        free(first);
    return choice ? choice : first;
}

bool task_tracer_start(struct task_tracer *tracer, struct str program, struct err *err) {
    const char *asked = getenv("HONE_PYTHON");
    task_tracer_stop(tracer);
    char *python =
        tracer->limits.python && !asked ? mem_strdup(tracer->limits.python) : choose_python(tracer);
    if (!python && asked)
        return err_set(err, ERR_ENVIRONMENT,
                       "HONE_PYTHON names %.200s to trace the kernel with, which is no program",
                       asked);
    if (!python)
        return err_set(err, ERR_ENVIRONMENT,
                       "there is no python3 to trace the kernel with: install one, or set "
                       "HONE_PYTHON to one");
    return start_under(tracer, python, program, err);
}

/* ---- talking --------------------------------------------------------------------------------- */

/* The last line that it wrote to standard error. */
static struct str last_words(const struct task_tracer *tracer) {
    struct str text = str_trim(buf_str(&tracer->tail));
    size_t from = text.len;
    while (from && text.at[from - 1] != '\n')
        from--;
    text.at += from, text.len -= from;
    text.len = MIN_OF(text.len, SHOWN_BYTES);
    return text;
}

static bool over(struct task_tracer *tracer, struct err *err) {
    struct buf text = {0};
    struct str words = last_words(tracer);
    bool timed_out = tracer->how.end == LOOP_TIMED_OUT;
    loop_exit_print(&tracer->how, &text);
    if (words.len && !timed_out)
        buf_printf(&text, ": " STR_FMT, STR_ARG(words));
    if (timed_out)
        err_set(err, ERR_KERNEL,
                "the Python that runs the kernel was ended: it was %s; is there a loop that never "
                "ends?",
                text.at);
    else
        err_set(err, ERR_KERNEL,
                "the Python that runs the kernel has ended, or closed its pipe to hone (%s)",
                text.at);
    buf_free(&text);
    return false;
}

static bool wait_for_message(struct task_tracer *tracer, struct err *err) {
    while (!is_whole(tracer)) {
        if (tracer->noise > MOST_NOISE)
            return err_set(err, ERR_KERNEL,
                           "the kernel prints without end: over %zu MiB while it was traced",
                           MOST_NOISE >> 20);
        if (is_too_large(tracer))
            return err_set(err, ERR_KERNEL,
                           "what the kernel's Python sent is no message of hone's recorder: the "
                           "kernel writes to files that it did not open");
        if (tracer->ended)
            return over(tracer, err);
        if (is_cancelled(tracer))
            return err_set(err, ERR_CANCELLED, "tracing was stopped here");
        tracer->ready = false;
        (void)loop_run_until(tracer->loop, &tracer->ready, LOOK_MS);
    }
    return true;
}

bool task_tracer_exchange(struct task_tracer *tracer, struct str message, struct str *next,
                          struct err *err) {
    if (tracer->used == tracer->in.len)
        buf_clear(&tracer->in);
    else if (tracer->used)
        memmove(tracer->in.at, tracer->in.at + tracer->used, tracer->in.len -= tracer->used);
    tracer->used = 0;
    if (message.len && tracer->child) {
        char *framed = mem_alloc(1, message.len + 4);
        for (int i = 0; i < 4; i++)
            framed[i] = (char)(message.len >> (8 * i));
        memcpy(framed + 4, message.at, message.len);
        (void)loop_child_write(tracer->child, framed, message.len + 4);
        free(framed);
    }
    if (!wait_for_message(tracer, err))
        return false;
    size_t len = length_at(tracer);
    *next = (struct str){tracer->in.at + 4, len};
    tracer->used = 4 + len;
    return true;
}
