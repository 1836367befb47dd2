/* SPDX-License-Identifier: Apache-2.0 */
/* How much models think, by their own sections and by the roles for which they answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tune/proposer/models.h"
#include "base/config/testing.h"

static void set(struct config *config, const char *section, const char *key, const char *value) {
    struct err err = {0};
    if (!config_set(config, section, key, value, &err))
        fail_msg("%s", err.text);
}

static void assert_thinks(const struct tune_models *models, enum tune_role role,
                          enum model_effort effort, int tokens) {
    const struct model_endpoint *endpoint = tune_models_endpoint(models, role, 0);
    assert_int_equal(endpoint->effort, effort);
    assert_int_equal(endpoint->thinking_tokens, tokens);
}

/* One model for all roles. Each is asked as its role says, otherwise as the section does. */
static void a_role_comes_before_a_section(void **state) {
    struct err err = {0};
    struct config *config = config_load(NULL, &err);
    (void)state;
    assert_non_null(config);
    set(config, "model m", "base_url", "http://127.0.0.1:1/v1");
    set(config, "model m", "effort", "low");
    set(config, "model m", "thinking_tokens", "4000");
    set(config, "roles", "planner", "m");
    set(config, "roles", "summariser", "m");
    set(config, "roles", "planner_effort", "max");
    set(config, "roles", "fixer_effort", "off");
    struct tune_models *models = tune_models_open(config, "models", &err);
    if (!models)
        fail_msg("%s", err.text);
    assert_thinks(models, TUNE_ROLE_PLANNER, MODEL_EFFORT_MAX, 0);
    assert_thinks(models, TUNE_ROLE_REWRITER, MODEL_EFFORT_LOW, 4000);
    assert_thinks(models, TUNE_ROLE_FIXER, MODEL_EFFORT_OFF, 0);
    assert_thinks(models, TUNE_ROLE_SUMMARISER, MODEL_EFFORT_LOW, 4000);
    const struct tune_role_view *view = tune_models_view(models);
    assert_string_equal(view[TUNE_ROLE_PLANNER].models[0].asked, "openai, m, effort max");
    tune_models_free(models);
    models = tune_models_open(config, "anthropic/claude-x", &err);
    assert_non_null(models);
    assert_thinks(models, TUNE_ROLE_PLANNER, MODEL_EFFORT_MAX, 0);
    assert_thinks(models, TUNE_ROLE_REWRITER, MODEL_EFFORT_UNSET, 0);
    tune_models_free(models);
    config_free(config);
}

/* Only a known effort is taken. */
static void efforts_are_checked(void **state) {
    struct err err = {0};
    struct config *config = config_load(NULL, &err);
    (void)state;
    assert_false(config_set(config, "model m", "effort", "huge", &err));
    assert_false(config_set(config, "model m", "thinking_tokens", "12", &err));
    assert_false(config_set(config, "roles", "planner_effort", "yes", &err));
    config_free(config);
}

static int no_settings(void **state) {
    (void)state;
    return setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_role_comes_before_a_section),
        cmocka_unit_test(efforts_are_checked),
    };
    return cmocka_run_group_tests(tests, no_settings, NULL);
}
