/* SPDX-License-Identifier: Apache-2.0 */
/* A person at a terminal without a screen: what they are asked and shown, what they type, and their
 * editor. */
#ifndef HONE_CLI_PERSON_PERSON_H
#define HONE_CLI_PERSON_PERSON_H

#include "cli/person/ask.h"
#include "cli/person/begin.h"
#include "cli/person/editor.h"
#include "cli/person/gate.h"
#include "cli/person/lines.h"

#endif
