/* SPDX-License-Identifier: Apache-2.0 */
/* A page as text. */
#include "docs/private.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"

static enum nki_op op_of(const struct docs_page *page) {
    return str_starts(str_of(page->name), "nisa.") ? nki_op_find(str_of(page->name)) : NKI_OP_COUNT;
}

/* The row of language.def with what it is; NULL. */
static const char *language_row(const struct docs_page *page, const char **parameters) {
    const char *name, *what;
    for (size_t i = 0;
         str_starts(str_of(page->name), "nl.") && (name = nki_name_at(i, parameters, &what)); i++)
        if (!strcmp(name, page->last))
            return what;
    return NULL;
}

void docs_print_what(const struct docs_page *page, struct buf *out) {
    struct str own = docs_part(page, "what");
    const char *parameters, *row = own.at ? NULL : language_row(page, &parameters);
    if (own.at)
        docs_fill(page, own, out);
    else if (op_of(page) != NKI_OP_COUNT)
        buf_puts(out, nki_op_row(op_of(page))->summary);
    else if (row)
        buf_puts(out, row);
}

/* ---- figures ----------------------------------------------------------------------------------
 */

/* Four digits, and whole numbers as they are: nobody reads bytes with an exponent. */
static void number_print(double value, struct buf *out) {
    bool whole = fabs(value) >= 1000 && fabs(value) < 1e15 && !(fabs(value - rint(value)) > 0);
    buf_printf(out, whole ? "%.0f" : "%.4g", value);
}

/* "2.8, 2.4 and 2.4 GHz (trn1, trn2, trn3)"; one value where they are equal. A rate or a share
 * needs no unit. */
static void values_print(const double value[3], const char *unit, struct buf *out) {
    bool same = value[0] == value[1] && value[1] == value[2];
    bool plain = !strcmp(unit, "rate") || !strcmp(unit, "share");
    if (same)
        number_print(value[0], out);
    else
        for (int g = 0; g < 3; g++) {
            buf_puts(out, g == 0 ? "" : g == 1 ? ", " : " and ");
            number_print(value[g], out);
        }
    buf_printf(out, "%s%s%s", plain ? "" : " ", plain ? "" : unit,
               same ? "" : " (trn1, trn2, trn3)");
}

/* A row of constants.def by its name, or of hardware.def by what it is. */
static bool figure_print(struct str name, struct buf *out) {
    const struct device_constant *constant = device_constant_find(name);
    const struct device_fact *fact;
    if (constant)
        values_print(constant->value, constant->unit, out);
    for (size_t i = 0; !constant && (fact = device_fact_at(i)); i++)
        if (str_is(name, fact->what)) {
            values_print(fact->value, fact->unit, out);
            return true;
        }
    return constant;
}

/* Takes "{{figure}}" off the front of *text and prints it. */
static bool take_figure(struct str *text, struct buf *out) {
    const char *end = text->len > 4 ? memmem(text->at, text->len, "}}", 2) : NULL;
    if (!str_starts(*text, "{{") || !end)
        return false;
    struct str name = {text->at + 2, (size_t)(end - text->at) - 2};
    if (!figure_print(name, out))
        return false;
    *text = (struct str){end + 2, text->len - (size_t)(end + 2 - text->at)};
    return true;
}

void docs_fill(const struct docs_page *page, struct str text, struct buf *out) {
    while (text.len) {
        if (*text.at == '{' && take_figure(&text, out))
            continue;
        if (str_starts(text, "{name}")) {
            buf_puts(out, page->last);
            text = (struct str){text.at + 6, text.len - 6};
            continue;
        }
        buf_putc(out, *text.at);
        text = (struct str){text.at + 1, text.len - 1};
    }
}

/* ---- signatures --------------------------------------------------------------------------------
 */

/* The parameters of language.def without those that a dialect does not have. */
static void parameters_print(const char *parameters, bool legacy, struct buf *out) {
    struct str rest = str_of(parameters), one;
    const char *between = "";
    while (str_next(&rest, ',', &one)) {
        one = str_trim(one);
        if (!legacy && (str_is(one, "mask=None") || str_is(one, "*")))
            continue;
        buf_puts(out, between);
        buf_add(out, one.at, one.len);
        between = ", ";
    }
}

