/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign bytes as what a model wrote: plans, kernels, lessons. */
#include <math.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "tune/answer/answer.h"
#include "rewrite/rewrite.h"
#include "tune/ask/menu.h"
#include "tune/ask/testing.h"
#include "tune/sums/sweep.h"

#define SOURCE                                                                                 \
    "import nki\n\n@nki.jit\ndef kernel(x):\n    for i in range(4):\n        y = load(x, i)\n" \
    "        store(y, i)\n    return y\n"
#define LINES_9 SOURCE "\n"
#define LINES 27

static void check_plan(const struct tune_plan *plan) {
    size_t sum = 0;
    const char *const texts[] = {plan->key, plan->title, plan->what, plan->why};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        sum += texts[i] ? strlen(texts[i]) : 0;
    if (!plan->key || !*plan->key || !plan->title || !*plan->title || sum > (1u << 16))
        HONE_BUG("a plan without a name, or with an endless one");
    if (plan->first_line < 0 || plan->last_line < plan->first_line || plan->last_line > LINES)
        HONE_BUG("a plan for lines the kernel has not");
    if (isinf(plan->size) || isinf(plan->latency))
        HONE_BUG("a plan that promises without end");
}

static void read_kernel(struct str text, const char *function) {
    struct buf source = {0};
    struct err err = {0};
    if (!tune_answer_kernel(text, SOURCE, function, &source, &err) && err.kind == ERR_NONE)
        HONE_BUG("a kernel was refused without a reason");
    if (err.kind == ERR_NONE && function &&
        !(source.len && memmem(source.at, source.len, function, strlen(function))))
        HONE_BUG("a kernel that is none");
    buf_free(&source);
}

/* An answer with a plan and its kernel, or one that gives up. */
static void read_both(struct str text) {
    struct buf words = {0};
    struct str reason = {0};
    tune_answer_words(text, &words);
    if (words.len > text.len + 1)
        HONE_BUG("words beside a kernel that are more than the answer");
    if (tune_answer_gives_up(text, &reason)) {
        if (tune_answer_has_kernel(text))
            HONE_BUG("a kernel was taken for giving up");
        if (reason.len && (reason.at < text.at || reason.at + reason.len > text.at + text.len))
            HONE_BUG("a reason that is not in the answer");
    }
    buf_free(&words);
}

static void read_lesson(struct str text, bool reflects) {
    struct arena *arena = arena_new();
    struct tune_lesson lesson = {0};
    struct err err = {0};
    if (tune_answer_lesson(text, reflects, arena, &lesson, &err)) {
        if (!lesson.text || !*lesson.text)
            HONE_BUG("a lesson that says nothing");
    } else if (err.kind == ERR_NONE) {
        HONE_BUG("a lesson was refused without a reason");
    }
    arena_free(arena);
}

/* A sweep that was read reads the same when it is written. */
static void read_sweep(struct str text) {
    struct tune_sweep sweep, again;
    struct err err = {0};
    struct buf one = {0}, two = {0};
    if (!tune_sweep_parse(text, &sweep, &err)) {
        if (err.kind != ERR_USAGE)
            HONE_BUG("a sweep was refused without a reason");
        return;
    }
    tune_sweep_print(&sweep, &one);
    if (one.len > TUNE_SWEEP_TEXT || !tune_sweep_parse(buf_str(&one), &again, &err))
        HONE_BUG("a sweep that cannot be read again");
    tune_sweep_print(&again, &two);
    if (!str_equal(buf_str(&one), buf_str(&two)))
        HONE_BUG("a sweep that changes when it is read again");
    for (size_t i = 0; i < tune_sweep_combinations(&sweep) && i < 3; i++)
        tune_sweep_title(&sweep, i, &two);
    buf_free(&one);
    buf_free(&two);
}

/* A constant that was set has the new value. */
static void read_constants(struct str source) {
    struct rewrite_constants *constants = rewrite_constants_find(source, NULL);
    for (size_t i = 0; i < constants->all.len && i < 3; i++) {
        const struct rewrite_constant *row = &constants->all.at[i];
        struct nki_edits edits = {.tree = constants->tree};
        struct buf out = {0};
        rewrite_constant_set(row, 77, &edits);
        if (!nki_edits_apply(&edits, &out, NULL))
            HONE_BUG("a constant that cannot be set");
        struct rewrite_constants *after = rewrite_constants_find(buf_str(&out), NULL);
        const struct rewrite_constant *now =
            rewrite_constants_named(after, str_of(row->name), NULL);
        if (now && now->value != 77)
            HONE_BUG("a constant that is something else after it was set");
        rewrite_constants_free(after);
        nki_edits_free(&edits);
        buf_free(&out);
    }
    rewrite_constants_free(constants);
}

