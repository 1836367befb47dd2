#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans that agents hand in without a kernel (hone mcp): who waits for whom, and what becomes of a
plan whose agent goes away."""
import shutil
import time
import unittest

from serving import FOLDER, MIDDLE, WIDE, Bench, Serving, until


class Plans(Serving):
    def test_a_plan_whose_agent_has_gone_holds_up_nobody(self):
        for leaves in ("kill", "close"):
            first = self.agent("--gate", "auto", name="first")
            first.tool("status")
            gone = self.agent("--gate", "auto", name="gone")
            done = gone.tool("propose", title="an idea")
            self.assertIn("its kernel", done["waits_for"])
            if leaves == "kill":
                gone.process.kill()
                gone.process.wait()
            else:
                self.assertEqual(gone.close(), 0)
            kernel = WIDE if leaves == "kill" else MIDDLE
            mine = first.tool("submit", title="a kernel", kernel=kernel, wait_s=0)
            plan = f"plan {done['submission']} (an idea), which agent/gone hands in"
            self.assertIn(plan, mine["waits_for"])
            until(lambda: "has gone" in first.tool("wait", submission=mine["submission"], wait_s=0)
                  .get("waits_for", "has gone"), "that its agent has gone is told")
            loop = first.tool("status")["loop"]
            if loop["waits"] == "kernel":
                self.assertIn(plan, loop["waits_for"])
            self.assertEqual(first.tool("wait", submission=mine["submission"])["state"], "ended")
            ended = first.tool("wait", submission=done["submission"])
            self.assertEqual((ended["status"], ended["rejected_by"]), ("rejected", "hone"))
            self.assertIn("agent/gone, whose plan it is, has gone", ended["reason"])
            self.assertIn("given up", ended["next"])
            refused = first.tool("history")["refused_plans"][-1]
            self.assertEqual((refused["title"], refused["reason"]), ("an idea", ended["reason"]))
            self.assertEqual(first.close(), 0)

    def test_an_agent_takes_its_own_plan_back(self):
        agent = self.agent("--gate", "auto", name="one")
        agent.tool("propose", title="an idea")
        other = agent.tool("propose", title="another", wait_s=0)
        self.assertIn("your own plan", other["next"])
        done = agent.tool("submit", title="no, this", kernel=WIDE, wait_s=0)
        ended = agent.tool("wait", submission=1)
        self.assertEqual(ended["status"], "rejected")
        self.assertIn(f"in its place, submission {done['submission']}", ended["reason"])
        self.assertIn("its kernel", agent.tool("wait", submission=2)["waits_for"])
        agent.tool("submit", plan=2, kernel=MIDDLE)
        self.assertEqual(agent.tool("wait", submission=done["submission"])["state"], "ended")
        self.assertEqual(agent.close(), 0)

    def test_a_workbench_keeps_the_plan_that_waits_for_its_agent(self):
        agent = self.agent("--gate", "auto", name="one")
        done = agent.tool("propose", title="an idea", strategy="tiling")
        self.assertIn("its kernel", done["waits_for"])
        bench = Bench(self.task)
        self.addCleanup(bench.end)
        until(lambda: self.held(agent) == "a workbench", "the workbench holds the session")
        bench.press(b"s")
        until(lambda: "its kernel" in agent.tool("wait", wait_s=0).get("waits_for", ""),
              "the plan waits for its kernel again")
        carried = agent.tool("submit", plan=1, kernel=WIDE, wait_s=0)
        self.assertNotEqual(carried.get("status"), "rejected", carried)
        self.assertEqual(agent.close(), 0)

    def test_a_loop_that_a_person_has_not_started_is_waited_for(self):
        bench = Bench(self.task)
        self.addCleanup(bench.end)
        agent = self.agent(name="one")
        until(lambda: self.held(agent) == "a workbench", "the workbench holds the session")
        bench.press(b"s")
        bench.decide(agent, "plan", b"")
        bench.press(b"p")
        until(lambda: agent.tool("status")["loop"]["waits"] in ("paused", "gate"), "it rests")
        began = time.monotonic()
        waits = agent.tool("submit", title="wide", kernel=WIDE, wait_s=2)
        self.assertGreater(time.monotonic() - began, 1.9, waits)
        began = time.monotonic()
        waits = agent.tool("wait", wait_s=2)
        self.assertGreater(time.monotonic() - began, 1.9, waits)
        self.assertEqual(agent.close(), 0)


if __name__ == "__main__":
    try:
        unittest.main()
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
