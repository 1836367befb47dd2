/* SPDX-License-Identifier: Apache-2.0 */
/* hone host: hosts and clusters from the command line. This file finds the subcommand, and has
 * `add`, which writes a section of the configuration and tries it. reach.c reaches the host,
 * doctor.c checks it. */
#include "cli/host/private.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/kit/kit.h"

/* -- add -------------------------------------------------------------------------------------- */

/* Options that become settings of the section, under the same names. */
static const char *const taken[] = {"port",        "identity", "client", "device",
                                    "environment", "python",   "cores",  "lnc"};

struct lines {
    struct arena *arena;
    VEC(const char *) all;
};

static void add_line(struct lines *lines, const char *key, struct str value) {
    *vec_push(&lines->all) = arena_printf(lines->arena, "%s=" STR_FMT, key, STR_ARG(value));
}

/* Splits "user@address", "address" or "address:port" into parts. */
static void address_lines(struct lines *lines, const char *text, bool has_port) {
    struct str address = str_of(text);
    const char *at = strrchr(text, '@');
    if (at) {
        add_line(lines, "user", (struct str){text, (size_t)(at - text)});
        address = str_of(at + 1);
    }
    const char *colon = memchr(address.at, ':', address.len);
    bool one = colon && !memchr(colon + 1, ':', address.len - (size_t)(colon + 1 - address.at));
    if (one && !has_port) {
        add_line(lines, "port", str_of(colon + 1));
        address.len = (size_t)(colon - address.at);
    }
    add_line(lines, "address", address);
}

static void collect(const struct cli *cli, struct lines *lines) {
    if (cli->args.len > 2)
        address_lines(lines, cli->args.at[2], cli_has(cli, "port"));
    for (size_t i = 0; i < COUNT_OF(taken); i++)
        if (cli_has(cli, taken[i]))
            add_line(lines, taken[i], str_of(cli_value(cli, taken[i])));
    *vec_push(&lines->all) = NULL;
}

static void print_cores(const struct target_status *status) {
    struct buf line = {0};
    for (size_t i = 0; i < status->cores.len; i++) {
        const struct target_core *core = &status->cores.at[i];
        buf_printf(&line, "%s%s %s%s%s", i ? ", " : "", core->name, core->state,
                   core->holder[0] ? " " : "", core->holder);
    }
    if (line.len) {
        printf("  cores    ");
        host_say(11, line.at);
    }
    buf_free(&line);
}

static int try_it(const struct cli *cli, const char *name) {
    struct err err = {0};
    struct reach reach;
    struct config *config = settings_load(NULL, &err);
    if (!config)
        return cli_fail(cli, &err);
    bool fine = reach_open(&reach, name, config, false, &err) && reach_wait(&reach, &err);
    if (fine) {
        const struct target_status *status = target_look(reach.target);
        printf("  login    ");
        host_say(11, status->host[0] ? status->host : "works");
        printf("  SDK      ");
        host_say(11,
                 status->release[0] ? status->release : "not found; hone host doctor says more");
        print_cores(status);
        cli_say(stdout, "Next: hone host doctor %s, then hone run TASK --target %s\n", name, name);
    }
    int status = fine ? CLI_OK : cli_fail(cli, &err);
    status = reach_close(&reach, status);
    config_free(config);
    if (fine)
        return status;
    cli_say(stderr, "The section stays in the configuration. Try again with: hone host doctor %s\n",
            name);
    return status;
}

static int host_add(const struct cli *cli) {
    struct lines lines = {.arena = arena_new()};
    struct err err = {0};
    struct buf section = {0};
    const char *name = cli->args.at[1];
    collect(cli, &lines);
    buf_printf(&section, "host %s", name);
    bool fine = config_add_section(section.at, lines.all.at, &err);
    if (fine) {
        char *path = config_user_path();
        cli_say(stdout, "[%s] was written to %s.\n", section.at, path);
        fflush(stdout);
        free(path);
    }
    buf_free(&section);
    vec_free(&lines.all);
    arena_free(lines.arena);
    if (!fine)
        return cli_fail(cli, &err);
    return cli_has(cli, "no-check") ? CLI_OK : try_it(cli, name);
}

/* -- which one -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *args;
    size_t least, most;
    const char *options; /* the options of `hone host` that make sense with it */
    int (*run)(const struct cli *cli);
} commands[] = {
    {"add", "NAME [USER@ADDRESS]", 2, 3,
     "port identity client device environment python cores lnc no-check", host_add},
    {"list", "", 1, 1, "json names", host_list},
    {"doctor", "NAME", 2, 2, "json", host_doctor},
    {"setup", "NAME", 2, 2, "json yes", host_setup},
    {"conform", "NAME", 2, 2, "json", host_conform},
};

static bool has_word(const char *words, const char *word) {
    struct str rest = str_of(words), one;
    while (str_next(&rest, ' ', &one))
        if (str_is(one, word))
            return true;
    return false;
}

static int wrong_subcommand(const struct cli *cli) {
    const char *names[COUNT_OF(commands) + 1] = {0};
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        names[i] = commands[i].name;
    const char *near = str_nearest(cli->args.at[0], names);
    return cli_wrong_usage(
        cli, "there is no hone host %s; there are add, list, doctor, setup and conform%s%s%s",
        cli->args.at[0], near ? ". Did you mean " : "", near ? near : "", near ? "?" : "");
}

int cli_host(const struct cli *cli) {
    const char *name = cli->args.at[0];
    size_t i = 0;
    while (i < COUNT_OF(commands) && strcmp(commands[i].name, name) != 0)
        i++;
    if (i == COUNT_OF(commands))
        return wrong_subcommand(cli);
    if (cli->args.len < commands[i].least)
        return cli_wrong_usage(cli, "%s is missing: hone host %s %s", "NAME", name,
                               commands[i].args);
    if (cli->args.len > commands[i].most)
        return cli_wrong_usage(cli, "one argument too many: '%s'", cli->args.at[commands[i].most]);
    for (size_t k = 0; k < cli->given.len; k++)
        if (!has_word(commands[i].options, cli->given.at[k].option->name))
            return cli_wrong_usage(cli, "--%s makes no sense with hone host %s",
                                   cli->given.at[k].option->name, name);
    return commands[i].run(cli);
}
