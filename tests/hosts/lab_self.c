/* SPDX-License-Identifier: Apache-2.0 */
/* The lab does what tests rely on, as seen with the system's own ssh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "hosts/lab.h"

static bool ssh(struct lab *lab, const char *host, const char *command) {
    char known[300];
    snprintf(known, sizeof known, "-oUserKnownHostsFile=%s", lab_known_hosts(lab));
    const char *argv[] = {"ssh",
                          "-F",
                          lab_ssh_config(lab),
                          "-oBatchMode=yes",
                          "-oStrictHostKeyChecking=yes",
                          known,
                          host,
                          command,
                          NULL};
    return lab_run(lab, argv);
}

static void every_server_has_a_home_of_its_own(void **state) {
    (void)state;
    struct lab *lab = lab_new();
    struct sshd *one = sshd_start(lab, "one", NULL);
    sshd_start(lab, "two", NULL);
    assert_true(ssh(lab, "one", "test \"$PWD\" = \"$HOME\" && echo 1 > mark"));
    assert_true(ssh(lab, "two", "test ! -e mark"));
    char *mark = path_join(sshd_home(one), "mark");
    assert_true(file_exists(mark));
    free(mark);
    lab_free(lab);
}

static void a_killed_server_comes_back_on_its_port(void **state) {
    (void)state;
    struct lab *lab = lab_new();
    struct sshd *sshd = sshd_start(lab, "one", NULL);
    sshd_kill(sshd);
    assert_false(ssh(lab, "one", "true"));
    sshd_restart(sshd);
    assert_true(ssh(lab, "one", "true"));
    sshd_power_off(sshd);
    sshd_change_keys(sshd);
    sshd_restart(sshd);
    assert_false(ssh(lab, "one", "true")); /* another host key */
    lab_free(lab);
}

static void a_relay_passes_cuts_and_restores(void **state) {
    (void)state;
    struct lab *lab = lab_new();
    struct sshd *sshd = sshd_start(lab, "one", &(struct sshd_options){.unknown = true});
    struct relay *relay = relay_start(lab, sshd_port(sshd));
    char port[32];
    snprintf(port, sizeof port, "-oPort=%d", relay_port(relay));
    const char *argv[] = {"ssh",
                          "-F",
                          lab_ssh_config(lab),
                          "-oUserKnownHostsFile=/dev/null",
                          "-oStrictHostKeyChecking=no",
                          port,
                          "one",
                          "true",
                          NULL};
    assert_true(lab_run(lab, argv));
    assert_true(relay_bytes(relay) > 1000);
    relay_cut(relay, true);
    assert_false(lab_run(lab, argv));
    relay_cut(relay, false);
    relay_throttle(relay, 20000);
    assert_true(lab_run(lab, argv));
    lab_free(lab);
}

/* A process on the host leaves its session and its parent, while the test is killed. */
static void nothing_survives_a_test_that_dies(void **state) {
    (void)state;
    int news[2];
    assert_int_equal(pipe(news), 0);
    pid_t test = fork();
    if (test == 0) {
        struct lab *lab = lab_new();
        sshd_start(lab, "one", NULL);
        char *mark = lab_path(lab, "one/home/mark");
        if (!ssh(lab, "one",
                 "setsid sh -c 'echo $$ > mark; exec sleep 1000' "
                 ">/dev/null 2>&1 </dev/null & while ! test -s mark; do :; done"))
            _exit(1);
        char *pid = file_read(mark, 0, NULL, NULL);
        dprintf(news[1], "%ld %s\n", strtol(pid, NULL, 10), lab_folder(lab));
        raise(SIGKILL);
    }
    close(news[1]);
    char line[512] = "", folder[256];
    int pid = 0;
    assert_true(read(news[0], line, sizeof line - 1) > 0);
    assert_int_equal(sscanf(line, "%d %255s", &pid, folder), 2);
    waitpid(test, NULL, 0);
    for (int i = 0; i < 2000 && (kill(pid, 0) == 0 || file_exists(folder)); i++)
        usleep(5000);
    assert_true(kill(pid, 0) != 0);
    assert_false(file_exists(folder));
    close(news[0]);
}

int main(void) {
    if (lab_missing()) {
        fprintf(stderr, "skipped: %s\n", lab_missing());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_server_has_a_home_of_its_own),
        cmocka_unit_test(a_killed_server_comes_back_on_its_port),
        cmocka_unit_test(a_relay_passes_cuts_and_restores),
        cmocka_unit_test(nothing_survives_a_test_that_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
