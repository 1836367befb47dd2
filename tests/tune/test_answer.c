/* SPDX-License-Identifier: Apache-2.0 */
/* What models write, read as plans and kernels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tune/answer/answer.h"

#define KERNEL                                                                                 \
    "import nki\n\n@nki.jit\ndef kernel(x):\n    for i in range(4):\n        y = load(x, i)\n" \
    "        store(y, i)\n    return y\n"

#define LINES_10 "\n\n\n\n\n\n\n\n\n\n"
#define SIXTY STR(LINES_10 LINES_10 LINES_10 LINES_10 LINES_10 LINES_10)

static size_t plans_of(const char *text, struct arena *arena, struct tune_plan *plans) {
    struct err err = {0};
    return tune_answer_plans(str_of(text), SIXTY, NAN, arena, plans, &err);
}

static void labelled_lines_are_a_plan(void **state) {
    (void)state;
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    size_t count =
        plans_of("I looked at the profile.\n\n**Title:** Keep w resident\n- **What**: load w "
                 "once\n  before the loop over i\nWhy: it is read 32 times\nLines: 40-52\n"
                 "Metric: `hbm_read_bytes` (bytes)\nDirection: down\nSize: 60 %\n"
                 "Latency: -20 %\n",
                 arena, plans);
    assert_int_equal(count, 1);
    assert_string_equal(plans[0].title, "Keep w resident");
    assert_string_equal(plans[0].what, "load w once\n  before the loop over i");
    assert_string_equal(plans[0].why, "it is read 32 times");
    assert_int_equal(plans[0].first_line, 40);
    assert_int_equal(plans[0].last_line, 52);
    assert_string_equal(plans[0].metric, "hbm_read_bytes");
    assert_int_equal(plans[0].direction, TUNE_DIRECTION_DOWN);
    assert_float_equal(plans[0].size, 0.6, 1e-9);
    assert_float_equal(plans[0].latency, -0.2, 1e-9);
    arena_free(arena);
}

/* The first plan of an answer with such lines. */
static struct tune_plan plan_with(const char *lines, const char *text, double us,
                                  struct arena *arena) {
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    struct buf answer = {0};
    buf_printf(&answer, "what: a\n%s: %s\n", lines, text);
    assert_int_equal(tune_answer_plans(buf_str(&answer), SIXTY, us, arena, plans, NULL), 1);
    buf_free(&answer);
    return plans[0];
}

static void assert_share(double share, double expected) {
    assert_int_equal(isnan(share), isnan(expected));
    if (!isnan(expected))
        assert_float_equal(share, expected, 1e-6);
}

static void assert_latency(const char *text, double us, double latency) {
    struct arena *arena = arena_new();
    assert_share(plan_with("metric: latency\nlatency", text, us, arena).latency, latency);
    arena_free(arena);
}

/* A model that is asked for a share may tell a time, or both. */
static void latencies_in_times_are_shares_of_the_kernels(void **state) {
    (void)state;
    assert_latency("1.2 ms", 1500, -0.2);
    assert_latency("1200 us", 1500, -0.2);
    assert_latency("1.2 ms", NAN, NAN);
    assert_latency("1.5 ms -> 1.2 ms", NAN, -0.2);
    assert_latency("from 1.5 ms to 1200 µs", 2000, -0.2);
    assert_latency("-300 us", 1500, -0.2);
    assert_latency("saves 300us", 1500, -0.2);
    assert_latency("300 us slower", 1500, 0.2);
    assert_latency("1.8 ms", 1500, 0.2);
    assert_latency("1.5 ms to 1.2 ms (-20 %)", 1500, -0.2);
    assert_latency("-20 %", 1500, -0.2);
    assert_latency("20 % faster", 1500, -0.2);
    assert_latency("1.25x faster", 1500, -0.2);
    assert_latency("20 % speedup", 1500, -0.2);
    assert_latency("1.25x speedup", 1500, -0.2);
    assert_latency("speedup of 1.25x", 1500, -0.2);
    assert_latency("up to 20 % faster", 1500, -0.2);
    assert_latency("up to 20 % lower", 1500, -0.2);
    assert_latency("20 % (supported by the profile)", 1500, -0.2);
    assert_latency("~20 % improvement, freeing up DMA", 1500, -0.2);
    assert_latency("20 % slower", 1500, 0.2);
    assert_latency("up by 20 %", 1500, 0.2);
    assert_latency("+20 %", 1500, 0.2);
    assert_latency("1,500.0 us -> 1,200 us", NAN, -0.2);
    assert_latency("to 1.2 ms from 1.5 ms", NAN, -0.2);
    assert_latency("1200 microseconds", 1500, -0.2);
    assert_latency("1.2 MS", 1500, -0.2);
    assert_latency("1.5 ms - 300 us", 1500, NAN);
    assert_latency("300 us per row", 1500, NAN);
    assert_latency("0 us", 0, NAN);
    assert_latency("1e300 ms", 1500, NAN);
    assert_latency("soon", 1500, NAN);
}

