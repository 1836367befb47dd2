/* SPDX-License-Identifier: Apache-2.0 */
/* SSH in this process, by libssh2. The library moves bytes, and signs with keys that it can read.
 * What else makes a login work as with the user's own ssh is here, which is why this room is so
 * large: dialling and time limits on the loop (ssh_dial.c), known_hosts with its hashes and markers
 * (ssh_known.c), which key is tried when (ssh_auth*.c), the agent without blocking (ssh_agent.c),
 * telling key files apart before asking for a passphrase (ssh_key.c), questions to a person from
 * inside libssh2's one blocking call (ssh_talk.c), commands with both streams and their windows
 * (ssh_channel.c). What libssh2 cannot do goes to the system's ssh, with the reason. */
#ifndef HONE_TRANSPORT_SSH_H
#define HONE_TRANSPORT_SSH_H

#include "transport/wire/wire.h"

extern const struct transport_ops transport_libssh2_ops;

#endif
