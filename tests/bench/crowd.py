#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Agents that hand kernels in at once to one session, while its holder and agents are killed:
crowd.py HONE [SUBMISSIONS [CLIENTS]]. Nothing that was taken may be lost, and each verdict must be
that of `hone run` for the same kernel, of more than KINDS for one that differs from it in a number
alone. Prints the counts."""
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "cli"), str(HERE / "tune")]
from agent import Agent  # noqa: E402
from small_task import KERNEL, REFERENCE  # noqa: E402

HONE = os.path.abspath(sys.argv[1])
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 500
CLIENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 4
FIRST = KERNEL.replace("TILE_N = 64", "TILE_N = 256")  # nothing is faster, so it stays the parent
# What is wrong with a kernel, and what it is after "nl.add(a, b)" was replaced by that.
WAYS = {"right": "nl.add(nl.add(a, b), 0.0)",
        "right in another order": "nl.add(b, a)",
        "wrong": "nl.add(nl.add(a, b), {n}.5)",
        "wrong by little": "nl.add(nl.multiply(a, 0.999), b)",
        "a cheat": "nl.full((128, TILE_N), 1.0, dtype=x.dtype)",
        "too narrow": "nl.add(a, b, dtype=nl.bfloat16)",
        "no name": "nl.addition(a, b)",
        "no Python": "nl.add(a, b"}


TILES = (32, 64, 128, 512)
KINDS = len(WAYS) * len(TILES)


def kernel(number):
    """What is handed in as the kernel of that number: what it is, and its source. Each differs."""
    what = list(WAYS)[number % len(WAYS)]
    tile = TILES[number // len(WAYS) % len(TILES)]
    source = KERNEL.replace("nl.add(a, b)", WAYS[what].format(n=number))
    source = source.replace("TILE_N = 64", f"TILE_N = {tile}")
    return what, source.replace("    return y", f"    spare = {number}\n    return y")


def task_at(folder):
    folder.mkdir()
    (folder / "kernel.py").write_text(FIRST)
    (folder / "reference.py").write_text(REFERENCE)
    return folder


def environment(folder):
    return dict(os.environ, **{f"XDG_{key}_HOME": str(folder / key)
                               for key in ("CACHE", "STATE", "CONFIG")})


def rows_of(task, env):
    """The attempts of a session by the title of their plan: what does not hang on their order."""
    done = subprocess.run([HONE, "query", str(task), "SELECT plan, status, compiles, correct, "
                           "credible, faster, round(latency_us, 3) FROM attempts WHERE attempt > 0",
                           "--json"], env=env, stdout=subprocess.PIPE, check=True)
    rows = {}
    for plan, *judged in json.loads(done.stdout)["rows"]:
        rows.setdefault(plan, []).append(judged)
    return rows


# ------------------------------------------------------------------------------------ hone run

MODEL = """import json, sys
prompt = sys.stdin.read()
asked, kernels = sys.argv[1:]
with open(kernels) as file:
    kernels = json.load(file)
with open(asked, "a+") as file:
    file.seek(0)
    number = len(file.read())
    if "You tune kernels" in prompt:
        file.write("x")
        print(f"title: kernel {number}\\nwhat: kernel {number} is tried")
    elif "You rewrite kernels" in prompt:
        print("```python\\n" + kernels[number - 1] + "```")
    else:
        print("nothing to say")
"""


def judged_by_run(folder):
    """What `hone run` says of each kernel, which a model answers one after the other. A run ends
    after some rounds without a gain, and the next one goes on."""
    task, env = task_at(folder / "run"), environment(folder / "for_run")
    asked = folder / "asked"
    count = min(COUNT, KINDS)
    (folder / "kernels.json").write_text(json.dumps([kernel(n)[1] for n in range(count)]))
    (folder / "model.py").write_text(MODEL)
    config = folder / "for_run" / "CONFIG" / "hone" / "config.ini"
    config.parent.mkdir(parents=True)
    config.write_text(f"[model desk]\napi = command\ncommand = {sys.executable} "
                      f"{folder}/model.py {asked} {folder}/kernels.json\n")
    tried = -1
    while tried < count:
        before, tried = tried, len(asked.read_text()) if asked.exists() else 0
        assert tried > before, "hone run does not go on"
        if tried < count:
            subprocess.run([HONE, "run", str(task), "--proposer", "desk", "--gate", "auto",
                            "--rounds", str(min(5, count - tried))], env=env, check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return rows_of(task, env)


# ----------------------------------------------------------------------------------- the crowd


MOST_AGAIN = 600  # questions in a row that are asked again, a tenth of a second apart


class Gone(Exception):
    """The agent's server was killed, or who held the session: ask again."""


