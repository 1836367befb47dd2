/* SPDX-License-Identifier: Apache-2.0 */
/* Colours Python line by line. It works on fragments, as diffs show them, and on texts that do not
 * parse; the syntax tree of core/nki is not needed for that. */
#include "views/kit/source.h"

#include <ctype.h>

static const char *const keywords[] = {
    "and",    "as",     "assert", "break",   "class",    "continue", "def",    "del",  "elif",
    "else",   "except", "False",  "finally", "for",      "from",     "global", "if",   "import",
    "in",     "is",     "lambda", "None",    "nonlocal", "not",      "or",     "pass", "raise",
    "return", "True",   "try",    "while",   "with",     "yield",
};

struct token {
    size_t len;
    enum tui_role role;
};

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The end of a string that starts at `at`, its quote passed already. *open stays set when a long
 * string goes on in the next line. */
static size_t string_end(struct str line, size_t at, char quote, bool is_long, char *open) {
    for (; at < line.len; at++) {
        if (line.at[at] == '\\') {
            at++;
        } else if (line.at[at] == quote) {
            if (!is_long)
                return at + 1;
            if (at + 2 < line.len && line.at[at + 1] == quote && line.at[at + 2] == quote) {
                *open = 0;
                return at + 3;
            }
        }
    }
    if (is_long)
        *open = quote;
    return line.len;
}

static size_t take_string(struct str line, size_t at, char *open) {
    char quote = line.at[at];
    bool is_long = at + 2 < line.len && line.at[at + 1] == quote && line.at[at + 2] == quote;
    return string_end(line, at + (is_long ? 3 : 1), quote, is_long, open) - at;
}

static struct token take_name(struct str line, size_t at) {
    size_t len = 0;
    while (at + len < line.len && is_name(line.at[at + len]))
        len++;
    struct str name = {line.at + at, len};
    for (size_t i = 0; i < COUNT_OF(keywords); i++)
        if (str_is(name, keywords[i]))
            return (struct token){len, TUI_KEYWORD};
    bool called = at + len < line.len && line.at[at + len] == '(';
    return (struct token){len, called ? TUI_CALL : TUI_PLAIN};
}

static struct token take_token(struct str line, size_t at, char *open) {
    char c = line.at[at];
    size_t len = 1;
    if (c == '#')
        return (struct token){line.len - at, TUI_COMMENT};
    if (c == '"' || c == '\'')
        return (struct token){take_string(line, at, open), TUI_STRING};
    if (c == '@') {
        while (at + len < line.len && (is_name(line.at[at + len]) || line.at[at + len] == '.'))
            len++;
        return (struct token){len, len > 1 ? TUI_KEYWORD : TUI_PLAIN};
    }
    if (isdigit((unsigned char)c)) {
        while (at + len < line.len && (is_name(line.at[at + len]) || line.at[at + len] == '.'))
            len++;
        return (struct token){len, TUI_NUMBER};
    }
    if (is_name(c))
        return take_name(line, at);
    return (struct token){1, TUI_PLAIN};
}

/* Passes over a line and says which long string is open after it. */
static char scan_line(struct str line, char open) {
    size_t at = 0;
    if (open)
        at = string_end(line, 0, open, true, &open);
    while (at < line.len && !open)
        at += take_token(line, at, &open).len;
    return open;
}

void source_set(struct source *source, const char *text) {
    if (source->text == text)
        return;
    source->text = text;
    source->lines.len = source->quote.len = 0;
    struct str rest = str_of(text), line;
    char open = 0;
    while (text && str_next(&rest, '\n', &line)) {
        if (!rest.at && line.len == 0)
            break;
        if (line.len && line.at[line.len - 1] == '\r')
            line.len--;
        *vec_push(&source->lines) = line;
        *vec_push(&source->quote) = open;
        open = scan_line(line, open);
    }
}

void source_free(struct source *source) {
    vec_free(&source->lines);
    vec_free(&source->quote);
    source->text = NULL;
}

struct str source_line(const struct source *source, int line) {
    if (line < 1 || (size_t)line > source->lines.len)
        return STR("");
    return source->lines.at[line - 1];
}

int source_indent(struct str line) {
    size_t blanks = 0;
    while (blanks < line.len && isspace((unsigned char)line.at[blanks]))
        blanks++;
    return blanks == line.len ? -1 : (int)text_columns((struct str){line.at, blanks});
}

/* Marks show on both sides that something is cut off. Blanks at the start are nothing. */
static void mark_cut(struct tui_area area, int row, int shift, struct str line) {
    bool right = (int)text_columns(line) - shift > area.cols;
    if (right && area.cols > 0)
        tui_put(tui_ink(area, TUI_DIM), row, area.cols - 1, STR("…"));
    if (shift > 0 && shift > source_indent(line) && str_trim(line).len && area.cols > 0)
        tui_put(tui_ink(area, TUI_DIM), row, 0, STR("…"));
}

static void draw_tokens(struct tui_area area, int row, int shift, struct str line, char quote) {
    size_t at = 0;
    int col = -shift;
    if (quote) {
        at = string_end(line, 0, quote, true, &quote);
        col = tui_put(tui_ink(area, TUI_STRING), row, col, (struct str){line.at, at});
    }
    while (at < line.len && col < area.cols) {
        struct token token = take_token(line, at, &quote);
        col = tui_put(tui_ink(area, token.role), row, col, (struct str){line.at + at, token.len});
        at += token.len;
    }
}

void source_draw_plain(struct tui_area area, int row, int shift, struct str line) {
    tui_put(area, row, -shift, line);
    mark_cut(area, row, shift, line);
}

/* Tabs count from the start of a line, but a line is drawn in pieces: so lines with tabs have no
 * colours. */
void source_draw_line(struct tui_area area, int row, int shift, struct str line, char quote) {
    if (line.len && memchr(line.at, '\t', line.len))
        tui_put(area, row, -shift, line);
    else
        draw_tokens(area, row, shift, line, quote);
    mark_cut(area, row, shift, line);
}
