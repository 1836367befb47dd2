# SPDX-License-Identifier: Apache-2.0
"""On every stand-in the remote runner gives the verdicts of the embedded target, and says what is
wrong where something is. verdicts.py HONE RUNNER [NAME OF A TEST]..."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import lines  # noqa: E402
import make  # noqa: E402
import remote  # noqa: E402
import tasks  # noqa: E402

HONE, RUNNER = [os.path.abspath(path) for path in (sys.argv[1:3] if len(sys.argv) > 2 else "..")]
FOLDER = os.path.realpath(tempfile.mkdtemp(prefix="hone-verdicts-"))
os.environ["XDG_CACHE_HOME"] = os.path.join(FOLDER, "cache")
SETTINGS = {"samples": "1", "warmup_s": "0", "lock_folder": os.path.join(FOLDER, "locks")}
# The tasks of each line: all on the oldest and the newest, one on each of the others.
MATRIX = {"2.26": tasks.TASKS, "2.27": ("matmul",), "2.28": ("silu",),
          "2.29": ("add_rmsnorm_matmul",),
          "2.30": ("softmax",), "2.31": ("matmul",), "2.32": ("silu",), "2.33": tasks.TASKS,
          "2.36": ("softmax",)}


class Base(unittest.TestCase):
    maxDiff = None
    embedded_answers = {}

    def home(self, line):
        """The home of a user on the stand-in of that line."""
        root = os.path.join(FOLDER, "root-" + line)
        if not os.path.exists(root):
            make.make_root(root, line, HONE, memory=os.path.join(FOLDER, "memory"))
        if line != "none":
            self.addCleanup(make.set_switches, root)
        self.addCleanup(self.nothing_is_left)
        return remote.Home(os.path.join(FOLDER, "home-" + line), root, RUNNER)

    def nothing_is_left(self):
        """No process of a job is left, and no core is locked."""
        for _ in range(100):
            found = self.processes()
            if not found:
                break
            time.sleep(0.05)
        self.assertEqual(found, [])
        path = os.path.join(SETTINGS["lock_folder"], "locks.json")
        if os.path.exists(path):
            state = json.loads(tasks.read(path))
            self.assertFalse(state.get("physical_neuron_cores_lock_timeout"), state)

    @staticmethod
    def processes():
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    environment = file.read()
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    command = file.read()
            except OSError:
                continue
            if int(pid) != os.getpid() and FOLDER.encode() in environment + command:
                found.append((pid, command[:200]))
        return found

    def embedded(self, task, *arguments):
        key = (task, arguments)
        if key not in self.embedded_answers:
            self.embedded_answers[key] = remote.embedded(HONE, task, *arguments)
        return self.embedded_answers[key]

    def same(self, run, task, seeds="0,21"):
        """The four answers and the numbers are the embedded target's."""
        want = self.embedded(task, "--seeds", seeds)
        got = {name: {"yes": True, "no": False}.get(answer)
               for name, answer in run.answers().items()}
        self.assertEqual({name: got[name] for name in ("compiles", "correct", "credible")},
                         {name: want[name] for name in ("compiles", "correct", "credible")},
                         run.explain())
        for row in want["seeds"]:
            if row["seed"] in run.seeds() and row["rel_l2"] is not None:
                # The error is rounding. How products are summed changes it by some percent, and the
                # embedded target may choose other routines than numpy does on a host.
                self.assertAlmostEqual(run.seeds()[row["seed"]] / row["rel_l2"], 1, delta=0.25)
        return want

    def go(self, home, task, **members):
        members.setdefault("seeds", [0, 21])
        settings = {**SETTINGS, **members.pop("settings", {})}
        return home.run(task, settings=settings, **members)

    def task(self, name, dialect):
        return tasks.make(os.path.join(FOLDER, "tasks", name + "-" + dialect), name, dialect)


