# SPDX-License-Identifier: Apache-2.0
"""One bandwidth, the kind of the floor and what the time rests on: what a planner reads of each
seed is what hone sim, its --json, its profile, hone explain, the session, agents and screen 5
say.

usage: agree.py HONE [SEED...]"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import agent as agents  # noqa: E402  a client of MCP

SEEDS = os.path.join(HERE, "..", "..", "seeds")
CONFIG = """[model keep]
api = command
command = {python} {script} {folder}/prompt
"""
# A planner that keeps what it read, and has no plan.
KEEP = """import sys
open(sys.argv[1], "w", encoding="utf-8").write(sys.stdin.read())
print("give up: nothing is left")
"""


def surroundings(folder):
    return dict(os.environ, XDG_CONFIG_HOME=os.path.join(folder, "config"),
                XDG_STATE_HOME=os.path.join(folder, "state"))


def said(hone, folder, *words):
    environment = surroundings(folder)
    done = subprocess.run([hone, *words], cwd=folder, env=environment, capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, check=False)
    return done.stdout + done.stderr


def one(pattern, text):
    """The one place where the pattern stands, or all alike."""
    found = set(re.findall(pattern, text))
    assert len(found) == 1, (pattern, found, text[:2000])
    return found.pop()


def us_of(text):
    number, unit = text.split()
    return float(number) * {"ms": 1e3, "µs": 1, "us": 1, "s": 1e6}[unit]


def near(one_number, other, part=0.006):
    assert abs(one_number - other) <= part * abs(other) + 1e-9, (one_number, other)


def told_agents(hone, folder, seed):
    """What an agent is told of the first attempt."""
    agent = agents.Agent([hone, "mcp", seed], surroundings(folder), cwd=folder)
    profile = agent.tool("profile", attempt=0, lines=200)
    agent.close()
    return profile


def screen_of(hone, folder, seed, keys, *words):
    """What a terminal of 200 columns shows after those keys, once it has all of the words."""
    def tmux(*args):
        return subprocess.run(["tmux", "-S", os.path.join(folder, "tmux"), "-f", "/dev/null",
                               *args], env=surroundings(folder), cwd=folder, check=False,
                              capture_output=True, text=True, timeout=60).stdout
    screen = ""
    tmux("new-session", "-d", "-x", "200", "-y", "80", f"{hone} {seed}")
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and "trn2" not in screen:
            time.sleep(0.1)
            screen = tmux("capture-pane", "-p")
        for key in keys:
            tmux("send-keys", key)
        while time.monotonic() < until and not all(word in screen for word in words):
            time.sleep(0.1)
            screen = tmux("capture-pane", "-p")
    finally:
        hones = tmux("list-panes", "-F", "#{pane_pid}").split()
        tmux("kill-server")
        while any(os.path.exists(f"/proc/{pid}") for pid in hones):
            time.sleep(0.05)  # it closes its session
    missing = [word for word in words if word not in screen]
    assert not missing, (seed, missing, screen)
    return screen


def lines_agree(prompt, profile):
    """The parts of lines are those of an agent's answer, and with launch and end the latency."""
    told = re.findall(r"(?m)^line (\d+): ([0-9.]+) % of the critical path", prompt)
    parts = {row["line"]: row for row in profile["lines"]}
    for number, percent in told:
        assert abs(float(percent) - 100 * parts[int(number)]["share"]) <= 0.051, (number, percent)
    launch = float(re.search(r"(?m)^ +([0-9.]+) us: launch and end$", profile["causes"])[1])
    near(sum(row["us"] for row in profile["lines"]) + launch, profile["latency_us"], 1e-3)


