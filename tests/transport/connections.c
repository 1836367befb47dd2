/* SPDX-License-Identifier: Apache-2.0 */
/* connections WAY: what becomes of connections over SSH: keys and questions, wrong words, servers
 * that go, lines that stall. It is the same for libssh2 and for the system's ssh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "transport/scene.h"

static const char *way;

/* libssh2 1.10 leaves two numbers of OpenSSL behind with every ECDSA signature. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:CRYPTO_zalloc\n";
}

static void begin(struct scene *scene, const struct sshd_options *options) {
    scene_begin(scene, way, options);
}

static void expect(struct scene *scene, const struct transport_host *host, enum err_kind kind,
                   const char *words) {
    assert_false(scene_connect(scene, host));
    if (scene->why.kind != kind || !strstr(scene->why.text, words))
        fail_msg("kind %d instead of %d, or not about \"%s\": %s", (int)scene->why.kind, (int)kind,
                 words, scene->why.text);
    scene_disconnect(scene);
}

static void must_connect(struct scene *scene, const struct transport_host *host) {
    if (!scene_connect(scene, host))
        fail_msg("no connection: %s", scene->why.text);
}

/* ---------------------------------------------------------------------------------- logging in */

static void a_key_file_logs_in_without_a_word(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    must_connect(&scene, NULL);
    assert_int_equal(scene.asked, 0);
    assert_non_null(strstr(transport_describe(scene.transport), lab_user(scene.lab)));
    scene_disconnect(&scene);
    struct transport_host ecdsa = {.identity = lab_key(scene.lab, "ecdsa")};
    must_connect(&scene, &ecdsa);
    assert_int_equal(scene.asked, 0);
    scene_end(&scene);
}

static void everything_may_be_said_without_a_configuration(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    char *empty = lab_path(scene.lab, "empty");
    struct err err;
    assert_true(file_write(empty, "", 0, &err));
    struct transport_host host = {.name = "any-name",
                                  .host = "127.0.0.1",
                                  .port = sshd_port(scene.sshd),
                                  .user = lab_user(scene.lab),
                                  .identity = lab_key(scene.lab, "ed25519"),
                                  .ssh_config = empty};
    must_connect(&scene, &host);
    assert_int_equal(scene.asked, 0);
    free(empty);
    scene_end(&scene);
}

static void the_agent_logs_in(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    lab_start_agent(scene.lab, "ecdsa");
    /* The only key file that is named is one that no server knows. */
    struct transport_host host = {.name = "agent"};
    lab_add_config(scene.lab,
                   "Host agent\n  HostName 127.0.0.1\n  Port %d\n  User %s\n"
                   "  IdentityFile %s\n",
                   sshd_port(scene.sshd), lab_user(scene.lab), lab_key(scene.lab, "stranger"));
    must_connect(&scene, &host);
    assert_int_equal(scene.asked, 0);
    unsetenv("SSH_AUTH_SOCK");
    scene_end(&scene);
}

static void a_locked_key_asks_for_its_passphrase(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    lab_add_config(scene.lab,
                   "Host locked\n  HostName 127.0.0.1\n  Port %d\n  User %s\n"
                   "  IdentityFile %s\n  IdentitiesOnly yes\n",
                   sshd_port(scene.sshd), lab_user(scene.lab), lab_key(scene.lab, "locked"));
    struct transport_host host = {.name = "locked"};
    scene.answers[0] = "wrong one";
    scene.answers[1] = LAB_PASSPHRASE;
    must_connect(&scene, &host);
    assert_int_equal(scene.asked, 2);
    assert_int_equal(scene.last_ask, TRANSPORT_ASK_PASSPHRASE);
    assert_non_null(strstr(scene.questions.at, "id_locked"));
    scene_disconnect(&scene);

    scene.answers[0] = NULL; /* declined */
    expect(&scene, &host, ERR_CANCELLED, "locked");
    for (int i = 0; i < 4; i++)
        scene.answers[i] = "wrong";
    expect(&scene, &host, ERR_USAGE, "locked");
    scene_end(&scene);
}

/* ----------------------------------------------------------------------------------- host keys */

