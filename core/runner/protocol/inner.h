/* SPDX-License-Identifier: Apache-2.0 */
/* Writing events, for whoever is a runner. */
#ifndef HONE_RUNNER_PROTOCOL_INNER_H
#define HONE_RUNNER_PROTOCOL_INNER_H

#include "runner/protocol/protocol.h"

/* Names of kinds as they stand in "event"; in the order of enum runner_event_kind. */
const char *events_name(enum runner_event_kind kind);

/* Writes the event as one line to stdout, at once; may be called from any thread. */
void events_write(const struct runner_event *event);
void events_phase(const char *name, double seconds); /* below 0: it begins */
void events_metric(const char *name, double value, const char *unit);
/* The last line: what of the result was not told by events, and the verdict. */
void events_result(const struct runner_result *result);

#endif
