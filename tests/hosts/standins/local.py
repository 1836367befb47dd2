# SPDX-License-Identifier: Apache-2.0
"""A machine without a device that has the SDK's wheels: hone sim, and a session on the device
model, ask their compiler for its prediction. local.py HONE RUNNER [NAME OF A TEST]..."""

import glob
import json
import os
import subprocess
import sys
import unittest

import lines
import tasks
import verdicts

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


class Local(verdicts.Base):
    def hone(self, *arguments, **more):
        folder = os.path.join(verdicts.FOLDER, "local")
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(
            [verdicts.HONE, *arguments], cwd=folder, stdin=subprocess.DEVNULL, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=300,
            env={**ENVIRONMENT, "HOME": folder, "XDG_CACHE_HOME": folder + "/cache",
                 "XDG_STATE_HOME": folder + "/state",
                 # The roots of stand-ins are in /tmp, which is empty behind a wall.
                 "HONE_WALL_READ": ":".join(glob.glob(verdicts.FOLDER + "/root-*")), **more})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        left = os.path.join(folder, "cache", "hone", "predict", ".hone", "jobs")
        self.assertEqual(os.listdir(left) if os.path.isdir(left) else [], [])
        return done.stdout

    def venv(self, line):
        self.home(line)
        return os.path.join(verdicts.FOLDER, "root-" + line, "opt", lines.LINES[line]["venvs"][0])

    def sim(self, line, **more):
        task = self.task("softmax", lines.DIALECT[line])
        return (self.hone("sim", task, "--no-verify", **more),
                json.loads(self.hone("sim", task, "--no-verify", "--json", **more)))

    def test_sim_says_what_the_compiler_found_here_predicts(self):
        for name, value in (("VIRTUAL_ENV", self.venv("2.32")),
                            ("HONE_DEFAULTS_NKI_PYTHON", self.venv("2.32")),
                            ("HONE_DEFAULTS_NKI_PYTHON", self.venv("2.32") + "/bin/python")):
            with self.subTest(name):
                text, found = self.sim("2.32", **{name: value})
                self.assertRegex(text, r"\ncompiler  predicts [\d.]+ \w+ \(nki 0\.6\.0\): ")
                self.assertLess(found["predicted_us"], found["latency_us"])
                self.assertGreater(found["predicted_utilisation"]["vector"], 0)

    def test_without_wheels_or_where_it_is_told_not_to_sim_asks_nobody(self):
        for more in ({}, {"VIRTUAL_ENV": self.venv("2.26")}, {"VIRTUAL_ENV": "/nowhere"},
                     {"VIRTUAL_ENV": self.venv("2.32"), "HONE_DEFAULTS_NKI_PYTHON": "none"}):
            with self.subTest(str(more)):
                text, found = self.sim("2.32", **more)
                self.assertNotIn("compiler", text)
                self.assertIsNone(found["predicted_us"])

    def test_who_names_an_environment_is_told_why_it_says_nothing(self):
        for where, why in ((self.venv("2.31"), "this release has none"),
                           ("/nowhere", "is not a Python environment")):
            with self.subTest(where):
                text, found = self.sim("2.31", HONE_DEFAULTS_NKI_PYTHON=where)
                self.assertRegex(text, "\ncompiler  no prediction: .*" + why)
                self.assertIsNone(found["predicted_us"])

    def test_a_session_keeps_it_with_each_attempt_where_a_person_said_so(self):
        task = self.task("softmax", "current")
        for set_to, has in (({"HONE_DEFAULTS_NKI_PYTHON": "auto"}, True), ({}, False)):
            with self.subTest(has):
                out = self.hone("run", task, "--fresh", "--rounds", "1", "--json",
                                VIRTUAL_ENV=self.venv("2.32"), **set_to)
                end = json.loads(out.splitlines()[-1])
                for which in ("baseline", "best"):
                    self.assertEqual("predicted_us" in end[which], has, end[which])
                rows = [json.loads(row) for row in tasks.read(
                    os.path.join(end["session"], "experiments.jsonl")).splitlines()]
                self.assertEqual(all("predicted_us" in row for row in rows
                                     if row["status"] != "compile_fail"), has)


if __name__ == "__main__":
    try:
        status = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result
    finally:
        verdicts.shutil.rmtree(verdicts.FOLDER, ignore_errors=True)
    sys.exit(not status.wasSuccessful())
