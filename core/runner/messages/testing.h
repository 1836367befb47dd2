/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_RUNNER_MESSAGES_TESTING_H
#define HONE_RUNNER_MESSAGES_TESTING_H

#include "runner/messages/messages.h"

/* The patterns of the table, for the test that tries them in both engines. NULL past the last. */
const char *message_pattern(size_t index);

#endif
