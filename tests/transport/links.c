/* SPDX-License-Identifier: Apache-2.0 */
/* What only the libssh2 transport has to get right: host keys of several kinds, servers that it
 * cannot talk to, new keys in the middle of a copy, long requests, fairness, files of any size,
 * closing at any moment. */
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/scene.h"

#define MIB ((size_t)1 << 20)

static void begin(struct scene *scene, const char *config) {
    scene_begin(scene, "libssh2", &(struct sshd_options){.config = config});
}

static void assert_works(struct scene *scene) {
    struct outcome outcome;
    scene_shell(scene, &outcome, "echo in");
    assert_string_equal(outcome.out.at, "in|");
    outcome_free(&outcome);
}

static void assert_reached(struct scene *scene, const struct transport_host *host) {
    if (!scene_connect(scene, host))
        fail_msg("no connection: %s", scene->why.text);
    assert_works(scene);
}

/* Rewrites known_hosts: `edit` is a sed script. */
static void edit_known(struct scene *scene, const char *edit) {
    const char *argv[] = {"sed", "-i", "-E", edit, lab_known_hosts(scene->lab), NULL};
    assert_true(lab_run(scene->lab, argv));
}

/* ---------------------------------------------------------------------------------- host keys */

static void a_host_known_by_one_kind_of_key_shows_that_one(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, NULL);
    edit_known(&scene, "/ssh-ed25519/d");
    assert_reached(&scene, NULL);
    assert_int_equal(scene.asked, 0);
    scene_disconnect(&scene);
    const char *argv[] = {"ssh-keygen", "-q", "-H", "-f", lab_known_hosts(scene.lab), NULL};
    assert_true(lab_run(scene.lab, argv));
    assert_reached(&scene, NULL); /* hashed names */
    assert_int_equal(scene.asked, 0);
    scene_end(&scene);
}

static void another_kind_of_known_key_is_mentioned(void **state) {
    struct scene scene;
    (void)state;
    scene_begin(&scene, "libssh2", &(struct sshd_options){.host_keys = "ed25519"});
    edit_known(&scene, "s/ssh-ed25519/ecdsa-sha2-nistp256/");
    scene.answers[0] = "no";
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.asked, 1);
    assert_non_null(strstr(scene.questions.at, "another kind"));
    assert_non_null(strstr(scene.questions.at, "ED25519 key fingerprint is SHA256:"));
    assert_int_equal(scene.why.kind, ERR_CANCELLED);
    scene_end(&scene);
}

static void a_revoked_key_is_refused(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, NULL);
    edit_known(&scene, "p;s/^/@revoked /");
    assert_false(scene_connect(&scene, NULL));
    assert_int_equal(scene.asked, 0);
    assert_int_equal(scene.why.kind, ERR_USAGE);
    assert_non_null(strstr(scene.why.text, "@revoked in line 2"));
    scene_end(&scene);
}

static void what_needs_the_systems_ssh_says_so(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, "Ciphers aes256-gcm@openssh.com\n");
    bool reached = scene_connect(&scene, NULL);
    if (!reached) { /* libssh2 before 1.11 */
        assert_int_equal(scene.why.kind, ERR_USAGE);
        assert_non_null(strstr(scene.why.text, "no common way to encrypt"));
        scene_disconnect(&scene);
        assert_reached(&scene, &(struct transport_host){.client = "auto"});
        assert_non_null(strstr(scene.notes.at, "the system's ssh is used"));
    }
    scene_disconnect(&scene);
    edit_known(&scene, "s/^/@cert-authority /");
    assert_false(scene_connect(&scene, NULL));
    scene_end(&scene);
}

static void a_name_with_several_addresses_is_reached(void **state) {
    struct scene scene;
    struct addrinfo *found = NULL;
    (void)state;
    if (getaddrinfo("localhost", NULL, NULL, &found)) {
        print_message("skipped: this machine has no name localhost (/etc/hosts)\n");
        skip();
    }
    freeaddrinfo(found);
    begin(&scene, NULL); /* localhost is ::1 too, where nobody listens */
    edit_known(&scene, "s/^\\[127.0.0.1\\]/[localhost]/");
    assert_reached(&scene, &(struct transport_host){.host = "localhost"});
    scene_end(&scene);
}

