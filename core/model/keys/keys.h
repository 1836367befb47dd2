/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: where they come from, and that they are wiped and never shown. */
#ifndef HONE_MODEL_KEYS_H
#define HONE_MODEL_KEYS_H

#include "base/base.h"
#include "loop/loop.h"

/* Where a key comes from. It is read when a request begins, used for it, and wiped. */
struct model_key_source {
    const char *environment; /* a variable's name */
    const char *command;     /* a program (words, no shell) that prints it */
    const char *keyring;     /* "service account": the system's keyring */
};

/* secret.c: asks for the key; fn comes once, later. key NULL and *err when there is none.
 * `variable` is looked at when the source names nothing. The text is wiped after fn. */
typedef void model_key_fn(void *data, const char *key, const struct err *err);
struct model_key_wait;
struct model_key_wait *model_key_get(struct loop *loop, const struct model_key_source *source,
                                     const char *variable, model_key_fn *fn,
                                     void *data) CC_MUST_USE;
void model_key_forget(struct model_key_wait *wait);
/* Whether it says anywhere where a key is. */
bool model_key_is_named(const struct model_key_source *source);
void model_wipe(struct buf *buf);
/* Both texts in one, in memory that model_wipe clears. */
void model_join_secret(const char *before, const char *secret, struct buf *out);

/* Where an address leads: a host without the dot at its end, and whether by TLS. */
struct model_place {
    char host[256];
    bool secure;
};
/* False for a text that is not a URL. */
bool model_place_of(const char *address, struct model_place *place);
/* Addresses of this machine, not names that begin like one. */
bool model_place_is_here(const char *host);
/* Whether an address means this machine. */
bool model_is_this_machine(const char *address);

#include "model/keys/credentials.h"
#include "model/keys/metadata.h"
#include "model/keys/redact.h"

#endif
