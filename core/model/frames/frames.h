/* SPDX-License-Identifier: Apache-2.0 */
/* The event stream encoding of AWS (application/vnd.amazon.eventstream): messages with a prelude,
 * headers, a payload and two checksums. Private to model. */
#ifndef HONE_MODEL_FRAMES_H
#define HONE_MODEL_FRAMES_H

#include "base/base.h"
#include "model/frames/sse.h"

#define FRAMES_MAX_MESSAGE ((uint32_t)16 << 20) /* the format's own limit */

struct frames {
    struct buf bytes;
};
/* A message; the texts are valid during the call. `type` is ":message-type", `event` the
 * ":event-type", ":exception-type" or ":error-code", `text` the ":error-message"; "" when they are
 * not there. */
struct frames_message {
    char type[64], event[64], text[200];
    struct str payload;
};
typedef void frames_fn(void *data, const struct frames_message *message);
/* False and *err for another kind of stream: a wrong length or checksum. */
bool frames_feed(struct frames *frames, struct str bytes, frames_fn *fn, void *data,
                 struct err *err) CC_MUST_USE;
void frames_free(struct frames *frames);

#endif
