/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_CONFIG_TESTING_H
#define HONE_CONFIG_TESTING_H

#include "base/config/config.h"

/* Sets a value as the command line would. */
bool config_set(struct config *config, const char *section, const char *key, const char *value,
                struct err *err);
/* Reads the text of one file. Messages and origins call it `name`. */
bool config_read_text(struct config *config, int kind, const char *name, struct str text,
                      struct err *err);

#endif
