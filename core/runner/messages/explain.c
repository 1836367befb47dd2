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
static bool own_code(struct str text, char code[MESSAGE_CODE * 2]) {
    const char *open = NULL;
    if (!text.len || text.at[text.len - 1] != ']')
        return false;
    for (size_t i = 0; i < text.len; i++)
        open = text.at[i] == '[' ? text.at + i + 1 : open;
    size_t len = open ? (size_t)(text.at + text.len - 1 - open) : 0;
    if (!len || len >= MESSAGE_CODE * 2)
        return false;
    memcpy(code, open, len);
    code[len] = 0;
    return true;
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
        known = name.len && strpbrk(name.at, " [:(") && text_explain(text, out);
    buf_free(&name);
    return known;
}