class Hand:
    """An agent that hands in kernels until there are none, and starts its server anew when that was
    killed."""

    def __init__(self, crowd, name):
        self.crowd, self.name, self.again = crowd, name, 0
        self.agent = None
        self.thread = threading.Thread(target=self.work)

    def start(self):
        self.agent = Agent(self.crowd.command, self.crowd.env, name=self.name)

    def ask(self, tool, **arguments):
        try:
            answer = self.agent.ask("tools/call", name=tool, arguments=arguments)
        except (AssertionError, OSError, ValueError):  # nothing more to read, or half a line
            self.agent.process.wait()
            self.start()
            raise Gone("its server is gone") from None
        if "error" in answer:
            raise Gone(answer["error"]["message"])
        result = answer["result"]
        if result.get("isError"):
            raise Gone(result["content"][0]["text"])  # the call was given up
        return result["structuredContent"]

    def until_answered(self, tool, **arguments):
        for _ in range(MOST_AGAIN):
            try:
                return self.ask(tool, **arguments)
            except Gone as gone:
                self.again += 1
                said = str(gone)
                time.sleep(0.1)
        self.crowd.give_up(f"{self.name} has no answer: {said}")
        raise Gone(said)

    def work(self):
        while True:
            try:
                number = self.crowd.todo.get_nowait()
            except queue.Empty:
                return
            done = self.until_answered("submit", title=f"kernel {number}", wait_s=0,
                                       kernel=kernel(number)[1])
            self.crowd.taken[number] = done["submission"]
            while done["state"] != "ended":
                done = self.until_answered("wait", submission=done["submission"])
            self.crowd.end(number, done)


class Crowd:
    def __init__(self, folder):
        self.task, self.env = task_at(folder / "crowd"), environment(folder / "for_crowd")
        self.command = [HONE, "mcp", str(self.task), "--gate", "auto", "--rounds", "100000"]
        self.todo = queue.Queue()
        for number in range(COUNT):
            self.todo.put(number)
        self.taken, self.ended, self.kills, self.stuck = {}, {}, [], None
        self.changed = threading.Condition()
        self.holder = Agent(self.command, self.env, name="holder")
        self.holder.tool("profile")
        self.hands = [Hand(self, f"hand{i}") for i in range(CLIENTS)]

    def give_up(self, why):
        with self.changed:
            self.stuck = why
            self.changed.notify_all()

    def end(self, number, done):
        with self.changed:
            self.ended[number] = done
            self.changed.notify_all()

    def kill_at(self, share, what, agents):
        """Kills when that share of the kernels has its verdict."""
        with self.changed:
            self.changed.wait_for(lambda: self.stuck or len(self.ended) >= share * COUNT)
        for agent in agents():
            agent.process.kill()
        self.kills.append(what)

    def run(self):
        for hand in self.hands:
            hand.start()
            hand.thread.start()
        self.kill_at(0.25, "the holder", lambda: [self.holder])
        self.kill_at(0.5, "an agent", lambda: [self.hands[0].agent])
        self.kill_at(0.75, "all agents, the holder among them",
                     lambda: [hand.agent for hand in self.hands])
        for hand in self.hands:
            hand.thread.join()


    def check(self, wanted):
        """What is left of it, read by somebody who comes later: sentences that say what is not as
        it must be."""
        wrong, later = [], Agent(self.command, self.env, name="later")
        if self.stuck:
            wrong.append(self.stuck)
        for number, submission in self.taken.items():
            row = later.tool("wait", submission=submission, wait_s=600)
            if row["state"] != "ended" or row["title"] != f"kernel {number}":
                wrong.append(f"lost: kernel {number}: {row}")
        self.submitted = later.tool("status")["submitted"]
        later.close()
        for hand in self.hands:
            hand.agent.close()
        found = rows_of(self.task, self.env)
        for number in range(COUNT):
            rows = [row for row in found.get(f"kernel {number}", []) if row[0] != "rejected"]
            by_run = wanted.get(f"kernel {number % KINDS}")
            if rows != by_run:
                wrong.append(f"kernel {number} ({kernel(number)[0]}): {rows}, and with hone run "
                             f"{by_run}")
        return wrong


def main():
    with tempfile.TemporaryDirectory(prefix="hone_crowd_") as folder:
        wanted = judged_by_run(pathlib.Path(folder))
        crowd = Crowd(pathlib.Path(folder))
        begin = time.monotonic()
        crowd.run()
        took = time.monotonic() - begin
        wrong = crowd.check(wanted)
        lost = sum(text.startswith("lost") for text in wrong)
        print(f"{CLIENTS} agents, killed meanwhile: {', '.join(crowd.kills)}\n"
              f"submitted {COUNT} ({crowd.submitted - COUNT} once more after a kill), "
              f"judged {len(crowd.ended)} in {took:.1f} s, "
              f"as hone run judges {COUNT + lost - len(wrong)}, lost {lost}")
        for text in wrong[:20]:
            print(text)
        checked = subprocess.run([HONE, "session", "check", str(crowd.task)], env=crowd.env,
                                 stdout=subprocess.PIPE)
        return len(wrong) > 0 or len(crowd.ended) != COUNT or checked.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
