/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a prompt template with the sections of a context. Templates are prompts/<name>.md, built in
 * or from the configuration folder; prompts/README.md says how they read. */
#include <stdlib.h>

#include "tune/context.h"

#define PROMPT_LIMIT (1u << 20)

/* The text of a template, to be freed; the configuration folder's wins when it can be read. */
static char *template_text(const char *name) {
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

static bool part_is_empty(const struct tune_context *context, struct str part) {
    struct str before, name;
    bool slots = false, filled = false;
    while (next_slot(part, &before, &name, &part)) {
        slots = true;
        filled |= section_text(context, name) != NULL;
    }
    return slots && !filled;
}

static void part_print(const struct tune_context *context, struct str part, struct buf *out) {
    struct str before, name, rest = part;
    if (part_is_empty(context, part))
        return;
    while (next_slot(rest, &before, &name, &rest)) {
        buf_add(out, before.at, before.len);
        const char *text = section_text(context, name);
        struct str trimmed = str_of(text ? text : "");
        while (trimmed.len && trimmed.at[trimmed.len - 1] == '\n')
            trimmed.len--;
        buf_add(out, trimmed.at, trimmed.len);
    }
    buf_add(out, rest.at, rest.len);
}

/* The length of the part at the front: up to the next line that is a heading. */
static size_t part_length(struct str text) {
    for (size_t i = 1; i + 1 < text.len; i++)
        if (text.at[i - 1] == '\n' && text.at[i] == '#' && text.at[i + 1] == ' ')
            return i;
    return text.len;
}

void tune_context_print(const struct tune_context *context, struct buf *out) {
    char *layout = template_text("prompts/plan.md");
    struct str rest = str_of(layout);
    while (rest.len) {
        size_t len = part_length(rest);
        part_print(context, (struct str){rest.at, len}, out);
        rest = (struct str){rest.at + len, rest.len - len};
    }
    free(layout);
}
