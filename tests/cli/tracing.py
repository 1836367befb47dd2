#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels that Python evaluates: the same program as by hone's interpreter, modules of others, what
a session keeps, and kernels that would do harm: tracing.py HONE SEEDS."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HONE = os.path.abspath(sys.argv.pop(1))
SEEDS = pathlib.Path(sys.argv.pop(1)).resolve()

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl
"""

# What hone's interpreter does not know: a package of somebody else's, which uses more of Python.
PLAN = """import itertools
import struct


class Plan:
    def __init__(self, rows, width):
        self.rows = [slice(i, i + width) for i in range(0, rows, width)]
        self.tag, = struct.unpack("<I", struct.pack("<I", 7))

    def each(self, body):
        for number, parts in itertools.groupby(self.rows, key=lambda part: part.start // 256):
            for part in parts:
                body(number, part)
"""

DOUBLE = HEAD + """from others.plan import Plan


@nki.jit
def double(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

    def part(number, rows):
        tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[rows, :])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=y[rows, :], src=tile)

    Plan(x.shape[0], 128).each(part)
    return y
"""

REFERENCE = """import numpy as np
def get_inputs():
    return [np.random.rand(512, 256).astype(np.float32)]
def forward(x):
    return x * 2
"""

TWO_CORES = HEAD + """
@nki.jit(lnc=2)
def halves(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows = x.shape[0] // nl.num_programs(0)
    first = nl.program_id(0) * rows
    tile = nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[first:first + rows, :])
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=y[first:first + rows, :], src=tile)
    return y
"""

BY_NUMPY = HEAD + """import numpy as np


@nki.jit
def steps(x, scale=np.float32(0.5)):
    y = nl.ndarray(x.shape, dtype=np.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=np.dtype("float32"), buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for part in np.array_split(np.arange(x.shape[1]), 4):
        at = slice(int(part[0]), int(part[-1]) + 1)
        nisa.tensor_scalar(dst=tile[:, at], data=tile[:, at], op0=nl.multiply,
                           operand0=scale * 4)
    nisa.dma_copy(dst=y, src=tile)
    return y
"""

# Twice in each round; if Python counted on, three times in all rounds but the first. The device
# traces the body once.
COUNTS = HEAD + """

@nki.jit
def counts(x):
    n, seen = 0, []
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=2.0 ** -3)

    def body(i):
        nonlocal n
        n += 1
        seen.append(n)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0 if n == 1 else 3.0)

    nl.fori_loop(0, 4, body)
    print("counted", n, seen)
    loaded = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    for r in range(0, x.shape[0], 128):
        nisa.dma_copy(dst=loaded, src=x[r:r + 128, :])
        nisa.tensor_tensor(dst=loaded, data1=loaded, data2=tile, op=nl.multiply)
        nisa.dma_copy(dst=y[r:r + 128, :], src=loaded)
    return y
"""

THREADS = HEAD + """import threading


