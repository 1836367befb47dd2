# SPDX-License-Identifier: Apache-2.0
"""Runs a session by the real loop with a model that answers by script, and keeps its events: what
the questions of tests/tune/situations are made from.

usage: record.py HONE [NAME...]: sessions of tests/tune/recorded, by default all; writes
tests/tune/logs/NAME.events anew.
record.py HONE --live TEST ROUNDS [NAME...]: only so many rounds; writes nothing, TEST
(test_tune_situations) compares what the model read with what follows from the events."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "recorded")
# What no question depends on, and what differs from run to run.
LEFT_OUT = {"log", "progress", "spent", "sent", "settled", "timeline", "summary", "run", "run_end"}
CONFIG = """[search]
keep_inside = yes

[roles]
ask = twice
summariser = script
reflector = script

[model script]
api = command
command = /usr/bin/python3 {here}/scripted.py {answers} {folder}/state
"""


def record(hone, name, folder, rounds=7):
    """Runs a session in a folder. Returns its events as (seq, ms, type, payload), the questions
    that the model read lie beside them as state.ROLE.NUMBER."""
    task = os.path.join(folder, name)
    source = os.path.join(RECORDED, name)
    config = os.path.join(folder, "config", "hone")
    os.makedirs(config)
    os.makedirs(task)
    for file in ("kernel.py", "reference.py"):
        shutil.copy(os.path.join(source, file), task)
    with open(os.path.join(config, "config.ini"), "w", encoding="utf-8") as file:
        file.write(CONFIG.format(here=HERE, answers=os.path.join(source, "answers"),
                                 folder=folder))
    environment = dict(os.environ, XDG_CONFIG_HOME=os.path.join(folder, "config"),
                       XDG_STATE_HOME=os.path.join(folder, "state-home"),
                       XDG_CACHE_HOME=os.path.join(folder, "cache"))
    done = subprocess.run([os.path.abspath(hone), "run", name, "--proposer", "script", "--gate",
                           "auto", "--rounds", str(rounds), "--seeds", "0"], cwd=folder,
                          env=environment, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    database = os.path.join(task, ".hone", name, "session.db")
    if not os.path.exists(database):
        raise SystemExit(done.stdout + done.stderr)
    with sqlite3.connect(database) as db:
        return done, list(db.execute("SELECT seq, wall_ms, type, payload FROM events ORDER BY seq"))


def write(events, path):
    with open(path, "w", encoding="utf-8") as file:
        for seq, ms, kind, payload in events:
            if kind not in LEFT_OUT:
                file.write(f"{seq} {ms} {kind} {payload}\n")


def live(hone, test, rounds, names):
    for name in names:
        with tempfile.TemporaryDirectory(prefix="hone-record-") as folder:
            done, events = record(hone, name, folder, rounds)
            asked = sum(kind == "asked" for _, _, kind, _ in events)
            if asked < 3 * rounds:
                sys.exit(f"{name}: only {asked} questions\n{done.stdout}\n{done.stderr}")
            log = os.path.join(folder, "log")
            write(events, log)
            if subprocess.run([test, log, os.path.join(folder, "state")], check=False).returncode:
                sys.exit(f"{name}: a question is not what its events say")


def main():
    args = sys.argv[2:]
    every = sorted(os.listdir(RECORDED))
    if args[:1] == ["--live"]:
        live(sys.argv[1], args[1], int(args[2]), args[3:] or every)
        return
    for name in args or every:
        with tempfile.TemporaryDirectory(prefix="hone-record-") as folder:
            done, events = record(sys.argv[1], name, folder)
        print(done.stdout[-3000:], done.stderr)
        write(events, os.path.join(HERE, "logs", name + ".events"))


if __name__ == "__main__":
    main()
