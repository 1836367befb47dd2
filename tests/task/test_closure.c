/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a task consists of. */
#include "task/testing.h"
#include "task/workbench.h"

#include "task/task.h"

static struct task_closure *find(const char *kernel, const char *reference) {
    struct err err = {0};
    struct task_start start = {.kernel_path = kernel, .reference_path = reference};
    struct task_closure *closure = task_closure_find(&start, &err);
    if (!closure)
        fail_msg("%s", err.text);
    return closure;
}

static void names_are(const struct task_closure *closure, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!task_closure_named(closure, names[i]))
            fail_msg("%s is missing", names[i]);
    assert_int_equal(closure->files.len, count);
}

static void imports_are_followed_over_any_number_of_steps(void **state) {
    char *kernel = put(state, "a/kernel.py",
                       "import numpy as np, helper\nfrom neuronxcc import nki\n"
                       "def f():\n    if 1: from pack.deep import (one as o,\n      two, )\n");
    char *reference = put(state, "a/reference.py", "import numpy\nimport \\\n  maths; x = 1\n");
    free(put(state, "a/helper.py", "from . import more\ntry: import last\nexcept Exception: 0\n"));
    free(put(state, "a/more.py", "import helper\n")); /* a circle */
    free(put(state, "a/last.py", ""));
    free(put(state, "a/maths.py", "# import unrelated\ns = '''\nimport unrelated\n'''\n"));
    free(put(state, "a/unrelated.py", ""));
    free(put(state, "a/pack/__init__.py", ""));
    free(put(state, "a/pack/deep/__init__.py", "from ..side import y\n"));
    free(put(state, "a/pack/deep/two.py", ""));
    free(put(state, "a/pack/side.py", ""));
    static const char *const names[] = {"kernel.py",
                                        "reference.py",
                                        "helper.py",
                                        "more.py",
                                        "last.py",
                                        "pack/__init__.py",
                                        "pack/deep/__init__.py",
                                        "pack/deep/two.py",
                                        "maths.py",
                                        "pack/side.py"};
    struct task_closure *closure = find(kernel, reference);
    names_are(closure, names, COUNT_OF(names));
    assert_int_equal(task_closure_named(closure, "maths.py")->of, TASK_OF_REFERENCE);
    assert_int_equal(task_closure_named(closure, "more.py")->of, TASK_OF_KERNEL);
    assert_true(task_closure_named(closure, "kernel.py")->is_start);
    task_closure_free(closure);
    free(kernel);
    free(reference);
}

/* Nothing imports them. A string names them, beside a name that reads files or finds modules. */
static void what_is_read_at_run_time_by_its_name_belongs_to_it(void **state) {
    char *kernel = put(state, "t/kernel.py",
                       "import importlib\ntiles = importlib.import_module('tiles')\n"
                       "deep = importlib.import_module(\"pack.deep\")\nx = 'other words'\n");
    char *reference =
        put(state, "t/reference.py",
            "import numpy as np, os\nW = np.load(os.path.join(HERE, 'data/weights.npy'))\n"
            "V = open('../outside.txt'), open('/etc/hostname'), open('missing.bin')\n"
            "import quiet\n");
    free(put(state, "t/tiles.py", "import more\n"));
    free(put(state, "t/more.py", ""));
    free(put(state, "t/pack/deep.py", ""));
    free(put(state, "t/data/weights.npy", "import unrelated\n"));
    free(put(state, "t/unrelated.py", ""));
    free(put(state, "outside.txt", ""));
    free(put(state, "t/quiet.py", "s = 'notes.txt'\n")); /* it reads nothing */
    free(put(state, "t/notes.txt", ""));
    static const char *const names[] = {"kernel.py",    "reference.py",     "tiles.py", "more.py",
                                        "pack/deep.py", "data/weights.npy", "quiet.py"};
    struct task_closure *closure = find(kernel, reference);
    names_are(closure, names, COUNT_OF(names));
    assert_true(task_closure_named(closure, "tiles.py")->by_text);
    assert_false(task_closure_named(closure, "more.py")->by_text);
    assert_int_equal(task_closure_named(closure, "data/weights.npy")->of, TASK_OF_REFERENCE);
    task_closure_free(closure);
    free(kernel);
    free(reference);
}

