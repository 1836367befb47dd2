# SPDX-License-Identifier: Apache-2.0
"""Two hones on a machine whose memory is taken: together.py PATH_OF_HONE

They wait, say so, and then come to the same decisions as one that has the machine for itself. Who
holds the memory is this test: a claim is a locked file in a folder that all hones of a user share.
"""

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from small_task import KERNEL, REFERENCE

HONE = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone-together-"))
ENV = {**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache"),
       "XDG_STATE_HOME": str(FOLDER / "state"), "XDG_CONFIG_HOME": str(FOLDER / "conf"),
       "HONE_LIMITS_MACHINE_MB": "1500"}
RUNNING = FOLDER / "state" / "hone" / "running"
PATIENCE_S = 120
SAID = ("attempt", "verdict", "decided")
VARIES = ("seq", "t", "at", "time", "ms", "path")


class Hone:
    """A run whose lines are read as they come."""

    def __init__(self, name):
        task = FOLDER / name
        task.mkdir()
        (task / "kernel.py").write_text(KERNEL)
        (task / "reference.py").write_text(REFERENCE)
        self.events = []
        self.process = subprocess.Popen(
            [HONE, "run", str(task), "--json", "--rounds", "1", "--seeds", "0"], env=ENV,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def end(self):
        status = self.process.wait(timeout=PATIENCE_S)
        self.reader.join()
        self.process.stdout.close()
        return status

    def waits(self, text):
        return [event for event in list(self.events)
                if event.get("event") == "progress" and text in (event.get("doing") or "")]

    def said(self):
        return [{key: value for key, value in event.items() if key not in VARIES}
                for event in self.events if event.get("event") in SAID]


def machine_of(path):
    """The number of this machine, as hone writes it in names."""
    return path.name.split("-")[0]


class Held:
    """A claim on the machine that holds until it is given back."""

    def __init__(self, machine, megabytes):
        row = "r %d %d 0 %d somebody else" % (megabytes << 20, os.getpid(), time.time() * 1000)
        self.path = RUNNING / ("%s-%d-aaaaaa" % (machine, os.getpid()))
        self.file = open(self.path, "w", encoding="ascii")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.file.write(row.ljust(159) + "\n")
        self.file.flush()

    def give_back(self):
        self.path.unlink()
        self.file.close()


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)
    return found


class Together(unittest.TestCase):
    def test_hones_wait_for_each_other_and_say_so(self):
        alone = Hone("alone")
        seen = until(lambda: list(RUNNING.glob("????????-*")) or alone.process.poll() is not None)
        self.assertIsInstance(seen, list, "it ended unseen")
        machine = machine_of(seen[0])
        self.assertEqual(alone.end(), 0)
        self.assertEqual(list(RUNNING.glob("????????-*")), [])
        held = Held(machine, 1499)
        left = RUNNING / (machine + "-1-bbbbbb")  # left by a hone that was killed
        left.write_text("r 1000000000 1 0 0 nobody".ljust(159) + "\n")
        two = [Hone("first"), Hone("second")]
        until(lambda: all(one.waits("waits for") for one in two))
        self.assertTrue(any("somebody else" in event["doing"]
                            for one in two for event in one.waits("waits for memory")))
        self.assertFalse(left.exists())
        self.assertEqual([one.said() for one in two], [alone.said()[:1]] * 2)
        held.give_back()
        self.assertEqual([one.end() for one in two], [0, 0])
        self.assertEqual([one.said() for one in two], [alone.said()] * 2)


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1])
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