/* What is said as the size of a change of the latency is held to the same limits. */
static void a_size_of_the_latency_is_within_reason(void **state) {
    (void)state;
    static const char *const texts[] = {"from 0 ms to 1 ms", "1e308 s", "0x1p1023 s",
                                        "1e-320 s to 1 s",   "200 %",   "to 1e300 s"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct arena *arena = arena_new();
        struct tune_plan plan = plan_with("metric: latency\nsize", texts[i], 1500, arena);
        assert_true(isnan(plan.latency) || plan.latency >= -0.999);
        assert_true(isnan(plan.size) || isfinite(plan.size));
        arena_free(arena);
    }
}

static void assert_size(const char *text, double size) {
    struct arena *arena = arena_new();
    assert_share(plan_with("metric: hbm_read_bytes\nsize", text, NAN, arena).size, size);
    arena_free(arena);
}

static void sizes_are_shares(void **state) {
    (void)state;
    assert_size("60 %", 0.6);
    assert_size("60 percent", 0.6);
    assert_size("about 60 pct less", 0.6);
    assert_size("by 0.6", 0.6);
    assert_size("0.6 or so", 0.6);
    assert_size("24 transfers", NAN);
    assert_size("2x", 0.5);
    assert_size("from 8 MB to 2 MB", 0.75);
    assert_size("32 -> 24", 0.25);
    assert_size("from 32 to 24", 0.25);
    assert_size("8 MB to 2 MB (75 %)", 0.75);
    assert_size("200 us", NAN);
    assert_size("6 MB", NAN);
    assert_size("large", NAN);
}

static void assert_metric(const char *line, const char *metric) {
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    struct buf text = {0};
    buf_printf(&text, "what: a\nmetric: %s\n", line);
    assert_int_equal(plans_of(text.at, arena, plans), 1);
    assert_string_equal(plans[0].metric, metric);
    buf_free(&text);
    arena_free(arena);
}

static void metrics_go_by_the_words_of_panels_too(void **state) {
    (void)state;
    assert_metric("HBM read", "hbm_read_bytes");
    assert_metric("**HBM read** (hbm_read_bytes), down", "hbm_read_bytes");
    assert_metric("Tensor engine, busy", "tensor_engine_active_time_percent");
    assert_metric("MFU 20 %", "mfu_estimated_percent");
    assert_metric("latency", "latency");
    assert_metric("pe_utilization", "pe_utilization");
}

