# SPDX-License-Identifier: Apache-2.0
"""The loop writes a kernel anew from its reference where that is faster, whatever dialect the
kernel is in, and goes on from it."""
import json
import os
import tempfile
import unittest

from writing import Writing

REFERENCE = """
import numpy as np

def get_inputs():
    return [np.random.normal(size=(256, 256)).astype(np.float32) for _ in range(2)]

def forward(x, w):
    return np.matmul(x, w)
"""
# Loads both tiles again for each small product; the spelling is one that no edit matches.
KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def slow_product(x, w):
    out = nl.ndarray((256, 256), dtype=x.dtype, buffer=nl.shared_hbm)
    i, j = nl.mgrid[0:32, 0:32]
    for m in nl.affine_range(8):
        for n in nl.affine_range(8):
            total = nl.zeros((nl.par_dim(32), 32), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(8):
                total += nl.matmul(nl.load(x[m * 32 + i, k * 32 + j]),
                                   nl.load(w[k * 32 + i, n * 32 + j]))
            nl.store(out[m * 32 + i, n * 32 + j], nl.copy(total, dtype=x.dtype))
    return out
"""


class Anew(Writing):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("product"))
        for name, text in (("kernel.py", KERNEL), ("reference.py", REFERENCE)):
            with open(self.path("product", name), "w", encoding="utf-8") as file:
                file.write(text)

    def run_loop(self, *options):
        done = self.hone("run", "product", "--json", *options)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_the_loop_writes_it_anew_and_goes_on(self):
        events = self.run_loop("--rounds", "2")
        plans = [event for event in events if event["event"] == "plans"]
        first = plans[0]["plans"][0]
        self.assertEqual(first["strategy"], "anew", first)
        self.assertIn("Write the kernel anew from the reference", first["title"])
        self.assertIn("Replaces the whole kernel", first["what"])
        self.assertIn("Computed by the device model", first["why"])
        self.assertLess(first["latency"], 0)
        kernel = next(event for event in events if event["event"] == "candidate")["source"]
        self.assertIn("import nki\n", kernel)
        self.assertIn("def slow_product(x, w):", kernel)
        kept = [event for event in events if event["event"] == "decided"]
        self.assertEqual(kept[0]["status"], "keep", kept[0])
        # What is proposed next is about the new kernel, and its dialect is no obstacle.
        self.assertFalse([event for event in events
                          if "hone-candidate-dialect" in json.dumps(event)])

    def test_a_reference_that_cannot_be_recorded_is_replaced_by_what_the_kernel_computes(self):
        with open(self.path("product", "reference.py"), "w", encoding="utf-8") as file:
            file.write(REFERENCE.replace("    return np.matmul", "    if float(x[0, 0]) > 1e9:\n"
                                         "        return x\n    return np.matmul"))
        events = self.run_loop("--rounds", "1")
        plan = next(event for event in events if event["event"] == "plans")["plans"][0]
        self.assertEqual(plan["title"], "Write the kernel anew from what it computes")
        self.assertIn("written from what the kernel computes", plan["what"])
        decided = next(event for event in events if event["event"] == "decided")
        self.assertEqual(decided["status"], "keep", decided)

    def test_nothing_left_is_explained(self):
        events = self.run_loop("--rounds", "12")
        said = [event.get("text", "") for event in events if event["event"] == "log"]
        self.assertIn("nothing left to propose", json.dumps(events[-4:]))
        self.assertTrue([text for text in said if text.startswith("what is left above the floor")
                         and "most of the time is at line" in text], said)

    def test_the_precision_is_a_persons_decision(self):
        events = self.run_loop("--rounds", "1", "--precision", "split")
        plan = next(event for event in events if event["event"] == "plans")["plans"][0]
        self.assertIn("precision: split", plan["what"])
        self.assertTrue(plan["key"].startswith("anew:split"), plan["key"])

    def test_the_search_is_the_same_each_time(self):
        def plan():
            events = self.run_loop("--rounds", "1", "--session",
                                   tempfile.mkdtemp(dir=self.folder.name))
            return next(event for event in events if event["event"] == "plans")["plans"][0]["key"]
        self.assertEqual(plan(), plan())


if __name__ == "__main__":
    unittest.main()
