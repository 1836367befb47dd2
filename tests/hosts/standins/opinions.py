# SPDX-License-Identifier: Apache-2.0
"""The compiler's own prediction on every stand-in. The release that has one reports it, beside
verdicts and in a command of its own; the others report none. Whatever goes wrong with it, the
evaluation is as without it. opinions.py HONE RUNNER [NAME OF A TEST]..."""

import json
import os
import subprocess
import sys
import unittest

import lines
import tasks
import verdicts

WITH = ("2.32",)
WITHOUT = ("2.26", "2.28", "2.31", "2.33", "2.36")


class Opinions(verdicts.Base):
    def evaluated(self, line, name="silu", **members):
        task = self.task(name, lines.DIALECT[line])
        run = self.go(self.home(line), task, check_only=True, **members)
        self.assertEqual(run.answers()["compiles"], "yes", run.explain())
        return run

    def asked(self, line, name="silu", inputs=None, text=None, **environment):
        """The events of the command `predict`."""
        home, task = self.home(line), self.task(name, lines.DIALECT[line])
        path = os.path.join(task, "kernel.py")
        job = {"protocol": 1, "kernel_path": path, "kernel_text": text or tasks.read(path),
               "kernel_name": "kernel", "device": "trn2", "seeds": [0]}
        job.update({"inputs": inputs} if inputs else
                   {"reference_path": os.path.join(task, "reference.py")})
        done = subprocess.run(
            ["/usr/bin/python3", home.runner, "predict"], input=json.dumps(job), cwd=home.folder,
            env=home.environment(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        jobs = os.path.join(home.folder, ".hone", "jobs")
        self.assertEqual([one for one in os.listdir(jobs) if one.startswith("predict")], [])
        run = verdicts.remote.Run(done.stdout, done.stderr, 0, "")
        self.assertEqual(run.failure()["kind"], "none", run.explain())
        self.assertEqual(set(run.answers().values()), {"not asked"})
        return run

    def judge(self, run, name="silu", line="2.32"):
        """There is one prediction, of the program that is shipped, in keeping with the device
        model."""
        found, = run.of("prediction")
        model = self.embedded(self.task(name, lines.DIALECT[line]), "--no-verify")
        busy = max(model["metrics"][one] for one in model["metrics"]
                   if one.endswith("_active_time") and not one.startswith("total")) * 1e6
        self.assertEqual(found["by"], "nki %s" % lines.LINES[line]["nki"])
        self.assertIs(found["optimised"], False)
        self.assertTrue(busy <= found["us"] * 1.000001, found)
        self.assertTrue(found["us"] < model["latency_us"], found)
        self.assertAlmostEqual(max(found["utilisation"].values()), 100 * busy / found["us"], 2)
        self.assertEqual(found["hbm_bytes"], model["metrics"]["hbm_read_bytes"] +
                         model["metrics"]["hbm_write_bytes"])
        return found

    def test_the_release_that_has_one_says_it_with_the_verdict(self):
        for line in WITH:
            with self.subTest(line):
                first = self.judge(self.evaluated(line), line=line)
                again = self.evaluated(line)
                self.assertIn("taken from the cache", again.logs())
                self.assertEqual(self.judge(again, line=line), first)

    def test_the_others_say_nothing(self):
        for line in WITHOUT:
            with self.subTest(line):
                self.assertEqual(self.evaluated(line).of("prediction"), [])

    def test_its_failure_is_no_failure(self):
        home = self.home("2.32")
        for number, what in enumerate(("none", "fails", "crashes")):
            with self.subTest(what):
                verdicts.make.set_switches(home.root, prediction=what)
                run = self.evaluated("2.32", name="softmax", tolerance=0.5,
                                     settings={"compile_flags": "--flag-%d" % number})
                self.assertEqual(run.of("prediction"), [])
                self.assertEqual(run.failure()["kind"], "none", run.explain())
                self.assertEqual(self.asked("2.32", "softmax").of("prediction"), [])

    def test_a_command_asks_for_it_alone(self):
        for name in ("silu", "matmul"):
            with self.subTest(name):
                self.judge(self.asked("2.32", name), name)

    def test_the_command_takes_inputs_by_name(self):
        text = tasks.read(os.path.join(self.task("matmul", "current"), "kernel.py"))
        names = text.split("def kernel(")[1].split(")")[0].replace(" ", "").split(",")
        shapes = dict(zip(names, ([256, 256], [256, 512])))
        rows = [{"name": name, "dtype": "bfloat16", "shape": shapes[name]}
                for name in reversed(names)]
        self.judge(self.asked("2.32", "matmul", inputs=rows), "matmul")

    def test_where_there_is_none_the_command_says_why(self):
        for line in ("2.31", "2.33"):
            with self.subTest(line):
                run = self.asked(line)
                self.assertEqual(run.of("prediction"), [])
                self.assertIn("the compiler predicts nothing: this release has none", run.logs())

    def test_a_kernel_that_cannot_be_traced_has_none(self):
        run = self.asked("2.32", text=tasks.read(os.path.join(
            self.task("silu", "current"), "kernel.py")).replace("def kernel(", "def kernel(oops, "))
        self.assertEqual(run.of("prediction"), [])
        self.assertIn("the compiler predicts nothing: ", run.logs())


if __name__ == "__main__":
    try:
        status = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result
    finally:
        verdicts.shutil.rmtree(verdicts.FOLDER, ignore_errors=True)
    sys.exit(not status.wasSuccessful())
