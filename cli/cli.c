/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line by the table, and says what is wrong with it. */
#include "cli/testing.h"
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "task/task.h"
#include "tune/tune.h"

const struct cli_command *cli_find(const char *name) {
    for (const struct cli_command *row = cli_commands; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* ---- what was given ----------------------------------------------------------------------- */

/* ---- complaints ---------------------------------------------------------------------------- */

/* ---- parsing -------------------------------------------------------------------------------- */

static const struct cli_option *find_option(const struct cli_command *command, struct str name) {
    for (const struct cli_option *row = command->options; row->name; row++)
        if (str_is(name, row->name))
            return row;
    return NULL;
}

static int unknown_option(const struct cli *cli, const char *arg) {
    VEC(const char *) names = {0};
    for (const struct cli_option *row = cli->command->options; row->name; row++)
        *vec_push(&names) = row->name;
    *vec_push(&names) = "help";
    *vec_push(&names) = NULL;
    char name[41];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
    const char *near = str_nearest(name, names.at);
    vec_free(&names);
    if (near)
        return cli_wrong_usage(cli, "there is no option %s; did you mean --%s?", arg, near);
    return cli_wrong_usage(cli, "there is no option %s", arg);
}

static int unknown_command(const char *arg) {
    VEC(const char *) names = {0};
    for (const struct cli_command *row = cli_commands; row->name; row++)
        if (!row->hidden && *row->name)
            *vec_push(&names) = row->name;
    *vec_push(&names) = NULL;
    const char *near = str_nearest(arg, names.at);
    vec_free(&names);
    if (near)
        return cli_wrong_usage(NULL, "there is no command or task %s; did you mean %s?", arg, near);
    return cli_wrong_usage(NULL, "there is no command or task %s", arg);
}

static bool is_choice(const char *choices, const char *value) {
    struct str rest = str_of(choices), one;
    while (str_next(&rest, '|', &one))
        if (str_is(one, value))
            return true;
    return false;
}

/* Takes one "--name", "--name=value" or "--name value". Sets *status when it is wrong. */
static void take_option(struct cli *cli, char **argv, int argc, int *at, int *status) {
    const char *arg = argv[*at];
    struct str name = {arg + 2, strcspn(arg + 2, "=")};
    const struct cli_option *option = find_option(cli->command, name);
    const char *value = arg[2 + name.len] == '=' ? arg + 3 + name.len : NULL;
    if (!option) {
        *status = unknown_option(cli, arg);
    } else if (!option->value && value) {
        *status = cli_wrong_usage(cli, "--%s takes no value", option->name);
    } else if (option->value && !value && *at + 1 >= argc) {
        *status = cli_wrong_usage(cli, "--%s needs a value: %s", option->name, option->value);
    } else {
        if (option->value && !value)
            value = argv[++*at];
        if (option->choices && !is_choice(option->choices, value))
            *status = cli_wrong_usage(cli, "--%s must be one of %s, not '%s'", option->name,
                                      option->choices, value);
        *vec_push(&cli->given) = (struct cli_given){option, value};
    }
}

static int print_help(const struct cli_command *command) {
    struct buf text = {0};
    cli_print_help(command, &text);
    fputs(text.at, stdout);
    buf_free(&text);
    return CLI_OK;
}

static int print_version(void) {
    struct buf text = {0};
    cli_print_version(&text);
    fputs(text.at, stdout);
    buf_free(&text);
    return CLI_OK;
}

static bool is_help(const char *arg) {
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

/* Whether it is a comment that a question in SQL begins with, and no option. */
static bool is_comment(const char *arg) {
    return strncmp(arg, "--", 2) == 0 && isspace((unsigned char)arg[2]);
}

static int check_count(const struct cli *cli) {
    int count = (int)cli->args.len;
    if (count < cli->command->least_args)
        return cli_wrong_usage(cli, "%s is missing", cli->command->args);
    if (count > cli->command->most_args)
        return cli_wrong_usage(cli, "one argument too many: '%s'",
                               cli->args.at[cli->command->most_args]);
    return CLI_OK;
}

/* Removes what hones that were killed left behind. */
static void leftovers_remove(void) {
    char *state = path_state(""), *cache = path_cache("");
    os_sweep_scratch();
    os_sweep_pending();
    os_sweep(state);
    os_sweep(cache);
    free(cache);
    free(state);
}

/* False: nothing is left to run, and *status is the exit status. */
static bool read_command(struct cli *cli, int argc, char **argv, int *status) {
    bool only_args = false;
    *status = CLI_OK;
    for (int i = 0; i < argc && *status == CLI_OK; i++) {
        if (!only_args && is_help(argv[i])) {
            *status = print_help(cli->command);
            return false;
        }
        if (!only_args && strcmp(argv[i], "--") == 0)
            only_args = true;
        else if (!only_args && strncmp(argv[i], "--", 2) == 0 && !is_comment(argv[i]))
            take_option(cli, argv, argc, &i, status);
        else if (!only_args && argv[i][0] == '-' && argv[i][1] && !is_comment(argv[i]))
            *status = cli_wrong_usage(cli, "there is no option %s", argv[i]);
        else
            *vec_push(&cli->args) = argv[i];
    }
    if (*status == CLI_OK)
        *status = check_count(cli);
    return *status == CLI_OK;
}

/* Whether a word is neither a command, nor a task, nor anything on disk. Then hone asks what was
 * meant. */
static bool is_unknown(const char *word) {
    if (!*word || *word == '-' || file_exists(word) || strchr(word, '/'))
        return false;
    struct task *task = task_open(word, NULL, NULL);
    task_free(task);
    return !task;
}

bool cli_read(struct cli *cli, int argc, char **argv, int *status) {
    const char *first = argc > 1 ? argv[1] : "";
    bool is_version = strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0;
    if (is_help(first) || is_version) {
        *status = is_version ? print_version() : print_help(NULL);
        return false;
    }
    cli->command = *first ? cli_find(first) : NULL;
    if (cli->command)
        return read_command(cli, argc - 2, argv + 2, status);
    if (is_unknown(first)) {
        *status = unknown_command(first);
        return false;
    }
    cli->command = cli_find(""); /* hone [TASK] */
    return read_command(cli, argc - 1, argv + 1, status);
}

void cli_fini(struct cli *cli) {
    vec_free(&cli->args);
    vec_free(&cli->given);
}

/* What was printed has to have arrived; but who reads no further (`| head`) needs no message. */
static int output_status(int status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno == EPIPE)
        return status;
    fprintf(stderr, "hone: not all of the output could be written%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
    return status == CLI_OK ? CLI_ENVIRONMENT_FAILED : status;
}

int cli_main(int argc, char **argv) {
    struct cli cli = {0};
    int status;
    /* The locale decides which characters are shown as they are. One that knows only ASCII is
     * replaced by UTF-8, which every terminal and file of today expects. */
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX <= 1)
        setlocale(LC_CTYPE, "C.UTF-8");
    bool runs = cli_read(&cli, argc, argv, &status);
    if (runs && !cli.command->hidden)
        leftovers_remove();
    if (runs)
        status = output_status(cli.command->run(&cli));
    else
        status = output_status(status);
    cli_fini(&cli);
    return status;
}
