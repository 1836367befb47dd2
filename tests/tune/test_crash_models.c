// SPDX-License-Identifier: Apache-2.0
/* A session with models that is killed at every point of a round, even while models are asked for
 * lessons; and services that die in the middle of an answer. Nothing is lost, and nothing is there
 * twice. */
#include "tune/kill.h"
#include "base/config/testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static const struct {
    const char *role, *answer;
} answers[] = {
    {"planner", "title: Half the time\nwhat: write 700\nmetric: hbm_read_bytes\ndirection: down\n"
                "size: 40 %\n"},
    {"rewriter", "<<<<<<< SEARCH\n# latency 1000\n=======\n# latency 700\n>>>>>>> REPLACE\n"},
    {"summariser", "title: Write less\nsummary: It wrote too much.\n"},
    {"reflector", "diagnosis: right\nlesson: Look at what is written.\n"},
};

struct models {
    struct fake fake;
    struct config *config;
};

static void set(struct models *models, const char *section, const char *key, const char *value) {
    struct err err = {0};
    if (!config_set(models->config, section, key, value, &err))
        fail_msg("%s", err.text);
}

/* Every role has a model of its own, which is a program that prints a file. */
static void models_begin(struct models *models) {
    struct fake *fake = &models->fake;
    struct err err = {0};
    fake_begin(fake, NULL, 0, TUNE_GATE_AUTO);
    tune_session_close(fake->session);
    char *config_home = path_join(fake->folder, "config");
    setenv("XDG_CONFIG_HOME", config_home, 1);
    free(config_home);
    models->config = config_load(NULL, &err);
    assert_non_null(models->config);
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct buf command = {0}, section = {0};
        fake_file(fake->folder, answers[i].role, answers[i].answer);
        buf_printf(&command, "/bin/cat %s/%s", fake->folder, answers[i].role);
        buf_printf(&section, "model the_%s", answers[i].role);
        set(models, section.at, "api", "command");
        set(models, section.at, "command", command.at);
        set(models, section.at, "retry_wait_s", "0.01");
        set(models, "roles", answers[i].role, section.at + strlen("model "));
        buf_free(&command);
        buf_free(&section);
    }
    fake->options.use = NULL;
    fake->options.proposer = "models";
    fake->options.config = models->config;
    fake->options.fresh = true;
    fake->options.rounds = 1;
    fake->place = (struct fake_place){.loop = fake->loop};
    fake_open(fake);
    tune_session_close(fake->session);
    loop_free(fake->loop);
    fake->options.fresh = false;
    fake->options.rounds = 0;
}

static void models_end(struct models *models) {
    fake_end(&models->fake);
    config_free(models->config);
    unsetenv("XDG_CONFIG_HOME");
}

/* The result of one round of these models, however often it began. */
static void round_is_as_ever(const struct fake *fake, const char *title, const char *lesson) {
    const struct tune_state *state = fake_state(fake);
    assert_true(state->finished);
    assert_int_equal(state->attempts.len, 2);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_KEEP);
    assert_int_equal(state->memory.len, 1);
    assert_string_equal(state->memory.at[0].title, title);
    assert_int_equal(state->memory.at[0].merged, 0);
    assert_int_equal(state->notes.len, 1);
    assert_non_null(strstr(state->notes.at[0].lesson, lesson));
    for (size_t i = 0; i < state->calls.len; i++)
        assert_true(state->calls.at[i].ended_ms > 0);
}

/* Kills it after this many changes. Returns how many there are without a kill. */
static int round_killed(int after) {
    struct models models;
    int changes = 0;
    models_begin(&models);
    struct told last = kill_run(&models.fake, after, NULL, &changes);
    kill_reopen(&models.fake, last);
    const struct tune_state *state = fake_state(&models.fake);
    if (!state->finished)
        fake_act(&models.fake, (struct tune_action){.kind = TUNE_ACT_START});
    round_is_as_ever(&models.fake, "Write less", "Look at what is written.");
    models_end(&models);
    return changes;
}

/* Changes until the summariser is asked. */
static int until_lessons(void) {
    struct models models;
    int changes = 0;
    models_begin(&models);
    struct told last = kill_run(&models.fake, 0, "summariser", &changes);
    kill_reopen(&models.fake, last);
    models_end(&models);
    return changes;
}

/* Each point where lessons are written, and a third of those before, where test_crash.c kills
 * too. */
static void every_point_of_a_round(void **unused) {
    (void)unused;
    int lessons = until_lessons(), all = round_killed(10000);
    assert_true(lessons > 10 && all > lessons);
    for (int after = 1; after < all; after += after < lessons - 3 ? 3 : 1)
        round_killed(after);
}

