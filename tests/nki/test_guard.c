/* SPDX-License-Identifier: Apache-2.0 */
/* The list of what a candidate may use, seen from outside: payloads.txt has what is refused and
 * why, honest.txt what is not. Then what depends on the original kernel, on files of the task and
 * on the release. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "nki/nki.h"

#define GUARD HONE_SOURCE_DIR "/tests/nki/guard/"

/* What is found in `source`, without "hone-candidate-": "name:2 import:1". */
static char *findings(struct str source, const char *original,
                      struct nki_candidate_options options) {
    struct diag_list diags = {0}, ignored = {0};
    struct buf found = {0};
    struct nki_tree *tree = nki_parse("k.py", source, &ignored);
    struct nki_tree *before = nki_parse("k.py", str_of(original), &ignored);
    assert_int_equal(tree->errors, 0);
    options.original = before;
    nki_lint_candidate(tree, &options, &diags);
    for (size_t i = 0; i < diags.all.len; i++) {
        const char *code = diags.all.at[i].code, *own = "hone-candidate-";
        bool is_own = !strncmp(code, own, strlen(own));
        buf_printf(&found, "%s%s:%d", i ? " " : "", is_own ? code + strlen(own) : code,
                   diags.all.at[i].line);
        assert_true(diags.all.at[i].column > 0 && diags.all.at[i].message[0]);
    }
    nki_tree_free(before);
    nki_tree_free(tree);
    diag_free(&diags);
    diag_free(&ignored);
    return found.at ? buf_take(&found) : mem_strdup("");
}

/* ---- the tables ----------------------------------------------------------------------------- */

struct row {
    struct str codes, title, source;
};

/* The next "=== codes  title" with the lines up to the one after it. */
static bool row_next(struct str *rest, struct row *row) {
    const char *begin = strstr(rest->at, "\n=== ");
    if (!begin)
        return false;
    const char *line_end = strchr(begin + 1, '\n'), *end = strstr(line_end, "\n=== ");
    struct str head = {begin + 5, (size_t)(line_end - begin - 5)};
    const char *gap = memmem(head.at, head.len, "  ", 2);
    row->codes = (struct str){head.at, gap ? (size_t)(gap - head.at) : 0};
    row->title = gap ? (struct str){gap + 2, (size_t)(head.at + head.len - gap - 2)} : head;
    end = end ? end : rest->at + rest->len;
    row->source = (struct str){line_end + 1, (size_t)(end - line_end - 1)};
    *rest = (struct str){end, (size_t)(rest->at + rest->len - end)};
    return true;
}

/* Compares every row with what is found. Returns how many there are. */
static size_t check_table(const char *path) {
    struct err err = {0};
    size_t size = 0, count = 0, wrong = 0;
    char *text = file_read(path, (size_t)1 << 20, &size, &err);
    assert_non_null(text);
    struct str rest = {text, size};
    struct row row;
    for (; row_next(&rest, &row); count++) {
        char *found = findings(row.source, "unrelated = 1\n", (struct nki_candidate_options){0});
        if (!str_is(row.codes, found)) {
            print_error(STR_FMT ": \"%s\", not \"" STR_FMT "\"\n", STR_ARG(row.title), found,
                        STR_ARG(row.codes));
            wrong++;
        }
        free(found);
    }
    free(text);
    assert_int_equal(wrong, 0);
    return count;
}

static void ways_out_of_a_kernel_are_refused_with_their_place(void **state) {
    (void)state;
    assert_true(check_table(GUARD "payloads.txt") >= 100);
}

static void what_honest_kernels_write_passes(void **state) {
    (void)state;
    assert_true(check_table(GUARD "honest.txt") >= 20);
}

/* ---- the original --------------------------------------------------------------------------- */

#define HARNESS                                                \
    "import os\nimport numpy as np\n"                          \
    "def run(command):\n    return os.popen(command).read()\n" \
    "FLAG = 'x'\n"                                             \
    "def main():\n    return run(FLAG)\n"                      \
    "def tools():\n    return np.random.rand(4)\n"
#define KERNEL "def kernel(x):\n    return x\n"
#define REGISTER                                                                           \
    "import os\nALL = {}\ndef register(f):\n    ALL['run'] = f\n    return f\n@register\n" \
    "def run(c):\n    return os.system(c)\n"
#define STAR "from nki.language import *\n"
#define OTHER "def kernel(x):\n    y = x\n    return y\n"

