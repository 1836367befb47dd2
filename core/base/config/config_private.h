/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the configuration share. Private to this folder. */
#ifndef HONE_BASE_CONFIG_PRIVATE_H
#define HONE_BASE_CONFIG_PRIVATE_H

#include "base/config/config.h"
#include "base/kit/kit.h"

struct config_value {
    const char *text;
    struct config_origin origin;
};
struct config {
    struct arena *arena;
    struct map values;      /* from "host trn2\nport" to struct config_value */
    struct map sections;    /* from "host trn2" to the struct config_origin of its first line */
    struct map environment; /* from "HONE_HOST_TRN2_PORT" to struct config_value */
};

/* A section as it is written: its row in the table, and the name after it ("" when it has none). */
struct config_place {
    const struct config_row *row; /* the first row of the section */
    struct str name;
};

/* Finds the section of a heading. False with *err, which says which sections there are. */
bool config_find_section(struct str heading, struct config_place *place, struct err *err);
/* The row of a key in a section. NULL with *err, which says which keys there are. */
const struct config_row *config_find_key(const struct config_place *place, const char *heading,
                                         const char *key, struct err *err);
/* Whether the row allows the value. *err says what is allowed. */
bool config_check(const struct config_row *row, const char *value, struct err *err);
/* Notes a checked value, in place of an earlier one. */
void config_put(struct config *config, const char *heading, const struct config_row *row,
                const char *value, const struct config_origin *origin);
/* Notes that a section was given, even an empty one. */
void config_note_section(struct config *config, const char *heading,
                         const struct config_origin *origin);
struct config *config_new(void) CC_MUST_USE;

/* A name may not be both a host and a cluster: --target could not say which is meant. */
bool config_check_names(const struct config *config, struct err *err);

/* Reads one file from disk. A file that does not exist counts as empty. */
bool config_read_file(struct config *config, int kind, const char *path, struct err *err);

#endif