class Good(Base):
    def check(self, line):
        home = self.home(line)
        for number, name in enumerate(MATRIX[line]):
            task = self.task(name, lines.DIALECT[line])
            run = self.go(home, task, no_time=number > 0)
            want = self.same(run, task)
            self.assertEqual(len(run.seeds()), 2)
            self.assertEqual(run.result["dialect"], lines.DIALECT[line])
            self.assertEqual(run.result["nki"], lines.LINES[line]["nki"] or "")
            if number == 0:
                self.check_time(run, want, line)
        if line in ("2.26", "2.32"):
            self.check_other_dialect(home, line)

    def check_time(self, run, want, line):
        self.assertAlmostEqual(run.result["latency_us"] / want["latency_us"], 1, 1)
        metrics = {event["name"]: event["value"] for event in run.of("metric")}
        # A profile times one run, with the spread that the stand-in gives each.
        self.assertAlmostEqual(metrics["total_time"] * 1e6 / want["latency_us"], 1, delta=0.1)
        self.assertAlmostEqual(metrics["dma_active_time_percent"] /
                               want["metrics"]["dma_active_time_percent"], 1, 1)
        clock = "the runtime's Python layer" if lines.LINES[line]["nrtpy"] else \
            "neuron-bench"
        self.assertIn("latency by " + clock, run.logs())
        timeline = "json" in lines.LINES[line]["views"] or lines.LINES[line]["pandas"]
        self.assertEqual(bool(run.result["bounds"]), timeline, run.explain())

    def check_other_dialect(self, home, line):
        """A kernel of the dialect that this line cannot run: it says so, and believes nothing."""
        other = "current" if lines.DIALECT[line] == "legacy" else "legacy"
        run = self.go(home, self.task("silu", other))
        self.assertEqual(run.answers()["compiles"], "no", run.explain())
        self.assertRegex(run.reason("compiles"), "neuronxcc")

    def test_2_26(self):
        self.check("2.26")

    def test_2_27(self):
        self.check("2.27")

    def test_2_28(self):
        self.check("2.28")

    def test_2_29(self):
        self.check("2.29")

    def test_2_30(self):
        self.check("2.30")

    def test_2_31(self):
        self.check("2.31")

    def test_2_32(self):
        self.check("2.32")

    def test_2_33(self):
        self.check("2.33")

    def test_a_line_nobody_has_seen(self):
        self.check("2.36")


class Bad(Base):
    """Kernels that fail, on an old line and on a new one."""

    def check(self, line, kinds):
        home, dialect = self.home(line), lines.DIALECT[line]
        for what in kinds:
            task = tasks.bad(os.path.join(FOLDER, "tasks", what + "-" + dialect), what, dialect)
            run = self.go(home, task, no_time=True)
            want = self.same(run, task)
            if not want["compiles"]:
                self.assertEqual(run.of("diagnostic")[0]["line"], want["diagnostics"][0]["line"],
                                 run.explain())

    def test_on_2_26(self):
        self.check("2.26", ("no such name", "wrong", "zeros"))

    def test_on_2_30(self):
        self.check("2.30", tasks.BAD)


class Speed(Base):
    def test_a_faster_kernel_is_found_faster_and_the_same_is_not(self):
        home = self.home("2.32")
        task = self.task("silu", "current")
        text = tasks.read(task + "/kernel.py")
        short = os.path.join(FOLDER, "tasks", "short")
        tasks.make(short, "silu", "current",
                   ("            nisa.reciprocal(dst=below, data=below)\n", ""))
        for folder, answers in ((short, ["yes"]), (task, ["no", "inconclusive"])):
            run = self.go(home, folder, incumbent_text=text, no_verify=True,
                          settings={"samples": "6"})
            self.assertIn(run.answers()["faster"], answers, run.explain())
            self.assertEqual(len([one for one in run.of("sample") if one["of"] == "incumbent"]), 6)


