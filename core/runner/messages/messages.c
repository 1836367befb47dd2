/* SPDX-License-Identifier: Apache-2.0 */
/* Looks things up in the table of messages. That happens rarely, so only the patterns that are
 * needed get compiled. */
#include "runner/messages/messages.h"
#include "runner/messages/testing.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "diagnose/diagnose.h"
#include "nki/nki.h"

enum row_kind {
    FIND_ROW,
    FIND_STATUS_ROW,
    CLASS_ROW,
    CODE_ROW,
    TEXT_ROW,
    STATUS_ROW,
    HARMLESS_ROW
};

/* A row of messages.def. `name` is the codes of a CODE, or the cause of a CLASS. */
struct row {
    enum row_kind kind;
    const char *name, *pattern, *text_kind, *what, *fix;
    int number;
};

static const struct row rows[] = {
#define FIND(by) {.kind = FIND_ROW, .pattern = by},
#define FIND_STATUS(by) {.kind = FIND_STATUS_ROW, .pattern = by},
#define CLASS(by, cause) {.kind = CLASS_ROW, .pattern = by, .name = cause},
#define CODE(codes, is, todo) {.kind = CODE_ROW, .name = codes, .what = is, .fix = todo},
#define TEXT(row, of, by, is, todo) \
    {.kind = TEXT_ROW, .name = row, .text_kind = of, .pattern = by, .what = is, .fix = todo},
#define STATUS(value, status, text) \
    {.kind = STATUS_ROW, .number = value, .name = status, .what = text},
#define HARMLESS(by) {.kind = HARMLESS_ROW, .pattern = by},
#include "runner/messages/messages.def"
#undef FIND
#undef FIND_STATUS
#undef CLASS
#undef CODE
#undef TEXT
#undef STATUS
#undef HARMLESS
};

static struct pattern *pattern_of(const char *text, unsigned flags) {
    struct err err;
    struct pattern *pattern = pattern_new(str_of(text), flags | PATTERN_ONCE, NULL, &err);
    if (!pattern)
        HONE_BUG(err.text);
    return pattern;
}

/* Whether a row's pattern matches anywhere, or, with `whole`, all of the text. */
static bool row_matches(const struct row *row, struct str text, bool whole) {
    struct buf by = {0};
    buf_printf(&by, whole ? "\\A(?:%s)\\z" : "%s", row->pattern);
    struct pattern *pattern = pattern_of(by.at, whole ? 0 : PATTERN_ANY_CASE);
    bool found = pattern_matches(pattern, text);
    pattern_free(pattern);
    buf_free(&by);
    return found;
}

static const struct row *row_next(enum row_kind kind, const struct row *after) {
    for (const struct row *row = after ? after + 1 : rows; row < rows + COUNT_OF(rows); row++)
        if (row->kind == kind)
            return row;
    return NULL;
}

static void tell(const struct row *row, struct str name, struct message *found) {
    *found = (struct message){.name = name,
                              .kind = row->text_kind ? row->text_kind : "",
                              .what = row->what,
                              .fix = row->fix};
}

/* ---- by code --------------------------------------------------------------------------------- */

/* Whether a list of codes has one, with or without "NCC_". *one is how the list writes it. */
static bool has_code(const char *codes, const char *code, struct str *one) {
    struct str rest = str_of(codes);
    while (str_next(&rest, ' ', one))
        if (str_is(*one, code) ||
            (str_starts(*one, "NCC_") && str_is((struct str){one->at + 4, one->len - 4}, code)))
            return true;
    return false;
}

static bool by_row_of_text(const char *name, struct message *found) {
    for (const struct row *row = NULL; (row = row_next(TEXT_ROW, row));)
        if (!strcmp(row->name, name)) {
            tell(row, str_of(row->name), found);
            return true;
        }
    return false;
}

static bool by_lint(const char *code, struct message *found) {
    size_t count = 0;
    const struct nki_lint_rule *rules = nki_lint_rules(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(rules[i].code, code)) {
            *found = (struct message){.name = str_of(rules[i].code),
                                      .kind = "",
                                      .what = rules[i].message,
                                      .fix = rules[i].help,
                                      .is_own = true};
            return true;
        }
    return false;
}

