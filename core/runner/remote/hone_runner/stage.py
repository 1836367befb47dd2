# SPDX-License-Identifier: Apache-2.0
"""A stage: one tool in a process group of its own, with limits, and nothing left behind; code of a
candidate or a reference runs behind a wall (wall.py).

The runner reads its output, waits, ends it in time, and distinguishes the ways it can end. Stages
run one at a time. Only the caller knows what a stage is for."""

import fcntl
import os
import resource
import selectors
import signal
import subprocess
import time

from hone_runner import output, process

GRACE_S = 3.0               # between the polite and the other signal
DRAIN_S = 2.0               # for what is still in the pipes when the stage ended
ORDER_S = 0.3               # signals to several processes come in any order
WEIGH_S = 1.0               # between two looks at the memory of a stage's processes
TAIL = 64 << 10             # bytes of each stream in the result
READ = 1 << 20
F_SETPIPE_SZ = 1031
MEMORY_SIGNS = (b"[F137]", b"MemoryError", b"std::bad_alloc", b"Cannot allocate memory",
                b"Out of memory")
# The variables that a stage inherits; others of the login session could change measurements.
INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ",
             "LD_LIBRARY_PATH",
             # Numeric libraries behave as in hone and in the reference.
             "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
             "AWS_REGION", "AWS_DEFAULT_REGION", "HF_HOME", "SLURM_JOB_ID", "SLURM_JOBID")
# Proxies, often with a password in them: only for tools that fetch something.
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
OUTCOMES = ("ok", "failed", "signalled", "killed", "memory", "timeout", "cancelled", "missing",
            "lock")


class Cancelled(BaseException):
    """The job was cancelled; it must pass through all code between the stage and the job's end, so
    it is not an Exception."""


class Limits:
    """wall_s: seconds. cpu_s, memory_bytes: None for none; memory is that of all processes of the
    stage together. address_bytes: of one process's address space. nice: 0 where time is measured.
    held: the cores it runs on (hold.Held); it is ended when their lock ends."""

    held = None

    def __init__(self, wall_s, cpu_s=None, memory_bytes=None, address_bytes=None, nice=5):
        self.wall_s, self.cpu_s, self.nice = wall_s, cpu_s, nice
        self.memory_bytes, self.address_bytes = memory_bytes, address_bytes

    def on(self, held):
        self.held = held
        return self


class Result:
    """How a stage ended: outcome (OUTCOMES), status (None when a signal ended it), signal, seconds,
    out and err (paths of what it said, None without a folder), out_tail and err_tail (bytes), text
    (a sentence about what went wrong, "" when nothing did)."""

    def __init__(self, name):
        self.name, self.outcome, self.status, self.signal = name, "ok", None, None
        self.seconds, self.text = 0.0, ""
        self.out = self.err = None
        self.out_tail = self.err_tail = b""

    @property
    def ok(self):
        return self.outcome == "ok"

    def tail(self, lines=20):
        """The last lines of both streams, for a message."""
        return [line for part in (self.out_tail, self.err_tail)
                for line in part.decode("utf-8", "replace").splitlines()[-lines:] if line.strip()]

    def read_out(self, limit=64 << 20):
        """The bytes of its standard output that were kept."""
        if self.out is None:
            return self.out_tail
        with open(self.out, "rb") as file:
            return file.read(limit)


def clean_environment(extra=None, path=(), mark=None):
    """The variables of a stage: the allow-list, `extra`, and the folders of `path` first in
    PATH."""
    env = {name: os.environ[name] for name in INHERITED if name in os.environ}
    env.update({name: value for name, value in os.environ.items() if name.startswith("LC_")})
    env.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    env["PATH"] = os.pathsep.join([folder for folder in path if folder] + [env["PATH"]])
    env.update({"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8:replace",
                "PYTHONDONTWRITEBYTECODE": "1", "TERM": "dumb", "NO_COLOR": "1"})
    if mark:
        env[process.MARK] = mark
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def proxies():
    """The variables that name proxies, for tools that fetch something."""
    return {name: os.environ[name] for name in PROXIES if name in os.environ}


