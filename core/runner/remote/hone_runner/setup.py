# SPDX-License-Identifier: Apache-2.0
"""setup: what a fresh host lacks, as steps with their commands and reasons; they are run only on
request.

Ubuntu (apt) and Amazon Linux 2023 (dnf). A step is needed only if its result is missing, so setup
can be repeated. The environment is made in .hone/venv; changes elsewhere need sudo. Source: Neuron
SDK docs, manual installation of PyTorch on Ubuntu and of NKI on Amazon Linux 2023; apt-key, which
they use, is no part of newer releases, so the key goes into a file that the source names."""

import glob
import grp
import os
import pwd
import re
import shutil
import signal
import sys

from hone_runner import emit, environment, folder as folders, output, stage

APT = "https://apt.repos.neuron.amazonaws.com"
YUM = "https://yum.repos.neuron.amazonaws.com"
PIP = "https://pip.repos.neuron.amazonaws.com"
KEY = "GPG-PUB-KEY-AMAZON-AWS-NEURON.PUB"
APT_KEY_FILE = "/etc/apt/keyrings/aws-neuron.asc"
APT_LIST = "/etc/apt/sources.list.d/neuron.list"
YUM_REPO = "/etc/yum.repos.d/neuron.repo"
NEURON_VENDOR, NEURON_DEVICES = "0x1d0f", ("0x7164", "0x7264", "0x7364", "0x7565")
PYTHONS = ("python3.12", "python3.11", "python3.13", "python3.10")
LIMIT_S = 3600.0


class Step:
    """needed: whether it has to be done. files: {path below .hone/setup: text} its command
    reads."""

    def __init__(self, name, why, argv, needed, files=None, root=True):
        self.name, self.why, self.needed, self.files = name, why, needed, files or {}
        self.argv = (["sudo", "-n"] if root and os.geteuid() != 0 else []) + argv
        self.done = not needed

    def describe(self):
        return {"name": self.name, "why": self.why, "argv": self.argv, "needed": self.needed,
                "done": self.done}


class Host:
    """What the steps depend on."""

    def __init__(self, home, settings):
        self.home, self.settings = home, settings
        self.release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', environment.read_text(
            environment.rooted("/etc/os-release"), 8192), re.M))
        self.manager = next((name for name in ("apt-get", "dnf") if shutil.which(name)), None)
        self.found = environment.look(home, settings)
        self.has_device = has_device()
        self.folder = os.path.join(home, "setup")
        self.venv = os.path.join(home, "venv")

    def lacks(self, package):
        """Whether a package is not installed, by the package manager."""
        if self.manager == "apt-get":
            result = stage.quick(["dpkg-query", "-W", "-f", "${Status}", package])
            return b"install ok installed" not in result.out_tail
        return not stage.quick(["rpm", "-q", package]).ok

    def python(self):
        """The Python for the environment: one that the SDK is made for."""
        named = self.settings.get("python", "").strip()
        if named:
            return os.path.expanduser(named)
        return next((found for found in map(shutil.which, PYTHONS) if found), sys.executable)


def has_device():
    """Whether a Neuron device is plugged in, driver or not."""
    if (environment.instance_type() or "").startswith(("trn", "inf2")):
        return True
    for path in glob.glob(environment.rooted("/sys/bus/pci/devices/*/vendor")):
        device = environment.read_text(os.path.join(os.path.dirname(path), "device"), 20)
        if environment.read_text(path, 20) == NEURON_VENDOR and device in NEURON_DEVICES:
            return True
    return False


# ----------------------------------------------------------------------------------- the steps


def apt_steps(host):
    codename = host.release.get("VERSION_CODENAME", "")
    source = "deb [signed-by=%s] %s %s main\n" % (APT_KEY_FILE, APT, codename)
    is_there = any(APT in environment.read_text(path, 65536) for path in
                   glob.glob(environment.rooted("/etc/apt/sources.list.d/*")))
    steps = [
        Step("downloader", "the key of the package source is fetched with curl",
             ["apt-get", "install", "-y", "curl", "ca-certificates"], not shutil.which("curl")),
        Step("key folder", "where the key of the package source goes",
             ["mkdir", "-p", os.path.dirname(APT_KEY_FILE)],
             not is_there and not os.path.isdir(os.path.dirname(APT_KEY_FILE))),
        Step("key", "the key that Neuron's packages are signed with",
             ["curl", "-fsSL", "--proto", "=https", "-o", APT_KEY_FILE, "%s/%s" % (APT, KEY)],
             not is_there and not os.path.exists(APT_KEY_FILE)),
        Step("package source", "Neuron's packages for %s: %s" % (codename, source.strip()),
             ["install", "-m", "0644", os.path.join(host.folder, "neuron.list"), APT_LIST],
             not is_there, {"neuron.list": source}),
    ]
    wanted = packages(host, "linux-headers-%s" % os.uname().release)
    missing = [name for name, _ in wanted if host.lacks(name)]
    steps.append(Step("package lists", "so that the packages below are found",
                      ["apt-get", "update"], bool(missing)))
    steps += [Step(name, why, ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y",
                               name], name in missing) for name, why in wanted]
    return steps


