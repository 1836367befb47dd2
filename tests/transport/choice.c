/* SPDX-License-Identifier: Apache-2.0 */
/* Which way is chosen for which host, and that a note says so; what only the system's ssh can
 * do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/libssh2.h"
#include "transport/scene.h"

static void says_hello(struct scene *scene) {
    struct outcome outcome;
    scene_shell(scene, &outcome, "echo hello");
    assert_string_equal(outcome.out.at, "hello|");
    outcome_free(&outcome);
}

static void must_connect(struct scene *scene, const struct transport_host *host) {
    if (!scene_connect(scene, host))
        fail_msg("no connection: %s", scene->why.text);
    says_hello(scene);
}

static bool noted(const struct scene *scene, const char *words) {
    return scene->notes.at && strstr(scene->notes.at, words);
}

/* libssh2 before 1.11 has neither RSA with SHA-2, nor the newer ciphers and MACs. */
static bool is_old(void) {
    return !libssh2_version(0x010b00);
}

static bool by_client(const struct scene *scene) {
    return strstr(transport_describe(scene->transport), "the system's ssh") != NULL;
}

/* A host that is reached through SCENE_HOST. */
static struct sshd *behind(struct scene *scene, const char *name) {
    struct sshd *sshd = sshd_start(scene->lab, name, NULL);
    lab_add_config(scene->lab, "  ProxyJump %s\n", SCENE_HOST);
    return sshd;
}

static void libssh2_is_taken_where_it_can(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    must_connect(&scene, NULL);
    assert_false(by_client(&scene));
    assert_int_equal(scene.notes.len, 0);
    scene_end(&scene);
}

static void an_rsa_key_is_used_all_the_same(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    lab_add_config(scene.lab,
                   "Host rsa\n  HostName 127.0.0.1\n  Port %d\n  User %s\n"
                   "  IdentityFile %s\n",
                   sshd_port(scene.sshd), lab_user(scene.lab), lab_key(scene.lab, "rsa"));
    struct transport_host host = {.name = "rsa"};
    must_connect(&scene, &host);
    if (is_old()) {
        assert_true(by_client(&scene));
        assert_true(noted(&scene, "the system's ssh is used for rsa"));
        assert_true(noted(&scene, "RSA"));
    }
    scene_end(&scene);
}

static void a_jump_host_is_passed_through_and_said(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    struct sshd *inner = behind(&scene, "inner");
    struct transport_host host = {.name = "inner"};
    must_connect(&scene, &host);
    assert_true(by_client(&scene));
    assert_true(noted(&scene, "the system's ssh is used for inner"));
    assert_true(noted(&scene, "jump host"));
    char *log = sshd_log(inner), *jump = sshd_log(scene.sshd);
    assert_non_null(strstr(log, "Accepted publickey"));
    assert_non_null(strstr(jump, "Accepted publickey"));
    free(log);
    free(jump);
    scene_disconnect(&scene);
    sshd_kill(scene.sshd); /* the jump host is gone */
    assert_false(scene_connect(&scene, &host));
    assert_int_equal(scene.why.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(scene.why.text, "jump host"));
    scene_end(&scene);
}

static void a_jump_host_asks_its_own_questions(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", &(struct sshd_options){.unknown = true});
    sshd_start(scene.lab, "inner", &(struct sshd_options){.unknown = true});
    lab_add_config(scene.lab, "  ProxyJump %s\n", SCENE_HOST);
    struct transport_host host = {.name = "inner"};
    scene.answers[0] = scene.answers[1] = "yes";
    must_connect(&scene, &host);
    assert_int_equal(scene.asked, 2);
    scene_disconnect(&scene);
    must_connect(&scene, &host);
    assert_int_equal(scene.asked, 0);
    scene_end(&scene);
}

static void a_proxy_command_is_honoured(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    lab_add_config(scene.lab,
                   "Host by-command\n  HostName 127.0.0.1\n  Port %d\n  User %s\n"
                   "  IdentityFile %s\n  ProxyCommand ssh -F %s -W %%h:%%p %s\n",
                   sshd_port(scene.sshd), lab_user(scene.lab), lab_key(scene.lab, "ed25519"),
                   lab_ssh_config(scene.lab), SCENE_HOST);
    lab_add_config(scene.lab, "Host *\n  UserKnownHostsFile %s\n", lab_known_hosts(scene.lab));
    struct transport_host host = {.name = "by-command"};
    must_connect(&scene, &host);
    assert_true(noted(&scene, "ProxyCommand"));
    scene_end(&scene);
}

