/* SPDX-License-Identifier: Apache-2.0 */
/* Examples as whole files. One that begins with "def" (or a decorator, or a class)
 * is whole; other lines are what a kernel
 * does between loading its inputs (x as the tile tx) and storing r. */
#include "docs/private.h"

#include <ctype.h>
#include <string.h>

#define INPUTS "x=128x512:float32"
#define OUTPUT "128x512:float32"

struct str docs_example_inputs(const struct docs_page *page, enum nki_dialect dialect) {
    struct str own = docs_part_in(page, "inputs", dialect);
    return own.at ? own : STR(INPUTS);
}

struct str docs_example_gives(const struct docs_page *page, enum nki_dialect dialect) {
    struct str own = docs_part_in(page, "gives", dialect);
    return own.at ? own : STR("any");
}

struct str docs_example_values(const struct docs_page *page, enum nki_dialect dialect) {
    struct str own = docs_part_in(page, "values", dialect);
    return own.at ? own : STR("");
}

bool docs_example_on(const struct docs_page *page, enum nki_generation generation) {
    struct str on = docs_part(page, "devices"), one;
    while (on.at && str_next(&on, ' ', &one))
        if (str_is(one, nki_generation_name(generation)))
            return true;
    return !docs_part(page, "devices").at;
}

/* The next input's name, of "x=128x512:float32 n=4". */
static bool next_input(struct str *rest, struct str *name) {
    struct str one;
    while (str_next(rest, ' ', &one))
        if (one.len)
            return str_next(&one, '=', name);
    return false;
}

static void header_print(bool legacy, struct str code, struct buf *out) {
    const char *package = legacy ? "neuronxcc.nki" : "nki";
    buf_printf(out, legacy ? "import %s as nki\n" : "import %s\n", package);
    if (memmem(code.at, code.len, "nccl.", 5))
        buf_puts(out, "import nki.collectives as nccl\n");
    if (memmem(code.at, code.len, "ncc.", 4) && legacy)
        buf_puts(out, "import neuronxcc.nki.compiler as ncc\n");
    if (memmem(code.at, code.len, "nisa.", 5))
        buf_printf(out, "import %s.isa as nisa\n", package);
    buf_printf(out, "import %s.language as nl\n", package);
    if (memmem(code.at, code.len, "np.", 3))
        buf_puts(out, "import numpy as np\n");
    buf_puts(out, "\n\n");
}

/* "128x512:float32" as "(128, 512), dtype=nl.float32". */
static void shape_print(struct str output, struct buf *out) {
    struct str shape, size;
    str_next(&output, ':', &shape);
    for (const char *between = "("; str_next(&shape, 'x', &size); between = ", ")
        buf_printf(out, "%s" STR_FMT, between, STR_ARG(size));
    buf_printf(out, "), dtype=nl." STR_FMT, STR_ARG(output));
}

/* A kernel around lines that make r of the tiles of its inputs. */
static void kernel_around(const struct docs_page *page, enum nki_dialect dialect, struct str code,
                          struct buf *out) {
    struct str inputs = docs_example_inputs(page, dialect), name, line;
    struct str output = docs_part_in(page, "out", dialect);
    const char *between = "";
    buf_puts(out, "@nki.jit\ndef kernel(");
    for (struct str rest = inputs; next_input(&rest, &name); between = ", ")
        buf_printf(out, "%s" STR_FMT, between, STR_ARG(name));
    buf_puts(out, "):\n    out = nl.ndarray(");
    shape_print(output.at ? output : STR(OUTPUT), out);
    buf_puts(out, ", buffer=nl.shared_hbm)\n");
    for (struct str rest = inputs; next_input(&rest, &name);)
        buf_printf(out, "    t" STR_FMT " = nl.load(" STR_FMT ")\n", STR_ARG(name), STR_ARG(name));
    while (str_next(&code, '\n', &line))
        buf_printf(out, "%s" STR_FMT "\n", line.len ? "    " : "", STR_ARG(line));
    buf_puts(out, "    nl.store(out, r)\n    return out\n");
}

static bool is_whole(struct str code) {
    return str_starts(code, "def ") || str_starts(code, "@") || str_starts(code, "class ");
}

bool docs_example(const struct docs_page *page, enum nki_dialect dialect, struct buf *out) {
    bool legacy = dialect == NKI_DIALECT_LEGACY;
    struct str part = docs_part(page, legacy ? "legacy" : "current");
    struct buf code = {0};
    if (!part.at)
        return false;
    docs_fill(page, part, &code);
    struct buf kernel = {0};
    if (!is_whole(buf_str(&code)))
        kernel_around(page, dialect, buf_str(&code), &kernel);
    else
        buf_printf(&kernel, "%s%s\n", str_starts(buf_str(&code), "def ") ? "@nki.jit\n" : "",
                   code.at);
    header_print(legacy, buf_str(&kernel), out);
    buf_puts(out, kernel.at);
    buf_free(&code);
    buf_free(&kernel);
    return true;
}