static void data_that_is_too_large_is_named(void **state) {
    char *reference =
        put(state, "l/reference.py", "W = open('large.bin')\nV = open('large.bin')\n");
    char *large = put(state, "l/large.bin", "");
    assert_int_equal(truncate(large, (off_t)17 << 20), 0);
    struct task_closure *closure = find(NULL, reference);
    assert_int_equal(closure->files.len, 1);
    assert_int_equal(closure->left.len, 1);
    assert_string_equal(closure->left.at[0].path, large);
    assert_string_equal(closure->left.at[0].name, "large.bin");
    task_closure_free(closure);
    char *small = put(state, "l/small.bin", "data"), *module = put(state, "l/late.py", "A = 1\n");
    char *all = put(state, "l/all.py", "open('small.bin'), import_module('late')\n");
    struct err err = {0};
    closure = task_closure_find(&(struct task_start){.reference_path = all, .no_data = true}, &err);
    assert_true(closure && closure->files.len == 3);
    assert_null(task_closure_named(closure, "small.bin")->text);
    assert_string_equal(task_closure_named(closure, "late.py")->text, "A = 1\n");
    free(all);
    free(module);
    free(small);
    int64_t size = 0;
    struct hash before, after;
    assert_true(task_file_sum(large, NULL, &size, &before));
    assert_int_equal(size, 17 << 20);
    assert_int_equal(truncate(large, ((off_t)17 << 20) + 1), 0);
    assert_true(task_file_sum(large, NULL, &size, &after));
    assert_string_not_equal(before.hex, after.hex);
    assert_false(task_file_sum("/nowhere/large.bin", NULL, &size, &after));
    task_closure_free(closure);
    free(large);
    free(reference);
}

static void the_root_is_above_all_of_them(void **state) {
    char *kernel = put(state, "r/one/kernels/k.py", "from ..tools import t\nimport beside\n");
    char *reference = put(state, "r/two/ref.py", "import beside\n");
    free(put(state, "r/one/tools/t.py", ""));
    free(put(state, "r/one/tools/__init__.py", ""));
    free(put(state, "r/one/kernels/beside.py", "1"));
    free(put(state, "r/two/beside.py", "2"));
    static const char *const names[] = {"one/kernels/k.py",      "two/ref.py",
                                        "one/tools/t.py",        "one/tools/__init__.py",
                                        "one/kernels/beside.py", "two/beside.py"};
    struct task_closure *closure = find(kernel, reference);
    names_are(closure, names, COUNT_OF(names));
    char *root = path_join(*state, "r");
    assert_string_equal(closure->root, root);
    free(root);
    task_closure_free(closure);
    free(kernel);
    free(reference);
}

static void its_hash_is_of_names_and_contents_alone(void **state) {
    char *first = put(state, "h1/reference.py", "import helper\n");
    char *second = put(state, "h2/reference.py", "import helper\n");
    free(put(state, "h1/helper.py", "A = 1\n"));
    free(put(state, "h2/helper.py", "A = 1\n"));
    free(put(state, "h2/unrelated.py", "B = 1\n"));
    struct task_closure *a = find(NULL, first), *b = find(NULL, second);
    assert_string_equal(task_closure_hash(a, TASK_OF_REFERENCE).hex,
                        task_closure_hash(b, TASK_OF_REFERENCE).hex);
    task_closure_free(b);
    free(put(state, "h2/helper.py", "A = 2\n"));
    b = find(NULL, second);
    assert_string_not_equal(task_closure_hash(a, TASK_OF_REFERENCE).hex,
                            task_closure_hash(b, TASK_OF_REFERENCE).hex);
    task_closure_free(a);
    task_closure_free(b);
    free(first);
    free(second);
}

static void what_is_no_python_harms_nobody(void **state) {
    static const char *const texts[] = {"",
                                        "import",
                                        "from",
                                        "from . import",
                                        "from .... import x",
                                        "import a.",
                                        "from .a. import (",
                                        "import \\",
                                        "x = '",
                                        "x = '''import y",
                                        "((((import x",
                                        "import ../../etc/passwd",
                                        "from /etc import passwd",
                                        "import \xff\xfe\n",
                                        "rb'import x'\nimport x as\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char *kernel = put(state, "n/kernel.py", texts[i]);
        struct task_closure *closure = find(kernel, NULL);
        assert_int_equal(closure->files.len, 1);
        task_closure_free(closure);
        free(kernel);
    }
}

static void too_many_files_are_refused(void **state) {
    struct buf text = {0};
    for (int i = 0; i < TASK_MAX_FILES + 5; i++) {
        char name[40];
        snprintf(name, sizeof name, "m/f%d.py", i);
        free(put(state, name, ""));
        buf_printf(&text, "import f%d\n", i);
    }
    char *kernel = put(state, "m/kernel.py", text.at);
    struct task_start start = {.kernel_path = kernel};
    struct err err = {0};
    assert_null(task_closure_find(&start, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    assert_non_null(strstr(err.text, "over 100 files"));
    start.kernel_path = "/no/such/kernel.py";
    assert_null(task_closure_find(&start, &err));
    assert_int_equal(err.kind, ERR_USAGE);
    buf_free(&text);
    free(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_are_followed_over_any_number_of_steps),
        cmocka_unit_test(what_is_read_at_run_time_by_its_name_belongs_to_it),
        cmocka_unit_test(data_that_is_too_large_is_named),
        cmocka_unit_test(the_root_is_above_all_of_them),
        cmocka_unit_test(its_hash_is_of_names_and_contents_alone),
        cmocka_unit_test(what_is_no_python_harms_nobody),
        cmocka_unit_test(too_many_files_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
