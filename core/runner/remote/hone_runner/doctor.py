# SPDX-License-Identifier: Apache-2.0
"""doctor: everything that an evaluation on this host relies on, looked at one by one.

Each check answers with its state, what was found and, unless all is well, what to do about it."""

import glob
import os
import re
import sys
import time

from hone_runner import allowed, emit, environment, folder as folders, keep, lock as locks, \
    lock_state, process, releases, stage, wall as walls
from hone_runner.sdk import canary, routes

MIN_MEMORY = 8 << 30
MAX_SKEW_S = 30.0
SLOW_LOGIN_S = 3.0
# Versions of runtime and driver that go with tools 2.N: 2.(N + 2) and 2.(N - 2). Source: Neuron SDK
# release notes, release contents of 2.25, 2.26, 2.32 and 2.33.
RUNTIME_AHEAD, DRIVER_BEHIND = 2, 2


class Doctor:
    """host: environment.Host. Each check returns (state, found, advice)."""

    def __init__(self, home, settings):
        self.home, self.settings = home, settings
        self.host = environment.look(home, settings)

    # -------------------------------------------------------------------------------- the login

    def login(self):
        shell = os.environ.get("SHELL", "/bin/sh")
        env = stage.clean_environment({"SSH_CLIENT": "127.0.0.1 1 22", "SHLVL": "0",
                                       "SSH_CONNECTION": "127.0.0.1 1 127.0.0.1 22"})
        began = time.monotonic()
        result = stage.quick([shell, "-c", "true"], 20.0, env, os.path.expanduser("~"))
        took = time.monotonic() - began
        said = result.out_tail.strip()
        if not result.ok:
            return "failed", "%s: %s" % (shell, result.text), \
                "a shell that runs no command cannot be used; look at what its start-up files do"
        if said:
            return "warning", "the login shell prints %d bytes before every command (%s)" \
                % (len(said), emit.clean(said.splitlines()[0], 60)), \
                "hone ignores that, but file transfers may fail: print in ~/.bashrc only when " \
                    "the shell is interactive ([ -t 1 ])"
        if took > SLOW_LOGIN_S:
            return "warning", "the login shell takes %.1f s for an empty command" % took, \
                "look at what its start-up files do; every command of hone waits for them"
        return "ok", "%s, quiet" % shell, ""

    def session(self):
        """Whether jobs survive the end of the login."""
        for path in ["/etc/systemd/logind.conf"] + sorted(
                glob.glob(environment.rooted("/etc/systemd/logind.conf.d/*.conf"))):
            text = environment.read_text(environment.rooted(path) if path.endswith("logind.conf")
                                         else path, 65536)
            if re.search(r"^\s*KillUserProcesses\s*=\s*(yes|true|1)\s*$", text, re.M | re.I):
                return "failed", "%s ends all processes of a user at logout" % path, \
                    "jobs would not survive a lost connection: run `sudo loginctl enable-linger " \
                    "$USER`, or set KillUserProcesses=no there"
        return "ok", "jobs outlive the connection", ""

    def clock(self):
        text = self.settings.get("clock", "")
        try:
            skew = time.time() - float(text)
        except ValueError:
            return "ok", time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()), ""
        if abs(skew) <= MAX_SKEW_S:
            return "ok", "within %.0f s of yours" % max(abs(skew), 1), ""
        return "warning", "%.0f s %s yours" % (abs(skew), "ahead of" if skew > 0 else "behind"), \
            "times in lists will look wrong and locks of a shared host may expire early: switch " \
            "on time synchronisation (sudo timedatectl set-ntp true) on the machine that is wrong"

    # --------------------------------------------------------------------------- Python and SDK

    def python(self):
        found = "%s at %s" % (sys.version.split()[0], sys.executable)
        if sys.version_info < (3, 8):
            return "failed", found, "hone's runner needs Python 3.8 or newer; set python to one"
        return "ok", found, ""

    def numpy(self):
        try:
            python = self.host.python_with_numpy()
        except folders.Refused as problem:
            return "failed", "none", str(problem)
        result = stage.quick([python, "-c", "import numpy; print(numpy.__version__)"], 60.0)
        if not result.ok:
            return "failed", "numpy does not load in %s: %s" \
                % (python, (result.tail(1) or [result.text])[-1]), \
                "install it again: %s -m pip install --force-reinstall numpy" % python
        return "ok", "%s in %s" % (result.out_tail.decode("ascii", "replace").strip(), python), ""

    def environment(self):
        host = self.host
        if host.chosen is None:
            return "failed", "%d environments with Neuron packages" % len(host.environments), \
                host.why
        others = ", ".join(one.path for one in host.environments if one.path != host.chosen.path)
        return "ok", "%s (%s)%s" % (host.chosen.path, host.why,
                                    "; also there: " + others if others else ""), ""

    def nki(self):
        host = self.host
        rows = ["%s %s" % (name, host.packages[name]) for name in environment.NEURON
                if name in host.packages]
        if not host.route:
            return "failed", ", ".join(rows) or "neither nki nor neuronx-cc", \
                "install them: pip install --extra-index-url " \
                "https://pip.repos.neuron.amazonaws.com neuronx-cc nki, or let `hone host " \
                "setup` do it"
        found = "SDK %s: %s; %s" % (host.release, ", ".join(rows), releases.ROUTES[host.route])
        if host.release.endswith("+"):
            return "warning", found, "this SDK is newer than hone knows; if evaluations fail, " \
                "update hone"
        if host.route == "framework":
            return "warning", found, "this line has no way of its own to run a kernel; use 2.29 " \
                "or newer if you can"
        return "ok", found, ""

    def seam(self):
        """In which of the SDK's ways kernels compile, as the last canary chose it."""
        route = routes.route_for(self.host.route, self.host.release)
        if route is None:
            return "ok", "no kernel compiles here (see the check nki)", ""
        known = canary.last(os.path.join(self.home, "cache"), self.host)
        if known is None:
            order = route.compile[routes.canary_dialect(route)]
            return "ok", "the canary of the first evaluation chooses one; in this order: " \
                + ", ".join(order), ""
        found = "%s, chosen by the canary of %s" % (canary.seam_text(known["seam"]), time.strftime(
            "%Y-%m-%d %H:%M UTC", time.gmtime(known["time"])))
        skipped = known["skipped"]
        if skipped:
            return "warning", "%s; not by %s" % (found, "; ".join(
                "%s: %s" % row for row in skipped.items())), \
                "what hone expects of this SDK is not true for those ways; results of the chosen " \
                "way are right. If this SDK is newer than hone, update hone"
        return "ok", found, ""

    def tools(self):
        tools = self.host.tools
        found = ", ".join("%s %s" % (name, row["version"] or "?") for name, row in tools.items())
        runs = [name for name in ("neuron-explorer", "neuron-profile", "neuron-bench")
                if name in tools]
        if not runs or "neuron-ls" not in tools:
            return "failed", found or "none in %s" % environment.TOOL_FOLDER, \
                "install the package aws-neuronx-tools, or set tools to their folder"
        line = releases.version(self.host.release)
        for name in runs:
            version = releases.version(tools[name]["version"])
            if line and version and version[:2] != line[:2] and line >= (2, 25):
                return "warning", "%s beside SDK %s" % (found, self.host.release), \
                    "tools and compiler are of different releases, so profiles may not be " \
                    "readable: use aws-neuronx-tools and an environment of the same release"
        return "ok", found, ""

    # ------------------------------------------------------------------------ driver and devices

    def driver(self):
        version = environment.driver_version()
        nodes = glob.glob(environment.rooted("/dev/neuron[0-9]*"))
        if version is None:
            return "failed", "the kernel module neuron is not loaded", \
                "sudo modprobe neuron; if there is no such module install aws-neuronx-dkms " \
                "(`hone host setup`). On a host without devices kernels can only be compiled"
        if not nodes:
            return "failed", "driver %s, and no /dev/neuron*" % version, \
                "this machine has no Neuron device, or the driver did not find it: see dmesg"
        closed = [path for path in nodes if not os.access(path, os.R_OK | os.W_OK)]
        if closed:
            return "failed", "driver %s; you may not open %s" % (version, closed[0]), \
                "join the group that owns it (ls -l %s), then log in again" % closed[0]
        runtime = runtime_version()
        found = "driver %s, runtime %s, %d devices" % (version, runtime or "not found", len(nodes))
        if runtime is None:
            return "warning", found, "install aws-neuronx-runtime-lib"
        if not agree(version, runtime, self.tools_version()):
            return "warning", found, "driver, runtime and tools are of different releases; " \
                "update all three (`hone host setup`) if loading or profiling fails"
        return "ok", found, ""

    def tools_version(self):
        return next((row["version"] for row in self.host.tools.values() if row["version"]), None)

    def cores(self):
        devices = self.host.devices
        there = devices.logical()
        if not there:
            return "failed", "none" + "".join(" (%s)" % one for one in devices.warnings[:1]), \
                "without NeuronCores kernels can be compiled but not run; see the check driver"
        try:
            allowed.cores(self.settings.get("cores"), there)
        except folders.Refused as problem:
            return "failed", str(problem), \
                "evaluations fail with this setting: set cores to some of these, or leave it out"
        held = {}
        for core in there:
            holder = devices.holder(core)
            if holder:
                held.setdefault(holder.text(), []).append(str(core))
        rows = ["core %s by %s" % (",".join(cores), text) for text, cores in held.items()]
        found = "%d logical cores of %d, %d free" \
            % (len(there), devices.lnc, len(there) - sum(len(cores) for cores in held.values()))
        if rows:
            found += "; held: " + "; ".join(rows[:8])
        if held and sum(len(cores) for cores in held.values()) == len(there):
            return "warning", found, "evaluations wait until one is free; ask who holds them, " \
                "hone ends nobody's process"
        return "ok", found, ""

    def lock(self):
        if self.settings.get("lock") == "none":
            return "ok", "none, as set", ""
        found = locks.Lock(self.settings.get("lock_folder") or os.environ.get("HONE_LOCK_FOLDER"),
                           "hone")
        if not os.path.isdir(found.folder):
            return "ok", "%s will be made" % found.folder, ""
        try:
            found.prepare()
            with found.state(5.0, write=False) as state:
                if state is None:
                    return "warning", "%s is held" % found.file("atomic_lock"), \
                        "a program holds the lock for long; find it with fuser %s" \
                        % found.file("atomic_lock")
                return self.lock_state(found, state)
        except (locks.Unusable, OSError) as problem:
            return "failed", found.folder, str(problem)

    @staticmethod
    def lock_state(found, state):
        now = time.time()
        until = state.drains_until(now)
        held = [core for core, end in state.held.items() if end > now]
        rows = [row for row in state.queue if now - row["last_seen_ts"] <= lock_state.STALE_S]
        callers, waiting = found.callers(), found.waiting()
        text = "%s, version %d: %d physical cores locked%s, %d wait%s" % (
            found.folder, found.version, len(held), some(callers.get(core) for core in held),
            len(rows), some(waiting.get(row["entry_id"]) for row in rows))
        if until:
            clock = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(until))
            return "warning", "%s; drained until %s" % (text, clock), "somebody keeps the host " \
                "free of work for %d s more; evaluations wait" % (until - now)
        if state.is_torn():
            return "warning", text + "; two of them keep the same core", "no client of the lock " \
                "is given cores until one of the two is forgotten, a minute after it went"
        return "ok", text, ""

    def wall(self):
        """The wall that candidates and references would get (wall.py)."""
        try:
            level = walls.choose(self.settings.get("wall", "auto"),
                                 lambda one: walls.works(walls.Wall(one, [(self.home, True)])))
        except walls.Unavailable as problem:
            return "failed", "none that is allowed", str(problem)
        if level == "limits":
            return "warning", "limits alone", "a malicious reference or candidate can read what " \
                "you can read, and use the network: install bubblewrap, or allow user namespaces"
        return "ok", level, ""

    # ------------------------------------------------------------------------ the machine itself

    def disk(self):
        free = folders.free_bytes(self.home)
        kind, point = folders.filesystem(os.path.dirname(self.home))
        found = "%.1f GiB free for %s (%s)" % (free / 2**30, self.home, kind or "?")
        if free < environment.MIN_DISK:
            return "failed" if free < 1 << 30 else "warning", found, \
                "compilers need about 10 GiB: the runner's command `sweep DAYS` deletes old " \
                "jobs, and ~/.cache and /var/tmp/neuron-compile-cache are often large"
        if kind in folders.NETWORK:
            return "ok", found + "; a network file system, so events come with its delay", ""
        return "ok", found, ""

    def memory(self):
        total, free = environment.memory()
        found = "%.1f of %.1f GiB available" % (free / 2**30, total / 2**30)
        if total and free < MIN_MEMORY:
            return "warning", found, "large kernels need more than that to compile; end what you " \
                "do not need"
        return "ok", found, ""

    def temporary(self):
        place = os.environ.get("TMPDIR", "/tmp")
        path = os.path.join(place, "hone-doctor-%d" % os.getpid())
        try:
            os.mkdir(path, 0o700)
            os.rmdir(path)
        except OSError as problem:
            return "failed", "%s: %s" % (place, problem.strerror), \
                "compilers and the core lock need a folder for temporary files, with the right " \
                "to write there"
        free = folders.free_bytes(place)
        if free < 1 << 30:
            return "warning", "%s: %d MiB free" % (place, free >> 20), "make room there"
        return "ok", place, ""

    def leftovers(self):
        every = folders.all_jobs(self.home)
        standing = [(one, one.standing()) for one in every]
        gone = [one for one, state in standing if state == "gone"]
        strays = [one for one in gone if process.marked(one.mark)]
        size = keep.size_of(os.path.join(self.home, "jobs")) if every else 0
        found = "%d jobs, %.1f GiB, %d running" \
            % (len(every), size / 2**30, sum(1 for _, state in standing if state == "running"))
        if strays:
            return "warning", "%s; %d ended without a result and left processes" \
                % (found, len(strays)), "end them with the runner's command cancel: " \
                + ", ".join(".hone/jobs/" + one.id for one in strays[:4])
        if size > 20 << 30:
            return "warning", found, "the runner's command `sweep DAYS` deletes old ones"
        return "ok", found, ""


