/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluations on a real Slurm: two nodes of two CPUs on loopback, and the remote runner with an
 * evaluation that does what the kernel's text says (evaluate.py). */
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

#include "hosts/lab.h"
#include "base/config/testing.h"
#include "hosts/slurm.h"
#include "target/target.h"

#define PATIENCE_MS 120000
#define LOOK_MS 20

struct scene {
    struct lab *lab;
    struct slurm *slurm;
    struct config *config;
    struct loop *loop;
    struct target *target;
    int occasions;       /* no two evaluations of the tests are the same */
    struct seen *late;   /* reaches its time limit while the others are tested */
    int own;             /* processes of the late one */
    struct arena *arena; /* holds what was seen: a test that fails leaves runs behind */
};

/* How one evaluation ended. */
struct seen {
    int numbers, restarts, done;
    bool gap; /* a number came twice, or one was left out */
    struct err failure;
    double latency;
    char said[8000]; /* log lines */
    struct target_run *run;
};

/* ---------------------------------------------------------------------------------------- help */

static void on_event(void *data, const struct runner_event *event) {
    struct seen *seen = data;
    size_t len = strlen(seen->said);
    if (event->kind == RUNNER_RESTART) {
        seen->restarts++;
        seen->numbers = 0;
    } else if (event->kind == RUNNER_METRIC && strcmp(event->name, "number") == 0) {
        seen->gap |= (int)event->value != seen->numbers;
        seen->numbers++;
    } else if (event->kind == RUNNER_LOG) {
        snprintf(seen->said + len, sizeof seen->said - len, "%s\n", event->text);
    }
}

static void on_done(void *data, struct runner_result *result) {
    struct seen *seen = data;
    seen->done++;
    seen->run = NULL;
    seen->failure = result->failure;
    seen->latency = result->latency_us;
}

static bool has_said(const struct seen *seen, const char *text) {
    return strstr(seen->said, text) != NULL;
}

struct wait {
    bool (*is)(const void *data);
    const void *data;
    bool done;
};

static void look(void *data) {
    struct wait *wait = data;
    wait->done = wait->is(wait->data);
}

static void print_target(struct scene *scene) {
    const struct target_status *status = target_look(scene->target);
    print_message("the target says: %s\n", status->text);
    for (size_t i = 0; i < status->entries.len; i++)
        print_message("%s %s %s\n", status->entries.at[i].id, status->entries.at[i].state,
                      status->entries.at[i].reason);
    if (system("squeue --states=all") != 0)
        print_message("squeue failed\n");
}

/* Serves the loop until is(data). The test fails when that takes too long. */
static void serve_until_at(struct scene *scene, bool (*is)(const void *data), const void *data,
                           int line) {
    struct wait wait = {is, data, is(data)};
    struct loop_timer *timer = loop_timer_start(scene->loop, LOOK_MS, LOOK_MS, look, &wait);
    bool reached = wait.done || loop_run_until(scene->loop, &wait.done, PATIENCE_MS);
    loop_timer_stop(timer);
    if (!reached)
        print_target(scene);
    _assert_true(reached, "reached in time", __FILE__, line);
}
#define serve_until(scene, is, data) serve_until_at(scene, is, data, __LINE__)

static bool is_done(const void *data) {
    return ((const struct seen *)data)->done > 0;
}

/* The path of a file that a kernel waits for. */
static char *gate_path(struct scene *scene) {
    char name[32];
    snprintf(name, sizeof name, "gate-%d", scene->occasions++);
    return lab_path(scene->lab, name);
}

static void open_gate(char *path) {
    assert_true(file_write(path, "", 0, NULL));
    free(path);
}

static struct seen *start(struct scene *scene, const char *kernel) {
    char occasion[16];
    struct seen *seen = ARENA_NEW(scene->arena, struct seen);
    snprintf(occasion, sizeof occasion, "%d", scene->occasions++);
    struct runner_job job = {
        .kernel_path = "kernel.py", .kernel_text = kernel, .session = "test", .occasion = occasion};
    struct runner_callbacks callbacks = {on_event, on_done, seen};
    seen->run = target_start(scene->target, &job, &callbacks, NULL);
    assert_non_null(seen->run);
    return seen;
}

