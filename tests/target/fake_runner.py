# SPDX-License-Identifier: Apache-2.0
"""A runner for tests of the way to a runner: it keeps to REMOTE.md and evaluates nothing. What a
job does stands in its kernel's text, one word and its arguments a line:

    lines N         N numbered log lines, as fast as they go
    slowly N S      the same with a pause of S seconds after each
    noise BYTES     that much binary garbage, in lines of about a kilobyte
    sleep S
    pid FILE        the job's process id goes to FILE
    child FILE      starts a process that sleeps, whose id goes to FILE
    count FILE      adds a byte to FILE: how often the job was done
    artifact BYTES  makes out/profile.json of that size
    damaged         tells a wrong hash for it
    die             the job's process is killed without a result, when it runs for the first time
    forget          its events and their id are gone then, as if the folder had been lost
    result US       the result; without it there is none
"""

import hashlib
import json
import os
import signal
import sys
import time

SENTINEL = "@hone "


def say(event, **members):
    sys.stdout.write(SENTINEL + json.dumps(dict(members, event=event)) + "\n")
    sys.stdout.flush()


class Work:
    def __init__(self, job):
        self.job = job
        self.events = open(os.path.join(job, "events.ndjson"), "ab", 0)
        self.hash = None
        self.number = 0

    def emit(self, event, **members):
        line = SENTINEL + json.dumps(dict(members, event=event)) + "\n"
        self.events.write(line.encode())

    def do_lines(self, count):
        text = []
        for _ in range(int(count)):
            text.append(SENTINEL + json.dumps({"event": "log", "severity": "note",
                                               "text": "line %d" % self.number}) + "\n")
            self.number += 1
            if len(text) == 1000:
                self.events.write("".join(text).encode())
                text = []
        self.events.write("".join(text).encode())

    def do_slowly(self, count, pause):
        for _ in range(int(count)):
            self.emit("log", severity="note", text="line %d" % self.number)
            self.number += 1
            time.sleep(float(pause))

    def do_noise(self, size):
        chunk = (bytes(range(256)).replace(b"\n", b"") * 4 + b"\x1b[2J\n") * 64
        for _ in range(int(size) // len(chunk)):
            self.events.write(chunk)

    def do_sleep(self, seconds):
        time.sleep(float(seconds))

    def do_pid(self, path):
        with open(path, "w") as file:
            file.write("%d" % os.getpid())

    def do_child(self, path):
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
            os._exit(0)
        with open(path, "w") as file:
            file.write("%d" % pid)

    def do_count(self, path):
        with open(path, "ab") as file:
            file.write(b".")

    def do_artifact(self, size):
        os.makedirs(os.path.join(self.job, "out"), exist_ok=True)
        data = b"{\"format\": \"test\"}".ljust(int(size))
        with open(os.path.join(self.job, "out/profile.json"), "wb") as file:
            file.write(data)
        self.hash = hashlib.sha256(data).hexdigest()
        self.size = len(data)

    def do_damaged(self):
        self.hash = "0" * 64

    def do_die(self):
        mark = os.path.join(self.job, "died")
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)

    def do_forget(self):
        if not os.path.exists(os.path.join(self.job, "died")):
            open(os.path.join(self.job, "forget"), "w").close()

    def do_result(self, us):
        self.emit("sample", us=float(us), of="kernel")
        if self.hash:
            self.emit("artifact", name="profile", path="out/profile.json", bytes=self.size,
                      sha256=self.hash)
        self.emit("result", verdict={"compiles": {"answer": "yes", "reason": ""}},
                  latency_us=float(us), device_s=0.25)

    def run(self, text):
        for line in text.splitlines():
            words = line.split()
            if words and hasattr(self, "do_" + words[0]):
                getattr(self, "do_" + words[0])(*words[1:])


def path(job, name):
    return os.path.join(job, name)


def alive(job):
    try:
        with open(path(job, "pid")) as file:
            pid = int(file.read())
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (OSError, ValueError):
        return False


def start(job):
    if alive(job) or os.path.exists(path(job, "ended")):
        say("started", pid=0, already=True)
        return
    with open(path(job, "job.json")) as file:
        text = json.load(file)["kernel_text"]
    if os.path.exists(path(job, "forget")):
        os.unlink(path(job, "events.ndjson"))
    if not os.path.exists(path(job, "events.ndjson")):
        with open(path(job, "events.id"), "w") as file:
            file.write(os.urandom(8).hex())
    with open(path(job, "events.ndjson"), "a") as file:
        if file.tell():
            file.write(SENTINEL + '{"event":"restart"}\n')
    if os.path.exists(path(job, "pid")):
        os.unlink(path(job, "pid"))  # of one that died: who follows must not take it for this one
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        with open(path(job, "pid.new"), "w") as file:
            file.write("%d" % os.getpid())
        os.rename(path(job, "pid.new"), path(job, "pid"))
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        Work(job).run(text)
        open(path(job, "ended"), "w").close()
        os._exit(0)
    for _ in range(1000):
        if os.path.exists(path(job, "pid")):
            break
        time.sleep(0.01)
    say("started", pid=0, already=False)


def follow(job, offset, counted_in=""):
    with open(path(job, "events.id")) as file:
        name = file.read()
    offset = 0 if counted_in and counted_in != name else offset
    say("follow", offset=offset, file=name)
    with open(path(job, "events.ndjson"), "rb") as file:
        file.seek(offset)
        spoke = time.time()
        while True:
            over = os.path.exists(path(job, "ended")), alive(job)
            data = file.read(1 << 20)
            if data:
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
                spoke = time.time()
            elif over[0]:
                say("end", offset=file.tell())
                return
            elif not over[1]:
                say("gone", text="its process was killed")
                return
            elif time.time() - spoke > 0.3:
                say("alive")
                spoke = time.time()
            time.sleep(0 if data else 0.01)


def cancel(job):
    try:
        with open(path(job, "pid")) as file:
            pid = int(file.read())
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    except (OSError, ValueError):
        pass
    open(path(job, "ended"), "w").close()
    say("cancelled")


def probe():
    say("host", hostname="fake", clock=time.time() + float(os.environ.get("FAKE_SKEW", "0")),
        python="3", numpy="1", memory_bytes=1 << 30, disk_free_bytes=1 << 31,
        environments=[{"path": "/opt/venv", "packages": {"nki": "0.4.0"}}],
        chosen=None if os.environ.get("FAKE_NO_SDK") else "/opt/venv", why="none was found",
        release="2.30", cores=[{"core": 0, "device": 0, "pid": None, "command": "", "holder": ""},
                               {"core": 1, "device": 0, "pid": 7, "command": "train.py",
                                "holder": "ann"}], warnings=[])


def main(argv):
    print("Welcome to this host; there is nothing to see here")
    if argv[0] == "probe":
        probe()
    elif argv[0] == "sweep":
        say("swept", jobs=0, bytes=0)
    elif argv[0] == "start":
        start(argv[1])
    elif argv[0] == "follow":
        follow(argv[1], int(argv[2]), *argv[3:])
    elif argv[0] == "cancel":
        cancel(argv[1])
    else:
        say("error", kind="usage", text="no such command")
        return 2
    return 0


sys.exit(main(sys.argv[1:]))
