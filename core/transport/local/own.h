/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the way that stays on this machine. Private to this folder. */
#ifndef HONE_TRANSPORT_LOCAL_OWN_H
#define HONE_TRANSPORT_LOCAL_OWN_H

#include "transport/local/local.h"
#include "transport/wire/inner.h"

struct local {
    const char *home; /* belongs to the route */
    char *home_line;  /* "HOME=..." */
};

void local_copy_start(struct transport_copy *copy);
void local_copy_cancel(struct transport_copy *copy);
void local_copy_drop(struct transport_copy *copy);

#endif
