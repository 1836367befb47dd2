/* SPDX-License-Identifier: Apache-2.0 */
/* The key that explains: what is under the cursor where the screen knows (a line of the log, the
 * pages of the names in a line of the kernel), else the words to choose from. */
#include "views/inner.h"

#include <ctype.h>

#include "docs/docs.h"
#include "runner/runner.h"

#define MOST_NAMES 4
#define MOST_PAGES 8

static void show(struct views *views, const struct buf *text) {
    views_show_text(views, "what it means", text->at);
}

/* Names such as "nisa.nc_matmul" and "nl.load" in a line of source, where something is known about
 * them. */
static int names_explain(struct str text, struct buf *out) {
    int found = 0;
    for (size_t at = 0; at < text.len && found < MOST_NAMES;) {
        size_t end = at, name = at;
        while (end < text.len &&
               (isalnum((unsigned char)text.at[end]) || text.at[end] == '_' || text.at[end] == '.'))
            end++;
        for (size_t i = at; i < end; i++)
            name = text.at[i] == '.' ? i + 1 : name;
        struct str last = {text.at + name, end - name};
        struct str whole = {text.at + at, end - at};
        bool called = end < text.len && text.at[end] == '(' && last.len;
        bool dotted = name > at && last.len;
        found += (dotted && message_explain(whole, out)) || (called && message_explain(last, out));
        at = MAX_OF(end, at + 1);
    }
    return found;
}

/* ---- pages of names ----------------------------------------------------------------------------
 */

struct names {
    const struct docs_page *at[MOST_PAGES];
    size_t n;
};

static void name_add(struct names *names, const struct docs_page *page) {
    for (size_t i = 0; i < names->n; i++)
        if (names->at[i] == page)
            return;
    if (names->n < MOST_PAGES)
        names->at[names->n++] = page;
}

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* "nl.load" in full; a call behind a dot by its last part ("rows.reshape", "L.load"), but for
 * numpy's own. */
static void word_pages(const struct docs *docs, struct str word, bool called, struct names *names) {
    const struct docs_page *found[MOST_PAGES];
    size_t last = word.len;
    while (last && word.at[last - 1] != '.')
        last--;
    size_t n = last ? docs_find(docs, word, found, MOST_PAGES) : 0;
    bool others =
        str_starts(word, "np.") || str_starts(word, "numpy.") || str_starts(word, "math.");
    if (!n && called && !others)
        n = docs_find(docs, (struct str){word.at + last, word.len - last}, found, MOST_PAGES);
    for (size_t i = 0; i < n; i++)
        if (!docs_is_guide(found[i]))
            name_add(names, found[i]);
}

static void line_pages(const struct docs *docs, struct str text, struct names *names) {
    for (size_t at = 0, end; at < text.len && text.at[at] != '#'; at = MAX_OF(end, at + 1)) {
        for (end = at; end < text.len && is_name(text.at[end]);)
            end++;
        if (end > at)
            word_pages(docs, (struct str){text.at + at, end - at},
                       end < text.len && text.at[end] == '(', names);
    }
}

/* A page, as the kernel's target has it. */
static void page_show(struct views *views, const struct docs_page *page) {
    const struct tune_state *state = views->state;
    const struct docs_told told = {
        .release = state && state->nki ? docs_release_find(state->nki) : -1,
        .generation = state && state->device ? nki_generation_find(state->device) : 0,
    };
    struct buf text = {0};
    docs_print(page, &told, &text);
    views_show_text(views, docs_name(page), text.at);
    buf_free(&text);
}

static void page_chosen(struct views *views, struct str text, struct views_request *request) {
    long long index;
    struct docs *docs = docs_open();
    (void)request;
    const struct docs_page *page =
        str_to_int(text, &index) && index >= 0 ? docs_at(docs, (size_t)index) : NULL;
    if (page)
        page_show(views, page);
    docs_close(docs);
}

/* Several names in one line are chosen from. */
static void pages_list(struct views *views, const struct docs *docs, const struct names *names) {
    const struct docs_page *page;
    views->over.rows.len = 0;
    for (size_t k = 0; k < names->n; k++)
        for (size_t i = 0; (page = docs_at(docs, i)); i++) {
            struct buf what = {0};
            if (page != names->at[k])
                continue;
            docs_print_what(page, &what);
            views_menu_row(views, (int)i, "", docs_name(page), what.at ? what.at : "");
            buf_free(&what);
        }
    views_open_menu(views, "names in this line (Enter: the page)", page_chosen);
}

