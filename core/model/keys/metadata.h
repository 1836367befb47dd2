/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials from the metadata service of an instance or container. Private to model. */
#ifndef HONE_MODEL_METADATA_H
#define HONE_MODEL_METADATA_H

#include "model/keys/credentials.h"

struct metadata;
/* fn comes once, later; the credentials are empty when there is no such service. They are wiped
 * after it. */
typedef void metadata_fn(void *data, struct credentials *found);
struct metadata *metadata_ask(struct loop *loop, metadata_fn *fn, void *data) CC_MUST_USE;
/* fn no longer comes. */
void metadata_forget(struct metadata *metadata);

#endif
