/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of ssh, and of the ssh that it starts for a jump host. ssh runs the program SSH_ASKPASS
 * and reads the answer from its output. Ours is a script. It writes the question into the fifo "q"
 * of the private folder and reads the answer from a fifo of its own. A secret passes through a pipe
 * and a builtin of the shell, and is nowhere else. */
#include "transport/client/own.h"
#include "transport/client/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUESTION_LIMIT ((size_t)1 << 14)

/* A question: "PID\nHINT\nPROMPT" and a zero byte. An answer: "yes\nTEXT\n", or "no\n". */
static const char script[] =
    "#!/bin/sh\n"
    "d=${0%/*}\n"
    "a=$d/a.$$\n"
    "umask 077\n"
    "mkfifo \"$a\" && exec 3<>\"$a\" || exit 1\n"
    "printf '%s\\n%s\\n%s\\000' \"$$\" \"${SSH_ASKPASS_PROMPT-}\" \"$1\" >\"$d/q\"\n"
    "IFS= read -r said <&3\n"
    "[ \"$said\" = yes ] && IFS= read -r text <&3\n"
    "rm -f \"$a\"\n"
    "[ \"$said\" = yes ] || exit 1\n"
    "printf '%s\\n' \"$text\"\n";

struct asker {
    struct asker_callbacks callbacks;
    char *folder, *fifo;
    int fd;
    struct loop_watch *watch;
    struct buf came; /* not a whole question yet */
    struct transport_question last;
    int asking;            /* the pid that waits; 0: none */
    VEC(char *) questions; /* questions that came meanwhile */
    char *lines[3];        /* lines of the environment */
    const char *environment[4];
};

/* ----------------------------------------------------------------------- understanding prompts */

static bool contains(struct str text, const char *part) {
    return memmem(text.at, text.len, part, strlen(part)) != NULL;
}

/* The word after `mark`, up to `end`. */
static struct str between(struct str text, const char *mark, char end) {
    const char *at = memmem(text.at, text.len, mark, strlen(mark));
    if (!at)
        return (struct str){"", 0};
    at += strlen(mark);
    size_t left = text.len - (size_t)(at - text.at);
    const char *stop = memchr(at, end, left);
    return (struct str){at, stop ? (size_t)(stop - at) : left};
}

static void put_text(struct transport_question *question, const struct buf *text) {
    struct buf safe = {0};
    text_sanitise(&safe, buf_str(text));
    snprintf(question->text, sizeof question->text, "%s", safe.at ? safe.at : "");
    buf_free(&safe);
}

/* "The authenticity of host 'NAME (ADDRESS)' can't be established.\nED25519 key fingerprint is
 * SHA256:....\n..." */
static void host_key_question(struct str prompt, struct transport_question *question) {
    struct buf text = {0};
    struct str host = between(prompt, "authenticity of host '", '\'');
    struct str print = between(prompt, "key fingerprint is ", '\n');
    const char *line = memmem(prompt.at, prompt.len, "\n", 1);
    struct str kind = {"", 0};
    if (line) {
        struct str rest = {line + 1, prompt.len - (size_t)(line + 1 - prompt.at)};
        if (!str_next(&rest, ' ', &kind))
            kind = (struct str){"", 0};
    }
    if (str_ends(print, "."))
        print.len--;
    question->ask = TRANSPORT_ASK_HOST_KEY;
    if (host.len && print.len)
        buf_printf(&text,
                   "The host " STR_FMT " is not known yet. Its " STR_FMT " key has the "
                   "fingerprint " STR_FMT ". Is that the right machine? Answer yes to connect and "
                   "to remember the key.",
                   STR_ARG(host), STR_ARG(kind), STR_ARG(print));
    else
        buf_add(&text, prompt.at, prompt.len);
    put_text(question, &text);
    buf_free(&text);
}

static void secret_question(struct str prompt, struct transport_question *question) {
    struct buf text = {0};
    struct str key = between(prompt, "passphrase for key '", '\'');
    question->secret = true;
    question->ask =
        contains(prompt, "passphrase") ? TRANSPORT_ASK_PASSPHRASE : TRANSPORT_ASK_PASSWORD;
    if (key.len)
        buf_printf(&text, "The key " STR_FMT " is locked: its passphrase?", STR_ARG(key));
    else
        buf_add(&text, prompt.at, prompt.len);
    put_text(question, &text);
    buf_free(&text);
}

bool asker_understand(struct str prompt, struct str hint, struct transport_question *question) {
    *question = (struct transport_question){0};
    prompt = str_trim(prompt);
    if (str_is(hint, "none"))
        return false;
    if (contains(prompt, "(yes/no") || contains(prompt, "'yes', 'no'"))
        host_key_question(prompt, question);
    else
        secret_question(prompt, question);
    return true;
}

/* ------------------------------------------------------------------------------------- answers */

/* The script holds its fifo open in both directions, so this neither waits nor gets lost. */
static void send_answer(struct asker *asker, int pid, const char *answer) {
    char path[256], said[2048];
    snprintf(path, sizeof path, "%s/a.%d", asker->folder, pid);
    int len = answer ? snprintf(said, sizeof said, "yes\n%s\n", answer)
                     : snprintf(said, sizeof said, "no\n");
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && len > 0 && (size_t)len < sizeof said)
        (void)!write(fd, said, (size_t)len);
    if (fd >= 0)
        close(fd);
    explicit_bzero(said, sizeof said);
}

