/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the transport: the parts of the way that stays on this machine. */
#ifndef HONE_TRANSPORT_LOCAL_H
#define HONE_TRANSPORT_LOCAL_H

#include "transport/wire/inner.h"

struct local {
    const char *home; /* the route's */
    char *home_line;  /* "HOME=..." */
};

void local_copy_start(struct transport_copy *copy);
void local_copy_cancel(struct transport_copy *copy);
void local_copy_drop(struct transport_copy *copy);

extern const struct transport_ops transport_local_ops;

#endif
