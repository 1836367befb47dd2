# SPDX-License-Identifier: Apache-2.0
"""The loop writes a kernel anew from its reference where that is faster, whatever dialect the
kernel is in, and goes on from it."""
import json
import os
import tempfile
import unittest

from writing import Writing, inputs_of

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

    def run_loop(self, *options, task="product"):
        done = self.hone("run", task, "--json", *options)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def rows(self, task):
        """What is known of each attempt, as other agents read it."""
        with open(self.path(task, ".hone", task, "experiments.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

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
        self.assertTrue([text for text in said if text.startswith("timed, and no gain: ")], said)

    def wide_product(self):
        """One that waits for the Tensor engine, and not for memory: halves are faster."""
        text = inputs_of((512, 1152), (1152, 1024)) + "def forward(x, w):\n    return x @ w\n"
        self.new("wide", self.reference_of("wide", text), "--no-sim")

    def test_the_precision_is_a_persons_decision(self):
        self.wide_product()
        events = self.run_loop("--rounds", "1", "--precision", "split", task="wide")
        plan = next(event for event in events if event["event"] == "plans")["plans"][0]
        self.assertIn("precision: split", plan["what"])
        self.assertTrue(plan["key"].startswith("anew:split"), plan["key"])
        kept = [row for row in self.rows("wide") if row["status"] == "improved"]
        self.assertEqual([row["precision"] for row in kept], ["split"])
        # A kernel that is not exact enough any more is neither the best nor gone on from.
        again = self.run_loop("--rounds", "2", "--precision", "keep", task="wide")
        summary = next(event for event in again if event["event"] == "summary")
        self.assertEqual(summary["precision"], "keep", summary)
        self.assertEqual([row["precision"] for row in summary["classes"]], ["keep", "split"])
        last = self.rows("wide")[-1]
        self.assertEqual((last["parent"], last["precision"]), (0, "keep"), last)

    def test_what_other_precisions_would_bring_is_said_once(self):
        self.wide_product()
        events = self.run_loop("--rounds", "2", task="wide")
        offers = [event for event in events if event["event"] == "offer"]
        self.assertEqual(len(offers), 1)
        self.assertLess(offers[0]["split_us"], offers[0]["keep_us"])
        said = [event.get("text", "") for event in events if event["event"] == "log"]
        self.assertEqual(sum(text.startswith("in precision split") for text in said), 1, said)

    def test_the_search_is_the_same_each_time(self):
        def plan():
            events = self.run_loop("--rounds", "1", "--session",
                                   tempfile.mkdtemp(dir=self.folder.name))
            return next(event for event in events if event["event"] == "plans")["plans"][0]["key"]
        self.assertEqual(plan(), plan())


if __name__ == "__main__":
    unittest.main()
