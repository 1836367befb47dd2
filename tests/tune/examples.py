# SPDX-License-Identifier: Apache-2.0
"""The kernels that prompts show (prompts/examples) compute what they say, on every generation."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HONE = sys.argv.pop(1)
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "prompts" / "examples"
REFERENCE = """import numpy as np


def get_inputs():
    return [np.random.normal(size=(128, 256)).astype(np.float32),
            np.random.normal(size=(256, 512)).astype(np.float32)]


def forward(x, w):
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True) @ w


def transform_to_nki_inputs(inputs):
    return inputs


def transform_nki_outputs(k_res, ref):
    return [np.reshape(k_res[0] if isinstance(k_res, (tuple, list)) else k_res, ref.shape)]
"""


class Examples(unittest.TestCase):
    def test_they_are_correct(self):
        with tempfile.TemporaryDirectory() as folder:
            reference = pathlib.Path(folder) / "reference.py"
            reference.write_text(REFERENCE)
            for name in "current", "legacy":
                for device in "trn1", "trn2", "trn3":
                    done = subprocess.run(
                        [HONE, "sim", EXAMPLES / f"{name}.py", "--reference", reference,
                         "--device", device, "--json"], stdout=subprocess.PIPE)
                    result = json.loads(done.stdout)
                    self.assertEqual(done.returncode, 0, result)
                    self.assertIs(result["correct"], True)
                    self.assertEqual(result["dialect"], name)
                    self.assertEqual(result["diagnostics"], [])


unittest.main()
