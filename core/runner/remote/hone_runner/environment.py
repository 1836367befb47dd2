# SPDX-License-Identifier: Apache-2.0
"""What a host has: Python environments with the Neuron packages, tools, driver, devices.

It imports nothing of an SDK (that can take a minute): it reads packages from the folders that pip
leaves, and asks tools for their version once, again only after they changed."""

import glob
import json
import os
import platform
import pwd
import re
import shutil
import socket
import sys
import time

from hone_runner import devices, folder as folders, releases, stage

PACKAGES = ("nki", "neuronx-cc", "nrtpy", "numpy", "torch", "torch-neuronx", "torch-xla", "jax",
            "jax-neuronx", "libneuronxla", "neuronx-distributed", "neuronx-distributed-inference",
            "transformers", "vllm", "nki-library")
NEURON = ("nki", "neuronx-cc", "nrtpy")
TOOLS = ("neuron-explorer", "neuron-profile", "neuron-bench", "neuron-ls", "neuron-monitor")
# Not asked for their version: the package of the first gives it, and the second would start an
# endless measurement.
MUTE = ("neuronx-cc", "neuron-monitor")
TOOL_FOLDER = "/opt/aws/neuron/bin"
GLOBS = ("/opt/aws_neuronx_venv_*", "~/aws_neuron_venv_*", "~/aws_neuronx_venv_*")
MIN_DISK = 10 << 30
MAX_FOLDER = 20000          # entries of a folder of packages that are looked at


def rooted(path):
    if path.startswith("~"):
        return os.path.expanduser(path)
    return path if path.startswith(folders.home()) else devices.rooted(path)


def read_text(path, limit=4096):
    try:
        with open(path, "rb") as file:
            return file.read(limit).decode("utf-8", "replace").strip()
    except OSError:
        return ""


# ------------------------------------------------------------------------------- environments


class Environment:
    """A Python and the packages installed in it. path: its folder; packages: {name: version}."""

    def __init__(self, path, python, packages, version):
        self.path, self.python, self.packages, self.version = path, python, packages, version

    def rank(self):
        return (releases.version(self.packages.get("nki")),
                releases.version(self.packages.get("neuronx-cc")))

    def has_neuron(self):
        return any(name in self.packages for name in NEURON)

    def describe(self):
        return {"path": self.path, "python": self.version, "packages": self.packages}


def packages_in(folder):
    """{name: version} of the packages of interest in a folder of packages."""
    try:
        names = os.listdir(folder)[:MAX_FOLDER]
    except OSError:
        return {}
    found = {}
    for entry in names:
        parts = re.match(r"(.+?)-(\d[^-]*)(?:-py[\d.]+)?\.(?:dist|egg)-info$", entry)
        if parts:
            name = re.sub(r"[-_.]+", "-", parts.group(1)).lower()
            if name in PACKAGES:
                found[name] = parts.group(2).replace("_", "-")
    return found


def package_folders(path):
    """The folders of packages of an environment, and the Python version they are for."""
    found = sorted(glob.glob(os.path.join(glob.escape(path), "lib*", "python3*", "*-packages")))
    version = ""
    for folder in found:
        version = os.path.basename(os.path.dirname(folder))[len("python"):] or version
    config = read_text(os.path.join(path, "pyvenv.cfg"))
    exact = re.search(r"^version(?:_info)?\s*=\s*(\d[\d.]*)", config, re.M)
    return found, exact.group(1).rstrip(".") if exact else version


def examine(path):
    """The environment in a folder, None when there is no Python in it."""
    if os.path.isfile(path):                # the Python itself, or bin/activate
        path = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    both = [os.path.join(path, "bin", name) for name in ("python", "python3")]
    python = next((one for one in both if os.access(one, os.X_OK)), None)
    if python is None:
        return None
    folders_found, version = package_folders(path)
    packages = {}
    for folder in reversed(folders_found):
        packages.update(packages_in(folder))
    return Environment(path, python, packages, version)


def own():
    """The Python that runs this code, with everything it can import."""
    packages = {}
    for folder in reversed([entry for entry in sys.path if os.path.isdir(entry)]):
        packages.update(packages_in(folder))
    return Environment(sys.prefix, sys.executable, packages, platform.python_version())