/* The parameters in a dialect; false: it is not called, or nobody says. */
static bool call_print(const struct docs_page *page, enum nki_dialect dialect, struct buf *out) {
    struct str own = docs_part_in(page, "call", dialect);
    bool legacy = dialect == NKI_DIALECT_LEGACY;
    enum nki_op op = op_of(page);
    const char *parameters = "";
    if (own.at)
        docs_fill(page, own, out);
    else if (op != NKI_OP_COUNT && legacy)
        nki_op_print_legacy(op, out);
    else if (op != NKI_OP_COUNT)
        buf_puts(out, nki_op_row(op)->signature);
    else if (language_row(page, &parameters) && *parameters)
        parameters_print(parameters, legacy, out);
    else
        return false;
    return true;
}

bool docs_print_call(const struct docs_page *page, enum nki_dialect dialect, struct buf *out) {
    struct buf inside = {0};
    bool called = call_print(page, dialect, &inside);
    if (called)
        buf_printf(out, "%s(%s)", page->name, inside.at ? inside.at : "");
    buf_free(&inside);
    return called;
}

static void signatures_print(const struct docs_page *page, const struct docs_told *told,
                             struct buf *out) {
    for (int legacy = 0; legacy < 2; legacy++) {
        enum nki_dialect dialect = legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT;
        struct buf call = {0};
        if (docs_tells(page, told, dialect) && docs_print_call(page, dialect, &call))
            buf_printf(out, "%s%s\n", legacy ? "older      " : "call       ", call.at);
        buf_free(&call);
    }
}

/* ---- cost -------------------------------------------------------------------------------------
 */

/* `label`: the page's line begins with it; "" where one before has it. */
static void constant_print(const struct device_constant *row, int g, const char *label,
                           struct buf *out) {
    static const char *const how[] = {"documented", "measured", "fitted", "guessed"};
    static const char *const names[] = {"trn1", "trn2", "trn3"};
    struct device_known known = row->known[g];
    buf_printf(out, "%-10s %s: ", label, row->what);
    number_print(row->value[g], out);
    buf_printf(out, " %s (%s, %s", row->unit, names[g], how[known.how]);
    if (known.percent > 0)
        buf_printf(out, " within %.0f %%", known.percent);
    buf_printf(out, "; %s)\n", row->source);
}

static void cost_print(const struct docs_page *page, const struct docs_told *told,
                       struct buf *out) {
    enum nki_generation generation = told->generation ? told->generation : NKI_GENERATION_DEFAULT;
    struct str how = docs_part(page, "cost"), names = docs_part(page, "figures"), name;
    if (how.at) {
        buf_puts(out, "cost       ");
        docs_fill(page, how, out);
        buf_putc(out, '\n');
    }
    const char *label = how.at ? "" : "cost";
    while (str_next(&names, ' ', &name)) {
        const struct device_constant *row = device_constant_find(name);
        if (!row)
            continue;
        constant_print(row, (int)generation - (int)NKI_GEN2, label, out);
        label = "";
    }
}

/* ---- lines -------------------------------------------------------------------------------------
 */

#define COLUMNS 66 /* as wide as a text over a screen of 80 */
#define LABEL 11   /* columns of "limit      " */

/* A line broken at blanks; further lines are indented. */
static void wrap(struct str line, size_t indent, struct buf *out) {
    size_t column = 0;
    struct str word;
    for (; line.len && *line.at == ' '; line = (struct str){line.at + 1, line.len - 1}, column++)
        buf_putc(out, ' ');
    for (bool first = true; str_next(&line, ' ', &word); first = false) {
        bool breaks = !first && column > indent && column + 1 + word.len > COLUMNS;
        if (breaks)
            buf_printf(out, "\n%*s", (int)indent, "");
        else if (!first)
            buf_putc(out, ' ');
        column = breaks ? indent : column + !first;
        buf_add(out, word.at, word.len);
        column += word.len;
    }
    buf_putc(out, '\n');
}

/* ---- the page ----------------------------------------------------------------------------------
 */

static void parts_print(const struct docs_page *page, const char *key, const char *label,
                        struct buf *out) {
    struct str text;
    for (size_t i = 0; (text = docs_part_at(page, key, i)).at; i++) {
        buf_printf(out, "%-11s", label);
        docs_fill(page, text, out);
        buf_putc(out, '\n');
    }
}

