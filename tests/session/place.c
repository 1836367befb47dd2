/* SPDX-License-Identifier: Apache-2.0 */
/* A host as a person at a terminal sees it: it asks for its fingerprint and for a passphrase, is
 * connected, lost, declined and connected again, in the workbench and on the command line. The host
 * is a real SSH server on loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "hosts/lab.h"
#include "session/expect.h"

struct scene {
    struct lab *lab;
    struct sshd *sshd;
    char folder[300];
    const char *env[12];
};

static void put(const char *path, const char *text, size_t size) {
    struct err err = {0};
    char *folder = path_folder(path);
    if (!file_make_dirs(folder, &err) || !file_write(path, text, size, &err))
        fail_msg("%s", err.text);
    free(folder);
}

/* The seed's files. Nothing is evaluated here, so their size does not matter. */
static void make_task(const struct scene *scene) {
    static const char *const names[] = {"kernel.py", "reference.py"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char from[64], to[400];
        snprintf(from, sizeof from, "seeds/silu/%s", names[i]);
        snprintf(to, sizeof to, "%s/task/%s", scene->folder, names[i]);
        struct str text = embed_find(from);
        assert_non_null(text.at);
        put(to, text.at, text.len);
    }
}

static void make_config(const struct scene *scene) {
    struct buf text = {0};
    char *path = path_join(lab_home(scene->lab), ".config/hone/config.ini");
    buf_printf(&text, "[host trn2]\naddress = 127.0.0.1\nport = %d\nuser = %s\nidentity = %s\n",
               sshd_port(scene->sshd), lab_user(scene->lab), lab_key(scene->lab, "locked"));
    put(path, text.at, text.len);
    buf_free(&text);
    free(path);
}

static int scene_new(void **state) {
    struct scene *scene = mem_alloc(1, sizeof *scene);
    scene->lab = lab_new();
    scene->sshd = sshd_start(scene->lab, "server", &(struct sshd_options){.unknown = true});
    snprintf(scene->folder, sizeof scene->folder, "%s", lab_folder(scene->lab));
    const char *const env[] = {"TERM=xterm-256color", "LANG=C.UTF-8",    "LC_ALL=C.UTF-8",
                               "NO_COLOR=",           "HONE_ASCII=",     "XDG_STATE_HOME=",
                               "XDG_CONFIG_HOME=",    "XDG_CACHE_HOME=", NULL};
    memcpy(scene->env, env, sizeof env);
    make_task(scene);
    *state = scene;
    return chdir(scene->folder);
}

static int scene_end(void **state) {
    struct scene *scene = *state;
    int left = chdir("/");
    lab_free(scene->lab);
    free(scene);
    return left;
}

static struct terminal *start(const struct scene *scene, const char *const *args) {
    const char *argv[12] = {HONE_BINARY_DIR "/hone"};
    for (size_t i = 0; args[i]; i++)
        argv[i + 1] = args[i];
    return terminal_start(argv, scene->env, 120, 40);
}

/* Whether any file below the folder holds the text. */
static bool is_kept(const char *folder, const char *text) {
    bool found = false;
    struct dirent *entry;
    DIR *dir = opendir(folder);
    while (dir && !found && (entry = readdir(dir))) {
        struct stat st;
        struct err err;
        size_t size = 0;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        char *path = path_join(folder, entry->d_name);
        bool there = lstat(path, &st) == 0;
        char *data = there && S_ISREG(st.st_mode) ? file_read(path, 0, &size, &err) : NULL;
        found = (there && S_ISDIR(st.st_mode) && is_kept(path, text)) ||
                (data && memmem(data, size, text, strlen(text)));
        if (found && data)
            fprintf(stderr, "it is in %s\n", path);
        free(data);
        free(path);
    }
    if (dir)
        closedir(dir);
    return found;
}

static void answer_all(struct terminal *terminal, bool first_contact) {
    if (first_contact) {
        expect(terminal, "trn2 asks");
        expect(terminal, "SHA256:");
        terminal_type(terminal, "maybe\r");
        expect(terminal, "Please answer yes or no.");
        terminal_type(terminal, "yes\r");
    }
    expect(terminal, "passphrase");
    expect(terminal, "not shown, not kept");
    terminal_type(terminal, LAB_PASSPHRASE);
    expect(terminal, "•••••••••••");
    terminal_type(terminal, "\r");
}

