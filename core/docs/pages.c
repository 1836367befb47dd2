/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the folder pages. A file of names (.txt) is a list of pages:
 *
 *     @ nl.exp                one name or several; "@ =unary" is a pattern, and no page
 *     like: unary             parts that are not here are taken from this pattern
 *     what: one line about it
 *     limit: what it refuses  any number, as note and change
 *     inputs: x=128x512:float32
 *     gives: np.exp(x)        what the example returns
 *     current:                the example, indented by four; it goes on up to the next part
 *         r = nl.exp(tx)
 *
 * A part goes on in lines that begin with blanks. "legacy KEY:" is a part for that dialect alone;
 * "legacy note:" and "current note:" are told beside the notes of both.
 * Guides are the files of pages/guides. */
#include "docs/private.h"

#include <stdio.h>
#include <string.h>

#define INDENT 4

static bool is_code(const char *key) {
    return !strcmp(key, "current") || !strcmp(key, "legacy");
}

/* Joins the lines of a part: code keeps them, without their indent. */
static void part_add(struct buf *text, struct str line, bool code) {
    struct str own = code ? line : str_trim(line);
    for (size_t i = 0; code && i < INDENT && own.len && *own.at == ' '; i++)
        own = (struct str){own.at + 1, own.len - 1};
    if (text->len)
        buf_putc(text, code ? '\n' : ' ');
    buf_add(text, own.at, own.len);
}

static bool is_more(struct str rest) {
    return rest.len && (*rest.at == ' ' || *rest.at == '\n');
}

/* The part that begins in `line`; takes the lines that belong to it off *rest. */
static struct docs_part read_part(struct docs *docs, struct str line, struct str *rest) {
    struct docs_part part = {0};
    struct str key, more;
    struct buf text = {0};
    if (!str_next(&line, ':', &key))
        return part;
    part.key = arena_strndup(docs->arena, key.at, key.len);
    if (str_trim(line).len)
        part_add(&text, str_trim(line), false);
    while (is_more(*rest) && str_next(rest, '\n', &more))
        if (is_code(part.key) || str_trim(more).len)
            part_add(&text, more, is_code(part.key));
    part.text = str_trim(buf_str(&text));
    part.text.at = arena_strndup(docs->arena, part.text.len ? part.text.at : "", part.text.len);
    buf_free(&text);
    return part;
}

static struct docs_page *page_new(struct docs *docs, struct str name) {
    struct docs_page *page = ARENA_NEW(docs->arena, struct docs_page);
    page->name = arena_strndup(docs->arena, name.at, name.len);
    const char *dot = strchr(page->name, '.');
    if (dot && str_starts(name, "nki.compiler."))
        dot = strchr(dot + 1, '.');
    page->last = dot ? dot + 1 : page->name;
    const struct map_entry *entry = map_find(&docs->ranges, name);
    page->ranges = entry ? entry->value : "";
    return page;
}

/* The pages that a line of names begins; they share what follows. */
static size_t begin_pages(struct docs *docs, struct str names) {
    size_t first = docs->pages.len;
    struct str name;
    while (str_next(&names, ' ', &name))
        if (name.len && *name.at == '=')
            *vec_push(&docs->patterns) = page_new(docs, (struct str){name.at + 1, name.len - 1});
        else if (name.len)
            *vec_push(&docs->pages) = page_new(docs, name);
    return first;
}

static void read_file(struct docs *docs, struct str text) {
    struct str line;
    size_t first = docs->pages.len;
    while (str_next(&text, '\n', &line)) {
        if (str_starts(line, "@ ")) {
            first = begin_pages(docs, str_trim((struct str){line.at + 2, line.len - 2}));
            continue;
        }
        if (!str_trim(line).len || *line.at == '#')
            continue;
        struct docs_part part = read_part(docs, line, &text);
        for (size_t i = first; part.key && i < docs->pages.len; i++)
            *vec_push(&docs->pages.at[i]->parts) = part;
        if (part.key && first == docs->pages.len && docs->patterns.len)
            *vec_push(&docs->patterns.at[docs->patterns.len - 1]->parts) = part;
    }
}

