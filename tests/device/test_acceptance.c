/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that compilers refuse, and kernels that they take: tests/device/acceptance. A file is a
 * list of cases:
 *
 *     ## what the case is about
 *     CODE | RELEASE        of the error that is the first; "-": it has none; "ok": it is taken.
 *     lines                 RELEASE is left out for the newest one; "warn" asks for a warning
 *                           and "calm" for none of this code, nor an error
 *
 * The lines are put into a kernel that has tiles of its inputs, or are a whole kernel when there is
 * a `def kernel`. What begins with "@nki.jit" comes before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "device/device.h"
#include "nki/nki.h"

#define FOLDER HONE_SOURCE_DIR "/tests/device/acceptance/"

static const char current[] = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n";
static const char current_head[] = "@nki.jit\n"
                                   "def kernel(a, b, h, i):\n"
                                   "    out = nl.ndarray((128, 512), nl.float32, nl.shared_hbm)\n"
                                   "    t = nl.ndarray((128, 512), nl.float32, nl.sbuf)\n"
                                   "    u = nl.ndarray((128, 512), nl.float32, nl.sbuf)\n"
                                   "    g = nl.ndarray((128, 128), nl.bfloat16, nl.sbuf)\n"
                                   "    j = nl.ndarray((128, 512), nl.int32, nl.sbuf)\n"
                                   "    s = nl.ndarray((64, 512), nl.float32, nl.sbuf)\n"
                                   "    c = nl.ndarray((128, 1), nl.float32, nl.sbuf)\n"
                                   "    r = nl.ndarray((1, 512), nl.float32, nl.sbuf)\n"
                                   "    p = nl.ndarray((128, 512), nl.float32, nl.psum)\n"
                                   "    nisa.dma_copy(dst=t, src=a)\n"
                                   "    nisa.dma_copy(dst=u, src=b)\n"
                                   "    nisa.dma_copy(dst=g, src=h)\n"
                                   "    nisa.dma_copy(dst=j, src=i)\n"
                                   "    nisa.memset(dst=s, value=1.0)\n"
                                   "    nisa.memset(dst=c, value=1.0)\n"
                                   "    nisa.memset(dst=r, value=1.0)\n"
                                   "    nisa.memset(dst=p, value=1.0)\n";
static const char current_end[] = "    nisa.dma_copy(dst=out, src=t)\n    return out\n";
static const char legacy[] = "import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
                             "import neuronxcc.nki.isa as nisa\n"
                             "import neuronxcc.nki.typing as nt\nimport numpy as np\n";
static const char legacy_head[] =
    "@nki.jit\n"
    "def kernel(a, b, h, i):\n"
    "    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)\n"
    "    t = nl.load(a)\n"
    "    u = nl.load(b)\n"
    "    g = nl.load(h)\n"
    "    j = nl.load(i)\n"
    "    c = nl.zeros((128, 1), dtype=nl.float32, buffer=nl.sbuf)\n";
static const char legacy_end[] = "    nl.store(out, t)\n    return out\n";

struct acceptance {
    struct str title, code, release;
    bool is_legacy;
    struct buf body;
};

static void indent(struct buf *out, struct str lines) {
    struct str line;
    while (str_next(&lines, '\n', &line))
        if (line.len)
            buf_printf(out, "    " STR_FMT "\n", STR_ARG(line));
}

static void write_source(const struct acceptance *one, struct buf *out) {
    struct str body = buf_str(&one->body);
    const char *before = strstr(body.at, "@nki.jit\n"), *whole = strstr(body.at, "def kernel(");
    buf_puts(out, one->is_legacy ? legacy : current);
    if (whole) { /* with the classes and functions before it */
        buf_printf(out, "%s%s", whole == body.at ? "@nki.jit\n" : "", body.at);
        return;
    }
    if (before) {
        buf_puts(out, before);
        body.len = (size_t)(before - body.at);
    }
    buf_puts(out, one->is_legacy ? legacy_head : current_head);
    indent(out, body);
    buf_puts(out, one->is_legacy ? legacy_end : current_end);
}

