/* SPDX-License-Identifier: Apache-2.0 */
/* Private to runner: writing events. */
#ifndef HONE_RUNNER_EVENTS_H
#define HONE_RUNNER_EVENTS_H

#include "runner/runner.h"

/* Names of kinds as they stand in "event"; in the order of enum runner_event_kind. */
const char *events_name(enum runner_event_kind kind);

/* Writes the event as one line to stdout, at once; may be called from any thread. */
void events_write(const struct runner_event *event);
void events_phase(const char *name, double seconds); /* below 0: it begins */
void events_metric(const char *name, double value, const char *unit);
/* The last line: what of the result was not told by events, and the verdict. */
void events_result(const struct runner_result *result);

#endif
