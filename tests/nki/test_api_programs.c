/* SPDX-License-Identifier: Apache-2.0 */
/* Golden programs: kernels in tests/nki/api, one feature each, with the program or the error that
 * they become. HONE_REGEN=1 writes the files anew; read the difference before committing it.
 *
 *     ### title | dialect | inputs: name:dtype:shape or name=number
 *     the kernel
 *     --->
 *     the program, or the diagnostics */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "nki/nki.h"
#include "nki/program/testing.h"

#include "inputs.h"

#define FOLDER HONE_SOURCE_DIR "/tests/nki/api/"

static const char legacy[] = "import neuronxcc.nki as nki, numpy as np\n"
                             "import neuronxcc.nki.language as nl, neuronxcc.nki.isa as nisa\n";
static const char current[] = "import nki\nimport nki.language as nl, nki.isa as nisa\n";

static void specialise(struct str dialect, struct str inputs_text, struct str kernel,
                       struct buf *out) {
    struct buf source = {0};
    struct diag_list diags = {0};
    struct inputs inputs = {.arena = arena_new()};
    buf_puts(&source, str_is(dialect, "legacy") ? legacy : current);
    buf_add(&source, kernel.at, kernel.len);
    read_inputs(inputs_text, &inputs);
    struct nki_tree *tree = nki_parse("kernel.py", buf_str(&source), &diags);
    struct nki_specialise_options options = {
        .function = "k", /* a kernel, or what launches one */
        .generation = NKI_GEN3,
        .release = str_starts(dialect, "current ") ? dialect.at + strlen("current ") : NULL,
        .inputs = inputs.at,
        .n_inputs = inputs.n};
    struct nki_program *program = nki_specialise(tree, &options, &diags);
    for (size_t i = 0; i < diags.all.len; i++) {
        diag_print(&diags.all.at[i], out);
        buf_putc(out, '\n');
    }
    assert_true(program != NULL || diags.errors > 0);
    if (program)
        nki_program_print(program, out);
    nki_program_free(program);
    nki_tree_free(tree);
    diag_free(&diags);
    buf_free(&source);
    arena_free(inputs.arena);
}

/* The text up to a line that starts with `mark`, which is taken off too. */
static struct str take_until(struct str *rest, const char *mark) {
    struct str all = *rest, line, taken = {rest->at, 0};
    while (str_next(rest, '\n', &line)) {
        if (str_starts(line, mark)) {
            *rest = (struct str){line.at, all.len - (size_t)(line.at - all.at)};
            return taken;
        }
        taken.len = (size_t)(rest->at ? rest->at - all.at : (ptrdiff_t)all.len);
        if (!rest->len)
            taken.len = all.len;
    }
    return taken;
}

static void run_case(struct str *rest, struct buf *anew) {
    struct str header, title, dialect, inputs, arrow;
    assert_true(str_next(rest, '\n', &header));
    struct str fields = {header.at + 3, header.len - 3};
    assert_true(str_next(&fields, '|', &title) && str_next(&fields, '|', &dialect));
    inputs = fields;
    struct str kernel = take_until(rest, "--->");
    assert_true(str_next(rest, '\n', &arrow));
    struct str wanted = take_until(rest, "###");
    struct buf found = {0};
    char words[32];
    snprintf(words, sizeof words, STR_FMT, STR_ARG(str_trim(dialect)));
    specialise(str_of(words), str_trim(inputs), kernel, &found);
    buf_printf(anew, STR_FMT "\n" STR_FMT "--->\n%s\n", STR_ARG(header), STR_ARG(kernel),
               found.at ? found.at : "");
    struct str a = str_trim(wanted), b = str_trim(buf_str(&found));
    if (!getenv("HONE_REGEN") && !str_equal(a, b)) {
        print_error("%.*s\n--- wanted\n%.*s\n--- found\n%.*s\n", STR_ARG(header), STR_ARG(a),
                    STR_ARG(b));
        fail();
    }
    buf_free(&found);
}

static void run_file(const char *name) {
    struct buf path = {0}, anew = {0};
    struct err err = {0};
    size_t size = 0;
    buf_printf(&path, FOLDER "%s", name);
    char *text = file_read(path.at, 1 << 20, &size, &err);
    if (!text)
        fail_msg("%s", err.text);
    struct str rest = {text, size};
    while (rest.len)
        run_case(&rest, &anew);
    if (getenv("HONE_REGEN"))
        assert_true(file_write(path.at, anew.at, anew.len, &err));
    buf_free(&path);
    free(text);
    buf_free(&anew);
}

static void test_current(void **state) {
    (void)state;
    run_file("current.txt");
}
static void test_legacy(void **state) {
    (void)state;
    run_file("legacy.txt");
}
static void test_errors(void **state) {
    (void)state;
    run_file("errors.txt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_current),
        cmocka_unit_test(test_legacy),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