/* Notes about one dialect alone. */
static void own_notes_print(const struct docs_page *page, enum nki_dialect dialect,
                            const char *label, struct buf *out) {
    parts_print(page, dialect == NKI_DIALECT_LEGACY ? "legacy note" : "current note", label, out);
}

static void operands_print(enum nki_op op, struct buf *out) {
    const struct nki_op_row *row = nki_op_row(op);
    buf_puts(out, "engines    ");
    nki_op_print_engines(op, out);
    buf_puts(out, "\n");
    for (size_t k = 0; k < row->n_params; k++) {
        const struct nki_param *param = &row->params[k];
        const char *role = param->role == NKI_ROLE_UPDATES  ? ", written in part or added to"
                           : param->role == NKI_ROLE_WRITES ? ", overwritten"
                                                            : "";
        buf_printf(out, "%-11s%s: %s%s\n", k ? "" : "takes", param->name,
                   nki_takes_text(param->takes), role);
    }
}

/* Names of the example that the release does not have. */
static void example_names_print(struct str file, const struct docs_told *told, struct buf *out) {
    const char *nki = docs_release_nki(told->release), *between = "";
    for (size_t at = 0, len; nki && at < file.len; at += MAX_OF(len, 1)) {
        struct str name = {file.at + at, 0};
        bool inside = at && (isalnum((unsigned char)file.at[at - 1]) || file.at[at - 1] == '_');
        for (len = 0; at + len < file.len && (isalnum((unsigned char)name.at[len]) ||
                                              name.at[len] == '_' || name.at[len] == '.');)
            len++;
        name.len = len;
        if (inside || (!str_starts(name, "nl.") && !str_starts(name, "nisa.")) ||
            nki_release_has(NKI_DIALECT_CURRENT, nki, name))
            continue;
        buf_printf(out, "%s" STR_FMT,
                   *between ? between : "\nNot in this release: ", STR_ARG(name));
        between = ", ";
    }
    if (*between)
        buf_putc(out, '\n');
}

static void example_print(const struct docs_page *page, enum nki_dialect dialect,
                          const struct docs_told *told, struct buf *out) {
    struct buf file = {0};
    struct str inputs = docs_example_inputs(page, dialect);
    struct str gives = docs_example_gives(page, dialect), line;
    if (docs_example(page, dialect, &file)) {
        buf_printf(out, "\nexample%s", dialect == NKI_DIALECT_LEGACY ? ", older dialect" : "");
        buf_printf(out, " (" STR_FMT, STR_ARG(inputs));
        if (gives.len && !str_is(gives, "any")) {
            buf_puts(out, "; returns ");
            docs_fill(page, gives, out);
        }
        struct str values = docs_example_values(page, dialect);
        if (values.len)
            buf_printf(out, "; " STR_FMT, STR_ARG(values));
        buf_puts(out, ")\n\n");
        struct str rest = buf_str(&file);
        while (str_next(&rest, '\n', &line))
            buf_printf(out, "%s" STR_FMT "\n", line.len ? "    " : "", STR_ARG(line));
        example_names_print(buf_str(&file), told, out);
    }
    buf_free(&file);
}

static void missing_print(const struct docs_page *page, const struct docs_told *told,
                          struct buf *out) {
    if (told->release >= 0 && !docs_has(page, told->release))
        buf_printf(out, "           SDK %s does not document it.\n",
                   docs_release_sdk(told->release));
}

/* A line of a guide that goes on in the next: an item or a paragraph begins anew. */
static bool begins_anew(struct str line) {
    return !line.len || str_starts(line, "- ") ||
           (isdigit((unsigned char)*line.at) && line.len > 1 && line.at[1] == '.');
}

static void guide_print(const struct docs_page *page, struct buf *out) {
    struct str rest = page->guide, line;
    struct buf text = {0}, joined = {0};
    while (str_next(&rest, '\n', &line)) {
        bool apart = begins_anew(line) || !joined.len || joined.at[joined.len - 1] == '\n';
        buf_puts(&joined, !joined.len ? "" : apart ? "\n" : " ");
        line = str_trim(line);
        buf_add(&joined, line.at, line.len);
    }
    docs_print_what(page, out);
    buf_puts(out, "\n\n");
    docs_fill(page, buf_str(&joined), &text);
    rest = buf_str(&text);
    while (str_next(&rest, '\n', &line))
        wrap(line, begins_anew(line) && line.len ? *line.at == '-' ? 2 : 3 : 0, out);
    buf_free(&text);
    buf_free(&joined);
}