class Clocks(Base):
    """How long a launch took, by the clocks that there are."""

    def run_with(self, line, switches, **settings):
        """A kernel against itself, with the embedded target's latency beside it."""
        home = self.home(line)
        task = self.task("silu", lines.DIALECT[line])
        make.set_switches(home.root)
        self.go(home, task, no_time=True)
        make.set_switches(home.root, **switches)
        run = self.go(home, task, incumbent_text=tasks.read(task + "/kernel.py"), no_verify=True,
                      settings={"samples": "5", **settings}, artifact_folder="out")
        return run, self.embedded(task, "--seeds", "0,21")["latency_us"]

    def test_with_two_cores_a_launch_takes_the_longer_one_s_time(self):
        for switches in ({}, {"trace_loses": 1}, {"trace_taken": 1}):
            run, want = self.run_with("2.33", switches, lnc="2")
            self.assertEqual(run.result["lnc"], 2)
            kept = [event for event in run.of("artifact") if event["name"] == "launches"]
            if not switches:
                self.assertAlmostEqual(run.result["latency_us"] / want, 1, delta=0.1)
                self.assertIn("the longest of its cores", run.logs())
                self.assertIn(run.answers()["faster"], ["no", "inconclusive"])
                self.check_events(os.path.join(run.folder, kept[0]["path"]))
                continue
            self.assertEqual(run.answers()["faster"], "inconclusive", run.explain())
            self.assertRegex(run.reason("faster"), "per core, unpaired: .*(counterpart|subscriber)")
            self.assertEqual({one["of"] for one in run.of("sample")}, {"kernel"})
            self.assertEqual({one["per"] for one in run.of("sample")}, {"per core, unpaired"})

    def check_events(self, path):
        """The runtime's own events are kept, two of them for each end of a launch."""
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        self.assertEqual(len(rows), 10)
        events = json.loads(rows[0]["trace"])["events"]
        self.assertEqual(sum(event["event_type"] == "nc_exec_running" for event in events), 800)

    def test_one_core_needs_no_trace(self):
        run, want = self.run_with("2.33", {"trace_taken": 1})
        self.assertAlmostEqual(run.result["latency_us"] / want, 1, delta=0.1)
        self.assertNotIn("unpaired", run.reason("faster"))

    def test_a_core_is_warmed_up_for_seconds_not_for_a_number_of_launches(self):
        for line in ("2.31", "2.33"):
            run, want = self.run_with(line, {"ramp": 600}, warmup_s="0")
            self.assertGreater(run.result["latency_us"] / want, 1.5, line)
            run, want = self.run_with(line, {"ramp": 4}, warmup_s="4")
            self.assertAlmostEqual(run.result["latency_us"] / want, 1, delta=0.1, msg=line)


