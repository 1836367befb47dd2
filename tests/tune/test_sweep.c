// SPDX-License-Identifier: Apache-2.0
/* Named constants of a kernel and sweeps over them: finding them, changing one place, sweeps as
 * text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "rewrite/rewrite.h"
#include "tune/sums/sweep.h"

static const char kernel[] = "import nki.language as nl\n"
                             "PMAX = nl.tile_size.pmax\n"
                             "BLOCK = 4 * PMAX  # rows\n"
                             "NAME = 'x'\n"
                             "UNUSED = 7\n"
                             "LATER = OTHER * 2\n"
                             "OTHER = 3\n"
                             "def helper(x, width=(64), flag=True):\n"
                             "    depth: int = 2\n"
                             "    TILE = 32\n"
                             "    return x[0:width, 0:depth * TILE]\n"
                             "@nki.jit\n"
                             "def kernel(x, n=4):\n"
                             "    M, N = x.shape\n"
                             "    TILE, STEP = 128, 0x10\n"
                             "    rows = M // TILE\n"
                             "    twice = 1\n"
                             "    twice = 2\n"
                             "    total = 0\n"
                             "    for i in range(rows + n + twice):\n"
                             "        total += helper(x[i * BLOCK:i * BLOCK + PMAX], STEP)\n"
                             "    def inner(STEP):\n"
                             "        return STEP + LATER + OTHER\n"
                             "    return total\n";

static void constants_are_found(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
        int64_t value;
        int line, uses;
    } expected[] = {{"PMAX", "nl.tile_size.pmax", 128, 2, 2},
                    {"BLOCK", "4 * PMAX", 512, 3, 2},
                    {"OTHER", "3", 3, 7, 1},
                    {"width", "(64)", 64, 8, 1},
                    {"depth", "2", 2, 9, 1},
                    {"helper.TILE", "32", 32, 10, 1},
                    {"kernel.TILE", "128", 128, 15, 1},
                    {"STEP", "0x10", 16, 15, 1}};
    struct rewrite_constants *found = rewrite_constants_find(str_of(kernel), NULL);
    for (size_t i = 0; i < found->all.len && i < COUNT_OF(expected); i++) {
        const struct rewrite_constant *row = &found->all.at[i];
        assert_string_equal(row->name, expected[i].name);
        assert_string_equal(row->text, expected[i].text);
        assert_int_equal(row->value, expected[i].value);
        assert_int_equal(row->line, expected[i].line);
        assert_int_equal(row->uses, expected[i].uses);
    }
    assert_int_equal(found->all.len, COUNT_OF(expected));
    rewrite_constants_free(found);
    found = rewrite_constants_find(STR("def f(:\n    A = 1\n"), NULL);
    assert_int_equal(found->all.len, 0);
    rewrite_constants_free(found);
}

static void names_tell_which(void **state) {
    (void)state;
    struct rewrite_constants *found = rewrite_constants_find(str_of(kernel), NULL);
    struct err err = {0};
    assert_int_equal(rewrite_constants_named(found, STR("kernel.TILE"), &err)->value, 128);
    assert_int_equal(rewrite_constants_named(found, STR("helper.width"), &err)->value, 64);
    assert_null(rewrite_constants_named(found, STR("TILE"), &err));
    assert_non_null(strstr(err.text, "helper.TILE or kernel.TILE"));
    assert_null(rewrite_constants_named(found, STR("TILES"), &err));
    assert_non_null(strstr(err.text, "it has PMAX, BLOCK"));
    int64_t values[REWRITE_CONSTANT_VALUES];
    assert_int_equal(
        rewrite_constant_values(rewrite_constants_named(found, STR("depth"), NULL), values), 4);
    assert_int_equal(values[0], 1);
    assert_int_equal(values[3], 16);
    rewrite_constants_free(found);
}

/* Everything except the value stays, byte for byte. */
static void one_value_is_changed(void **state) {
    (void)state;
    struct buf out = {0};
    struct err err = {0};
    assert_true(tune_sweep_apply("sweep:BLOCK=256 width=32 kernel.TILE=64@3", str_of(kernel), NULL,
                                 &out, &err));
    static const char *const changes[][2] = {
        {"BLOCK = 4 * PMAX", "BLOCK = 256"}, {"width=(64)", "width=32"}, {"128, 0x10", "64, 0x10"}};
    const char *rest = kernel;
    struct buf expected = {0};
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        const char *at = strstr(rest, changes[i][0]);
        assert_non_null(at);
        buf_add(&expected, rest, (size_t)(at - rest));
        buf_puts(&expected, changes[i][1]);
        rest = at + strlen(changes[i][0]);
    }
    buf_puts(&expected, rest);
    assert_string_equal(out.at, expected.at);
    buf_clear(&out);
    assert_false(tune_sweep_apply("sweep:GONE=1", str_of(kernel), NULL, &out, &err));
    assert_false(tune_sweep_apply("tile:BLOCK:1", str_of(kernel), NULL, &out, &err));
    assert_int_equal(out.len, 0);
    buf_free(&expected);
    buf_free(&out);
}

