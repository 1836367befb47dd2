#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tests of hone mcp share: a task in a folder of its own, agents by script, a workbench in a
terminal. The program's path is the first argument of such a test."""
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tune")]
from agent import META, REQUEST, Agent  # noqa: E402
from small_task import KERNEL, REFERENCE  # noqa: E402

HONE = os.path.abspath(sys.argv.pop(1))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone_mcp_"))
ENV = dict(os.environ, XDG_CACHE_HOME=str(FOLDER / "cache"), XDG_STATE_HOME=str(FOLDER / "state"),
           XDG_CONFIG_HOME=str(FOLDER / "config"))
BEFORE = "2025-11-25"
WIDE = KERNEL.replace("TILE_N = 64", "TILE_N = 512")
NARROW = KERNEL.replace("TILE_N = 64", "TILE_N = 128")
MIDDLE = KERNEL.replace("TILE_N = 64", "TILE_N = 256")
WRONG = WIDE.replace("nl.add(a, b)", "nl.subtract(a, b)")
CHEATS = [
    WIDE.replace("import neuronxcc.nki as nki", "import os\nimport neuronxcc.nki as nki"),
    WIDE.replace("    return y", "    open('reference.py').read()\n    return y"),
    WIDE.replace("value=both)", "value=nl.zeros((128, TILE_N), dtype=x.dtype))"),
    WIDE.replace("dtype=x.dtype", "dtype=nl.bfloat16"),
    WIDE.replace("    return y", "    return x"),
]


def hone(*args):
    return subprocess.run([HONE, *map(str, args)], env=ENV, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=500)


def until(holds, what):
    """Waits for what another process does, for as long as the test as a whole may take."""
    ends = time.monotonic() + 500
    while not holds():
        assert time.monotonic() < ends, f"not seen: {what}"
        time.sleep(0.05)


class Patient(Agent):
    """Waits for its submissions to their end, where a client would ask again after a minute."""

    def tool(self, name, token=None, **arguments):
        if name in ("submit", "propose", "wait"):
            arguments.setdefault("wait_s", 600)
        return super().tool(name, token, **arguments)


class Bench:
    """A workbench in a terminal, and the keys of its person."""

    def __init__(self, task):
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.execve(HONE, [HONE, str(task)], dict(ENV, TERM="xterm", LINES="40", COLUMNS="120",
                                                    EDITOR="sed -i '1s/^/# by hand\\n/'"))
        self.reader = threading.Thread(target=self.drain, daemon=True)
        self.reader.start()

    def drain(self):
        try:
            while os.read(self.terminal, 65536):
                pass
        except OSError:
            pass

    def press(self, keys):
        os.write(self.terminal, keys)

    def decide(self, agent, step, keys):
        """Waits until the gate after that step asks, and presses keys."""
        def asked():
            loop = agent.tool("status")["loop"]
            return loop["waits"] == "gate" and loop["step"] == step
        until(asked, f"{step} is asked about")
        self.press(keys)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def end(self):
        if self.pid:
            self.kill()
        os.close(self.terminal)


class Serving(unittest.TestCase):
    def setUp(self):
        self.task = FOLDER / self.id().split(".")[-1]
        self.task.mkdir()
        self.session = self.task / ".hone" / self.task.name
        (self.task / "kernel.py").write_text(KERNEL)
        (self.task / "reference.py").write_text(REFERENCE)

    def agent(self, *options, **more):
        agent = Patient([HONE, "mcp", str(self.task), *options], ENV, **more)
        self.addCleanup(agent.process.kill)
        return agent

    @staticmethod
    def held(agent):
        """Who holds the session; nobody while it goes from one to another."""
        answer = agent.ask("tools/call", name="status", arguments={})
        if "error" in answer:
            return None
        return answer["result"]["structuredContent"]["held_by"]

    def arrives(self, agent, **plan):
        """Hands a kernel in, and waits until a person is asked about it."""
        done = agent.tool("submit", wait_s=0, **plan)

        def asked():
            now = agent.tool("wait", submission=done["submission"], wait_s=0)
            self.assertNotEqual(now["state"], "ended", now)
            return "a person decides about it" in now.get("waits_for", "")
        until(asked, "a person is asked about it")
