# SPDX-License-Identifier: Apache-2.0
"""hone run on a real Slurm whose nodes have a stand-in of a Neuron SDK: cluster_chain.py HONE."""

import json
import os
import subprocess
import sys
import tempfile

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


def squeue(environment):
    said = subprocess.run(["squeue", "--noheader", "--states=all", "--format=%j %T"],
                          env=environment, stdout=subprocess.PIPE, check=True).stdout
    return [line.split() for line in said.decode().splitlines()]


def check_doctor(environment):
    """The head node has no device, which is no failure; the nodes are counted."""
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
    jobs = squeue(environment)
    said = [event["text"] for event in events if event["event"] == "log" and "text" in event]
    numbered = [text for text in said if text.startswith("handed in as job ")]
    assert jobs and all(name.startswith("hone-") and state == "COMPLETED"
                        for name, state in jobs), jobs
    assert len(numbered) == len(jobs) >= 2, (numbered, jobs)


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
