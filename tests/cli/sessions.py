#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone session from outside: damage is reported and repaired, what vanishes under a run is saved,
places that cannot be written, signals."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tune"))
from small_task import KERNEL, REFERENCE  # noqa: E402

HONE = os.path.abspath(sys.argv.pop(1))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone_sessions_"))
ENV = dict(os.environ, XDG_CACHE_HOME=str(FOLDER / "cache"), XDG_STATE_HOME=str(FOLDER / "state"),
           XDG_CONFIG_HOME=str(FOLDER / "config"))


def hone(*args, **more):
    return subprocess.run([HONE, *map(str, args)], env=ENV, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **more)


class Sessions(unittest.TestCase):
    def setUp(self):
        self.task = FOLDER / self.id().split(".")[-1]
        self.session = self.task / ".hone" / self.task.name
        self.task.mkdir()
        (self.task / "kernel.py").write_text(KERNEL)
        (self.task / "reference.py").write_text(REFERENCE)

    def run_rounds(self, rounds=1):
        done = hone("run", self.task, "--rounds", rounds, "--seeds", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def start(self, *args, until):
        process = subprocess.Popen([HONE, "run", str(self.task), "--json", "--seeds", "0", *args],
                                   env=ENV, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = []
        for line in process.stdout:
            seen.append(json.loads(line))
            if seen[-1]["event"] == until:
                break
        return process, seen

    def damage(self, what):
        path = self.session / "session.db"
        data = bytearray(path.read_bytes())
        at = data.find(what)
        self.assertGreater(at, 0)
        data[at] ^= 1
        path.write_bytes(data)

    def test_a_task_is_found_by_the_folder_one_stands_in(self):
        self.run_rounds()
        for path in (".", "../" + self.task.name + "/"):
            done = hone("session", "check", path, cwd=self.task)
            self.assertEqual(done.returncode, 0, path + done.stdout + done.stderr)

    def test_what_a_reference_reads_by_a_computed_name_is_exported(self):
        reads = ("import importlib\nimport os\n"
                 "importlib.import_module('pa' + 'rts')\n"
                 "np.loadtxt(os.path.join(os.path.dirname(__file__), 'sc' + 'ale.txt'))\n")
        (self.task / "reference.py").write_text(REFERENCE + reads)
        (self.task / "parts.py").write_text("A = 1\n")
        (self.task / "scale.txt").write_text("1 2 3\n")
        self.run_rounds()
        out = FOLDER / "computed"
        done = hone("export", self.task, "--output", out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((out / "scale.txt").read_text(), "1 2 3\n")
        self.assertEqual((out / "parts.py").read_text(), "A = 1\n")
        (self.task / "parts.py").write_text("A = 2\n")
        done = hone("run", self.task, "--rounds", "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("parts.py changed on disk", done.stdout + done.stderr)

    def test_an_export_that_fails_leaves_nothing(self):
        large = self.task / "large.bin"
        large.write_bytes(b"1" * (17 << 20))
        (self.task / "reference.py").write_text(
            REFERENCE + "import os\n"
            "np.fromfile(os.path.join(os.path.dirname(__file__), 'large.bin'), np.uint8, 8)\n")
        self.run_rounds()
        large.rename(self.task / "elsewhere.bin")
        out = FOLDER / "made" / "for" / "it"
        done = hone("export", self.task, "--output", out)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("large.bin is too large to be kept with the session", done.stderr)
        self.assertFalse((FOLDER / "made").exists())
        done = hone("export", self.task, "--output", out, "--no-verify")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("It also needs large.bin", (out / "README.md").read_text())
        self.assertEqual([path.name for path in out.parent.iterdir()], ["it"])

    def test_a_whole_session_is_told_so(self):
        self.run_rounds()
        done = hone("session", "check", self.task)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stdout.splitlines()[-1].endswith("is whole"))
        told = json.loads(hone("session", "check", self.session, "--json").stdout)
        self.assertTrue(told["whole"] and told["proven"])
        self.assertEqual(hone("session", "check", self.task / "nothing").returncode, 2)
        self.assertEqual(hone("session", "look", self.task).returncode, 2)

    def test_a_damaged_session_is_refused_and_repaired(self):
        self.run_rounds()
        self.damage(b'"task":')
        for command in (["run", self.task, "--rounds", "1"], ["export", self.task]):
            done = hone(*command, cwd=FOLDER)
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn("hone session repair", done.stderr)
            self.assertIn("event 1 is not as it was written", done.stderr)
        self.assertEqual(hone("session", "check", self.task).returncode, 4)
        done = hone("session", "repair", self.task, "--replace", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["lost_from"], told["mended"], told["proven"]), (0, 1, True))
        self.assertTrue(pathlib.Path(told["damaged"], "session.db").exists())
        self.run_rounds()
        self.assertEqual(hone("session", "check", self.task).returncode, 0)

    def test_a_task_is_found_however_its_folder_is_written(self):
        self.run_rounds()
        inside = self.task / "inside"
        inside.mkdir()
        for where, word in ((FOLDER, f"{self.task.name}/"), (FOLDER, f"./{self.task.name}//"),
                            (self.task, "."), (self.task, "./"), (inside, "..")):
            done = hone("session", "check", word, cwd=where)
            self.assertEqual(done.returncode, 0, f"{word}: {done.stderr}")
            self.assertIn("is whole", done.stdout)

    def test_a_change_that_concerns_no_event_is_told(self):
        self.run_rounds()
        path = self.session / "session.db"
        data = bytearray(path.read_bytes())
        data[80] ^= 1  # reserved bytes of SQLite's header
        path.write_bytes(data)
        done = hone("run", self.task, "--rounds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("session.db was changed after hone closed it", done.stderr)

    def test_what_cannot_be_put_right_is_said_to_be_lost(self):
        self.run_rounds()
        path = self.session / "session.db"
        data = path.read_bytes()
        at = data.find(b'"verdict')
        at = at if at > 0 else data.find(b'"latency_us"')
        path.write_bytes(data[:at] + b"xxxxxxxx" + data[at + 8:])
        done = hone("session", "repair", self.task)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("LOST      events", done.stdout)
        new = pathlib.Path(f"{self.session}.repaired")
        self.assertTrue((new / "behind" / "events.jsonl").exists())
        done = hone("run", self.task, "--session", new, "--rounds", "1", "--seeds", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_session_that_vanishes_is_saved_and_an_error(self):
        ways = {"removed": lambda: (self.session / "session.db").unlink(),
                "folder": lambda: self.session.rename(FOLDER / "moved"),
                "replaced": lambda: (shutil.copy(self.session / "session.db", FOLDER / "other"),
                                     os.replace(FOLDER / "other", self.session / "session.db"))}
        for name, way in ways.items():
            process, seen = self.start("--rounds", "3", "--fresh", until="decided")
            way()
            rest, said = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 4, name + rest + said)
            seen += [json.loads(line) for line in rest.splitlines()]
            self.assertIn("removed or replaced while hone was using", seen[-1]["reason"])
            place = pathlib.Path(seen[-1]["session"])
            self.assertIn(str(place), said)
            self.assertNotEqual(place, self.session)
            last = max(event.get("seq", 0) for event in seen)
            check = json.loads(hone("session", "check", place, "--json").stdout)
            self.assertTrue(check["whole"], check)
            self.assertGreaterEqual(int(check["parts"][0]["text"].split(",")[0]), last)
            done = hone("run", self.task, "--session", place, "--rounds", "1", "--seeds", "0")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            shutil.rmtree(self.session, ignore_errors=True)

    def test_signals_end_it_cleanly(self):
        for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")):
            process, _ = self.start("--rounds", "20", until="round")
            process.send_signal(number)
            rest, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + number)
            reason = json.loads(rest.splitlines()[-1])["reason"]
            self.assertIn(name, reason)
            self.assertIn(f"the session is kept in {self.session}", reason)
            self.assertEqual(hone("session", "check", self.task).returncode, 0)

    def test_what_the_killed_left_is_collected(self):
        self.run_rounds()
        gone = subprocess.Popen(["true"])
        gone.wait()
        left = [pathlib.Path("/dev/shm") / f"hone-{gone.pid}-abcdef" if os.path.isdir("/dev/shm")
                else FOLDER / f"hone-{gone.pid}-abcdef", FOLDER / f"hone-{gone.pid}-wall-abcdef"]
        alive = FOLDER / f"hone-{os.getpid()}-abcdef"
        for path in (*left, alive):
            path.write_text("x")
        more = dict(ENV, TMPDIR=str(FOLDER))
        subprocess.run([HONE, "config"], env=more, stdout=subprocess.DEVNULL, check=True)
        self.assertFalse([path for path in left if path.exists()])
        self.assertTrue(alive.exists())

    def test_a_place_that_cannot_be_written_is_looked_at(self):
        self.run_rounds()
        command = (f"mount --bind {self.session} {self.session} && "
                   f"mount -o remount,bind,ro {self.session} && "
                   f"{HONE} session check {self.session}; echo $?; "
                   f"{HONE} run {self.task} --rounds 1; echo $?; "
                   f"{HONE} export {self.session} --output {FOLDER / 'from_ro'}; echo $?")
        done = subprocess.run(["unshare", "-mr", "sh", "-c", command], env=ENV, text=True,
                              capture_output=True, timeout=120)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest("no mounts here")
        self.assertEqual([line for line in done.stdout.splitlines() if line.isdigit()],
                         ["0", "3", "0"], done.stdout + done.stderr)
        self.assertIn("cannot be written (Read-only file system)", done.stderr)
        self.assertTrue((FOLDER / "from_ro" / "kernel.py").exists())


if __name__ == "__main__":
    try:
        unittest.main(verbosity=1)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
