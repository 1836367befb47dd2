/* SPDX-License-Identifier: Apache-2.0 */
/* The workbench and a language model: answers on the screen as they come, an end while one is on
 * its way, and a service that sends the key back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "session/terminal.h"

#define KEY "sk-test-4711-0815"

struct place {
    char home[64];
    pid_t server;
    int server_input, port;
};

/* tests/model/server.py: it ends when its input does. */
static void start_server(struct place *place) {
    int in[2], out[2];
    char line[32] = "";
    assert_true(pipe(in) == 0 && pipe(out) == 0);
    place->server = fork();
    if (place->server == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        execl("/usr/bin/python3", "python3", HONE_SOURCE_DIR "/tests/model/server.py",
              (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    place->server_input = in[1];
    for (size_t size = 0; size + 1 < sizeof line && !strchr(line, '\n'); size++)
        if (read(out[0], line + size, 1) != 1)
            break;
    close(out[0]);
    place->port = (int)strtol(line, NULL, 10);
    assert_true(place->port > 0);
}

static void write_text(const char *path, const char *text) {
    struct err err = {0};
    assert_true(file_write(path, text, strlen(text), &err));
}

/* A seed with inputs so small that its profile takes no time, in the present folder. */
static void write_task(void) {
    static const char *const names[] = {"kernel.py", "reference.py"};
    struct err err = {0};
    char from[64], to[64];
    assert_true(file_make_dirs("small", &err));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(from, sizeof from, "seeds/silu/%s", names[i]);
        snprintf(to, sizeof to, "small/%s", names[i]);
        struct str text = embed_find(from);
        struct buf copy = {0};
        buf_add(&copy, text.at, text.len);
        char *size = strstr(copy.at, "M, N = 4096, 7168");
        if (size)
            memcpy(size, "M, N =  256, 1024", 17);
        write_text(to, copy.at);
        buf_free(&copy);
    }
}

static int make_place(void **state) {
    struct place *place = mem_alloc(1, sizeof *place);
    struct buf config = {0};
    struct err err = {0};
    static const char *const models[] = {"stall", "echo", "echo-stream", "silent"};
    snprintf(place->home, sizeof place->home, "/tmp/hone-models-XXXXXX");
    if (!mkdtemp(place->home) || chdir(place->home) != 0)
        return 1;
    start_server(place);
    for (size_t i = 0; i < COUNT_OF(models); i++)
        buf_printf(&config,
                   "[model %s]\napi = openai\nbase_url = http://127.0.0.1:%d/v1\n"
                   "key_env = TEST_MODEL_KEY\n",
                   models[i], place->port);
    assert_true(file_make_dirs(".config/hone", &err));
    write_text(".config/hone/config.ini", config.at);
    buf_free(&config);
    write_task();
    *state = place;
    return 0;
}

static int remove_place(void **state) {
    struct place *place = *state;
    struct err err = {0};
    close(place->server_input);
    kill(place->server, SIGKILL);
    waitpid(place->server, NULL, 0);
    int failed = chdir("/") != 0 || !file_remove_tree(place->home, &err);
    free(place);
    return failed;
}

/* A new session of the task whose loop asks this model. */
static struct terminal *start_with(struct place *place, const char *model) {
    char home[80];
    snprintf(home, sizeof home, "HOME=%s", place->home);
    const char *const env[] = {home,
                               "TERM=xterm-256color",
                               "LANG=C.UTF-8",
                               "LC_ALL=C.UTF-8",
                               "TEST_MODEL_KEY=" KEY,
                               "XDG_STATE_HOME=",
                               "XDG_CONFIG_HOME=",
                               "XDG_CACHE_HOME=",
                               NULL};
    const char *const argv[] = {
        HONE_BINARY_DIR "/hone", "small", "--proposer", model, "--gate", "auto", "--fresh", NULL};
    struct terminal *terminal = terminal_start(argv, env, 120, 40);
    assert_true(terminal_wait(terminal, "? keys", true));
    terminal_type(terminal, "s");
    return terminal;
}

static void expect(struct terminal *terminal, const char *text) {
    if (!terminal_wait(terminal, text, true)) {
        fprintf(stderr, "'%s' does not show on:\n%s\n", text, terminal_screen(terminal));
        fail();
    }
}

/* Something may run; then it asks first. */
static void quit(struct terminal *terminal) {
    terminal_type(terminal, ":quit\r");
    terminal_type(terminal, "y");
    int status = terminal_wait_exit(terminal, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_false(terminal_is_alternate(terminal));
    terminal_free(terminal);
}

static void it_ends_while_an_answer_is_on_its_way(void **state) {
    struct terminal *terminal = start_with(*state, "stall");
    expect(terminal, "Keep w in SBUF");
    quit(terminal);
    terminal = start_with(*state, "silent");
    expect(terminal, "no answer yet");
    quit(terminal);
}

static void an_answer_is_given_up_by_a_key(void **state) {
    struct terminal *terminal = start_with(*state, "stall");
    expect(terminal, "Keep w in SBUF");
    terminal_type(terminal, "s");
    assert_true(terminal_wait(terminal, "Keep w in SBUF", false));
    quit(terminal);
}

static int holds_key(const char *path, const struct stat *info, int type, struct FTW *where) {
    size_t size = 0;
    struct err err = {0};
    (void)info;
    (void)where;
    char *text = type == FTW_F ? file_read(path, 0, &size, &err) : NULL;
    bool there = text && size && memmem(text, size, KEY, sizeof KEY - 1);
    free(text);
    if (there)
        print_error("%s holds the key\n", path);
    return there;
}

static void a_key_that_comes_back_is_nowhere(void **state) {
    struct place *place = *state;
    struct terminal *terminal = start_with(place, "echo-stream");
    expect(terminal, "no plan: echo-stream");
    terminal_type(terminal, "9\t"); /* the questions so far, and the answer of one */
    expect(terminal, "questions");
    terminal_type(terminal, "\r\t");
    expect(terminal, "[key]");
    assert_null(strstr(terminal_screen(terminal), KEY));
    quit(terminal);
    terminal = start_with(place, "echo");
    expect(terminal, "[key] is no key");
    assert_null(strstr(terminal_screen(terminal), KEY));
    quit(terminal);
    assert_int_equal(nftw(place->home, holds_key, 20, FTW_PHYS), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_while_an_answer_is_on_its_way),
        cmocka_unit_test(an_answer_is_given_up_by_a_key),
        cmocka_unit_test(a_key_that_comes_back_is_nowhere),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
