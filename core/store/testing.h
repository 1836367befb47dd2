/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_STORE_TESTING_H
#define HONE_STORE_TESTING_H

#include "store/store.h"

/* What was found so far; NULL: nothing. */
const struct store_damage *store_damage(const struct store *store);
/* The event up to which the chain was followed from the first. */
int64_t store_proven_seq(const struct store *store);

#endif
