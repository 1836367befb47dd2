/* SPDX-License-Identifier: Apache-2.0 */
/* The way that stays on this machine. */
#ifndef HONE_TRANSPORT_LOCAL_H
#define HONE_TRANSPORT_LOCAL_H

#include "transport/wire/wire.h"

/* This machine. `home` is where relative remote paths begin and commands start; NULL: $HOME. */
struct transport *transport_open_local(struct loop *loop, const char *home,
                                       const struct transport_callbacks *callbacks) CC_MUST_USE;

#endif
