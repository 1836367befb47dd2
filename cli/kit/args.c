/* SPDX-License-Identifier: Apache-2.0 */
/* What a command was given, and messages about what is wrong with it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/kit/kit.h"
#include "nki/nki.h"
#include "tune/tune.h"

const char *cli_value_at(const struct cli *cli, const char *name, size_t index) {
    for (size_t i = 0; i < cli->given.len; i++)
        if (strcmp(cli->given.at[i].option->name, name) == 0 && index-- == 0)
            return cli->given.at[i].value ? cli->given.at[i].value : "";
    return NULL;
}

const char *cli_value(const struct cli *cli, const char *name) {
    const char *last = NULL, *value;
    for (size_t i = 0; (value = cli_value_at(cli, name, i)); i++)
        last = value;
    return last;
}

const char *cli_release(const struct cli *cli, const struct config *config) {
    const char *text = cli_value(cli, "release");
    if (!text && config)
        text = config_get(config, "defaults", "release", NULL);
    return text ? nki_release_find(text) : NULL;
}

const char *cli_tracing(const struct cli *cli, const struct config *config) {
    const char *text = cli_value(cli, "tracing");
    return text || !config ? text : config_get(config, "defaults", "tracing", NULL);
}

bool cli_has(const struct cli *cli, const char *name) {
    return cli_value_at(cli, name, 0) != NULL;
}

bool cli_number(const struct cli *cli, const char *name, double least, double most, double *value) {
    const char *text = cli_value(cli, name);
    if (!text)
        return true;
    if (str_to_double(str_of(text), value) && *value >= least && *value <= most)
        return true;
    cli_wrong_usage(cli, "--%s must be a number from %g to %g, not '%s'", name, least, most, text);
    return false;
}

bool cli_limits(const struct cli *cli, double *limits) {
    for (int i = 0; i < TUNE_BUDGETS; i++) {
        enum tune_budget budget = (enum tune_budget)i;
        if (budget != TUNE_BUDGET_ROUNDS &&
            !cli_number(cli, tune_budget_option(budget), 1e-4, 1e12, &limits[i]))
            return false;
    }
    return true;
}

/* Shows the user's own text without letting it act on the terminal. */
static void complain(const struct cli *cli, struct str text) {
    struct buf safe = {0};
    text_sanitise(&safe, text);
    const char *name = cli && cli->command ? cli->command->name : "";
    fprintf(stderr, "hone%s%s: %s\n", *name ? " " : "", name, safe.at ? safe.at : "");
    buf_free(&safe);
}

int cli_fail(const struct cli *cli, const struct err *err) {
    complain(cli, str_of(err->text));
    return err_exit_status(err);
}

int cli_wrong_usage(const struct cli *cli, const char *format, ...) {
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    complain(cli, buf_str(&text));
    const char *name = cli && cli->command ? cli->command->name : "";
    cli_say(stderr, "Try: hone%s%s --help\n", *name ? " " : "", name);
    buf_free(&text);
    return CLI_WRONG_USAGE;
}