static void several_plans_are_told_apart(void **state) {
    (void)state;
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    assert_int_equal(
        plans_of("## Plan 1: first\nwhat: a\nwhy: b\n---\n## Plan 2: second\nwhat: c\n", arena,
                 plans),
        2);
    assert_string_equal(plans[0].title, "first");
    assert_string_equal(plans[1].what, "c");
    assert_string_not_equal(plans[0].key, plans[1].key);
    /* Numbers make plans different, but line numbers do not: what stands there does. */
    assert_int_equal(
        plans_of("title: a\nwhat: TILE_N is 1024\n---\ntitle: b\nwhat: TILE_N is 8\n---\n"
                 "title: c\nwhat: Fuse lines 4-6 into 2 loops.\n---\ntitle: d\n"
                 "what: fuse Lines 5 to 7 into 2 loops\n",
                 arena, plans),
        4);
    assert_string_not_equal(plans[0].key, plans[1].key);
    assert_string_equal(plans[2].key, plans[3].key);
    arena_free(arena);
}

#define HEAD "import nki\n\n@nki.jit\ndef kernel(x):\n"
#define BODY                                                                                \
    "    y = load(x, 0)\n    y = exp(y)\n    # rows\n    store(y, 0)\n    y = load(x, 1)\n" \
    "    y = exp(y)\n    store(y, 1)\n"

static void assert_key(const char *source, const char *answer, const char *other_source,
                       const char *other, bool same) {
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS], others[TUNE_ANSWER_PLANS];
    struct err err = {0};
    assert_int_equal(tune_answer_plans(str_of(answer), str_of(source), NAN, arena, plans, &err), 1);
    assert_int_equal(
        tune_answer_plans(str_of(other), str_of(other_source), NAN, arena, others, &err), 1);
    if ((strcmp(plans[0].key, others[0].key) == 0) != same)
        print_error("%s\n%s\n", answer, other);
    assert_true((strcmp(plans[0].key, others[0].key) == 0) == same);
    arena_free(arena);
}

/* Lines 5 to 11 of the one are lines 7 to 13 of the other. */
static void a_plan_for_another_statement_is_another_plan(void **state) {
    (void)state;
    const char *one = HEAD BODY, *other = HEAD "    a = 1\n    b = 2\n" BODY;
    assert_key(one, "what: Fuse lines 5-6.", one, "what: fuse Lines 5 to 6", true);
    assert_key(one, "what: Fuse lines 5-6.", other, "what: fuse lines 7-8.", true);
    assert_key(one, "what: Fuse lines 5-6.", one, "what: fuse lines 9-10.", false);
    assert_key(one, "what: Fuse lines 5-6.", other, "what: fuse lines 5-6.", false);
    assert_key(one, "what: Fuse lines 6 to 8", one, "what: Fuse lines 6, 7 and 8", true);
    /* Equal statements are told apart by which of them it is. */
    assert_key(one, "what: line 6 on Scalar", one, "what: line 10 on Scalar", false);
    assert_key(one, "what: line 10 on Scalar", other, "what: line 12 on Scalar", true);
    /* Where the words name no lines, the field does; comments at its ends count for nothing. */
    assert_key(one, "what: on Scalar\nlines: 5", one, "what: on Scalar\nlines: 9", false);
    assert_key(one, "what: on Scalar\nlines: 5-6", one, "what: on Scalar\nlines: 5-7", true);
    assert_key(one, "what: on Scalar\nlines: 5-6", other, "what: on Scalar\nlines: 7-8", true);
    assert_key(one, "what: line 5 on Scalar\nlines: 5", one, "what: line 5 on Scalar", true);
}

static void json_is_a_plan_too(void **state) {
    (void)state;
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    size_t count =
        plans_of("Here:\n```json\n{\"plans\": [{\"title\": \"t\", \"what\": [\"one\", \"two\"], "
                 "\"lines\": [3, 9], \"metric\": \"pe_utilization\", \"direction\": "
                 "\"increase\", \"size\": 0.3, \"expected_latency\": \"1.25x faster\"}]}\n```\n",
                 arena, plans);
    assert_int_equal(count, 1);
    assert_string_equal(plans[0].what, "one\ntwo");
    assert_int_equal(plans[0].last_line, 9);
    assert_int_equal(plans[0].direction, TUNE_DIRECTION_UP);
    assert_float_equal(plans[0].size, 0.3, 1e-9);
    assert_float_equal(plans[0].latency, -0.2, 1e-9);
    arena_free(arena);
}

