# SPDX-License-Identifier: Apache-2.0
"""One bandwidth, the kind of the floor and what the time rests on: what a planner reads of each
seed is what hone sim, its --json, its profile, hone explain and the session say.

usage: agree.py HONE [SEED...]"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
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


def said(hone, folder, *words):
    environment = dict(os.environ, XDG_CONFIG_HOME=os.path.join(folder, "config"),
                       XDG_STATE_HOME=os.path.join(folder, "state"))
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
