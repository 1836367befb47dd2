/* SPDX-License-Identifier: Apache-2.0 */
/* hone explain: what a code, a word, an instruction or a line of a log means, and what to do about
 * it. */
#include <stdio.h>
#include <string.h>

#include "cli/words/private.h"
#include "cli/words/words.h"
#include "nki/nki.h"
#include "runner/runner.h"

typedef VEC(const char *) name_list;

static void print_all(void) {
    const struct glossary_entry *entry;
    struct message code;
    struct buf text = {0};
    for (size_t i = 0; (entry = glossary_at(i)); i++)
        message_word_print(entry, &text);
    fputs(text.at, stdout);
    buf_free(&text);
    putchar('\n');
    for (size_t i = 0; message_at(i, &code); i++)
        printf(STR_FMT "  %s\n", STR_ARG(code.name), code.what);
}

/* Prints the names as Markdown code, but names with blanks as plain text. */
static void print_names(const char *names) {
    struct str rest = str_of(names), name;
    for (bool first = true; str_next(&rest, ',', &name); first = false) {
        name = str_trim(name);
        const char *mark = memchr(name.at, '_', name.len) ? "`" : "";
        printf("%s%s" STR_FMT "%s", first ? "" : ", ", mark, STR_ARG(name), mark);
    }
}

/* Prints the tables of doc/glossary.md. */
static void print_reference(void) {
    const struct glossary_entry *entry;
    for (int part = 0; part < GLOSSARY_PART_COUNT; part++) {
        printf("%s## %s\n\n| word | also | meaning |\n|---|---|---|\n", part ? "\n" : "",
               glossary_part_title((enum glossary_part)part));
        for (size_t i = 0; (entry = glossary_at(i)); i++) {
            if (entry->part != (enum glossary_part)part)
                continue;
            printf("| %s | ", entry->word);
            print_names(entry->names);
            printf(" | %s |\n", entry->meaning);
        }
    }
}

/* Several words are one name: hone explain HBM read. */
static void join(const struct cli *cli, struct buf *name) {
    for (size_t i = 0; i < cli->args.len; i++)
        buf_printf(name, "%s%s", i ? " " : "", cli->args.at[i]);
}

/* Everything that has a name: words and what others call them, settings, codes, instructions. */
static void collect_names(struct arena *arena, name_list *names) {
    const struct glossary_entry *entry;
    struct message code;
    for (size_t i = 0; (entry = glossary_at(i)); i++) {
        struct str rest = str_of(entry->names), name;
        *vec_push(names) = entry->word;
        while (str_next(&rest, ',', &name))
            *vec_push(names) = arena_strndup(arena, str_trim(name).at, str_trim(name).len);
    }
    for (size_t i = 0; i < config_row_count; i++)
        *vec_push(names) = config_rows[i].key;
    for (size_t i = 0; message_at(i, &code); i++)
        *vec_push(names) = arena_strndup(arena, code.name.at, code.name.len);
    for (int op = 0; op < NKI_OP_COUNT; op++)
        *vec_push(names) = nki_op_name((enum nki_op)op);
    *vec_push(names) = NULL;
}

static int not_known(const struct cli *cli, const char *name) {
    struct err err = {0};
    struct arena *arena = arena_new();
    name_list names = {0};
    bool is_compilers = !strncmp(name, "NCC_", 4);
    collect_names(arena, &names);
    const char *near = is_compilers ? NULL : str_nearest(name, names.at);
    err_set(&err, ERR_USAGE,
            "hone knows nothing about %.60s%s%s%s%s%s; hone explain lists what it knows", name,
            is_compilers ? ", of the class " : "", is_compilers ? message_cause(name) : "",
            near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
    vec_free(&names);
    arena_free(arena);
    return cli_fail(cli, &err);
}

/* Explains a setting by its key, such as menu_keep, in every section that has it. */
static bool explain_setting(const char *key) {
    bool found = false;
    for (size_t i = 0; i < config_row_count; i++) {
        const struct config_row *row = &config_rows[i];
        if (strcmp(row->key, key) != 0)
            continue;
        printf("%s in [%s]%s%s: %s\n", row->key, row->section, row->preset ? ", default " : "",
               row->preset ? row->preset : "", row->what);
        found = true;
    }
    return found;
}

static int explain(const struct cli *cli, const char *name) {
    struct buf text = {0};
    bool known = message_explain(str_of(name), &text);
    if (known)
        fputs(text.at, stdout);
    buf_free(&text);
    return explain_setting(name) || known ? CLI_OK : not_known(cli, name);
}

int cli_explain(const struct cli *cli) {
    struct buf name = {0};
    int status = CLI_OK;
    if (cli_has(cli, "reference"))
        print_reference();
    else if (cli_has(cli, "hardware"))
        cli_print_hardware();
    else if (!cli->args.len)
        print_all();
    else {
        join(cli, &name);
        status = explain(cli, name.at);
    }
    buf_free(&name);
    return status;
}
