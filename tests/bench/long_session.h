/* SPDX-License-Identifier: Apache-2.0 */
/* Long sessions: rounds like those of a real one (long.events), each with its own kernels, plans
 * and numbers, written by the store. Every eighth attempt is kept, every other round asks models, a
 * person decides in every tenth, and every fourth experience is a known one. */
#ifndef HONE_TESTS_BENCH_LONG_SESSION_H
#define HONE_TESTS_BENCH_LONG_SESSION_H

#include <stdio.h>
#include <stdlib.h>

#include "store/private.h"
#include "tune/tune.h"

#define LONG_START_MS 1767276000000 /* 2026-01-01 14:00 UTC */
#define LONG_VALUES 20

struct long_value {
    const char *name;
    char text[80];
    const char *whole; /* in place of text */
};

struct long_session {
    struct store *store;
    char *script, *kernel, *reference;
    struct buf kernel_text, source, line; /* source: the kernel as JSON has it */
    char *place;
    int attempts, kept; /* kept: the last attempt that was kept */
    int calls, notes, memory;
    double us, kept_us;
    int64_t now_ms;
    struct long_value values[LONG_VALUES];
    size_t n_values;
};

static void long_escape(struct buf *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\n')
            buf_puts(out, "\\n");
        else if (*text == '"' || *text == '\\')
            buf_printf(out, "\\%c", *text);
        else
            buf_putc(out, *text);
    }
}

/* The seed kernel with another number in it; otherwise the same program. */
static void long_source(struct long_session *session, int number) {
    const char *mark = "-3.0e38", *at = number ? strstr(session->kernel, mark) : NULL;
    struct buf *text = &session->kernel_text;
    buf_clear(text);
    if (at) {
        buf_add(text, session->kernel, (size_t)(at - session->kernel));
        buf_printf(text, "-3.%06de38%s", number, at + strlen(mark));
    } else {
        buf_puts(text, session->kernel);
    }
    buf_clear(&session->source);
    long_escape(&session->source, text->at);
}

/* A file that the log names, as a session of hone has it beside the log. */
static void long_file(const struct long_session *session, struct str bytes, const char *format, ...)
    CC_PRINTF(3, 4);
static void long_file(const struct long_session *session, struct str bytes, const char *format,
                      ...) {
    struct buf path = {0};
    va_list args;
    buf_printf(&path, "%s/", session->place);
    va_start(args, format);
    buf_vprintf(&path, format, args);
    va_end(args);
    FILE *file = fopen(path.at, "w");
    if (!file || fwrite(bytes.at, 1, bytes.len, file) != bytes.len || fclose(file) != 0) {
        fprintf(stderr, "cannot write %s\n", path.at);
        abort();
    }
    buf_free(&path);
}

/* The kernel of an attempt, and what it was profiled, asked and answered; all of these are its
 * number here. Returns the hash of that. */
static struct hash long_files(const struct long_session *session, int number) {
    struct hash hash = hash_content(&number, sizeof number);
    struct str bytes = {(const char *)&number, sizeof number};
    long_file(session, bytes, "artifacts/%s", hash.hex);
    if (number)
        long_file(session, buf_str(&session->kernel_text), "checkpoints/attempt_%d_ea48c1e5.py",
                  number);
    else
        long_file(session, buf_str(&session->kernel_text), "checkpoints/attempt_000_95525143.py");
    return hash;
}

static const char *long_value_of(const struct long_session *session, struct str name) {
    for (size_t i = 0; i < session->n_values; i++)
        if (str_is(name, session->values[i].name))
            return session->values[i].whole ? session->values[i].whole : session->values[i].text;
    fprintf(stderr, "long.events: " STR_FMT " is unknown\n", STR_ARG(name));
    abort();
}

static CC_PRINTF(3, 4) void long_set(struct long_session *session, const char *name,
                                     const char *format, ...) {
    struct long_value *value = &session->values[session->n_values++];
    va_list args;
    *value = (struct long_value){.name = name};
    va_start(args, format);
    vsnprintf(value->text, sizeof value->text, format, args);
    va_end(args);
}

static void long_set_whole(struct long_session *session, const char *name, const char *text) {
    session->values[session->n_values++] = (struct long_value){.name = name, .whole = text};
}

/* Adds "type {json with @names@}" as an event. */
static void long_line(struct long_session *session, struct str line) {
    struct str type, part;
    char name[32];
    struct err err = {0};
    if (!str_next(&line, ' ', &type))
        abort();
    snprintf(name, sizeof name, STR_FMT, STR_ARG(type));
    buf_clear(&session->line);
    for (bool value = false; str_next(&line, '@', &part); value = !value) {
        if (value)
            buf_puts(&session->line, long_value_of(session, part));
        else
            buf_add(&session->line, part.at, part.len);
    }
    session->now_ms += 40;
    if (store_append(session->store, session->now_ms, name, session->line.at, NULL, &err))
        return;
    fprintf(stderr, "%s\n", err.text);
    abort();
}

/* Adds the lines before "--- round", or those after it. */
static void long_part(struct long_session *session, bool rounds, bool models, bool person) {
    struct str rest = str_of(session->script), line;
    bool here = !rounds;
    while (str_next(&rest, '\n', &line)) {
        if (str_is(line, "--- round")) {
            here = rounds;
            continue;
        }
        bool m = str_starts(line, "m:"), p = str_starts(line, "p:");
        if (!here || !line.len || *line.at == '#' || (m && !models) || (p && !person))
            continue;
        long_line(session, m || p ? (struct str){line.at + 2, line.len - 2} : line);
    }
}

