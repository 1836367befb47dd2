/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/apply/apply.h"
#include "tune/state/inner.h"
#include "tune/ask/testing.h"
#include "tune/tune.h"

static struct tune_context *two_sections(void) {
    struct tune_context *context = mem_alloc(1, sizeof *context);
    context->arena = arena_new();
    *vec_push(&context->sections) =
        (struct tune_section){"task", arena_strdup(context->arena, "silu on trn2\n")};
    *vec_push(&context->sections) =
        (struct tune_section){"rejections", arena_strdup(context->arena, "- too wide\n")};
    return context;
}

static char *printed(const struct tune_context *context) {
    struct buf out = {0};
    tune_context_print(context, &out);
    return buf_take(&out);
}

static void parts_without_a_section_are_left_out(void **state) {
    (void)state;
    struct tune_context *context = two_sections();
    char *text = printed(context);
    assert_non_null(strstr(text, "# task\n\nsilu on trn2\n"));
    assert_non_null(strstr(text, "- too wide"));
    assert_null(strstr(text, "# memory"));
    assert_null(strstr(text, "{{"));
    free(text);
    tune_context_free(context);
}

static void the_configuration_folder_wins(void **state) {
    (void)state;
    char folder[] = "/tmp/hone-prompt-XXXXXX";
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CONFIG_HOME", folder, 1);
    char *path = path_config("prompts/plan.md"), *parent = path_folder(path);
    struct err err = {0};
    assert_true(file_make_dirs(parent, &err));
    const char mine[] = "# mine\n{{ task }} and {{nothing}}.\n# gone\n{{memory}}\n# kept {{\n";
    assert_true(file_write(path, mine, sizeof mine - 1, &err));
    struct tune_context *context = two_sections();
    char *text = printed(context);
    assert_string_equal(text, "# mine\nsilu on trn2 and .\n# kept {{\n");
    free(text);
    free(path);
    free(parent);
    tune_context_free(context);
    assert_true(file_remove_tree(folder, &err));
    unsetenv("XDG_CONFIG_HOME");
}

static const struct tune_prompt_part *part_of(const struct tune_prompt *prompt, const char *name) {
    for (size_t i = 0; i < prompt->parts.len; i++)
        if (!strcmp(prompt->parts.at[i].name, name))
            return &prompt->parts.at[i];
    fail_msg("there is no part %s", name);
    return NULL;
}

static void what_is_off_or_edited_counts(void **state) {
    (void)state;
    struct tune_context *context = two_sections();
    struct tune_prompt *whole = tune_prompt_build(context, TUNE_ROLE_PLANNER, NULL, 0);
    double all = tune_prompt_tokens(whole), task = part_of(whole, "task")->tokens;
    assert_true(task > 0 && all > task);
    *vec_push(&context->changes) =
        (struct tune_part_change){.role = TUNE_ROLE_PLANNER, .part = "task", .off = true};
    *vec_push(&context->changes) =
        (struct tune_part_change){.role = TUNE_ROLE_REWRITER, .part = "rejections", .off = true};
    const struct tune_prompt_change edit = {"rejections", "none", false};
    struct tune_prompt *changed = tune_prompt_build(context, TUNE_ROLE_PLANNER, &edit, 1);
    assert_true(part_of(changed, "task")->off);
    assert_true(part_of(changed, "task")->tokens == 0);
    assert_true(part_of(changed, "rejections")->edited && !part_of(changed, "rejections")->off);
    assert_true(tune_prompt_tokens(changed) < all - task);
    struct buf system = {0}, user = {0};
    tune_prompt_print(changed, &system, &user);
    assert_null(strstr(user.at, "silu on trn2"));
    assert_null(strstr(user.at, "- too wide"));
    assert_non_null(strstr(user.at, "none\n"));
    buf_free(&system);
    buf_free(&user);
    tune_prompt_free(whole);
    tune_prompt_free(changed);
    tune_context_free(context);
}

/* ---- what is too long ----------------------------------------------------------------------- */

/* ------------------------------------------------------------------------------- pages of docs */

