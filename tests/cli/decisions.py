#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone run --gate ask --json: a program decides at the gates, by JSON lines on standard input."""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tune"))
from small_task import KERNEL, REFERENCE  # noqa: E402

HONE = os.path.abspath(sys.argv.pop(1))
ROOT = HERE.parent.parent
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone_decisions_"))
ENV = dict(os.environ, XDG_CACHE_HOME=str(FOLDER / "cache"), XDG_STATE_HOME=str(FOLDER / "state"),
           XDG_CONFIG_HOME=str(FOLDER / "config"))


SUMS = """import numpy as np


def forward(x):
    return x.reshape(128, 16, 64).sum(axis=1)


def get_inputs():
    return [np.random.randn(128, 1024).astype(np.float32)]
"""
SUM = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    y = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    for n in range(16):
        part = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=part, src=x[:, n * 64:(n + 1) * 64])
        nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)
    nisa.dma_copy(dst=y, src=total)
    return y
"""
COUNTED = SUM.replace("    for n in range(16):\n", """
    one = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
    count = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=one, src=x[0:1, 0:1])
    nisa.tensor_scalar(dst=count, data=one, op0=nl.multiply, operand0=0.0, op1=nl.add,
                       operand1=16.0)
    rounds = nisa.register_alloc()
    nisa.register_load(dst=rounds, src=count)

    def body(n):
