/* SPDX-License-Identifier: Apache-2.0 */
/* Searching: SQLite's full-text search (FTS5) over the pages, in memory. An SQLite that was built
 * without it leaves hone to count words. */
#include "docs/private.h"

#include <ctype.h>
#include <string.h>

#include <sqlite3.h>

/* All that a page says, without examples. */
static void text_of(const struct docs_page *page, struct buf *out) {
    docs_print_what(page, out);
    buf_putc(out, '\n');
    if (page->guide.at)
        buf_add(out, page->guide.at, page->guide.len);
    for (const struct docs_page *at = page; at; at = at->like)
        for (size_t i = 0; i < at->parts.len; i++) {
            const struct docs_part *part = &at->parts.at[i];
            if (!strcmp(part->key, "limit") || !strcmp(part->key, "note") ||
                !strcmp(part->key, "change") || !strcmp(part->key, "words") ||
                !strcmp(part->key, "current note") || !strcmp(part->key, "legacy note"))
                buf_printf(out, STR_FMT "\n", STR_ARG(part->text));
        }
}

/* The words as FTS5 takes them: in quotes, each the beginning of one. */
static void query_of(struct str words, bool all, struct buf *out) {
    for (size_t at = 0; at < words.len;) {
        size_t end = at;
        while (end < words.len && (isalnum((unsigned char)words.at[end]) || words.at[end] & 0x80))
            end++;
        if (end > at)
            buf_printf(out, "%s\"%.*s\"*", out->len ? all ? " AND " : " OR " : "", (int)(end - at),
                       words.at + at);
        at = MAX_OF(end, at + 1);
    }
}

static bool fill(sqlite3 *db, const struct docs *docs) {
    sqlite3_stmt *row = NULL;
    bool ok = sqlite3_exec(db,
                           "CREATE VIRTUAL TABLE page USING fts5(name, text, tokenize = "
                           "'porter unicode61')",
                           NULL, NULL, NULL) == SQLITE_OK &&
              sqlite3_prepare_v2(db, "INSERT INTO page(rowid, name, text) VALUES (?, ?, ?)", -1,
                                 &row, NULL) == SQLITE_OK;
    for (size_t i = 0; ok && i < docs->pages.len; i++) {
        struct buf text = {0};
        text_of(docs->pages.at[i], &text);
        sqlite3_bind_int64(row, 1, (sqlite3_int64)i + 1);
        sqlite3_bind_text(row, 2, docs->pages.at[i]->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(row, 3, text.at ? text.at : "", -1, SQLITE_TRANSIENT);
        ok = sqlite3_step(row) == SQLITE_DONE;
        sqlite3_reset(row);
        buf_free(&text);
    }
    sqlite3_finalize(row);
    return ok;
}

static size_t ask(sqlite3 *db, const struct docs *docs, const char *query,
                  const struct docs_page **found, size_t most) {
    sqlite3_stmt *rows = NULL;
    size_t n = 0;
    if (sqlite3_prepare_v2(db,
                           "SELECT rowid FROM page WHERE page MATCH ? "
                           "ORDER BY bm25(page, 8.0, 1.0), rowid LIMIT ?",
                           -1, &rows, NULL) != SQLITE_OK)
        return 0;
    sqlite3_bind_text(rows, 1, query, -1, SQLITE_STATIC);
    sqlite3_bind_int64(rows, 2, (sqlite3_int64)most);
    while (n < most && sqlite3_step(rows) == SQLITE_ROW)
        found[n++] = docs->pages.at[sqlite3_column_int64(rows, 0) - 1];
    sqlite3_finalize(rows);
    return n;
}

/* False: this SQLite has no full-text search. */
static bool search_by_sqlite(const struct docs *docs, struct str words,
                             const struct docs_page **found, size_t most, size_t *n) {
    sqlite3 *db = NULL;
    bool ok = sqlite3_open(":memory:", &db) == SQLITE_OK && fill(db, docs);
    bool several = memchr(words.at, ' ', words.len);
    for (int all = 1; ok && !*n && all >= !several; all--) {
        struct buf query = {0};
        query_of(words, all, &query);
        if (query.len)
            *n = ask(db, docs, query.at, found, most);
        buf_free(&query);
    }
    sqlite3_close(db);
    return ok;
}

/* ---- counting words ---------------------------------------------------------------------------
 */

/* How often words that begin so are in a text. */
static size_t count(const char *text, struct str word) {
    size_t n = 0;
    for (const char *at = text; at && *at; at++)
        if ((at == text || !isalnum((unsigned char)at[-1])) && !strncasecmp(at, word.at, word.len))
            n++;
    return n;
}

/* A word in the name counts for eight in the text; a page without one of the words is none. */
static size_t points(const struct docs_page *page, struct str words) {
    struct buf text = {0};
    struct str word;
    size_t sum = 0;
    text_of(page, &text);
    while (str_next(&words, ' ', &word)) {
        size_t one = word.len ? count(text.at, word) + 8 * count(page->name, word) : 0;
        if (word.len && !one) {
            sum = 0;
            break;
        }
        sum += one;
    }
    buf_free(&text);
    return sum;
}

static size_t search_by_words(const struct docs *docs, struct str words,
                              const struct docs_page **found, size_t most) {
    size_t n = 0, *best = mem_alloc(most + 1, sizeof *best);
    for (size_t i = 0; i < docs->pages.len; i++) {
        size_t sum = points(docs->pages.at[i], words), at = n;
        while (sum && at > 0 && best[at - 1] < sum)
            at--;
        if (!sum || at >= most)
            continue;
        n = MIN_OF(n + 1, most);
        memmove(best + at + 1, best + at, (n - at - 1) * sizeof *best);
        memmove(found + at + 1, found + at, (n - at - 1) * sizeof *found);
        best[at] = sum;
        found[at] = docs->pages.at[i];
    }
    mem_free_(best);
    return n;
}

size_t docs_search(const struct docs *docs, struct str words, bool plain,
                   const struct docs_page **found, size_t most) {
    size_t n = 0;
    if (plain || !search_by_sqlite(docs, words, found, most, &n))
        n = search_by_words(docs, str_trim(words), found, most);
    return n;
}
