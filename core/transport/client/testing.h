/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_TRANSPORT_CLIENT_TESTING_H
#define HONE_TRANSPORT_CLIENT_TESTING_H

#include "transport/client/client.h"

/* Makes a question of ssh's prompt. False when it is only a notice, whose text is to be shown. */
bool asker_understand(struct str prompt, struct str hint, struct transport_question *question);

#endif
