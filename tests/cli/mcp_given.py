# SPDX-License-Identifier: Apache-2.0
"""What the command of `hone mcp` decides for the agent: mcp_given.py HONE."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tune")]
from agent import Agent  # noqa: E402
from small_task import KERNEL, REFERENCE  # noqa: E402

HONE = os.path.abspath(sys.argv.pop(1))
# Wrong by a ten thousandth: what tolerance lets through.
NEAR = KERNEL.replace("nl.add(a, b)", "nl.multiply(nl.add(a, b), 1.0001)")


class Given(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        top = pathlib.Path(self.folder.name)
        self.task = top / "task"
        self.task.mkdir()
        (self.task / "kernel.py").write_text(KERNEL)
        (self.task / "reference.py").write_text(REFERENCE)
        self.env = dict(os.environ, XDG_CACHE_HOME=str(top / "cache"),
                        XDG_STATE_HOME=str(top / "state"), XDG_CONFIG_HOME=str(top / "config"))

    def tearDown(self):
        self.folder.cleanup()

    def evaluated(self, *options):
        agent = Agent([HONE, "mcp", self.task, "--gate", "auto", *options], self.env)
        verdict = agent.tool("evaluate", kernel=NEAR)["verdict"]
        agent.close()
        return verdict

    def test_seeds_and_tolerance(self):
        verdict = self.evaluated("--seeds", "3,4", "--tolerance", "1e-3")
        self.assertEqual(verdict["correct"], "yes")
        self.assertIn("2 seeds", verdict["correct_why"])
        verdict = self.evaluated("--session", self.task / "other", "--seeds", "7")
        self.assertEqual(verdict["correct"], "no")
        self.assertIn("seed 7", verdict["correct_why"])

    def test_what_is_no_number_is_refused(self):
        for options, said in ((("--seeds", "one"), "seed"), (("--tolerance", "2"), "tolerance")):
            done = subprocess.run([HONE, "mcp", self.task, *options], env=self.env, text=True,
                                  input="", capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)


unittest.main()
