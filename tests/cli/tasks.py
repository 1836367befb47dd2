#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tasks as people have them: several shapes with weights, arguments that are made of others,
outputs with names, tolerances of their own and infinities: tasks.py HONE."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HONE = os.path.abspath(sys.argv.pop(1))

HEAD = """import nki
import nki.isa as nisa
import nki.language as nl
"""

TRIPLE = HEAD + """
@nki.jit
def triple(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(x.shape[0] // 128):
        tile = nl.ndarray((128, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128:(i + 1) * 128, :])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=3.0)
        nisa.dma_copy(dst=y[i * 128:(i + 1) * 128, :], src=tile)
    return y
"""

SHAPES = """import numpy as np
SHAPES = {"decode": {"rows": 128}, "prefill": {"rows": 1024}}
WEIGHTS = {"decode": 3, "prefill": 1}
def get_inputs(rows):
    return [np.random.rand(rows, 256).astype(np.float32)]
def forward(x):
    return x * 3
"""

NARROW = HEAD + """
@nki.jit
def blocks(x):
    y = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    acc = nl.ndarray((128, 64), dtype=nl.bfloat16, buffer=nl.sbuf)
    nisa.memset(dst=acc, value=0.0)
    for n in range(4):
        t = nl.ndarray((128, 64), dtype=nl.float8_e5m2, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[0:128, n * 64:(n + 1) * 64])
        nisa.tensor_tensor(dst=acc, data1=acc, data2=t, op=nl.add)
    nisa.dma_copy(dst=y, src=acc)
    return y
"""

BLOCKS = """import numpy as np
def get_inputs():
    return [np.random.rand(128, 256).astype(np.float32)]
def forward(x):
    return x.reshape(128, 4, 64).sum(axis=1)
"""

AS_BITS = """    bits = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=bits, src=acc.view(nl.uint16))
    nisa.dma_copy(dst=y, src=bits)
"""

NESTED = HEAD + """from dataclasses import dataclass
from enum import Enum

class Act(Enum):
    DOUBLE = 2
    TRIPLE = 3

@dataclass
class Config:
    act: Act
    dtype: object
    def factor(self):
        return float(self.act.value)

@nki.jit
def nested(x, weights, config):
    assert config.act == Act.TRIPLE
    y = nl.ndarray(x.shape, dtype=config.dtype, buffer=nl.shared_hbm)
    m = nl.ndarray(x.shape, dtype=config.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    w = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=w, src=weights["w"])
    if weights["bias"] is not None:
        nisa.dma_copy(dst=w, src=weights["bias"])
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=config.factor())
    nisa.tensor_tensor(dst=tile, data1=tile, data2=w, op=nl.add)
    nisa.dma_copy(dst=y, src=tile)
    mask = nl.ndarray(x.shape, dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=mask, data=tile, op0=nl.greater, operand0=2.0)
    low = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=low, value=-float("inf"))
    nisa.tensor_copy_predicated(dst=low, src=tile, predicate=mask)
    nisa.dma_copy(dst=m, src=low)
    return {"y": y, "m": m}
"""

NESTED_REFERENCE = """import dataclasses, enum
import numpy as np
class Act(enum.Enum):
    DOUBLE = 2
    TRIPLE = 3
@dataclasses.dataclass
class Config:
    act: Act
    dtype: type
TOLERANCE = {"y": 1e-6, "m": 1e-5}
def get_inputs():
    return [np.random.rand(128, 64).astype(np.float32) for _ in range(2)]
def forward(x, w):
    y = x * 3 + w
    return {"y": y, "m": np.where(y > 2, y, -np.inf)}
def transform_to_nki_inputs(inputs):
    return {"x": inputs[0], "weights": {"w": inputs[1], "bias": None},
            "config": Config(Act.TRIPLE, np.float32)}
"""


