/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a prompt template with the sections of a context. Templates are prompts/<name>.md, built in
 * or from the configuration folder; prompts/README.md says how they read. */
#include "tune/ask/prompt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "tune/ask/cut.h"
#include "tune/ask/ask.h"
#include "tune/ask/sections.h"
#include "tune/ask/testing.h"

#define PROMPT_LIMIT (1u << 20)
#define SYSTEM_MARK "[system]"
#define ANSWER_MARK "[answer]"
#define GIANT 0.6        /* a part this large gives way first, as a share of the room */
#define MEND_FILE "mend" /* what follows when an answer could not be used */
#define ONCE_FILE "once" /* a planner's, who carries the plan out as well */

static const char *const role_files[TUNE_ROLES] = {
#define X(id, word, file) file,
    TUNE_ROLE_TABLE(X)
#undef X
};

/* The text of a template, to be freed; the configuration folder's wins when it can be read. */
static char *template_text(const char *file) {
    char name[64];
    snprintf(name, sizeof name, "prompts/%s.md", file);
    char *configured = path_config(name);
    char *text = file_exists(configured) ? file_read(configured, PROMPT_LIMIT, NULL, NULL) : NULL;
    free(configured);
    struct str embedded = embed_find(name);
    return text ? text : mem_strdup(embedded.at ? embedded.at : "");
}

static const char *section_text(const struct tune_context *context, struct str name) {
    for (size_t i = 0; i < context->sections.len; i++)
        if (str_is(name, context->sections.at[i].name))
            return context->sections.at[i].text;
    return NULL;
}

/* The next {{name}} in the text: the name, and what stands before and after it. */
static bool next_slot(struct str text, struct str *before, struct str *name, struct str *after) {
    const char *open = text.len ? memmem(text.at, text.len, "{{", 2) : NULL;
    if (!open)
        return false;
    size_t left = text.len - (size_t)(open - text.at);
    const char *close = memmem(open, left, "}}", 2);
    if (!close)
        return false;
    *before = (struct str){text.at, (size_t)(open - text.at)};
    *name = str_trim((struct str){open + 2, (size_t)(close - open) - 2});
    *after = (struct str){close + 2, text.len - (size_t)(close + 2 - text.at)};
    return true;
}

static bool has_slot(struct str layout, const char *section) {
    struct str before, name;
    while (next_slot(layout, &before, &name, &layout))
        if (str_is(name, section))
            return true;
    return false;
}

/* The layout as it is meant: where it has no {{tried before}}, {{notes}} are those about attempts,
 * too, as they were before attempts had rows of their own. Takes the layout. */
static char *layout_mean(char *layout) {
    struct str rest = str_of(layout), before, name;
    struct buf out = {0};
    if (has_slot(rest, "tried before") || !has_slot(rest, "notes"))
        return layout;
    while (next_slot(rest, &before, &name, &rest)) {
        buf_add(&out, before.at, before.len);
        buf_puts(&out, "{{");
        if (str_is(name, "notes"))
            buf_puts(&out, TUNE_EVERY_NOTE);
        else
            buf_add(&out, name.at, name.len);
        buf_puts(&out, "}}");
    }
    buf_add(&out, rest.at, rest.len);
    free(layout);
    return buf_take(&out);
}

static bool part_is_empty(const struct tune_context *context, struct str part) {
    struct str before, name;
    bool slots = false, filled = false;
    while (next_slot(part, &before, &name, &part)) {
        slots = true;
        filled |= section_text(context, name) != NULL;
    }
    return slots && !filled;
}

/* ----------------------------------------------------------------------------------- the parts */

/* How many lines of a section go out: as many as fitting allows, else the usual number; -1: all. */
static int most_of(const struct tune_prompt *prompt, struct str section) {
    for (size_t i = prompt->cuts.len; i > 0; i--)
        if (str_is(section, prompt->cuts.at[i - 1].section))
            return prompt->cuts.at[i - 1].lines;
    int most = tune_cut_most(section);
    return most ? most : -1;
}

