# SPDX-License-Identifier: Apache-2.0
"""A new user at the screens, with a scripted model behind HTTP: person.py PATH_OF_HONE

Every gate is used once: approve, edit, reject with a reason, a hunk left out with a reason, a
decision overruled and the undo taken back, a note edited, an experience dropped, a step back to an
attempt; an answer that cannot be read, one that cheats, one that is given up in the middle; a
question looked at first."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from small_task import KERNEL, REFERENCE

HONE = os.path.abspath(sys.argv[1])
HERE = pathlib.Path(__file__).parent
PYTHON = "/usr/bin/python3"
LIMIT_S = 60


def plan(title, what):
    return (f"=== planner\ntitle: {title}\nwhat: {what}\nlines: 4\nmetric: latency\n"
            "direction: down\nsize: 20 %\n")


def change(role, *pairs):
    return f"=== {role}\n" + "".join(
        f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n" for old, new in pairs)


SCRIPT = (
    plan("Wider tiles", "TILE_N is 128").replace("lines", "@wait\nlines")
    + plan("Tiles of 256", "TILE_N is 256")
    + "=== rewriter\nI would rather not.\n"
    + change("rewriter", ("TILE_N = 64", "TILE_N = 256"),
             ("        both = nl.add(a, b)", "        both = nl.add(a, b)  # the sum"))
    + "=== summariser\ntitle: Wider transfers\nsummary: Each transfer has a fixed cost.\n"
    + "=== reflector\ndiagnosis: right\nlesson: DMA limits this kernel.\n"
    + plan("Never seen whole", "it is given up").replace("what", "@never\nwhat")
    + plan("Tiles of 512", "TILE_N is 512")
    + change("rewriter", ("import neuronxcc.nki as nki", "import os\nimport neuronxcc.nki as nki"),
             ("TILE_N = 256", "TILE_N = 512 if os.path.exists('/') else 256"))
    + change("fixer", ("import os\n", ""),
             ("TILE_N = 512 if os.path.exists('/') else 256", "TILE_N = 512")))


class Screen:
    """A terminal with hone in it."""

    def __init__(self, folder, env, proposer="models", cols=120, rows=40):
        self.socket = str(folder / "tmux")
        command = " ".join(["env", *(f"{name}={value}" for name, value in env.items()), HONE,
                            str(folder / "task"), "--proposer", proposer])
        self.tmux("new-session", "-d", "-x", str(cols), "-y", str(rows), command)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *args], check=False,
                              capture_output=True, text=True, timeout=LIMIT_S).stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def see(self, *words):
        """Waits until all of it is on the screen at once."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            text = self.text()
            if all(word in text for word in words):
                return text
            time.sleep(0.03)
        raise AssertionError(f"{words} did not come; the screen has\n{text}")

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)

    def line(self, text):
        self.tmux("send-keys", "-l", text)
        self.keys("Enter")

    def command(self, text):
        self.keys(":")
        self.line(text)

    def close(self):
        self.tmux("kill-server")


