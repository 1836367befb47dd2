# SPDX-License-Identifier: Apache-2.0
"""Children of hone that are killed while it tunes: killed.py PATH_OF_HONE

Whoever kills them says nothing about kernels: the same attempts, verdicts and decisions come out as
without, and when nothing can be evaluated at all the loop pauses and says why.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from small_task import KERNEL, REFERENCE

HONE = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone-killed-"))
ENV = {**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache"),
       "XDG_STATE_HOME": str(FOLDER / "state"),
       "XDG_CONFIG_HOME": str(FOLDER / "conf"), "HONE_LIMITS_RETRIES": "60",
       "HONE_LIMITS_RETRY_WAIT_S": "0.02"}
KILLS = int(os.environ.get("KILLS", 8))
SAID = ("attempt", "verdict", "decided", "scored", "round_end")
# What differs from run to run, or is reported again.
VARIES = ("seq", "t", "at", "time", "ms", "path")


def children():
    """From the pid of each process to the pids of its children."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        found.setdefault(parent, []).append(int(entry.name))
    return found


def below(pid):
    found, todo, all_children = [], [pid], children()
    while todo:
        for child in all_children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def command_of(pid):
    try:
        return pathlib.Path("/proc/%d/cmdline" % pid).read_bytes()
    except OSError:
        return b""


class Killer(threading.Thread):
    """Kills descendants of a process at random moments, `count` times. When `count` is None, kills
    each child as soon as it is seen. A child that has not become a program of its own is spared:
    until then it is a part of hone. So is the process in which the sanitizer looks for leaks at the
    end."""

    def __init__(self, pid, count, dice):
        super().__init__()
        self.pid, self.left, self.dice = pid, count, dice
        self.done = False
        self.killed = 0

    def kill(self, victim):
        try:
            os.kill(victim, signal.SIGKILL)
            self.killed += 1
        except ProcessLookupError:
            pass

    def victims(self):
        own = command_of(self.pid)
        return [pid for pid in below(self.pid) if command_of(pid) not in (own, b"")]

    def run(self):
        while self.left is None and not self.done:
            time.sleep(0.002)
            for victim in self.victims():
                self.kill(victim)
        while self.left and not self.done:
            time.sleep(self.dice.uniform(0.02, 0.5))
            victims = self.victims()
            if victims:
                self.kill(self.dice.choice(victims))
                self.left -= 1


class Killed(unittest.TestCase):
    def tune(self, name, kills=0, env=None, args=("--rounds", "2", "--seeds", "0,21")):
        task = FOLDER / name / "task"
        task.mkdir(parents=True)
        (task / "kernel.py").write_text(KERNEL)
        (task / "reference.py").write_text(REFERENCE)
        process = subprocess.Popen([HONE, "run", str(task), "--json", *args],
                                   env={**ENV, **(env or {})}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seed = int(os.environ.get("SEED", time.time_ns() % 100000))
        killer = Killer(process.pid, kills, random.Random(seed))
        killer.start()
        out, err = process.communicate(timeout=240)
        killer.done = True
        killer.join()
        if "-v" in sys.argv:
            disturbed = [event for event in map(json.loads, out.splitlines())
                         if event.get("event") == "disturbed"]
            print("%s: seed %d, %d kills, disturbed %s" % (
                name, seed, killer.killed,
                [(event["step"], event["kind"], event["text"][:60]) for event in disturbed]))
        self.note = "SEED=%d, %d kills; %s" % (seed, killer.killed, err[-800:])
        return process.returncode, [json.loads(line) for line in out.splitlines()], killer.killed

    @staticmethod
    def said(events):
        return [{key: value for key, value in event.items() if key not in VARIES}
                for event in events if event.get("event") in SAID]

    def test_the_same_comes_out(self):
        status, quiet, _ = self.tune("quiet")
        self.assertEqual(status, 0, self.note)
        status, disturbed, killed = self.tune("disturbed", KILLS)
        self.assertEqual(status, 0, self.note)
        self.assertGreater(killed, 0)
        self.assertEqual(self.said(disturbed), self.said(quiet), self.note)
        self.assertEqual(disturbed[-1]["best"]["speedup"], quiet[-1]["best"]["speedup"])
        kinds = {event["kind"] for event in disturbed if event.get("event") == "disturbed"}
        self.assertLessEqual(kinds, {"environment", "unknown"}, self.note)

    def test_the_loop_pauses_and_says_why(self):
        status, events, _ = self.tune("always", None, {"HONE_LIMITS_RETRIES": "1"})
        self.assertEqual(status, 3, self.note)
        told = [event for event in events if event.get("event") == "disturbed"]
        self.assertEqual([event["tries"] for event in told], [1, 2], self.note)
        self.assertEqual(len({event["step"] for event in told}), 1, self.note)
        self.assertIn("tried 2 times", [e for e in events if e.get("event") == "pause"][-1]["text"])
        self.assertEqual([e for e in events if e.get("event") in ("decided", "verdict")], [])


if __name__ == "__main__":
    del sys.argv[1]
    unittest.main()
