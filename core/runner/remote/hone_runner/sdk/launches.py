# SPDX-License-Identifier: Apache-2.0
"""How long a launch of a kernel took, from the runtime's events. With two physical cores to a
logical one, each core reports its own time, and a launch is over when the slower core is: it takes
the longest time of its execution id. Times of one core's clock are never compared with another
core's, because nobody knows their offset (Neuron documentation, nrtpy, system trace events). Pure
arithmetic."""

import json
import statistics

RUNNING = "nc_exec_running"
UNPAIRED = "per core, unpaired"


class Unusable(Exception):
    """The runtime's events do not say how long a launch took; the text has the counts."""


class Launch:
    """us: the longest of its cores. span_us: from the earliest start to the latest stop by the
    clock that the cores share, None where there is none; what it has above `us` is how much later a
    core began."""

    def __init__(self, rows):
        self.us = max(took for _, took, _, _ in rows) / 1e3
        known = [(start, stop) for _, _, start, stop in rows if start is not None
                 and stop is not None]
        self.span_us = None
        if len(known) == len(rows):
            self.span_us = (max(stop for _, stop in known)
                            - min(start for start, _ in known)) / 1e3


def whole(value):
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def events_of(text):
    """The events of working cores, in the order they came."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise Unusable("the system trace is not JSON") from None
    rows = found.get("events") if isinstance(found, dict) else None
    return [row for row in (rows if isinstance(rows, list) else ())
            if isinstance(row, dict) and row.get("event_type") == RUNNING]


def key_of(event):
    data = event.get("data") if isinstance(event.get("data"), dict) else {}
    return tuple(str(part) for part in (event.get("nc_idx"), data.get("device_core_idx"),
                                        event.get("tracking_id"))), data


def pairs(events):
    """{execution id: [(core, nanoseconds of its own clock, start, stop of the common clock)]}."""
    begun, groups, alone = {}, {}, 0
    for event in events:
        key, data = key_of(event)
        at = whole(data.get("nc_timestamp_ns"))
        if event.get("phase") == "start":
            alone += key in begun
            begun[key] = (at, whole(event.get("timestamp_ns")), data.get("exec_id"))
        elif event.get("phase") == "stop":
            start, common, execution = begun.pop(key, (None, None, None))
            if start is None or at is None or execution is None or at <= start:
                alone += 1
                continue
            groups.setdefault(str(execution), []).append(
                (key[:2], at - start, common, whole(event.get("timestamp_ns"))))
    alone += len(begun)
    if alone:
        raise Unusable("%d of %d events of the system trace have no counterpart"
                       % (alone, len(events)))
    return groups


def of_trace(text, lnc, iterations):
    """The launches in a system trace. Raises Unusable unless there are as many as were made, each
    with one event of each core."""
    events = events_of(text)
    if not events:
        raise Unusable("the system trace has no events of the cores")
    groups = pairs(events)
    if len(groups) != iterations:
        raise Unusable("the system trace has %d launches, %d were made" % (len(groups), iterations))
    for execution, rows in groups.items():
        if len(rows) != lnc or len({core for core, _, _, _ in rows}) != lnc:
            raise Unusable("launch %s has %d events of %d cores in the system trace, one of each "
                           "of %d is wanted"
                           % (execution, len(rows), len({row[0] for row in rows}), lnc))
    return [Launch(rows) for rows in groups.values()]


def of_durations(durations_ms, lnc, iterations):
    """(microseconds, whether each is a launch) from a bare list of durations. One duration for each
    launch is unambiguous; with one for each core of each launch, nobody knows which belong
    together."""
    found = [1e3 * value for value in durations_ms or ()]
    if len(found) not in (iterations, lnc * iterations):
        raise Unusable("the runtime gives %d durations for %d launches on %d core%s"
                       % (len(found), iterations, lnc, "" if lnc == 1 else "s"))
    if not all(value > 0 for value in found):
        raise Unusable("a duration of the runtime is not above 0")
    return found, len(found) == iterations


def quartiles_apart(values):
    """The distance between the quartiles; 0 of fewer than two."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return high - low


def sample(values, spans=(), comparable=True):
    """The row of one sample: {"us", "min_us", "iqr_us", "span_us", "comparable"}."""
    spans = [span for span in spans if span is not None]
    return {"us": statistics.median(values), "min_us": min(values),
            "iqr_us": quartiles_apart(values),
            "span_us": statistics.median(spans) if spans and len(spans) == len(values) else None,
            "comparable": comparable}