static bool by_diagnosis(const char *code, struct message *found) {
    const struct diagnose_code *row;
    for (size_t i = 0; (row = diagnose_code_at(i)); i++)
        if (!strcmp(row->code, code)) {
            *found = (struct message){.name = str_of(row->code),
                                      .kind = "",
                                      .what = row->what,
                                      .fix = row->fix,
                                      .is_own = true};
            return true;
        }
    return false;
}

bool message_by_code(const char *code, struct message *found) {
    struct str name;
    for (const struct row *row = NULL; (row = row_next(CODE_ROW, row));)
        if (has_code(row->name, code, &name)) {
            tell(row, name, found);
            return true;
        }
    for (const struct row *row = NULL; (row = row_next(STATUS_ROW, row));)
        if (!strcmp(row->name, code) && by_row_of_text(row->what, found)) {
            found->name = str_of(row->name);
            return true;
        }
    return by_lint(code, found) || by_diagnosis(code, found);
}

bool message_at(size_t index, struct message *found) {
    for (const struct row *row = NULL; (row = row_next(CODE_ROW, row));) {
        struct str rest = str_of(row->name), one;
        while (str_next(&rest, ' ', &one))
            if (!index--) {
                tell(row, one, found);
                return true;
            }
    }
    return false;
}

const char *message_cause(const char *code) {
    for (const struct row *row = NULL; (row = row_next(CLASS_ROW, row));)
        if (row_matches(row, str_of(code), true))
            return row->name;
    return "trace";
}

const char *message_pattern(size_t index) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].pattern && !index--)
            return rows[i].pattern;
    return NULL;
}

/* ---- by text --------------------------------------------------------------------------------- */

bool message_code(struct str text, char code[MESSAGE_CODE]) {
    bool found = false;
    for (const struct row *row = NULL; !found && (row = row_next(FIND_ROW, row));) {
        struct pattern *pattern = pattern_of(row->pattern, 0);
        found = pattern_matches(pattern, text);
        if (found)
            snprintf(code, MESSAGE_CODE, STR_FMT, STR_ARG(pattern_group(pattern, text, 1)));
        pattern_free(pattern);
    }
    return found;
}

/* Finds a status by its number, by its name, or by the end of its name ("NRT_EXEC_OOB",
 * "NRT_OOB"). */
static const struct row *status_of(struct str name, struct str number) {
    long long value = 0;
    bool has_number = number.len && str_to_int(number, &value);
    for (const struct row *row = NULL; (row = row_next(STATUS_ROW, row));) {
        if (has_number ? row->number == value : str_is(name, row->name))
            return row;
    }
    if (has_number || name.len <= 8)
        return NULL;
    for (const struct row *row = NULL; (row = row_next(STATUS_ROW, row));) {
        struct str full = str_of(row->name);
        size_t tail = name.len - 3;
        if (full.len >= tail && !memcmp(full.at + full.len - tail, name.at + 3, tail))
            return row;
    }
    return NULL;
}

/* The first status in a text that does not mean success. */
static const struct row *status_in(struct str text) {
    struct pattern *pattern = pattern_of(row_next(FIND_STATUS_ROW, NULL)->pattern, 0);
    struct pattern_span span = {0};
    const struct row *found = NULL;
    while (!found && pattern_find(pattern, text, span.end, &span) == PATTERN_FOUND) {
        struct str number = {0};
        for (size_t i = 2; i <= pattern_groups(pattern) && !number.len; i++)
            number = pattern_group(pattern, text, i);
        found = status_of(pattern_group(pattern, text, 1), number);
    }
    pattern_free(pattern);
    return found;
}

bool message_by_text(struct str text, struct message *found) {
    for (const struct row *row = NULL; (row = row_next(TEXT_ROW, row));)
        if (strcmp(row->text_kind, "noise") != 0 && row_matches(row, text, false)) {
            tell(row, str_of(row->name), found);
            return true;
        }
    const struct row *status = status_in(text);
    return status && by_row_of_text(status->what, found);
}
