/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page in the macros of man(7). It is made from the tables of commands and options, of
 * the screens' keys, of facts, and of settings. */
#include "cli/cli.h"
#include "cli/kit/kit.h"
#include "cli/kit/kit.h"
#include "views/views.h"

#include "version.h"

static const char description[] =
    "hone tunes a kernel written in NKI. It profiles the kernel, plans a change, rewrites the "
    "source, verifies it against a reference, measures it and decides. In the workbench you watch "
    "each step, and approve it, edit it or take it back; hone run does the same without a "
    "screen.\n\n"
    "A task is a kernel with a reference that says in numpy what the kernel should compute. It "
    "runs on an embedded model of a NeuronCore (trn1, trn2, trn3), where latencies are modelled, "
    "or on hosts with Trainium devices over SSH and on Slurm clusters, where they are measured. "
    "Plans come from hone's own rewriter, from language models, or from you.\n\n"
    "A session is kept on disk and goes on where it was left, also after a crash.";

/* Adds text in roff. Backslashes and dashes keep their meaning, and no line begins a request. */
static void add(struct buf *out, const char *text) {
    for (const char *at = text; *at; at++) {
        if (*at == '\\')
            buf_puts(out, "\\e");
        else if (*at == '-')
            buf_puts(out, "\\-");
        else if ((*at == '.' || *at == '\'') && (at == text || at[-1] == '\n'))
            buf_printf(out, "\\&%c", *at);
        else if (*at == '|') /* a line may end behind it: some choices are long */
            buf_puts(out, "|\\:");
        else
            buf_putc(out, *at);
    }
}

static void add_paragraphs(struct buf *out, const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        struct buf paragraph = {0};
        buf_add(&paragraph, text, end ? (size_t)(end - text) : strlen(text));
        buf_puts(out, ".PP\n");
        add(out, paragraph.at);
        buf_putc(out, '\n');
        buf_free(&paragraph);
        text = end ? end + 2 : "";
    }
}

static void add_option(struct buf *out, const struct cli_option *option) {
    buf_puts(out, ".TP\n.B \\-\\-");
    add(out, option->name);
    if (option->value) {
        buf_putc(out, ' ');
        add(out, option->choices ? option->choices : option->value);
    }
    buf_putc(out, '\n');
    add(out, option->help);
    buf_putc(out, '\n');
}

static void add_command(struct buf *out, const struct cli_command *command) {
    buf_printf(out, ".SS hone%s%s ", *command->name ? " " : "", command->name);
    add(out, command->args);
    buf_putc(out, '\n');
    buf_printf(out, "%c", command->summary[0] - 'a' + 'A');
    add(out, command->summary + 1);
    buf_puts(out, ".\n");
    add_paragraphs(out, command->text);
    for (const struct cli_option *option = command->options; option->name; option++)
        add_option(out, option);
}

static void add_facts(struct buf *out, const char *heading, const struct cli_fact *facts) {
    buf_printf(out, ".SH %s\n", heading);
    for (; facts->name; facts++) {
        buf_puts(out, ".TP\n.B ");
        add(out, facts->name);
        buf_putc(out, '\n');
        add(out, facts->text);
        buf_putc(out, '\n');
    }
}

static void add_synopsis(struct buf *out) {
    buf_puts(out, ".SH SYNOPSIS\n");
    for (const struct cli_command *row = cli_commands; row->name; row++) {
        if (row->hidden)
            continue;
        buf_printf(out, ".B hone%s%s\n", *row->name ? " " : "", row->name);
        if (*row->args) {
            buf_puts(out, ".RI \\& ");
            buf_putc(out, '"');
            add(out, row->args);
            buf_puts(out, "\"\n");
        }
        buf_puts(out, "[\\fIOPTIONS\\fR]\n.br\n");
    }
}

/* Adds a command of the screens with its keys. One without keys is typed after a colon. */
static void add_key(struct buf *out, const struct views_key *key) {
    buf_puts(out, ".TP\n.B \"");
    if (!*key->keys)
        buf_putc(out, ':');
    add(out, *key->keys ? key->keys : key->command);
    buf_puts(out, "\"\n");
    if (*key->keys)
        buf_printf(out, "\\fB%s\\fR: ", key->command);
    add(out, key->help);
    buf_puts(out, ".\n");
}

static void add_keys(struct buf *out) {
    struct views_key key;
    const char *screen = "";
    buf_puts(out, ".SH KEYS\n");
    add_paragraphs(out, "These are the keys of the workbench, by screen. A screen's own key wins "
                        "over one that works everywhere. Commands without a key are typed after a "
                        "colon; the others can be typed, too. ~/.config/hone/keys changes keys.");
    for (size_t i = 0; views_key_at(i, &key); i++) {
        if (strcmp(key.screen, screen) != 0)
            buf_printf(out, ".SS %s%s\n", strcmp(key.screen, "everywhere") ? "On the screen " : "",
                       strcmp(key.screen, "everywhere") ? key.screen : "Everywhere");
        screen = key.screen;
        add_key(out, &key);
    }
}

static void add_commands(struct buf *out) {
    buf_puts(out, ".SH COMMANDS\n");
    for (const struct cli_command *row = cli_commands; row->name; row++)
        if (!row->hidden)
            add_command(out, row);
}

static void add_configuration(struct buf *out) {
    buf_puts(out, ".SH CONFIGURATION\n");
    add_paragraphs(out, "config.ini in ~/.config/hone, and .hone/config.ini beside a task, are INI "
                        "files: [section] lines, key = value lines, # comments. hone config shows "
                        "what is set and where.");
    settings_print_man(out, add);
}

void cli_print_man(struct buf *out) {
    buf_puts(out, ".TH HONE 1 \"\" \"hone " HONE_VERSION "\" \"User Commands\"\n.SH NAME\n"
                  "hone \\- tune NKI kernels on AWS Trainium\n");
    add_synopsis(out);
    buf_puts(out, ".SH DESCRIPTION\n");
    add_paragraphs(out, description);
    add_commands(out);
    add_keys(out);
    add_facts(out, "FILES", cli_files);
    add_facts(out, "ENVIRONMENT", cli_variables);
    add_facts(out, "EXAMPLES", cli_examples);
    add_facts(out, "EXIT STATUS", cli_statuses);
    add_configuration(out);
    buf_puts(out, ".SH SEE ALSO\n");
    add_paragraphs(out, "The pages in doc/, which are installed with hone: share/doc/hone.");
}