static struct seen *start_waiting(struct scene *scene, const char *gate) {
    char kernel[600];
    snprintf(kernel, sizeof kernel, "tell 50\nwait %s\ntell 50\nlatency 7", gate);
    return start(scene, kernel);
}

static void expect_right(struct seen *seen, int numbers, double latency) {
    if (seen->failure.kind != ERR_NONE)
        print_message("%s\n%s", seen->failure.text, seen->said);
    assert_int_equal(seen->failure.kind, ERR_NONE);
    assert_int_equal(seen->done, 1);
    assert_int_equal(seen->numbers, numbers);
    assert_false(seen->gap);
    assert_true(seen->latency == latency);
}

static const struct target_entry *entry_of(struct scene *scene, const char *state) {
    const struct target_status *status = target_look(scene->target);
    for (size_t i = 0; i < status->entries.len; i++)
        if (strcmp(status->entries.at[i].state, state) == 0)
            return &status->entries.at[i];
    return NULL;
}

static void run_command(struct scene *scene, const char *const *argv) {
    if (!lab_run(scene->lab, argv))
        fail_msg("%s failed", argv[0]);
}

static struct target *open_site(struct scene *scene, const char *name) {
    struct target_options options = {.config = scene->config};
    struct err err = {0};
    struct target *target = target_open(scene->loop, name, &options, &err);
    if (!target)
        print_message("%s\n", err.text);
    assert_non_null(target);
    return target;
}

/* ----------------------------------------------------------------------------------- the tests */

static bool has_eight(const void *data) {
    struct seen *const *seen = data;
    for (int i = 0; i < 8; i++)
        if (!seen[i]->done)
            return false;
    return true;
}

static void eight_at_once_all_come_back_whole(void **state) {
    struct scene *scene = *state;
    struct seen *seen[8];
    for (int i = 0; i < 8; i++) {
        char kernel[80];
        snprintf(kernel, sizeof kernel, "tell %d\nsleep 0.2\ntell 100\nlatency %d", 100 + i, i + 1);
        seen[i] = start(scene, kernel);
    }
    serve_until(scene, has_eight, seen);
    for (int i = 0; i < 8; i++) {
        expect_right(seen[i], 200 + i, i + 1);
    }
}

static bool one_waits(const void *data) {
    struct scene *scene = *(struct scene *const *)data;
    const struct target_entry *waits = entry_of(scene, "PENDING");
    const struct target_status *status = target_look(scene->target);
    return waits && strchr(waits->reason, '(') && status->cores.len == 2 &&
           strcmp(status->cores.at[0].state, "ours") == 0;
}

/* The late one takes one CPU of four. */
static bool three_have_begun(const void *data) {
    struct seen *const *seen = data;
    int count = 0;
    for (int i = 0; i < 5; i++)
        count += seen[i]->numbers == 50;
    return count == 3;
}

/* Processes of a job of ours have its folder in their command line. */
static bool no_more_are_left(const void *data) {
    struct scene *scene = *(struct scene *const *)data;
    return slurm_left(scene->slurm, ".hone/jobs/") <= (scene->late->done ? 0 : scene->own);
}

static void a_full_cluster_says_why_one_waits_and_all_can_be_cancelled(void **state) {
    struct scene *scene = *state;
    struct seen *seen[5];
    char *gate = gate_path(scene);
    for (int i = 0; i < 5; i++)
        seen[i] = start_waiting(scene, gate);
    serve_until(scene, one_waits, &scene);
    assert_string_equal(target_look(scene->target)->cores.at[0].name, "n1");
    serve_until(scene, three_have_begun, seen);
    assert_true(slurm_left(scene->slurm, ".hone/jobs/") >= 3 + scene->own);
    for (int i = 0; i < 5; i++)
        target_cancel(seen[i]->run);
    for (int i = 0; i < 5; i++) {
        serve_until(scene, is_done, seen[i]);
        assert_int_equal(seen[i]->failure.kind, ERR_CANCELLED);
    }
    serve_until(scene, no_more_are_left, &scene);
    free(gate);
}

