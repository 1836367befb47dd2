// SPDX-License-Identifier: Apache-2.0
/* What a session survives: a kill at any moment, a second process, a newer version, a full disk, an
 * interruption in the middle of a step. */
#include "tune/kill.h"
#include "loop/testing.h"

#include <sqlite3.h>
#include <sys/resource.h>

#define SOURCE(latency, more) \
    "def kernel(): x = '''\n    # latency " latency "\n    # " more "\n'''\n"
#define ACT(...) ((struct tune_action){__VA_ARGS__})

static const struct fake_plan plans[] = {{"first", SOURCE("800", "one"), 0.4, NULL},
                                         {"second", SOURCE("700", "two"), 0.4, NULL},
                                         {"third", SOURCE("600", "three"), 0.4, NULL},
                                         {"fourth", SOURCE("650", "four"), 0.4, NULL}};

/* Kills a run after `events` changes, and checks that all that was shown comes back. */
static void kill_after(int events) {
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    tune_session_close(fake.session);
    loop_free(fake.loop);
    kill_reopen(&fake, kill_run(&fake, events, NULL, NULL));
    fake_act(&fake, ACT(.kind = TUNE_ACT_START));
    assert_true(fake_state(&fake)->finished);
    assert_float_equal(fake_state(&fake)->attempts.at[fake_state(&fake)->best].latency_us, 600,
                       1e-9);
    fake_end(&fake);
}

static void a_kill_loses_nothing_that_was_shown(void **unused) {
    (void)unused;
    static const int moments[] = {1, 3, 12, 20, 33, 47, 60};
    for (size_t i = 0; i < COUNT_OF(moments); i++)
        kill_after(moments[i]);
}

static void a_second_process_looks_on(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    struct fake_proposer none = {.vtable = {.name = "none", .self = &none}};
    struct tune_options options = fake.options;
    options.use = &none.vtable;
    struct err err = {0};
    struct tune_session *second = tune_session_open(&options, fake.loop, &err);
    assert_non_null(second);
    const struct tune_state *seen = tune_session_state(second);
    assert_true(seen->read_only);
    assert_non_null(strstr(seen->held_by, "process "));
    assert_false(tune_can(seen, TUNE_ANY_LANE, TUNE_ACT_START));
    struct tune_action start = {.kind = TUNE_ACT_START};
    assert_false(tune_session_act(second, &start, &err));
    assert_non_null(strstr(err.text, seen->held_by));
    fake_act(&fake, start);
    const bool never = false;
    loop_run_until(fake.loop, &never, 1200);
    assert_int_equal(seen->seq, fake_state(&fake)->seq);
    assert_int_equal(seen->attempts.len, fake_state(&fake)->attempts.len);
    tune_session_close(second);
    fake_end(&fake);
}

static void a_session_of_a_newer_version_is_refused(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    char *path = path_join(tune_session_folder(fake.session), "session.db");
    tune_session_close(fake.session);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    struct err err = {0};
    assert_null(tune_session_open(&fake.options, fake.loop, &err));
    assert_non_null(strstr(err.text, "newer hone"));
    fake.options.fresh = true;
    fake_open(&fake);
    assert_int_equal(fake_state(&fake)->attempts.len, 0);
    free(path);
    fake_end(&fake);
}

static void a_full_disk_stops_the_loop_and_loses_nothing(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 160 * 1024;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    struct err err = {0};
    struct tune_action start = {.kind = TUNE_ACT_START};
    bool started = tune_session_act(fake.session, &start, &err);
    loop_run_until_idle(fake.loop, 20000);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    const struct tune_state *state = fake_state(&fake);
    assert_true(!started || state->trouble);
    assert_non_null(state->trouble);
    assert_non_null(strstr(state->trouble, "cannot write"));
    assert_false(tune_session_is_busy(fake.session));
    assert_true(tune_can(state, TUNE_ANY_LANE, TUNE_ACT_START));
    struct buf live = {0}, again = {0};
    tune_state_print(state, &live);
    struct tune_state *replayed = tune_state_new();
    struct told all = {.seq = INT64_MAX};
    struct replay replay = {replayed, &all};
    assert_true(store_replay(fake.session->store, 0, replay_to, &replay, &err));
    tune_state_print(replayed, &again);
    assert_string_equal(live.at, again.at);
    tune_state_free(replayed);
    buf_free(&live);
    buf_free(&again);
    fake_act(&fake, start);
    assert_true(state->finished);
    assert_float_equal(state->attempts.at[state->best].latency_us, 600, 1e-9);
    fake_end(&fake);
}

static void a_task_that_changed_is_told(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    tune_session_close(fake.session);
    fake_file(fake.folder, "kernel.py", SOURCE("1", "edited outside"));
    fake_open(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->changed.len, 1);
    assert_string_equal(state->changed.at[0].name, "kernel.py");
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_KEEP_FILES});
    tune_session_close(fake.session);
    fake.options.device = "trn1";
    struct err err = {0};
    assert_null(tune_session_open(&fake.options, fake.loop, &err));
    assert_non_null(strstr(err.text, "--device trn2"));
    fake.options.device = NULL;
    fake.options.seeds = "1,x";
    assert_null(tune_session_open(&fake.options, fake.loop, &err));
    fake.options.seeds = NULL;
    fake_open(&fake);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_loses_nothing_that_was_shown),
        cmocka_unit_test(a_second_process_looks_on),
        cmocka_unit_test(a_session_of_a_newer_version_is_refused),
        cmocka_unit_test(a_full_disk_stops_the_loop_and_loses_nothing),
        cmocka_unit_test(a_task_that_changed_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
