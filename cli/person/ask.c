/* SPDX-License-Identifier: Apache-2.0 */
/* Asks at /dev/tty: a line at a time, as the terminal edits it; secrets are not shown, and are
 * wiped. Standard input and output remain the command's own, so that a pipe is no obstacle. */
#include "cli/person/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "loop/loop.h"
#include "target/target.h"

#define MAX_ANSWER 1024

struct ask {
    struct loop *loop;
    void (*answer)(void *data, const char *text);
    void *data;
    int fd; /* of the terminal; -1: none */
    struct loop_watch *watch;
    struct loop_timer *decline; /* there is no terminal */
    struct termios saved;
    bool open, hidden, secret;
    char shown[512]; /* the open question of the place */
};

struct ask *ask_new(struct loop *loop, void (*answer)(void *data, const char *text), void *data) {
    struct ask *ask = mem_alloc(1, sizeof *ask);
    *ask = (struct ask){.loop = loop, .answer = answer, .data = data, .fd = -1};
    return ask;
}

static void show_echo(struct ask *ask) {
    if (!ask->hidden)
        return;
    tcsetattr(ask->fd, TCSAFLUSH, &ask->saved);
    ask->hidden = false;
    ssize_t ignored = write(ask->fd, "\n", 1);
    (void)ignored;
}

static void ask_forget(struct ask *ask) {
    loop_watch_stop(ask->watch);
    loop_timer_stop(ask->decline);
    ask->watch = NULL;
    ask->decline = NULL;
    if (ask->fd >= 0) {
        show_echo(ask);
        close(ask->fd);
    }
    ask->fd = -1;
    ask->open = false;
}

void ask_free(struct ask *ask) {
    if (!ask)
        return;
    ask_forget(ask);
    free(ask);
}

bool ask_is_open(const struct ask *ask) {
    return ask && ask->open;
}

static void on_line(void *data, int events) {
    struct ask *ask = data;
    char line[MAX_ANSWER];
    (void)events;
    ssize_t got = read(ask->fd, line, sizeof line - 1);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    size_t len = got > 0 ? (size_t)got : 0;
    while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        len--;
    line[len] = 0;
    bool is_empty = got <= 0 || (!len && ask->secret);
    ask_forget(ask);
    ask->answer(ask->data, is_empty ? NULL : line);
    explicit_bzero(line, sizeof line);
}

static void on_decline(void *data) {
    struct ask *ask = data;
    ask->decline = NULL;
    ask->open = false;
    ask->answer(ask->data, NULL);
}

static void hide_echo(struct ask *ask) {
    struct termios quiet;
    if (tcgetattr(ask->fd, &ask->saved) != 0)
        return;
    quiet = ask->saved;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    ask->hidden = tcsetattr(ask->fd, TCSAFLUSH, &quiet) == 0;
}

/* Only a process in the foreground may ask. Another one would be stopped. */
static bool open_path(struct ask *ask, const char *path) {
    ask->fd = path ? open(path, O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;
    if (ask->fd >= 0 && tcgetpgrp(ask->fd) == getpgrp())
        ask->watch = loop_watch_start(ask->loop, ask->fd, LOOP_READABLE, on_line, ask);
    if (ask->watch)
        return true;
    if (ask->fd >= 0)
        close(ask->fd);
    ask->fd = -1;
    return false;
}

/* Where /dev/tty cannot be watched (macOS), the terminal has another name that can. */
static bool open_terminal(struct ask *ask) {
    return open_path(ask, "/dev/tty") || open_path(ask, ttyname(STDIN_FILENO)) ||
           open_path(ask, ttyname(STDERR_FILENO));
}

void ask_put(struct ask *ask, const char *text, bool secret, const char *otherwise) {
    struct buf safe = {0};
    ask_forget(ask);
    ask->open = true;
    ask->secret = secret;
    text_sanitise(&safe, str_trim(str_of(text)));
    while (secret && safe.len && safe.at[safe.len - 1] == ':')
        safe.at[--safe.len] = 0;
    if (open_terminal(ask)) {
        if (secret)
            hide_echo(ask);
        dprintf(ask->fd, "%s%s", safe.at ? safe.at : "", secret ? " (not shown): " : " ");
    } else {
        fprintf(stderr, "hone: %s\nThere is no terminal to answer at: %s\n", safe.at ? safe.at : "",
                otherwise);
        ask->decline = loop_timer_start(ask->loop, 0, 0, on_decline, ask);
    }
    buf_free(&safe);
}

void ask_follow(struct ask *ask, const struct target_question *question) {
    if (!question || !question->text[0]) {
        if (ask->shown[0])
            ask_forget(ask);
        ask->shown[0] = 0;
        return;
    }
    if (ask->open && strcmp(ask->shown, question->text) == 0)
        return;
    snprintf(ask->shown, sizeof ask->shown, "%s", question->text);
    ask_put(ask, question->text, question->secret,
            question->secret
                ? "load the key into an agent first (ssh-add), or use one without a passphrase"
                : "log in once with ssh, compare the fingerprint and accept it there");
}