def dnf_steps(host):
    repo = "[neuron]\nname=Neuron YUM Repository\nbaseurl=%s\nenabled=1\nmetadata_expire=0\n" \
        "gpgcheck=1\ngpgkey=%s/%s\n" % (YUM, YUM, KEY)
    is_there = any(YUM in environment.read_text(path, 65536) for path in
                   glob.glob(environment.rooted("/etc/yum.repos.d/*.repo")))
    steps = [
        Step("key", "the key that Neuron's packages are signed with",
             ["rpm", "--import", "%s/%s" % (YUM, KEY)], not is_there),
        Step("package source", "Neuron's packages: %s" % YUM,
             ["install", "-m", "0644", os.path.join(host.folder, "neuron.repo"), YUM_REPO],
             not is_there, {"neuron.repo": repo}),
    ]
    wanted = packages(host, "kernel-devel-%s" % os.uname().release)
    return steps + [Step(name, why, ["dnf", "install", "-y", name], host.lacks(name))
                    for name, why in wanted]


def packages(host, headers):
    """[(package, why)] of the system, in the order they are installed."""
    rows = []
    if host.has_device:
        rows += [(headers, "the driver is built for this kernel"),
                 ("aws-neuronx-dkms", "the driver of the devices"),
                 ("aws-neuronx-collectives", "collective communication, which the runtime loads")]
    rows += [("aws-neuronx-runtime-lib", "the runtime that executes compiled kernels"),
             ("aws-neuronx-tools", "neuron-ls, neuron-explorer, neuron-bench: they run, time and "
              "profile kernels")]
    return rows


def python_steps(host):
    """The environment: needed only if no environment that can compile kernels was found."""
    needed = host.found.route is None
    python = host.python()
    here = os.path.join(host.venv, "bin", "python")
    steps = []
    if host.manager == "apt-get" and needed:
        version = re.search(r"python(\d\.\d+)$", os.path.realpath(python))
        name = "python%s-venv" % version.group(1) if version else "python3-venv"
        steps.append(Step(name, "Debian and Ubuntu keep venv in a package of its own",
                          ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y",
                           name],
                          not has_venv(python)))
    elif host.manager == "dnf" and needed:
        for name, why in (("libxcrypt-compat", "a library the compiler links to"),
                          ("python3.11", "a Python that the SDK is made for")):
            steps.append(Step(name, why, ["dnf", "install", "-y", name], host.lacks(name)))
        python = "/usr/bin/python3.11" if not host.settings.get("python") else python
    steps.append(Step("environment", "a Python environment of hone's own for the SDK",
                      [python, "-m", "venv", host.venv], needed and not os.path.exists(here),
                      root=False))
    return steps + [
        Step("pip", "older ones do not find the right packages",
             [here, "-m", "pip", "install", "--upgrade", "pip"],
             needed and not os.path.exists(here), root=False),
        Step("compiler", "neuronx-cc and nki, from Neuron's own index, and numpy",
             [here, "-m", "pip", "install", "--extra-index-url", PIP, "neuronx-cc==2.*", "nki",
              "numpy"], needed, root=False)]


def has_venv(python):
    return stage.quick([python, "-c", "import ensurepip, venv"], 30.0).ok


def device_steps(host):
    """The driver in use and the right to open the devices."""
    steps = [Step("load driver", "the driver is installed but not loaded", ["modprobe", "neuron"],
                  host.has_device and environment.driver_version() is None)]
    nodes = sorted(glob.glob(environment.rooted("/dev/neuron[0-9]*")))
    closed = [path for path in nodes if not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        group = group_of(closed[0])
        if group and group != "root":
            steps.append(Step("group", "%s belongs to the group %s; log in again afterwards"
                              % (closed[0], group),
                              ["usermod", "-aG", group, pwd.getpwuid(os.getuid()).pw_name], True))
    return steps


def group_of(path):
    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name
    except (KeyError, OSError):
        return None


def steps_for(host):
    system = {"apt-get": apt_steps, "dnf": dnf_steps}[host.manager](host)
    return system + device_steps(host) + python_steps(host)


# -------------------------------------------------------------------------------------- the run


class Patient(emit.Events):
    """Events that nobody may be listening to: a package manager must not be ended because of
    that."""

    def write(self, data, is_last=False):
        try:
            super().write(data, is_last)
        except BrokenPipeError:
            pass


def setup(home, settings, answers, apply):
    """Reports what is missing as `step` events. With apply it runs the steps in order until one
    fails; a step that has begun is finished even if the connection breaks."""
    answers = Patient(answers.descriptor)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    host = Host(home, settings)
    if host.manager is None or host.release.get("ID") not in ("ubuntu", "debian", "amzn"):
        raise folders.Refused("setup knows Ubuntu and Amazon Linux 2023, and this is %s: install "
                              "the Neuron driver, runtime, tools and compiler as their manual "
                              "says, then run doctor"
                              % (host.release.get("PRETTY_NAME") or "something else"))
    steps = steps_for(host)
    if host.release.get("ID") == "debian":
        answers.log("Neuron's packages are made for Ubuntu; on Debian they may not install",
                    "warning")
    for step in steps:
        if not apply or not step.needed:
            answers.emit("step", **step.describe())
            continue
        step.done = do_step(step, host, answers)
        answers.emit("step", **step.describe())
        if not step.done:
            return 3
    return 0


def do_step(step, host, answers):
    """Runs a step's command and shows its output; returns whether it succeeded."""
    os.makedirs(host.folder, mode=0o700, exist_ok=True)
    for name, text in step.files.items():
        folders.write_whole(os.path.join(host.folder, name), text)
    streams = [output.Stream(answers, None, None), output.Stream(answers, None, None)]
    result = stage.Stage(step.name, step.argv, stage.Limits(LIMIT_S)).run(
        stage.clean_environment(stage.proxies()), "/", streams)
    if not result.ok:
        answers.log("%s: %s" % (step.name, result.text), "error")
        if step.argv[0] == "sudo" and b"password" in result.err_tail:
            answers.log("this step needs sudo without a password; run it by hand: "
                        + " ".join(step.argv[2:]), "error")
    return result.ok
