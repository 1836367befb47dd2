/* SPDX-License-Identifier: Apache-2.0 */
/* Writing events, for every runner. */
#ifndef HONE_RUNNER_PROTOCOL_INNER_H
#define HONE_RUNNER_PROTOCOL_INNER_H

#include "runner/protocol/protocol.h"

/* The names of kinds in "event", in the order of enum runner_event_kind. */
const char *events_name(enum runner_event_kind kind);

/* Writes the event as one line to stdout, at once. Any thread may call it. */
void events_write(const struct runner_event *event);
void events_phase(const char *name, double seconds); /* below 0: the phase begins */
void events_metric(const char *name, double value, const char *unit);
/* Writes what of the result is about time, as soon as it is known. */
void events_timed(const struct runner_result *result);
/* Writes the last line: the verdict, and what of the result no event has reported. */
void events_result(const struct runner_result *result);

#endif
