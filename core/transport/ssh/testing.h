/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_TRANSPORT_SSH_TESTING_H
#define HONE_TRANSPORT_SSH_TESTING_H

#include "transport/ssh/ssh_key.h"
#include "transport/ssh/ssh_known.h"

/* Does ssh_key_read's work on texts; `public` may be empty. */
void ssh_key_parse(struct ssh_key *key, struct str private, struct str public);
/* Does ssh_known_read's work on a text. */
void ssh_known_parse(struct ssh_known *known, const char *file, struct str text, const char *host,
                     int port);

#endif