/* ---------------------------------------------------------------------- servers of other sorts */

static int listen_on(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void a_server_that_speaks_no_ssh_is_told_apart(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, NULL);
    int port = lab_free_port(), fd = listen_on(port);
    struct transport_host host = {.port = port, .connect_limit_s = 0.5};
    assert_false(scene_connect(&scene, &host)); /* silent */
    assert_int_equal(scene.why.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(scene.why.text, "did not answer"));
    scene_disconnect(&scene);
    close(fd);
    assert_false(scene_connect(&scene, &host)); /* nobody */
    assert_non_null(strstr(scene.why.text, "refuses connections"));
    scene_end(&scene);
}

static void a_server_that_has_enough_is_quoted(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, "MaxAuthTries 1\n");
    assert_false(scene_connect(
        &scene, &(struct transport_host){.identity = lab_key(scene.lab, "stranger")}));
    assert_true(scene.why.kind != ERR_NONE && scene.why.text[0]);
    scene_end(&scene);
}

static void a_server_without_sftp_says_so(void **state) {
    struct scene scene;
    struct err why;
    (void)state;
    begin(&scene, "ForceCommand case $SSH_ORIGINAL_COMMAND in *sftp-server) "
                  "exit 1;; *) sh -c \"$SSH_ORIGINAL_COMMAND\";; esac\n");
    assert_reached(&scene, NULL);
    scene_copy(
        &scene,
        &(struct transport_copy_spec){.kind = TRANSPORT_PUT, .remote = "x", .data = "x", .size = 1},
        &why);
    assert_int_equal(why.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(why.text, "is sftp-server installed there")); /* sshd drops its stderr */
    assert_works(&scene);
    scene_end(&scene);
}

static void a_shell_that_prints_at_login_is_named_as_the_cause(void **state) {
    struct scene scene;
    struct err why;
    (void)state;
    begin(&scene, "ForceCommand echo Welcome to the cluster\n");
    assert_true(scene_connect(&scene, NULL));
    scene_copy(
        &scene,
        &(struct transport_copy_spec){.kind = TRANSPORT_GET, .remote = "x", .local = "/tmp/never"},
        &why);
    assert_int_equal(why.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(why.text, "does not speak SFTP"));
    scene_end(&scene);
}

/* ---------------------------------------------------------------------------------------- bulk */

static char *make_bytes(size_t size) {
    char *data = mem_alloc(1, size);
    uint32_t x = 99;
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (char)(x >> 24);
    }
    return data;
}

static void assert_there_and_back(struct scene *scene, size_t size) {
    char *data = make_bytes(size), *local = lab_path(scene->lab, "there");
    char *back = lab_path(scene->lab, "back");
    struct err why, err;
    size_t got;
    assert_true(file_write(local, data, size, &err));
    scene_copy(
        scene,
        &(struct transport_copy_spec){.kind = TRANSPORT_PUT, .local = local, .remote = "far"},
        &why);
    assert_string_equal(why.text, "");
    scene_copy(scene,
               &(struct transport_copy_spec){.kind = TRANSPORT_GET, .local = back, .remote = "far"},
               &why);
    assert_string_equal(why.text, "");
    char *there = file_read(back, 0, &got, &err);
    assert_non_null(there);
    assert_int_equal(got, size);
    assert_memory_equal(there, data, size);
    unlink(local);
    unlink(back);
    free(there);
    free(local);
    free(back);
    free(data);
}

static void files_of_any_size_stay_whole(void **state) {
    static const size_t sizes[] = {0, 1, 32767, 32768, 32769, MIB - 1, MIB, MIB + 1, 64 * MIB};
    struct scene scene;
    (void)state;
    begin(&scene, NULL);
    assert_reached(&scene, NULL);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_there_and_back(&scene, sizes[i]);
    scene_end(&scene);
}

