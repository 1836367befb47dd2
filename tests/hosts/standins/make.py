# SPDX-License-Identifier: Apache-2.0
"""Makes the root of a stand-in: make.py ROOT LINE HONE [SWITCH=VALUE]... ; LINE is one of
lines.py, or "none" for a host without an SDK.

    ROOT/opt/aws_neuronx_venv_*/    environments: a real venv of /usr/bin/python3 each
    ROOT/opt/aws/neuron/bin/        tools
    ROOT/sys/..., ROOT/dev/neuron0  what the driver shows
    ROOT/standin/                   our library, setup.json, switches.json, state/"""

import atexit
import compileall
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import lines  # noqa: E402

PYTHON = "/usr/bin/python3"
TOOL_MODULES = {"neuron-explorer": "explorer", "neuron-profile": "explorer",
                "neuron-bench": "bench",
                "neuron-ls": "status", "neuron-monitor": "status", "neuron-top": "status"}
SCRIPT = """#!%(python)s
import sys
sys.path.insert(0, %(library)r)
from standin import %(module)s
sys.exit(%(module)s.main(%(arguments)s))
"""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def library(root):
    return os.path.join(root, "standin", "lib")


def write_script(root, path, python, module, arguments=""):
    write(path, SCRIPT % {"python": python, "library": library(root), "module": module,
                          "arguments": arguments}, 0o755)


@functools.lru_cache(None)
def compiled(name):
    """Our folder of that name with byte code. Stages start Python dozens of times a job and keep
    none."""
    folder = tempfile.mkdtemp(prefix="hone-standin-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = os.path.join(folder, name)
    shutil.copytree(os.path.join(HERE, name), target,
                    ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(target, quiet=1)
    return target


@functools.lru_cache(None)
def python_version():
    return subprocess.run([PYTHON, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
                          stdout=subprocess.PIPE, check=True).stdout.decode().strip()


def make_venv(root, name, packages, modules):
    """A venv with dist-info folders and modules. numpy is the system's, unless packages leave it
    out."""
    folder = os.path.join(root, "opt", name)
    version = python_version()
    has_numpy = "numpy" in packages
    write(os.path.join(folder, "pyvenv.cfg"), "home = /usr/bin\ninclude-system-site-packages = %s\n"
          "version = %s\n" % ("true" if has_numpy else "false", version))
    os.makedirs(os.path.join(folder, "bin"))
    for link in ("python", "python3"):
        os.symlink(PYTHON, os.path.join(folder, "bin", link))
    site = os.path.join(folder, "lib", "python" + ".".join(version.split(".")[:2]), "site-packages")
    os.makedirs(site)
    write(os.path.join(site, "standin.pth"), library(root) + "\n")
    for package, number in packages.items():
        write(os.path.join(site, "%s-%s.dist-info" % (package.replace("-", "_"), number),
                           "METADATA"),
              "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (package, number))
    for module in modules:
        source = os.path.join(compiled("modules"), module)
        target = os.path.join(site, module.split("/")[-1])
        if os.path.isdir(source):
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)
    return folder


def modules_of(row):
    found = ["ml_dtypes.py"]
    if row["nki"]:
        found.append("nki")
    if row["legacy"] or "framework" in row["api"]:
        found.append("neuronxcc")
    if row["pandas"]:
        found += ["pandas.py", "pyarrow.py"]
    return found


def make_environments(root, row, numpy):
    packages = {"neuronx-cc": row["cc"], "ml-dtypes": "0.5.1"}
    if numpy:
        packages["numpy"] = numpy
    if row["nki"]:
        packages["nki"] = row["nki"]
    if row["pandas"]:
        packages.update({"pandas": "2.2.3", "pyarrow": "17.0.0"})
    for number, name in enumerate(row["venvs"]):
        more = {"torch": "2.9.0", "torch-neuronx": "2.9.0.2.11"} if "pytorch" in name else {}
        # Of several environments only the first is of this line. The others are older.
        own = packages if number == 0 else {**packages, "nki": "0.1.0", "neuronx-cc": "2.22.1.0+0"}
        folder = make_venv(root, name, {**own, **more}, modules_of(row) if number == 0 else [])
        write_script(root, os.path.join(folder, "bin", "neuronx-cc"),
                     os.path.join(folder, "bin", "python"), "ncc")
    if row["nrtpy"]:
        make_venv(root, "aws_neuronx_venv_nrtpy", {"nrtpy": row["nrtpy"], "numpy": numpy or "1"},
                  ["nrtpy"])


def make_tools(root, row):
    folder = os.path.join(root, "opt", "aws", "neuron")
    for name in row["tools"]:
        write_script(root, os.path.join(folder, "bin", name), PYTHON, TOOL_MODULES[name],
                     repr(name))
    write(os.path.join(folder, "lib", "libnrt.so.1"), "")


def make_driver(root, row):
    write(os.path.join(root, "sys", "module", "neuron", "version"), row["driver"] + "\n")
    write(os.path.join(root, "dev", "neuron0"), "")
    write(os.path.join(root, "sys", "devices", "virtual", "dmi", "id", "product_name"),
          "trn2.3xlarge\n")
    device = os.path.join(root, "sys", "devices", "virtual", "neuron_device", "neuron0")
    write(os.path.join(device, "info", "architecture", "arch_type"), "NDv3\n")
    write(os.path.join(device, "info", "architecture", "instance_type"), "trn2.3xlarge\n")
    write(os.path.join(device, "power", "utilization"), "POWER_STATUS_VALID,1764000000,1,2,1.5\n")


@functools.lru_cache(None)
def numpy_version():
    done = subprocess.run([PYTHON, "-c", "import numpy; print(numpy.__version__)"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode().strip()


def set_switches(root, **switches):
    """Sets what goes wrong from now on. Without any, nothing does."""
    for name in switches:
        if name not in lines.SWITCHES and name != "only":
            raise SystemExit("there is no switch %s" % name)
    path = os.path.join(root, "standin", "switches.json")
    write(path + ".new", json.dumps(switches))
    os.rename(path + ".new", path)


def bring(program, path):
    """Puts a program into the root, where it is seen behind walls wherever it was built."""
    try:
        os.link(program, path)
    except OSError:
        shutil.copy2(program, path)
    return path


def make_root(root, line, hone, numpy=True, memory=None):
    """`numpy` False: the environments lack it. memory: a folder in which the device model's answers
    are kept, for all roots that name it."""
    root = os.path.realpath(root)
    os.makedirs(root, exist_ok=True)
    row = lines.LINES.get(line)
    if row is None and line != "none":
        raise SystemExit("there is no line %s; there are %s" % (line, ", ".join(lines.LINES)))
    if row:
        shutil.copytree(compiled("standin"), os.path.join(library(root), "standin"))
        write(os.path.join(root, "standin", "setup.json"), json.dumps(
            {"line": line, "row": row, "hone": bring(hone, os.path.join(root, "standin", "hone")),
             "seed": 1, "memory": memory}))
        set_switches(root)
        make_environments(root, row, numpy_version() if numpy else "")
        make_tools(root, row)
        make_driver(root, row)
    return root


def parse_switch(text):
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    print(make_root(*sys.argv[1:4]))
    if sys.argv[2] != "none":
        set_switches(sys.argv[1], **dict(parse_switch(text) for text in sys.argv[4:]))
