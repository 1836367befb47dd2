/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_RUNNER_MESSAGES_TESTING_H
#define HONE_RUNNER_MESSAGES_TESTING_H

#include "runner/messages/messages.h"

/* The patterns of the table, for what holds them against both engines; NULL past the last. */
const char *message_pattern(size_t index);

#endif
