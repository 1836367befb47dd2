/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page, from the table, in the macros of man(7). */
#include "cli/cli.h"
#include "cli/settings.h"

#include "version.h"

/* Text in roff: backslashes and dashes keep their meaning, no line begins a request. */
static void add(struct buf *out, const char *text) {
    for (const char *at = text; *at; at++) {
        if (*at == '\\')
            buf_puts(out, "\\e");
        else if (*at == '-')
            buf_puts(out, "\\-");
        else if ((*at == '.' || *at == '\'') && (at == text || at[-1] == '\n'))
            buf_printf(out, "\\&%c", *at);
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

static const struct {
    const char *name, *text;
} variables[] = {
    {"HONE_PYTHON", "The Python that runs references; it must import numpy."},
    {"HONE_CACHE_LIMIT", "How much the cache of reference inputs and outputs may hold, such as "
                         "500M or 8G. Default: 8G."},
    {"HONE_SECTION_KEY", "A setting of the configuration, as HONE_HOST_TRN2_PORT."},
    {"ANTHROPIC_API_KEY, OPENAI_API_KEY",
     "Keys of language models, where the configuration names no other source. For Bedrock "
     "AWS_ACCESS_KEY_ID and the others that AWS's tools use, or AWS_BEARER_TOKEN_BEDROCK."},
    {"HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY",
     "The way to language models, but for servers on this machine; [model NAME] proxy comes "
     "first."},
    {"SSL_CERT_FILE", "Authorities to trust of language models' servers, instead of the system's; "
                      "[model NAME] ca_file comes first."},
    {"XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_STATE_HOME",
     "Where hone's folders are; default ~/.config, ~/.cache and ~/.local/state."},
};

static const char *const statuses[] = {
    "0", "Done.",        "1", "The kernel failed: it does not compile, or it is not correct.",
    "2", "Wrong usage.", "3", "The environment failed: Python, a host, the disk.",
};

void cli_print_man(struct buf *out) {
    buf_puts(out, ".TH HONE 1 \"\" \"hone " HONE_VERSION "\" \"User Commands\"\n.SH NAME\n"
                  "hone \\- tune NKI kernels on AWS Trainium\n.SH SYNOPSIS\n.B hone\n"
                  ".I COMMAND\n[\\fIOPTIONS\\fR]\n.SH COMMANDS\n");
    for (const struct cli_command *row = cli_commands; row->name; row++)
        if (!row->hidden)
            add_command(out, row);
    buf_puts(out, ".SH CONFIGURATION\n");
    add_paragraphs(out, "$XDG_CONFIG_HOME/hone/config.ini, and .hone/config.ini beside a task, are "
                        "INI files: [section] lines, key = value lines, # comments. hone config "
                        "shows what is set and where.");
    add_paragraphs(out,
                   "$XDG_CONFIG_HOME/hone/prices.ini says what language models cost: [MODEL] "
                   "lines, and input, output, cache_read and cache_write in dollars per million "
                   "tokens, for prompts of at most up_to tokens.");
    settings_print_man(out, add);
    buf_puts(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        buf_printf(out, ".TP\n.B %s\n", variables[i].name);
        add(out, variables[i].text);
        buf_putc(out, '\n');
    }
    buf_puts(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < COUNT_OF(statuses); i += 2)
        buf_printf(out, ".TP\n.B %s\n%s\n", statuses[i], statuses[i + 1]);
}