static void long_begin(struct long_session *session, const char *folder) {
    struct buf reference = {0};
    struct hash id = hash_content(folder, strlen(folder));
    long_escape(&reference, session->reference);
    session->n_values = 0;
    long_source(session, 0);
    long_set(session, "hash", "%s", long_files(session, 0).hex);
    long_set(session, "id", "%s", id.hex);
    long_set(session, "task", "%s", path_base(folder));
    long_set(session, "rounds", "%d", session->attempts);
    long_set_whole(session, "folder", folder);
    long_set_whole(session, "source", session->source.at);
    long_set_whole(session, "reference", reference.at);
    long_part(session, false, false, false);
    buf_free(&reference);
    session->us = session->kept_us = 1515.5773581267531;
}

static void long_round(struct long_session *session, int number) {
    bool keep = number % 8 == 0, models = number % 2 == 0, known = number % 4 == 3;
    int lesson = known ? number % 29 : number, parent = session->kept;
    double from = session->kept_us, us = keep ? 310 + (from - 310) * 0.999 : from * 1.07;
    long_source(session, number);
    struct hash hash = long_files(session, number);
    session->n_values = 0;
    long_set(session, "a", "%d", number);
    long_set(session, "p", "%d", parent);
    long_set(session, "r", "%d", number);
    long_set(session, "us", "%.17g", us);
    long_set(session, "us3", "%.4g", us);
    long_set(session, "ms", "%.3f", us / 1e3);
    long_set(session, "from", "%.4g", from);
    long_set(session, "from_ms", "%.3f", from / 1e3);
    long_set(session, "ratio", "%.4f", from / us);
    long_set(session, "status", keep ? "keep" : "revert");
    long_set(session, "faster", keep ? "yes" : "no");
    long_set(session, "title", "Make shifted.%d on the GpSimd engine", number);
    long_set(session, "key", "engine:shifted.%d:gpsimd", number);
    long_set(session, "lesson", "Make shifted.%d on the GpSimd engine", lesson);
    long_set(session, "note", "%d", session->notes - 1);
    long_set(session, "memory", "%d", session->memory - 1);
    long_set(session, "hash", "%s", hash.hex);
    long_set(session, "call", "%d", session->calls);
    long_set(session, "next_call", "%d", session->calls + 1);
    long_set_whole(session, "source", session->source.at);
    long_part(session, true, models, number % 10 == 0);
    session->calls += models * 2;
    session->notes++;
    session->memory += !known;
    if (!keep)
        return;
    session->kept = number;
    session->kept_us = us;
}

static char *long_copy(const char *from, const char *folder) {
    char source[600];
    struct err err = {0};
    snprintf(source, sizeof source, HONE_SOURCE_DIR "/seeds/softmax/%s", from);
    char *text = file_read(source, 0, NULL, &err), *path = path_join(folder, from);
    if (!text || !file_write(path, text, strlen(text), &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    free(path);
    return text;
}

/* Many events go into one commit. What a crash would lose is made again. */
static void long_commit(struct long_session *session, const char *sql) {
    struct err err = {0};
    if (store_exec(session->store, sql, "cannot make a long session", &err))
        return;
    fprintf(stderr, "%s\n", err.text);
    abort();
}

/* Makes a task in `folder`, which must exist, and a session of it with `attempts` attempts besides
 * the seed. */
static void long_write(const char *folder, int attempts) {
    struct long_session session = {.attempts = attempts, .now_ms = LONG_START_MS};
    struct err err = {0};
    char *hone = path_join(folder, ".hone"), *place = path_join(hone, path_base(folder));
    session.kernel = long_copy("kernel.py", folder);
    session.reference = long_copy("reference.py", folder);
    session.script = file_read(HONE_SOURCE_DIR "/tests/bench/long.events", 0, NULL, &err);
    session.place = place;
    session.store = store_open(place, false, &err);
    char *folders[] = {path_join(place, "artifacts"), path_join(place, "checkpoints")};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        if (!file_make_private(folders[i], &err))
            session.store = NULL;
        free(folders[i]);
    }
    if (!session.script || !session.store) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    long_commit(&session, "PRAGMA synchronous=OFF; BEGIN");
    long_begin(&session, folder);
    for (int i = 1; i <= attempts; i++) {
        long_round(&session, i);
        if (i % 200 == 0)
            long_commit(&session, "COMMIT; BEGIN");
    }
    long_line(&session, STR("act {\"action\":\"pause\"}"));
    long_commit(&session, "COMMIT");
    /* Marks what is made from the log as made. */
    if (!store_attempt_begin(session.store, 0, &err) ||
        !store_attempt_end(session.store, store_last_seq(session.store), &err) ||
        !store_rows_begin(session.store, &err))
        abort();
    for (int i = 0; i <= attempts; i++)
        if (!store_rows_add(session.store, STR("{}\n"), &err))
            abort();
    if (!store_rows_end(session.store, &err))
        abort();
    store_close(session.store);
    buf_free(&session.kernel_text);
    buf_free(&session.source);
    buf_free(&session.line);
    free(session.script);
    free(session.kernel);
    free(session.reference);
    free(place);
    free(hone);
}

#endif