static int part_print(const struct tune_prompt *prompt, const struct tune_context *context,
                      struct str part, struct buf *out) {
    struct str before, name, rest = part;
    int left_out = 0;
    while (next_slot(rest, &before, &name, &rest)) {
        buf_add(out, before.at, before.len);
        struct str text = str_of(section_text(context, name));
        while (text.len && text.at[text.len - 1] == '\n')
            text.len--;
        if (text.len)
            left_out += tune_cut_print(context, name, text, most_of(prompt, name), out);
    }
    buf_add(out, rest.at, rest.len);
    return left_out;
}

/* The length of the part at the front: up to the next line that is a heading. */
static size_t part_length(struct str text) {
    for (size_t i = 1; i + 1 < text.len; i++)
        if (text.at[i - 1] == '\n' && text.at[i] == '#' && text.at[i + 1] == ' ')
            return i;
    return text.len;
}

/* Takes the mark off the end of a heading; false when it is not there. */
static bool mark_take(struct str *name, const char *mark) {
    if (!str_ends(*name, mark))
        return false;
    *name = str_trim((struct str){name->at, name->len - strlen(mark)});
    return true;
}

/* "# hardware [system]\n...": its name, what it is, and the part without the mark. */
static struct str part_heading(struct str part, struct tune_prompt *prompt,
                               struct tune_prompt_part *row) {
    struct str rest = part, line;
    row->name = "";
    if (!str_starts(part, "# ") || !str_next(&rest, '\n', &line))
        return part;
    struct str name = str_trim((struct str){line.at + 2, line.len - 2});
    bool bare = str_is(name, "system");
    row->is_system = mark_take(&name, SYSTEM_MARK) || bare;
    row->is_answer = mark_take(&name, ANSWER_MARK);
    row->name = arena_strndup(prompt->arena, name.at, name.len);
    if (!row->is_system && !row->is_answer)
        return part;
    bare = bare || row->is_answer;
    char *whole =
        arena_printf(prompt->arena, "%s%s%s" STR_FMT, bare ? "" : "# ", bare ? "" : row->name,
                     bare ? "" : "\n", STR_ARG(row->is_answer ? str_trim(rest) : rest));
    return str_of(whole);
}

static void part_change(struct tune_prompt *prompt, struct tune_prompt_part *row,
                        const struct tune_prompt_change *change) {
    if (strcmp(change->part, row->name) != 0)
        return;
    row->off = change->off;
    if (!change->text)
        return;
    row->edited = true;
    row->text = str_of(arena_strdup(prompt->arena, change->text));
}

static void part_changes(struct tune_prompt *prompt, struct tune_prompt_part *row,
                         const struct tune_context *context, enum tune_role role) {
    for (size_t i = 0; i < context->changes.len; i++) {
        const struct tune_part_change *made = &context->changes.at[i];
        const struct tune_prompt_change change = {made->part, made->text, made->off};
        if (made->role == role)
            part_change(prompt, row, &change);
    }
}

/* The part's text from its layout. */
static void part_fill(struct tune_prompt *prompt, const struct tune_context *context,
                      struct tune_prompt_part *row) {
    struct buf text = {0};
    row->left_out = part_print(prompt, context, row->layout, &text);
    row->text =
        (struct str){arena_strndup(prompt->arena, text.at ? text.at : "", text.len), text.len};
    row->tokens = model_tokens_estimate(row->text);
    buf_free(&text);
}

static int page_lines(struct str text) {
    int lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.at[i] == '\n';
    return lines;
}

/* It does not go out: there is no room for it. */
static void page_drop(struct tune_prompt_part *page) {
    page->left_out = MAX_OF(page_lines(page->text), 1);
    page->text = STR("");
    page->tokens = 0;
}

/* The length of the page at the front. */
static size_t page_length(struct str text) {
    for (size_t i = 1; i < text.len; i++)
        if (text.at[i - 1] == '\n' && text.at[i] != ' ' && text.at[i] != '\n')
            return i;
    return text.len;
}

/* Its name stands in its first line: "nisa.memset". */
static struct tune_prompt_part page_of(struct tune_prompt *prompt,
                                       const struct tune_prompt_part *part, struct str text,
                                       struct str after) {
    struct tune_prompt_part page = *part;
    struct str rest = text, line = text;
    (void)str_next(&rest, '\n', &line);
    page.is_page = true;
    page.name = arena_strndup(prompt->arena, line.at, line.len);
    page.text = str_of(arena_printf(prompt->arena, STR_FMT STR_FMT, STR_ARG(text), STR_ARG(after)));
    page.layout = (struct str){0};
    page.off = page.edited = false;
    page.left_out = 0;
    return page;
}

