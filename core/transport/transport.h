/* SPDX-License-Identifier: Apache-2.0 */
/* transport: ways to a machine. Include this header, not its parts. */
#ifndef HONE_TRANSPORT_TRANSPORT_H
#define HONE_TRANSPORT_TRANSPORT_H

#include "transport/local/local.h"
#include "transport/wire/wire.h"

/* NULL and *err (usage) for impossible settings: a port of 70000, an unreadable ssh_config. */
struct transport *transport_open_ssh(struct loop *loop, const struct transport_host *host,
                                     const struct transport_callbacks *callbacks,
                                     struct err *err) CC_MUST_USE;

#endif
