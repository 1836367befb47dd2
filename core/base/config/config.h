/* SPDX-License-Identifier: Apache-2.0 */
/* Settings. They come from defaults, the user's config.ini, .hone/config.ini beside a task, the
 * environment and the command line, in that order. The last one wins, and every value knows where
 * it came from. */
#ifndef HONE_BASE_CONFIG_H
#define HONE_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/kit/kit.h"

/* What can be set is in config.def: X(SECTION, KEY, KIND, DEFAULT, ALLOWED, WHAT), or T(...) for
 * what the file beside a task may set too. A section that ends with " *" ("host *") may be given
 * any number of times under different names. */
enum config_kind {
    CONFIG_TEXT,
    CONFIG_PATH,   /* ~ stands for the home folder */
    CONFIG_NUMBER, /* ALLOWED: "1..64", whole numbers unless a bound is not one */
    CONFIG_FLAG,   /* yes, no */
    CONFIG_CHOICE, /* ALLOWED: "auto|libssh2|ssh" */
};
struct config_row {
    const char *section, *key;
    enum config_kind kind;
    const char *preset;  /* default; NULL: none */
    const char *allowed; /* "": anything */
    const char *what;    /* one sentence, for `hone config` and the manual */
    bool task_may;       /* The file beside a task may set it. Such a file may come from anywhere,
                          * so nothing in it may make hone run a command, log in somewhere or go on
                          * without being asked */
};
extern const struct config_row config_rows[];
extern const size_t config_row_count;

/* Where a value came from. */
struct config_origin {
    enum {
        CONFIG_PRESET,
        CONFIG_USER_FILE,
        CONFIG_TASK_FILE,
        CONFIG_ENVIRONMENT,
        CONFIG_FLAGGED
    } kind;
    const char *file; /* the file or the environment's variable, otherwise NULL */
    int line;
};

struct config;
/* Reads both files (either may be missing) and HONE_<SECTION>_<KEY>, such as HONE_HOST_TRN2_PORT:
 * letters in capitals, and _ for all that is neither letter nor digit. `task_folder` may be NULL.
 * For an unknown section or key or a wrong value, NULL and *err (usage) with file, line and what is
 * allowed. */
struct config *config_load(const char *task_folder, struct err *err) CC_MUST_USE;
void config_free(struct config *config); /* accepts NULL */
/* The value, or the default, or NULL. `section` has its name: "host trn2", which need not be given
 * anywhere. The text is the config's. `config` may be NULL (defaults), and so may `origin`. */
const char *config_get(const struct config *config, const char *section, const char *key,
                       struct config_origin *origin);
double config_number(const struct config *config, const char *section, const char *key);
bool config_flag(const struct config *config, const char *section, const char *key);
/* The names that are given under a section with " *" ("host"), in order of appearance. NULL past
 * the last. */
const char *config_name(const struct config *config, const char *section, size_t index);
bool config_has(const struct config *config, const char *section); /* such as "host trn2" */
/* Prints "~/.config/hone/config.ini:12", "HONE_HOST_TRN2_PORT", "default" or "command line". */
void config_origin_print(const struct config_origin *origin, struct buf *out);
/* Prints a path as people write it, with ~ for the home folder. */
void config_print_path(const char *path, struct buf *out);
/* Prints "a whole number from 1 to 64" or "auto, libssh2 or ssh". */
void config_print_allowed(const struct config_row *row, struct buf *out);

/* Adds a section with these "key=value" lines to the user's file, and makes the file when it is
 * missing. The rest of the file stays as it is, byte for byte. Usage error when the section is
 * there already. */
bool config_add_section(const char *section, const char *const *lines, struct err *err);
char *config_user_path(void) CC_MUST_USE;

#endif
