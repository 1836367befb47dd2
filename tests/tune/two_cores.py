#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone run --lnc 2: the device model launches each kernel on two cores, the rewriter's estimates
are for two as well, and the session stays with that."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
from agent import Agent  # noqa: E402

HONE = os.path.abspath(sys.argv.pop(1))
KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((512, 2048), dtype=x.dtype, buffer=nl.shared_hbm)
    mine = 4 // nl.num_programs(0)
    for k in nl.affine_range(mine):
        row = (nl.program_id(0) * mine + k) * 128
        t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[row:row + 128, :])
        a = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)
        b = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)
        c = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)
        y = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=a, data1=t, data2=t, op=nl.multiply, engine=nisa.engine.vector)
        nisa.tensor_tensor(dst=b, data1=a, data2=t, op=nl.add, engine=nisa.engine.vector)
        nisa.tensor_scalar(dst=c, data=b, op0=nl.multiply, operand0=2.0)
        nisa.tensor_scalar(dst=y, data=c, op0=nl.add, operand0=1.0)
        nisa.dma_copy(dst=out[row:row + 128, :], src=y)
    return out
"""
REFERENCE = """import numpy as np


def get_inputs(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((512, 2048)).astype(np.float32)]


def forward(x):
    return (x * x + x) * np.float32(2) + np.float32(1)
"""


# Refuses one core, and has a module of its own beside it.
ONLY_TWO = """import nki
import nki.isa as nisa
import nki.language as nl
import rows


@nki.jit
def kernel(x):
    assert nl.num_programs(0) == 2, "this kernel is for two cores"
    out = nl.ndarray((512, 2048), dtype=x.dtype, buffer=nl.shared_hbm)
    for k in nl.affine_range(2):
        row = (nl.program_id(0) * 2 + k) * rows.ROWS
        t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)
        y = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[row:row + 128, :])
        nisa.tensor_tensor(dst=y, data1=t, data2=t, op=nl.multiply, engine=nisa.engine.vector)
        nisa.tensor_tensor(dst=y, data1=y, data2=t, op=nl.add, engine=nisa.engine.vector)
        nisa.tensor_scalar(dst=y, data=y, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=1.0)
        nisa.dma_copy(dst=out[row:row + 128, :], src=y)
    return out