class Wrong(Base):
    """Hosts on which something is wrong. Each row: the line, what is switched on, the part of the
    result that shows it, and what that says."""

    def rows(self, rows, **members):
        for number, (line, switches, where, part) in enumerate(rows):
            with self.subTest(line=line, switches=switches):
                home = self.home(line)
                task = self.task("silu", lines.DIALECT[line])
                make.set_switches(home.root, **switches)
                session = "tests" if "only" in switches else "tests-%d" % number
                self.sees(self.go(home, task, no_time=True, session=session, **members), where,
                          part)
                make.set_switches(home.root)

    def sees(self, run, where, part):
        """where: a part of the verdict, a kind of failure, or "log"."""
        if where in run.answers():
            self.assertEqual(run.answers()[where], "no", run.explain())
            self.assertRegex(run.reason(where), part, run.explain())
        elif where == "log":
            self.assertEqual(run.failure()["kind"], "none", run.explain())
            self.assertEqual(run.answers()["correct"], "yes", run.explain())
            self.assertRegex(run.logs(), part)
        else:
            self.assertEqual(run.failure()["kind"], where, run.explain())
            self.assertRegex(run.failure()["text"], part)

    def test_results_that_are_wrong(self):
        only = {"only": "seeds/silu has it"}
        self.rows((
            ("2.31", {"zeros": 1, **only}, "credible", "all zero"),
            ("2.31", {"nan": 1, **only}, "credible", "NaN"),
            ("2.31", {"wrong_on": 1, **only}, "correct", "seed 21"),
            ("2.31", {"ignores_inputs": 1, **only}, "correct", "seed 21"),
            ("2.31", {"zeros": 1}, "environment", "cannot be believed")))

    def test_a_device_that_fails(self):
        self.rows((
            ("2.31", {"device_oom": 1}, "environment", "memory"),
            ("2.31", {"oob": 1, "only": "seeds/silu has it"}, "correct", "out of bounds|OOB"),
            ("2.31", {"neff_skew": 1}, "environment", "compiler is newer than the runtime"),
            ("2.31", {"hardware": 1}, "environment", "hardware|memory error|stop"),
            ("2.31", {"no_driver": 1}, "environment", "driver|device"),
            ("2.31", {"exec_hang": 1, "only": "seeds/silu has it"}, "correct", "time|answer"),
            ("2.31", {"exit_noise": 1}, "log", "Unexpected runtime state"),
            ("2.31", {"stale_cache": 1}, "log", "outputs by capture")))


    def test_a_compiler_that_fails(self):
        only = {"only": "seeds/silu has it"}
        text = tasks.kernel("silu", "current")
        for number, (switches, settings, where, part) in enumerate((
                ({"crash": 134, **only}, {}, "compiles", "crashed twice"),
                ({"crash": 137, **only}, {}, "compiles", "out of memory"),
                ({"crash": -9, **only}, {}, "environment", "killed from outside"),
                ({"hang": "compile", **only}, {"compile_limit_s": "8"}, "compiles",
                 "within 8 s .*SBAllocator"),
                ({"hang": "run", **only}, {"run_limit_s": "2"}, "correct", "within 2 s"),
                ({"flood": 128 << 20, **only}, {}, "log", "outputs by capture"),
                ({"garbage": 1, **only}, {}, "log", "outputs by capture"),
                ({"core_busy": "python train.py"}, {"wait_limit_s": "1"}, "environment",
                 "python train.py"))):
            with self.subTest(switches=switches):
                home = self.home("2.31")
                # Its own kernel, because what compiled before is not compiled again.
                task = tasks.make(os.path.join(FOLDER, "tasks", "crash-%d" % number), "silu",
                                  "current")
                tasks.write(task + "/kernel.py", text + "# %d\n" % number)
                make.set_switches(home.root, **switches)
                run = self.go(home, task, no_time=True, settings=settings)
                self.sees(run, where, part)
                self.is_harmless(run)

    def is_harmless(self, run):
        """The texts of the events can be shown, and are short, whatever the log was."""
        self.assertLess(len(run.text), 2 << 20)
        self.assertNotIn("\x1b", run.text)
        self.assertNotIn("\x00", run.text)
        raw = os.path.join(run.folder, "raw")
        self.assertLess(max(os.path.getsize(os.path.join(raw, name)) for name in os.listdir(raw))
                        if os.listdir(raw) else 0, 80 << 20)

    def test_tools_that_do_not_fit_together_leave_the_verdict(self):
        home = self.home("2.31")
        make.set_switches(home.root, ntff_skew=1)
        run = self.go(home, self.task("silu", "current"))
        self.sees(run, "log", "profiler is older than the runtime")
        self.assertGreater(run.result["latency_us"], 0)

    def test_a_device_that_scatters_is_not_called_faster(self):
        home = self.home("2.31")
        task = self.task("silu", "current")
        self.go(home, task, no_time=True)                   # the canary passes while all is quiet
        make.set_switches(home.root, noisy_timing=1.5)
        run = self.go(home, task, incumbent_text=tasks.read(task + "/kernel.py"), no_verify=True,
                      settings={"samples": "6"})
        self.assertIn(run.answers()["faster"], ["no", "inconclusive"], run.explain())