def some(names):
    """The first few names, each once, in brackets; "" for none."""
    names = sorted({name for name in names if name})
    return " (%s%s)" % (", ".join(names[:4]), ", ..." if len(names) > 4 else "") if names else ""


def runtime_version():
    """The version of the runtime library, from the name of its file; None."""
    for path in sorted(glob.glob(environment.rooted("/opt/aws/neuron/lib/libnrt.so*"))):
        found = re.search(r"libnrt\.so\.(\d+(?:\.\d+){2,})$", os.path.realpath(path))
        if found:
            return found.group(1)
    return None


def agree(driver, runtime, tools):
    """Whether the three are of one release; versions that cannot be read do not count."""
    lines = [(releases.version(driver), DRIVER_BEHIND), (releases.version(runtime), -RUNTIME_AHEAD),
             (releases.version(tools), 0)]
    minors = {version[1] + add for version, add in lines if len(version) > 1}
    return len(minors) <= 1 or min(minors) < 25


CHECKS = ("login", "session", "python", "numpy", "environment", "nki", "seam", "tools", "driver",
          "cores", "lock", "wall", "disk", "memory", "temporary", "clock", "leftovers")


def doctor(home, settings, answers):
    """Runs the checks: a `check` event each, then `host`."""
    patient = Doctor(home, settings)
    for name in CHECKS:
        try:
            state, found, advice = getattr(patient, name)()
        except Exception as problem:        # the other checks still run
            state, found = "warning", "the check failed: %s: %s" % (type(problem).__name__, problem)
            advice = "report this to hone's authors; the other checks are valid"
        answers.emit("check", name=name, state=state, found=found, advice=advice)
    answers.emit("host", **patient.host.describe())
    return 0