static void ask(struct asker *asker, char *text);

static void ask_next(struct asker *asker) {
    if (!asker->questions.len)
        return;
    char *text = asker->questions.at[0];
    memmove(asker->questions.at, asker->questions.at + 1,
            --asker->questions.len * sizeof *asker->questions.at);
    ask(asker, text);
}

void asker_answer(struct asker *asker, const char *answer) {
    int pid = asker->asking;
    asker->asking = 0;
    if (pid)
        send_answer(asker, pid, answer);
    ask_next(asker);
}

/* ----------------------------------------------------------------------------------- questions */

/* Takes over the text. */
static void ask(struct asker *asker, char *text) {
    struct str rest = str_of(text), pid, hint;
    struct transport_question question;
    long long number;
    if (!str_next(&rest, '\n', &pid) || !str_next(&rest, '\n', &hint) ||
        !str_to_int(pid, &number) || number < 1 || number > INT32_MAX || !rest.at) {
        free(text);
        return;
    }
    if (str_is(hint, "confirm")) { /* things hone does not ask for, as keeping keys in an agent */
        send_answer(asker, (int)number, NULL);
    } else if (!asker_understand(rest, hint, &question)) {
        struct buf note = {0};
        text_sanitise(&note, str_trim(rest));
        asker->callbacks.on_note(asker->callbacks.data, note.at ? note.at : "");
        buf_free(&note);
    } else {
        if (asker->last.text[0] && !strcmp(asker->last.text, question.text) && question.secret) {
            struct transport_question again = question;
            snprintf(question.text, sizeof question.text, "That was wrong. %.480s", again.text);
            asker->last = again;
        } else {
            asker->last = question;
        }
        asker->asking = (int)number;
        asker->callbacks.on_question(asker->callbacks.data, &question);
    }
    free(text);
}

static void take_questions(struct asker *asker) {
    struct buf *came = &asker->came;
    char *end;
    while (came->len && (end = memchr(came->at, 0, came->len))) {
        size_t len = (size_t)(end - came->at) + 1;
        char *text = mem_dup(came->at, len);
        memmove(came->at, came->at + len, came->len - len);
        came->len -= len;
        if (asker->asking)
            *vec_push(&asker->questions) = text;
        else
            ask(asker, text);
    }
    if (came->len > QUESTION_LIMIT)
        buf_clear(came);
}

static void on_readable(void *data, int events) {
    struct asker *asker = data;
    char bytes[4096];
    (void)events;
    ssize_t n = read(asker->fd, bytes, sizeof bytes);
    if (n > 0) {
        buf_add(&asker->came, bytes, (size_t)n);
        take_questions(asker);
    }
}

/* ----------------------------------------------------------------------------------- the asker */

static bool write_script(const char *path, struct err *err) {
    return (file_write(path, script, sizeof script - 1, err) && chmod(path, 0700) == 0) ||
           err_set(err, ERR_ENVIRONMENT, "cannot write %s: %s", path, strerror(errno));
}

static void set_environment(struct asker *asker, const char *program) {
    struct buf line = {0};
    buf_printf(&line, "SSH_ASKPASS=%s", program);
    asker->lines[0] = buf_take(&line);
    asker->lines[1] = mem_strdup("SSH_ASKPASS_REQUIRE=force");
    /* Clients before 8.4 use SSH_ASKPASS when there is a DISPLAY and no terminal. */
    const char *display = getenv("DISPLAY");
    asker->lines[2] = display && *display ? NULL : mem_strdup("DISPLAY=none:0");
    for (size_t i = 0; i < COUNT_OF(asker->lines); i++)
        asker->environment[i] = asker->lines[i];
}

struct asker *asker_new(struct loop *loop, const struct client_folder *folder,
                        const struct asker_callbacks *callbacks, struct err *err) {
    struct asker *asker = mem_alloc(1, sizeof *asker);
    char *program = client_folder_file(folder, "ask");
    asker->callbacks = *callbacks;
    asker->folder = mem_strdup(folder->path);
    asker->fifo = client_folder_file(folder, "q");
    asker->fd = -1;
    bool ok = write_script(program, err);
    if (ok && mkfifo(asker->fifo, 0600) == 0)
        asker->fd = open(asker->fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (ok && asker->fd < 0)
        ok = err_set(err, ERR_ENVIRONMENT, "cannot make the fifo %s: %s", asker->fifo,
                     strerror(errno));
    set_environment(asker, program);
    free(program);
    if (!ok) {
        asker_free(asker);
        return NULL;
    }
    asker->watch = loop_watch_start(loop, asker->fd, LOOP_READABLE, on_readable, asker);
    return asker;
}

void asker_free(struct asker *asker) {
    if (!asker)
        return;
    loop_watch_stop(asker->watch);
    if (asker->fd >= 0)
        close(asker->fd);
    for (size_t i = 0; i < asker->questions.len; i++)
        free(asker->questions.at[i]);
    for (size_t i = 0; i < COUNT_OF(asker->lines); i++)
        free(asker->lines[i]);
    vec_free(&asker->questions);
    buf_free(&asker->came);
    free(asker->folder);
    free(asker->fifo);
    free(asker);
}

const char *const *asker_environment(const struct asker *asker) {
    return asker->environment;
}