static void pages_open(struct views *views, const struct docs *docs, const struct names *names) {
    if (names->n == 1)
        page_show(views, names->at[0]);
    else
        pages_list(views, docs, names);
}

/* False: no name in the line has a page. */
static bool line_explain(struct views *views, struct str text) {
    struct docs *docs = docs_open();
    struct names names = {0};
    line_pages(docs, text, &names);
    if (names.n)
        pages_open(views, docs, &names);
    docs_close(docs);
    return names.n > 0;
}

/* The page of a name that a person typed; with its module also before the glossary's. */
static bool name_explain(struct views *views, struct str name) {
    struct docs *docs = docs_open();
    struct names names = {0};
    names.n = docs_find(docs, name, names.at, MOST_PAGES);
    if (names.n)
        pages_open(views, docs, &names);
    docs_close(docs);
    return names.n > 0;
}

/* ---- words -------------------------------------------------------------------------------------
 */

static void word_chosen(struct views *views, struct str text, struct views_request *request) {
    long long index;
    struct buf out = {0};
    (void)request;
    const struct glossary_entry *entry =
        str_to_int(text, &index) && index >= 0 ? glossary_at((size_t)index) : NULL;
    if (entry) {
        message_word_print(entry, &out);
        show(views, &out);
    }
    buf_free(&out);
}

/* The words by their parts; what the screen is about comes first. */
static void list_words(struct views *views, enum glossary_part first) {
    const struct glossary_entry *entry;
    views->over.rows.len = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; (entry = glossary_at(i)); i++) {
            if ((entry->part == first) == (pass == 1))
                continue;
            struct tui_menu_row *row =
                views_menu_row(views, (int)i, "", entry->word, entry->meaning);
            row->group = glossary_part_title(entry->part);
        }
    views_open_menu(views, "what words mean (Enter: the whole text)", word_chosen);
}

/* A word that is looked at. */
static bool word_explain(struct views *views, struct str word) {
    const struct glossary_entry *entry = glossary_find(word);
    struct buf out = {0};
    if (entry)
        message_word_print(entry, &out);
    if (entry)
        show(views, &out);
    buf_free(&out);
    return entry;
}

/* A message of a log or a check stands in full above what is known about it. */
static void explain_here(struct views *views, const struct buf *about, bool said) {
    struct buf out = {0};
    if (said)
        buf_printf(&out, "%s\n\n", about->at);
    size_t before = out.len;
    if (!message_explain(buf_str(about), &out))
        names_explain(buf_str(about), &out);
    bool known = out.len > before;
    if (!known && said)
        buf_puts(&out, "Nothing more is known about it.");
    if (known || said)
        show(views, &out);
    else
        views_say(views, false, "this line has no error and no instruction that hone knows");
    buf_free(&out);
}

/* What a person typed: a name with its module is a page, others are words first. */
static bool args_explain(struct views *views, struct str args, struct buf *out) {
    if (memchr(args.at, '.', args.len) && name_explain(views, args))
        return true;
    if (message_explain(args, out)) {
        show(views, out);
        return true;
    }
    return name_explain(views, args);
}

/* What is under the cursor. */
static void cursor_explain(struct views *views, struct buf *about) {
    const struct screen *screen = screen_here(views);
    enum explain_what is = screen->explain ? screen->explain(views, about) : EXPLAIN_NOTHING;
    if (is == EXPLAIN_SOURCE && line_explain(views, buf_str(about)))
        return;
    if (is == EXPLAIN_WORD && word_explain(views, buf_str(about)))
        return;
    if (is == EXPLAIN_NOTHING || is == EXPLAIN_WORD)
        list_words(views, screen->words);
    else
        explain_here(views, about, is == EXPLAIN_SAID);
}

void explain_run(struct views *views, struct str args, struct views_request *request) {
    struct buf about = {0}, out = {0};
    (void)request;
    buf_add(&about, args.at, args.len);
    if (!args.len)
        cursor_explain(views, &about);
    else if (!args_explain(views, args, &out))
        views_say(views, true,
                  "hone knows nothing about '%.60s'; :explain alone lists what it knows", about.at);
    buf_free(&about);
    buf_free(&out);
}