class Person(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-person-"))
        (self.folder / "task").mkdir()
        (self.folder / "task" / "kernel.py").write_text(KERNEL)
        (self.folder / "task" / "reference.py").write_text(REFERENCE)
        self.script = self.folder / "script"
        self.script.write_text(SCRIPT)
        self.server = subprocess.Popen([PYTHON, HERE / "served.py", self.script, "0.002"],
                                       stdout=subprocess.PIPE, text=True)
        self.port = int(self.server.stdout.readline())
        conf = self.folder / "conf" / "hone"
        conf.mkdir(parents=True)
        (conf / "config.ini").write_text(
            f"[model claude]\napi = anthropic\nbase_url = http://127.0.0.1:{self.port}\n"
            "model = claude-sonnet-4-5\nkey_env = A_KEY\n"
            "[roles]\nplanner = claude\nsummariser = claude\nreflector = claude\n")
        editor = self.folder / "editor"
        editor.write_text(f"#!/bin/sh\ncat {self.folder}/edited > \"$1\"\n")
        editor.chmod(0o755)
        env = {"XDG_CONFIG_HOME": self.folder / "conf", "XDG_STATE_HOME": self.folder / "state",
               "XDG_CACHE_HOME": self.folder / "cache", "A_KEY": "k", "EDITOR": editor,
               "NO_PROXY": "127.0.0.1", "LC_ALL": "C.UTF-8"}
        self.screen = Screen(self.folder, env)

    def tearDown(self):
        self.screen.close()
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def asked(self, role):
        """The texts that were sent to a role: (system, everything else)."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/seen") as answer:
            seen = [row for row in json.load(answer) if row["role"] == role]
        return seen, ["\n".join(block["text"] if isinstance(block, dict) else block
                                for message in row["request"]["messages"]
                                for block in message["content"]) for row in seen]

    def edited(self, text):
        (self.folder / "edited").write_text(text)

    def test_every_gate_is_used_once(self):
        screen = self.screen
        screen.see("not started yet")
        screen.command("gate all ask")
        screen.see("gate: ask")
        self.first_round(screen)
        self.second_round(screen)
        self.what_went_out()

    def first_round(self, screen):
        screen.keys("s")
        screen.see("◆ profile: seed kernel")
        screen.keys("a")
        screen.see("planner claude", "title: Wider tiles", "what: TILE_N is 128")    # not whole yet
        self.script.with_name("script.go").touch()
        screen.see("◆ plan: Wider tiles", "predicts")
        self.edited("Tiles of 128\n\nTILE_N is 128, no more.\n")
        screen.keys("e")
        screen.see("Tiles of 128", "claude, edited")
        screen.keys("u")
        screen.see("This takes back what you did: edit plan (plan, round 1)")
        screen.keys("y")
        screen.see("◆ plan: Wider tiles")
        screen.keys("U")
        screen.see("◆ plan: Tiles of 128")
        screen.keys("r")
        screen.see("The loop pauses")
        screen.line("wider, please")
        screen.see("rejected", "wider, please", "you rejected the proposal")
        screen.keys("s")
        screen.see("◆ plan: Tiles of 256", ", after a rejection")
        screen.keys("a")
        screen.see("◆ rewrite: +2 -2 in 2 hunks")      # the first answer could not be read
        screen.keys("9", "Tab")
        screen.see("questions so far", "✗ rewriter", "there is no code")
        screen.keys("1", "h", "n")
        screen.see("hunk 2/2 ✓")
        screen.command("take no comments")
        screen.see("1 left out", "no comments")
        screen.keys("a")
        screen.see("◆ verify: correct")
        screen.keys("a")
        screen.see("◆ benchmark: ", "#0 → #1")
        screen.keys("a")
        screen.see("◆ decide: keep", "(#1)")
        screen.keys("o")
        screen.see("decide otherwise")
        screen.keys("Down", "Enter")
        screen.see("revert, overruled by you", "(#0)")
        screen.keys("u", "y")
        screen.see("◆ decide: keep", "(#1)")
        screen.keys("a")
        screen.see("◆ summarise: ", "Wider transfers")
        screen.keys("8")
        screen.see("experiences", "proposed")
        screen.keys("D")
        screen.see("◆ summarise: ")
        screen.keys("1", "a")
        screen.see("◆ reflect: DMA limits")
        self.edited("Transfers want width.\n")
        screen.keys("6", "e")
        screen.see("Transfers want width.", "edited by you")
        screen.keys("a")
        screen.see("◆ profile: attempt 1")

    def second_round(self, screen):
        screen.keys("1", "a")
        screen.see("planner claude", "title: Never seen whole")
        screen.keys("s")
        screen.see("the question was given up")
        screen.keys("9", "h", "Tab")
        screen.see("next: planner, claude, will wait for you", "send at once")
        screen.keys("s")
        screen.see("not sent yet: planner, claude", "waits to be sent")
        screen.keys("h")
        screen.see("questions go out at once", "not sent yet")
        screen.keys("S")
        screen.see("◆ plan: Tiles of 512")
        screen.keys("1", "a")
        screen.see("◆ rewrite: ", "import os")
        screen.keys("a")
        screen.see("◆ verify: refused before it was run", "may not import 'os'",
                   "a asks for a repair")
        screen.keys("a")
        screen.see("repair 1", "◆ rewrite: +1 -1")
        screen.keys("a")
        screen.see("◆ verify: correct")
        screen.keys("a")
        screen.see("◆ benchmark: ")
        screen.keys("a")
        screen.see("◆ decide: ")
        screen.keys("7", "Home", "R")
        screen.see("Make attempt #0")
        screen.keys("y")
        screen.see("kernel.py  #0")
        screen.keys("u", "y")

    def what_went_out(self):
        seen, planner = self.asked("planner")
        self.assertIn("wider, please", planner[1])
        self.assertNotIn("wider, please", planner[0])
        self.assertIn("Transfers want width.", planner[2])
        self.assertNotIn("Wider transfers", planner[2])        # the experience was dropped
        _, rewriter = self.asked("rewriter")
        self.assertIn("I would rather not.", rewriter[1])
        self.assertIn("That could not be used: there is no code", rewriter[1])
        self.assertIn("no comments", rewriter[2])
        fixer = self.asked("fixer")[1][0]
        self.assertIn("may not import 'os'", fixer)
        self.assertIn("This is repair turn 1 of 3.", fixer)
        self.assertIn("which is correct:\n\n   1  import neuronxcc.nki", fixer)
        # The system part is the same for all roles and rounds, and marked. The service found it in
        # its cache.
        for row in seen + self.asked("rewriter")[0] + self.asked("fixer")[0]:
            self.assertEqual(row["request"]["system"], seen[0]["request"]["system"])
            self.assertIn("cache_control", row["request"]["system"][-1])
        self.assertEqual(seen[0]["usage"]["cache_read_input_tokens"], 0)
        self.assertGreater(seen[1]["usage"]["cache_read_input_tokens"], 500)
        self.screen.keys("9", "Tab")
        text = self.screen.see("questions so far", "cached")
        self.assertRegex(text, r"1 ✓ planner +claude +[0-9.]+k? +[0-9]+ +%.2fk" %
                         (seen[1]["usage"]["cache_read_input_tokens"] / 1000))


class Emptied(unittest.TestCase):
    """The cache is emptied while a plan of the rewriter waits."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-emptied-"))
        self.cached = self.folder / "cache" / "hone" / "references"
        (self.folder / "task").mkdir()
        (self.folder / "task" / "kernel.py").write_text(KERNEL)
        (self.folder / "task" / "reference.py").write_text(REFERENCE)
        env = {"XDG_CONFIG_HOME": self.folder / "conf", "XDG_STATE_HOME": self.folder / "state",
               "XDG_CACHE_HOME": self.folder / "cache", "LC_ALL": "C.UTF-8"}
        self.screen = Screen(self.folder, env, proposer="rewriter")

    def tearDown(self):
        self.screen.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wait_for_plan(self):
        self.screen.see("not started yet")
        self.screen.keys("s")
        self.screen.see("◆ plan: ")
        shutil.rmtree(self.cached)

    def goes_on_to(self, words):
        """At once where the shapes are in memory, otherwise after a pause."""
        for _ in range(600):
            text = self.screen.text()
            if words in text or "cannot be made again" in text:
                break
            time.sleep(0.1)
        self.cached.unlink()
        if words not in text:
            self.screen.see("paused")
            self.screen.keys("s")
        self.screen.see(words)

    def test_a_plan_is_carried_out_all_the_same(self):
        self.wait_for_plan()
        self.screen.keys("a")
        self.screen.see("◆ rewrite: +")

    def test_a_plan_outlives_that_it_cannot_be_carried_out(self):
        self.wait_for_plan()
        self.cached.write_text("no folder\n")
        self.screen.keys("a")
        self.goes_on_to("◆ rewrite: +")

    def test_a_session_outlives_that_no_plan_can_be_made(self):
        self.wait_for_plan()
        self.cached.write_text("no folder\n")
        self.screen.keys("r")
        self.screen.keys("n", "o", "t", "Space", "n", "o", "w", "Enter")
        self.screen.see("you rejected")
        self.screen.keys("s")
        self.goes_on_to("◆ plan: ")


if __name__ == "__main__":
    if not shutil.which("tmux"):
        print("tmux is not installed")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0]], verbosity=2)