def in_child(limits, parent, wall=None, cwd=None):
    """Runs in the child before it becomes the tool."""
    def prepare():
        process.prctl(process.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(127)
        os.umask(0o077)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        lower(resource.RLIMIT_CPU, limits.cpu_s)
        lower(resource.RLIMIT_AS, limits.address_bytes)
        if limits.nice:
            os.nice(limits.nice)
        try:                        # without memory the stage dies, not sshd
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("500")
        except OSError:
            pass
        if wall is not None:
            wall.enter(cwd)
    return prepare


def lower(what, limit):
    if limit is None:
        return
    limit = int(limit)
    hard = resource.getrlimit(what)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    try:
        resource.setrlimit(what, (limit, hard))
    except (OSError, ValueError):
        pass


class Stage:
    """One run of a tool. `control` has tick() (called ten times a second; it raises Cancelled when
    the stage has to end), began(pid) and over()."""

    def __init__(self, name, argv, limits, control=None, wall=None):
        self.result = Result(name)
        self.wall = wall                # wall.Wall; None: the host's own tools
        self.argv = [os.fspath(part) for part in argv]
        self.limits = limits
        self.control = control
        self.child = None
        self.ended_by = None            # why we ended it: timeout, memory, excess, lock, cancelled
        self.excess = None              # which limit it passed, in words
        self.asked = 0.0                # when
        self.looked = self.weighed = 0.0

    def run(self, env, cwd, streams, stdin=None):
        """streams: the output.Streams of its standard output and error."""
        began = time.monotonic()
        try:
            self.start(env, cwd, stdin)
        except (OSError, ValueError, subprocess.SubprocessError) as problem:
            self.result.outcome = "missing"
            self.result.text = "%s could not be started: %s" % (self.argv[0], problem)
            for stream in streams:
                stream.close()
            return self.result
        try:
            self.pump(streams, began + self.limits.wall_s)
        except Cancelled:
            self.ended_by = "cancelled"
        finally:
            self.finish(streams)
        self.result.seconds = time.monotonic() - began
        self.settle()
        if self.ended_by == "cancelled":
            raise Cancelled()
        if self.control and not self.result.ok:
            if self.result.signal == signal.SIGTERM:
                time.sleep(ORDER_S)
            self.control.tick()     # a scheduler ends all processes at once: not the tool's fault
        return self.result

    def start(self, env, cwd, stdin):
        source = open(stdin, "rb") if stdin else subprocess.DEVNULL
        try:
            self.child = self.launch(env, cwd, source)
        finally:
            if stdin:
                source.close()
        if self.control:
            self.control.began(self.child.pid)

    def launch(self, env, cwd, source):
        program = self.wall.open_filter() if self.wall else None
        argv = self.wall.command(self.argv, cwd, program) if self.wall else self.argv
        try:
            return subprocess.Popen(
                argv, env=env, cwd=cwd, stdin=source, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True, close_fds=True,
                pass_fds=() if program is None else (program,),
                preexec_fn=in_child(self.limits, os.getpid(), self.wall, cwd))
        finally:
            if program is not None:
                os.close(program)

    def pump(self, streams, deadline):
        with selectors.DefaultSelector() as selector:
            for pipe, stream in zip((self.child.stdout, self.child.stderr), streams):
                self.open_pipe(selector, pipe, stream)
            news = time.monotonic()
            while self.child.poll() is None:
                if self.take(selector, 0.1 if selector.get_map() else 0):
                    news = time.monotonic()
                elif not selector.get_map():
                    time.sleep(0.02)
                if time.monotonic() - news > output.QUIET_S:
                    for stream in streams:
                        stream.quiet()
                    news = time.monotonic()
                self.watch(deadline)
            process.send_group(self.child.pid, signal.SIGKILL)
            self.end_strays()
            until = time.monotonic() + DRAIN_S
            while selector.get_map() and time.monotonic() < until:
                self.take(selector, 0.05)

    @staticmethod
    def open_pipe(selector, pipe, stream):
        os.set_blocking(pipe.fileno(), False)
        try:
            fcntl.fcntl(pipe.fileno(), F_SETPIPE_SZ, READ)
        except OSError:
            pass
        selector.register(pipe, selectors.EVENT_READ, stream)

    @staticmethod
    def take(selector, wait_s):
        """Reads what has arrived; returns whether there was anything."""
        found = False
        for key, _ in selector.select(wait_s):
            try:
                chunk = os.read(key.fd, READ)
            except (BlockingIOError, InterruptedError):
                continue
            if chunk:
                key.data.feed(chunk)
                found = True
            else:
                selector.unregister(key.fileobj)
        return found

    def watch(self, deadline):
        """Checks limits and whether the job is cancelled, at most ten times a second."""
        now = time.monotonic()
        if now - self.looked < 0.1:
            return
        self.looked = now
        if self.control:
            self.control.tick()
        if now > deadline:
            self.end("timeout")
        elif self.limits.held and self.limits.held.over():
            self.end("lock")
        elif (self.limits.memory_bytes or self.wall) and now - self.weighed > WEIGH_S:
            self.weighed = now
            self.weigh([self.child.pid] + process.descendants(self.child.pid))

    def weigh(self, pids):
        if self.limits.memory_bytes and self.memory(pids) > self.limits.memory_bytes:
            self.end("memory")
        elif self.wall:
            self.excess = self.wall.excess(len(pids))
            if self.excess:
                self.end("excess")

    @staticmethod
    def memory(pids):
        """Resident bytes of the processes."""
        page = resource.getpagesize()
        total = 0
        for pid in pids:
            fields = process.read_proc(pid, "statm").split()
            total += int(fields[1]) * page if len(fields) > 1 else 0
        return total

    def end(self, why):
        """Ends the group: first with SIGTERM, then with SIGKILL; the caller still reads the
        output."""
        if self.ended_by is None:
            self.ended_by = why
            self.asked = time.monotonic()
            process.send_group(self.child.pid, signal.SIGTERM)
        elif time.monotonic() - self.asked > GRACE_S:
            process.send_group(self.child.pid, signal.SIGKILL)
            self.end_strays()

    def end_strays(self):
        """Every descendant of this process belongs to the stage, because stages run one at a
        time."""
        process.kill_all(lambda: self.reaped(process.descendants(os.getpid())), DRAIN_S)

    def reaped(self, pids):
        """Collects the adopted ones that ended, but leaves the child itself to subprocess."""
        for pid in pids:
            if pid != self.child.pid:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except OSError:
                    pass
        return [pid for pid in pids if process.start_time(pid)]

    def finish(self, streams):
        if self.child.poll() is None:
            process.send_group(self.child.pid, signal.SIGTERM)
            try:
                self.child.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                pass
        process.send_group(self.child.pid, signal.SIGKILL)
        self.end_strays()
        try:
            self.child.wait(DRAIN_S)
        except subprocess.TimeoutExpired:
            pass                        # in the kernel's hands (a device that does not answer)
        for pipe in (self.child.stdout, self.child.stderr):
            pipe.close()
        if self.control:
            self.control.over()
        for stream in streams:
            stream.close()
        self.result.out, self.result.err = [stream.raw.path for stream in streams]
        self.result.out_tail, self.result.err_tail = [stream.raw.tail.bytes()[-TAIL:]
                                                      for stream in streams]

    def settle(self):
        """Works out what happened, from how the tool ended and what it printed."""
        result, code = self.result, self.child.returncode
        if code is None:
            result.signal = signal.SIGKILL
        elif code < 0:
            result.signal = -code
        elif self.wall and self.wall.has_own_processes() and 128 < code < 192 and code != 137:
            result.signal = code - 128      # the process in between reports a signal as shells do
        else:
            result.status = code
        result.outcome, result.text = self.judge()

    def judge(self):
        result, what = self.result, os.path.basename(self.argv[0])
        after = "after %.1f s" % result.seconds
        if self.ended_by == "timeout":
            return "timeout", "%s was ended %s: its limit is %g s" \
                % (what, after, self.limits.wall_s)
        if self.ended_by == "memory":
            return "memory", "%s was ended %s: its limit of memory is %d MiB" \
                % (what, after, self.limits.memory_bytes >> 20)
        if self.ended_by == "lock":
            return "lock", "%s was ended %s: the lock of its cores ended, and somebody waits for " \
                "them or the host drains" % (what, after)
        if self.ended_by == "excess":
            return "failed", "%s was ended %s: %s" % (what, after, self.excess)
        if self.ended_by:
            return self.ended_by, "%s was ended %s" % (what, after)
        if result.status == 0:
            return "ok", ""
        if result.signal == signal.SIGXCPU:
            return "timeout", "%s used its %g s of processor time" % (what, self.limits.cpu_s or 0)
        if result.signal == signal.SIGKILL or result.status == 137:
            return "killed", "%s was killed from outside %s, by the system when memory runs out, " \
                "or by somebody" % (what, after)
        said = result.out_tail + result.err_tail
        if any(sign in said for sign in MEMORY_SIGNS):
            return "memory", "%s ran out of memory %s" % (what, after)
        if result.signal is not None:
            return "signalled", "%s was ended by signal %d (%s) %s" \
                % (what, result.signal, signal_name(result.signal), after)
        return "failed", "%s ended with status %d %s" % (what, result.status, after)


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def quick(argv, limit_s=10.0, env=None, cwd="/"):
    """Runs a small tool without showing or keeping its output. Returns a Result whose tails hold
    the output (4 MiB of each stream)."""
    streams = [output.Stream(None, None, None), output.Stream(None, None, None)]
    stage = Stage(os.path.basename(argv[0]), argv, Limits(limit_s, nice=0))
    result = stage.run(clean_environment() if env is None else env, cwd, streams)
    result.out_tail, result.err_tail = [stream.raw.tail.bytes() for stream in streams]
    return result
