# SPDX-License-Identifier: Apache-2.0
"""What the command of `hone mcp` decides for the agent: mcp_given.py HONE."""

import json
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

    def test_answers_are_bounded(self):
        """What is over the limit is counted, and how it is had is said."""
        agent = Agent([HONE, "mcp", self.task, "--gate", "auto"], self.env)
        many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
        wide = agent.tool("query", rows=1000,
                          sql=many + "SELECT i, printf('%0200d', i) AS t FROM n")
        self.assertLessEqual(len(json.dumps(wide, separators=(",", ":"))), 48 << 10)
        self.assertEqual(len(wide["rows"]) + wide["left_out"]["rows"], 1000)
        self.assertGreater(len(wide["rows"]), 150)
        self.assertEqual(wide["rows"][0][0], 1)
        self.assertIn("OFFSET", wide["more"])
        long = agent.tool("query", sql="SELECT replace(printf('%0300000d', 1), '0', 'é') AS t")
        self.assertLessEqual(len(json.dumps(long, separators=(",", ":"), ensure_ascii=False)
                                 .encode()), 48 << 10)
        self.assertTrue(long["left_out"])
        self.assertNotIn("left_out", agent.tool("query", sql="SELECT 1 AS one"))
        big = KERNEL + "".join("# %s %d\n" % ("x" * 80, i) for i in range(2000))
        self.assertGreater(len(agent.tool("migrate", kernel=big)["source"]), 150000)
        for tool in ("profile", "history", "notes", "menu", "docs"):
            said = agent.tool(tool, **({"what": "matmul"} if tool == "docs" else {}))
            self.assertLessEqual(len(json.dumps(said)), 64 << 10, tool)
        self.assertEqual(agent.close(), 0)

    def test_what_is_no_number_is_refused(self):
        for options, said in ((("--seeds", "one"), "seed"), (("--tolerance", "2"), "tolerance")):
            done = subprocess.run([HONE, "mcp", self.task, *options], env=self.env, text=True,
                                  input="", capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)


unittest.main()
