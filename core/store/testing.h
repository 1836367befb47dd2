/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look at. Nobody else outside this room may include it. */
#ifndef HONE_STORE_TESTING_H
#define HONE_STORE_TESTING_H

#include "store/store.h"

/* The damage found so far; NULL: none. */
const struct store_damage *store_damage(const struct store *store);
/* The event up to which the chain was followed from the first one. */
int64_t store_proven_seq(const struct store *store);

#endif
