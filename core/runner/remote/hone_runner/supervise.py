# SPDX-License-Identifier: Apache-2.0
"""The life of a job: started once, detached from the connection; at its end nothing is left, and
cancelling ends exactly this job.

The process that runs a job is the parent (or adopter) of everything the job starts. It writes the
state, the events and the result. This module does not know how a kernel is evaluated."""

import os
import shutil
import signal
import sys
import time
import traceback

from hone_runner import context as contexts
from hone_runner import cores, emit, folder as folders, process, stage

BEAT_S = 5                  # how often the state's file `beat` changes while a job runs
RESERVE = 256 << 10         # bytes kept for the last words on a full disk
READY_S = 60.0              # for a started job to say that it runs
KINDS = {"kernel": "evaluate", "model": "model"}     # kind of job: the module with evaluate()


class Control:
    """The job's process as its stages see it; also its heart beat."""

    def __init__(self, folder, state, events):
        self.folder, self.state, self.events = folder, state, events
        self.cancelled = self.interrupted = False
        self.busy = False           # in a stage, which looks at `cancelled` by itself
        self.raised = False
        self.beats = 0
        self.periodic = []          # called with each beat: renewing of locks

    def install(self):
        signal.signal(signal.SIGTERM, self.on_cancel)
        signal.signal(signal.SIGINT, self.on_cancel)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, self.on_beat)
        signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
        self.beat()

    @staticmethod
    def uninstall():
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def on_cancel(self, number, frame):
        """SIGTERM comes from `cancel`, which leaves a file as a sign, or from the host or a
        scheduler."""
        self.cancelled = True
        self.interrupted = not os.path.exists(self.folder.file("cancel"))

    def on_beat(self, number, frame):
        self.beats += 1
        if self.beats % BEAT_S == 0:
            self.beat()
        if self.events.network:
            self.events.sync()
        if self.cancelled and not self.busy and not self.raised:
            self.raised = True      # our own code that takes long, or waits
            raise stage.Cancelled()

    def beat(self):
        try:
            with open(self.folder.file("beat"), "w") as file:
                file.write("%d\n" % self.beats)
        except OSError:
            pass
        for call in list(self.periodic):
            call()

    def tick(self):
        if self.cancelled:
            self.raised = True
            raise stage.Cancelled()

    def began(self, pid):
        self.busy = True
        self.state["stage"] = process.identity(pid)
        self.write()

    def over(self):
        self.state.pop("stage", None)
        self.busy = False

    def holds(self, text):
        """The cores that the job holds, for lists of jobs; "" for none."""
        self.state["core"] = text
        self.write()

    def has_lock(self, memo):
        """Our part of the core lock (cores.Taker), stored in case this process is killed; None:
        nothing."""
        self.state["lock"] = memo
        self.write()

    def write(self):
        try:
            self.folder.set_state(self.state)
        except OSError:
            pass                    # the disk is full: the events say so


# ------------------------------------------------------------------------------------ starting


def start(path, answers):
    """Starts the job detached; returns when its process is recorded, and says `started`."""
    folder = folders.Folder(path).check()
    lock = folder.lock()
    try:
        standing = folder.standing()
        if standing in ("running", "elsewhere", "ended", "cancelled"):
            pid = (folder.state() or {}).get("pid")
            answers.emit("started", pid=pid, already=True, state=standing)
            return 0
        folder.job()                    # refused while hone still listens
        clear(folder)
        pid = detach(folder)
    finally:
        os.close(lock)
    answers.emit("started", pid=pid, already=False, state="running")
    return 0


def detach(folder):
    """Forks twice; the grandchild runs the job, the parent returns its process id."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            os.setsid()
            if os.fork() == 0:
                leave_session(folder, writer)
                status = work(folder, ready=writer)
        finally:
            os._exit(status)
    os.close(writer)
    os.waitpid(child, 0)
    return wait_ready(reader, folder)


def wait_ready(reader, folder):
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read(4096).decode("utf-8", "replace")
    if said.startswith("ready "):
        return int(said.split()[1])
    raise folders.Refused("the job in %s did not start: %s"
                          % (folder.path, said.strip() or "its process ended at once"))


def leave_session(folder, keep):
    """Closes everything that belongs to the connection."""
    os.setpgid(0, 0)
    empty = os.open(os.devnull, os.O_RDWR)
    said = os.open(folder.file("runner.err"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target, source in ((0, empty), (1, said), (2, said)):
        os.dup2(source, target)
    highest = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, keep)
    os.closerange(keep + 1, min(max(highest, keep + 1), 1 << 16))


def clear(folder):
    """Ends what a job that was killed left running, and gives back the cores it had."""
    pids = process.marked(folder.mark)
    if pids:
        process.end_all(lambda: process.marked(folder.mark))
    state = folder.state() or {}
    cores.let_go(state.get("lock"), state.get("host"))


def run(path, answers):
    """Runs the job in the foreground, as a cluster's batch script does."""
    folder = folders.Folder(path).check()
    lock = folder.lock()
    try:
        standing = folder.standing()
        if standing in ("running", "ended", "cancelled"):
            answers.emit("started", pid=folder.state().get("pid"), already=True, state=standing)
            return 0
        clear(folder)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(reader)
                status = work(folder, ready=writer)
            finally:
                os._exit(status)
        os.close(writer)
        pid = wait_ready(reader, folder)
    finally:
        os.close(lock)
    answers.emit("started", pid=pid, already=False, state="running")
    return attend(child)