static void sweeps_are_read_tolerantly(void **state) {
    (void)state;
    static const char *const said[][2] = {
        {"TILE_N=64,128,256", "TILE_N=64,128,256"},
        {"`TILE_N` in [64, 128, 256], DEPTH in 2, 3", "TILE_N=64,128,256 DEPTH=2,3"},
        {"TILE_N: 64 128 64", "TILE_N=64,128"},
        {"A 64..512 helper.b 0", "A=64,128,256,512 helper.b=0"},
        {"A=48..100", "A=48,96"},
        {"A over 1 and 2@7", "A=1,2@7"},
        {"A", "A="}};
    struct tune_sweep sweep;
    struct err err = {0};
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        struct buf out = {0};
        if (!tune_sweep_parse(str_of(said[i][0]), &sweep, &err))
            fail_msg("%s: %s", said[i][0], err.text);
        tune_sweep_print(&sweep, &out);
        assert_string_equal(out.at, said[i][1]);
        buf_free(&out);
    }
    static const char *const bad[] = {"",
                                      "64,128",
                                      "A=1\x1b",
                                      "A=-1",
                                      "A=9999999999999",
                                      "A=4..2",
                                      "A=0..8",
                                      "A=1x",
                                      "A=1 B=1 C=1 D=1 E=1",
                                      "A=99999999999999999999999",
                                      "A=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (tune_sweep_parse(str_of(bad[i]), &sweep, &err))
            fail_msg("\"%s\" was taken", bad[i]);
        assert_int_equal(err.kind, ERR_USAGE);
        assert_false(tune_sweep_parse(str_of(bad[i]), &sweep, NULL));
    }
}

static void a_source_says_what_can_be_swept(void **state) {
    (void)state;
    struct tune_sweep sweep;
    struct err err = {0};
    struct buf out = {0};
    assert_true(tune_sweep_parse(STR("helper.width depth=1,2,3"), &sweep, &err));
    assert_true(tune_sweep_resolve(&sweep, str_of(kernel), NULL, &err));
    sweep.base = 2;
    assert_int_equal(tune_sweep_combinations(&sweep), 15);
    tune_sweep_key(&sweep, 14, &out);
    assert_string_equal(out.at, "sweep:width=512 depth=3@2");
    buf_clear(&out);
    tune_sweep_title(&sweep, 1, &out);
    assert_string_equal(out.at, "width = 16, depth = 2");
    assert_true(tune_sweep_parse(STR("BLOCK=1..128 width=1..128"), &sweep, &err));
    assert_true(tune_sweep_resolve(&sweep, str_of(kernel), NULL, &err));
    assert_true(tune_sweep_parse(STR("BLOCK=1..256 width=1..128"), &sweep, &err));
    assert_false(tune_sweep_resolve(&sweep, str_of(kernel), NULL, &err));
    assert_non_null(strstr(err.text, "72 combinations"));
    assert_true(tune_sweep_parse(STR("depth=1 helper.depth=2"), &sweep, &err));
    assert_false(tune_sweep_resolve(&sweep, str_of(kernel), NULL, &err));
    assert_non_null(strstr(err.text, "twice"));
    buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_found),
        cmocka_unit_test(names_tell_which),
        cmocka_unit_test(one_value_is_changed),
        cmocka_unit_test(sweeps_are_read_tolerantly),
        cmocka_unit_test(a_source_says_what_can_be_swept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
