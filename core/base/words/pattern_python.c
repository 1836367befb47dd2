/* SPDX-License-Identifier: Apache-2.0 */
/* Where the patterns of Python's `re` and of PCRE2 differ. It walks over a pattern that PCRE2 took,
 * item by item, and finds what only one of them knows. */
#include "base/words/pattern.h"

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* How many bytes from `from` on are in `set`. */
static size_t span_of(struct str text, size_t from, const char *set) {
    size_t i = from;
    while (i < text.len && text.at[i] && strchr(set, text.at[i]))
        i++;
    return i - from;
}

static char at(struct str text, size_t i) {
    return i < text.len ? text.at[i] : 0;
}

/* The byte after the class that begins at `i`. A "]" right at its beginning belongs to it. */
static size_t class_end(struct str text, size_t i, const char **wrong, size_t *offset) {
    i += at(text, i + 1) == '^' ? 2 : 1;
    for (size_t first = i; i < text.len && (text.at[i] != ']' || i == first); i++) {
        bool is_posix = text.at[i] == '[' && at(text, i + 1) == ':';
        if (is_posix && !*wrong) {
            *wrong = "Python has no classes by name, like [:alpha:]";
            *offset = i;
        }
        i += text.at[i] == '\\';
    }
    return i < text.len ? i + 1 : text.len;
}

static const char *wrong_escape(struct str text, size_t i) {
    char c = at(text, i + 1);
    if (c == 'x' && (!is_hex(at(text, i + 2)) || !is_hex(at(text, i + 3))))
        return "Python wants two digits after \\x";
    if (c == 'z')
        return "Python writes \\Z for the end of the text";
    return is_letter(c) && !strchr("AbBdDsSwWZafnrtvxuUN", c) ? "Python does not know this escape"
                                                              : NULL;
}

/* What is wrong with what follows "(". */
static const char *wrong_group(struct str text, size_t i) {
    if (at(text, i + 1) == '*')
        return "Python has no verbs like (*FAIL)";
    if (at(text, i + 1) != '?')
        return NULL;
    char c = at(text, i + 2), next = at(text, i + 3);
    if (c == '\'' || (c == '<' && next != '=' && next != '!'))
        return "Python writes (?P<name>...) for a group with a name";
    if (c == 'P')
        return next == '>' ? "Python has no recursion" : NULL;
    if (c && strchr(":=!#<(>", c))
        return NULL;
    size_t on = span_of(text, i + 2, "aiLmsux");
    size_t minus = at(text, i + 2 + on) == '-' ? 1 + span_of(text, i + 3 + on, "imsx") : 0;
    char end = at(text, i + 2 + on + minus);
    if (on + minus && (end == ':' || (end == ')' && !minus)))
        return NULL;
    return "Python does not know what follows (?";
}

const char *pattern_not_python(struct str text, size_t *offset) {
    const char *wrong = NULL;
    for (size_t i = 0; i < text.len && !wrong;) {
        char c = text.at[i];
        *offset = i;
        if (c == '\\')
            wrong = wrong_escape(text, i);
        else if (c == '(')
            wrong = wrong_group(text, i);
        i = c == '[' ? class_end(text, i, &wrong, offset) : i + (c == '\\' ? 2 : 1);
    }
    return wrong;
}

bool pattern_is_pythons(struct str text) {
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.at[i] == '\\') {
            if (strchr("uUN", text.at[++i]) && text.at[i])
                return true;
        } else if (text.at[i] == '(' && text.at[i + 1] == '?') {
            size_t flags = span_of(text, i + 2, "aiLmsux");
            char end = at(text, i + 2 + flags);
            for (size_t k = 0; k < flags && (end == ':' || end == ')' || end == '-'); k++)
                if (strchr("aLu", text.at[i + 2 + k]))
                    return true;
        }
    }
    return false;
}
