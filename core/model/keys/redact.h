/* SPDX-License-Identifier: Apache-2.0 */
/* Takes secrets out of what a service says, should it send them back. Private to model. */
#ifndef HONE_MODEL_REDACT_H
#define HONE_MODEL_REDACT_H

#include "base/base.h"

#define REDACT_MOST 4     /* secrets of one request */
#define REDACT_SHORTEST 8 /* shorter ones would stand in texts by chance */
#define REDACT_SHOWN 3    /* bytes of a secret that may show where it is cut in pieces */

struct redact {
    struct buf secrets[REDACT_MOST];
    size_t count, longest;
    struct buf held; /* end of a stream that may be the beginning of a secret */
    size_t out;      /* bytes of it that were given out already */
};
/* From now on the secret is taken out. Copied; ones that are too short or too many are ignored. */
void redact_add(struct redact *redact, struct str secret);
/* Appends the text without secrets; also without a beginning of one at its end, as a text that was
 * cut has it. */
void redact_text(const struct redact *redact, struct str text, struct buf *out);
/* Appends what of a stream is safe to give out. A beginning of a secret waits for the next piece,
 * unless it is so short (REDACT_SHOWN) that it tells nothing; `last`: nothing more comes. */
void redact_stream(struct redact *redact, struct str piece, bool last, struct buf *out);
/* Wipes all of it. */
void redact_forget(struct redact *redact);

#endif
