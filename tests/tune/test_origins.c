// SPDX-License-Identifier: Apache-2.0
/* Where the values of a session come from. They are written down when it begins, kept by replay,
 * changed by a person, and changed back by undo. [defaults] count for new sessions only. */
#include "tune/fake.h"

static const struct fake_plan plans[] = {
    {"first", "def kernel(): x = '''\n    # latency 800\n'''\n", 0.4, NULL}};

static void assert_origin(const struct fake *fake, const char *name, unsigned bit,
                          const char *expected) {
    const char *origin = tune_state_origin(fake_state(fake), name, bit);
    assert_non_null(origin);
    if (!strstr(origin, expected))
        fail_msg("%s comes from %s, not from %s", name, origin, expected);
}

static struct config *make_config(const struct fake *fake, const char *text) {
    struct err err = {0};
    char *folder = path_join(fake->folder, "conf/hone"), *conf = path_join(fake->folder, "conf");
    assert_true(file_make_dirs(folder, &err));
    fake_file(folder, "config.ini", text);
    setenv("XDG_CONFIG_HOME", conf, 1);
    struct config *config = config_load(NULL, &err);
    if (!config)
        fail_msg("%s", err.text);
    free(folder);
    free(conf);
    return config;
}

/* Another session in the same folder, with what the configuration says. */
static void open_anew(struct fake *fake, struct config *config, struct tune_options options) {
    tune_session_close(fake->session);
    options.task = fake->folder;
    options.config = config;
    options.use = &fake->proposer.vtable;
    options.place = &fake->seen;
    fake->options = options;
    fake_open(fake);
}

static void what_is_given_and_what_is_not(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    assert_origin(&fake, "rounds", 0, "--rounds");
    assert_origin(&fake, "gate", 0, "--gate");
    assert_origin(&fake, "target", 0, "default");
    assert_origin(&fake, "seeds", 0, "default");
    assert_string_equal(fake_state(&fake)->target, "sim");
    assert_string_equal(fake_state(&fake)->device, "trn2");
    fake_end(&fake);
}

static void a_new_session_takes_the_configuration(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    struct config *config = make_config(&fake, "[defaults]\ntarget = pod\nrounds = 7\nseeds = 3,4\n"
                                               "gate = auto-green\ntolerance = 0.01\n"
                                               "[host pod]\ndevice = trn3\n");
    setenv("HONE_DEFAULTS_PRECISION", "any", 1);
    struct err err = {0};
    config_free(config);
    config = config_load(NULL, &err);
    assert_non_null(config);
    unsetenv("HONE_DEFAULTS_PRECISION");
    open_anew(&fake, config, (struct tune_options){.fresh = true});
    const struct tune_state *state = fake_state(&fake);
    assert_string_equal(state->target, "pod");
    assert_string_equal(state->device, "trn3"); /* that of the host */
    assert_string_equal(state->precision, "any");
    assert_int_equal(state->rounds, 7);
    assert_int_equal(state->seeds.len, 2);
    assert_int_equal(state->steps[TUNE_STEP_PLAN].gate, TUNE_GATE_AUTO_GREEN);
    assert_true(state->tolerance == 0.01);
    assert_origin(&fake, "target", 0, "config.ini:2");
    assert_origin(&fake, "device", 0, "config.ini:8");
    assert_origin(&fake, "precision", 0, "HONE_DEFAULTS_PRECISION");
    open_anew(&fake, config, (struct tune_options){.fresh = true, .device = "trn1"});
    assert_string_equal(fake_state(&fake)->device, "trn1");
    assert_origin(&fake, "device", 0, "--device");
    fake_end(&fake);
    config_free(config);
}

static void a_session_that_exists_keeps_its_own(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    struct config *config =
        make_config(&fake, "[defaults]\nrounds = 7\ngate = ask\nprecision=any\n");
    open_anew(&fake, config, (struct tune_options){.tolerance = 0.5});
    const struct tune_state *state = fake_state(&fake);
    assert_int_equal(state->rounds, 50);
    assert_string_equal(state->precision, "keep");
    assert_int_equal(state->steps[TUNE_STEP_PLAN].gate, TUNE_GATE_AUTO);
    assert_origin(&fake, "tolerance", 0, "--tolerance");
    assert_origin(&fake, "rounds", 0, "--rounds");
    fake_end(&fake);
    config_free(config);
}

static void what_a_person_changes_is_said_until_it_is_undone(void **unused) {
    (void)unused;
    struct fake fake;
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_SET_TOLERANCE, .number = 1e-3});
    fake_act(&fake, (struct tune_action){
                        .kind = TUNE_ACT_SET_GATE, .step = TUNE_STEP_PLAN, .gate = TUNE_GATE_ASK});
    assert_origin(&fake, "tolerance", TUNE_BY_HAND_TOLERANCE, "changed in this session");
    assert_origin(&fake, "gate", TUNE_BY_HAND_GATE << TUNE_STEP_PLAN, "changed in this session");
    assert_origin(&fake, "gate", TUNE_BY_HAND_GATE << TUNE_STEP_DECIDE, "--gate");
    fake_act(&fake, (struct tune_action){.kind = TUNE_ACT_UNDO});
    assert_origin(&fake, "gate", TUNE_BY_HAND_GATE << TUNE_STEP_PLAN, "--gate");
    assert_origin(&fake, "tolerance", TUNE_BY_HAND_TOLERANCE, "changed in this session");
    fake_end(&fake);
}

static void wrong_seeds_of_the_configuration_cost_nobody_a_session(void **unused) {
    (void)unused;
    struct fake fake;
    struct err err = {0};
    fake_begin(&fake, plans, COUNT_OF(plans), TUNE_GATE_AUTO);
    struct config *config = make_config(&fake, "[defaults]\nseeds = one\n");
    char *before = mem_strdup(fake_state(&fake)->id);
    tune_session_close(fake.session);
    struct tune_options options = {.task = fake.folder, .config = config, .fresh = true};
    assert_null(tune_session_open(&options, fake.loop, &err));
    assert_non_null(strstr(err.text, "one"));
    fake_open(&fake);
    assert_string_equal(fake_state(&fake)->id, before);
    free(before);
    fake_end(&fake);
    config_free(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_and_what_is_not),
        cmocka_unit_test(a_new_session_takes_the_configuration),
        cmocka_unit_test(a_session_that_exists_keeps_its_own),
        cmocka_unit_test(what_a_person_changes_is_said_until_it_is_undone),
        cmocka_unit_test(wrong_seeds_of_the_configuration_cost_nobody_a_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
