# SPDX-License-Identifier: Apache-2.0
"""The canary: an honest toolchain passes, once for a session. One that lies does not, however it
lies."""

import contextlib
import os
import shutil
import sys
import tempfile
import types
import unittest

import common
from hone_runner import context as contexts

try:
    import harness
    import numpy as np
except ImportError:
    raise unittest.SkipTest("numpy is not installed")

from hone_runner.sdk import bench, canary, compile as compiling, execute, routes, verdict

sys.path.insert(0, common.HERE)


class Events:
    def __init__(self):
        self.texts = []

    def log(self, text, severity="note"):
        self.texts.append(text)

    def emit(self, event, **fields):
        self.texts.append(event)


class Reference:
    """The comparison itself, without a process."""

    def __init__(self, folder):
        random = np.random.default_rng(1)
        self.a, self.b = [random.standard_normal((128, 512)).astype(np.float32) for _ in range(2)]
        self.expected = self.a * np.float32(2) + self.b
        self.folder = folder

    def inputs_of(self, seed):
        return self.folder

    def output_hints(self, seed):
        return None

    def compare(self, runs):
        for seed, rows in runs:
            yield seed, [dict(harness.match(0, np.fromfile(rows[0]["path"], np.float32),
                                            self.expected.reshape(-1), False), is_input=False)]


def honest(name, a, b):
    factor, other = next(pair for kernel, pair, _ in canary.KERNELS if kernel == name)
    return a * np.float32(factor) + b * np.float32(other)


def steady(who, number):
    return 16.0 + 0.01 * ((number * 7) % 5)


