/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_without_a_section_are_left_out),
        cmocka_unit_test(the_configuration_folder_wins),
        cmocka_unit_test(what_is_off_or_edited_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