def attend(child):
    """Waits for the job; the signals that a scheduler sends reach it."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, frame: process.send([child], signal.SIGTERM))
    while True:
        try:
            _, status = os.waitpid(child, 0)
            return 0 if status == 0 else 3
        except InterruptedError:
            continue


# ------------------------------------------------------------------------------- the job's process


def work(folder, ready):
    """The whole job, in its own process; returns the exit status."""
    try:
        job = folder.job()
        before = folder.state()
        events = open_events(folder)
        state = dict(process.identity(), state="running", pgid=os.getpgid(0), started=time.time(),
                     kernel=emit.clean(job.get("kernel_path") or "", 200), core="",
                     session=emit.clean(job.get("session") or "", 80))
        process.adopt_orphans()
        control = Control(folder, state, events)
        control.install()
        folder.set_state(state)
        os.write(ready, b"ready %d\n" % os.getpid())
        os.close(ready)
    except Exception as problem:
        os.write(ready, emit.clean("%s: %s" % (type(problem).__name__, problem), 2000).encode())
        return 3
    if before or os.fstat(events.descriptor).st_size:
        events.emit("restart", was=(before or {}).get("host"))
    end(folder, control, events, outcome(folder, job, control, events))
    return 0


def open_events(folder):
    path = folder.file("events.ndjson")
    folder.name_file()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.write(descriptor, b"\n")     # a line that a killed runner left unfinished
    reserve = folder.file("reserve")
    try:
        with open(reserve, "wb") as file:
            file.write(b"\0" * RESERVE)
    except OSError:
        pass
    return emit.Events(descriptor, folders.is_network(folder.path), reserve)


def outcome(folder, job, control, events):
    """The members of the result event. There is always one."""
    try:
        module = KINDS.get(job.get("kind") or "kernel")
        if job.get("protocol") != 1 or module is None:
            return failure("usage", "this runner speaks version 1 of the protocol and evaluates "
                                    "jobs of the kinds %s; use the same hone on both sides"
                           % ", ".join(KINDS))
        return evaluate(module, contexts.Context(folder, job, events, control))
    except stage.Cancelled:
        return failure("cancelled", "cancelled")
    except contexts.Failed as problem:
        return failure(problem.kind, str(problem))
    except folders.Refused as problem:
        return failure(problem.kind, str(problem))
    except MemoryError:
        return failure("environment", "the runner itself ran out of memory on the host")
    except OSError as problem:
        note_traceback()
        text = "%s: %s" % (problem.filename or "the runner", problem.strerror or problem)
        if problem.errno in emit.FULL:
            text += "; free space on the disk that holds %s" % folder.home
        return failure("environment", text)
    except Exception as problem:
        note_traceback()
        place = traceback.extract_tb(sys.exc_info()[2])[-1]
        return failure("environment",
                       "the runner failed in %s, line %d: %s: %s (details are in %s)"
                       % (os.path.basename(place.filename), place.lineno, type(problem).__name__,
                          problem, folder.file("runner.err")))


def note_traceback():
    """Writes into runner.err, if there is room for it."""
    try:
        traceback.print_exc()
        sys.stderr.flush()
    except OSError:
        pass


def evaluate(name, context):
    module = __import__("hone_runner." + name, fromlist=["evaluate"])
    return module.evaluate(context)


def failure(kind, text):
    return {"failure": {"kind": kind, "text": text}}


def end(folder, control, events, result):
    """Writes the result, then the state."""
    control.uninstall()
    end_children()
    cancelled = (result.get("failure") or {}).get("kind") == "cancelled"
    if cancelled and control.interrupted:       # it may start over: no result
        finish(folder, control, events, "interrupted")
        return
    for attempt in range(30):
        try:
            events.emit("result", **result)
            break
        except OSError as problem:      # a full disk may get room again
            if problem.errno not in emit.FULL:
                break
            time.sleep(1)
    finish(folder, control, events, "cancelled" if cancelled else "ended")


def finish(folder, control, events, state):
    events.release()
    events.sync()
    shutil.rmtree(folder.file("work"), ignore_errors=True)
    control.state.update(state=state, ended=time.time(), core="", lock=None)
    control.over()
    control.write()


def end_children():
    process.kill_all(lambda: living(process.descendants(os.getpid())))


def living(pids):
    process.reap()
    return [pid for pid in pids if process.start_time(pid)]


# ------------------------------------------------------------------------------------ cancelling


def cancel(path, answers):
    """Ends a job and all processes it started. A job that has not started yet never will."""
    folder = folders.Folder(path).check()
    lock = folder.lock()
    try:
        was = folder.standing()
        state = folder.state() or {}
        if was == "elsewhere":
            raise folders.Refused("the job runs on %s, not here; the command that cancels must run "
                                  "there" % emit.clean(state.get("host"), 80))
        open(folder.file("cancel"), "ab").close()
        if was == "running":
            end_job(folder, state)
        clear(folder)
        if folder.standing() not in ("ended", "cancelled"):
            state.update(state="cancelled", ended=time.time(), core="", lock=None)
            state.pop("stage", None)
            folder.set_state(state)
    finally:
        os.close(lock)
    answers.emit("cancelled", id=folder.id, was=was)
    return 0


def end_job(folder, state):
    """Sends SIGTERM to the job's process, which ends its stage and reports that; if that takes too
    long, SIGKILL to all."""
    pid = state["pid"]
    process.send([pid], signal.SIGTERM)
    deadline = time.monotonic() + 2 * stage.GRACE_S + stage.DRAIN_S
    while process.is_alive(state) and time.monotonic() < deadline:
        time.sleep(0.02)
    if not process.is_alive(state):
        return
    below = state.get("stage") or {}
    strays = [(one, process.start_time(one)) for one in process.descendants(pid)]
    process.send([pid], signal.SIGKILL)
    if process.is_alive(below):
        process.send_group(below["pid"], signal.SIGKILL)
    process.send([one for one, ticks in strays if process.start_time(one) == ticks], signal.SIGKILL)
