/* SPDX-License-Identifier: Apache-2.0 */
/* What the templates of prompts say of answers, imports and errors is what is read, let through and
 * told: each form of an answer goes to its reader as it stands in the template. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/nki.h"
#include "runner/runner.h"
#include "tune/answer/answer.h"

/* From the line that begins with `begin` up to the next empty one. */
static char *form_of(const char *file, const char *begin) {
    struct str text = embed_find(file), line;
    struct buf form = {0};
    bool in = false;
    assert_non_null(text.at);
    while (str_next(&text, '\n', &line) && !(in && !line.len)) {
        in = in || str_starts(line, begin);
        if (in)
            buf_printf(&form, STR_FMT "\n", STR_ARG(line));
    }
    if (!form.len)
        fail_msg("%s has no \"%s\"", file, begin);
    return buf_take(&form);
}

#define LINES_10 "\n\n\n\n\n\n\n\n\n\n"

static void plan_is_read(const char *file, bool has_sweep) {
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    struct err err = {0};
    char *form = form_of(file, "title: ");
    struct str lines = STR(LINES_10 LINES_10 LINES_10 LINES_10 LINES_10 LINES_10);
    assert_int_equal(tune_answer_plans(str_of(form), lines, NAN, arena, plans, &err), 1);
    assert_string_equal(plans[0].title, "a few words");
    assert_true(str_starts(str_of(plans[0].what), "which change, and where"));
    assert_string_equal(plans[0].why, "what in the profile it removes");
    assert_non_null(plans[0].strategy);
    assert_int_equal(plans[0].first_line, 40);
    assert_int_equal(plans[0].last_line, 52);
    assert_non_null(plans[0].metric);
    assert_true(fabs(plans[0].size - 0.4) < 1e-9);
    assert_true(fabs(plans[0].latency + 0.15) < 1e-9);
    assert_true(!plans[0].sweep == !has_sweep);
    free(form);
    arena_free(arena);
}

static void forms_of_plans_are_read(void **unused) {
    (void)unused;
    plan_is_read("prompts/plan.md", true);
    plan_is_read("prompts/once.md", false);
}

static void forms_of_changes_are_applied(void **unused) {
    (void)unused;
    static const char *const files[] = {"prompts/rewrite.md", "prompts/fix.md", "prompts/once.md"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct buf source = {0};
        struct err err = {0};
        char *form = form_of(files[i], "<<<<<<< SEARCH");
        const char *before = "def kernel(x):\n    lines of the kernel\n    return x\n";
        if (!tune_answer_kernel(str_of(form), before, "kernel", &source, &err))
            fail_msg("%s: %s", files[i], err.text);
        assert_string_equal(source.at, "def kernel(x):\n    new lines\n    return x\n");
        assert_true(tune_answer_has_kernel(str_of(form)));
        buf_free(&source);
        free(form);
    }
}

static void forms_of_lessons_are_read(void **unused) {
    (void)unused;
    struct arena *arena = arena_new();
    struct tune_lesson lesson = {0};
    struct err err = {0};
    char *form = form_of("prompts/summarise.md", "title: ");
    assert_true(tune_answer_lesson(str_of(form), false, arena, &lesson, &err));
    free(form);
    form = form_of("prompts/reflect.md", "diagnosis: ");
    assert_true(tune_answer_lesson(str_of(form), true, arena, &lesson, &err));
    free(form);
    arena_free(arena);
}

/* Every template that says how to give up says it as it is read. */
static void giving_up_is_read(void **unused) {
    (void)unused;
    static const char *const files[] = {"prompts/plan.md", "prompts/rewrite.md", "prompts/fix.md",
                                        "prompts/once.md"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct str text = embed_find(files[i]), reason;
        const char *said = strstr(text.at, "answer \"give up: \" and why");
        assert_non_null(said);
        char *answer = mem_strdup("give up: nothing is left");
        assert_true(tune_answer_gives_up(str_of(answer), &reason));
        assert_true(str_is(reason, "nothing is left"));
        free(answer);
    }
}

/* ---- imports -------------------------------------------------------------------------------- */

static bool may_import(struct str module) {
    struct diag_list diags = {0}, ignored = {0};
    struct buf text = {0};
    buf_printf(&text, "import " STR_FMT "\n", STR_ARG(module));
    struct nki_tree *tree = nki_parse("k.py", buf_str(&text), &ignored);
    struct nki_tree *before = nki_parse("k.py", STR("import nki\n"), &ignored);
    const struct nki_candidate_options options = {.original = before};
    nki_lint_candidate(tree, &options, &diags);
    bool may = !diags.all.len;
    nki_tree_free(before);
    nki_tree_free(tree);
    diag_free(&diags);
    diag_free(&ignored);
    buf_free(&text);
    return may;
}

static void modules_that_are_named_may_be_imported(void **unused) {
    (void)unused;
    static const char *const files[] = {"prompts/rewrite.md", "prompts/fix.md", "prompts/once.md"};
    static const char *const others[] = {"os", "sys", "random", "time", "json", "re", "inspect"};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *list = strstr(embed_find(files[i]).at, "numpy's\n  arithmetic, ");
        size_t count = 0;
        assert_non_null(list);
        list = strstr(list, ", ") + 2;
        struct str rest = {list, (size_t)(strchr(list, '.') - list)}, word;
        while (str_next(&rest, ' ', &word)) {
            word.len -= word.len && word.at[word.len - 1] == ',';
            if (str_is(word, "and"))
                continue;
            if (!may_import(word))
                fail_msg("%s: " STR_FMT " may not be imported", files[i], STR_ARG(word));
            count++;
        }
        assert_int_equal(count, 6);
    }
    assert_true(may_import(STR("numpy")));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(may_import(str_of(others[i])));
}

/* ---- errors --------------------------------------------------------------------------------- */

/* "marked \"internal\"": every cause that is explained is one that messages have. */
static void causes_of_errors_are_those_of_messages(void **unused) {
    (void)unused;
    const char *at = embed_find("prompts/fix.md").at;
    size_t found = 0;
    for (; (at = strstr(at, "marked \"")); found++) {
        at += strlen("marked \"");
        struct str cause = {at, (size_t)(strchr(at, '"') - at)};
        struct message message;
        bool known = str_is(cause, message_cause(""));
        for (size_t i = 0; !known && message_at(i, &message); i++) {
            char code[80];
            snprintf(code, sizeof code, STR_FMT, STR_ARG(message.name));
            known = str_is(cause, message_cause(code));
        }
        if (!known)
            fail_msg("no message is marked " STR_FMT, STR_ARG(cause));
    }
    assert_int_equal(found, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_plans_are_read),
        cmocka_unit_test(forms_of_changes_are_applied),
        cmocka_unit_test(forms_of_lessons_are_read),
        cmocka_unit_test(giving_up_is_read),
        cmocka_unit_test(modules_that_are_named_may_be_imported),
        cmocka_unit_test(causes_of_errors_are_those_of_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
