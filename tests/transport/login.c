/* SPDX-License-Identifier: Apache-2.0 */
/* Logging in over libssh2 with what a person answers, and with keys that the agent and the files do
 * not open at once. The server is a real sshd whose PAM is a stand-in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/fake_pam.h"
#include "transport/scene.h"

static const char password_only[] =
    "UsePAM yes\nPasswordAuthentication yes\nPubkeyAuthentication no\n"
    "KbdInteractiveAuthentication no\n";
static const char questions_only[] = "UsePAM yes\nPubkeyAuthentication no\n"
                                     "KbdInteractiveAuthentication yes\n";
static const char both_needed[] = "UsePAM yes\nKbdInteractiveAuthentication yes\n"
                                  "AuthenticationMethods publickey,keyboard-interactive\n";

static void begin(struct scene *scene, const char *config) {
    setenv("LD_PRELOAD", FAKE_PAM, 1);
    scene_begin(scene, "libssh2", &(struct sshd_options){.config = config});
    unsetenv("LD_PRELOAD");
}

static void assert_works(struct scene *scene) {
    struct outcome outcome;
    scene_shell(scene, &outcome, "echo in");
    assert_string_equal(outcome.out.at, "in|");
    outcome_free(&outcome);
}

static void assert_reached(struct scene *scene) {
    if (!scene_connect(scene, NULL)) {
        char *log = sshd_log(scene->sshd);
        fail_msg("no connection: %s\n%s", scene->why.text, log);
    }
    assert_works(scene);
}

static void a_password_is_asked_for_until_it_is_right(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, password_only);
    scene.answers[0] = "wrong";
    scene.answers[1] = FAKE_PASSWORD;
    assert_reached(&scene);
    assert_int_equal(scene.asked, 2);
    assert_int_equal(scene.last_ask, TRANSPORT_ASK_PASSWORD);
    assert_non_null(strstr(scene.questions.at, "That was not the password"));
    assert_non_null(strstr(transport_describe(scene.transport), "password"));
    scene_end(&scene);
}

static void a_wrong_password_ends_after_three_tries(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, password_only);
    scene.answers[0] = scene.answers[1] = scene.answers[2] = scene.answers[3] = "wrong";
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.asked, 3);
    assert_int_equal(scene.why.kind, ERR_USAGE);
    scene_disconnect(&scene);
    scene.answers[0] = NULL;
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.asked, 1);
    assert_int_equal(scene.why.kind, ERR_CANCELLED);
    scene_end(&scene);
}

static void the_servers_own_questions_are_passed_on(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, questions_only);
    scene.answers[0] = FAKE_PASSWORD;
    scene.answers[1] = FAKE_CODE;
    assert_reached(&scene);
    assert_int_equal(scene.asked, 2);
    assert_non_null(strstr(scene.questions.at, "Password:"));
    assert_non_null(strstr(scene.questions.at, "Code:"));
    scene_disconnect(&scene);
    scene.answers[0] = scene.answers[1] = scene.answers[2] = "wrong";
    scene.answers[3] = NULL;
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.asked, 3);
    assert_int_equal(scene.why.kind, ERR_USAGE);
    scene_disconnect(&scene);
    scene.answers[0] = NULL;
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.why.kind, ERR_CANCELLED);
    scene_end(&scene);
}

static void a_key_may_be_the_first_of_two_factors(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, both_needed);
    scene.answers[0] = FAKE_PASSWORD;
    scene.answers[1] = FAKE_CODE;
    assert_reached(&scene);
    assert_int_equal(scene.asked, 2);
    scene_end(&scene);
}

/* ------------------------------------------------------------- closing while something is open */

struct patient {
    bool asked;
    struct transport *transport;
};

static void note_question(void *data, const struct transport_question *question) {
    (void)question;
    ((struct patient *)data)->asked = true;
}

static void never_closed(void *data, const struct err *why) {
    (void)data;
    fail_msg("closed: %s", why->text);
}