static void new_session_keys_change_nothing(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, "RekeyLimit 1M\n");
    assert_reached(&scene, NULL);
    assert_there_and_back(&scene, 9 * MIB + 5);
    struct outcome outcome;
    scene_shell(&scene, &outcome, "seq 1 400000 | tail -n 400000");
    assert_int_equal(outcome.lines, 400000);
    outcome_free(&outcome);
    scene_end(&scene);
}

static void a_request_longer_than_a_packet_is_run(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, NULL);
    assert_reached(&scene, NULL);
    char *word = mem_alloc(1, 100001);
    memset(word, '\'', 100000);
    const char *argv[] = {"sh", "-c", "printf %s \"$1\" | wc -c; cat", "sh", word, NULL};
    struct outcome outcome;
    struct transport_command_spec spec = scene_spec(&outcome, argv, LOOP_LINES);
    spec.input = "and its input\n";
    spec.input_len = 14;
    scene_start(&scene, &outcome, &spec);
    scene_wait(&scene, &outcome.done);
    assert_string_equal(outcome.out.at, "100000|and its input|");
    outcome_free(&outcome);
    free(word);
    scene_end(&scene);
}

struct copying {
    bool done;
    struct err why;
    uint64_t steps;
};

static void on_progress(void *data, uint64_t done, uint64_t total) {
    struct copying *copying = data;
    assert_true(done <= total);
    copying->steps++;
}

static void on_copied(void *data, const struct err *why) {
    struct copying *copying = data;
    copying->why = *why;
    copying->done = true;
}

static void a_command_does_not_wait_for_a_bulk_of_bytes(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, NULL);
    assert_reached(&scene, NULL);
    char *data = make_bytes(96 * MIB);
    struct copying copying = {0};
    struct transport_copy_spec spec = {.kind = TRANSPORT_PUT,
                                       .remote = "bulk",
                                       .data = data,
                                       .size = 96 * MIB,
                                       .on_progress = on_progress,
                                       .on_done = on_copied,
                                       .context = &copying};
    struct err err;
    assert_non_null(transport_copy_start(scene.transport, &spec, &err));
    int commands = 0, before = 0;
    while (!copying.done && commands < 3) {
        assert_works(&scene);
        commands++;
        before += !copying.done;
    }
    assert_true(before > 0);
    scene_wait(&scene, &copying.done);
    assert_string_equal(copying.why.text, "");
    assert_true(copying.steps > 0);
    free(data);
    scene_end(&scene);
}

static void a_full_disk_is_named(void **state) {
    struct scene scene;
    struct err why;
    (void)state;
    begin(&scene, NULL);
    char *full = scene_home_path(&scene, "small");
    assert_int_equal(mkdir(full, 0700), 0);
    if (mount("tmpfs", full, "tmpfs", 0, "size=1m") != 0) {
        printf("skipped: a small file system cannot be mounted here\n");
        free(full);
        scene_end(&scene);
        skip();
    }
    assert_reached(&scene, NULL);
    char *data = make_bytes(4 * MIB);
    scene_copy(&scene,
               &(struct transport_copy_spec){
                   .kind = TRANSPORT_PUT, .remote = "small/too-big", .data = data, .size = 4 * MIB},
               &why);
    size_t left = count_names(full, "");
    free(data);
    umount2(full, MNT_DETACH);
    assert_int_equal(why.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(why.text, "no space left"));
    assert_int_equal(left, 0);
    free(full);
    scene_end(&scene);
}

/* ------------------------------------------------------------------------------------- closing */

static void ignore_output(void *data, enum loop_stream stream, struct str text, bool whole) {
    (void)data, (void)stream, (void)text, (void)whole;
}

static void note_ready(void *data) {
    *(bool *)data = true;
}