static bool has_begun(const void *data) {
    return ((const struct seen *)data)->numbers == 50;
}

static bool was_put_back(const void *data) {
    return has_said(data, "put back into the queue");
}

static void a_preempted_one_begins_anew_as_often_as_it_may(void **state) {
    static const char *const greedy[] = {"sbatch",      "--partition=high",   "--nodes=2",
                                         "--exclusive", "--output=/dev/null", "--wrap=sleep 1",
                                         NULL};
    struct scene *scene = *state;
    struct scene strict = *scene;
    assert_true(config_set(scene->config, "cluster strict", "retries", "0", NULL));
    strict.target = open_site(&strict, "strict");
    char *gate = gate_path(&strict);
    struct seen *never = start_waiting(&strict, gate);
    struct seen *again = start_waiting(scene, gate);
    scene->occasions = MAX_OF(scene->occasions, strict.occasions);
    serve_until(&strict, has_begun, never);
    serve_until(scene, has_begun, again);
    run_command(scene, greedy);
    serve_until(scene, was_put_back, again);
    serve_until(&strict, is_done, never);
    assert_int_equal(never->failure.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(never->failure.text, "allows 0 retries"));
    open_gate(gate);
    serve_until(scene, is_done, again);
    expect_right(again, 100, 7);
    assert_int_equal(again->restarts, 1);
    target_free(strict.target);
}

/* As a health check does. The controller itself takes ten seconds to find out. */
static void say_it_is_down(struct scene *scene, const char *node) {
    char name[32];
    snprintf(name, sizeof name, "NodeName=%s", node);
    const char *argv[] = {"scontrol", "update", name, "State=DOWN", "Reason=dead", NULL};
    run_command(scene, argv);
}

static void one_whose_node_fails_begins_anew(void **state) {
    struct scene *scene = *state;
    char *gate = gate_path(scene), node[8] = "";
    struct seen *seen = start_waiting(scene, gate);
    serve_until(scene, has_begun, seen);
    const struct target_status *status = target_look(scene->target);
    const struct target_entry *entry = &status->entries.at[status->entries.len - 1];
    assert_int_equal(sscanf(entry->reason, "on %7s", node), 1);
    slurm_kill(scene->slurm, node);
    say_it_is_down(scene, node);
    open_gate(gate);
    serve_until(scene, is_done, seen);
    expect_right(seen, 100, 7);
    assert_int_equal(seen->restarts, 1);
    slurm_revive(scene->slurm, node);
}

static void one_whose_runner_dies_is_explained(void **state) {
    struct scene *scene = *state;
    struct seen *seen = start(scene, "tell 1\ndie");
    serve_until(scene, is_done, seen);
    assert_int_equal(seen->failure.kind, ERR_ENVIRONMENT);
    assert_non_null(strstr(seen->failure.text, "signal 9"));
}

/* The controller checks time limits every half minute. So this one begins with the tests, and is
 * checked before the controller is started again. */
static void begin_late(struct scene *scene) {
    char job[80];
    scene->late = start_waiting(scene, "/no/such/gate");
    serve_until(scene, has_begun, scene->late);
    scene->own = slurm_left(scene->slurm, ".hone/jobs/");
    snprintf(job, sizeof job, "JobId=%s", target_look(scene->target)->entries.at[0].id);
    const char *argv[] = {"scontrol", "update", job, "EndTime=now+1", NULL};
    run_command(scene, argv);
}

static void one_over_its_time_limit_is_explained(void **state) {
    struct scene *scene = *state;
    struct seen *late = scene->late;
    serve_until(scene, is_done, late);
    assert_int_equal(late->failure.kind, ERR_KERNEL);
    assert_non_null(strstr(late->failure.text, "time limit"));
}