/* The pages of a part, each as a part, so that it has its price and can be switched off. `after`:
 * what follows the last one. */
static void pages_add(struct tune_prompt *prompt, const struct tune_context *context,
                      enum tune_role role, struct tune_prompt_part part, struct str after) {
    struct str rest = str_trim(str_of(section_text(context, STR(TUNE_PAGES))));
    int room = tune_cut_most(STR(TUNE_PAGES));
    while (rest.len) {
        size_t len = page_length(rest);
        struct tune_prompt_part page =
            page_of(prompt, &part, (struct str){rest.at, len}, len == rest.len ? after : STR(""));
        rest = (struct str){rest.at + len, rest.len - len};
        room -= page_lines(page.text);
        if (room < 0)
            page_drop(&page);
        part_changes(prompt, &page, context, role);
        *vec_push(&prompt->parts) = page;
    }
}

/* Where a layout ends with the slot of the pages: what stands before and after it. */
static bool has_pages(struct str layout, struct str *before, struct str *after) {
    struct str rest = layout, name, between;
    while (next_slot(rest, &between, &name, after)) {
        *before = (struct str){layout.at, (size_t)(between.at + between.len - layout.at)};
        if (str_is(name, TUNE_PAGES))
            return !str_trim(*after).len;
        rest = *after;
    }
    return false;
}

/* Adds the parts of a template; `mend`: what follows an answer. */
static void parts_add(struct tune_prompt *prompt, const struct tune_context *context,
                      enum tune_role role, const char *file) {
    char *layout = layout_mean(template_text(file));
    struct str rest = str_of(layout), before, after;
    while (rest.len) {
        size_t len = part_length(rest);
        struct str part = {rest.at, len};
        rest = (struct str){rest.at + len, rest.len - len};
        if (part_is_empty(context, part))
            continue;
        struct tune_prompt_part row = {0};
        part = part_heading(part, prompt, &row);
        row.is_again = !row.is_answer && !strcmp(file, MEND_FILE);
        bool pages = has_pages(part, &before, &after);
        part = pages ? before : part;
        row.layout = (struct str){arena_strndup(prompt->arena, part.at, part.len), part.len};
        part_fill(prompt, context, &row);
        part_changes(prompt, &row, context, role);
        *vec_push(&prompt->parts) = row;
        if (pages)
            pages_add(prompt, context, role, row, after);
    }
    free(layout);
}

struct tune_prompt *tune_prompt_build(const struct tune_context *context, enum tune_role role,
                                      const struct tune_prompt_change *changes, size_t count) {
    struct tune_prompt *prompt = mem_alloc(1, sizeof *prompt);
    prompt->arena = arena_new();
    bool once = role == TUNE_ROLE_PLANNER && context->once;
    parts_add(prompt, context, role, once ? ONCE_FILE : role_files[role]);
    if (section_text(context, STR("complaint")))
        parts_add(prompt, context, role, MEND_FILE);
    const struct tune_prompt_part *part = NULL;
    for (size_t i = 0; i < prompt->parts.len; i++) {
        struct tune_prompt_part *row = &prompt->parts.at[i];
        for (size_t k = 0; k < count; k++)
            part_change(prompt, row, &changes[k]);
        part = row->is_page ? part : row;
        row->off |= part->off;
        row->tokens = row->off ? 0 : model_tokens_estimate(row->text);
    }
    return prompt;
}

/* ------------------------------------------------------------------------------------- fitting */

/* Cuts the section in this part until so many tokens are gone, or until it has its least number of
 * lines. */
static void part_shrink(struct tune_prompt *prompt, const struct tune_context *context,
                        struct tune_prompt_part *row, const char *section, int least,
                        double excess) {
    struct str text = str_of(section_text(context, str_of(section)));
    struct tune_cut *cut = text.len ? vec_push(&prompt->cuts) : NULL;
    double before = row->tokens;
    int lines = 1;
    for (size_t i = 0; i < text.len; i++)
        lines += text.at[i] == '\n';
    if (!cut)
        return;
    *cut = (struct tune_cut){section, lines};
    for (int turn = 0; turn < 40 && cut->lines > least && before - row->tokens < excess; turn++) {
        double share = (excess - (before - row->tokens)) / fmax(row->tokens, 1);
        int fewer = (int)(cut->lines * (1 - share)) - 1;
        cut->lines = MAX_OF(MIN_OF(fewer, cut->lines - 1), least);
        part_fill(prompt, context, row);
    }
}

