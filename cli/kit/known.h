/* SPDX-License-Identifier: Apache-2.0 */
/* How hosts and clusters were when hone last had to do with them: hosts.json in the state
 * folder. */
#ifndef HONE_CLI_KNOWN_H
#define HONE_CLI_KNOWN_H

#include <cjson/cJSON.h>

#include "cli/kit/kit.h"
#include "target/target.h"

/* An object by name; empty when nothing is known or the file cannot be read. */
cJSON *known_load(void) CC_MUST_USE;
/* Notes the state of a target, when it is a host or a cluster and is reached or cannot be. Errors
 * are nobody's concern: the list only tells what was. */
void known_note(const struct target_info *info, const struct target_status *status);
/* "2 h ago: connected, Neuron SDK 2.29, 3 of 4 cores free"; "never" for NULL. */
void known_print(const cJSON *seen, int64_t now_ms, struct buf *out);

#endif
