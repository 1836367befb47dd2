/* SPDX-License-Identifier: Apache-2.0 */
/* What commands share: their arguments, settings, jobs, sessions, known hosts. */
#ifndef HONE_CLI_KIT_H
#define HONE_CLI_KIT_H

#include "base/base.h"

enum {
    CLI_OK = 0,
    CLI_KERNEL_FAILED = 1,
    CLI_WRONG_USAGE = 2,
    CLI_ENVIRONMENT_FAILED = 3,
    CLI_DAMAGED = 4, /* a session */
};

struct cli_option {
    const char *name;    /* "device", without dashes; NULL ends a list */
    const char *value;   /* what stands for its value in help, such as "FILE"; NULL: a flag */
    const char *choices; /* the values allowed, such as "trn1|trn2|trn3"; NULL: any */
    const char *help;    /* one or two sentences */
    bool repeats;        /* may be given several times */
};

struct cli;
struct cli_command {
    const char *name;    /* "sim"; NULL ends the table; "" runs without a command */
    const char *args;    /* "KERNEL|TASK", "[TASK]", "" */
    const char *summary; /* one line */
    const char *text;    /* paragraphs for help and manual, separated by empty lines */
    const struct cli_option *options;
    int least_args, most_args;
    bool hidden;                       /* left out of help and completion */
    int (*run)(const struct cli *cli); /* the exit status */
};
/* ---- a parsed command line ----------------------------------------------------------------- */

struct cli_given {
    const struct cli_option *option;
    const char *value; /* NULL for a flag */
};
struct cli {
    const struct cli_command *command;
    VEC(const char *) args;
    VEC(struct cli_given) given;
};
/* The last value of an option, or NULL when it was not given. */
const char *cli_value(const struct cli *cli, const char *name);
bool cli_has(const struct cli *cli, const char *name);
/* --tracing, else [defaults] tracing of the configuration (may be NULL); NULL: neither. */
const char *cli_tracing(const struct cli *cli, const struct config *config);
/* --release, else [defaults] release of the configuration (may be NULL), as "0.6"; NULL: neither
 * is given. */
const char *cli_release(const struct cli *cli, const struct config *config);
/* Value number `index` of an option that repeats; NULL past the last. */
const char *cli_value_at(const struct cli *cli, const char *name, size_t index);
/* The value as a number, or `missing` when it was not given. False, with a message on stderr, when
 * it is no number or not within least..most. */
bool cli_number(const struct cli *cli, const char *name, double least, double most, double *value);

/* Reads --wall, --device-time, --tokens and --dollars into limits, by enum tune_budget. It fails
 * like cli_number. */
bool cli_limits(const struct cli *cli, double *limits);

/* Prints "hone sim: ..." to stderr. Returns the exit status for that kind of error. */
int cli_fail(const struct cli *cli, const struct err *err);
int cli_wrong_usage(const struct cli *cli, const char *format, ...) CC_PRINTF(2, 3);

#include "cli/kit/facts.h"
#include "cli/kit/job.h"
#include "cli/kit/junit.h"
#include "cli/kit/known.h"
#include "cli/kit/saved.h"
#include "cli/kit/say.h"
#include "cli/kit/sessions.h"
#include "cli/kit/settings.h"

#endif
