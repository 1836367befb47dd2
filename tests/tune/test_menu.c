// SPDX-License-Identifier: Apache-2.0
/* The menu of strategies: what holds for a kernel, what a prompt shows of it, one vocabulary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tune/answer/answer.h"
#include "tune/ask/menu.h"
#include "tune/ask/testing.h"
#include "tune/state/inner.h"
#include "rewrite/private.h"

static const struct tune_menu_facts unknown = {.any_precision = true, .spilled_bytes = NAN};

static const struct tune_strategy *entry_of(const struct tune_menu *menu, const char *name) {
    for (size_t i = 0; i < menu->entries.len; i++)
        if (!strcmp(menu->entries.at[i].name, name))
            return &menu->entries.at[i];
    fail_msg("there is no entry %s", name);
    return NULL;
}

static void entries_are_read(void **state) {
    (void)state;
    struct tune_menu *menu =
        tune_menu_read(STR("Prose: on: trn1\n\n# Wide Tiles \non: trn2\nwhen: a b|c\n"
                           "Make them\nwide. on: paper\n\n# empty\nwhen: x\n"
                           "# wide_tiles\nagain\n# \nnameless\n# bad\n"
                           "avoid: yes\nNever."));
    assert_int_equal(menu->entries.len, 2);
    const struct tune_strategy *wide = entry_of(menu, "wide_tiles");
    assert_string_equal(wide->text, "Make them wide. on: paper");
    assert_string_equal(wide->on, "trn2");
    assert_string_equal(wide->when, "a b|c");
    assert_false(wide->avoid);
    assert_true(entry_of(menu, "bad")->avoid);
    tune_menu_free(menu);
}

static bool holds(const char *on, const char *when, const struct tune_menu_facts *facts) {
    const struct tune_strategy entry = {.name = "a", .text = "b", .on = on, .when = when};
    return tune_menu_applies(&entry, facts);
}

static void what_is_known_rules_out(void **state) {
    (void)state;
    struct tune_menu_facts facts = {.device = "gen3",
                                    .dialect = "current",
                                    .release = "0.10.0",
                                    .families = "norm",
                                    .bound_by = "DMA",
                                    .spilled_bytes = 0,
                                    .source = "x = nisa.nc_matmul(y, expand)\n"};
    assert_true(holds("trn2 trn3", NULL, &facts));
    assert_false(holds("trn1", NULL, &facts));
    assert_true(holds(NULL, "matmul norm", &facts));
    assert_true(holds(NULL, "softmax|matmul dma-bound", &facts));
    assert_false(holds(NULL, "exp", &facts));
    assert_false(holds(NULL, "matmul softmax", &facts));
    assert_false(holds(NULL, "vector-bound", &facts));
    assert_false(holds(NULL, "spills", &facts));
    assert_false(holds(NULL, "loops", &facts));
    assert_false(holds(NULL, "any-precision", &facts));
    const struct tune_strategy late = {.since = "0.9"}, later = {.since = "0.11"},
                               legacy = {.dialect = "legacy"};
    assert_true(tune_menu_applies(&late, &facts));
    assert_false(tune_menu_applies(&later, &facts));
    assert_false(tune_menu_applies(&legacy, &facts));
    assert_true(tune_menu_applies(&later, &unknown));
    assert_true(tune_menu_applies(&legacy, &unknown));
    assert_true(holds("trn1", "exp spills vector-bound loops", &unknown));
}

/* Marks what is shown; all that is to be avoided is. */
static size_t chosen(const struct tune_menu *menu, const struct tune_menu_facts *facts,
                     const struct tune_menu_draw *draw, bool *shown) {
    size_t *order = mem_alloc(menu->entries.len + 1, sizeof *order), avoid, harmful = 0;
    size_t count = tune_menu_choose(menu, facts, draw, order, &avoid);
    memset(shown, 0, menu->entries.len);
    for (size_t i = 0; i < count + avoid; i++) {
        assert_false(shown[order[i]]);
        assert_int_equal(menu->entries.at[order[i]].avoid, i >= count);
        shown[order[i]] = i < count;
    }
    for (size_t i = 0; i < menu->entries.len; i++)
        harmful += menu->entries.at[i].avoid && tune_menu_applies(&menu->entries.at[i], facts);
    assert_int_equal(avoid, harmful);
    mem_free_(order);
    return count;
}

