/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input of hone run: puts together lines and answers. It does not know what they are
 * about, and reads only what has come. */
#include "cli/person/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop/loop.h"

#define MOST ((size_t)16 << 20) /* bytes that may wait to be taken */

struct person {
    struct loop *loop;
    struct loop_watch *watch;
    struct person_hooks hooks;
    struct buf come; /* lines that were not taken yet */
    struct buf answer;
    int call;   /* the call that the answer is for; -1: none */
    bool typed; /* it comes from a terminal */
    bool gone;  /* it ended because its terminal went */
    bool over;  /* the input ended; at a terminal only until more is typed */
    bool taking, ended;
};

bool person_is_there(void) {
    struct stat about;
    if (fstat(STDIN_FILENO, &about) != 0)
        return false;
    return isatty(STDIN_FILENO) || !S_ISCHR(about.st_mode);
}

static void end(struct person *person, const char *why) {
    loop_watch_stop(person->watch);
    person->watch = NULL;
    if (!person->ended)
        person->hooks.ended(person->hooks.data, why);
    person->ended = true;
}

static void answer_give(struct person *person) {
    struct buf text = person->answer;
    int call = person->call;
    person->answer = (struct buf){0};
    person->call = -1;
    person->hooks.answer(person->hooks.data, call, buf_str(&text));
    buf_free(&text);
}

static void answer_add(struct person *person, struct str line) {
    if (str_is(line, ".")) {
        answer_give(person);
        return;
    }
    buf_add(&person->answer, line.at, line.len);
    buf_putc(&person->answer, '\n');
}

/* Takes the next whole line, or what is left before the end of the input. */
static bool line_next(struct person *person, size_t *from, struct str *line) {
    struct str rest = {person->come.at + *from, person->come.len - *from};
    const char *end = rest.len ? memchr(rest.at, '\n', rest.len) : NULL;
    if (!rest.len || (!end && !person->over))
        return false;
    line->at = rest.at;
    line->len = end ? (size_t)(end - rest.at) : rest.len;
    *from += line->len + (end != NULL);
    if (line->len && line->at[line->len - 1] == '\r')
        line->len--;
    return true;
}

static bool somebody_listens(const struct person *person) {
    return person->call >= 0 || person->typed || person->hooks.wants_line(person->hooks.data);
}

/* At the end of the input an answer is whole. Whoever still waits then waits in vain. */
static void over(struct person *person) {
    bool some = str_trim(buf_str(&person->answer)).len > 0;
    bool asked = person->call >= 0;
    if (asked && some)
        answer_give(person);
    else if (asked || person->typed || person->hooks.wants_line(person->hooks.data))
        end(person, person->gone ? "the terminal is gone"
                    : asked      ? "the input ended before the question was answered"
                                 : "the input ended");
}

static void take(struct person *person) {
    size_t from = 0;
    struct str line;
    if (person->taking || person->ended)
        return;
    person->taking = true;
    while (!person->ended && somebody_listens(person) && line_next(person, &from, &line)) {
        if (person->call >= 0)
            answer_add(person, line);
        else if (person->hooks.wants_line(person->hooks.data))
            person->hooks.line(person->hooks.data, line);
    }
    struct buf rest = {0};
    buf_add(&rest, person->come.at ? person->come.at + from : "", person->come.len - from);
    buf_free(&person->come);
    person->come = rest;
    if (person->over && !person->come.len && !person->ended)
        over(person);
    person->over = person->over && !person->typed;
    person->taking = false;
}

static void on_readable(void *data, int events) {
    struct person *person = data;
    char chunk[65536];
    (void)events;
    ssize_t got = read(STDIN_FILENO, chunk, sizeof chunk);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got > 0)
        buf_add(&person->come, chunk, (size_t)got);
    else
        person->over = true;
    person->gone = got < 0 && errno == EIO; /* what a read of a terminal without a line gives */
    if (person->over && !person->typed) {
        loop_watch_stop(person->watch);
        person->watch = NULL;
    }
    if (person->come.len > MOST)
        end(person, "the text on standard input is too long for an answer");
    else
        take(person);
}

/* A file cannot be watched, and reading it does not wait. */
static void read_whole(struct person *person) {
    while (!person->over && !person->ended)
        on_readable(person, LOOP_READABLE);
}

struct person *person_new(struct loop *loop, const struct person_hooks *hooks) {
    struct person *person = mem_alloc(1, sizeof *person);
    *person =
        (struct person){.loop = loop, .hooks = *hooks, .call = -1, .typed = isatty(STDIN_FILENO)};
    person->watch = loop_watch_start(loop, STDIN_FILENO, LOOP_READABLE, on_readable, person);
    if (!person->watch)
        read_whole(person);
    return person;
}

void person_free(struct person *person) {
    if (!person)
        return;
    loop_watch_stop(person->watch);
    buf_free(&person->come);
    buf_free(&person->answer);
    free(person);
}

void person_hold(struct person *person, bool held) {
    if (!person || !person->typed || person->ended || held == !person->watch)
        return;
    loop_watch_stop(person->watch);
    person->watch =
        held ? NULL
             : loop_watch_start(person->loop, STDIN_FILENO, LOOP_READABLE, on_readable, person);
}

void person_ask(struct person *person, int call) {
    if (call == person->call)
        return;
    buf_clear(&person->answer);
    person->call = call;
    take(person);
}

void person_look(struct person *person) {
    take(person);
}