@nki.jit
def threads(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    wrong = []

    def other():
        try:
            nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
        except RuntimeError as problem:
            wrong.append(problem)

    one = threading.Thread(target=other)
    one.start()
    one.join()
    raise wrong[0]
"""

ENDS = HEAD + """import os


@nki.jit
def ends(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    os.write(2, b"\\x1b]0;title\\x07 \\x1b[31mred\\n")
    print("\\x1b[32mgreen")
    os._exit(3)
"""

LOOKS = HEAD + """import os


def may(what):
    try:
        what()
        return True
    except OSError:
        return False


@nki.jit
def looks(x):
    above = os.getppid()
    here = os.path.dirname(os.path.abspath(__file__))
    print("signals", may(lambda: os.kill(above, 0)))
    print("looks", may(lambda: os.close(os.open(f"/proc/{above}/fd/1", os.O_WRONLY))))
    print("writes", may(lambda: open(os.path.join(here, "kernel.py"), "a").close()))
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=y, src=x)
    return y
"""


class Tracing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(self.folder.cleanup)
        self.home = pathlib.Path(self.folder.name)
        self.task, self.site = self.home / "task", self.home / "site"
        self.task.mkdir()
        (self.site / "others").mkdir(parents=True)
        (self.site / "others" / "__init__.py").write_text("")
        (self.site / "others" / "plan.py").write_text(PLAN)
        (self.task / "reference.py").write_text(REFERENCE)

    def hone(self, *arguments, site=True, python=None):
        environment = {**os.environ, "HOME": str(self.home), "XDG_CACHE_HOME": str(self.home / "c"),
                       "XDG_CONFIG_HOME": str(self.home / "config")}
        environment.pop("PYTHONPATH", None)
        if site:
            environment["PYTHONPATH"] = str(self.site)
        if python:
            environment["HONE_PYTHON"] = python
        return subprocess.run([HONE, *map(str, arguments)], cwd=self.task, env=environment,
                              text=True, capture_output=True, timeout=600)

    def sim(self, kernel, *arguments, **more):
        (self.task / "kernel.py").write_text(kernel)
        return json.loads(self.hone("sim", "kernel.py", "--json", *arguments, **more).stdout)

    def codes(self, row):
        return [one["code"] for one in row["diagnostics"]]

    def same(self, *arguments):
        """What both ways say of a kernel, apart from who evaluated it."""
        rows = []
        for who in ("hone", "python3"):
            row = json.loads(self.hone("sim", *arguments, "--json", "--tracing", who).stdout)
            told = self.codes(row)
            self.assertEqual("hone-traced-by-python3" in told, who == "python3", row)
            row["diagnostics"] = [one for one in row["diagnostics"]
                                  if one["code"] != "hone-traced-by-python3"]
            rows.append({key: row[key] for key in
                         ("diagnostics", "instructions", "latency_us", "compiles", "causes",
                          "seeds", "metrics", "function", "cores") if key in row})
        self.assertEqual(rows[0], rows[1])
        return rows[1]

    def test_seeds_become_the_same_programs(self):
        row = self.same(SEEDS / "softmax", "--seeds", "0")
        self.assertGreater(row["instructions"], 0)

    def test_two_cores_are_the_same(self):
        (self.task / "kernel.py").write_text(TWO_CORES)
        (self.task / "reference.py").write_text(REFERENCE.replace("512", "128"))
        self.assertEqual(self.same("kernel.py")["cores"], 2)

    def test_modules_of_others_work_and_are_a_gap_without(self):
        row = self.sim(DOUBLE, "--tracing", "python3")
        self.assertTrue(row["compiles"] and row["correct"], row)
        self.assertEqual(row["instructions"], 12)
        row = self.sim(DOUBLE)
        self.assertFalse(row["compiles"])
        self.assertEqual(self.codes(row), ["hone-gap-module"])
        row = self.sim(DOUBLE, "--tracing", "python3", site=False)
        self.assertEqual(self.codes(row), ["ModuleNotFoundError"])
        self.assertEqual(row["diagnostics"][0]["line"], 4)

    def test_numpy_is_the_installed_one(self):
        (self.task / "reference.py").write_text(REFERENCE.replace("512", "128"))
        row = self.sim(BY_NUMPY, "--tracing", "python3")
        self.assertTrue(row["compiles"] and row["correct"], row)

    def test_a_body_of_a_loop_on_the_device_is_traced_once(self):
        row = self.sim(COUNTS, "--tracing", "python3")
        self.assertTrue(row["compiles"] and row["correct"], row)
        told = " ".join(one["message"] for one in row["diagnostics"])
        self.assertIn("counted 1 [1]", told)
        self.assertIn("changes 'n', which Python keeps", told)
        self.assertIn("changes 'seen'", told)

    def test_it_is_the_same_python_whether_or_not_inputs_are_at_hand(self):
        told = [[one["message"] for one in self.sim(DOUBLE, "--tracing", "python3")["diagnostics"]]
                for _ in range(2)]
        self.assertEqual(told[0], told[1])
        done = self.hone("sim", "kernel.py", "--json", "--tracing", "python3", python="/no/python")
        self.assertIn("HONE_PYTHON names /no/python", done.stdout + done.stderr)

    def test_other_threads_are_refused(self):
        row = self.sim(THREADS, "--tracing", "python3")
        self.assertIn("another thread", row["diagnostics"][0]["message"])

    def test_releases_that_a_compiler_reads_refuse_it(self):
        kernel = TWO_CORES.replace("(lnc=2)", "")
        row = self.sim(kernel, "--tracing", "python3", "--release", "0.6")
        self.assertEqual(self.codes(row), ["hone-trace"])
        self.assertIn("since NKI 0.7", row["diagnostics"][0]["message"])

    def test_errors_are_told_with_the_calls_to_them(self):
        wrong = DOUBLE.replace("operand0=2.0", "operand0='two'")
        row = self.sim(wrong, "--tracing", "python3")
        first, *notes = row["diagnostics"]
        self.assertEqual((first["line"], first["severity"]), (14, "error"))
        self.assertTrue(any("part" in one["message"] for one in notes), notes)

    def test_what_a_kernel_prints_does_not_reach_the_terminal_as_it_is(self):
        (self.task / "kernel.py").write_text(ENDS)
        done = self.hone("sim", "kernel.py", "--tracing", "python3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("exit status 3", done.stdout)
        self.assertIn("kernel.py:11", done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertNotIn("\x07", done.stdout + done.stderr)

    def test_it_reaches_neither_the_runner_nor_files(self):
        row = self.sim(LOOKS, "--tracing", "python3", "--no-verify")
        told = {one["message"].split()[0]: one["message"].split()[1]
                for one in row["diagnostics"] if one["code"] == "print"}
        if row.get("wall") in ("bubblewrap", "namespaces", "landlock"):
            self.assertEqual(told, {"signals": told["signals"], "looks": "False",
                                    "writes": "False"})

    def test_a_session_keeps_it(self):
        (self.task / "kernel.py").write_text(DOUBLE)
        run = self.hone("run", ".", "--tracing", "python3", "--rounds", "1", "--json")
        self.assertIn("hone-traced-by-python3", run.stdout)
        row = json.loads(self.hone("sim", ".#0", "--json", "--seeds", "0").stdout)
        self.assertIn("hone-traced-by-python3", self.codes(row))
        again = self.hone("run", ".", "--tracing", "hone", "--rounds", "1")
        self.assertEqual(again.returncode, 2)
        self.assertIn("in this session python3 evaluates kernels", again.stderr + again.stdout)

    def test_the_file_beside_a_task_cannot_ask_for_it(self):
        (self.task / ".hone").mkdir()
        (self.task / ".hone" / "config.ini").write_text("[defaults]\ntracing = python3\n")
        (self.task / "kernel.py").write_text(DOUBLE)
        done = self.hone("sim", "kernel.py", "--json")
        self.assertNotIn("hone-traced-by-python3", done.stdout)


if __name__ == "__main__":
    unittest.main()