static const struct tune_prompt_part *part_named(const struct tune_prompt *prompt,
                                                 const char *name) {
    for (size_t i = 0; i < prompt->parts.len; i++)
        if (!strcmp(prompt->parts.at[i].name, name))
            return &prompt->parts.at[i];
    fail_msg("no part %s", name);
    return NULL;
}

static char *user_text(const struct tune_prompt *prompt) {
    struct buf system = {0}, user = {0};
    tune_prompt_print(prompt, &system, &user);
    buf_free(&system);
    return buf_take(&user);
}

/* Which of the two pages go out with these changes, and when only so many tokens may. */
static void expect_pages(const struct tune_context *context,
                         const struct tune_prompt_change *change, double fewer, bool first,
                         bool second) {
    struct tune_prompt *prompt =
        tune_prompt_build(context, TUNE_ROLE_REWRITER, change, change ? 1 : 0);
    assert_true(tune_prompt_fit(prompt, context, tune_prompt_tokens(prompt) - fewer));
    char *text = user_text(prompt);
    assert_int_equal(strstr(text, "nisa.memset\n    value: a number\n") != NULL, first);
    assert_int_equal(strstr(text, "nisa.exp\n    x: a tile\n") != NULL, second);
    assert_int_equal(part_named(prompt, "nisa.memset")->tokens > 0, first);
    assert_int_equal(part_named(prompt, "nisa.exp")->tokens > 0, second);
    free(text);
    tune_prompt_free(prompt);
}

static void a_page_has_its_price_and_can_be_switched_off(void **unused) {
    (void)unused;
    struct tune_context *context = two_sections();
    *vec_push(&context->sections) = (struct tune_section){
        "api in use", arena_strdup(context->arena, "nisa.memset\n    value: a number\n    fills\n"
                                                   "nisa.exp\n    x: a tile\n")};
    struct tune_prompt *prompt = tune_prompt_build(context, TUNE_ROLE_REWRITER, NULL, 0);
    char *text = user_text(prompt);
    assert_non_null(strstr(text, "# API in use\n\nnisa.memset\n    value: a number\n    fills\n"
                                 "nisa.exp\n    x: a tile\n"));
    assert_false(part_named(prompt, "API in use")->is_page);
    assert_true(part_named(prompt, "nisa.memset")->is_page);
    free(text);
    tune_prompt_free(prompt);
    expect_pages(context, NULL, 0, true, true);
    expect_pages(context, &(struct tune_prompt_change){"nisa.memset", NULL, true}, 0, false, true);
    expect_pages(context, &(struct tune_prompt_change){"API in use", NULL, true}, 0, false, false);
    expect_pages(context, NULL, 1, true, false); /* the last ones give way first */
    tune_context_free(context);
}

static void apply(struct tune_state *state, const char *type, cJSON *payload) {
    char *text = cJSON_PrintUnformatted(payload);
    tune_state_apply(state, state->seq + 1, 1000, type, text);
    free(text);
    cJSON_Delete(payload);
}