static void a_draw_is_the_same_everywhere(void **state) {
    (void)state;
    struct tune_menu *menu = tune_menu_read(STR(
        "# one\n1\n# two\n2\n# three\n3\n# four\n4\n# five\n5\n# six\n6\n# no\navoid: yes\n7\n"));
    bool shown[7], again[7];
    struct tune_menu_draw draw = {"0123456789abcdef", 3, 1, 2, 0.34};
    /* written down once, because other machines must draw the same */
    assert_int_equal(chosen(menu, &unknown, &draw, shown), 2);
    assert_true(shown[1] && shown[2]);
    assert_int_equal(chosen(menu, &unknown, &draw, again), 2);
    assert_memory_equal(shown, again, sizeof shown);
    draw.keep = 1;
    assert_int_equal(chosen(menu, &unknown, &draw, shown), 6);
    draw.keep = 0;
    assert_int_equal(chosen(menu, &unknown, &draw, shown), 1);
    tune_menu_free(menu);
}

/* The share is kept, and in many questions everything that applies is shown at some time. */
static void the_share_is_kept(void **state) {
    (void)state;
    struct tune_menu *menu = tune_menu_load();
    size_t count = menu->entries.len, levers = 0, seen = 0;
    bool *shown = mem_alloc(count + 1, sizeof *shown), *once = mem_alloc(count + 1, sizeof *once);
    for (size_t i = 0; i < count; i++)
        levers += !menu->entries.at[i].avoid;
    for (int plan = 0; plan < 400; plan++) {
        struct tune_menu_draw draw = {"fedcba98", plan / 20, plan % 7, plan, TUNE_MENU_KEEP};
        size_t some = chosen(menu, &unknown, &draw, shown);
        assert_true(fabs((double)some - TUNE_MENU_KEEP * (double)levers) <= 0.5);
        for (size_t i = 0; i < count; i++)
            once[i] = once[i] || shown[i];
    }
    for (size_t i = 0; i < count; i++)
        seen += once[i];
    assert_int_equal(seen, levers);
    mem_free_(shown);
    mem_free_(once);
    tune_menu_free(menu);
}

/* What the profile says and what was tried decide before the lot does. */
static void what_fits_and_was_not_tried_comes_first(void **state) {
    (void)state;
    struct tune_menu *menu = tune_menu_read(
        STR("# plain\nDo something.\n# loops_too\nwhen: loops\nIn loops.\n"
            "# moves\nwhen: dma-bound\nMove less.\n# vector\nwhen: vector-bound\nLess of it.\n"
            "# harm\navoid: yes\nmeasured: on trn2\nNever.\n"));
    struct tune_attempt tried[2] = {{.status = TUNE_STATUS_REVERT, .plan.strategy = "moves"},
                                    {.status = TUNE_STATUS_KEEP, .plan.strategy = "other"}};
    struct tune_menu_facts facts = {
        .source = "for i in range(3):\n", .bound_by = "DMA", .spilled_bytes = NAN};
    for (int round = 0; round < 20; round++) {
        struct tune_menu_draw draw = {"f", round, 0, 0, 0.5};
        size_t order[6], avoid;
        facts.n_tried = 0;
        assert_int_equal(tune_menu_choose(menu, &facts, &draw, order, &avoid), 2);
        assert_int_equal(avoid, 1);
        assert_string_equal(menu->entries.at[order[0]].name, "moves");
        assert_string_equal(menu->entries.at[order[1]].name, "loops_too");
        assert_string_equal(menu->entries.at[order[2]].measured, "on trn2");
        facts.tried = tried;
        facts.n_tried = 2;
        tune_menu_choose(menu, &facts, &draw, order, &avoid);
        assert_string_equal(menu->entries.at[order[0]].name, "loops_too");
    }
    tune_menu_free(menu);
}

