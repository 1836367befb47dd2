/* SPDX-License-Identifier: Apache-2.0 */
/* Questions in SQL that a person asks in the workbench: answered by hone query in a child, and kept
 * for the next time. */
#include "cli/query/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/loop.h"
#include "query/query.h"

#define LIMIT_S 30
#define MOST_ROWS "1000"
#define MOST_OUTPUT ((uint64_t)8 << 20)
#define MOST_WORDS 1000 /* bytes of why there is no answer */
#define MOST_KEPT 50    /* questions */
#define LONGEST 4000    /* of those */

struct questions {
    struct loop *loop;
    questions_answer_fn *answer;
    void *data;
    struct loop_child *child; /* NULL: nothing is asked */
    struct buf sql, out, said;
    char *file; /* that keeps them, a line each, the oldest first */
    VEC(char *) kept;
};

/* ------------------------------------------------------------------------------- what is kept */

static char *line_copy(struct str line) {
    struct buf text = {0};
    buf_add(&text, line.at, line.len);
    return buf_take(&text);
}

static void kept_read(struct questions *questions) {
    char *text = file_read(questions->file, MOST_KEPT * (LONGEST + 1), NULL, NULL);
    struct str rest = str_of(text), line;
    while (text && str_next(&rest, '\n', &line))
        if (line.len && line.len <= LONGEST && questions->kept.len < MOST_KEPT)
            *vec_push(&questions->kept) = line_copy(line);
    free(text);
}

/* Whether it is one of those that are there anyway; as one line. */
static bool is_recipe(const char *sql) {
    const struct query_recipe *recipe;
    bool same = false;
    for (size_t i = 0; !same && (recipe = query_recipe_at(i)); i++) {
        struct buf line = {0};
        struct str rest = str_of(recipe->sql), part;
        while (str_next(&rest, '\n', &part))
            buf_printf(&line, "%s" STR_FMT, line.len ? " " : "", STR_ARG(str_trim(part)));
        same = line.at && !strcmp(line.at, sql);
        buf_free(&line);
    }
    return same;
}

/* A question that was asked before moves to the end. */
static void keep(struct questions *questions, const char *sql) {
    struct buf text = {0};
    size_t len = strlen(sql), to = 0;
    if (!len || len > LONGEST || strchr(sql, '\n') || is_recipe(sql))
        return;
    for (size_t i = 0; i < questions->kept.len; i++) {
        bool drops =
            !strcmp(questions->kept.at[i], sql) || (i == 0 && questions->kept.len == MOST_KEPT);
        if (drops)
            free(questions->kept.at[i]);
        else
            questions->kept.at[to++] = questions->kept.at[i];
    }
    questions->kept.len = to;
    *vec_push(&questions->kept) = mem_strdup(sql);
    for (size_t i = 0; i < questions->kept.len; i++)
        buf_printf(&text, "%s\n", questions->kept.at[i]);
    (void)!file_write_private(questions->file, text.at, text.len, NULL);
    buf_free(&text);
}

bool questions_at(struct questions *questions, size_t index, struct question *question) {
    const struct query_recipe *recipe = query_recipe_at(index);
    size_t count = 0;
    if (recipe) {
        *question = (struct question){recipe->name, recipe->what, recipe->sql};
        return true;
    }
    while (query_recipe_at(count))
        count++;
    index -= count;
    if (index >= questions->kept.len)
        return false;
    const char *sql = questions->kept.at[questions->kept.len - 1 - index];
    *question = (struct question){NULL, sql, sql};
    return true;
}

const char *questions_name(size_t index) {
    const struct query_table *table;
    for (size_t i = 0; (table = query_table_at(i)); i++) {
        if (index == 0)
            return table->name;
        if (--index < table->count)
            return table->columns[index].name;
        index -= table->count;
    }
    return NULL;
}

/* --------------------------------------------------------------------------------- the answer */

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct questions *questions = data;
    (void)whole;
    if (stream == LOOP_STDOUT)
        buf_add(&questions->out, text.at, text.len);
    else if (questions->said.len < MOST_WORDS)
        buf_printf(&questions->said, "%s" STR_FMT, questions->said.len ? " " : "", STR_ARG(text));
}

/* "hone query: there is no .." */
static void failed(struct questions *questions, const struct loop_exit *exit) {
    struct str said = str_trim(buf_str(&questions->said)), name = STR("hone query: ");
    struct buf text = {0};
    if (str_starts(said, "hone query: "))
        said = (struct str){said.at + name.len, said.len - name.len};
    if (said.len)
        buf_add(&text, said.at, said.len);
    else
        loop_exit_print(exit, &text);
    questions->answer(questions->data, text.at, true);
    buf_free(&text);
}

static void on_exit_query(void *data, const struct loop_exit *exit) {
    struct questions *questions = data;
    questions->child = NULL;
    if (exit->end == LOOP_EXITED && exit->status == 0) {
        keep(questions, questions->sql.at);
        questions->answer(questions->data, questions->out.at ? questions->out.at : "", false);
    } else {
        failed(questions, exit);
    }
}

void questions_drop(struct questions *questions) {
    if (!questions || !questions->child)
        return;
    loop_child_forget(questions->child);
    loop_child_kill(questions->child, 0);
    questions->child = NULL;
}

void questions_ask(struct questions *questions, const char *session, int attempt, const char *sql) {
    char *self = os_executable_path(), number[16];
    struct err err = {0};
    snprintf(number, sizeof number, "%d", attempt);
    const char *const argv[] = {self ? self : "hone",
                                "query",
                                session,
                                "--attempt",
                                number,
                                "--rows",
                                MOST_ROWS,
                                "--",
                                sql,
                                NULL};
    const struct loop_child_spec spec = {.argv = argv,
                                         .pass = (const char *const[]){"XDG_*", "TMPDIR", NULL},
                                         .own_session = true,
                                         .out = LOOP_RAW,
                                         .err = LOOP_LINES,
                                         .output_limit = MOST_OUTPUT,
                                         .time_limit_s = 2 * LIMIT_S,
                                         .on_output = on_output,
                                         .on_exit = on_exit_query,
                                         .data = questions};
    questions_drop(questions);
    buf_clear(&questions->out);
    buf_clear(&questions->said);
    buf_clear(&questions->sql);
    buf_puts(&questions->sql, sql);
    questions->child = loop_child_start(questions->loop, &spec, &err);
    if (!questions->child)
        questions->answer(questions->data, err.text, true);
    free(self);
}

struct questions *questions_new(struct loop *loop, questions_answer_fn *answer, void *data) {
    struct questions *questions = mem_alloc(1, sizeof *questions);
    *questions = (struct questions){.loop = loop, .answer = answer, .data = data};
    questions->file = path_state("questions.sql");
    kept_read(questions);
    return questions;
}

void questions_free(struct questions *questions) {
    if (!questions)
        return;
    questions_drop(questions);
    for (size_t i = 0; i < questions->kept.len; i++)
        free(questions->kept.at[i]);
    vec_free(&questions->kept);
    buf_free(&questions->sql);
    buf_free(&questions->out);
    buf_free(&questions->said);
    free(questions->file);
    free(questions);
}