""").replace("    nisa.dma_copy(dst=y", """    nl.fori_loop(0, rounds, body)
    nisa.dma_copy(dst=y""")


class Decisions(unittest.TestCase):
    def setUp(self):
        counts = "counts_its_rounds" in self.id()
        self.task = FOLDER / self.id().split(".")[-1]
        self.task.mkdir()
        (self.task / "kernel.py").write_text(SUM if counts else KERNEL)
        (self.task / "reference.py").write_text(SUMS if counts else REFERENCE)
        self.run = subprocess.Popen(
            [HONE, "run", str(self.task), "--gate", "ask", "--json", "--seeds", "0", "--rounds",
             "2"], env=ENV, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.run.kill)

    def until(self, *names):
        for line in self.run.stdout:
            event = json.loads(line)
            if event["event"] in names:
                return event
        raise AssertionError(f"no {names}")

    def gate(self, step):
        event = self.until("gate", "end")
        self.assertEqual((event["event"], event.get("step")), ("gate", step), event)
        return event

    def decide(self, decision, **keys):
        self.line(json.dumps(dict(keys, decision=decision)))

    def line(self, text):
        self.run.stdin.write(text + "\n")
        self.run.stdin.flush()

    def end(self):
        self.run.stdin.close()
        event = self.until("end")
        self.run.stdout.close()
        self.assertEqual(self.run.wait(30), 0)
        return event

    def test_a_kernel_that_counts_its_rounds_halts_nobody_else(self):
        """A program has the rounds it was made for: the attempt ends there, the loop goes on."""
        self.gate("profile")
        self.decide("write", kernel=COUNTED)
        event = self.until("gate", "disturbed", "pause")
        while event["event"] == "gate" and event["step"] != "decide":
            self.decide("approve")
            event = self.until("gate", "disturbed", "pause", "decided")
        self.assertNotIn(event["event"], ("disturbed", "pause"), event)
        self.end()

    def test_a_program_is_the_persons_hands(self):
        self.gate("profile")
        self.decide("approve")
        gate = self.gate("plan")
        self.assertEqual(gate["lanes"][0]["author"], "rewriter")
        self.decide("reject", reason="not this one")
        self.assertEqual(self.until("act")["text"], "not this one")
        again = self.gate("plan")
        self.assertNotEqual(again["lanes"][0]["title"], gate["lanes"][0]["title"])
        self.decide("edit-plan", text="other words\nfor the same")
        self.assertEqual(self.gate("plan")["lanes"][0]["title"], "other words")
        self.decide("approve")
        self.assertIn("kernel", self.gate("rewrite")["lanes"][0])
        self.decide("edit", kernel=KERNEL.replace("TILE_N = 64", "TILE_N = 512"))
        self.assertIn("TILE_N = 512", self.gate("rewrite")["lanes"][0]["kernel"])
        for step in ("rewrite", "verify", "benchmark"):
            self.decide("approve")
            self.gate({"rewrite": "verify", "verify": "benchmark", "benchmark": "decide"}[step])
        self.decide("overrule", status="revert")
        self.gate("decide")
        self.decide("take-back")
        self.gate("decide")
        self.decide("approve")
        self.gate("summarise")
        self.decide("budget", budget="rounds", limit=1)
        self.gate("summarise")
        self.decide("quit")
        self.assertEqual(self.end()["best"]["attempt"], 1)

    def test_nonsense_is_refused_and_changes_nothing(self):
        self.gate("profile")
        for line, said in (("{", "on one line"), ("7", "on one line"), ("[]", "on one line"),
                           ('{"decision": 1}', "on one line"),
                           ('{"decision": "aprove"}', "did you mean approve"),
                           ('{"decision": "reject"}', 'needs "reason"'),
                           ('{"decision": "reject", "reason": 7}', "cannot be read"),
                           ('{"decision": "revert", "attempt": 1e300}', "cannot be read"),
                           ('{"decision": "budget", "budget": "x"}', "cannot be read"),
                           ('{"decision": "budget", "budget": "wall", "limit": -1}', "negative"),
                           ('{"decision": "edit", "kernel": "x"}', "edit makes no sense now"),
                           ('{"decision": "write", "kernel": "x", "gate": "1"}', "gate"),
                           ('{"decision": "approve", "gate": 2}', "gate 1 waits now"),
                           ('{"decision": "approve"} and more', "on one line"),
                           ('{"decision": "approve"}\0', "on one line"),
                           ('{"decision": "revert", "attempt": 0.5}', "cannot be read"),
                           ('{"decision": "approve", "attmpt": 3}', 'takes no "attmpt"'),
                           ('{"decision": "reject", "reason": "a", "reason": "b"}', "twice"),
                           ('{"decision": "send", "call": 1}', "makes no sense now"),
                           ('{"decision": "\\u001b[2J"}', "no decision"), ("[" * 3000, "line")):
            self.line(line)
            self.assertIn(said, self.until("refused", "end").get("text", "?"), line[:50])
            self.gate("profile")
        self.assertEqual(self.end()["attempts"], 1)

    def test_the_other_kinds_of_decisions(self):
        """Those that nothing above takes; a question to a model is held in the workbench alone."""
        self.gate("profile")
        self.decide("approve")
        first = self.gate("plan")["lanes"][0]["title"]
        self.decide("choose", plan=1)
        second = self.gate("plan")["lanes"][0]["title"]
        self.assertNotEqual(first, second)
        self.decide("another", reason="neither")
        self.assertNotIn(self.gate("plan")["lanes"][0]["title"], (second,))
        self.decide("write", kernel=KERNEL.replace("TILE_N = 64", "TILE_N = 512"))
        lane = self.gate("verify")["lanes"][0]
        self.assertEqual((lane["author"], lane["attempt"], lane["parent"]), ("you", 1, 0))
        for step in ("benchmark", "decide"):
            self.decide("approve")
            self.gate(step)
        self.decide("measure")  # what was decided is open again, and asked about again
        self.gate("benchmark")
        self.decide("approve")
        lane = self.gate("decide")["lanes"][0]
        self.assertEqual((lane["attempt"], lane["parent"]), (1, 0))
        for step in ("summarise", "reflect", "profile"):
            self.decide("approve")
            lane = self.gate(step)["lanes"][0]
        self.assertEqual(lane["parent"], 1)
        self.decide("revert", attempt=0)
        self.assertEqual(self.gate("profile")["lanes"][0]["parent"], 0)
        self.decide("budget", budget="rounds", limit=None)
        self.gate("profile")
        self.assertEqual(self.end()["best"]["attempt"], 1)

    def test_a_gates_line_has_a_number_and_what_can_be_decided(self):
        gate = self.gate("profile")
        self.assertEqual(gate["gate"], 1)
        self.assertNotIn("reject", gate["text"])
        self.assertFalse({"reject", "edit", "edit-plan", "send"} & set(gate["decisions"]), gate)
        self.assertLessEqual({"approve", "budget", "quit"}, set(gate["decisions"]))
        self.decide("budget", budget="wall", limit=5000)
        self.assertEqual(self.gate("profile")["gate"], 1)  # the same question
        self.decide("approve", gate=1)
        self.decide("approve", gate=1)  # by a program that did not look
        gate = self.gate("plan")
        self.assertEqual(gate["gate"], 2)
        self.assertLessEqual({"reject", "choose", "edit-plan"}, set(gate["decisions"]))
        self.assertNotIn("edit", gate["decisions"])
        self.assertIn("gate 2 waits", self.until("refused")["text"])
        self.assertEqual(self.gate("plan")["gate"], 2)
        self.decide("choose", plan=1, gate=2)
        self.assertEqual(self.gate("plan")["gate"], 3)  # another plan waits
        for step in ("rewrite", "verify", "benchmark"):
            self.decide("approve")
            gate = self.gate(step)
        self.assertNotIn("edit", gate["text"])
        self.decide("quit")
        self.end()

    def test_the_end_of_the_input_ends_the_run_wherever_it_comes(self):
        self.gate("profile")
        self.run.stdin.write('{"decision": "appro')  # a line that was never finished
        self.assertEqual(self.end()["attempts"], 1)

    def test_a_line_without_end_ends_the_run(self):
        self.gate("profile")
        with self.assertRaises(BrokenPipeError):
            for _ in range(64):
                self.run.stdin.write("y" * (1 << 20))
                self.run.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            self.run.stdin.close()
        event = self.until("end")
        self.assertIn("too long", event["reason"])
        self.assertEqual(event["attempts"], 1)
        self.assertEqual(self.run.wait(30), 0)
        self.run.stdout.close()

    def test_lines_wait_for_their_gates(self):
        for _ in range(6):
            self.decide("approve")
        self.assertEqual([self.until("gate")["step"] for _ in range(6)],
                         ["profile", "plan", "rewrite", "verify", "benchmark", "decide"])
        self.end()

    def test_the_page_has_them_all(self):
        table = (ROOT / "cli/run/decisions.def").read_text()
        page = (ROOT / "doc/events.md").read_text()
        page = page[page.index("## Decisions"):page.index("## Events")]
        rows = re.findall(r'^DECISION\("([\w-]+)", \w+, "([^"]*)"\)', table, re.M)
        self.assertEqual(re.findall(r"^\| `([\w-]+)` \|", page, re.M),
                         [name for name, _ in rows] + ["quit"])
        for name, keys in rows:
            row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
            for key in keys.replace("!", "").split():
                self.assertIn(f"`{key}`", row)
        self.decide("quit")
        self.end()


if __name__ == "__main__":
    unittest.main()