def candidates(settings):
    """[(environment or None, where it was named)]; those that the person named come first."""
    rows = []
    wanted = settings.get("environment", "").strip()
    if wanted:
        rows.append((examine(rooted(os.path.expanduser(wanted))) or
                     examine(os.path.expanduser(wanted)), "the setting environment"))
    for name in ("VIRTUAL_ENV", "NKI_VENV_PATH"):
        if os.environ.get(name):
            rows.append((examine(os.path.expanduser(os.environ[name])), name))
    made = os.path.join(folders.home(), "venv")
    found = [(examine(path), pattern) for pattern in GLOBS + (made,)
             for path in sorted(glob.glob(rooted(pattern)))[:64]]
    found.sort(key=lambda row: row[0].rank() if row[0] else (), reverse=True)
    return rows + found + [(own(), "the Python that runs hone's runner")]


def choose(settings):
    """(all environments, the chosen one or None, why)."""
    rows = candidates(settings)
    seen, every = set(), []
    for found, where in rows:
        if found and found.path not in seen and found.has_neuron():
            seen.add(found.path)
            every.append(found)
    if settings.get("environment", "").strip():
        found = rows[0][0]
        if found is None:
            return every, None, "the setting environment = %s is not a Python environment: it " \
                "has no bin/python" % settings["environment"]
        return every, found, "named by the setting environment"
    for found, where in rows:
        if found and found.has_neuron():
            version = found.packages.get("nki") or found.packages.get("neuronx-cc")
            return every, found, "the newest of those found (%s), by %s" % (version, where) \
                if "*" in where else "found by %s" % where
    return every, None, "no Python environment with nki or neuronx-cc was found in $VIRTUAL_ENV, " \
        "$NKI_VENV_PATH, /opt/aws_neuronx_venv_* or ~/aws_neuron_venv_*; name one by the setting " \
        "environment, or let `hone host setup` make one"


# --------------------------------------------------------------------------------------- tools


def find_tools(settings, environment):
    """{name: path} of the tools that are there."""
    wanted = os.path.expanduser(settings.get("tools", "").strip())
    places = [wanted] if wanted else []
    places += [rooted(TOOL_FOLDER)]
    found = {}
    for name in TOOLS:
        path = shutil.which(name, path=os.pathsep.join(places)) or shutil.which(name)
        if path:
            found[name] = path
    compiler = environment and os.path.join(environment.path, "bin", "neuronx-cc")
    if compiler and os.access(compiler, os.X_OK):
        found["neuronx-cc"] = compiler
    return found


def tool_versions(tools, cache):
    """{name: {path, version}}; a tool that did not change since it was asked is not asked again."""
    memory = folders.read_json(cache, 1 << 20) or {}
    rows, changed = {}, False
    for name, path in tools.items():
        state = os.stat(path)
        key = "%s %d %d" % (path, state.st_size, state.st_mtime_ns)
        if not isinstance(memory.get(key), str):
            memory[key], changed = ask_version(path), True
        rows[name] = {"path": path, "version": memory[key] or None}
    if changed:
        keep = dict(list(memory.items())[-200:])
        try:
            os.makedirs(os.path.dirname(cache), mode=0o700, exist_ok=True)
            folders.write_whole(cache, json.dumps(keep))
        except OSError:
            pass
    return rows


def ask_version(path):
    """The version that a tool prints for itself; "" when it prints none."""
    if os.path.basename(path) in MUTE:
        return ""
    result = stage.quick([path, "--version"], 10.0)
    said = (result.out_tail + b"\n" + result.err_tail)[:4096].decode("utf-8", "replace")
    found = re.search(r"\d+\.\d+(?:\.\d+)+[-%@.\w]*", said)
    return found.group()[:80] if found else ""


# ---------------------------------------------------------------------------------------- host


