/* SPDX-License-Identifier: Apache-2.0 */
/* Help on the terminal, from the table; and what hone is built from. */
#include "base/openblas.h"
#include "base/libssh2.h"
#include "base/libcurl.h"
#include "cli/cli.h"
#include "cli/kit/kit.h"

#include <cjson/cJSON.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <sqlite3.h>
#include <stdio.h>
#include <uv.h>
#include <xxhash.h>

#include "version.h"

#define WIDTH 80
#define OPTION_COLUMN 26

/* Wraps a paragraph at WIDTH, indents every line after the first, and ends the last line. */
static void print_wrapped(struct buf *out, const char *text, int column, int indent) {
    struct str rest = str_of(text), word;
    int at = column;
    bool first = true;
    while (str_next(&rest, ' ', &word)) {
        if (!first && at + 1 + (int)word.len > WIDTH) {
            buf_printf(out, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        buf_printf(out, "%s" STR_FMT, first ? "" : " ", STR_ARG(word));
        at += (int)word.len + !first;
        first = false;
    }
    buf_putc(out, '\n');
}

static void print_paragraphs(struct buf *out, const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        struct buf paragraph = {0};
        buf_add(&paragraph, text, end ? (size_t)(end - text) : strlen(text));
        buf_putc(out, '\n');
        print_wrapped(out, paragraph.at, 0, 0);
        buf_free(&paragraph);
        text = end ? end + 2 : "";
    }
}

static void print_option(struct buf *out, const char *left, const char *help) {
    buf_printf(out, "  %-*s", OPTION_COLUMN - 2, left);
    if (strlen(left) + 3 > OPTION_COLUMN)
        buf_printf(out, "\n%*s", OPTION_COLUMN, "");
    print_wrapped(out, help, OPTION_COLUMN, OPTION_COLUMN);
}

static void print_options(struct buf *out, const struct cli_command *command) {
    buf_puts(out, "\nOptions:\n");
    for (const struct cli_option *row = command->options; row->name; row++) {
        char left[80];
        snprintf(left, sizeof left, "--%s%s%s", row->name, row->value ? " " : "",
                 row->choices ? row->choices
                 : row->value ? row->value
                              : "");
        print_option(out, left, row->help);
    }
    print_option(out, "--help", "Show this.");
}

static void print_command(struct buf *out, const struct cli_command *command) {
    buf_printf(out, "Usage: hone%s%s%s%s [OPTIONS]\n", *command->name ? " " : "", command->name,
               *command->args ? " " : "", command->args);
    char summary[200];
    snprintf(summary, sizeof summary, "%c%s.", command->summary[0] - 'a' + 'A',
             command->summary + 1);
    print_paragraphs(out, summary);
    print_paragraphs(out, command->text);
    print_options(out, command);
}

void cli_print_help(const struct cli_command *command, struct buf *out) {
    if (command) {
        print_command(out, command);
        return;
    }
    buf_puts(out, "hone: a workbench for tuning NKI kernels on AWS Trainium.\n\nUsage:\n");
    for (const struct cli_command *row = cli_commands; row->name; row++) {
        char left[80];
        snprintf(left, sizeof left, "hone %s%s%s", row->name, *row->name ? " " : "", row->args);
        if (!row->hidden)
            print_option(out, left, row->summary);
    }
    print_option(out, "hone --version", "version, commit and libraries");
    buf_puts(out, "\nEvery command has --help. Exit status:\n");
    for (const struct cli_fact *row = cli_statuses; row->name; row++)
        print_option(out, row->name, row->text);
}

void cli_print_version(struct buf *out) {
    char pcre[64] = "";
    pcre2_config(PCRE2_CONFIG_VERSION, pcre);
    unsigned xxhash = XXH_versionNumber();
    struct str blas = str_trim(str_of(OPENBLAS_VERSION)); /* " OpenBLAS 0.3.21 " */
    buf_printf(out, "hone %s (%s)\n", HONE_VERSION, HONE_COMMIT);
    buf_printf(out, "ncurses %s, cJSON %s, PCRE2 %.*s, SQLite %s, libuv %s, xxHash %u.%u.%u;\n",
               HONE_CURSES, cJSON_Version(), (int)strcspn(pcre, " "), pcre, sqlite3_libversion(),
               uv_version_string(), xxhash / 10000, xxhash / 100 % 100, xxhash % 100);
    /* Those that are loaded when they are needed would take most of the time of this command. */
    buf_printf(out, "built for libcurl %s, libssh2 %s, " STR_FMT "\n", LIBCURL_VERSION,
               LIBSSH2_VERSION, STR_ARG(blas));
}

int cli_help(const struct cli *cli) {
    struct buf text = {0};
    const char *name = cli->args.len ? cli->args.at[0] : NULL;
    const struct cli_command *command = name ? cli_find(name) : NULL;
    if (name && !command)
        return cli_wrong_usage(cli, "there is no command %s", name);
    if (cli_has(cli, "man"))
        cli_print_man(&text);
    else
        cli_print_help(command, &text);
    fputs(text.at, stdout);
    buf_free(&text);
    return CLI_OK;
}
