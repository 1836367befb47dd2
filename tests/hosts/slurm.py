#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A private Slurm cluster on 127.0.0.1: munged, slurmctld and a slurmd per node, as ordinary
processes of whoever starts this, with their own folder and ports.

    slurm.py FOLDER [NODES [CPUS]]

It stays in the foreground, says "ready CONF" (or "skip REASON" and exits with 77), and then takes
commands on its standard input, each answered by "ok" or "failed TEXT":

    kill NAME     ends a node, as if its power failed (its slurmd, its jobs and their processes), or
                  "slurmctld", which saves its state before
    start NAME    brings it back, and waits until it serves
    left WORD     "ok N": how many processes below have WORD in their command line

When its input ends, or it is told to end, nothing it started is left: it adopts what its daemons
orphan. Slurm counts a node as lost after 3 s here, and forgets ended jobs after 20 s; FOLDER/ended
has a line for each, which stays.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIFE_S = 900        # whatever happens to the process that started it
START_S = 20

CONF = """\
ClusterName=hone
SlurmctldHost={hostname}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.sock,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
MailProg=/bin/true
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/ended
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=3
KillWait=1
MessageTimeout=3
TCPTimeout=1
MinJobAge=20
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF
"""
NODE = "NodeName={name} NodeHostname={hostname} NodeAddr=127.0.0.1 Port={port} CPUs={cpus}\n"


def find(program):
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/local/sbin")


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def read_proc(pid, name):
    try:
        with open("/proc/%d/%s" % (pid, name), "rb") as file:
            return file.read()
    except OSError:
        return b""


def below(root):
    """Every living descendant of a process, children before their own."""
    parents = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        fields = read_proc(int(entry), "stat").rpartition(b")")[2].split()
        if fields and fields[0] != b"Z":
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found, todo = [], [root]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def send_kill(pids):
    # All at once, as in a machine that loses its power: none sees the others die.
    for signum in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            try:
                os.kill(pid, signum)
            except OSError:
                pass


class Cluster:
    def __init__(self, folder, nodes, cpus):
        self.folder = folder
        self.conf = os.path.join(folder, "etc", "slurm.conf")
        self.nodes = ["n%d" % (i + 1) for i in range(nodes)]
        self.daemons = {}
        for name in ["etc", "state", "log", "run"] + ["spool/" + node for node in self.nodes]:
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        hostname = socket.gethostname().partition(".")[0]
        ports = free_ports(nodes + 1)
        with open(self.conf, "w") as file:
            file.write(CONF.format(hostname=hostname, ctld_port=ports[0], user=os.getuid(),
                                   folder=folder))
            for name, port in zip(self.nodes, ports[1:]):
                file.write(NODE.format(name=name, hostname=hostname, port=port, cpus=cpus))
        key = os.open(os.path.join(folder, "etc", "munge.key"), os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(key, os.urandom(64))
        os.close(key)
        os.environ["SLURM_CONF"] = self.conf

    def argv(self, name):
        if name == "munged":
            run = os.path.join(self.folder, "run", "")
            return [find("munged"), "--foreground", "--force", "--socket=%smunge.sock" % run,
                    "--pid-file=%smunged.pid" % run, "--seed-file=%smunged.seed" % run,
                    "--key-file=" + os.path.join(self.folder, "etc", "munge.key")]
        if name == "slurmctld":
            return [find("slurmctld"), "-D", "-f", self.conf]
        return [find("slurmd"), "-D", "-N", name, "-f", self.conf]

    def spawn(self, name):
        log = open(os.path.join(self.folder, "log", name), "ab")
        self.daemons[name] = subprocess.Popen(self.argv(name), stdin=subprocess.DEVNULL, stdout=log,
                                              stderr=log, preexec_fn=die_with_parent,
                                              env=dict(os.environ, HONE_TEST_NODE=name))
        log.close()

    def serves(self, name):
        if name == "munged":
            return os.path.exists(os.path.join(self.folder, "run", "munge.sock"))
        if name == "slurmctld":
            return b"UP" in self.ask(["scontrol", "ping"])
        # A node that came back shows as "idle*" until it has answered once.
        return self.ask(["sinfo", "-h", "-n", name, "-o", "%t"]).split()[:1] in (
            [b"idle"], [b"mix"], [b"alloc"])

    @staticmethod
    def ask(argv):
        try:
            return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  timeout=10).stdout
        except subprocess.TimeoutExpired:
            return b""

    def start(self, *names):
        for name in names:
            self.spawn(name)
        for name in names:
            end = time.monotonic() + START_S
            while not self.serves(name):
                if time.monotonic() > end or self.daemons[name].poll() is not None:
                    return "failed %s does not serve: %s" % (name, self.last_words(name))
                time.sleep(0.05)
        return "ok"

    def last_words(self, name):
        with open(os.path.join(self.folder, "log", name), errors="replace") as file:
            return " / ".join(file.read().splitlines()[-3:])

    def kill(self, name):
        if name == "slurmctld":   # killed hard it forgets the last seconds, and gives numbers twice
            self.daemons[name].terminate()
            self.daemons[name].wait()
            return "ok"
        pids = [self.daemons[name].pid]
        if name in self.nodes:
            # What a node's slurmd starts: the processes that watch over jobs, and the jobs.
            marks = {("%s=%s" % (key, name)).encode()
                     for key in ("HONE_TEST_NODE", "SLURMD_NODENAME")}
            for pid in below(os.getpid()):
                if marks & set(read_proc(pid, "environ").split(b"\0")):
                    pids += [pid] + below(pid)
        send_kill(pids)
        self.daemons[name].wait()
        return "ok"

    @staticmethod
    def left(word):
        lines = [read_proc(pid, "cmdline") for pid in below(os.getpid())]
        return "ok %d" % sum(word.encode() in line for line in lines)

    def end(self):
        # Again until nothing is left, because what is killed may leave orphans.
        for _ in range(200):
            pids = below(os.getpid())
            if not pids:
                break
            send_kill(pids)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except OSError:
                pass
            time.sleep(0.02)


CGROUPS = ("cgroup.controllers", "freezer")      # of version 2, of version 1


def skip(reason):
    print("skip", reason, flush=True)
    sys.exit(77)


def main():
    folder = os.path.abspath(sys.argv[1])
    nodes, cpus = [int(text) for text in (sys.argv[2:4] + ["2", "1"][len(sys.argv) - 2:])]
    lacking = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not find(name)]
    if not sys.platform.startswith("linux"):
        skip("the cluster of the tests needs Linux")
    if lacking:
        skip("no %s here (Debian: slurm-wlm, munge)" % ", ".join(lacking))
    if not any(os.path.exists("/sys/fs/cgroup/" + name) for name in CGROUPS):
        skip("slurmd needs a cgroup file system, and none is mounted on /sys/fs/cgroup")
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(signum, lambda *_: sys.exit(1))
    signal.alarm(LIFE_S)
    cluster = Cluster(folder, nodes, cpus)
    try:
        answer = cluster.start("munged")
        if answer == "ok":
            answer = cluster.start("slurmctld", *cluster.nodes)
        print("ready " + cluster.conf if answer == "ok" else answer, flush=True)
        for line in sys.stdin if answer == "ok" else ():
            verb, name = (line.split() + ["", ""])[:2]
            print(getattr(cluster, verb)(name), flush=True)
    finally:
        cluster.end()


if __name__ == "__main__":
    main()