static void lines_past_the_kernel_are_dropped(void **state) {
    (void)state;
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    assert_int_equal(plans_of("what: a\nlines: 900-1000\n", arena, plans), 1);
    assert_int_equal(plans[0].first_line, 0);
    assert_true(isnan(plans[0].size));
    arena_free(arena);
}

/* "31, 38": two lines, and not all between them. */
static void lines_need_not_lie_together(void **state) {
    (void)state;
    static const struct {
        const char *said, *printed;
        int first, last;
    } rows[] = {
        {"40-52", "40 to 52", 40, 52},
        {"lines 40 to 52", "40 to 52", 40, 52},
        {"44", "44", 44, 44},
        {"31, 38-40", "31, 38 to 40", 31, 40},
        {"lines 31 and 38", "31, 38", 31, 38},
        {"31, 32; 33", "31 to 33", 31, 33},
        {"38, 31", "38", 38, 38},
        {"31, 38-900", "31, 38 to 80", 31, 80},
        {"the load", "", 0, 0},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct tune_plan plan = {0};
        struct buf text = {0};
        tune_plan_aim(&plan, str_of(rows[i].said), 80, arena);
        tune_plan_lines_print(&text, &plan);
        assert_string_equal(text.at ? text.at : "", rows[i].printed);
        assert_int_equal(plan.first_line, rows[i].first);
        assert_int_equal(plan.last_line, rows[i].last);
        buf_free(&text);
    }
    struct tune_plan plan = {0};
    tune_plan_aim(&plan, STR("31, 38 to 40"), 80, arena);
    assert_true(tune_plan_is_at(&plan, 31) && tune_plan_is_at(&plan, 39));
    assert_false(tune_plan_is_at(&plan, 32) || tune_plan_is_at(&plan, 37));
    assert_false(tune_plan_is_at(&plan, 41));
    arena_free(arena);
}

static void no_plan_says_what_to_write(void **state) {
    (void)state;
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    struct err err = {0};
    assert_int_equal(tune_answer_plans(STR("I cannot help."), SIXTY, NAN, arena, plans, &err), 0);
    assert_non_null(strstr(err.text, "what:"));
    assert_int_equal(tune_answer_plans(STR("title: x\nwhy: y\n"), SIXTY, NAN, arena, plans, &err),
                     0);
    assert_non_null(strstr(err.text, "no \"what:\""));
    arena_free(arena);
}

static void assert_kernel(const char *answer, const char *expected) {
    struct buf out = {0};
    struct err err = {0};
    bool fine = tune_answer_kernel(str_of(answer), KERNEL, "kernel", &out, &err);
    if (!fine)
        print_error("%s\n", err.text);
    assert_true(fine);
    assert_string_equal(out.at, expected);
    buf_free(&out);
}

static void assert_refused(const char *answer, const char *words) {
    struct buf out = {0};
    struct err err = {0};
    assert_false(tune_answer_kernel(str_of(answer), KERNEL, "kernel", &out, &err));
    if (!strstr(err.text, words))
        print_error("%s\n", err.text);
    assert_non_null(strstr(err.text, words));
    assert_int_equal(out.len, 0);
    buf_free(&out);
}

static void a_fenced_file_is_a_kernel(void **state) {
    (void)state;
    assert_kernel("Sure:\n```python\nimport nki\ndef kernel(x):\n    return x\n```\nDone.",
                  "import nki\ndef kernel(x):\n    return x\n");
    /* The longest block that defines the kernel counts, not the example beside it. */
    assert_kernel("```python\ny = 1\n```\n```py\r\ndef kernel(x):\r\n    return x\r\n```\r\n",
                  "def kernel(x):\n    return x\n");
    assert_kernel("import nki\ndef kernel(x):\n    return x\n",
                  "import nki\ndef kernel(x):\n    return x\n");
}