static void a_refused_one_says_what_sbatch_said(void **state) {
    struct scene *scene = *state;
    struct scene other = *scene;
    struct err err = {0};
    assert_true(config_set(scene->config, "cluster wrong", "options", "--partition=nowhere", &err));
    struct target_options options = {.config = scene->config};
    other.target = target_open(scene->loop, "wrong", &options, &err);
    assert_non_null(other.target);
    struct seen *seen = start(&other, "tell 1");
    scene->occasions = other.occasions;
    serve_until(&other, is_done, seen);
    assert_int_equal(seen->failure.kind, ERR_USAGE);
    assert_non_null(strstr(seen->failure.text, "invalid partition specified: nowhere"));
    assert_non_null(strstr(seen->failure.text, "[cluster wrong]"));
    target_free(other.target);
}

static bool was_not_taken(const void *data) {
    return has_said(data, "hone tries again");
}

static void a_controller_that_is_away_is_waited_for(void **state) {
    struct scene *scene = *state;
    char *gate = gate_path(scene);
    struct seen *runs = start_waiting(scene, gate);
    serve_until(scene, has_begun, runs);
    slurm_kill(scene->slurm, "slurmctld");
    struct seen *later = start(scene, "tell 3\nlatency 2");
    serve_until(scene, was_not_taken, later);
    assert_true(has_said(later, "Unable to contact slurm controller"));
    open_gate(gate);
    serve_until(scene, is_done, runs); /* the controller is not needed for that */
    expect_right(runs, 100, 7);
    slurm_revive(scene->slurm, "slurmctld");
    serve_until(scene, is_done, later);
    expect_right(later, 3, 2);
}

static bool is_handed_in(const void *data) {
    return has_said(data, "submitted as job ");
}

static int count_jobs(void) {
    char line[256];
    int count = 0;
    FILE *squeue = popen("squeue --noheader --states=all --format=%j", "r");
    while (fgets(line, sizeof line, squeue))
        count += strncmp(line, "hone-", 5) == 0;
    pclose(squeue);
    return count;
}

