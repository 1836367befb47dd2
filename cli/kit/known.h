/* SPDX-License-Identifier: Apache-2.0 */
/* The state of hosts and clusters when hone last saw them: hosts.json in the state folder. */
#ifndef HONE_CLI_KNOWN_H
#define HONE_CLI_KNOWN_H

#include <cjson/cJSON.h>

#include "cli/kit/kit.h"
#include "target/target.h"

/* An object by name. Empty when nothing is known or the file cannot be read. */
cJSON *known_load(void) CC_MUST_USE;
/* Notes the state of a target if it is a host or a cluster, and is connected or cannot be reached.
 * Errors are ignored, because the list only shows what was. */
void known_note(const struct target_info *info, const struct target_status *status);
/* Prints "2 h ago: connected, Neuron SDK 2.29, 3 of 4 cores free", or "never" for NULL. */
void known_print(const cJSON *seen, int64_t now_ms, struct buf *out);

#endif
