/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completion, made from the table: commands, their options, and values where there are few.
 * Everything else completes to files. */
#include "cli/cli.h"

#include <stdio.h>

static void add_names(struct buf *out) {
    for (const struct cli_command *row = cli_commands; row->name; row++)
        if (!row->hidden && *row->name)
            buf_printf(out, "%s ", row->name);
    buf_puts(out, "--help --version");
}

static void add_spaced(struct buf *out, const char *choices) {
    for (; *choices; choices++)
        buf_putc(out, *choices == '|' ? ' ' : *choices);
}

#define HOST_NAMES "$(hone host list --names 2>/dev/null)"

/* Whether the second argument of a command is a name that one of its subcommands lists. */
static bool has_names(const struct cli_command *command) {
    return !strcmp(command->name, "host") || !strcmp(command->name, "model");
}

/* The words that the first argument may be: "bash|zsh|fish". False when it may be anything. */
static bool words_of(const struct cli_command *command, struct str *words) {
    struct str rest = str_of(command->args);
    return str_next(&rest, ' ', words) && words->len && memchr(words->at, '|', words->len) &&
           words->at[0] >= 'a' && words->at[0] <= 'z';
}

/* Completes arguments that are words or names of hosts, not files. */
static void bash_arguments(struct buf *out, const struct cli_command *command) {
    struct str words;
    if (words_of(command, &words)) {
        char copy[128];
        snprintf(copy, sizeof copy, STR_FMT, STR_ARG(words));
        buf_puts(out, "        [ \"$COMP_CWORD\" -eq 2 ] && names=\"");
        add_spaced(out, copy);
        buf_puts(out, "\"\n");
    }
    if (has_names(command))
        buf_printf(out,
                   "        [ \"$COMP_CWORD\" -eq 3 ] && names=\"$(hone %s list --names "
                   "2>/dev/null)\"\n",
                   command->name);
}

static void bash_command(struct buf *out, const struct cli_command *command) {
    buf_printf(out, "    %s)\n        case $previous in\n", command->name);
    for (const struct cli_option *row = command->options; row->name; row++) {
        if (!row->value)
            continue;
        buf_printf(out, "        --%s) ", row->name);
        if (row->choices) {
            buf_puts(out, "COMPREPLY=($(compgen -W \"");
            add_spaced(out, row->choices);
            buf_puts(out, "\" -- \"$word\")); ");
        } else if (strcmp(row->name, "target") == 0) {
            buf_puts(out, "COMPREPLY=($(compgen -W \"sim " HOST_NAMES "\" -- \"$word\")); ");
        }
        buf_puts(out, "return ;;\n");
    }
    buf_puts(out, "        esac\n        words=\"");
    for (const struct cli_option *row = command->options; row->name; row++)
        buf_printf(out, "--%s ", row->name);
    buf_puts(out, "--help\"\n");
    bash_arguments(out, command);
    buf_puts(out, "        ;;\n");
}

static void print_bash(struct buf *out) {
    buf_puts(out, "_hone() {\n    local word=${COMP_WORDS[COMP_CWORD]}\n"
                  "    local previous=${COMP_WORDS[COMP_CWORD-1]} words= names=\n"
                  "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    add_names(out);
    buf_puts(out, "\" -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (const struct cli_command *row = cli_commands; row->name; row++)
        if (!row->hidden && *row->name)
            bash_command(out, row);
    buf_puts(out, "    esac\n    case $word in\n"
                  "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
                  "    *) COMPREPLY=($(compgen -W \"$names\" -- \"$word\")) ;;\n    esac\n}\n"
                  "complete -o default -F _hone hone\n");
}

/* For eval, or as the file _hone among zsh's functions, which is run when hone is completed for the
 * first time. */
static void print_zsh(struct buf *out) {
    buf_puts(out, "#compdef hone\nautoload -U +X bashcompinit && bashcompinit\n");
    print_bash(out);
    buf_puts(out, "[[ $funcstack[1] == _hone ]] && _bash_complete -F _hone\n");
}

/* Adds a text in single quotes for fish. */
static void add_quoted(struct buf *out, const char *text) {
    buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
    buf_putc(out, '\'');
}

static void fish_arguments(struct buf *out, const struct cli_command *command) {
    struct str words;
    char copy[128];
    if (!words_of(command, &words))
        return;
    snprintf(copy, sizeof copy, STR_FMT, STR_ARG(words));
    buf_printf(out, "complete -c hone -f -n '__fish_seen_subcommand_from %s' -a '", command->name);
    add_spaced(out, copy);
    if (has_names(command))
        buf_printf(out, " (hone %s list --names 2>/dev/null)", command->name);
    buf_puts(out, "'\n");
}

static void fish_command(struct buf *out, const struct cli_command *command) {
    buf_printf(out, "complete -c hone -n __fish_use_subcommand -a %s -d ", command->name);
    add_quoted(out, command->summary);
    buf_putc(out, '\n');
    fish_arguments(out, command);
    for (const struct cli_option *row = command->options; row->name; row++) {
        buf_printf(out, "complete -c hone -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                   row->name);
        if (row->choices) {
            buf_puts(out, " -x -a '");
            add_spaced(out, row->choices);
            buf_putc(out, '\'');
        } else if (strcmp(row->name, "target") == 0) {
            buf_puts(out, " -x -a 'sim (hone host list --names 2>/dev/null)'");
        } else if (row->value) {
            buf_puts(out, " -r");
        }
        buf_puts(out, " -d ");
        add_quoted(out, row->help);
        buf_putc(out, '\n');
    }
}

static void print_fish(struct buf *out) {
    for (const struct cli_command *row = cli_commands; row->name; row++)
        if (!row->hidden && *row->name)
            fish_command(out, row);
    buf_puts(out, "complete -c hone -l help -d 'Show help'\n"
                  "complete -c hone -n __fish_use_subcommand -l version -d 'Show the version'\n");
}

static bool cli_print_completion(const char *shell, struct buf *out) {
    static const struct {
        const char *name;
        void (*print)(struct buf *out);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(out);
            return true;
        }
    }
    return false;
}

int cli_completion(const struct cli *cli) {
    struct buf text = {0};
    if (!cli_print_completion(cli->args.at[0], &text))
        return cli_wrong_usage(cli, "there is completion for bash, zsh and fish, not for %s",
                               cli->args.at[0]);
    fputs(text.at, stdout);
    buf_free(&text);
    return CLI_OK;
}