static void a_certificate_logs_in(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    char *authority = lab_path(scene.lab, "authority");
    const char *make[] = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", authority, NULL};
    assert_true(lab_run(scene.lab, make));
    struct buf config = {0};
    buf_printf(&config, "TrustedUserCAKeys %s.pub\nAuthorizedKeysFile none\n", authority);
    sshd_start(scene.lab, "certified", &(struct sshd_options){.config = config.at});
    const char *key = lab_key(scene.lab, "stranger");
    struct buf public = {0};
    buf_printf(&public, "%s.pub", key);
    const char *sign[] = {"ssh-keygen",        "-q",      "-s", authority, "-I", "me", "-n",
                          lab_user(scene.lab), public.at, NULL};
    assert_true(lab_run(scene.lab, sign));
    struct transport_host host = {.name = "certified", .identity = key};
    must_connect(&scene, &host);
    assert_true(by_client(&scene));
    assert_true(noted(&scene, "certificate"));
    buf_free(&config);
    buf_free(&public);
    free(authority);
    scene_end(&scene);
}

static void what_only_a_command_can_tell_is_asked_of_ssh(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    lab_add_config(scene.lab,
                   "Host matched\n  HostName 127.0.0.1\n  User %s\n  IdentityFile %s\n"
                   "Match originalhost matched exec \"true\"\n  Port %d\n",
                   lab_user(scene.lab), lab_key(scene.lab, "ed25519"), sshd_port(scene.sshd));
    struct transport_host host = {.name = "matched"};
    must_connect(&scene, &host);
    scene_end(&scene);
}

/* libssh2 finds out only when it talks to the server. */
static void what_libssh2_cannot_talk_falls_back(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto",
                &(struct sshd_options){.config = "Ciphers chacha20-poly1305@openssh.com\n"
                                                 "MACs hmac-sha2-512-etm@openssh.com\n"});
    must_connect(&scene, NULL);
    if (is_old()) {
        assert_true(by_client(&scene));
        assert_true(noted(&scene, "the system's ssh is used for " SCENE_HOST));
    }
    scene_disconnect(&scene);
    struct transport_host alone = {.client = "libssh2"};
    if (is_old()) {
        assert_false(scene_connect(&scene, &alone));
        assert_int_equal(scene.why.kind, ERR_USAGE);
    }
    scene_end(&scene);
}

static void an_agent_with_an_rsa_key_is_used_all_the_same(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    lab_start_agent(scene.lab, "rsa");
    lab_add_config(scene.lab,
                   "Host by-agent\n  HostName 127.0.0.1\n  Port %d\n  User %s\n"
                   "  IdentityFile /none\n",
                   sshd_port(scene.sshd), lab_user(scene.lab));
    struct transport_host host = {.name = "by-agent"};
    must_connect(&scene, &host);
    if (is_old()) {
        assert_true(by_client(&scene));
        assert_true(noted(&scene, "the system's ssh is used for by-agent"));
    }
    unsetenv("SSH_AUTH_SOCK");
    scene_end(&scene);
}

static void libssh2_alone_is_an_error_where_it_cannot(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "libssh2", NULL);
    behind(&scene, "inner");
    struct transport_host host = {.name = "inner"};
    assert_false(scene_connect(&scene, &host));
    assert_int_equal(scene.why.kind, ERR_USAGE);
    assert_non_null(strstr(scene.why.text, "jump host"));
    assert_non_null(strstr(scene.why.text, "client = ssh"));
    scene_end(&scene);
}

static void without_an_ssh_client_it_says_what_to_install(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    behind(&scene, "inner");
    char *path = mem_strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    struct transport_host host = {.name = "inner"};
    assert_false(scene_connect(&scene, &host));
    assert_int_equal(scene.why.kind, ERR_USAGE);
    assert_non_null(strstr(scene.why.text, "Install OpenSSH"));
    scene_disconnect(&scene);
    must_connect(&scene, NULL); /* by our own reader, over libssh2 */
    assert_false(by_client(&scene));
    setenv("PATH", path, 1);
    free(path);
    scene_end(&scene);
}

static void a_wrong_configuration_is_shown(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "auto", NULL);
    lab_add_config(scene.lab, "NoSuchKeyword yes\n");
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.why.kind, ERR_USAGE);
    assert_non_null(strstr(scene.why.text, "nosuchkeyword"));
    scene_end(&scene);
}

static void failures_of_the_client_are_explained(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "ssh", NULL);
    sshd_start(scene.lab, "strict",
               &(struct sshd_options){
                   .config = "KexAlgorithms curve25519-sha256\nCiphers aes256-gcm@openssh.com\n"});
    lab_add_config(scene.lab, "  Ciphers aes128-ctr\n");
    struct transport_host host = {.name = "strict"};
    assert_false(scene_connect(&scene, &host));
    assert_int_equal(scene.why.kind, ERR_USAGE);
    assert_non_null(strstr(scene.why.text, "cipher in common"));
    scene_end(&scene);
}