static void an_unknown_host_key_is_asked_about_and_remembered(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, &(struct sshd_options){.unknown = true});
    scene.answers[0] = NULL;
    expect(&scene, NULL, ERR_CANCELLED, SCENE_HOST);
    scene.answers[0] = "no";
    expect(&scene, NULL, ERR_CANCELLED, SCENE_HOST);
    scene.answers[0] = "maybe"; /* neither yes nor no: asked again, but not forever */
    scene.answers[1] = "";
    scene.answers[2] = "what?";
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.asked, 3);
    assert_non_null(strstr(scene.questions.at, "Please answer yes or no. The"));
    assert_int_equal(scene.why.kind, ERR_CANCELLED);
    scene_disconnect(&scene);
    scene.answers[1] = NULL;
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.asked, 2);
    scene_disconnect(&scene);
    scene.answers[1] = " Yes ";
    must_connect(&scene, NULL);
    assert_int_equal(scene.asked, 2);
    assert_int_equal(scene.last_ask, TRANSPORT_ASK_HOST_KEY);
    assert_non_null(strstr(scene.questions.at, "SHA256:"));
    scene_disconnect(&scene);
    must_connect(&scene, NULL);
    assert_int_equal(scene.asked, 0);
    scene_end(&scene);
}

static void a_changed_host_key_refuses(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    sshd_power_off(scene.sshd);
    sshd_change_keys(scene.sshd);
    sshd_restart(scene.sshd);
    scene.answers[0] = "yes";
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.asked, 0);
    assert_int_equal(scene.why.kind, ERR_USAGE);
    assert_non_null(strstr(scene.why.text, "known_hosts"));
    scene_end(&scene);
}

/* --------------------------------------------------------------------------------- wrong words */

static void wrong_words_are_told_apart(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    struct transport_host stranger = {.name = "stranger"}, port = {.port = lab_free_port()};
    struct transport_host name = {.host = "no-such-host.invalid"}, user = {.user = "nobody-at-all"};
    lab_add_config(scene.lab,
                   "Host stranger\n  HostName 127.0.0.1\n  Port %d\n  User %s\n"
                   "  IdentityFile %s\n  IdentitiesOnly yes\n",
                   sshd_port(scene.sshd), lab_user(scene.lab), lab_key(scene.lab, "stranger"));
    expect(&scene, &stranger, ERR_USAGE, "stranger");
    expect(&scene, &user, ERR_USAGE, SCENE_HOST);
    expect(&scene, &port, ERR_ENVIRONMENT, "refuse");
    assert_false(scene_connect(&scene, &name)); /* which of the two depends on the resolver */
    assert_true(scene.why.kind == ERR_USAGE || scene.why.kind == ERR_ENVIRONMENT);
    assert_non_null(strstr(scene.why.text, "no-such-host.invalid"));
    scene_end(&scene);
}

static void what_cannot_be_meant_is_not_opened(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    static const struct transport_host wrong[] = {
        {.name = "a", .port = 70000},
        {.name = "a", .client = "putty"},
        {.name = ""},
        {.name = NULL},
        {.name = "-oProxyCommand=x"},
        {.name = "two words"},
        {.name = "a", .user = "-l"},
        {.name = "a", .ssh_config = "/no/such/config"},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct err err = {0};
        static const struct transport_callbacks none = {0};
        assert_null(transport_open_ssh(scene.loop, &wrong[i], &none, &err));
        assert_int_equal(err.kind, ERR_USAGE);
        assert_true(err.text[0]);
    }
    scene_end(&scene);
}

/* -------------------------------------------------------------------------------- bad networks */

static void a_killed_server_ends_everything_and_another_connection_works(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    must_connect(&scene, NULL);
    const char *argv[] = {"sh", "-c", "echo on; exec sleep 1000", NULL};
    struct outcome outcomes[3];
    for (int i = 0; i < 3; i++) {
        struct transport_command_spec spec = scene_spec(&outcomes[i], argv, LOOP_LINES);
        scene_start(&scene, &outcomes[i], &spec);
    }
    bool never = false;
    while (!outcomes[0].lines || !outcomes[1].lines || !outcomes[2].lines)
        loop_run_until(scene.loop, &never, 5);
    sshd_kill(scene.sshd);
    scene_wait(&scene, &scene.closed);
    for (int i = 0; i < 3; i++) {
        assert_true(outcomes[i].done);
        assert_int_equal(outcomes[i].exit.end, TRANSPORT_LOST);
        assert_int_not_equal(outcomes[i].exit.err.kind, ERR_NONE);
        outcome_free(&outcomes[i]);
    }
    assert_int_equal(scene.why.kind, ERR_ENVIRONMENT);
    struct outcome outcome;
    struct err err = {0};
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    assert_null(transport_command_start(scene.transport, &spec, &err));
    assert_int_equal(err.kind, ERR_ENVIRONMENT);
    scene_disconnect(&scene);
    expect(&scene, NULL, ERR_ENVIRONMENT, "refuse");
    sshd_restart(scene.sshd);
    must_connect(&scene, NULL);
    scene_shell(&scene, &outcome, "echo again");
    assert_string_equal(outcome.out.at, "again|");
    outcome_free(&outcome);
    scene_end(&scene);
}

