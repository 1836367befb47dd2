/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of releases.def, and what can be asked of them. */
#include "nki/lint/releases.h"

#include "nki/lint/rules.h"

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
#define RULE(lint) {.change = RELEASE_RULE, .rule = lint},
#include "nki/lint/releases.def"
#undef RELEASE
#undef NEW
#undef GONE
#undef GONE_HOST
#undef OLD
#undef KEYWORD
#undef RULE
};

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

const char *release_of_rule(int rule) {
    const char *since = NULL;
    for (const struct release_row *row = NULL; (row = release_next(row, &since));)
        if (row->change == RELEASE_RULE && row->rule == rule)
            return since;
    return NULL;
}

const char *release_of_name(struct str name) {
    const char *since = NULL;
    for (const struct release_row *row = NULL; (row = release_next(row, &since));)
        if (row->change == RELEASE_NEW && release_names(row->name, name))
            return since;
    return NULL;
}

/* Rows are in the order of releases, so what came back after it was gone is there. */
bool nki_release_has(enum nki_dialect dialect, const char *release, struct str name) {
    const char *since = NULL;
    bool has = !release_of_name(name);
    for (const struct release_row *row = NULL; (row = release_next(row, &since));) {
        bool later = since && release && nki_release_compare(since, release) > 0;
        if (later || (since && dialect == NKI_DIALECT_LEGACY))
            continue;
        if (row->change == RELEASE_NEW && release_names(row->name, name))
            has = true;
        if (row->change == RELEASE_GONE && str_is(name, row->name))
            has = false;
    }
    return has;
}