def agrees(hone, seed, bandwidth):
    with tempfile.TemporaryDirectory(prefix="hone-agree-") as folder:
        shutil.copytree(os.path.join(SEEDS, seed), os.path.join(folder, seed))
        os.makedirs(os.path.join(folder, "config", "hone"))
        script = os.path.join(folder, "keep.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(KEEP)
        with open(os.path.join(folder, "config", "hone", "config.ini"), "w",
                  encoding="utf-8") as file:
            file.write(CONFIG.format(python=sys.executable, script=script, folder=folder))
        text = said(hone, folder, "sim", seed, "--no-verify", "--profile", "profile.json")
        found = json.loads(said(hone, folder, "sim", seed, "--no-verify", "--json"))
        run = said(hone, folder, "run", seed, "--proposer", "keep", "--gate", "auto", "--rounds",
                   "1", "--seeds", "0")
        if not os.path.exists(os.path.join(folder, "prompt")):
            sys.exit(f"{seed}: nobody was asked\n{run}")
        with open(os.path.join(folder, "prompt"), encoding="utf-8") as file:
            prompt = file.read()
        with open(os.path.join(folder, "profile.json"), encoding="utf-8") as file:
            profile = json.load(file)
        account = [line.strip() for line in found["causes"]["text"].splitlines()]
        agent = told_agents(hone, folder, seed)
        screen = screen_of(hone, folder, seed, ("5", "W"), *(line[:120] for line in account))
        costs = screen_of(hone, folder, seed, ("5",), "cost per line", " busy ")
    # one bandwidth: the prompt's, the table's, and the one that the metrics are made of
    near(float(one(r"([0-9.]+) GB/s", prompt)), bandwidth, 1e-3)
    metrics = found["metrics"]
    moved = metrics["hbm_read_bytes"] + metrics["hbm_write_bytes"]
    used = moved / found["latency_us"] / 1e3 / (metrics["mbu_estimated_percent"] / 100)
    near(used, bandwidth)
    # one floor, of the same kinds
    floors = {"keep": found["floor_us"], "split": found["floor_split_us"],
              "any": found["floor_any_us"]}
    head = one(r"floor of the task: (.*)", prompt)
    near(us_of(one(r"^([0-9.]+ \S+) in precision keep", head)), floors["keep"])
    for kind in ("split", "any"):
        told = re.findall(rf"([0-9.]+ \S+) in precision {kind}", head)
        assert bool(told) == (floors["any"] < floors["keep"]), (seed, kind, head, floors)
        if told:
            near(us_of(told[0]), floors[kind])
    near(us_of(one(r"; floor ([0-9.]+ \S+) \(", text)), floors["keep"])
    near(us_of(one(r"floor ([0-9.]+ \S+?)[,\n]", run + "\n")), floors["keep"])
    for kind, key in (("keep", "floor_us"), ("split", "floor_split_us"), ("any", "floor_any_us")):
        near(profile[key], floors[kind], 1e-6)
    # where the floor comes from: at this bandwidth, or from the products
    if "(HBM)" in one(r"; floor [0-9.]+ \S+ (\([^)]*\))", text):
        assert profile["floor_bound"] == "HBM", profile["floor_bound"]
    # the agent's and the screen's
    near(agent["floor_us"], floors["keep"], 1e-6)
    near(agent["latency_us"], found["latency_us"], 1e-6)
    assert agent["causes"].strip() == found["causes"]["text"].strip(), (seed, agent["causes"])
    lines_agree(prompt, agent)
    for row in agent["lines"][:5]:
        assert re.search(rf" {row['line']} +{100 * row['share']:.1f} % ", costs), (row, costs)
    for bound in agent["bounds"]:
        assert re.search(rf"{bound['name']} +[0-9.]+ ", screen), (seed, bound, screen)
    # one account, and what it rests on
    account = found["causes"]["text"].strip()
    assert account in prompt, (seed, account)
    assert account in text and account == profile["causes"]["text"].strip(), (seed, account)
    rests = re.search(r"rests on fitted rules for (\d+) %, on guessed ones for (\d+) %", account)
    shown = re.search(r"rests on +fitted rules for (\d+) %, guessed ones for (\d+) %", text)
    assert rests and shown and rests.groups() == shown.groups(), (rests, shown, text)
    assert abs(int(rests.group(1)) - metrics["fitted_rules_percent"]) <= 0.51, (rests, metrics)
    near(us_of(one(r"latency: ([0-9.]+ \S+) \(modelled", prompt)), found["latency_us"])
    print(f"{seed}: {bandwidth:.1f} GB/s, floors {floors}")


def main():
    hone = os.path.abspath(sys.argv[1])
    table = said(hone, "/", "explain", "--hardware")
    row = one(r"(?m)^\| to and from HBM at most, as floors and prompts count it \|(.*)$", table)
    bandwidth = float(row.split("|")[2].split()[0])
    for seed in sys.argv[2:] or sorted(os.listdir(SEEDS)):
        agrees(hone, seed, bandwidth)


main()
