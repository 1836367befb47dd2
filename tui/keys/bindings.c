/* SPDX-License-Identifier: Apache-2.0 */
/* The one parser of key bindings, for the built-in ones and the user's. It knows names of commands
 * as text only. What a command does is the views' business. */
#include "tui/keys/bindings.h"

#include <stdio.h>

void tui_bindings_free(struct tui_bindings *bindings) {
    vec_free(&bindings->all);
}

/* The next word of a line; empty at its end. */
static struct str take_word(struct str *line) {
    *line = str_trim(*line);
    size_t len = 0;
    while (len < line->len && line->at[len] != ' ' && line->at[len] != '\t')
        len++;
    struct str word = {line->at, len};
    line->at += len;
    line->len -= len;
    return word;
}

static bool copy_name(struct str word, char *name, size_t size) {
    if (word.len == 0 || word.len >= size)
        return false;
    memcpy(name, word.at, word.len);
    name[word.len] = 0;
    return true;
}

static bool parse_line(struct str line, bool (*is_command)(const char *),
                       struct tui_binding *binding, struct err *err) {
    struct str context = take_word(&line), key = take_word(&line), command = take_word(&line);
    if (!copy_name(context, binding->context, sizeof binding->context) || command.len == 0 ||
        str_trim(line).len)
        return err_set(err, ERR_USAGE, "expected: context key command (three words)");
    if (!tui_key_parse(key, &binding->key))
        return err_set(err, ERR_USAGE,
                       "no key is called '" STR_FMT "'; examples: a, C-r, M-x, Enter, F1, PageUp",
                       STR_ARG(key));
    if (!copy_name(command, binding->command, sizeof binding->command) ||
        (is_command && strcmp(binding->command, "none") != 0 && !is_command(binding->command)))
        return err_set(err, ERR_USAGE, "no command is called '" STR_FMT "'; '?' lists them all",
                       STR_ARG(command));
    return true;
}

static void add(struct tui_bindings *bindings, const struct tui_binding *binding) {
    for (size_t i = 0; i < bindings->all.len; i++) {
        struct tui_binding *old = &bindings->all.at[i];
        if (tui_key_equal(old->key, binding->key) && !strcmp(old->context, binding->context)) {
            *old = *binding;
            return;
        }
    }
    *vec_push(&bindings->all) = *binding;
}

bool tui_bindings_parse(struct tui_bindings *bindings, struct str text, const char *file,
                        bool (*is_command)(const char *name), struct err *err) {
    struct str line;
    for (int number = 1; str_next(&text, '\n', &line); number++) {
        line = str_trim(line);
        if (line.len == 0 || line.at[0] == '#')
            continue;
        struct tui_binding binding = {0};
        if (!parse_line(line, is_command, &binding, err))
            return err_prefix(err, "%s:%d", file, number);
        add(bindings, &binding);
    }
    return true;
}

const char *tui_bindings_find(const struct tui_bindings *bindings, const char *context,
                              struct tui_key key) {
    const char *found = NULL;
    for (size_t i = 0; i < bindings->all.len; i++) {
        const struct tui_binding *binding = &bindings->all.at[i];
        if (!tui_key_equal(binding->key, key))
            continue;
        if (strcmp(binding->context, context) == 0)
            return strcmp(binding->command, "none") ? binding->command : NULL;
        if (strcmp(binding->context, "any") == 0)
            found = strcmp(binding->command, "none") ? binding->command : NULL;
    }
    return found;
}

bool tui_bindings_key_of(const struct tui_bindings *bindings, const char *context,
                         const char *command, struct tui_key *key) {
    bool found = false;
    for (size_t i = 0; i < bindings->all.len; i++) {
        const struct tui_binding *binding = &bindings->all.at[i];
        if (strcmp(binding->command, command) != 0)
            continue;
        bool here = strcmp(binding->context, context) == 0;
        const char *runs = tui_bindings_find(bindings, context, binding->key);
        if (!runs || strcmp(runs, command) != 0) /* the key is for another command here */
            continue;
        if (here || (strcmp(binding->context, "any") == 0 && !found)) {
            *key = binding->key;
            found = true;
        }
        if (here)
            return true;
    }
    return found;
}