/* A part that takes most of the room by itself gives way first: leaving out everything else would
 * not make enough room for it. It keeps what the others do not need. */
static void giant_shrink(struct tune_prompt *prompt, const struct tune_context *context,
                         struct tune_prompt_part *row, double most) {
    const char *section;
    int least = 0;
    double others = tune_prompt_tokens(prompt) - row->tokens;
    double room = fmax(most * GIANT, most - others);
    for (size_t i = 0; row->tokens > room && (section = tune_cut_victim(i, &least)); i++)
        if (!row->off && !row->edited && has_slot(row->layout, section))
            part_shrink(prompt, context, row, section, least, row->tokens - room);
}

/* The last pages go first; one stays. */
static void pages_shrink(struct tune_prompt *prompt, double most) {
    for (size_t k = prompt->parts.len; k > 1; k--) {
        struct tune_prompt_part *row = &prompt->parts.at[k - 1];
        bool is_first = !prompt->parts.at[k - 2].is_page;
        if (row->is_page && !is_first && !row->off && !row->edited && row->text.len &&
            tune_prompt_tokens(prompt) > most)
            page_drop(row);
    }
}

bool tune_prompt_fit(struct tune_prompt *prompt, const struct tune_context *context, double most) {
    const char *section;
    int least = 0;
    bool fits = !(most > 0) || tune_prompt_tokens(prompt) <= most;
    for (size_t k = 0; !fits && k < prompt->parts.len; k++)
        giant_shrink(prompt, context, &prompt->parts.at[k], most);
    for (size_t i = 0; most > 0 && (section = tune_cut_victim(i, &least)); i++) {
        if (!strcmp(section, TUNE_PAGES))
            pages_shrink(prompt, most);
        for (size_t k = 0; k < prompt->parts.len; k++) {
            struct tune_prompt_part *row = &prompt->parts.at[k];
            double excess = tune_prompt_tokens(prompt) - most;
            if (excess > 0 && !row->off && !row->edited && has_slot(row->layout, section))
                part_shrink(prompt, context, row, section, least, excess);
        }
    }
    return !(most > 0) || tune_prompt_tokens(prompt) <= most;
}

void tune_prompt_free(struct tune_prompt *prompt) {
    if (!prompt)
        return;
    vec_free(&prompt->cuts);
    vec_free(&prompt->parts);
    arena_free(prompt->arena);
    free(prompt);
}

static void text_add(struct buf *out, struct str text) {
    buf_add(out, text.at, text.len);
    if (text.len && text.at[text.len - 1] != '\n')
        buf_putc(out, '\n');
}

void tune_prompt_print(const struct tune_prompt *prompt, struct buf *system, struct buf *user) {
    for (size_t i = 0; i < prompt->parts.len; i++)
        if (!prompt->parts.at[i].off)
            text_add(prompt->parts.at[i].is_system ? system : user, prompt->parts.at[i].text);
}

void tune_prompt_messages(const struct tune_prompt *prompt, struct tune_prompt_messages *out) {
    for (size_t i = 0; i < prompt->parts.len; i++) {
        const struct tune_prompt_part *part = &prompt->parts.at[i];
        if (!part->off)
            text_add(part->is_system   ? &out->system
                     : part->is_answer ? &out->answer
                     : part->is_again  ? &out->again
                                       : &out->user,
                     part->text);
    }
}

double tune_prompt_tokens(const struct tune_prompt *prompt) {
    double sum = 0;
    for (size_t i = 0; i < prompt->parts.len; i++)
        sum += prompt->parts.at[i].tokens;
    return sum;
}

double tune_tokens_estimate(struct str text) {
    return model_tokens_estimate(text);
}

void tune_context_print(const struct tune_context *context, struct buf *out) {
    struct tune_prompt *prompt = tune_prompt_build(context, TUNE_ROLE_PLANNER, NULL, 0);
    tune_prompt_print(prompt, out, out);
    tune_prompt_free(prompt);
}
