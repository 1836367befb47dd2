# SPDX-License-Identifier: Apache-2.0
"""NeuronCores: which ones exist, and which processes hold them.

The facts come from neuron-ls in both of its forms (a list; from SDK 2.34 on an object with a list
in it), else from sysfs. Physical cores are what users share; a logical core is `lnc` of them side
by side. Source: Neuron SDK docs, neuron-ls user guide and runtime configuration (logical
NeuronCores)."""

import json
import os
import pwd
import re

from hone_runner import process, stage

# Where drivers show their nodes, oldest first. Driver 2.31 (SDK 2.33) moved nodes, and not all of
# its places are published. So each node is looked for in all places; a node that is in none is
# unknown.
SYSFS = ("/sys/devices/virtual/neuron_device", "/sys/class/neuron_device")
CORE_COUNTS = ("core_count", "info/core_count", "info/architecture/core_count")
INSTANCES = ("info/architecture/instance_type", "info/instance_type", "instance_type")
CORE_DEPTH = 3              # how deep folders of cores may lie below their device
LNC_FILE = "/opt/aws/neuron/logical_nc_config"
MAX_CORES = 1024
BUSY_WORD = "in use"


def rooted(path):
    """A path of the host's; tests put another root before it."""
    return os.environ.get("HONE_ROOT", "") + path


def first_line(path):
    try:
        with open(path, "rb") as file:
            return file.read(200).decode("utf-8", "replace").split("\n")[0].strip()
    except OSError:
        return ""


def whole(value, default=None):
    """A number; tools sometimes give it as text."""
    if isinstance(value, bool):
        return default
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and re.match(r"^\d{1,9}$", value) else default