static void gaps_print(const struct docs_page *page, const struct docs_told *told,
                       struct buf *out) {
    for (int legacy = 0; legacy < 2; legacy++) {
        enum nki_dialect dialect = legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT;
        struct str gap = docs_gap(page, dialect);
        bool told_already = legacy && gap.at == docs_gap(page, NKI_DIALECT_CURRENT).at &&
                            docs_tells(page, told, NKI_DIALECT_CURRENT);
        if (gap.len && docs_tells(page, told, dialect) && !told_already)
            buf_printf(out, "in hone    " STR_FMT "\n", STR_ARG(gap));
    }
}

static void facts_print(const struct docs_page *page, const struct docs_told *told,
                        struct buf *out) {
    buf_printf(out, "%s: ", page->name);
    docs_print_what(page, out);
    buf_puts(out, "\n\n");
    signatures_print(page, told, out);
    missing_print(page, told, out);
    buf_puts(out, "releases   ");
    docs_print_releases(page, out);
    buf_putc(out, '\n');
    if (op_of(page) != NKI_OP_COUNT)
        operands_print(op_of(page), out);
    else
        parts_print(page, "engines", "engines", out);
    parts_print(page, "limit", "limit", out);
    parts_print(page, "note", "note", out);
    for (int legacy = 0; legacy < 2; legacy++) {
        enum nki_dialect dialect = legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT;
        if (docs_tells(page, told, dialect))
            own_notes_print(page, dialect, "note", out);
    }
    cost_print(page, told, out);
    docs_print_changes(page, out);
    parts_print(page, "change", "change", out);
    gaps_print(page, told, out);
    parts_print(page, "see", "see", out);
}

void docs_print(const struct docs_page *page, const struct docs_told *told, struct buf *out) {
    struct buf facts = {0};
    struct str rest, line;
    if (docs_is_guide(page)) {
        guide_print(page, out);
        return;
    }
    facts_print(page, told, &facts);
    for (rest = buf_str(&facts); rest.len && str_next(&rest, '\n', &line);)
        wrap(line, LABEL, out);
    buf_free(&facts);
    for (int legacy = 0; legacy < 2; legacy++) {
        enum nki_dialect dialect = legacy ? NKI_DIALECT_LEGACY : NKI_DIALECT_CURRENT;
        if (docs_tells(page, told, dialect))
            example_print(page, dialect, told, out);
    }
}

static bool says(struct str line, const char *words) {
    return memmem(line.at, line.len, words, strlen(words)) != NULL;
}

/* Whether a line is about the current dialect alone: about a change since NKI 0.1, or about a
 * parameter, "accumulate=", that calls of the older dialect do not have. */
static bool is_of_current(enum nki_op op, struct str line) {
    if (says(line, "since 0.") || says(line, "since NKI 0."))
        return true;
    for (size_t k = 0; op != NKI_OP_COUNT && k < nki_op_row(op)->n_params; k++) {
        char written[40];
        const char *name = nki_op_row(op)->params[k].name;
        snprintf(written, sizeof written, "%s=", name);
        if (says(line, written) && !nki_op_takes_in_legacy(op, str_of(name)))
            return true;
    }
    return false;
}

void docs_print_brief(const struct docs_page *page, enum nki_dialect dialect, struct buf *out) {
    struct buf said = {0};
    parts_print(page, "limit", "", &said);
    parts_print(page, "note", "", &said);
    own_notes_print(page, dialect, "", &said);
    if (dialect != NKI_DIALECT_LEGACY)
        parts_print(page, "change", "", &said);
    struct str rest = buf_str(&said), line;
    while (str_next(&rest, '\n', &line))
        if (str_trim(line).len &&
            (dialect != NKI_DIALECT_LEGACY || !is_of_current(op_of(page), line)))
            buf_printf(out, "    " STR_FMT "\n", STR_ARG(str_trim(line)));
    buf_free(&said);
}
