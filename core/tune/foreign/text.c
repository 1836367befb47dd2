/* SPDX-License-Identifier: Apache-2.0 */
/* Makes use of what language models and people wrote into other agents' files: a short title from a
 * plan in Markdown, the code in a summary, a verdict in free words. It guesses; what it cannot tell
 * it leaves as it is. */
#include <ctype.h>
#include <stdlib.h>

#include "tune/foreign/foreign.h"

#define TITLE_LINES 80
#define TITLE_MOST 100
#define TITLE_LEAST 8

/* -------------------------------------------------------------------------------------- titles */

static bool begins(struct str text, const char *with) {
    size_t len = strlen(with);
    return text.len >= len && !strncasecmp(text.at, with, len);
}

/* Without what Markdown puts before and around a line: "## ", "1. ", "- ", "**". */
static struct str bare(struct str line) {
    line = str_trim(line);
    while (line.len && strchr("#*->_`\"", *line.at))
        line = (struct str){line.at + 1, line.len - 1};
    size_t digits = 0;
    while (digits < line.len && isdigit((unsigned char)line.at[digits]))
        digits++;
    if (digits && digits < line.len && strchr(".)", line.at[digits]))
        line = (struct str){line.at + digits + 1, line.len - digits - 1};
    line = str_trim(line);
    while (line.len && strchr("*_`", *line.at))
        line = (struct str){line.at + 1, line.len - 1};
    while (line.len && strchr("*_`:\"", line.at[line.len - 1]))
        line.len--;
    return str_trim(line);
}