def parse_list(text):
    """The rows of neuron-ls, and the other members of its object; ([], {}) when there are none."""
    start = min([at for at in (text.find(b"["), text.find(b"{")) if at >= 0], default=-1)
    if start < 0:
        return [], {}
    try:
        found, _ = json.JSONDecoder().raw_decode(text[start:].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return [], {}
    around = found if isinstance(found, dict) else {}
    lists = [found] if isinstance(found, list) else [value for value in around.values()
                                                     if isinstance(value, list)]
    for rows in lists:
        rows = [row for row in rows if isinstance(row, dict) and "neuron_device" in row]
        if rows:
            return rows, around
    return [], around


def sysfs_line(path, names):
    """The content of the first of these files below a device's folder that has any; "" when none
    has."""
    return next(filter(None, (first_line(os.path.join(path, name)) for name in names)), "")


def sysfs_devices():
    """[(number, folder)] from the first place that has some."""
    for base in map(rooted, SYSFS):
        try:
            names = os.listdir(base)
        except OSError:
            continue
        numbers = sorted(int(name[6:]) for name in names if re.match(r"^neuron\d{1,3}$", name))
        if numbers:
            return [(number, os.path.join(base, "neuron%d" % number)) for number in numbers[:256]]
    return []


def sysfs_cores(path):
    """How many physical cores a device shows, as folders or as a number; 0: unknown."""
    found = set()
    for folder, below, _ in os.walk(path):
        found.update(name for name in below if re.match(r"^neuron_core\d{1,3}$", name))
        if os.path.relpath(folder, path).count(os.sep) >= CORE_DEPTH - 2:
            below[:] = []
    return min(len(found) or whole(sysfs_line(path, CORE_COUNTS), 0), 64)


class Holder:
    """A process that uses a device. physical: the cores it named, None when it did not say."""

    def __init__(self, pid, command, physical):
        self.pid, self.command, self.physical = pid, command, physical
        self.user = user_name(process.user_of(pid))

    def text(self):
        return "%s (pid %s, %s)" % (self.user or "another user", self.pid, self.command[:80])


def user_name(uid):
    if uid is None:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def parse_cores(text):
    """The ids of "0-3,8": a sorted list, None for any other text."""
    ids = set()
    for part in (text or "").replace(" ", "").split(","):
        found = re.match(r"^(\d{1,4})(?:-(\d{1,4}))?$", part)
        if not found:
            return None
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if last < first or last >= MAX_CORES:
            return None
        ids.update(range(first, last + 1))
    return sorted(ids) or None


class Devices:
    """The devices of a host. lnc: physical cores of a logical one. total: physical cores.
    device_of: {physical core: device}. holders: {physical core: Holder}. instance: its type, None
    unknown."""

    def __init__(self, settings, neuron_ls):
        self.settings, self.neuron_ls = settings, neuron_ls
        self.instance, self.warnings, self.said = None, [], ""
        self.lnc_found = None
        self.device_of, self.holders = {}, {}
        self.look()
        self.lnc = self.choose_lnc()

    def look(self):
        """Looks again at who holds what."""
        self.warnings, self.device_of, self.holders = [], {}, {}
        rows, around = self.ask()
        for row in rows[:256]:
            self.add(row)
        kind = around.get("instance_type") or next((row.get("instance_type") for row in rows), None)
        self.instance = kind if isinstance(kind, str) else self.instance
        if not rows:
            self.add_sysfs()
        if self.neuron_ls and not rows:
            self.warnings.append("neuron-ls lists no device: %s" % (self.said or "it said nothing"))

    def ask(self):
        if not self.neuron_ls:
            return [], {}
        for options in (["-j"], ["--output-format", "json"]):
            result = stage.quick([self.neuron_ls] + options, 20.0)
            rows, around = parse_list(result.out_tail)
            if rows:
                return rows, around
            if result.outcome in ("missing", "timeout"):
                self.said = result.text
                break
            lines = result.tail(3)
            self.said = lines[-1] if lines else result.text
        return [], {}

    def add(self, row):
        device = whole(row.get("neuron_device"))
        count = whole(row.get("nc_count"), 0)
        config = min(max(whole(row.get("logical_neuroncore_config"), 1), 1), 8)
        if device is None or not 0 <= count <= 64:
            return
        ids = row.get("neuroncore_ids")
        ids = [whole(one) for one in ids[:64]] if isinstance(ids, list) else []
        if not ids or None in ids:
            ids = list(range(device * count, (device + 1) * count))
        self.lnc_found = config
        physical = [one * config + part for one in ids for part in range(config)]
        physical = [one for one in physical if one < MAX_CORES]
        self.device_of.update({one: device for one in physical})
        rows = row.get("neuron_processes")
        for one in rows[:64] if isinstance(rows, list) else []:
            self.add_process(one, physical, config)

    def add_process(self, row, physical, config):
        pid = whole(row.get("pid")) if isinstance(row, dict) else None
        if pid is None or pid == os.getpid():
            return
        named = self.named_cores(row, pid, config)
        holder = Holder(pid, str(row.get("command") or process_name(pid) or "?"), named)
        for core in physical:
            if named is None or core in named:
                self.holders.setdefault(core, holder)

    @staticmethod
    def named_cores(row, pid, config):
        """The physical cores that a process asked for, if that can be read."""
        ids = row.get("neuroncore_ids")
        if isinstance(ids, list) and ids and all(whole(one) is not None for one in ids):
            ids = [whole(one) for one in ids]
        else:
            parts = process.read_proc(pid, "environ").split(b"\0")
            env = dict(part.split(b"=", 1) for part in parts if b"=" in part)
            ids = parse_cores(env.get(b"NEURON_RT_VISIBLE_CORES", b"").decode("ascii", "replace"))
            config = whole(env.get(b"NEURON_LOGICAL_NC_CONFIG", b"").decode("ascii", "replace"),
                           config)
        return {one * config + part for one in ids for part in range(config)} if ids else None

    def add_sysfs(self):
        """Without neuron-ls: the devices and cores that the driver shows. Nobody knows then who
        holds them, and sometimes not even how many cores there are."""
        found = sysfs_devices()
        silent = [number for number, path in found if not sysfs_cores(path)]
        for number, path in found:
            first = len(self.device_of)
            count = min(sysfs_cores(path), MAX_CORES - first)
            self.device_of.update({first + part: number for part in range(count)})
            self.instance = self.instance or sysfs_line(path, INSTANCES) or None
        if silent:
            self.warnings.append("The driver shows %d device%s without saying how many cores there "
                                 "are: install aws-neuronx-tools, whose neuron-ls says it."
                                 % (len(silent), "" if len(silent) == 1 else "s"))

    def choose_lnc(self):
        """Takes the first that says it: the setting, neuron-ls, the environment, the host's file,
        the default."""
        wanted = self.settings.get("lnc", "").strip()
        if wanted in ("1", "2"):
            return int(wanted)
        if wanted:
            self.warnings.append("The setting lnc = %s is neither 1 nor 2 and is ignored."
                                 % wanted)
        for text in (os.environ.get("NEURON_LOGICAL_NC_CONFIG", ""), first_line(rooted(LNC_FILE))):
            if not self.lnc_found and text in ("1", "2"):
                return int(text)
        if self.lnc_found:
            return self.lnc_found
        return 1 if (self.instance or "").startswith(("trn1", "inf2")) else 2

    @property
    def total(self):
        return max(self.device_of) + 1 if self.device_of else 0

    def logical(self):
        """The ids of the logical cores, in order."""
        return sorted({core // self.lnc for core in self.device_of})

    def physical(self, logical):
        return list(range(logical * self.lnc, (logical + 1) * self.lnc))

    def holder(self, logical):
        """Who holds a logical core, None when it is free."""
        return next((self.holders[core] for core in self.physical(logical) if core in self.holders),
                    None)

    def describe(self):
        """The `cores` of the host event."""
        rows = []
        for core in self.logical():
            held = self.holder(core)
            rows.append({"core": core, "device": self.device_of.get(core * self.lnc),
                         "pid": held.pid if held else None,
                         "command": held.command if held else "",
                         "holder": held.user if held else ""})
        return rows


def process_name(pid):
    return process.read_proc(pid, "cmdline", 4096).replace(b"\0", b" ").decode("utf-8",
                                                                               "replace").strip()