static void the_built_in_menu_is_sound(void **state) {
    (void)state;
    struct tune_menu *menu = tune_menu_load();
    static const char *const rows[] = {
#define ROW(id, ...) #id,
#include "rewrite/moves/menu.def"
#undef ROW
    };
    size_t levers = 0;
    for (size_t i = 0; i < menu->entries.len; i++) {
        const struct tune_strategy *entry = &menu->entries.at[i];
        levers += !entry->avoid;
        if (strlen(entry->text) < 30 || strlen(entry->text) > 320)
            fail_msg("%s is %zu characters long", entry->name, strlen(entry->text));
        if (strchr(entry->text, ':') && strchr(entry->text, ':') - entry->text < 8)
            fail_msg("%s begins like a field: %s", entry->name, entry->text);
    }
    assert_true(levers >= 40 && menu->entries.len - levers >= 8);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char key[80];
        snprintf(key, sizeof key, "%s:somewhere", rows[i]);
        assert_false(entry_of(menu, rewrite_strategy(key))->avoid);
    }
    assert_null(rewrite_strategy("said:0123"));
    assert_null(rewrite_strategy(NULL));
    tune_menu_free(menu);
}

static void names_are_read_tolerantly(void **state) {
    (void)state;
    static const char *const said[][2] = {{" `Resident`", "resident"},
                                          {"**on-chip** (keep it)", "on_chip"},
                                          {"psum free: early", "psum_free"},
                                          {"tile - change TILE_M", "tile"},
                                          {"hoist \xe2\x80\x94 loads", "hoist"},
                                          {"\x1b\x01", ""},
                                          {"--", ""}};
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        char name[TUNE_STRATEGY_MAX + 1];
        tune_strategy_name(str_of(said[i][0]), name);
        assert_string_equal(name, said[i][1]);
    }
}

static void a_plan_names_its_strategy(void **state) {
    (void)state;
    static const char *const answers[] = {"title: t\nwhat: w\nStrategy: `block_matmul`, mostly\n",
                                          "[{\"what\": \"w\", \"menu_entry\": \"Block-Matmul\"}]"};
    struct arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct tune_plan plans[TUNE_ANSWER_PLANS];
        assert_int_equal(tune_answer_plans(str_of(answers[i]), STR(""), NAN, arena, plans, NULL),
                         1);
        assert_string_equal(plans[0].strategy, "block_matmul");
    }
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    assert_int_equal(
        tune_answer_plans(STR("what: w\nstrategy: none\n"), STR(""), NAN, arena, plans, NULL), 1);
    assert_null(plans[0].strategy);
    const char *const others[] = {"block the batch", "blocked", "something else"};
    const char *const mine[] = {"block", "blocked", "something_else"};
    struct tune_menu *menu = tune_menu_load();
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        char name[TUNE_STRATEGY_MAX + 1];
        tune_strategy_match(menu, str_of(others[i]), name);
        assert_string_equal(name, mine[i]);
    }
    tune_menu_free(menu);
    arena_free(arena);
}

int main(void) {
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_read),
        cmocka_unit_test(what_is_known_rules_out),
        cmocka_unit_test(a_draw_is_the_same_everywhere),
        cmocka_unit_test(the_share_is_kept),
        cmocka_unit_test(what_fits_and_was_not_tried_comes_first),
        cmocka_unit_test(the_built_in_menu_is_sound),
        cmocka_unit_test(names_are_read_tolerantly),
        cmocka_unit_test(a_plan_names_its_strategy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