static void start_all(struct scene *scene, struct transport *transport, const char *bulk) {
    const char *argv[] = {"sh", "-c", "cat; seq 1 100000", NULL};
    struct transport_command_spec command = {.argv = argv,
                                             .out = LOOP_LINES,
                                             .input = bulk,
                                             .input_len = MIB,
                                             .on_output = ignore_output};
    char *local = lab_path(scene->lab, "early");
    struct transport_copy_spec put = {
        .kind = TRANSPORT_PUT, .remote = "early", .data = bulk, .size = 4 * MIB};
    struct transport_copy_spec get = {.kind = TRANSPORT_GET, .remote = "early", .local = local};
    struct err err;
    for (int i = 0; i < 4; i++)
        assert_non_null(transport_command_start(transport, &command, &err));
    assert_non_null(transport_copy_start(transport, &put, &err));
    assert_non_null(transport_copy_start(transport, &get, &err));
    free(local);
}

/* Closes after more and more turns of the loop: while looking up, connecting, shaking hands,
 * logging in, opening channels, copying. The sanitizers watch. */
static void a_connection_can_be_closed_at_any_moment(void **state) {
    struct scene scene;
    (void)state;
    begin(&scene, "MaxSessions 3\n");
    char *bulk = make_bytes(4 * MIB);
    for (int turns = 0; turns < 400; turns += turns < 60 ? 3 : 29) {
        bool ready = false, started = false;
        struct transport_callbacks callbacks = {.on_ready = note_ready, .data = &ready};
        struct transport_host host = {
            .name = SCENE_HOST, .client = "libssh2", .known_hosts = lab_known_hosts(scene.lab)};
        struct err err;
        struct transport *transport = transport_open_ssh(scene.loop, &host, &callbacks, &err);
        assert_non_null(transport);
        for (int i = 0; i < turns; i++) {
            bool stop = false;
            loop_run_until(scene.loop, &stop, 1);
            if (ready && !started) {
                start_all(&scene, transport, bulk);
                started = true;
            }
        }
        transport_close(transport);
    }
    free(bulk);
    scene_end(&scene);
}

static void the_loop_can_go_while_a_connection_is_looked_up(void **state) {
    (void)state;
    struct lab *lab = lab_new();
    struct loop *loop = loop_new();
    struct transport_callbacks callbacks = {0};
    struct transport_host host = {
        .name = "h", .host = "127.0.0.1", .user = "u", .port = 1, .client = "libssh2"};
    struct err err;
    struct transport *transport = transport_open_ssh(loop, &host, &callbacks, &err);
    assert_non_null(transport);
    transport_close(transport);
    loop_free(loop);
    lab_free(lab);
}

int main(int argc, char **argv) {
    if (lab_missing()) {
        fprintf(stderr, "skipped: %s\n", lab_missing());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_known_by_one_kind_of_key_shows_that_one),
        cmocka_unit_test(another_kind_of_known_key_is_mentioned),
        cmocka_unit_test(a_revoked_key_is_refused),
        cmocka_unit_test(what_needs_the_systems_ssh_says_so),
        cmocka_unit_test(a_name_with_several_addresses_is_reached),
        cmocka_unit_test(a_server_that_speaks_no_ssh_is_told_apart),
        cmocka_unit_test(a_server_that_has_enough_is_quoted),
        cmocka_unit_test(a_server_without_sftp_says_so),
        cmocka_unit_test(a_shell_that_prints_at_login_is_named_as_the_cause),
        cmocka_unit_test(files_of_any_size_stay_whole),
        cmocka_unit_test(new_session_keys_change_nothing),
        cmocka_unit_test(a_request_longer_than_a_packet_is_run),
        cmocka_unit_test(a_command_does_not_wait_for_a_bulk_of_bytes),
        cmocka_unit_test(a_full_disk_is_named),
        cmocka_unit_test(a_connection_can_be_closed_at_any_moment),
        cmocka_unit_test(the_loop_can_go_while_a_connection_is_looked_up),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
