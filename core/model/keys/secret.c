/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: read from the environment, a program or the system's keyring at the moment they are needed,
 * handed on once, wiped. They never reach a file, a log, a screen or a command line. */
#include <stdio.h>
#include <stdlib.h>

#include "model/keys/keys.h"

#define MAX_KEY 8192
#define MAX_WORDS 32
#define COMMAND_LIMIT_S 30

struct model_key_wait {
    struct loop *loop;
    struct loop_timer *timer;
    struct loop_child *child;
    struct buf key, said; /* what the program printed; what it complained */
    struct err err;
    char what[80];
    model_key_fn *fn;
    void *data;
};

void model_wipe(struct buf *buf) {
    if (buf->at)
        explicit_bzero(buf->at, buf->cap);
    buf_free(buf);
}

bool model_key_is_named(const struct model_key_source *source) {
    return source->environment || source->command || source->keyring;
}

static void wait_free(struct model_key_wait *wait) {
    loop_timer_stop(wait->timer);
    model_wipe(&wait->key);
    buf_free(&wait->said);
    free(wait);
}

static void tell(void *data) {
    struct model_key_wait *wait = data;
    struct str key = str_trim(buf_str(&wait->key));
    wait->timer = NULL;
    bool fine = wait->err.kind == ERR_NONE;
    for (size_t i = 0; fine && i < key.len; i++)
        if ((unsigned char)key.at[i] < 0x21 || (unsigned char)key.at[i] == 0x7f)
            fine = err_set(&wait->err, ERR_USAGE,
                           "what %s gave is not a key: it contains blanks or control characters",
                           wait->what);
    if (fine && !key.len)
        fine = err_set(&wait->err, ERR_USAGE, "%s gave no key", wait->what);
    struct buf whole = {0};
    if (fine)
        buf_add(&whole, key.at, key.len);
    wait->fn(wait->data, fine ? whole.at : NULL, &wait->err);
    model_wipe(&whole);
    wait_free(wait);
}

static void on_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    struct model_key_wait *wait = data;
    struct buf *into = stream == LOOP_STDOUT ? &wait->key : &wait->said;
    size_t limit = stream == LOOP_STDOUT ? MAX_KEY : 200;
    (void)whole;
    /* Large enough from the start, because growing would leave a copy behind. */
    if (!into->at)
        buf_printf(into, "%*s", MAX_KEY + 1, ""), buf_clear(into);
    if (into->len < limit)
        buf_add(into, text.at, MIN_OF(text.len, limit - into->len));
}

static void on_exit_command(void *data, const struct loop_exit *exit) {
    struct model_key_wait *wait = data;
    wait->child = NULL;
    if (exit->end != LOOP_EXITED || exit->status != 0) {
        struct buf how = {0}, safe = {0};
        loop_exit_print(exit, &how);
        text_sanitise(&safe, str_trim(buf_str(&wait->said)));
        err_set(&wait->err, ERR_USAGE, "%s failed (%s)%s%s", wait->what, how.at,
                safe.len ? ": " : "", safe.len ? safe.at : "");
        buf_free(&how);
        buf_free(&safe);
    }
    tell(wait);
}

static void run(struct model_key_wait *wait, const char *const *argv) {
    /* The person's own programs see all variables, because agents, keyrings and cards are found
     * through them. */
    struct loop_child_spec spec = {.argv = argv,
                                   .environment = LOOP_WHOLE,
                                   .own_session = true,
                                   .out = LOOP_RAW,
                                   .err = LOOP_RAW,
                                   .secret = true,
                                   .time_limit_s = COMMAND_LIMIT_S,
                                   .on_output = on_output,
                                   .on_exit = on_exit_command,
                                   .data = wait};
    wait->child = loop_child_start(wait->loop, &spec, &wait->err);
}

/* Words between blanks; a program with odd arguments is put into a script. */
static size_t split(char *text, const char **words, size_t most) {
    size_t count = 0;
    for (char *rest = text, *word; count + 1 < most && (word = strtok_r(rest, " \t", &rest));)
        words[count++] = word;
    words[count] = NULL;
    return count;
}

static void ask_command(struct model_key_wait *wait, const char *command) {
    char *text = mem_strdup(command);
    const char *argv[MAX_WORDS];
    snprintf(wait->what, sizeof wait->what, "key_command");
    if (split(text, argv, COUNT_OF(argv)))
        run(wait, argv);
    else
        err_set(&wait->err, ERR_USAGE, "key_command is empty");
    free(text);
}

/* The keyring's own program: secret-tool of libsecret, security on macOS. */
static void ask_keyring(struct model_key_wait *wait, const char *entry) {
    char *text = mem_strdup(entry);
    const char *words[4] = {0};
    size_t count = split(text, words, COUNT_OF(words));
    snprintf(wait->what, sizeof wait->what, "the keyring");
#ifdef __APPLE__
    const char *argv[] = {"security", "find-generic-password", "-w",     "-s",
                          words[0],   count > 1 ? "-a" : NULL, words[1], NULL};
#else
    const char *argv[] = {
        "secret-tool", "lookup", "service", words[0], count > 1 ? "account" : NULL, words[1], NULL};
#endif
    if (count == 1 || count == 2)
        run(wait, argv);
    else
        err_set(&wait->err, ERR_USAGE, "key_keyring is \"SERVICE\" or \"SERVICE ACCOUNT\"");
    free(text);
}

static void ask_environment(struct model_key_wait *wait, const char *variable) {
    const char *value = getenv(variable);
    snprintf(wait->what, sizeof wait->what, "the variable %.50s", variable);
    if (value && *value)
        buf_puts(&wait->key, value);
    else
        err_set(&wait->err, ERR_USAGE,
                "no key: the environment has no %s. Set it, or name another source with key_env, "
                "key_command or key_keyring",
                variable);
}

struct model_key_wait *model_key_get(struct loop *loop, const struct model_key_source *source,
                                     const char *variable, model_key_fn *fn, void *data) {
    struct model_key_wait *wait = mem_alloc(1, sizeof *wait);
    *wait = (struct model_key_wait){.loop = loop, .fn = fn, .data = data};
    if (source->environment)
        ask_environment(wait, source->environment);
    else if (source->command)
        ask_command(wait, source->command);
    else if (source->keyring)
        ask_keyring(wait, source->keyring);
    else
        ask_environment(wait, variable);
    if (!wait->child)
        wait->timer = loop_timer_start(loop, 0, 0, tell, wait);
    return wait;
}

void model_key_forget(struct model_key_wait *wait) {
    if (!wait)
        return;
    if (wait->child) {
        loop_child_forget(wait->child);
        loop_child_kill(wait->child, 0);
    }
    wait_free(wait);
}

/* Both texts in one piece of memory; printing would leave a copy on the stack. */
void model_join_secret(const char *before, const char *secret, struct buf *out) {
    size_t head = strlen(before), size = strlen(secret);
    *out = (struct buf){mem_alloc(head + size + 1, 1), head + size, head + size + 1};
    memcpy(out->at, before, head);
    memcpy(out->at + head, secret, size);
}
