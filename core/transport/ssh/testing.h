/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_TRANSPORT_SSH_TESTING_H
#define HONE_TRANSPORT_SSH_TESTING_H

#include "transport/ssh/ssh_key.h"
#include "transport/ssh/ssh_known.h"

/* ssh_key_read from texts; `public` may be empty. */
void ssh_key_parse(struct ssh_key *key, struct str private, struct str public);
/* ssh_known_read of a text. */
void ssh_known_parse(struct ssh_known *known, const char *file, struct str text, const char *host,
                     int port);

#endif
