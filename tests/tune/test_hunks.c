// SPDX-License-Identifier: Apache-2.0
/* Line differences: what they find, and that taking or leaving hunks gives back exact sources. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tune/tune.h"

static void check_apply(const char *old, const char *new_) {
    size_t count = 0;
    struct tune_hunk *hunks = tune_hunks(str_of(old), str_of(new_), &count);
    char *taken = tune_hunks_apply(str_of(old), str_of(new_), hunks, count);
    assert_string_equal(taken, new_);
    free(taken);
    for (size_t i = 0; i < count; i++)
        hunks[i].left = true;
    char *left = tune_hunks_apply(str_of(old), str_of(new_), hunks, count);
    assert_string_equal(left, old);
    free(left);
    free(hunks);
}

static void hunks_name_the_changed_lines(void **unused) {
    (void)unused;
    const char *old = "a\nb\nc\nd\ne\nf\n", *new_ = "a\nB\nc\nd\nx\ne\n";
    size_t count = 0;
    struct tune_hunk *hunks = tune_hunks(str_of(old), str_of(new_), &count);
    assert_int_equal(count, 3);
    assert_int_equal(hunks[0].old_line, 2);
    assert_int_equal(hunks[0].old_count, 1);
    assert_int_equal(hunks[0].new_count, 1);
    assert_int_equal(hunks[1].old_count, 0);
    assert_int_equal(hunks[1].new_line, 5);
    assert_int_equal(hunks[2].old_line, 6);
    assert_int_equal(hunks[2].new_count, 0);
    hunks[1].left = true;
    char *mixed = tune_hunks_apply(str_of(old), str_of(new_), hunks, count);
    assert_string_equal(mixed, "a\nB\nc\nd\ne\n");
    free(mixed);
    free(hunks);
}

/* An edit that moves a load out of a loop, and what it does to the line that reads it. */
static void a_plan_is_about_every_line_that_changes(void **unused) {
    (void)unused;
    const char *old = "a\nfor i:\n  b\n  c\n  d\n  e\n", *now = "a\nb\nfor i:\n  c\n  D\n  E\n";
    struct arena *arena = arena_new();
    struct tune_plan plan = {.first_line = 3, .last_line = 3};
    struct buf text = {0};
    tune_plan_aim_at(&plan, str_of(old), str_of(now), arena);
    tune_plan_lines_print(&text, &plan);
    assert_string_equal(text.at, "3, 5 to 6");
    assert_int_equal(plan.first_line, 3);
    assert_int_equal(plan.last_line, 6);
    /* lines that are only added are about the statement that the edit names */
    plan = (struct tune_plan){.first_line = 2, .last_line = 4};
    tune_plan_aim_at(&plan, str_of("a\nb\n"), str_of("a\nx\nb\n"), arena);
    assert_int_equal(plan.first_line, 2);
    assert_int_equal(plan.last_line, 4);
    assert_null(plan.lines);
    buf_free(&text);
    arena_free(arena);
}

static void odd_texts_survive(void **unused) {
    (void)unused;
    static const char *const texts[] = {"",       "\n",     "a",         "a\n",     "a\nb",
                                        "b\na\n", "\n\n\n", "a\nb\nc\n", "c\nb\na", "a\na\na\nb\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        for (size_t j = 0; j < COUNT_OF(texts); j++)
            check_apply(texts[i], texts[j]);
}

static void equal_sources_have_none(void **unused) {
    (void)unused;
    size_t count = 9;
    free(tune_hunks(str_of("a\nb\n"), str_of("a\nb\n"), &count));
    assert_int_equal(count, 0);
}

static void random_edits_come_back_exactly(void **unused) {
    (void)unused;
    unsigned seed = 7;
    for (int turn = 0; turn < 200; turn++) {
        struct buf a = {0}, b = {0};
        buf_puts(&a, "");
        buf_puts(&b, "");
        for (int i = 0; i < 40; i++) {
            seed = seed * 1103515245 + 12345;
            unsigned kind = (seed >> 16) % 8, letter = (seed >> 20) % 5;
            if (kind != 0)
                buf_printf(&a, "%c\n", 'a' + letter);
            if (kind != 1)
                buf_printf(&b, "%c\n", 'a' + (kind == 2 ? letter + 1 : letter));
        }
        check_apply(a.at ? a.at : "", b.at ? b.at : "");
        buf_free(&a);
        buf_free(&b);
    }
}

static void wholly_different_sources_end_quickly(void **unused) {
    (void)unused;
    struct buf a = {0}, b = {0};
    for (int i = 0; i < 4000; i++)
        buf_printf(&a, "old %d\n", i), buf_printf(&b, "new %d\n", i);
    size_t count = 0;
    struct tune_hunk *hunks = tune_hunks(buf_str(&a), buf_str(&b), &count);
    assert_int_equal(count, 1);
    assert_int_equal(hunks[0].old_count, 4000);
    free(hunks);
    buf_free(&a);
    buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hunks_name_the_changed_lines),
        cmocka_unit_test(a_plan_is_about_every_line_that_changes),
        cmocka_unit_test(odd_texts_survive),
        cmocka_unit_test(equal_sources_have_none),
        cmocka_unit_test(random_edits_come_back_exactly),
        cmocka_unit_test(wholly_different_sources_end_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
