/* SPDX-License-Identifier: Apache-2.0 */
/* Server-sent events (WHATWG HTML, "Server-sent events"), byte by byte. Private to model. */
#ifndef HONE_MODEL_SSE_H
#define HONE_MODEL_SSE_H

#include "base/base.h"

#define SSE_MAX_EVENT ((size_t)34 << 20)

struct sse {
    struct buf line, data;
    char event[64];
    bool after_return; /* the last byte was a carriage return */
    bool begun, has_data;
};
typedef void sse_fn(void *data, const char *event, struct str text);
/* Feeds bytes; fn comes once for each whole event. False when one grows over SSE_MAX_EVENT. */
bool sse_feed(struct sse *sse, struct str bytes, sse_fn *fn, void *data) CC_MUST_USE;
void sse_free(struct sse *sse);

#endif
