# SPDX-License-Identifier: Apache-2.0
"""How long a launch took, from events as the runtime's trace has them: two cores with clocks whose
offsets nobody knows, and every way in which there can be too few or too many events."""

import json
import unittest

import common  # noqa: F401  (the archive's path)
from hone_runner.sdk import launches


def event(phase, launch, core, at_us, offset=0):
    """One end of one core's part of a launch. Its own clock is `offset` microseconds off."""
    return {"event_type": "nc_exec_running", "phase": phase, "nc_idx": 0,
            "tracking_id": 2 * launch + core, "timestamp_ns": int(at_us * 1e3),
            "data": {"exec_id": launch, "device_core_idx": core,
                     "nc_timestamp_ns": int((at_us + offset) * 1e3)}}


def launch(number, times=(20, 30), begins=(0, 1), offsets=(7e6, 9e8)):
    """The events of one launch, with a core for each of the times."""
    rows = []
    for core, us in enumerate(times):
        start = 1000 * number + begins[core]
        rows += [event("start", number, core, start, offsets[core]),
                 event("stop", number, core, start + us, offsets[core])]
    return sorted(rows, key=lambda row: row["timestamp_ns"])


def trace(rows):
    return json.dumps({"events": [{"event_type": "nrt_execute", "phase": "start"}] + rows})


def three():
    return [row for number in range(3) for row in launch(number)]


class Trace(unittest.TestCase):
    def refused(self, rows, part, lnc=2, iterations=3):
        with self.assertRaisesRegex(launches.Unusable, part):
            launches.of_trace(trace(rows), lnc, iterations)

    def test_a_launch_takes_the_longest_of_its_cores(self):
        found = launches.of_trace(trace(three()), 2, 3)
        self.assertEqual([one.us for one in found], [30.0, 30.0, 30.0])
        self.assertEqual([one.span_us for one in found], [31.0, 31.0, 31.0])

    def test_launches_may_be_mixed_in_the_trace(self):
        rows = sorted(three(), key=lambda row: (row["phase"], row["tracking_id"]))
        self.assertEqual([one.us for one in launches.of_trace(trace(rows), 2, 3)], [30.0] * 3)

    def test_one_core(self):
        rows = [row for number in range(2) for row in launch(number, (12.5,))]
        self.assertEqual([one.us for one in launches.of_trace(trace(rows), 1, 2)], [12.5, 12.5])

    def test_the_same_tracking_id_on_two_cores(self):
        rows = three()
        for row in rows:
            row["tracking_id"] = row["data"]["exec_id"]
        self.assertEqual([one.us for one in launches.of_trace(trace(rows), 2, 3)], [30.0] * 3)

    def test_without_the_common_clock_there_is_no_span(self):
        rows = three()
        for row in rows:
            del row["timestamp_ns"]
        found = launches.of_trace(trace(rows), 2, 3)
        self.assertEqual([(one.us, one.span_us) for one in found], [(30.0, None)] * 3)

    def test_events_that_do_not_pair_are_refused(self):
        self.refused(three()[:-1], "1 of 11 events .* no counterpart")
        self.refused(three()[1:], "1 of 11 events .* no counterpart")
        self.refused(three() + [event("start", 0, 0, 5)] * 2, "2 of 14")

    def test_counts_that_do_not_fit_are_refused(self):
        self.refused(three(), "3 launches, 4 were made", iterations=4)
        self.refused(three(), "2 events of 2 cores .* one of each of 1", lnc=1)
        self.refused([row for number in range(3) for row in launch(number, (20,))],
                     "1 events of 1 cores")
        twice = three() + [dict(row, tracking_id=50) for row in launch(2, (20,))]
        self.refused(twice, "3 events of 2 cores")

    def test_what_is_no_trace_is_refused(self):
        for text in ("", "{", "[]", "[1]", '{"events": 3}', '{"events": [null, 3]}',
                     trace([{"event_type": "nc_exec_running", "data": "x"}])[:40]):
            with self.assertRaises(launches.Unusable):
                launches.of_trace(text, 2, 3)
        broken = three()
        broken[0]["data"]["nc_timestamp_ns"] = "soon"
        self.refused(broken, "no counterpart")
        for row in broken:
            row["data"] = None
        self.refused(broken, "no counterpart")


class Durations(unittest.TestCase):
    def test_one_for_each_launch_is_what_it_says(self):
        self.assertEqual(launches.of_durations([0.02, 0.03], 1, 2), ([20.0, 30.0], True))
        self.assertEqual(launches.of_durations([0.02, 0.03], 2, 2), ([20.0, 30.0], True))

    def test_one_for_each_core_is_not_comparable(self):
        found, comparable = launches.of_durations([0.02, 0.03] * 4, 2, 4)
        self.assertEqual((len(found), comparable), (8, False))

    def test_other_counts_are_refused_with_the_numbers(self):
        for count in (0, 3, 5, 12):
            said = "%d durations for 4 launches on 2" % count
            with self.assertRaisesRegex(launches.Unusable, said):
                launches.of_durations([0.02] * count, 2, 4)
        with self.assertRaisesRegex(launches.Unusable, "not above 0"):
            launches.of_durations([0.0] * 4, 1, 4)


class Samples(unittest.TestCase):
    def test_a_sample_has_the_median_the_least_and_how_far_they_lie_apart(self):
        row = launches.sample([10.0, 30.0, 20.0, 40.0, 50.0], [11, 31, 21, 41, 51])
        self.assertEqual((row["us"], row["min_us"], row["iqr_us"], row["span_us"]),
                         (30.0, 10.0, 20.0, 31))

    def test_a_span_that_not_every_launch_has_is_none(self):
        self.assertIsNone(launches.sample([10.0, 20.0], [11, None])["span_us"])


if __name__ == "__main__":
    unittest.main()
