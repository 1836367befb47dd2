/* SPDX-License-Identifier: Apache-2.0 */
/* Which releases have a name (pages/names.txt), and what they changed about it (releases.def). */
#include "docs/private.h"

#include <stdio.h>
#include <string.h>

enum change { CHANGE_OLD, CHANGE_GONE, CHANGE_KEYWORD };

static const struct {
    const char *sdk, *nki;
} releases[] = {
#define RELEASE(sdk, nki, compiler, route, seams) {sdk, nki},
#define NEW(names)
#define GONE(name, instead)
#define GONE_HOST(name, instead)
#define OLD(name, instead)
#define KEYWORD(function, keyword, instead)
#define RULE(rule)
#define ENDS(rule)
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

/* What releases.def says of names, in the order of releases; `sdk` begins a release. */
static const struct row {
    const char *sdk, *nki;
    enum change change;
    const char *name, *keyword, *instead;
} rows[] = {
#define RELEASE(number, of_nki, compiler, route, seams) {.sdk = number, .nki = of_nki},
#define NEW(names)
#define GONE(gone, todo) {.change = CHANGE_GONE, .name = gone, .instead = todo},
#define GONE_HOST(gone, todo) {.change = CHANGE_GONE, .name = gone, .instead = todo},
#define OLD(old, todo) {.change = CHANGE_OLD, .name = old, .instead = todo},
#define KEYWORD(function, word, todo) \
    {.change = CHANGE_KEYWORD, .name = function, .keyword = word, .instead = todo},
#define RULE(rule)
#define ENDS(rule)
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

void docs_read_ranges(struct docs *docs) {
    struct str rest = embed_find("pages/names.txt"), line, name;
    char *ranges = NULL;
    while (str_next(&rest, '\n', &line)) {
        if (str_starts(line, "releases ")) {
            struct str of = str_trim((struct str){line.at + 9, line.len - 9});
            ranges = arena_strndup(docs->arena, of.at, of.len);
        } else if (line.len && *line.at != '#') {
            while (str_next(&line, ' ', &name))
                if (name.len)
                    map_put(&docs->ranges, name)->value = ranges;
        }
    }
}

static bool is_number(struct str text, const char *number) {
    size_t len = number ? strlen(number) : 0;
    return len && str_starts(text, number) && (text.len == len || text.at[len] == '.');
}

int docs_release_find(const char *text) {
    for (size_t i = 0; i < COUNT_OF(releases); i++)
        if (is_number(str_of(text), releases[i].sdk) || is_number(str_of(text), releases[i].nki))
            return (int)i;
    return -1;
}

const char *docs_release_sdk(int release) {
    return release >= 0 && (size_t)release < COUNT_OF(releases) ? releases[release].sdk : NULL;
}

const char *docs_release_nki(int release) {
    return docs_release_sdk(release) ? releases[release].nki : NULL;
}

/* Whether "2.20-2.26", "2.29-" or "2.28" has a release. */
static bool range_has(struct str range, const char *sdk) {
    char first[16] = "", last[16] = "";
    struct str from;
    str_next(&range, '-', &from);
    bool open = range.at == from.at + from.len + 1 && !range.len;
    bool one = range.at == NULL || range.at == from.at + from.len;
    snprintf(first, sizeof first, STR_FMT, STR_ARG(from));
    snprintf(last, sizeof last, STR_FMT, STR_ARG(range));
    if (nki_release_compare(sdk, first) < 0)
        return false;
    return one && !open ? !nki_release_compare(sdk, first)
                        : open || nki_release_compare(sdk, last) <= 0;
}

bool docs_has(const struct docs_page *page, int release) {
    struct str rest = str_of(page->ranges), range;
    if (!rest.len || !docs_release_sdk(release))
        return true;
    while (str_next(&rest, ' ', &range))
        if (range_has(range, releases[release].sdk))
            return true;
    return false;
}

/* Whether any release documents it in that dialect. */
static bool in_dialect(const struct docs_page *page, enum nki_dialect dialect) {
    for (int i = 0; docs_release_sdk(i); i++)
        if ((dialect == NKI_DIALECT_LEGACY) == !releases[i].nki && docs_has(page, i))
            return true;
    return false;
}

bool docs_tells(const struct docs_page *page, const struct docs_told *told,
                enum nki_dialect dialect) {
    if (told->release < 0)
        return in_dialect(page, dialect);
    return (dialect == NKI_DIALECT_LEGACY) == !releases[told->release].nki;
}

/* "SDK 2.29 to 2.33 (NKI 0.3 to 0.7)", of releases in a row. */
static void run_print(int first, int last, struct buf *out) {
    buf_printf(out, "%sSDK %s", out->len && out->at[out->len - 1] == ')' ? ", " : "",
               releases[first].sdk);
    if (last > first)
        buf_printf(out, " to %s", releases[last].sdk);
    if (!releases[first].nki)
        buf_puts(out, " (the older dialect)");
    else if (last > first)
        buf_printf(out, " (NKI %s to %s)", releases[first].nki, releases[last].nki);
    else
        buf_printf(out, " (NKI %s)", releases[first].nki);
}

void docs_print_releases(const struct docs_page *page, struct buf *out) {
    struct buf runs = {0};
    for (int i = 0, first = -1; docs_release_sdk(i); i++) {
        bool has = docs_has(page, i), next = docs_release_sdk(i + 1) && docs_has(page, i + 1);
        bool turns = docs_release_sdk(i + 1) && !releases[i].nki != !releases[i + 1].nki;
        first = has && first < 0 ? i : first;
        if (has && (!next || turns)) {
            run_print(first, i, &runs);
            first = -1;
        }
    }
    if (runs.len)
        buf_puts(out, runs.at);
    buf_free(&runs);
}

/* A keyword of all functions is told where kernels write functions of nl and nisa. */
static bool concerns(const struct row *row, const struct docs_page *page) {
    if (!row->name)
        return row->keyword && docs_part(page, "takes mask").at;
    return !strcmp(row->name, page->name);
}

void docs_print_changes(const struct docs_page *page, struct buf *out) {
    const struct row *release = NULL;
    for (const struct row *row = rows; row < rows + COUNT_OF(rows); row++) {
        if (row->sdk)
            release = row;
        if (row->sdk || !concerns(row, page))
            continue;
        buf_printf(out, "change     NKI %s: ", release->nki);
        if (row->keyword)
            buf_printf(out, "%s= is gone; %s\n", row->keyword, row->instead);
        else
            buf_printf(out, "%s; %s\n",
                       row->change == CHANGE_OLD ? "should not be used any more"
                                                 : "kernels can no longer use it",
                       row->instead);
    }
}
