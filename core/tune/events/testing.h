/* SPDX-License-Identifier: Apache-2.0 */
/* What tests look through, for nobody else outside this room. */
#ifndef HONE_TUNE_EVENTS_TESTING_H
#define HONE_TUNE_EVENTS_TESTING_H

#include "tune/events/events.h"

/* Whether the text, read and written again, comes out as it is: all of it is in the table. */
bool tune_event_is_as_written(const char *type, const char *json);
/* The table as a page, for doc/events.md. */
void tune_events_print(struct buf *out);
/* An example of an event, with every key; for tests. */
void tune_event_example(enum tune_event_is is, struct buf *out);

#endif
