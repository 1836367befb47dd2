/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of releases.def, and what can be asked of them. */
#include "nki/release/release.h"

#include <stdlib.h>

static const struct release_row rows[] = {
#define RELEASE(number, of_nki, of_compiler, by, ways) \
    {.change = RELEASE_IS,                             \
     .sdk = number,                                    \
     .nki = of_nki,                                    \
     .compiler = of_compiler,                          \
     .route = by,                                      \
     .seams = ways},
#define NEW(names) {.change = RELEASE_NEW, .name = names},
#define GONE(gone, todo) {.change = RELEASE_GONE, .name = gone, .instead = todo},
#define GONE_HOST(gone, todo) {.change = RELEASE_GONE_HOST, .name = gone, .instead = todo},
#define OLD(old, todo) {.change = RELEASE_OLD, .name = old, .instead = todo},
#define KEYWORD(function, gone, todo) \
    {.change = RELEASE_KEYWORD, .name = function, .keyword = gone, .instead = todo},
#define RULE(id) {.change = RELEASE_RULE, .rule = NKI_RULE_##id},
#define ENDS(id) {.change = RELEASE_ENDS, .rule = NKI_RULE_##id},
#include "nki/release/releases.def"
#undef RELEASE
#undef NEW
#undef GONE
#undef GONE_HOST
#undef OLD
#undef KEYWORD
#undef RULE
#undef ENDS
};

int nki_release_compare(const char *a, const char *b) {
    for (int i = 0; i < 4; i++) {
        char *after_a, *after_b;
        long x = strtol(a, &after_a, 10), y = strtol(b, &after_b, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = *after_a == '.' ? after_a + 1 : "";
        b = *after_b == '.' ? after_b + 1 : "";
    }
    return 0;
}

const struct release_row *release_next(const struct release_row *row, const char **since) {
    const struct release_row *next = row ? row + 1 : rows;
    if (next == rows + COUNT_OF(rows))
        return NULL;
    if (next->change == RELEASE_IS)
        *since = next->nki;
    return next;
}

bool release_names(const char *names, struct str name) {
    struct str rest = str_of(names), one;
    while (str_next(&rest, ' ', &one))
        if (str_equal(one, name))
            return true;
    return false;
}

const char *release_of_name(struct str name) {
    const char *since = NULL;
    for (const struct release_row *row = NULL; (row = release_next(row, &since));)
        if (row->change == RELEASE_NEW && release_names(row->name, name))
            return since;
    return NULL;
}

/* What releases brought (back) to the package nki, and the older dialect has had all along. */
static const char older[] = "nl.load nl.store nl.private_hbm";

/* Rows are in the order of releases, so what came back after it was gone is there. */
bool nki_release_has(enum nki_dialect dialect, const char *release, struct str name) {
    const char *since = NULL;
    bool legacy = dialect == NKI_DIALECT_LEGACY;
    bool has = !release_of_name(name) || (legacy && release_names(older, name));
    for (const struct release_row *row = NULL; (row = release_next(row, &since));) {
        bool later = since && release && nki_release_compare(since, release) > 0;
        if (later || (since && legacy))
            continue;
        if (row->change == RELEASE_NEW && release_names(row->name, name))
            has = true;
        if (row->change == RELEASE_GONE && str_is(name, row->name))
            has = false;
    }
    return has;
}

/* ---- releases and rules --------------------------------------------------------------------- */

/* "2.32" is also 2.32.0 and 2.32.1; "0.6" is also 0.6.0+3104. */
static bool is_number(struct str text, const char *number) {
    size_t len = strlen(number);
    return str_starts(text, number) &&
           (text.len == len || text.at[len] == '.' || text.at[len] == '+');
}

const char *nki_release_find(const char *text) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].change == RELEASE_IS && rows[i].nki &&
            (is_number(str_of(text), rows[i].nki) || is_number(str_of(text), rows[i].sdk)))
            return rows[i].nki;
    return NULL;
}

const char *nki_release_oldest(void) {
    const char *since = NULL;
    for (const struct release_row *row = NULL; !since && (row = release_next(row, &since));)
        ;
    return since;
}

const char *nki_release_newest(void) {
    const char *newest = NULL;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].change == RELEASE_IS)
            newest = rows[i].nki;
    return newest;
}

_Static_assert(NKI_RULE_COUNT <= 64, "the rules of a release are bits of a word");

uint64_t nki_rules_of(const char *release) {
    uint64_t rules = 0;
    const char *since = NULL;
    for (const struct release_row *row = NULL; (row = release_next(row, &since));) {
        if (since && release && nki_release_compare(since, release) > 0)
            break;
        if (row->change == RELEASE_RULE)
            rules |= UINT64_C(1) << row->rule;
        else if (row->change == RELEASE_ENDS)
            rules &= ~(UINT64_C(1) << row->rule);
    }
    return rules;
}
