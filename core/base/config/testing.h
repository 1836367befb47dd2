/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_CONFIG_TESTING_H
#define HONE_CONFIG_TESTING_H

#include "base/config/config.h"

/* As if given on the command line. */
bool config_set(struct config *config, const char *section, const char *key, const char *value,
                struct err *err);
/* Reads one file's text. `name` is what messages and origins call it. */
bool config_read_text(struct config *config, int kind, const char *name, struct str text,
                      struct err *err);

#endif
