# SPDX-License-Identifier: Apache-2.0
"""The root in which a stand-in lives: which line it is, what is switched on, its cores and who
holds them. Nothing here knows of kernels."""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time

LIBRARY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(LIBRARY))        # ROOT/standin/lib/standin/host.py
LOGICAL_CORES = 4                                       # of one Trainium2 device with LNC 2
PHYSICAL_CORES = 8


def read_json(path, missing=None):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return missing


SETUP = read_json(os.path.join(ROOT, "standin", "setup.json"))
LINE = SETUP["row"]


def state(*names):
    """A file of the stand-in's own, whose folder exists afterwards. Behind a wall that shows the
    root as read-only, it is where such a wall keeps files for a while."""
    path = os.path.join(ROOT, "standin", "state", *names)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError:
        pass
    if not os.access(os.path.dirname(path), os.W_OK):
        path = os.path.join(tempfile.gettempdir(), "state", *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return path


class Switches:
    """switches.json, which every launch asks five times: read again when it is another file."""

    path = os.path.join(ROOT, "standin", "switches.json")
    stamp, values = None, {}

    @classmethod
    def look(cls):
        try:
            found = os.stat(cls.path)
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        except OSError:
            stamp = None
        if stamp is None or stamp != cls.stamp:
            cls.stamp, cls.values = stamp, read_json(cls.path, {})
        return cls.values


def switch(name, source=""):
    """The value of a switch. None when it is off or not meant for this kernel."""
    switches = Switches.look()
    if name in switches and switches.get("only", "") in source:
        return switches[name]
    return None


def count(*names):
    """How often this was asked before, for these names. Several processes may ask."""
    with open(state("counts", *names), "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        value = int(file.read() or 0)
        file.seek(0)
        file.truncate()
        file.write(str(value + 1))
    return value


def note(what, **more):
    """Adds a line to the stand-in's diary, which tests read: what was called, and with what."""
    row = json.dumps({"what": what, "pid": os.getpid(), "time": time.time(), **more}, default=str)
    with open(state("diary"), "a", encoding="utf-8") as file:
        file.write(row + "\n")


def hang():
    """Hangs as a tool does whose helper hangs: only the end of the process group ends both."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    time.sleep(3600)


# ------------------------------------------------------------------------------------------- cores


class Unavailable(Exception):
    """Cores that cannot be had. The text is the runtime's own line. status: of NRT."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


def lnc():
    """The physical cores of a logical one, as the environment asks for them."""
    text = os.environ.get("NEURON_LOGICAL_NC_CONFIG") or \
        os.environ.get("NEURON_RT_VIRTUAL_CORE_SIZE") or "2"
    return 1 if text.strip() == "1" else 2


def parse_cores(text, most):
    found = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise Unavailable("NRT:nrt_init  Failed to parse NEURON_RT_VISIBLE_CORES=%s" % text, 2)
        found += range(int(first), int(last or first) + 1)
    if not found or max(found) >= most:
        raise Unavailable("NRT:nrt_allocate_neuron_cores  Logical Neuron Core(s) not available - "
                          "Requested:%s Available:%d" % (text, most), 9)
    return found


def wanted_cores():
    """Physical cores that a process of the runtime takes, and their logical ids."""
    size = lnc()
    most = PHYSICAL_CORES // size
    visible = os.environ.get("NEURON_RT_VISIBLE_CORES")
    number = os.environ.get("NEURON_RT_NUM_CORES")
    if visible:
        logical = parse_cores(visible, most)
    elif number and int(number):
        logical = list(range(int(number)))
    else:
        logical = list(range(most))         # a process that names none takes the whole host
    return logical, [core * size + k for core in logical for k in range(size)]


class Cores:
    """The cores that this process holds until it dies, for all its models together."""

    held = {}               # physical core: its open file

    def take(self, source=""):
        if switch("no_driver", source):
            raise Unavailable("TDRV:tdrv_get_dev_info  No neuron device available", 1)
        busy = switch("core_busy", source)
        logical, physical = wanted_cores()
        names = "nc%d-nc%d" % (logical[0], logical[-1])
        text = "NRT:nrt_allocate_neuron_cores  NeuronCore(s) not available - Requested:%s " \
            "Available:%d"
        if busy:
            raise Unavailable(text % (names, 0), 9)
        for core in physical:
            if core in self.held:
                continue
            file = open(state("cores", str(core)), "a+", encoding="utf-8")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Unavailable(text % (names, PHYSICAL_CORES - len(holders())), 9) from None
            self.held[core] = file
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "command": " ".join(sys.argv)[:200]}))
            file.flush()
        note("cores", logical=logical, lnc=lnc())


def holders():
    """{physical core: {pid, command}} of the cores that are held now."""
    busy = switch("core_busy")
    if busy:
        return {core: {"pid": 1, "command": busy} for core in range(PHYSICAL_CORES)}
    found = {}
    for core in range(PHYSICAL_CORES):
        path = state("cores", str(core))
        if not os.path.exists(path):
            continue
        with open(path, "r+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                found[core] = json.loads(file.read() or "{}") or {"pid": 0, "command": "?"}
    return found
