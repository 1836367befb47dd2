# SPDX-License-Identifier: Apache-2.0
"""Where a documented call of the toolchain has another shape, where a way of compiling fails, what
reaches the compiler, and what is heard from it. seams.py HONE RUNNER [NAME OF A TEST]..."""

import json
import os
import shutil
import sys
import unittest

import lines
import tasks
import verdicts

EVERY = ["nir", "context", "driver", "frontend", "compile", "call"]


class Base(verdicts.Base):
    def fresh(self, line, name):
        """A home of its own on that line, whose canary has not passed."""
        home = self.home(line)
        return verdicts.remote.Home(os.path.join(verdicts.FOLDER, "home-" + name), home.root,
                                    verdicts.RUNNER)

    def run_silu(self, home, line, **members):
        members.setdefault("no_time", True)
        return self.go(home, self.task("silu", lines.DIALECT[line]), **members)

    def doctor(self, home):
        done = home.command("doctor")
        rows = [json.loads(row[len(verdicts.remote.SENTINEL):])
                for row in done.stdout.splitlines() if row.startswith(verdicts.remote.SENTINEL)]
        return next(row for row in rows if row.get("name") == "seam")

    def diary(self, home, kernel="kernel"):
        rows = map(json.loads, tasks.read(os.path.join(
            home.root, "standin", "state", "diary")).splitlines())
        return [row for row in rows if row["what"] == "compile" and row["kernel"] == kernel]


class Shapes(Base):
    def test_a_call_of_another_shape_gives_way_to_the_next(self):
        for line, moved, chosen in (("2.32", "nir", "context"), ("2.31", "driver", "call"),
                                    ("2.29", "frontend", "simulation")):
            with self.subTest(line=line):
                home = self.fresh(line, "moved-" + line)
                verdicts.make.set_switches(home.root, other_shape=[moved])
                run = self.run_silu(home, line)
                self.assertEqual("yes", run.answers()["correct"], run.explain())
                self.assertRegex(run.logs(), r"compiling by \w+ is not possible here: "
                                             r"AttributeError: .* \(driver\.py line \d+\)")
                self.assertIn("kernels compile by %s (" % chosen, run.logs())
                self.assertIn("kernel: compiled by " + chosen, run.logs())
                self.assertTrue(self.doctor(home)["found"].startswith(chosen + " ("))

    def test_where_every_one_has_another_shape_the_host_is_at_fault(self):
        home = self.fresh("2.32", "all-moved")
        verdicts.make.set_switches(home.root, other_shape=EVERY)
        for members in ({}, {"check_only": True}):
            run = self.run_silu(home, "2.32", **members)
            self.assertEqual("environment", run.failure()["kind"], run.explain())
            self.assertRegex(run.failure()["text"], r"no way to compile is known for this SDK "
                             r"\(2\.32\): tried nir \(AttributeError")

    def test_a_way_that_compiles_something_else_is_passed_over(self):
        home = self.fresh("2.32", "lying")
        verdicts.make.set_switches(home.root, lying_seam="nir")
        run = self.run_silu(home, "2.32")
        self.assertEqual("yes", run.answers()["correct"], run.explain())
        self.assertRegex(run.logs(), "the canary does not pass by nir: .*all zero.*next way")
        found = self.doctor(home)
        self.assertEqual("warning", found["state"])
        self.assertRegex(found["found"], r"^context \(.*; not by nir: .*all zero")
        again = self.run_silu(home, "2.32", seeds=[5])
        self.assertIn("passed before in this session; kernels compile by context", again.logs())


class Told(Base):
    def test_options_and_defaults_reach_the_compiler(self):
        for words, options in (("(address_rotation=False, barrier_check=True)", {}),
                               ("(schedule='late')", {"other_shape": ["nir"]}),
                               ("(schedule='late')", {"other_shape": ["nir", "context"]})):
            with self.subTest(words=words, options=options):
                name = "told-%d" % len(str(options) + words)
                home = self.fresh("2.32", name)
                verdicts.make.set_switches(home.root, **options)
                task = tasks.with_decorator(os.path.join(verdicts.FOLDER, "tasks", name), words)
                run = self.go(home, task, no_time=True)
                self.assertEqual("yes", run.answers()["correct"], run.explain())
                told = self.diary(home)[-1]["told"]
                if "schedule" in words:
                    self.assertIn("late", str(told), run.logs())
                else:
                    self.assertEqual("False", told["address_rotation"])
                    self.assertEqual("True", told.get("enable_barrier_checker"))

    def test_an_option_that_only_the_launch_carries_reaches_it_by_the_launch(self):
        home = self.fresh("2.33", "config")
        task = tasks.with_decorator(os.path.join(verdicts.FOLDER, "tasks", "config"),
                                    "(compile_config={'prefetch_auto': True})")
        run = self.go(home, task, check_only=True)
        self.assertEqual("yes", run.answers()["compiles"], run.explain())
        self.assertIn("prefetch_auto", str(self.diary(home)[-1]["told"]))

    def test_flags_of_the_login_reach_it_and_compile_anew(self):
        home = self.fresh("2.31", "flags")
        for flags in ("", "--one", "--two", "--one"):
            run = self.run_silu(home, "2.31", check_only=True,
                                environment={"NEURON_CC_FLAGS": flags})
            self.assertEqual("yes", run.answers()["compiles"], run.explain())
        self.assertEqual(["", "--one", "--two"], [row["flags"] for row in self.diary(home)
                         if ".hone" in row["folder"] and "home-flags" in row["folder"]])
        self.assertIn("compiled before, taken from the cache", run.logs())


class Heard(Base):
    """What the back end said, where the release does not print it."""

    def test_the_cause_is_told_and_the_log_is_kept(self):
        for line in ("2.29", "2.31", "2.32", "2.33"):
            with self.subTest(line):
                home = self.fresh(line, "heard-" + line)
                folder = os.path.join(verdicts.FOLDER, "tasks", "wide-" + line)
                tasks.make(folder, "silu", "current")
                path = os.path.join(folder, "kernel.py")
                tasks.write(path, tasks.big_tile(tasks.read(path)))
                run = self.go(home, folder, no_time=True)
                self.assertEqual("no", run.answers()["compiles"], run.explain())
                self.assertRegex(run.of("diagnostic")[0]["code"], "^NCC_", run.explain())
                self.assertNotIn("log-neuron-cc", run.reason("compiles"))
                self.assertNotIn("crashed", run.reason("compiles"))
                self.assertIn("kernel-compile: SBAllocator", run.logs())
                kept = os.path.join(run.folder, "raw", "kernel-log-neuron-cc.txt")
                self.assertIn("Compiler status ERROR", tasks.read(kept))
                self.assertIn("the compiler's own log is kept in ", run.logs())


if __name__ == "__main__":
    try:
        status = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result
    finally:
        shutil.rmtree(verdicts.FOLDER, ignore_errors=True)
    sys.exit(not status.wasSuccessful())