static void read_menu(struct str text) {
    struct tune_menu *menu = tune_menu_read(text);
    const struct tune_menu_facts facts = {.device = "trn2", .source = SOURCE, .spilled_bytes = NAN};
    for (size_t i = 0; i < menu->entries.len; i++) {
        if (strlen(menu->entries.at[i].name) > TUNE_STRATEGY_MAX || !*menu->entries.at[i].text)
            HONE_BUG("a strategy without a name or a text");
        (void)tune_menu_applies(&menu->entries.at[i], &facts);
    }
    tune_menu_free(menu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena *arena = arena_new();
    struct tune_plan plans[TUNE_ANSWER_PLANS];
    struct err err = {0};
    char *copy = mem_dup(data, size + !size); /* its own block, for the sanitiser */
    struct str text = {copy, size};
    size_t count = tune_answer_plans(text, STR(LINES_9 LINES_9 LINES_9), NAN, arena, plans, &err);
    if (count > TUNE_ANSWER_PLANS || (!count && err.kind == ERR_NONE))
        HONE_BUG("no plan, and no reason");
    for (size_t i = 0; i < count; i++)
        check_plan(&plans[i]);
    arena_free(arena);
    read_kernel(text, "kernel");
    read_kernel(text, NULL);
    read_both(text);
    read_lesson(text, false);
    read_lesson(text, true);
    read_sweep(text);
    read_constants(text);
    read_menu(text);
    free(copy);
    return 0;
}

#ifndef HONE_LIBFUZZER

static const char *const examples[] = {
    "title: t\nwhat: w\n\n<<<<<<< SEARCH\n        store(y, i)\n=======\n        store(y, i + "
    "1)\n>>>>>>> REPLACE\n---\ntitle: another\nwhat: later\n",
    "**Give up:** no such thing\n",
    "I looked.\n\n**Title:** Keep w\n- **What**: load w once\n  before i\nWhy: it is read 32 "
    "times\n"
    "Lines: 40-52\nMetric: `hbm_read_bytes`\nDirection: down\nSize: 60 %\nLatency: -20 %\n---\n"
    "## Plan 2: second\nwhat: c\n",
    "Here:\n```json\n{\"plans\": [{\"title\": \"t\", \"what\": [\"one\", \"two\"], \"lines\": [3, "
    "9], "
    "\"metric\": \"pe_utilization\", \"direction\": \"up\", \"size\": 0.5, \"latency\": \"-1e3 "
    "%\"}]}\n```\n",
    "```python\n" SOURCE "```\nand that is all\n",
    "<<<<<<< SEARCH\n        y = load(x, i)\n=======\n        y = load(x, 2 * i)\n>>>>>>> "
    "REPLACE\n",
    "```diff\n--- a/kernel.py\n+++ b/kernel.py\n@@ -5,2 +5,2 @@\n     for i in range(4):\n-        "
    "y = "
    "load(x, i)\n+        y = load(x, i + 1)\n```\n",
    "<<<<<<< SEARCH\n   6          y = load(x, i)\n=======\n   6          y = load(x, 0)\n   7  z\n"
    ">>>>>>> REPLACE\n<<<<<<< SEARCH\n7: store(y, \xe2\x88\x92i)\n=======\n7: z\n>>>>>>> REPLACE\n",
    "title: Load once\nsummary: what is read again stays\nslow: load(x)\nfast: w = "
    "load(x)\napplies: loops\n",
    "diagnosis: right\nlesson: DMA was the limit\n",
    "TILE_N in 128, 256, 512 TILE_K=64..512 helper.width 3@4",
    "P = nl.tile_size.pmax\nB = 4 * P\ndef h(x, w=8):\n    A, C = 2, B // 3\n    return x[w:A * C "
    "+ P]\n",
    "Prose\n# resident\non: trn1 trn2\nsince: 0.4\nwhen: loops matmul|norm dma-bound\nKeep it.\n# "
    "x\n"
    "avoid: yes\nNever.\n",
};
static const char *const pieces[] = {"```",
                                     "```python\n",
                                     "<<<<<<< SEARCH\n",
                                     "=======\n",
                                     ">>>>>>> REPLACE\n",
                                     "@@ -1,9 +1,9999 @@\n",
                                     "@@ -99999999999 +0,0 @@\n",
                                     "\n",
                                     "\r\n",
                                     "title:",
                                     "what:",
                                     "lines: 9-3",
                                     "lines: -5",
                                     "1e999 %",
                                     "{",
                                     "[",
                                     "\"",
                                     "\\u0000",
                                     "def kernel(",
                                     "\x1b[2J",
                                     "\xff",
                                     "---\n",
                                     "+",
                                     "-",
                                     "    ",
                                     "\t",
                                     "## ",
                                     "..",
                                     "@",
                                     "=",
                                     ",",
                                     "99999999999",
                                     "# ",
                                     "when: ",
                                     "|",
                                     "def f():\n    ",
                                     " // 0",
                                     " << 70"};

static const struct fuzz_target target = {
    .name = "answer", FUZZ_TABLE(example, examples), FUZZ_TABLE(piece, pieces)};

int main(int argc, char **argv) {
    return fuzz_main(&target, argc, argv);
}
#endif