#define BLOCK(search, replace) "<<<<<<< SEARCH\n" search "=======\n" replace ">>>>>>> REPLACE\n"

static void search_and_replace_blocks_change_the_kernel(void **state) {
    (void)state;
    const char *expected = "import nki\n\n@nki.jit\ndef kernel(x):\n    for i in range(4):\n"
                           "        y = load(x, i + 1)\n        store(y, i)\n    return y\n";
    assert_kernel("```\n" BLOCK("        y = load(x, i)\n", "        y = load(x, i + 1)\n") "```\n",
                  expected);
    /* Blanks at the ends, lost indentation, miscounted marks. */
    assert_kernel(BLOCK("        y = load(x, i)  \n", "        y = load(x, i + 1)\n"), expected);
    assert_kernel(BLOCK("y = load(x, i)\n", "y = load(x, i + 1)\n"), expected);
    assert_kernel("<<<<<< SEARCH\ny = load(x, i)\n========\ny = load(x, i + 1)\n>>>>>> REPLACE\n",
                  expected);
}

static void a_unified_diff_changes_the_kernel(void **state) {
    (void)state;
    assert_kernel(
        "```diff\n--- a/kernel.py\n+++ b/kernel.py\n@@ -99,3 +99,2 @@\n     for i in range(4):\n"
        "-        y = load(x, i)\n+        y = load(x, 0)\n         store(y, i)\n```\n",
        "import nki\n\n@nki.jit\ndef kernel(x):\n    for i in range(4):\n"
        "        y = load(x, 0)\n        store(y, i)\n    return y\n");
}

static void what_cannot_be_applied_says_why(void **state) {
    (void)state;
    assert_refused("I would hoist the load.", "no code in the answer");
    assert_refused("```python\ndef other(x):\n    return x\n```", "defines kernel");
    assert_refused("```python\ndef kernel(x):\n    re", "in the middle");
    assert_refused(BLOCK("y = nowhere()\n", "z\n"), "not in the kernel");
    assert_refused(BLOCK("y = load(x, i)\nstore(y, j)\n", "z\n"),
                   "line 2 of it is \"store(y, j)\", where line 7 of the kernel is "
                   "\"store(y, i)\"");
    assert_refused(BLOCK("for j in range(4):\ny = load(x, i)\nstore(y, i)\n", "z\n"),
                   "line 1 of it is \"for j in range(4):\", where line 5 of the kernel is "
                   "\"for i in range(4):\"");
    assert_refused(BLOCK("return y\nreturn z\n", "z\n"),
                   "line 2 of it is \"return z\", where the kernel has ended");
    assert_refused(BLOCK("        store(y, i)\n", "        store(y, i)\n        y = load(x, i)\n")
                       BLOCK("y = load(x, i)\n", "z\n"),
                   "2 times");
    assert_refused("<<<<<<< SEARCH\nx\n=======\ny\n", "no end");
    assert_refused(BLOCK("def kernel(x):\n", "def other(x):\n"), "kernel is gone");
}

/* Identical blocks count once for one place. For several places, there is one for each. */
static void a_block_that_stands_twice_is_one(void **state) {
    (void)state;
    static const char changed[] = "import nki\n\n@nki.jit\ndef kernel(x):\n    for i in range(4):\n"
                                  "        y = load(x, 0)\n        store(y, i)\n    return y\n";
    assert_kernel(BLOCK("y = load(x, i)\n", "y = load(x, 0)\n") "Once more, all of it:\n" BLOCK(
                      "y = load(x, i)\n", "y = load(x, 0)\n"),
                  changed);
    assert_kernel(BLOCK("store(y, i)\n", "store(y, i)\nstore(y, i)\n")
                      BLOCK("store(y, i)\nstore(y, i)\n", "store(y, i)\n"),
                  KERNEL);
    assert_kernel(
        BLOCK("store(y, i)\n", "store(y, 0)\nstore(y, 0)\n") BLOCK("store(y, 0)\n", "store(y, i)\n")
            BLOCK("store(y, 0)\n", "store(y, i)\n"),
        "import nki\n\n@nki.jit\ndef kernel(x):\n    for i in range(4):\n        y = load(x, i)\n"
        "        store(y, i)\n        store(y, i)\n    return y\n");
}