static void a_server_that_stops_answering_is_noticed(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, &(struct sshd_options){.unknown = true});
    struct relay *relay = relay_start(scene.lab, sshd_port(scene.sshd));
    struct transport_host host = {
        .port = relay_port(relay), .keepalive_s = 1, .connect_limit_s = 2};
    scene.answers[0] = "yes";
    must_connect(&scene, &host);
    struct outcome outcome;
    const char *argv[] = {"sleep", "1000", NULL};
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    scene_start(&scene, &outcome, &spec);
    relay_stall(relay, true);
    scene_wait(&scene, &scene.closed);
    assert_true(outcome.done);
    assert_int_equal(outcome.exit.end, TRANSPORT_LOST);
    assert_int_equal(scene.why.kind, ERR_ENVIRONMENT);
    scene_disconnect(&scene);
    expect(&scene, &host, ERR_ENVIRONMENT, SCENE_HOST); /* no answer at all: the limit */
    relay_stall(relay, false);
    must_connect(&scene, &host);
    relay_cut(relay, true);
    scene_wait(&scene, &scene.closed);
    assert_int_equal(scene.why.kind, ERR_ENVIRONMENT);
    outcome_free(&outcome);
    scene_end(&scene);
}

static void a_thin_line_is_slow_and_right(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, &(struct sshd_options){.unknown = true});
    struct relay *relay = relay_start(scene.lab, sshd_port(scene.sshd));
    struct transport_host host = {.port = relay_port(relay), .keepalive_s = 5};
    scene.answers[0] = "yes";
    must_connect(&scene, &host);
    relay_throttle(relay, 20000);
    struct outcome outcome;
    const char *argv[] = {"sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i+1)); done",
                          NULL};
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    scene_start(&scene, &outcome, &spec);
    struct err why, err;
    char *data = mem_alloc(1, 24000), *back = lab_path(scene.lab, "back");
    for (size_t i = 0; i < 24000; i++)
        data[i] = (char)(i * i >> 3);
    scene_copy(&scene,
               &(struct transport_copy_spec){
                   .kind = TRANSPORT_PUT, .remote = "slow", .data = data, .size = 24000},
               &why);
    assert_string_equal(why.text, "");
    scene_wait(&scene, &outcome.done);
    assert_int_equal(outcome.lines, 3000);
    scene_copy(
        &scene,
        &(struct transport_copy_spec){.kind = TRANSPORT_GET, .remote = "slow", .local = back},
        &why);
    assert_string_equal(why.text, "");
    size_t size;
    char *there = file_read(back, 0, &size, &err);
    assert_int_equal(size, 24000);
    assert_memory_equal(there, data, 24000);
    outcome_free(&outcome);
    free(there);
    free(data);
    free(back);
    scene_end(&scene);
}

static void a_connection_that_is_being_made_can_be_closed(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, NULL);
    struct relay *relay = relay_start(scene.lab, sshd_port(scene.sshd));
    relay_stall(relay, true);
    struct transport_host host = {.name = SCENE_HOST,
                                  .port = relay_port(relay),
                                  .client = way,
                                  .ssh_config = lab_ssh_config(scene.lab),
                                  .known_hosts = lab_known_hosts(scene.lab)};
    static const struct transport_callbacks none = {0};
    struct err err;
    bool never = false;
    for (uint64_t ms = 1; ms < 400; ms *= 4) {
        struct transport *transport = transport_open_ssh(scene.loop, &host, &none, &err);
        assert_non_null(transport);
        loop_run_until(scene.loop, &never, ms);
        transport_close(transport);
    }
    scene_end(&scene);
}

int main(int argc, char **argv) {
    if (lab_missing()) {
        fprintf(stderr, "skipped: %s\n", lab_missing());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_file_logs_in_without_a_word),
        cmocka_unit_test(everything_may_be_said_without_a_configuration),
        cmocka_unit_test(the_agent_logs_in),
        cmocka_unit_test(a_locked_key_asks_for_its_passphrase),
        cmocka_unit_test(an_unknown_host_key_is_asked_about_and_remembered),
        cmocka_unit_test(a_changed_host_key_refuses),
        cmocka_unit_test(wrong_words_are_told_apart),
        cmocka_unit_test(what_cannot_be_meant_is_not_opened),
        cmocka_unit_test(a_killed_server_ends_everything_and_another_connection_works),
        cmocka_unit_test(a_server_that_stops_answering_is_noticed),
        cmocka_unit_test(a_thin_line_is_slow_and_right),
        cmocka_unit_test(a_connection_that_is_being_made_can_be_closed),
    };
    way = argc > 1 ? argv[1] : "ssh";
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
