/* SPDX-License-Identifier: Apache-2.0 */
/* What ssh_config says about one host. It comes from `ssh -G`, which knows every keyword, or from
 * our own reader where no ssh client is installed. Private to the rooms of transport. */
#ifndef HONE_TRANSPORT_SETTINGS_H
#define HONE_TRANSPORT_SETTINGS_H

#include "transport/wire/inner.h"

/* From a keyword (small letters) to its values, in order. {0} is the empty one. */
struct settings {
    struct map values; /* of struct settings_list */
};
struct settings_list {
    VEC(char *) all;
};
void settings_free(struct settings *settings);
void settings_add(struct settings *settings, struct str keyword, struct str value);
/* The first value, which is the one that counts; NULL when there is none or it is "none". */
const char *settings_get(const struct settings *settings, const char *keyword);
/* All values, for IdentityFile and the like. NULL when there are none. */
const struct settings_list *settings_all(const struct settings *settings, const char *keyword);
/* Takes what `ssh -G` printed. */
void settings_take_dump(struct settings *settings, struct str dump);

/* Our own reader. It knows Host with wildcards and negation, Match with what needs no command, and
 * Include. `name` is as the user typed it, without user@. False and *err (usage) with file and
 * line. */
bool settings_read(struct settings *settings, const char *path, const char *name, struct err *err);
/* A value with ~ and %d, %h, %n, %p, %r, %u replaced. The caller frees it. */
char *settings_expand(const struct settings *settings, const char *value,
                      const char *name) CC_MUST_USE;
/* ~/.ssh/NAME. */
char *settings_user_file(const char *name) CC_MUST_USE;

#endif