/* 5 000 lines of kernel, thousands of metrics and costs, 200 experiences that apply, 40 notes. */
static struct tune_state *huge_state(void) {
    struct tune_state *state = tune_state_new();
    struct buf source = {0};
    buf_puts(&source, "import nki\ndef kernel(x):\n");
    for (int i = 3; i <= 5000; i++)
        buf_printf(&source, "    tile_%d = load(x, at=%d)  # one of many lines\n", i, i * 128);
    cJSON *payload = cJSON_CreateObject();
    cJSON_AddStringToObject(payload, "task", "huge");
    cJSON_AddStringToObject(payload, "function", "kernel");
    cJSON_AddStringToObject(payload, "source", source.at);
    cJSON_AddStringToObject(payload, "device", "trn2");
    apply(state, "session", payload);
    payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", 0);
    cJSON_AddNumberToObject(payload, "parent", -1);
    cJSON_AddStringToObject(payload, "source", source.at);
    apply(state, "attempt", payload);
    payload = cJSON_CreateObject();
    cJSON_AddNumberToObject(payload, "attempt", 0);
    cJSON_AddNumberToObject(payload, "latency_us", 1000);
    cJSON *metrics = cJSON_AddArrayToObject(payload, "metrics");
    cJSON *lines = cJSON_AddArrayToObject(payload, "lines");
    for (int i = 0; i < 3000; i++) {
        char name[40];
        snprintf(name, sizeof name, "metric_number_%d", i);
        cJSON *metric = cJSON_CreateObject(), *line = cJSON_CreateObject();
        cJSON_AddStringToObject(metric, "name", name);
        cJSON_AddNumberToObject(metric, "value", i);
        cJSON_AddItemToArray(metrics, metric);
        cJSON_AddNumberToObject(line, "line", i + 3);
        cJSON_AddNumberToObject(line, "share", i == 2400 ? 0.5 : 1e-4);
        cJSON_AddItemToArray(lines, line);
    }
    apply(state, "measured", payload);
    for (int i = 0; i < 200; i++) {
        struct tune_experience *item = vec_push(&state->memory);
        *item = (struct tune_experience){.is = TUNE_EXPERIENCE_APPROVED,
                                         .speedup = 1.2,
                                         .imported = true,
                                         .title = "an experience",
                                         .summary = "do it so"};
    }
    for (int i = 0; i < 40; i++)
        *vec_push(&state->notes) = (struct tune_note){.round = i, .lesson = "a lesson"};
    state->incumbent = 0;
    buf_free(&source);
    return state;
}

static void what_is_too_long_is_cut_by_section_and_says_so(void **unused) {
    (void)unused;
    struct tune_state *state = huge_state();
    static const double limits[] = {0, 50000, 20000, 3500};
    double last = INFINITY;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct tune_context *context = tune_context_build(state, 0);
        struct tune_prompt *prompt = tune_prompt_build(context, TUNE_ROLE_PLANNER, NULL, 0);
        assert_true(tune_prompt_fit(prompt, context, limits[i]));
        double tokens = tune_prompt_tokens(prompt), sum = 0;
        struct buf all = {0};
        tune_prompt_print(prompt, &all, &all);
        for (size_t k = 0; k < prompt->parts.len; k++)
            sum += prompt->parts.at[k].tokens;
        assert_true(tokens == sum && tokens < last && (limits[i] == 0 || tokens <= limits[i]));
        /* The parts add up to what goes out. */
        assert_true(fabs(tune_tokens_estimate(buf_str(&all)) - sum) <= (double)prompt->parts.len);
        const struct tune_prompt_part *kernel = part_of(prompt, "kernel"),
                                      *profile = part_of(prompt, "profile");
        assert_true(profile->left_out > 2000 && strstr(profile->text.at, "lines left out ...]"));
        bool tight = limits[i] > 0 && limits[i] < 4000;
        assert_true(tight || strstr(all.at, "184 older experiences left out"));
        assert_true(tight || strstr(all.at, "28 older notes left out ...]"));
        if (limits[i] == 0) {
            assert_int_equal(kernel->left_out, 0);
        } else {
            /* The head and what costs most stay. */
            assert_true(kernel->left_out > 100);
            assert_non_null(strstr(kernel->text.at, "   2  def kernel(x):"));
            assert_non_null(strstr(kernel->text.at, "2403      tile_2403"));
            assert_non_null(strstr(kernel->text.at, "lines left out ...]"));
        }
        last = tokens;
        buf_free(&all);
        tune_prompt_free(prompt);
        tune_context_free(context);
    }
    struct tune_context *context = tune_context_build(state, 0);
    struct tune_prompt *prompt = tune_prompt_build(context, TUNE_ROLE_PLANNER, NULL, 0);
    assert_false(tune_prompt_fit(prompt, context, 300));
    tune_prompt_free(prompt);
    tune_context_free(context);
    tune_state_free(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_without_a_section_are_left_out),
        cmocka_unit_test(the_configuration_folder_wins),
        cmocka_unit_test(what_is_off_or_edited_counts),
        cmocka_unit_test(a_page_has_its_price_and_can_be_switched_off),
        cmocka_unit_test(what_is_too_long_is_cut_by_section_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