static void what_stands_unchanged_stays_and_is_not_for_new_code(void **state) {
    (void)state;
    static const struct {
        const char *source, *original, *found;
    } rows[] = {
        {HARNESS OTHER, HARNESS KERNEL, ""},
        {HARNESS "def kernel(x):\n    os.system('id')\n", HARNESS KERNEL, "name:11"},
        {HARNESS "def kernel(x):\n    run('id')\n", HARNESS KERNEL, "kept:11"},
        {HARNESS "def kernel(x):\n    main()\n", HARNESS KERNEL, "kept:11"},
        {HARNESS "def kernel(x):\n    q = [run]\n    return q\n", HARNESS KERNEL, "kept:11"},
        {HARNESS "def kernel(x, run=1):\n    return run\n", HARNESS KERNEL, ""},
        {HARNESS "def kernel(x):\n    return np.random.rand(4)\n", HARNESS KERNEL, "name:11"},
        /* new code that tells kept code what to do */
        {"import os\nX = 'a'\nos.system(X)\n" OTHER, "import os\nX = 'a'\nos.system(X)\n" KERNEL,
         ""},
        {"import os\nX = 'b'\nos.system(X)\n" OTHER, "import os\nX = 'a'\nos.system(X)\n" KERNEL,
         "name:3"},
        {"import os\ndef x():\n    return 'b'\nos.system(x())\n" OTHER,
         "import os\ndef x():\n    return 'a'\nos.system(x())\n" KERNEL, "name:4"},
        {"import os\ndef x():\n    return 'b'\ndef main():\n    os.system(x())\n",
         "import os\ndef x():\n    return 'a'\ndef main():\n    os.system(x())\n", ""},
        {"import os\nclass T:\n    def f(self):\n        os.system('a')\n" KERNEL "T().f()\n",
         "import os\nclass T:\n    def f(self):\n        os.system('a')\n" KERNEL, "kept:7"},
        {"import os\nX = ['a']\nX[0] = 'b'\nos.system(X[0])\n" OTHER,
         "import os\nX = ['a']\nos.system(X[0])\n" KERNEL, "name:4"},
        {"import os\nX = ['a']\nY = X\nY.append('b')\nos.system(X[0])\n" OTHER,
         "import os\nX = ['a']\nos.system(X[0])\n" KERNEL, "name:5"},
        {"import os\nclass X:\n    a = 'a'\nX.a = 'b'\nos.system(X.a)\n" OTHER,
         "import os\nclass X:\n    a = 'a'\nos.system(X.a)\n" KERNEL, "name:5"},
        {"import os\nfrom math import pi as X\nos.system(X)\n" OTHER,
         "import os\nX = 'a'\nos.system(X)\n" KERNEL, "name:3"},
        {"import os\nX = ['a']\nos.system(X[0])\nN = 4 * len('a')\n" OTHER,
         "import os\nX = ['a']\nos.system(X[0])\n" KERNEL, ""},
        {REGISTER "def kernel(x):\n    return ALL['run']('id')\n", REGISTER KERNEL, "kept:10"},
        {REGISTER OTHER, REGISTER KERNEL, ""},
        /* a star does not change what a harness binds */
        {STAR "class A:\n    load = None\ndef kernel(x):\n    return np.load(x)\n",
         "def kernel(x):\n    return np.abs(x)\n", "file:5"},
        {STAR "def kernel(x):\n    return getattr(np, 'load')(x)\n",
         "def kernel(x):\n    return np.abs(x)\n", "module:3"},
        {STAR "def kernel(x):\n    return os.remove(x)\n",
         "def kernel(x):\n    return os.path(x)\n", "name:3"},
        {STAR "def kernel(x):\n    return tile_of(np.abs(x)), 2\n",
         "def kernel(x):\n    return np.sqrt(tile_of(x))\n", ""},
        /* names that nobody binds: a harness does, or they are errors; but not Python's own */
        {"def kernel(x):\n    return tile_of(x), 2\n", "def kernel(x):\n    return tile_of(x)\n",
         ""},
        {"def kernel(x):\n    return exec(x), 2\n", "def kernel(x):\n    return exec(x)\n",
         "call:2"},
        /* an option of the decorator is the person's */
        {"import nki\n@nki.jit(artifacts_dir='a')\n" OTHER,
         "import nki\n@nki.jit(artifacts_dir='a')\n" KERNEL, ""},
        {"import nki\n@nki.jit(artifacts_dir='b')\n" OTHER,
         "import nki\n@nki.jit(artifacts_dir='a')\n" KERNEL, "use:2"},
        /* one that the parser does not take excuses nothing */
        {HARNESS OTHER, HARNESS "try:\n    pass\nexcept* E:\n    pass\n",
         "import:1 name:4 "
         "attribute:4 name:9"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *found =
            findings(str_of(rows[i].source), rows[i].original, (struct nki_candidate_options){0});
        if (strcmp(found, rows[i].found) != 0)
            fail_msg("row %zu: \"%s\", not \"%s\"", i, found, rows[i].found);
        free(found);
    }
}

static void what_the_person_allowed_is_allowed_by_name(void **state) {
    (void)state;
    struct nki_candidate_options allows = {.allows_original = true};
    char *found = findings(STR(HARNESS "def kernel(x):\n    os.system('id')\n    run('id')\n"),
                           HARNESS KERNEL, allows);
    assert_string_equal(found, "");
    free(found);
    found = findings(STR(HARNESS "def kernel(x):\n    return eval(x)\n"), HARNESS KERNEL, allows);
    assert_string_equal(found, "call:11");
    free(found);
}

static void what_the_original_uses_beyond_the_list_is_told(void **state) {
    (void)state;
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse("k.py", STR(HARNESS KERNEL), &diags);
    struct nki_candidate_options options = {0};
    nki_lint_beyond(tree, &options, &diags);
    assert_int_equal(diags.all.len, 4);
    assert_int_equal(diags.all.at[0].line, 1);
    assert_non_null(strstr(diags.all.at[0].message, "'os'"));
    nki_tree_free(tree);
    diag_free(&diags);
}

/* ---- files of the task ---------------------------------------------------------------------- */

static void put(const char *folder, const char *name, const char *text) {
    struct err err = {0};
    char *path = path_join(folder, name);
    assert_true(file_write(path, text, strlen(text), &err));
    free(path);
}

static size_t beyond(const char *kernel) {
    struct diag_list diags = {0};
    struct nki_tree *tree = nki_parse(kernel, STR("import helper\nx = helper.tile(2)\n"), &diags);
    struct nki_candidate_options options = {.path = kernel};
    nki_lint_beyond(tree, &options, &diags);
    size_t count = diags.all.len;
    nki_tree_free(tree);
    diag_free(&diags);
    return count;
}

/* What is wrong is the helper, and that is told elsewhere. */
static void a_helper_that_is_no_python_is_no_use_beyond_the_list(void **state) {
    (void)state;
    char folder[] = "/tmp/hone_guard_XXXXXX";
    struct err err = {0};
    assert_non_null(mkdtemp(folder));
    char *kernel = path_join(folder, "kernel.py");
    put(folder, "helper.py", "import os\n");
    assert_true(beyond(kernel) > 0);
    put(folder, "helper.py", "def tile(n:\n    return n\n");
    assert_int_equal(beyond(kernel), 0);
    assert_true(file_remove_tree(folder, &err));
    free(kernel);
}

static void helpers_lend_what_they_define_within_the_list(void **state) {
    (void)state;
    static const struct {
        const char *source, *found;
    } rows[] = {
        {"from helper import tile, Box\nx = tile(2), Box().size\n", ""},
        {"import helper\nx = helper.tile(2)\n", ""},
        {"import helper as h\nx = h.os.system\n", "name:2"},
        {"from helper import os\n", "import:1"},
        {"from helper import run\n", "import:1"},
        {"import helper\nx = helper.run('id')\n", "name:2"},
        {"import helper\nx = helper.later('id')\n", "name:2"},
        {"import helper\nx = [helper]\n", "module:2"},
        {"import helper\nhelper.tile = 1\n", "assign:2"},
        {"from helper import *\nx = tile(2)\n", ""},
        {"from helper import *\nx = os\n", "name:2"},
        {"from .helper import tile\nx = tile(2)\n", ""},
        {"from . import helper\nx = helper.tile(2)\n", ""},
        {"from reference import forward\n", "import:1"},
        {"import kernel\n", "import:1"},
        {"import other\nx = other.more(1)\n", ""},
        {"import broken\n", "import:1"},
    };
    char folder[] = "/tmp/hone-guard.XXXXXX";
    assert_non_null(mkdtemp(folder));
    char *path = path_join(folder, "kernel.py"), *reference = path_join(folder, "reference.py");
    put(folder, "kernel.py", "");
    put(folder, "reference.py", "def forward(x):\n    return x\n");
    put(folder, "broken.py", "def (\n");
    put(folder, "other.py", "from helper import tile\ndef more(n):\n    return tile(n)\n");
    put(folder, "helper.py",
        "import os\nimport numpy as np\nimport other\nclass Box:\n    size = 4\n"
        "def tile(n):\n    return np.zeros(n)\ndef run(command):\n    return os.system(command)\n"
        "def later(command):\n    return run(command)\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *found =
            findings(str_of(rows[i].source), "unrelated = 1\n",
                     (struct nki_candidate_options){.path = path, .reference = reference});
        if (strcmp(found, rows[i].found) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].source, found, rows[i].found);
        free(found);
    }
    assert_true(file_remove_tree(folder, NULL));
    free(reference);
    free(path);
}

static void the_release_says_which_modules_there_are(void **state) {
    (void)state;
    static const char source[] = "import nki.meta\n";
    char *found = findings(str_of(source), "", (struct nki_candidate_options){.release = "0.1.0"});
    assert_string_equal(found, "import:1");
    free(found);
    found = findings(str_of(source), "", (struct nki_candidate_options){.release = "0.2.0"});
    assert_string_equal(found, "");
    free(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_out_of_a_kernel_are_refused_with_their_place),
        cmocka_unit_test(what_honest_kernels_write_passes),
        cmocka_unit_test(what_stands_unchanged_stays_and_is_not_for_new_code),
        cmocka_unit_test(what_the_person_allowed_is_allowed_by_name),
        cmocka_unit_test(what_the_original_uses_beyond_the_list_is_told),
        cmocka_unit_test(a_helper_that_is_no_python_is_no_use_beyond_the_list),
        cmocka_unit_test(helpers_lend_what_they_define_within_the_list),
        cmocka_unit_test(the_release_says_which_modules_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