"""


# Takes its half of what there is, and launches itself on two cores.
LAUNCHED = KERNEL + "\n\nkernel = kernel[2]\n"


class TwoCores(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="hone_two_cores_")
        place = pathlib.Path(self.folder.name)
        (place / "kernel.py").write_text(KERNEL)
        (place / "reference.py").write_text(REFERENCE)
        self.env = dict(os.environ, HOME=self.folder.name,
                        XDG_CACHE_HOME=self.folder.name + "/cache",
                        XDG_CONFIG_HOME=self.folder.name + "/config")

    def tearDown(self):
        self.folder.cleanup()

    def hone(self, *words, status=0, seeds=("--seeds", "0")):
        done = subprocess.run([HONE, *words, *seeds], env=self.env, text=True, timeout=300,
                              cwd=self.folder.name, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, status, done.stdout[-2000:] + done.stderr)
        return done.stdout + done.stderr

    def latency(self, *words):
        return json.loads(self.hone("sim", ".", "--json", *words))["latency_us"]

    def test_a_session_launches_on_two_cores(self):
        two, one = self.latency("--lnc", "2"), self.latency()
        self.assertLess(two, one)
        events = [json.loads(line) for line in
                  self.hone("run", ".", "--lnc", "2", "--rounds", "1", "--json").splitlines()]
        measured = [e for e in events if e["event"] == "measured"]
        self.assertEqual([e["lnc"] for e in measured], [2, 2])
        self.assertAlmostEqual(measured[0]["latency_us"], two, places=3)
        self.assertLess(measured[1]["latency_us"], two)
        why = [e["faster_why"] for e in events if e["event"] == "verdict" and "faster_why" in e]
        self.assertIn("(modelled, two cores)", why[-1])
        self.assertIn("two cores", self.hone("run", ".", "--rounds", "1"))
        self.assertIn("on two cores; for --lnc 1",
                      self.hone("run", ".", "--lnc", "1", "--rounds", "1", status=2))

    def test_an_export_is_tried_on_two_cores(self):
        place = pathlib.Path(self.folder.name)
        (place / "kernel.py").write_text(ONLY_TWO)
        (place / "rows.py").write_text("ROWS = 128\n")
        self.assertIn("for two cores", self.hone("sim", ".", status=1))
        self.hone("run", ".", "--lnc", "2", "--rounds", "1", "--proposer", "agents")
        self.hone("export", ".", "--output", "out", seeds=())
        told = (place / "out" / "README.md").read_text()
        command = next(line for line in told.splitlines() if line.startswith("    hone sim"))
        self.assertIn(" --lnc 2 ", command + " ")
        self.assertEqual(json.loads((place / "out" / "session.json").read_text())["lnc"], 2)
        done = subprocess.run([HONE, *command.split()[1:], "--json"], env=self.env, text=True,
                              cwd=place / "out", stdout=subprocess.PIPE, timeout=300)
        again = json.loads(done.stdout)
        self.assertEqual((again["cores"], again["correct"]), (2, True))
        (place / "one").mkdir()
        for name in ("kernel.py", "rows.py", "reference.py"):
            (place / "one" / name).write_text((place / name).read_text())
        said = self.hone("query", "one", "SELECT latency_us FROM Metadata", "--json",
                         "--lnc", "2", seeds=())
        self.assertAlmostEqual(json.loads(said)["rows"][0][0], again["latency_us"], places=3)
        self.assertIn("for two cores", self.hone("query", "one", "SELECT 1 FROM Instruction",
                                                 status=1, seeds=()))
        self.assertIn("(by the device model)", self.hone("diff", "one", ".", "--lnc", "2",
                                                         seeds=()))
        (place / "one" / "one.py").write_text(KERNEL)
        (place / "one" / "two.py").write_text(LAUNCHED)
        self.assertIn("2 cores against 1", self.hone("diff", "one/one.py", "one/two.py",
                                                     "--reference", "reference.py", seeds=()))

    def test_agents_ask_about_two_cores(self):
        """A kernel that an agent has not handed in is timed as the session times."""
        place = pathlib.Path(self.folder.name)
        (place / "kernel.py").write_text(ONLY_TWO)
        (place / "rows.py").write_text("ROWS = 128\n")
        self.hone("run", ".", "--lnc", "2", "--rounds", "1", "--proposer", "agents")
        agent = Agent([HONE, "mcp", "."], self.env, cwd=self.folder.name)
        self.addCleanup(agent.process.kill)
        other = ONLY_TWO.replace("nl.affine_range(2)", "range(2)")
        took = agent.tool("evaluate", kernel=other)["latency_us"]
        line = next(i for i, text in enumerate(other.splitlines(), 1) if "src=x[" in text)
        self.assertAlmostEqual(agent.tool("why", kernel=other, line=line)["latency_us"], took,
                               places=3)
        self.assertAlmostEqual(agent.tool("what_if", kernel=other)["latency_us"], took, places=2)
        asked = agent.tool("query", kernel=other, sql="SELECT latency_us FROM Metadata")
        self.assertAlmostEqual(asked["rows"][0][0], took, places=3)
        self.assertEqual(agent.close(), 0)

    def test_a_kernel_on_more_cores_than_the_first_is_no_gain(self):
        """From the first question on: that waits for the first kernel's numbers."""
        agent = Agent([HONE, "mcp", ".", "--gate", "auto", "--rounds", "9"], self.env,
                      cwd=self.folder.name)
        self.addCleanup(agent.process.kill)
        tried = agent.tool("evaluate", kernel=LAUNCHED)
        self.assertEqual(agent.tool("status")["cores"], 1)
        self.assertEqual((tried["cores"], tried["verdict"]["credible"]), (2, "no"))
        self.assertIn("launches on 2 cores", tried["verdict"]["credible_why"])
        self.assertNotIn("vs_incumbent", tried)
        self.assertIn("hone-candidate-cores", [row["code"] for row in tried["findings"]])
        checked = agent.tool("check", kernel=LAUNCHED)
        self.assertEqual(checked["cores"], 2)
        self.assertIn("hone-candidate-cores", [row["code"] for row in checked["findings"]])
        same = agent.tool("evaluate", kernel=KERNEL)
        self.assertEqual((same["cores"], same["vs_incumbent"]), (1, 1))
        done = agent.tool("submit", title="two cores", kernel=LAUNCHED, wait_s=200)
        self.assertEqual(done["status"], "failed")
        self.assertIn("--lnc 2", json.dumps(done))
        self.assertEqual(agent.close(), 0)

    def test_where_the_first_kernel_has_two_cores_one_is_told(self):
        """A person allows two cores by a first kernel that launches on them."""
        (pathlib.Path(self.folder.name) / "kernel.py").write_text(LAUNCHED)
        self.hone("run", ".", "--rounds", "1", "--proposer", "agents")
        agent = Agent([HONE, "mcp", ".", "--gate", "auto", "--rounds", "9"], self.env,
                      cwd=self.folder.name)
        self.addCleanup(agent.process.kill)
        tried = agent.tool("evaluate", kernel=KERNEL)
        self.assertEqual((tried["cores"], tried["incumbent_cores"]), (1, 2))
        self.assertLess(tried["vs_incumbent"], 1)
        self.assertEqual(tried["verdict"]["credible"], "yes")
        done = agent.tool("submit", title="one core", kernel=KERNEL, wait_s=200)
        self.assertIn("on one core after", done["verdict"]["faster_why"])
        self.assertEqual(done["verdict"]["faster"], "no")
        both = LAUNCHED.replace("nl.affine_range(mine)", "range(mine)")
        self.assertEqual(agent.tool("evaluate", kernel=both)["cores"], 2)
        self.assertEqual(agent.close(), 0)


if __name__ == "__main__":
    unittest.main()