/* A model that waits until nobody holds the other end, which is when this test says so. */
static int wait_for(struct models *models, const char *role) {
    struct buf section = {0}, command = {0};
    char *path = path_join(models->fake.folder, "held");
    if (mkfifo(path, 0600) != 0 && errno != EEXIST)
        fail_msg("no fifo");
    int held = open(path, O_RDWR | O_CLOEXEC);
    assert_true(held >= 0);
    buf_printf(&section, "model the_%s", role);
    buf_printf(&command, "/bin/cat %s", path);
    set(models, section.at, "command", command.at);
    buf_free(&section);
    buf_free(&command);
    free(path);
    return held;
}

static void killed_while_asked(const char *role) {
    struct models models;
    models_begin(&models);
    int held = wait_for(&models, role);
    struct told last = kill_run(&models.fake, 0, role, NULL);
    close(held);
    struct buf section = {0}, command = {0};
    buf_printf(&section, "model the_%s", role);
    buf_printf(&command, "/bin/cat %s/%s", models.fake.folder, role);
    set(&models, section.at, "command", command.at);
    buf_free(&section);
    buf_free(&command);
    kill_reopen(&models.fake, last);
    const struct tune_state *state = fake_state(&models.fake);
    const struct tune_call *call = &state->calls.at[state->calls.len - 1];
    assert_string_equal(call->role, role);
    assert_non_null(call->failure);
    size_t calls = state->calls.len;
    fake_act(&models.fake, (struct tune_action){.kind = TUNE_ACT_START});
    assert_true(state->calls.len > calls);
    assert_string_equal(state->calls.at[calls].role, role); /* the question is asked again */
    round_is_as_ever(&models.fake, "Write less", "Look at what is written.");
    models_end(&models);
}

static void while_a_lesson_is_asked_for(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT_OF(answers); i++)
        killed_while_asked(answers[i].role);
}

/* A service that begins to answer this many times, and then dies. */
static pid_t dying_service(int answers_begun, int *port) {
    static const char reply[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n"
        "data: {\"choices\": [{\"delta\": {\"content\": \"title: Half of\"}}]}\n\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listens, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listens, 4), 0);
    assert_int_equal(getsockname(listens, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    pid_t child = fork();
    for (int i = 0; child == 0 && i < answers_begun; i++) {
        char request[4096];
        int at = accept(listens, NULL, NULL);
        if (at < 0 || read(at, request, sizeof request) <= 0 ||
            write(at, reply, sizeof reply - 1) < 0)
            _exit(1);
        struct linger hard = {1, 0}; /* a reset, as a killed process leaves it */
        usleep(20000);
        setsockopt(at, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(at);
    }
    if (child == 0)
        _exit(0);
    close(listens);
    return child;
}

/* Hone's own words stand in for it, and the round continues. */
static void a_service_that_dies_costs_no_lesson(void **unused) {
    (void)unused;
    struct models models;
    struct buf base = {0};
    int port = 0;
    models_begin(&models);
    pid_t service = dying_service(2, &port);
    buf_printf(&base, "http://127.0.0.1:%d/v1", port);
    setenv("HONE_TEST_NO_KEY", "none", 1);
    set(&models, "model dying", "api", "openai");
    set(&models, "model dying", "base_url", base.at);
    set(&models, "model dying", "model", "dying");
    set(&models, "model dying", "key_env", "HONE_TEST_NO_KEY");
    set(&models, "model dying", "retries", "1");
    set(&models, "model dying", "retry_wait_s", "0.01");
    set(&models, "roles", "summariser", "dying");
    set(&models, "roles", "reflector", "dying");
    models.fake.loop = models.fake.place.loop = loop_new();
    fake_open(&models.fake);
    fake_act(&models.fake, (struct tune_action){.kind = TUNE_ACT_START});
    round_is_as_ever(&models.fake, "Half the time", "\"Half the time\" worked");
    const struct tune_state *state = fake_state(&models.fake);
    int failed = 0;
    for (size_t i = 0; i < state->calls.len; i++)
        failed += state->calls.at[i].failure != NULL;
    assert_true(failed >= 2);
    assert_int_equal(waitpid(service, NULL, 0), service);
    unsetenv("HONE_TEST_NO_KEY");
    buf_free(&base);
    models_end(&models);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_of_a_round),
        cmocka_unit_test(while_a_lesson_is_asked_for),
        cmocka_unit_test(a_service_that_dies_costs_no_lesson),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
