/* SPDX-License-Identifier: Apache-2.0 */
/* The key that explains: what is under the cursor where the screen knows (a line of the log, the
 * names in a line of the kernel), else the words to choose from. */
#include "views/inner.h"

#include <ctype.h>

#include "runner/runner.h"

#define MOST_NAMES 4

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

void explain_run(struct views *views, struct str args, struct views_request *request) {
    const struct screen *screen = screen_here(views);
    struct buf about = {0}, out = {0};
    enum explain_what is;
    (void)request;
    buf_add(&about, args.at, args.len);
    if (args.len && message_explain(args, &out))
        show(views, &out);
    else if (args.len)
        views_say(views, true,
                  "hone knows nothing about '%.60s'; :explain alone lists what it knows", about.at);
    else if (!screen->explain || (is = screen->explain(views, &about)) == EXPLAIN_NOTHING)
        list_words(views, screen->words);
    else if (is != EXPLAIN_WORD)
        explain_here(views, &about, is == EXPLAIN_SAID);
    else if (!word_explain(views, buf_str(&about)))
        list_words(views, screen->words);
    buf_free(&about);
    buf_free(&out);
}