class Toolchain(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hone-sdk-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.host = types.SimpleNamespace(chosen=types.SimpleNamespace(path="/opt/x"),
                                          packages={"nki": "0.6.0"}, tools={})
        self.compiled, self.seams, self.absent = [], [], None

    def context(self, session="s"):
        phase = contextlib.nullcontext
        for name in ("work", "cache"):
            os.makedirs(os.path.join(self.folder, name), exist_ok=True)
        return types.SimpleNamespace(
            job={"session": session}, environment=self.host, events=Events(), phase=phase,
            work=os.path.join(self.folder, "work"), cache=os.path.join(self.folder, "cache"),
            folder=types.SimpleNamespace(id="j"))

    def run_canary(self, run=honest, latency=steady, session="s", broken=()):
        """Runs it on a toolchain that computes by `run` and measures `latency`. broken: {seam: why
        it does not compile}."""
        context = self.context(session)
        reference = Reference(self.folder)

        def execute(program, inputs, results):
            os.makedirs(results, exist_ok=True)
            path = os.path.join(results, "out.bin")
            self.seam = program.seam
            run(program.kernel.label[len("canary-"):], reference.a, reference.b).tofile(path)
            return [{"path": path, "dtype": "float32", "shape": [128, 512]}]

        def compile_kernel(kernel, inputs, hints):
            self.compiled.append(kernel.label)
            seam = ways.compile()["current"][0]
            self.seams.append(seam)
            if broken and seam == self.absent:
                raise compiling.NoSeam("no way to compile is known")
            if seam in broken:
                raise compiling.Refused(broken[seam], about={"seam": seam})
            return types.SimpleNamespace(kernel=kernel, dialect="current", seam=seam)

        ways = self.ways = routes.Ways(routes.route_for("standalone", "2.32"))
        compiler = types.SimpleNamespace(device="trn2", lnc=1, ways=ways, compile=compile_kernel)

        @contextlib.contextmanager
        def held():
            yield None, types.SimpleNamespace(run=execute)

        checked = canary.Canary(context, "current", compiler, held)
        checked.prepare = lambda: reference
        checked.measure = lambda device, program, found: {
            who: [latency(who, i) for i in range(canary.PAIRS)] for who in ("incumbent", "kernel")}
        checked.run()
        return context.events.texts

    def refused(self, part, **options):
        with self.assertRaises(contexts.Failed) as caught:
            self.run_canary(**options)
        self.assertEqual("environment", caught.exception.kind)
        self.assertIn(part, str(caught.exception))

    def test_it_chooses_the_seam_of_the_session(self):
        texts = "\n".join(self.run_canary(broken={"nir": "a name was moved"}))
        self.assertRegex(texts, "does not pass by nir: .*a name was moved.*trying the next way")
        self.assertRegex(texts, r"kernels compile by context \(a front end")
        self.assertEqual(("context", ["nir"]), (self.ways.proven, list(self.ways.skipped)))
        self.assertEqual("context", self.ways.compile()["current"][0])
        self.assertNotIn("nir", self.ways.compile()["current"])
        texts = "\n".join(self.run_canary())
        self.assertIn("passed before in this session; kernels compile by context", texts)
        self.assertEqual(("context", ["nir"]), (self.ways.proven, list(self.ways.skipped)))

    def test_a_seam_that_compiles_something_else_is_passed_over(self):
        texts = "\n".join(self.run_canary(run=lambda name, a, b: honest(name, a, b) * np.float32(
            0 if self.seam in ("nir", "context") else 1)))
        self.assertIn("does not pass by nir: results from this host cannot be believed", texts)
        self.assertEqual("executor", self.ways.proven)

    def test_when_no_seam_is_left_the_first_failure_is_told(self):
        every = routes.CURRENT
        self.refused("does not compile: by nir", broken={name: "by " + name for name in every})
        self.assertEqual(set(every), set(self.seams))

    def test_when_the_other_seams_are_not_there_the_first_failure_is_told(self):
        self.absent = "context"
        self.refused("does not compile: by nir", broken={"nir": "by nir"})
        self.absent = "nir"
        self.refused("no way to compile is known", broken={"context": ""})

    def test_an_honest_toolchain_passes_once_for_a_session(self):
        self.assertIn("the canary passes", "\n".join(self.run_canary()))
        self.assertEqual(3, len(self.compiled))
        self.assertIn("passed before", "\n".join(self.run_canary()))
        self.assertEqual(3, len(self.compiled))
        self.run_canary(session="another")
        self.assertEqual(6, len(self.compiled))

    def test_another_environment_is_not_believed_for_the_first_one(self):
        self.run_canary()
        self.host.packages = {"nki": "0.7.0"}
        self.run_canary()
        self.assertEqual(6, len(self.compiled))

    def test_zeros_with_exit_status_0_and_plausible_latencies(self):
        self.refused("is all zero", run=lambda name, a, b: np.zeros_like(a))
        self.refused("is all zero", run=lambda name, a, b: np.zeros_like(a))    # and again

    def test_a_toolchain_that_is_a_little_off(self):
        self.refused("off by a relative L2 of 0.001",
                     run=lambda name, a, b: honest(name, a, b) * np.float32(1.001))

    def test_a_good_kernel_that_fails_on_the_device(self):
        def run(name, a, b):
            raise execute.KernelFailed("no memory")
        self.refused("known to be good fails on this host: no memory", run=run)
        self.assertEqual({"nir"}, set(self.seams))

    def test_nan(self):
        self.refused("NaN", run=lambda name, a, b: a * np.float32("nan"))

    def test_outputs_that_do_not_come_from_the_kernel(self):
        """The right answer whatever the kernel computes, because it is cached, or made by something
        else."""
        self.refused("writes zeros passes", run=lambda name, a, b: honest("good", a, b))
        self.refused("wrong by 0.1 % passes",
                     run=lambda name, a, b: honest("good" if name == "wrong" else name, a, b))

    def test_a_clock_that_prefers_one_of_two_equals(self):
        self.refused("measured against itself differs",
                     latency=lambda who, i: steady(who, i) * (1.5 if who == "kernel" else 1))

    def test_noise_is_no_change(self):
        self.run_canary(latency=lambda who, i: 16.0 + 4 * ((i * 3 + (who == "kernel")) % 5))


class Kernels(unittest.TestCase):
    def test_the_wrong_one_is_wrong_by_little_and_the_good_one_is_right(self):
        random = np.random.default_rng(5)
        a, b = [random.standard_normal((128, 512)).astype(np.float32) for _ in range(2)]
        expected = a * np.float32(2) + b
        for name, _, passes in canary.KERNELS:
            found = harness.match(0, honest(name, a, b), expected, False)
            self.assertEqual(passes, found["rel_l2"] <= verdict.TOLERANCE, name)
        self.assertLess(harness.match(0, honest("wrong", a, b), expected, False)["rel_l2"], 1e-3)

    def test_the_texts_parse_in_both_dialects(self):
        from hone_runner.sdk import source
        for dialect in canary.TEXTS:
            for name, _, _ in canary.KERNELS:
                tree = source.ast.parse(canary.text_of(dialect, name))
                self.assertEqual(dialect, source.dialect(tree))
                self.assertEqual("canary", source.find_kernel(tree, None).name)

    def test_enough_pairs_are_taken_to_judge(self):
        self.assertGreaterEqual(canary.PAIRS, verdict.FEWEST_SAMPLES)
        self.assertGreaterEqual(bench.ALONE, verdict.FEWEST_SAMPLES)


if __name__ == "__main__":
    unittest.main()
