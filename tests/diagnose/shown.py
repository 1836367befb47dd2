#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiles that device_print and --break show, in both dialects: shown.py HONE."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HONE = os.path.abspath(sys.argv.pop(1))

CURRENT = """import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def kernel(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(2):
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i * 128:(i + 1) * 128, :])
        nl.device_print("loaded \\x1b[31m%s" % i, tile)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=y[i * 128:(i + 1) * 128, :], src=tile)
    nl.device_print("end", tile[0:1, 0:2])
    return y
"""
LEGACY = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def kernel(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        tile = nl.load(x[i * 128:(i + 1) * 128, :])
        nl.device_print("loaded", tile)
        nl.store(y[i * 128:(i + 1) * 128, :], nl.multiply(tile, 2.0))
    return y
"""
REFERENCE = """import numpy as np
def get_inputs():
    x = np.arange(256 * 64, dtype=np.float32).reshape(256, 64)
    x[3, 5] = 0
    return [x]
def forward(x):
    return x * 2
"""


class Shown(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="hone_shown_")
        self.addCleanup(self.place.cleanup)
        (pathlib.Path(self.place.name) / "reference.py").write_text(REFERENCE)

    def sim(self, kernel, *args):
        (pathlib.Path(self.place.name) / "kernel.py").write_text(kernel)
        env = dict(os.environ, HOME=self.place.name, XDG_CACHE_HOME=self.place.name + "/cache")
        return subprocess.run([HONE, "sim", self.place.name, "--seeds", "0", *args], env=env,
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120).stdout

    def test_device_print_shows_the_tile_as_it_is_then(self):
        lines = self.sim(CURRENT).splitlines()
        begin = [i for i, line in enumerate(lines) if "device_print" in line]
        self.assertEqual([lines[i] for i in begin],
                         ["line 11 device_print: loaded ␛[31m0", "line 11 device_print: loaded "
                          "␛[31m1", "line 14 device_print: end"])
        self.assertEqual(lines[begin[0] + 1], "  tensor sbuf:tile[0:128, 0:64] f32")
        self.assertIn("min 0  max 8191", lines[begin[0] + 2])
        self.assertIn("zero 2 (0.0244 %)", lines[begin[0] + 2])
        self.assertIn("min 8192  max 16383", lines[begin[1] + 2])
        self.assertIn("min 16384  max 16386", lines[begin[2] + 2])   # doubled by then

    def test_the_legacy_dialect_prints_too(self):
        text = self.sim(LEGACY)
        self.assertEqual(text.count("line 9 device_print: loaded"), 2)
        self.assertIn("min 8192  max 16383", text)

    def test_a_breakpoint_shows_operands_before_and_results_after(self):
        shown = json.loads(self.sim(CURRENT, "--break", "12:2", "--json"))["shown"]
        at = shown.index("line 12, instruction 2 of this line: tensor_scalar")
        rest = "\n".join(shown[at:])
        self.assertIn("  data sbuf:tile", rest)
        self.assertIn("min 8192  max 16383", rest)
        self.assertIn("  dst sbuf:tile", rest)
        self.assertIn("min 16384  max 32766", rest)

    def test_a_line_that_is_never_reached_is_said(self):
        self.assertIn("line 12: 2 instructions were executed there, not 9",
                      self.sim(CURRENT, "--break", "12:9"))
        self.assertIn("line 1: 0 instructions were executed there",
                      self.sim(CURRENT, "--break", "1"))
        self.assertIn("--break is a line of the kernel", self.sim(CURRENT, "--break", "x"))


if __name__ == "__main__":
    unittest.main()
