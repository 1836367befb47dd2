#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wall clock that is set while hone runs: no budget is used up by it, no duration changes."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tune"))
from small_task import KERNEL, REFERENCE  # noqa: E402

PRELOAD, HONE = (os.path.abspath(path) for path in (sys.argv.pop(2), sys.argv.pop(1)))
DAY = 86400


class Clock(unittest.TestCase):
    def run_with(self, by):
        with tempfile.TemporaryDirectory(prefix="hone_clock_") as folder:
            place = pathlib.Path(folder)
            (place / "kernel.py").write_text(KERNEL)
            (place / "reference.py").write_text(REFERENCE)
            env = dict(os.environ, HOME=folder, LD_PRELOAD=PRELOAD, HONE_TEST_CLOCK=str(by),
                       HONE_TEST_CLOCK_FROM=str(int(time.monotonic() * 1000) + 700),
                       XDG_CACHE_HOME=folder + "/cache", XDG_CONFIG_HOME=folder + "/config")
            env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")
            begin = time.monotonic()
            done = subprocess.run([HONE, "run", folder, "--rounds", "2", "--wall", "3600",
                                   "--seeds", "0", "--json"], env=env, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=120)
            took = time.monotonic() - begin
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return events, took

    def test_a_clock_set_ahead_uses_up_no_budget(self):
        events, took = self.run_with(DAY)
        self.assertNotIn("wall", json.dumps([e for e in events if e["event"] == "stop"]))
        self.assertLess(events[-1]["elapsed_s"], took + 1)

    def test_a_clock_set_back_makes_no_time_undone(self):
        events, took = self.run_with(-DAY)
        self.assertGreater(events[-1]["elapsed_s"], 0)
        self.assertLess(events[-1]["elapsed_s"], took + 1)


if __name__ == "__main__":
    unittest.main()