static void a_hone_that_was_killed_finds_its_job_again(void **state) {
    struct scene *scene = *state;
    struct scene again = *scene;
    char *gate = gate_path(&again);
    int before = count_jobs(), occasion = again.occasions;
    pid_t child = fork();
    if (child == 0) {
        again.loop = loop_new();
        again.target = open_site(&again, "site");
        serve_until(&again, is_handed_in, start_waiting(&again, gate));
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    again.occasions = occasion;
    struct seen *seen = start_waiting(&again, gate);
    serve_until(&again, has_begun, seen);
    assert_true(has_said(seen, "was submitted before"));
    open_gate(gate);
    serve_until(&again, is_done, seen);
    expect_right(seen, 100, 7);
    assert_int_equal(count_jobs(), before + 1);
    scene->occasions = again.occasions;
}

static void closing_a_target_cancels_what_it_handed_in(void **state) {
    struct scene *scene = *state;
    struct scene other = *scene;
    char *never = gate_path(&other);
    other.target = open_site(&other, "site");
    struct seen *seen = start_waiting(&other, never);
    serve_until(&other, has_begun, seen);
    target_free(other.target);
    serve_until(scene, no_more_are_left, &scene);
    scene->occasions = other.occasions;
    free(never);
}

static bool is_lost(const void *data) {
    return target_look(((const struct scene *)data)->target)->state == TARGET_LOST;
}

static void a_head_node_may_lose_its_connection(void **state) {
    struct scene *scene = *state;
    struct scene other = *scene;
    char options[600];
    snprintf(options, sizeof options, "SetEnv SLURM_CONF=%s\n", slurm_conf(scene->slurm));
    struct sshd *sshd = sshd_start(scene->lab, "head", &(struct sshd_options){.config = options});
    assert_true(config_set(scene->config, "cluster far", "head", "head", NULL));
    other.target = open_site(&other, "far");
    struct seen *seen[2];
    char *gate = gate_path(&other);
    for (int i = 0; i < 2; i++)
        seen[i] = start_waiting(&other, gate);
    for (int i = 0; i < 2; i++)
        serve_until(&other, has_begun, seen[i]);
    sshd_kill(sshd);
    serve_until(&other, is_lost, &other);
    open_gate(gate);
    sshd_restart(sshd);
    for (int i = 0; i < 2; i++) {
        serve_until(&other, is_done, seen[i]);
        expect_right(seen[i], 100, 7);
        assert_int_equal(seen[i]->restarts, 0);
    }
    target_free(other.target);
    scene->occasions = other.occasions;
}

/* ----------------------------------------------------------------------------------- the scene */

static void use_other_runner(struct scene *scene) {
    char *runner = lab_path(scene->lab, "other_runner.pyz");
    const char *argv[] = {"/usr/bin/python3",
                          HONE_SOURCE_DIR "/tests/target/other_runner.py",
                          HONE_BINARY_DIR "/hone_runner.pyz",
                          HONE_SOURCE_DIR "/tests/target/evaluate.py",
                          runner,
                          NULL};
    run_command(scene, argv);
    setenv("HONE_RUNNER", runner, 1);
    free(runner);
}

static int set_up(void **state) {
    struct scene *scene = *state;
    struct err err = {0};
    use_other_runner(scene);
    scene->config = config_load(NULL, &err);
    if (!scene->config ||
        !config_set(scene->config, "cluster site", "options", "--partition=low", &err) ||
        !config_set(scene->config, "cluster site", "python", "/usr/bin/python3", &err)) {
        print_message("%s\n", err.text);
        return -1;
    }
    scene->loop = loop_new();
    scene->target = open_site(scene, "site");
    begin_late(scene);
    return 0;
}

static int tear_down(void **state) {
    struct scene *scene = *state;
    target_free(scene->target);
    loop_free(scene->loop);
    config_free(scene->config);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(eight_at_once_all_come_back_whole),
    cmocka_unit_test(a_full_cluster_says_why_one_waits_and_all_can_be_cancelled),
    cmocka_unit_test(a_refused_one_says_what_sbatch_said),
    cmocka_unit_test(a_hone_that_was_killed_finds_its_job_again),
    cmocka_unit_test(closing_a_target_cancels_what_it_handed_in),
    cmocka_unit_test(a_head_node_may_lose_its_connection),
    cmocka_unit_test(one_whose_runner_dies_is_explained),
    cmocka_unit_test(one_over_its_time_limit_is_explained),
    cmocka_unit_test(a_controller_that_is_away_is_waited_for),
    cmocka_unit_test(a_preempted_one_begins_anew_as_often_as_it_may),
    cmocka_unit_test(one_whose_node_fails_begins_anew),
};

int main(int argc, char **argv) {
    if (lab_missing()) {
        printf("skipped: %s\n", lab_missing());
        return 77;
    }
    struct scene scene = {.lab = lab_new(), .arena = arena_new()};
    char *folder = lab_path(scene.lab, "slurm");
    struct err why = {0};
    scene.slurm = slurm_start(folder, 2, 2, &why);
    free(folder);
    int failed = 77;
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (scene.slurm) {
        struct CMUnitTest own[COUNT_OF(tests)];
        for (size_t i = 0; i < COUNT_OF(tests); i++) {
            own[i] = tests[i];
            own[i].initial_state = &scene;
        }
        void *state = &scene;
        failed = set_up(&state) ? 1 : cmocka_run_group_tests_name("cluster", own, NULL, NULL);
        tear_down(&state);
    } else {
        printf("skipped: %s\n", why.text);
        failed = why.kind == ERR_ENVIRONMENT ? 77 : 1;
    }
    slurm_stop(scene.slurm);
    arena_free(scene.arena);
    lab_free(scene.lab);
    return failed;
}