/* What people set for their own sessions. */
static void settings_for_a_person_do_no_harm(void **state) {
    (void)state;
    struct scene scene;
    scene_begin(&scene, "ssh", NULL);
    lab_add_config(scene.lab,
                   "Host *\n  RemoteCommand echo wrong\n  RequestTTY force\n"
                   "  LocalForward 1 127.0.0.1:1\n  ExitOnForwardFailure yes\n  LogLevel QUIET\n"
                   "  ControlMaster auto\n  ControlPath %s/own-%%C\n  ControlPersist 60\n"
                   "  ForwardX11 yes\n  ForwardAgent yes\n  StrictHostKeyChecking no\n"
                   "  PermitLocalCommand yes\n  LocalCommand echo wrong >%s/wrong\n"
                   "  BatchMode yes\n  SendEnv LANG\n  SetEnv HONE_WRONG=1\n",
                   lab_folder(scene.lab), lab_folder(scene.lab));
    must_connect(&scene, NULL);
    assert_int_equal(count_names(lab_folder(scene.lab), "own-"), 0);
    assert_int_equal(count_names(lab_folder(scene.lab), "wrong"), 0);
    scene_disconnect(&scene);
    sshd_power_off(scene.sshd);
    sshd_change_keys(scene.sshd);
    sshd_restart(scene.sshd);
    assert_false(scene_connect(&scene, NULL)); /* StrictHostKeyChecking no is not honoured */
    assert_int_equal(scene.why.kind, ERR_USAGE);
    scene_end(&scene);
}

static void nothing_is_left_behind(void **state) {
    (void)state;
    struct scene scene;
    struct outcome outcome;
    scene_begin(&scene, "ssh", NULL);
    size_t before = count_names("/tmp", "hone-ssh.");
    must_connect(&scene, NULL);
    const char *argv[] = {"sleep", "1000", NULL};
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    scene_start(&scene, &outcome, &spec);
    scene_disconnect(&scene);
    outcome_free(&outcome);
    /* Others use /tmp too, so only this can be checked: ours do not add to it. */
    for (int i = 0; i < 400 && count_names("/tmp", "hone-ssh.") > before; i++)
        usleep(5000);
    assert_true(count_names("/tmp", "hone-ssh.") <= before);
    bool never = false;
    loop_run_until(scene.loop, &never, 50);
    for (int i = 0; i < 400; i++) { /* the connection is gone at the other end too */
        char *log = sshd_log(scene.sshd);
        bool closed = strstr(log, "Connection closed") || strstr(log, "Connection reset") ||
                      strstr(log, "disconnect");
        free(log);
        if (closed)
            break;
        usleep(5000);
        assert_true(i < 399);
    }
    scene_end(&scene);
}

/* Two folders of hones that were killed an hour ago; one of the hones is not dead after all. */
static void what_a_killed_hone_left_is_swept_up(void **state) {
    (void)state;
    struct scene scene;
    struct err err;
    struct timespec old[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    char folders[2][32];
    int lock = -1;
    scene_begin(&scene, "ssh", NULL);
    for (int i = 0; i < 2; i++) {
        snprintf(folders[i], sizeof folders[i], "/tmp/hone-ssh.XXXXXX");
        assert_non_null(mkdtemp(folders[i]));
        char *config = path_join(folders[i], "config");
        assert_true(file_write(config, "", 0, &err));
        if (i) {
            lock = open(config, O_RDONLY | O_CLOEXEC);
            assert_int_equal(flock(lock, LOCK_SH | LOCK_NB), 0);
        }
        assert_int_equal(utimensat(AT_FDCWD, folders[i], old, 0), 0);
        free(config);
    }
    must_connect(&scene, NULL);
    assert_false(file_exists(folders[0]));
    assert_true(file_exists(folders[1]));
    close(lock);
    assert_true(file_remove_tree(folders[1], &err));
    scene_end(&scene);
}

int main(int argc, char **argv) {
    if (lab_missing()) {
        fprintf(stderr, "skipped: %s\n", lab_missing());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libssh2_is_taken_where_it_can),
        cmocka_unit_test(an_rsa_key_is_used_all_the_same),
        cmocka_unit_test(a_jump_host_is_passed_through_and_said),
        cmocka_unit_test(a_jump_host_asks_its_own_questions),
        cmocka_unit_test(a_proxy_command_is_honoured),
        cmocka_unit_test(a_certificate_logs_in),
        cmocka_unit_test(what_only_a_command_can_tell_is_asked_of_ssh),
        cmocka_unit_test(what_libssh2_cannot_talk_falls_back),
        cmocka_unit_test(an_agent_with_an_rsa_key_is_used_all_the_same),
        cmocka_unit_test(libssh2_alone_is_an_error_where_it_cannot),
        cmocka_unit_test(without_an_ssh_client_it_says_what_to_install),
        cmocka_unit_test(a_wrong_configuration_is_shown),
        cmocka_unit_test(failures_of_the_client_are_explained),
        cmocka_unit_test(settings_for_a_person_do_no_harm),
        cmocka_unit_test(what_a_killed_hone_left_is_swept_up),
        cmocka_unit_test(nothing_is_left_behind),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