class Hosts(Base):
    """Hosts that lack something."""

    def test_no_sdk(self):
        home = self.home("none")
        run = self.go(home, self.task("silu", "current"))
        self.assertEqual(run.failure()["kind"], "environment")
        self.assertIn("no Python environment with nki or neuronx-cc", run.failure()["text"])

    def test_no_numpy(self):
        root = os.path.join(FOLDER, "root-bare")
        make.make_root(root, "2.31", HONE, numpy=False)
        home = remote.Home(os.path.join(FOLDER, "home-bare"), root, RUNNER)
        python = tasks.write(os.path.join(FOLDER, "bare"),
                             "#!/bin/sh\nexec /usr/bin/python3 -S \"$@\"\n")
        os.chmod(python, 0o755)
        run = home.run(self.task("silu", "current"), python=python, settings=SETTINGS)
        self.assertEqual(run.failure()["kind"], "environment", run.explain())
        self.assertRegex(run.failure()["text"],
                         "no Python on this host has numpy.*pip install numpy")

    def test_a_clock_that_is_wrong(self):
        home = self.home("2.31")
        folder = os.path.join(FOLDER, "skew")
        tasks.write(folder + "/sitecustomize.py", "import time\nreal = time.time\n"
                    "time.time = lambda: real() - 86400\n")
        probe = home.command("probe", PYTHONPATH=folder)
        host = json.loads(probe.stdout.splitlines()[-1][len(remote.SENTINEL):])
        self.assertAlmostEqual((time.time() - host["clock"]) / 86400, 1, 2)
        run = self.go(home, self.task("silu", "current"), no_time=True,
                      environment={"PYTHONPATH": folder})
        self.assertEqual(run.answers()["correct"], "yes", run.explain())

    def until_on_device(self):
        for _ in range(1200):
            if any(b"capture" in command for _, command in self.processes()):
                return
            time.sleep(0.05)
        self.fail("it never ran on the device")

    def test_a_runner_that_is_killed(self):
        home = self.home("2.31")
        make.set_switches(home.root, hang="run")
        job = home.put_job(self.task("silu", "current"), settings=SETTINGS, no_time=True)
        started = home.command("start", job)
        self.assertIn('"started"', started.stdout, started.stderr)
        self.until_on_device()
        with open(os.path.join(home.folder, job, "state.json"), encoding="utf-8") as file:
            os.kill(json.load(file)["pid"], signal.SIGKILL)
        followed = home.command("follow", job, "0")
        self.assertIn('"gone"', followed.stdout)
        # Nobody is left to give the cores back. Within a minute they come free on their own.
        path = os.path.join(SETTINGS["lock_folder"], "locks.json")
        held = json.loads(tasks.read(path))["physical_neuron_cores_lock_timeout"]
        self.assertTrue(all(until <= time.time() + 61 for until in held.values()), held)
        os.unlink(path)

    def test_a_job_that_is_cancelled(self):
        home = self.home("2.31")
        make.set_switches(home.root, hang="run")
        job = home.put_job(self.task("silu", "current"), settings=SETTINGS, no_time=True)
        home.command("start", job)
        follow = subprocess.Popen(["/usr/bin/python3", RUNNER, "follow", job, "0"], cwd=home.folder,
                                  env=home.environment({}), stdout=subprocess.PIPE, text=True)
        self.until_on_device()
        done = home.command("cancel", job)
        self.assertIn('"cancelled"', done.stdout, done.stderr)
        rest = follow.stdout.read()
        follow.stdout.close()
        follow.wait()
        self.assertRegex(rest, '"kind":"cancelled"|"end"')


if __name__ == "__main__":
    try:
        names = sys.argv[3:] or ["Good", "Bad", "Speed", "Wrong", "Hosts"]
        unittest.main(argv=[sys.argv[0], *names], verbosity=1)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
