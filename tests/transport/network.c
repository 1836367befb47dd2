/* SPDX-License-Identifier: Apache-2.0 */
/* network WAY: a network that is cut and comes back. This process and the server have network
 * namespaces of their own, with one cable between them, so that nothing of the machine's network is
 * touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "transport/scene.h"

#define HERE "10.77.0.1/24"
#define THERE "10.77.0.2"

static const char *way;

static bool run(struct lab *lab, const char *const *argv) {
    if (lab_run(lab, argv))
        return true;
    fprintf(stderr, "%s %s %s failed\n", argv[0], argv[1], argv[2]);
    return false;
}

static bool ip(struct lab *lab, const char *a, const char *b, const char *c, const char *d) {
    return run(lab, (const char *[]){"ip", "link", "set", a, b, c, d, NULL});
}

static void wait_for_namespace(pid_t pid) {
    char path[64], theirs[64], ours[64];
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    ssize_t own = readlink("/proc/self/ns/net", ours, sizeof ours);
    for (int i = 0; i < 4000; i++) {
        ssize_t n = readlink(path, theirs, sizeof theirs);
        if (n > 0 && (n != own || memcmp(theirs, ours, (size_t)n) != 0))
            return;
        usleep(2000);
    }
    fail_msg("no second network namespace");
}

/* The far end, held by a process that sleeps. */
static pid_t make_cable(struct lab *lab) {
    const char *hold[] = {"unshare", "--net", "sleep", "100000", NULL};
    pid_t pid = lab_start(lab, hold, NULL, 0);
    char of[16];
    snprintf(of, sizeof of, "%d", (int)pid);
    wait_for_namespace(pid);
    assert_true(ip(lab, "lo", "up", NULL, NULL));
    assert_true(run(lab, (const char *[]){"ip", "link", "add", "near", "type", "veth", "peer",
                                          "name", "far", "netns", of, NULL}));
    assert_true(run(lab, (const char *[]){"ip", "addr", "add", HERE, "dev", "near", NULL}));
    assert_true(ip(lab, "near", "up", NULL, NULL));
    assert_true(run(lab, (const char *[]){"nsenter", "-t", of, "-n", "ip", "addr", "add",
                                          THERE "/24", "dev", "far", NULL}));
    assert_true(run(
        lab, (const char *[]){"nsenter", "-t", of, "-n", "ip", "link", "set", "far", "up", NULL}));
    return pid;
}

static void a_cut_network_is_noticed_and_another_connection_works(void **state) {
    (void)state;
    struct scene scene = {.way = way};
    scene.lab = lab_new();
    scene.loop = loop_new();
    pid_t far = make_cable(scene.lab);
    scene.sshd =
        sshd_start(scene.lab, SCENE_HOST, &(struct sshd_options){.listen = THERE, .netns_of = far});
    scene.home = mem_strdup(sshd_home(scene.sshd));
    struct transport_host host = {.keepalive_s = 1, .connect_limit_s = 2};
    struct outcome outcome;
    if (!scene_connect(&scene, &host))
        fail_msg("no connection: %s", scene.why.text);
    const char *argv[] = {"sh", "-c", "while :; do echo on; sleep 0.1; done", NULL};
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    scene_start(&scene, &outcome, &spec);
    bool never = false;
    while (outcome.lines < 3)
        loop_run_until(scene.loop, &never, 5);
    assert_true(ip(scene.lab, "near", "down", NULL, NULL));
    scene_wait(&scene, &scene.closed);
    assert_true(outcome.done);
    assert_int_equal(outcome.exit.end, TRANSPORT_LOST);
    assert_int_equal(scene.why.kind, ERR_ENVIRONMENT);
    scene_disconnect(&scene);
    assert_false(scene_connect(&scene, &host));
    assert_int_equal(scene.why.kind, ERR_ENVIRONMENT);
    scene_disconnect(&scene);
    assert_true(ip(scene.lab, "near", "up", NULL, NULL));
    assert_true(scene_connect(&scene, &host));
    outcome_free(&outcome);
    scene_shell(&scene, &outcome, "echo back");
    assert_string_equal(outcome.out.at, "back|");
    outcome_free(&outcome);
    scene_end(&scene);
}

static const char *what_is_missing(void) {
    if (lab_missing())
        return lab_missing();
    if (system("command -v ip unshare nsenter >/dev/null 2>&1") != 0)
        return "no ip, unshare or nsenter (iproute2, util-linux)";
    if (unshare(CLONE_NEWNET) != 0)
        return "no network namespace of one's own without the capability (CAP_SYS_ADMIN)";
    return NULL;
}

int main(int argc, char **argv) {
    const char *missing = what_is_missing();
    if (missing) {
        fprintf(stderr, "skipped: %s\n", missing);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_network_is_noticed_and_another_connection_works),
    };
    way = argc > 1 ? argv[1] : "ssh";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