static void look(const char *source, const char *release, struct diag_list *diags) {
    static const struct nki_input inputs[] = {
        {.name = "a", .kind = NKI_INPUT_ARRAY, .array = {DTYPE_FLOAT32, 2, {128, 512}, NULL}},
        {.name = "b", .kind = NKI_INPUT_ARRAY, .array = {DTYPE_FLOAT32, 2, {128, 512}, NULL}},
        {.name = "h", .kind = NKI_INPUT_ARRAY, .array = {DTYPE_BFLOAT16, 2, {128, 128}, NULL}},
        {.name = "i", .kind = NKI_INPUT_ARRAY, .array = {DTYPE_INT32, 2, {128, 512}, NULL}},
    };
    struct nki_tree *tree = nki_parse("kernel.py", str_of(source), diags);
    struct nki_lint_options lint = {.release = release};
    struct nki_specialise_options options = {.function = "kernel",
                                             .generation = NKI_GEN3,
                                             .release = release,
                                             .inputs = inputs,
                                             .n_inputs = COUNT_OF(inputs)};
    nki_lint(tree, &lint, diags);
    struct nki_program *program = diags->errors ? NULL : nki_specialise(tree, &options, diags);
    if (program)
        device_unload(device_load(program, device_generation_of(NKI_GEN3), diags));
    nki_program_free(program);
    nki_tree_free(tree);
}

/* The first finding of a severity; NULL: there is none. */
static const struct diag *first_of(const struct diag_list *diags, enum diag_severity severity,
                                   const char *code) {
    for (size_t i = 0; i < diags->all.len; i++)
        if (diags->all.at[i].severity == severity &&
            (!code || !strcmp(diags->all.at[i].code, code)))
            return &diags->all.at[i];
    return NULL;
}

/* Whether the case comes out as it says. */
static bool holds(const struct acceptance *one) {
    struct buf source = {0}, release = {0}, code = {0};
    struct diag_list diags = {0};
    bool warns = str_is(one->release, "warn"), calm = str_is(one->release, "calm");
    bool taken = calm || str_is(one->code, "ok");
    buf_add(&release, one->release.at, one->release.len);
    buf_add(&code, one->code.at, one->code.len);
    write_source(one, &source);
    look(source.at, one->release.len && !warns && !calm ? release.at : NULL, &diags);
    const struct diag *error = first_of(&diags, DIAG_ERROR, NULL);
    bool good = taken   ? !error && !(calm && first_of(&diags, DIAG_WARNING, code.at))
                : warns ? first_of(&diags, DIAG_WARNING, code.at) != NULL
                        : error && (str_is(one->code, "-") || str_is(one->code, error->code));
    good &= taken || warns || !error || error->line > 0;
    if (!good)
        print_error(STR_FMT ": %s [%s] at %d, not " STR_FMT "\n", STR_ARG(one->title),
                    error ? error->message : "taken", error ? error->code : "",
                    error ? error->line : 0, STR_ARG(one->code));
    diag_free(&diags);
    buf_free(&source);
    buf_free(&release);
    buf_free(&code);
    return good;
}

/* Runs the cases of a file, and returns how many there are. */
static size_t run_file(const char *name, bool is_legacy) {
    struct buf path = {0};
    struct err err = {0};
    size_t size = 0, count = 0, wrong = 0;
    buf_printf(&path, FOLDER "%s", name);
    char *text = file_read(path.at, 1 << 20, &size, &err);
    if (!text)
        fail_msg("%s", err.text);
    struct str rest = {text, size}, line;
    struct acceptance one = {.is_legacy = is_legacy};
    bool more = true;
    int at = 0; /* 0: before the first case; 1: its title was read; 2: its code, too */
    while (more) {
        more = str_next(&rest, '\n', &line);
        if (at == 2 && (!more || str_starts(line, "## "))) {
            wrong += !holds(&one);
            count++;
            buf_free(&one.body);
            one.body = (struct buf){0};
        }
        if (more && str_starts(line, "## ")) {
            one.title = (struct str){line.at + 3, line.len - 3};
            at = 1;
        } else if (more && at == 1) {
            struct str fields = line;
            str_next(&fields, '|', &one.code);
            one.code = str_trim(one.code);
            one.release = str_trim(fields);
            at = 2;
        } else if (more && at == 2) {
            buf_add(&one.body, line.at, line.len);
            buf_putc(&one.body, '\n');
        }
    }
    free(text);
    buf_free(&path);
    if (wrong)
        fail_msg("%zu of %zu cases of %s", wrong, count, name);
    return count;
}

static void wrong_kernels_are_refused(void **state) {
    (void)state;
    assert_true(run_file("wrong_current.txt", false) >= 150);
    assert_true(run_file("wrong_legacy.txt", true) >= 50);
}

static void right_kernels_are_taken(void **state) {
    (void)state;
    assert_true(run_file("right_current.txt", false) >= 30);
    assert_true(run_file("right_legacy.txt", true) >= 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kernels_are_refused),
        cmocka_unit_test(right_kernels_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