/* "pages/guides/tiling.md" is the guide tiling; its first line is what it is about. */
static void read_guide(struct docs *docs, const char *path, struct str text) {
    const char *name = strrchr(path, '/') + 1;
    struct docs_page *page = page_new(docs, (struct str){name, strlen(name) - strlen(".md")});
    struct str title;
    str_next(&text, '\n', &title);
    while (title.len && (*title.at == '#' || *title.at == ' '))
        title = (struct str){title.at + 1, title.len - 1};
    *vec_push(&page->parts) = (struct docs_part){"what", title};
    page->guide = str_trim(text);
    *vec_push(&docs->pages) = page;
}

static void find_patterns(struct docs *docs, struct docs_page *page) {
    struct str like = docs_part(page, "like");
    for (size_t i = 0; like.len && i < docs->patterns.len; i++)
        if (str_is(like, docs->patterns.at[i]->name) && docs->patterns.at[i] != page)
            page->like = docs->patterns.at[i];
}

struct docs *docs_open(void) {
    struct docs *docs = mem_alloc(1, sizeof *docs);
    docs->arena = arena_new();
    docs_read_ranges(docs);
    for (int guides = 0; guides < 2; guides++)
        for (const struct embedded_file *file = embedded_files; file->name; file++) {
            struct str name = str_of(file->name), text = {(const char *)file->data, file->size};
            if (guides && str_starts(name, "pages/guides/"))
                read_guide(docs, file->name, text);
            else if (!guides && str_starts(name, "pages/") && str_ends(name, ".page"))
                read_file(docs, text);
        }
    for (size_t i = 0; i < docs->patterns.len; i++)
        find_patterns(docs, docs->patterns.at[i]);
    for (size_t i = 0; i < docs->pages.len; i++)
        find_patterns(docs, docs->pages.at[i]);
    return docs;
}

void docs_close(struct docs *docs) {
    if (!docs)
        return;
    for (size_t i = 0; i < docs->pages.len; i++)
        vec_free(&docs->pages.at[i]->parts);
    for (size_t i = 0; i < docs->patterns.len; i++)
        vec_free(&docs->patterns.at[i]->parts);
    vec_free(&docs->pages);
    vec_free(&docs->patterns);
    map_free(&docs->ranges);
    arena_free(docs->arena);
    mem_free_(docs);
}

struct str docs_part_at(const struct docs_page *page, const char *key, size_t index) {
    for (int hops = 0; page && hops < 6; page = page->like, hops++)
        for (size_t i = 0; i < page->parts.len; i++)
            if (!strcmp(page->parts.at[i].key, key) && index-- == 0)
                return page->parts.at[i].text;
    return (struct str){0};
}

struct str docs_part(const struct docs_page *page, const char *key) {
    return docs_part_at(page, key, 0);
}

struct str docs_part_in(const struct docs_page *page, const char *key, enum nki_dialect dialect) {
    char of[40];
    snprintf(of, sizeof of, "%s %s", dialect == NKI_DIALECT_LEGACY ? "legacy" : "current", key);
    struct str own = docs_part(page, of);
    return own.at ? own : docs_part(page, key);
}

const char *docs_name(const struct docs_page *page) {
    return page->name;
}

bool docs_is_guide(const struct docs_page *page) {
    return page->guide.at != NULL;
}

const struct docs_page *docs_at(const struct docs *docs, size_t index) {
    return index < docs->pages.len ? docs->pages.at[index] : NULL;
}

struct str docs_gap(const struct docs_page *page, enum nki_dialect dialect) {
    struct str gap = docs_part_in(page, "gap", dialect);
    return gap.at ? gap : STR("");
}