class Tasks(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="hone_tasks_")
        self.addCleanup(self.place.cleanup)
        self.env = dict(os.environ, HOME=self.place.name, XDG_CACHE_HOME=self.place.name + "/cache",
                        XDG_CONFIG_HOME=self.place.name + "/config")

    def hone(self, *args, kernel, reference):
        folder = pathlib.Path(self.place.name) / "task"
        folder.mkdir(exist_ok=True)
        (folder / "kernel.py").write_text(kernel)
        (folder / "reference.py").write_text(reference)
        return subprocess.run([HONE, args[0], str(folder), *args[1:]], env=self.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)

    def sim(self, kernel, reference, *more):
        done = self.hone("sim", "--json", "--seeds", "0,21", *more, kernel=kernel,
                         reference=reference)
        return done, json.loads(done.stdout[done.stdout.index("{"):])

    def test_the_latency_of_several_shapes_is_their_weighted_mean(self):
        done, row = self.sim(TRIPLE, SHAPES)
        self.assertEqual(done.returncode, 0, done.stdout)
        of = [row["metrics"]["latency_us." + name] for name in ("decode", "prefill")]
        self.assertGreater(of[1], of[0])
        self.assertAlmostEqual(row["latency_us"], (3 * of[0] + of[1]) / 4, places=6)
        self.assertTrue(row["correct"] and row["credible"])

    def test_a_kernel_must_be_right_for_every_shape(self):
        wrong = TRIPLE.replace("operand0=3.0", "operand0=3.0 if x.shape[0] == 128 else 3.1")
        done, row = self.sim(wrong, SHAPES)
        self.assertEqual(done.returncode, 1)
        self.assertFalse(row["correct"])
        text = self.hone("sim", kernel=wrong, reference=SHAPES).stdout
        self.assertIn("correct   no: prefill: seed 0: relative L2 is 0.0333", text)

    def test_a_kernel_must_compile_for_every_shape(self):
        wrong = TRIPLE.replace("    y =", "    assert x.shape[0] < 512, 'too long'\n    y =", 1)
        text = self.hone("check", kernel=wrong, reference=SHAPES).stdout
        self.assertIn("too long", text)
        text = self.hone("sim", kernel=wrong, reference=SHAPES).stdout
        self.assertIn("compiles  no: prefill: ", text)
        self.assertNotIn("correct   yes", text)

    def errors(self, kernel):
        """As the device rounds, and with tiles that keep float32."""
        rows = [self.sim(kernel, BLOCKS, *more)[1] for more in ((), ("--unrounded",))]
        told = ["hone-unrounded" in [one["code"] for one in row["diagnostics"]] for row in rows]
        self.assertEqual(told, [False, True])
        return [max(seed["rel_l2"] for seed in row["seeds"]) for row in rows]

    def test_an_error_of_rounding_is_told_from_one_of_the_algorithm(self):
        rounded, kept = self.errors(NARROW)
        self.assertGreater(rounded, 1e-2)
        self.assertLess(kept, 1e-6)
        self.assertGreater(min(self.errors(NARROW.replace("range(4)", "range(3)"))), 1e-1)
        bits = NARROW.replace("    nisa.dma_copy(dst=y, src=acc)\n", AS_BITS)
        bits = bits.replace("float8_e5m2", "float32")
        rounded, kept = self.errors(bits)  # a tile that is read as bits stays as it is
        self.assertEqual(rounded, kept)

    def test_a_launch_that_is_not_run_is_told(self):
        launched = TRIPLE + "\ndef launch(x):\n    return triple[2](x)\n"
        for command in ("check", "sim"):
            text = self.hone(command, "--kernel-name", "triple", kernel=launched,
                             reference=SHAPES).stdout
            self.assertIn("this launch of 2 programs is not run", text)
            self.assertIn("[hone-launch-not-run]", text)
        text = self.hone("check", kernel=TRIPLE, reference=SHAPES).stdout
        self.assertNotIn("hone-launch-not-run", text)

    def test_the_loop_tunes_for_all_shapes(self):
        twice = "        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=%s)\n"
        begin = "        nisa.tensor_scalar("
        slow = TRIPLE.replace(begin, twice % 2.0 + twice % 0.5 + begin)
        done = self.hone("run", "--rounds", "2", "--seeds", "0", "--json", kernel=slow,
                         reference=SHAPES)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        self.assertFalse("Write the kernel anew" in done.stdout)
        self.assertTrue("shape prefill" in done.stdout)

    def test_what_shapes_may_be_is_said(self):
        text = self.hone("sim", kernel=TRIPLE,
                         reference=SHAPES.replace('"prefill": 1}', '"x": 1}')).stdout
        self.assertIn("WEIGHTS must be a dict", text)
        text = self.hone("sim", kernel=TRIPLE,
                         reference=SHAPES.replace('"prefill": {"rows": 1024}', '"a b": {}')).stdout
        self.assertIn("SHAPES must be a dict", text)

    def test_arguments_outputs_and_tolerances_as_people_have_them(self):
        done, row = self.sim(NESTED, NESTED_REFERENCE)
        self.assertEqual(done.returncode, 0, done.stdout)
        text = self.hone("sim", kernel=NESTED.replace("config.factor()", "3.00003"),
                         reference=NESTED_REFERENCE).stdout
        self.assertIn("allowed is 1e-06", text)
        text = self.hone("sim", kernel=NESTED.replace("Act.TRIPLE\n", "Act.DOUBLE\n", 1),
                         reference=NESTED_REFERENCE).stdout
        self.assertIn("AssertionError", text)


if __name__ == "__main__":
    unittest.main()