static void the_workbench_asks_connects_and_connects_again(void **state) {
    struct scene *scene = *state;
    const char *const args[] = {"task", "--target", "trn2", NULL};
    make_config(scene);
    struct terminal *terminal = start(scene, args);
    answer_all(terminal, true);
    expect(terminal, "trn2 · ssh trn2 · ● connected");
    expect_gone(terminal, "trn2 asks");
    terminal_type(terminal, "4");
    expect(terminal, "127.0.0.1");
    sshd_kill(scene->sshd);
    expect(terminal, "! connection lost");
    expect(terminal, "next try in");
    expect(terminal, "t try again");
    sshd_restart(scene->sshd);
    terminal_type(terminal, "t");
    expect(terminal, "trn2 asks"); /* a passphrase is never kept */
    terminal_type(terminal, "\033");
    expect(terminal, "✗ not connected");
    terminal_type(terminal, ":retry\r");
    answer_all(terminal, false);
    expect(terminal, "● connected");
    terminal_type(terminal, "0");
    expect(terminal, "values of this session");
    terminal_type(terminal, ">");
    expect(terminal, "--target");
    terminal_type(terminal, "qq");
    int status = terminal_wait_exit(terminal, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    terminal_free(terminal);
    assert_false(is_kept(scene->folder, LAB_PASSPHRASE));
}

static void the_command_line_asks_without_echo(void **state) {
    struct scene *scene = *state;
    char address[80];
    snprintf(address, sizeof address, "%s@127.0.0.1:%d", lab_user(scene->lab),
             sshd_port(scene->sshd));
    const char *const args[] = {
        "host", "add", "trn2", address, "--identity", lab_key(scene->lab, "locked"), NULL};
    struct terminal *terminal = start(scene, args);
    expect(terminal, "SHA256:");
    terminal_type(terminal, "\r");
    expect(terminal, "Please answer yes or no.");
    terminal_type(terminal, "yes\r");
    expect(terminal, "(not shown):");
    terminal_type(terminal, LAB_PASSPHRASE "\r");
    int status = terminal_wait_exit(terminal, false);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s", terminal_screen(terminal));
    expect(terminal, "Next: hone host doctor trn2");
    assert_null(strstr(terminal_screen(terminal), LAB_PASSPHRASE));
    terminal_free(terminal);
    assert_false(is_kept(scene->folder, LAB_PASSPHRASE));
    const char *const list[] = {"host", "list", NULL};
    terminal = start(scene, list);
    expect(terminal, "connected");
    terminal_free(terminal);
}

static void a_declined_question_is_a_clear_failure(void **state) {
    struct scene *scene = *state;
    make_config(scene);
    const char *const args[] = {"host", "doctor", "trn2", NULL};
    struct terminal *terminal = start(scene, args);
    expect(terminal, "SHA256:");
    terminal_type(terminal, "no\r");
    int status = terminal_wait_exit(terminal, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    expect(terminal, "FAILED");
    expect(terminal, "connection");
    terminal_free(terminal);
}

/* Standard input is the terminal too, and waits for decisions. The question comes first. */
static void a_run_without_a_screen_asks_as_well(void **state) {
    struct scene *scene = *state;
    make_config(scene);
    const char *const args[] = {"run", "task",   "--target", "trn2", "--rounds",
                                "1",   "--gate", "ask",      NULL};
    struct terminal *terminal = start(scene, args);
    expect(terminal, "SHA256:");
    terminal_type(terminal, "yes\r");
    expect(terminal, "(not shown):");
    terminal_type(terminal, LAB_PASSPHRASE "\r");
    expect(terminal, "connected");
    expect(terminal, "no Python environment"); /* the server is no Trainium host */
    int status = terminal_wait_exit(terminal, false);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    assert_null(strstr(terminal_screen(terminal), LAB_PASSPHRASE));
    terminal_free(terminal);
    assert_false(is_kept(scene->folder, LAB_PASSPHRASE));
}

static void an_interrupted_question_leaves_the_terminal_as_it_was(void **state) {
    struct scene *scene = *state;
    make_config(scene);
    const char *const argv[] = {"bash", "-c",
                                HONE_BINARY_DIR "/hone host doctor trn2; echo status $?;"
                                                "stty -a | grep -wq -- -echo || echo it echoes",
                                NULL};
    struct terminal *terminal = terminal_start(argv, scene->env, 120, 40);
    expect(terminal, "SHA256:");
    terminal_type(terminal, "yes\r");
    expect(terminal, "(not shown):");
    terminal_type(terminal, "open\003");
    expect(terminal, "status 130");
    expect(terminal, "it echoes");
    terminal_free(terminal);
}

int main(void) {
    if (lab_missing()) {
        printf("skipped: %s\n", lab_missing());
        return 77;
    }
#define ROW(test) cmocka_unit_test_setup_teardown(test, scene_new, scene_end)
    const struct CMUnitTest tests[] = {
        ROW(the_workbench_asks_connects_and_connects_again),
        ROW(the_command_line_asks_without_echo),
        ROW(a_declined_question_is_a_clear_failure),
        ROW(a_run_without_a_screen_asks_as_well),
        ROW(an_interrupted_question_leaves_the_terminal_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
