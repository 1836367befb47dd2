/* SPDX-License-Identifier: Apache-2.0 */
/* What a code, a word, an instruction or a line of a log means, and what to do about it. `hone
 * explain` and the key for it on a screen use this. */
#include "runner/messages/messages.h"

#include <ctype.h>

#include "nki/nki.h"

static void code_print(const struct message *code, struct buf *out) {
    const char *name = code->is_own ? strstr(code->what, "{}") : NULL; /* whatever name it found */
    buf_printf(out, STR_FMT ": ", STR_ARG(code->name));
    if (name)
        buf_printf(out, "%.*sNAME%s", (int)(name - code->what), code->what, name + 2);
    else
        buf_puts(out, code->what);
    buf_printf(out, ".\n    %s\n", code->fix);
}

void message_word_print(const struct glossary_entry *entry, struct buf *out) {
    buf_printf(out, "%s%s%s%s: %s\n", entry->word, *entry->names ? " (" : "", entry->names,
               *entry->names ? ")" : "", entry->meaning);
}

/* hone's own codes are in brackets at the end of a line, where a compiler's may be too. */
static bool line_code(struct str line, char code[MESSAGE_CODE * 2]) {
    const char *open = NULL;
    line = str_trim(line);
    if (!line.len || line.at[line.len - 1] != ']')
        return false;
    for (size_t i = 0; i < line.len; i++)
        open = line.at[i] == '[' ? line.at + i + 1 : open;
    size_t len = open ? (size_t)(line.at + line.len - 1 - open) : 0;
    if (!len || len >= MESSAGE_CODE * 2)
        return false;
    memcpy(code, open, len);
    code[len] = 0;
    return true;
}

/* Of what `hone check` prints the code is in the first line; the source is below. */
static bool own_code(struct str text, char code[MESSAGE_CODE * 2]) {
    struct str line;
    struct message found;
    while (str_next(&text, '\n', &line))
        if (line_code(line, code) && message_by_code(code, &found))
            return true;
    return false;
}

/* Finds the name of an error of NKI's own language anywhere in a line, such as
 * "err_unsupported_memory". */
static bool named_code(struct str text, char code[MESSAGE_CODE * 2]) {
    for (size_t at = 0; at + 4 < text.len; at++) {
        size_t len = 0;
        bool begins = !memcmp(text.at + at, "err_", 4) &&
                      (!at || (!isalnum((unsigned char)text.at[at - 1]) && text.at[at - 1] != '_'));
        while (begins && at + len < text.len && len + 1 < MESSAGE_CODE * 2 &&
               (isalnum((unsigned char)text.at[at + len]) || text.at[at + len] == '_'))
            len++;
        memcpy(code, text.at + at, len);
        code[len] = 0;
        if (len > 4)
            return true;
    }
    return false;
}

/* Explains a line of a log: the code in it, and what its text means. */
static bool text_explain(struct str text, struct buf *out) {
    char code[MESSAGE_CODE], own[MESSAGE_CODE * 2];
    struct message of_code, of_text;
    bool has_code = message_code(text, code);
    bool by_code = has_code && message_by_code(code, &of_code);
    bool by_text = message_by_text(text, &of_text);
    if (!has_code && ((own_code(text, own) && message_by_code(own, &of_code)) ||
                      (named_code(text, own) && message_by_code(own, &of_code))))
        has_code = by_code = true;
    if (by_code)
        code_print(&of_code, out);
    else if (has_code)
        buf_printf(out, "%s: an error of the class %s\n", code, message_cause(code));
    if (by_text)
        code_print(&of_text, out);
    return has_code || by_text;
}

/* ---- words of a line ------------------------------------------------------------------------ */

#define WORDS_LEAST 4 /* fewer are a name, which is known or not */
#define TOLD_MOST 6   /* of them */
#define TOGETHER 4    /* words that may be one name: "the shared SBUF port" */

static bool is_part(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '\'';
}

/* The words of a line, up to `most`; how many there are. */
static size_t words_of(struct str text, struct str *words, size_t most) {
    size_t count = 0;
    for (size_t at = 0; at < text.len && count < most;) {
        size_t from = at;
        while (at < text.len && is_part(text.at[at]))
            at++;
        if (at > from)
            words[count++] = (struct str){text.at + from, at - from};
        at += at == from;
    }
    return count;
}

/* Prints what is known of what begins at a word: the longest of its names. How many words that
 * are; 0: none. */
static size_t name_explain(const struct str *words, size_t count, struct buf *out) {
    for (size_t n = MIN_OF(count, (size_t)TOGETHER); n; n--) {
        const struct str *last = &words[n - 1];
        struct str name = {words[0].at, (size_t)(last->at + last->len - words[0].at)};
        const struct glossary_entry *entry = glossary_find(name);
        struct buf text = {0};
        if (entry)
            message_word_print(entry, &text);
        else if (n == 1 && memchr(name.at, '_', name.len) && nki_op_find(name) != NKI_OP_COUNT)
            buf_printf(&text, STR_FMT ": an instruction; hone explain " STR_FMT " has it whole\n",
                       STR_ARG(name), STR_ARG(name));
        bool again = text.len && out->len && strstr(out->at, text.at);
        buf_add(out, again ? "" : text.at, again ? 0 : text.len);
        buf_free(&text);
        if (entry || again)
            return n;
    }
    return 0;
}

/* A line that is in no table: what is known of the words in it. False: of none, or it is a name. */
static bool words_explain(struct str text, struct buf *out) {
    struct str words[60];
    struct buf told = {0};
    size_t count = words_of(text, words, COUNT_OF(words)), found = 0;
    for (size_t i = 0; count >= WORDS_LEAST && i < count && found < TOLD_MOST;) {
        size_t before = told.len, taken = name_explain(&words[i], count - i, &told);
        found += told.len > before;
        i += MAX_OF(taken, (size_t)1);
    }
    if (found)
        buf_printf(out, "The line is in no table; of its words:\n%s", told.at);
    buf_free(&told);
    return found > 0;
}

bool message_explain(struct str text, struct buf *out) {
    struct message code;
    struct buf name = {0};
    buf_add(&name, text.at, text.len);
    const struct glossary_entry *entry = glossary_find(text);
    enum nki_op op = nki_op_find(text);
    bool known = true;
    if (name.len && message_by_code(name.at, &code))
        code_print(&code, out);
    else if (entry)
        message_word_print(entry, out);
    else if (op != NKI_OP_COUNT)
        nki_op_explain(op, out);
    else if (!nki_name_explain(text, out))
        known = name.len && strpbrk(name.at, " [:(") &&
                (text_explain(text, out) || words_explain(text, out));
    buf_free(&name);
    return known;
}
