// SPDX-License-Identifier: Apache-2.0
/* A kernel that was tried before is not evaluated again, and the proposer is told which one it
 * was. */
#include "nki/nki.h"
#include "tune/apply/apply.h"
#include "tune/fake.h"

#define KERNEL(latency, more) "def kernel():\n    # latency " latency "\n    tile = 128\n" more

static void run(struct fake *fake) {
    fake_act(fake, (struct tune_action){.kind = TUNE_ACT_START});
}

static bool rejected(const struct tune_state *state, const char *title, const char *reason) {
    for (size_t i = 0; i < state->rejections.len; i++)
        if (state->rejections.at[i].by_loop && !strcmp(state->rejections.at[i].title, title))
            return strstr(state->rejections.at[i].reason, reason) != NULL;
    return false;
}

static void an_equal_kernel_is_not_run_again(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {
        {"slow", KERNEL("1100", "    return tile\n"), 0.4, NULL},
        {"again", KERNEL("500", "    '''Faster.'''\n\n    return (tile)  # really\n"), 0.4, NULL},
        {"renamed", "def kernel():\n    # latency 400\n    t = 128\n    return t\n", 0.4, NULL},
        {"nothing", "def kernel(): x = '''\n    # latency 1000\n    # hbm 1000\n'''\n\n", 0.4,
         NULL},
        {"empty", "\n", 0.4, NULL},
        {"other", KERNEL("900", "    return tile + 1\n"), 0.4, NULL},
        {"other again", KERNEL("800", "    return (tile + 1)\n"), 0.4, NULL}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.len, 3);
    assert_true(rejected(state, "again", "same as #1 (0.91x, revert)"));
    assert_true(rejected(state, "renamed", "same as #1 (0.91x, revert)"));
    assert_true(rejected(state, "nothing", "changes nothing"));
    assert_true(rejected(state, "empty", "changes nothing"));
    assert_int_equal(state->attempts.at[2].status, TUNE_STATUS_KEEP);
    assert_true(rejected(state, "other again", "changes nothing"));
    assert_non_null(strstr(fake.proposer.context, "\"again\""));
    assert_non_null(strstr(fake.proposer.context, "same as #1 (0.91x, revert)"));
    fake_end(&fake);
}

/* A repair that returns what failed before closes the attempt. */
static void a_repair_that_changes_nothing_ends_it(void **unused) {
    (void)unused;
    static const struct fake_plan plans[] = {{"one", KERNEL("700", "    # broken\n    return 1\n"),
                                              0.4, KERNEL("700", "    return 1\n    # mended\n")}};
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    run(&fake);
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->attempts.len, 2);
    assert_int_equal(state->attempts.at[1].status, TUNE_STATUS_FAILED);
    assert_int_equal(state->attempts.at[1].repairs, 0);
    assert_int_equal(fake.proposer.repairs, 1);
    fake_end(&fake);
}

static void another_agents_failure_counts_its_success_does_not(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, NULL, 0, TUNE_GATE_AUTO);
    run(&fake);
    struct tune_state *state = tune_state_new();
    struct str source = STR("def kernel():\n    return 2\n");
    struct hash hash = nki_source_hash(source);
    struct buf event = {0}, why = {0};
    buf_printf(&event,
               "{\"rows\":[{\"agent\":\"KDA\",\"name\":\"c7\",\"is\":\"keep\",\"normal\":\"%s\"}]}",
               hash.hex);
    tune_state_apply(state, 1, 1, "history", event.at);
    assert_false(tune_same_find(state, source, "def kernel(): pass\n", &why));
    buf_clear(&event);
    buf_printf(
        &event,
        "{\"rows\":[{\"agent\":\"KDA\",\"name\":\"c9\",\"is\":\"failed\",\"normal\":\"%s\"}]}",
        hash.hex);
    tune_state_apply(state, 2, 1, "history", event.at);
    assert_true(tune_same_find(state, source, "def kernel(): pass\n", &why));
    assert_string_equal(why.at, "same as c9 of KDA, which failed there");
    buf_free(&event);
    buf_free(&why);
    tune_state_free(state);
    fake_end(&fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_equal_kernel_is_not_run_again),
        cmocka_unit_test(a_repair_that_changes_nothing_ends_it),
        cmocka_unit_test(another_agents_failure_counts_its_success_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