/* What stands after the words by which models announce what they chose. */
static struct str announced(struct str line) {
    static const char *const words[] = {"optimization plan:",
                                        "selected optimization:",
                                        "selected optimization strategy:",
                                        "optimization plan -",
                                        "chosen optimization:",
                                        "proposed optimization:",
                                        "proposed change:",
                                        "selected strategy:",
                                        "strategy:",
                                        "optimization:",
                                        "plan:",
                                        "title:",
                                        "i'll apply",
                                        "i will apply",
                                        "we apply",
                                        "we will apply"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (begins(line, words[i]))
            return bare((struct str){line.at + strlen(words[i]), line.len - strlen(words[i])});
    return (struct str){0};
}

/* A line that is about the answer, not about the kernel. */
static bool is_talk(struct str line) {
    static const char *const words[] = {
        "looking at",  "analysis",        "let me",       "i need",
        "here is",     "here's",          "below",        "based on",
        "to optimize", "the primary",     "summary",      "original code",
        "current",     "after analyzing", "plan",         "optimization plan",
        "selected",    "what's",          "key ",         "wait",
        "optimizing",  "the current",     "the provided", "```"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (begins(line, words[i]))
            return true;
    return !line.len;
}

/* A heading or a line in bold as a whole. */
static bool stands_out(struct str line) {
    line = str_trim(line);
    return str_starts(line, "#") || (str_starts(line, "**") && str_ends(line, "**"));
}

/* "**Keep the rows** The kernel ..." is a title with a text behind it. */
static struct str in_bold(struct str line) {
    while (line.len && (isspace((unsigned char)*line.at) || isdigit((unsigned char)*line.at) ||
                        strchr("-.)#", *line.at)))
        line = (struct str){line.at + 1, line.len - 1};
    if (!str_starts(line, "**"))
        return (struct str){0};
    struct str rest = {line.at + 2, line.len - 2};
    const char *end = memmem(rest.at, rest.len, "**", 2);
    struct str inside = bare((struct str){rest.at, end ? (size_t)(end - rest.at) : 0});
    return inside.len >= TITLE_LEAST && !is_talk(inside) ? inside : (struct str){0};
}

static struct str title_find(struct str text) {
    struct str first = {0}, outstanding = {0}, sentence = {0}, line;
    for (int i = 0; i < TITLE_LINES && str_next(&text, '\n', &line); i++) {
        struct str words = bare(line), chosen = announced(words);
        if (chosen.len)
            return chosen;
        if (!words.len)
            continue;
        if (!first.len && in_bold(line).len)
            return in_bold(line);
        if (!first.len)
            first = words;
        if (!outstanding.len && stands_out(line) && !is_talk(words))
            outstanding = words;
        if (!sentence.len && !is_talk(words))
            sentence = words;
    }
    return outstanding.len ? outstanding : sentence.len ? sentence : first;
}

/* Up to the end of the first clause, where that says enough; else so many bytes and three dots. */
static size_t title_length(struct str text) {
    for (size_t i = 15; i + 1 < text.len && i < TITLE_MOST; i++)
        if ((text.at[i] == ';' || text.at[i] == '.') && isspace((unsigned char)text.at[i + 1]))
            return i;
    size_t len = MIN_OF(text.len, TITLE_MOST);
    while (len < text.len && len && (text.at[len] & 0xC0) == 0x80)
        len--;
    while (len < text.len && len > TITLE_MOST / 2 && !isspace((unsigned char)text.at[len]))
        len--;
    return len;
}

void foreign_title(const char *text, struct buf *out) {
    struct str title = title_find(str_of(text ? text : ""));
    size_t len = title_length(title);
    for (size_t i = 0; i < len; i++) {
        bool mark = title.at[i] == '`' ||
                    (title.at[i] == '*' && i + 1 < title.len && title.at[i + 1] == '*') ||
                    (title.at[i] == '*' && i && title.at[i - 1] == '*');
        if (!mark)
            buf_putc(out, isspace((unsigned char)title.at[i]) ? ' ' : title.at[i]);
    }
    while (out->len && strchr(" :.,;", out->at[out->len - 1]))
        out->at[--out->len] = 0;
    if (len < title.len && !strchr(".;", title.at[len]))
        buf_puts(out, "...");
}

const char *foreign_last_line(struct tune_foreign *out, const char *text) {
    struct str rest = str_of(text ? text : ""), line, last = {0};
    while (str_next(&rest, '\n', &line))
        if (str_trim(line).len)
            last = str_trim(line);
    return last.len ? arena_strndup(out->arena, last.at, last.len) : NULL;
}

/* ------------------------------------------------------------------------------------ snippets */

/* The block between ``` after the words, as far as `rest`. */
static bool block_after(struct str *rest, const char *words, struct str *code) {
    struct str line = {0}, from;
    bool found = false;
    while (!found && str_next(rest, '\n', &line))
        found = begins(bare(line), words);
    while (found && str_next(rest, '\n', &line) && !str_starts(str_trim(line), "```"))
        found = !str_trim(line).len;
    if (!found || !str_starts(str_trim(line), "```"))
        return false;
    from = *rest;
    while (str_next(rest, '\n', &line))
        if (str_starts(str_trim(line), "```")) {
            *code = (struct str){from.at, (size_t)(line.at - from.at)};
            return true;
        }
    return false;
}

bool foreign_snippets(struct tune_foreign *out, const char *text, struct tune_experience *item) {
    struct str all = str_of(text ? text : ""), rest = all, slow, fast, line;
    if (!block_after(&rest, "original code", &slow) || !block_after(&rest, "optimized code", &fast))
        return false;
    struct str before = all;
    size_t end = all.len;
    while (end == all.len && str_next(&before, '\n', &line))
        if (begins(bare(line), "original code"))
            end = (size_t)(line.at - all.at);
    struct str told = str_trim((struct str){all.at, end});
    item->slow = arena_strndup(out->arena, slow.at, slow.len);
    item->fast = arena_strndup(out->arena, fast.at, fast.len);
    item->summary = arena_strndup(out->arena, told.at, told.len);
    return true;
}

/* ------------------------------------------------------------------------------------ verdicts */

static const struct {
    const char *word;
    enum tune_status is;
} verdicts[] = {
    {"no_improvement", TUNE_STATUS_REVERT},
    {"divergence", TUNE_STATUS_REVERT},
    {"improved", TUNE_STATUS_KEEP},
    {"baseline", TUNE_STATUS_KEEP},
    {"not promot", TUNE_STATUS_REVERT},
    {"not-promot", TUNE_STATUS_REVERT},
    {"nonpromot", TUNE_STATUS_REVERT},
    {"not chosen", TUNE_STATUS_REVERT},
    {"not built", TUNE_STATUS_REVERT},
    {"no-op", TUNE_STATUS_REVERT},
    {"within-noise", TUNE_STATUS_REVERT},
    {"wash", TUNE_STATUS_REVERT},
    {"closed", TUNE_STATUS_REVERT},
    {"regress", TUNE_STATUS_REVERT},
    {"infeasible", TUNE_STATUS_REVERT},
    {"dropped", TUNE_STATUS_REVERT},
    {"anti-lever", TUNE_STATUS_REVERT},
    {"reject", TUNE_STATUS_REJECTED},
    {"promote", TUNE_STATUS_KEEP},
    {"keep", TUNE_STATUS_KEEP},
    {"kept", TUNE_STATUS_KEEP},
    {"retain", TUNE_STATUS_KEEP},
    {"supersede", TUNE_STATUS_KEEP},
    {"compile_fail", TUNE_STATUS_FAILED},
    {"correctness_fail", TUNE_STATUS_FAILED},
    {"fail", TUNE_STATUS_FAILED},
};

enum tune_status foreign_status(const char *words) {
    enum tune_status is = TUNE_STATUS_INCONCLUSIVE;
    const char *first = NULL;
    for (size_t i = 0; words && i < COUNT_OF(verdicts); i++) {
        const char *at = strcasestr(words, verdicts[i].word);
        if (!at || (first && at >= first))
            continue;
        first = at;
        is = verdicts[i].is;
    }
    return is;
}