/* As the prompt shows them, and as people and tools do. */
static void copied_line_numbers_are_dropped(void **state) {
    (void)state;
    static const char changed[] = "import nki\n\n@nki.jit\ndef kernel(x):\n    for i in range(4):\n"
                                  "        y = load(x, 0)\n        z = y\n        store(y, i)\n"
                                  "    return y\n";
    assert_kernel(
        BLOCK("   6          y = load(x, i)\n   7          store(y, i)\n",
              "   6          y = load(x, 0)\n   7          z = y\n   8          store(y, i)\n"),
        changed);
    assert_kernel(
        BLOCK("  6 |         y = load(x, i)\n  7 |         store(y, i)\n",
              "  6 |         y = load(x, 0)\n  6 |         z = y\n  7 |         store(y, i)\n"),
        changed);
    assert_kernel(BLOCK("6: y = load(x, i)\n", "y = load(x, 0)\nz = y\n"), changed);
    assert_kernel("```python\n   1  import nki\n   2\n   3  @nki.jit\n   4  def kernel(x):\n"
                  "   5      return x\n```\n",
                  "import nki\n\n@nki.jit\ndef kernel(x):\n    return x\n");
}

static void what_may_be_no_line_number_stays(void **state) {
    (void)state;
    assert_kernel(
        BLOCK("6: y = load(x, i)\n", "128: 64,\n256: 64,\n"),
        "import nki\n\n@nki.jit\ndef kernel(x):\n    for i in range(4):\n        128: 64,\n"
        "        256: 64,\n        store(y, i)\n    return y\n");
    assert_refused(BLOCK("6: y = load(x, i)\n9: store(y, i)\n", "z\n"), "not in the kernel");
}

static void what_no_keyboard_types_is_explained(void **state) {
    (void)state;
    assert_refused(BLOCK("y = load(x, \u2212i)\n", "z\n"),
                   "line 1 of it has a typographic minus (U+2212) at column 13; write -");
    assert_refused(
        BLOCK("for i in range(4):\ny\u00a0= load(x, i)\n", "z\n"),
        "line 2 of it has a non-breaking space (U+00A0) at column 2; write a plain blank");
    assert_refused(BLOCK("y = load(\u201cx\u201d, i)\n", "z\n"), "a curly quote (U+201C)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labelled_lines_are_a_plan),
        cmocka_unit_test(sizes_are_shares),
        cmocka_unit_test(a_size_of_the_latency_is_within_reason),
        cmocka_unit_test(latencies_in_times_are_shares_of_the_kernels),
        cmocka_unit_test(metrics_go_by_the_words_of_panels_too),
        cmocka_unit_test(several_plans_are_told_apart),
        cmocka_unit_test(a_plan_for_another_statement_is_another_plan),
        cmocka_unit_test(json_is_a_plan_too),
        cmocka_unit_test(lines_past_the_kernel_are_dropped),
        cmocka_unit_test(lines_need_not_lie_together),
        cmocka_unit_test(no_plan_says_what_to_write),
        cmocka_unit_test(a_fenced_file_is_a_kernel),
        cmocka_unit_test(search_and_replace_blocks_change_the_kernel),
        cmocka_unit_test(a_unified_diff_changes_the_kernel),
        cmocka_unit_test(what_cannot_be_applied_says_why),
        cmocka_unit_test(a_block_that_stands_twice_is_one),
        cmocka_unit_test(copied_line_numbers_are_dropped),
        cmocka_unit_test(what_may_be_no_line_number_stays),
        cmocka_unit_test(what_no_keyboard_types_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