class Host:
    """What look() found. release: SDK line or None; route: key of releases.ROUTES or None."""

    def __init__(self, home, settings):
        self.home, self.settings = home, settings
        self.environments, self.chosen, self.why = choose(settings)
        packages = self.chosen.packages if self.chosen else {}
        self.packages = packages
        self.release = releases.line_of(packages)
        self.route = releases.route_of(packages)
        cache = os.path.join(home, "cache", "probes", "tools.json")
        self.tools = tool_versions(find_tools(settings, self.chosen), cache)
        if "neuronx-cc" in self.tools:
            self.tools["neuronx-cc"]["version"] = packages.get("neuronx-cc")
        self.devices = devices.Devices(settings, self.tool("neuron-ls"))
        self.python = self.chosen.python if self.chosen else sys.executable

    def tool(self, name):
        """The path of a tool, None when it is not there."""
        return self.tools[name]["path"] if name in self.tools else None

    def path(self):
        """The folders that come first in a stage's PATH."""
        first = [os.path.join(self.chosen.path, "bin")] if self.chosen else []
        return first + sorted({os.path.dirname(row["path"]) for row in self.tools.values()})

    def variables(self):
        """What every stage on this host has in its environment."""
        values = {"NEURON_RT_LOG_LEVEL": "WARNING", "NEURON_RT_LOG_LOCATION": "console",
                  "NEURON_LOGICAL_NC_CONFIG": str(self.devices.lnc)}
        if self.chosen and self.chosen.path != "/usr":
            values["VIRTUAL_ENV"] = self.chosen.path
        return values

    def python_with_numpy(self):
        """The Python for the reference and the comparison: the environment's, else the runner's
        own."""
        if self.chosen and self.chosen.packages.get("numpy"):
            return self.chosen.python
        if numpy_version():
            return sys.executable
        raise folders.Refused(no_numpy(self))

    def describe(self):
        """The members of the host event."""
        name = pwd.getpwuid(os.getuid()).pw_name if has_name() else str(os.getuid())
        return {"hostname": socket.gethostname(), "user": name, "clock": time.time(),
                "python": platform.python_version(), "numpy": numpy_version(),
                "machine": platform.machine(), "cpus": os.cpu_count() or 0,
                "memory_bytes": memory()[0], "disk_free_bytes": folders.free_bytes(self.home),
                "instance": self.devices.instance or instance_type(), "driver": driver_version(),
                "environments": [one.describe() for one in self.environments],
                "chosen": self.chosen.path if self.chosen else None, "why": self.why,
                "release": self.release, "route": releases.ROUTES.get(self.route),
                "tools": self.tools, "cores": self.devices.describe(), "lnc": self.devices.lnc,
                "warnings": self.warnings()}

    def warnings(self):
        """Sentences about what does or may prevent an evaluation."""
        found = []
        if not self.chosen:
            found.append(self.why[:1].upper() + self.why[1:] + ".")
        elif not self.route:
            found.append("The environment %s has neither nki nor neuronx-cc: no kernel compiles."
                         % self.chosen.path)
        if self.release and self.release.endswith("+"):
            found.append("The SDK is newer than any this runner knows (%s); hone treats it like %s."
                         % (self.packages.get("nki") or self.packages.get("neuronx-cc"),
                            self.release.rstrip("+")))
        if not numpy_version() and not self.packages.get("numpy"):
            found.append(no_numpy(self) + ".")
        found += self.devices.warnings
        free = folders.free_bytes(self.home)
        if free < MIN_DISK:
            found.append("Only %.1f GiB are free on the disk of %s; compilers need about 10."
                         % (free / 2**30, self.home))
        return found


def has_name():
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def no_numpy(host):
    python = host.chosen.python if host.chosen else sys.executable
    return "no Python on this host has numpy, which references and comparisons need: run " \
        "`%s -m pip install numpy`, or set python or environment to one that has it" % python


def numpy_version():
    """The version of numpy this Python would import, without importing it; None."""
    for folder in sys.path:
        if os.path.isdir(folder):
            found = packages_in(folder).get("numpy")
            if found:
                return found
    return None


def memory():
    """(bytes of memory, bytes available); zeros when not known."""
    text = read_text("/proc/meminfo")
    rows = dict(re.findall(r"^(\w+):\s+(\d+) kB", text, re.M))
    return int(rows.get("MemTotal", 0)) << 10, int(rows.get("MemAvailable", 0)) << 10


def instance_type():
    """The instance type that the firmware gives ("trn2.48xlarge"); None if it gives none."""
    name = read_text(rooted("/sys/devices/virtual/dmi/id/product_name"), 80)
    return name if re.match(r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$", name) else None


def driver_version():
    return read_text(rooted("/sys/module/neuron/version"), 80) or None


def look(home, settings):
    """Looks at this host: a Host."""
    return Host(home, settings)