static void assert_closes_while_asked(struct scene *scene, const char *identity) {
    struct patient patient = {0};
    struct transport_callbacks callbacks = {
        .on_question = note_question, .on_closed = never_closed, .data = &patient};
    struct transport_host host = {.name = SCENE_HOST,
                                  .client = "libssh2",
                                  .identity = identity,
                                  .known_hosts = lab_known_hosts(scene->lab)};
    struct err err;
    patient.transport = transport_open_ssh(scene->loop, &host, &callbacks, &err);
    assert_non_null(patient.transport);
    scene_wait(scene, &patient.asked);
    transport_close(patient.transport);
}

static void a_connection_that_waits_for_an_answer_can_be_closed(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, questions_only);
    assert_closes_while_asked(&scene, NULL);
    scene_end(&scene);
    begin(&scene, password_only);
    assert_closes_while_asked(&scene, NULL);
    scene_end(&scene);
    begin(&scene, NULL);
    assert_closes_while_asked(&scene, lab_key(scene.lab, "locked"));
    scene_end(&scene);
}

static void a_server_that_dies_while_a_question_is_open_ends_it(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, questions_only);
    struct patient patient = {0};
    struct transport_host host = {
        .name = SCENE_HOST, .client = "libssh2", .known_hosts = lab_known_hosts(scene.lab)};
    struct transport_callbacks callbacks = {.on_question = note_question, .data = &patient};
    struct err err;
    patient.transport = transport_open_ssh(scene.loop, &host, &callbacks, &err);
    scene_wait(&scene, &patient.asked);
    sshd_kill(scene.sshd);
    transport_answer(patient.transport, "late");
    bool never = false;
    loop_run_until(scene.loop, &never, 200);
    transport_close(patient.transport);
    scene_end(&scene);
}

/* --------------------------------------------------------------------------------- the agent */

static void an_agent_that_is_gone_leaves_the_key_files(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, NULL);
    setenv("SSH_AUTH_SOCK", "/nonexistent/agent", 1);
    assert_reached(&scene);
    assert_non_null(strstr(scene.notes.at, "ssh-agent"));
    unsetenv("SSH_AUTH_SOCK");
    scene_end(&scene);
}

/* A socket that takes connections and says nothing. */
static int listen_silently(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void a_silent_agent_does_not_hold_up_closing(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, NULL);
    char *path = lab_path(scene.lab, "silent");
    int fd = listen_silently(path);
    setenv("SSH_AUTH_SOCK", path, 1);
    struct transport_callbacks callbacks = {.on_closed = never_closed};
    struct transport_host host = {
        .name = SCENE_HOST, .client = "libssh2", .known_hosts = lab_known_hosts(scene.lab)};
    struct err err;
    struct transport *transport = transport_open_ssh(scene.loop, &host, &callbacks, &err);
    assert_non_null(transport);
    struct pollfd asked = {.fd = fd, .events = POLLIN};
    while (poll(&asked, 1, 0) == 0) {
        bool never = false;
        loop_run_until(scene.loop, &never, 5);
    }
    transport_close(transport);
    close(fd);
    free(path);
    unsetenv("SSH_AUTH_SOCK");
    scene_end(&scene);
}

int main(void) {
    if (lab_missing()) {
        fprintf(stderr, "skipped: %s\n", lab_missing());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_is_asked_for_until_it_is_right),
        cmocka_unit_test(a_wrong_password_ends_after_three_tries),
        cmocka_unit_test(the_servers_own_questions_are_passed_on),
        cmocka_unit_test(a_key_may_be_the_first_of_two_factors),
        cmocka_unit_test(a_connection_that_waits_for_an_answer_can_be_closed),
        cmocka_unit_test(a_server_that_dies_while_a_question_is_open_ends_it),
        cmocka_unit_test(an_agent_that_is_gone_leaves_the_key_files),
        cmocka_unit_test(a_silent_agent_does_not_hold_up_closing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
