# SPDX-License-Identifier: Apache-2.0
"""What questions bring with a model: gain for tokens and for dollars, a session for each task.

usage: prompts.py HONE MODEL [--rounds N] [--seeds LIST] [--ask auto|once|twice] [TASK...]
       prompts.py HONE --reader [--price IN OUT] [..] [TASK...]

MODEL is what --proposer takes; with --reader it is reader.py beside this file, which reads its
prompts and takes the best of what they tell, at so many dollars for a million tokens. Tasks are
folders, by default the seeds of the repository. Each runs in a copy of its own. The gain is the
logarithm to base 2 of the speedup: 1 is twice as fast. Compare two builds, two wordings in
~/.config/hone/prompts, or two settings with it."""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = os.path.join(HERE, "..", "..", "seeds")


def session(given, model, task, folder, environment):
    """The summary of a session about a copy of the task; None: there was none."""
    copy = os.path.join(folder, os.path.basename(os.path.normpath(task)))
    shutil.copytree(task, copy, ignore=shutil.ignore_patterns(".hone"))
    run = subprocess.run([given.hone, "run", copy, "--proposer", model, "--gate", "auto",
                          "--rounds", str(given.rounds), "--seeds", given.seeds, "--json"],
                         stdout=subprocess.PIPE, env=environment, check=False, text=True)
    last = None
    for line in run.stdout.splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if event.get("event") == "summary":
            last = event
    return last


def settings(folder, given):
    """The environment of a run that asks in one question or in two, whatever the file says, and has
    the model `reader` where it is asked for."""
    environment = dict(os.environ, XDG_STATE_HOME=os.path.join(folder, "state"))
    more = f"\n[roles]\nask = {given.ask}\n" if given.ask else ""
    if given.reader:
        more += f"\n[model reader]\napi = command\ncommand = {sys.executable} {HERE}/reader.py\n" \
                f"price_input = {given.price[0]}\nprice_output = {given.price[1]}\n"
    if more:
        home = os.environ.get("XDG_CONFIG_HOME", os.path.expanduser("~/.config"))
        own = os.path.join(folder, "config")
        if os.path.isdir(os.path.join(home, "hone")):
            shutil.copytree(os.path.join(home, "hone"), os.path.join(own, "hone"))
        os.makedirs(os.path.join(own, "hone"), exist_ok=True)
        with open(os.path.join(own, "hone", "config.ini"), "a", encoding="utf-8") as file:
            file.write(more)
        environment["XDG_CONFIG_HOME"] = own
    return environment


def row(name, gain, asked, cost):
    """One line of the table."""
    tokens, dollars = cost["tokens"] or 0, cost["dollars"]
    per_token = f"{gain / tokens * 1e5:8.3f}" if tokens else "       -"
    per_dollar = f"{gain / dollars:8.2f}" if dollars else "       -"
    print(f"{name:24} {2 ** gain:6.2f}x {gain:6.2f} {asked:6d} {tokens:9.0f} {per_token} "
          f"{per_dollar}", flush=True)


def main():
    """Runs all sessions, one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("hone")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--reader", action="store_true")
    parser.add_argument("--price", type=float, nargs=2, default=[3.0, 15.0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seeds", default="0,21,42,63,84")
    parser.add_argument("--ask", choices=["auto", "once", "twice"])
    parser.add_argument("tasks", nargs="*")
    given = parser.parse_intermixed_args()
    if given.reader and given.model:
        given.tasks.insert(0, given.model)
    if not given.reader and not given.model:
        parser.error("MODEL or --reader")
    model = "reader" if given.reader else given.model
    tasks = given.tasks or sorted(entry.path for entry in os.scandir(SEEDS) if entry.is_dir())
    whole = {"gain": 0.0, "asked": 0, "tokens": 0, "dollars": 0.0}
    print(f"{'task':24} speedup   gain  asked    tokens gain/100k   gain/$")
    with tempfile.TemporaryDirectory() as folder:
        environment = settings(folder, given)
        for task in tasks:
            told = session(given, model, task, folder, environment)
            if not told:
                print(f"{os.path.basename(task):24} no summary")
                continue
            cost, gain = told["cost"], math.log2(max(told.get("speedup") or 1, 1))
            asked = sum(model["asked"] for model in cost["models"])
            row(os.path.basename(os.path.normpath(task)), gain, asked, cost)
            whole["gain"] += gain
            whole["asked"] += asked
            whole["tokens"] += cost["tokens"] or 0
            whole["dollars"] += cost["dollars"] or 0
    row("all", whole["gain"], whole["asked"], whole)
    return 0 if whole["asked"] else 1


if __name__ == "__main__":
    sys.exit(main())
