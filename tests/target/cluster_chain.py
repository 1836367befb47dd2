# SPDX-License-Identifier: Apache-2.0
"""hone run on a real Slurm whose nodes have a stand-in of a Neuron SDK: cluster_chain.py HONE."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = os.path.join(os.path.dirname(HERE), "hosts")
sys.path.insert(0, os.path.join(HOSTS, "standins"))
sys.dont_write_bytecode = True

import make  # noqa: E402
import tasks  # noqa: E402

HONE = os.path.abspath(sys.argv[1])
CONFIG = """[cluster here]
options = --partition=low "--comment=a  word"
time = 00:10:00
samples = 5
warmup_s = 0
"""


def prepare(folder):
    """The home, the stand-in and the task in the folder; the environment hone runs in."""
    home = os.path.join(folder, "home")
    tasks.write(os.path.join(home, ".config", "hone", "config.ini"), CONFIG)
    make.make_root(os.path.join(folder, "root"), "2.26", HONE,
                   memory=os.path.join(folder, "memory"))
    tasks.make(os.path.join(folder, "silu"), "silu", "legacy")
    return {"PATH": "/usr/bin:/bin", "HOME": home, "HONE_ROOT": os.path.join(folder, "root"),
            "TMPDIR": folder, "LANG": "C.UTF-8",
            "SLURM_CONF": os.path.join(folder, "slurm", "etc", "slurm.conf")}


def ended(folder):
    """{number: (name, state)} of every job that ended, however long ago. Slurm writes a line for
    each when it is done with it, and forgets the job itself soon after."""
    path = os.path.join(folder, "slurm", "ended")
    said = tasks.read(path) if os.path.exists(path) else ""
    rows = [dict(re.findall(r"(\w+)=(\S+)", line)) for line in said.splitlines()]
    return {row["JobId"]: (row["Name"], row["JobState"]) for row in rows if "JobState" in row}


def wait_for_ended(folder, numbers):
    """The same, when Slurm is done with these jobs. If that takes forever, what is known by
    then."""
    for _ in range(600):
        found = ended(folder)
        if numbers <= set(found):
            break
        time.sleep(0.1)
    return found


def check_doctor(environment):
    """The head node has no device, which is no failure. The nodes are counted."""
    said = subprocess.run([HONE, "host", "doctor", "here"], env=environment, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout.decode()
    assert "2 nodes in low: 2 idle" in said and "FAILED" not in said, said


def check(folder):
    environment = prepare(folder)
    check_doctor(environment)
    argv = [HONE, "run", "silu", "--target", "here", "--rounds", "1", "--gate", "auto",
            "--seeds", "0,21", "--json"]
    done = subprocess.run(argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=220, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:] + done.stdout.decode()[-2000:]
    events = [json.loads(line) for line in done.stdout.decode().splitlines()]
    end = events[-1]
    assert end["event"] == "end" and end["best"]["correct"], end
    assert end["best"]["speedup"] > 1.1 and not end["best"]["modelled"], end
    said = [event["text"] for event in events if event["event"] == "log" and "text" in event]
    numbers = re.findall(r"^submitted as job (\d+)", "\n".join(said), re.MULTILINE)
    jobs = wait_for_ended(folder, set(numbers))
    assert set(jobs) == set(numbers) and len(numbers) >= 2, (numbers, jobs)
    assert all(name.startswith("hone-") and state == "COMPLETED"
               for name, state in jobs.values()), jobs


def main():
    with tempfile.TemporaryDirectory(prefix="hone-chain-") as folder:
        argv = ["/usr/bin/python3", os.path.join(HOSTS, "slurm.py"),
                os.path.join(folder, "slurm")]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cluster:
            said = cluster.stdout.readline().decode()
            if said.startswith("skip "):
                print("skipped:", said[5:].strip())
                return 77
            assert said.startswith("ready "), said
            check(folder)
            cluster.stdin.close()
    return 0


sys.exit(main())
