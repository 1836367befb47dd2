# SPDX-License-Identifier: Apache-2.0
"""Samples that do not fit into one lock of the core are taken in pieces. Those that are compared
with each other are taken together."""

import gzip
import os
import tempfile
import types
import unittest

from hone_runner.sdk import bench, execute, nrt


class Model:
    """A NEFF whose samples take a while on a clock of ours."""

    took_s = 10.0

    def __init__(self, clock, row):
        self.clock, self.name = clock, row["name"]

    def set_inputs(self, folder):
        pass

    def launch(self):
        pass

    def sample(self, request, keep):
        self.clock.now += self.took_s
        keep("events of " + self.name)
        return {"us": 7.0}


class Runtime(unittest.TestCase):
    """The process that takes them."""

    def setUp(self):
        self.clock = types.SimpleNamespace(now=100.0)
        before = nrt.Loaded, nrt.time
        self.addCleanup(lambda: (setattr(nrt, "Loaded", before[0]), setattr(nrt, "time",
                                                                            before[1])))
        nrt.Loaded = lambda classes, row, name: Model(self.clock, row)
        nrt.time = types.SimpleNamespace(time=lambda: self.clock.now,
                                         monotonic=lambda: self.clock.now)

    def samples(self, order, together, **more):
        request = dict({"models": {who: {"name": who} for who in set(order)}, "order": order,
                        "inputs": "", "warmup_s": 0.0, "together": together}, **more)
        return [row["of"] for row in nrt.do_benchmark(request, None)["samples"]]

    def test_all_are_taken_where_there_is_time(self):
        order = list("ABBA")
        self.assertEqual(self.samples(order, 2), order)
        self.assertEqual(self.samples(order, 2, until=200.0), order)

    def test_it_ends_between_those_that_are_compared_with_each_other(self):
        order = list("ABBAABBA")
        self.assertEqual(self.samples(order, 2, until=156.0), list("ABBA"))
        self.assertEqual(self.samples(order, 2, until=101.0), list("AB"))     # never none
        self.assertEqual(self.samples(list("AAA"), 1, until=113.0), ["A"])


class Clock(unittest.TestCase):
    """The clock that asks for them."""

    def setUp(self):
        self.work = tempfile.TemporaryDirectory(prefix="hone-pieces-")
        self.addCleanup(self.work.cleanup)

    def by_nrt(self, answers):
        asked, told = [], []
        held = types.SimpleNamespace(piece=lambda call: call(), leave_at=lambda: float("inf"))
        device = types.SimpleNamespace(
            held=held, context=types.SimpleNamespace(work=self.work.name, number=lambda *words: 0),
            lnc=1, nrt_python=lambda: ("python", {}),
            limits=lambda count: count, variables=lambda extra: {})

        def call_worker(context, ask):
            asked.append(ask.request["order"])
            samples = answers.pop(0)
            with gzip.open(ask.request["events"], "wt", encoding="utf-8") as file:
                file.write("%d %s\n" % (ask.request["first"], samples))
            return {"ok": True, "samples": [{"of": who, "us": 1.0} for who in samples]}, None
        before = bench.compiling.call_worker
        bench.compiling.call_worker = call_worker
        try:
            program = types.SimpleNamespace(row=dict)
            bench.by_nrt(device, {"kernel": program, "incumbent": program}, "", list("ABBAAB"),
                         lambda who, us, row: told.append(who))
        finally:
            bench.compiling.call_worker = before
        return asked, told

    def test_it_asks_for_the_rest(self):
        with open(os.path.join(self.work.name, bench.TRACES), "wb") as file:
            file.write(b"what the canary left")
        asked, told = self.by_nrt(["AB", "BAAB"])
        self.assertEqual((asked, told), ([list("ABBAAB"), list("BAAB")], list("ABBAAB")))
        with gzip.open(os.path.join(self.work.name, bench.TRACES), "rt", encoding="utf-8") as file:
            self.assertEqual(file.read(), "0 AB\n2 BAAB\n")

    def test_an_answer_without_samples_is_not_asked_for_again(self):
        with self.assertRaises(execute.NoWay):
            self.by_nrt([""])


if __name__ == "__main__":
    unittest.main()
