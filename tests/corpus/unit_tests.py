#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds hone against the unit tests that others wrote for their kernels and compilers.

    unit_tests.py HONE CHECKOUTS [--suite NAME] [--write PAGE] [--python PYTHON] [--cases N]
                  [--files FILE..]

CHECKOUTS is a folder with a checkout of each suite's repository, named as SUITES says. KLR's tests
of its front end are functions that it takes or refuses: hone check has to do the same. The others
call kernels with numbers and compare: they run behind a wall (bubblewrap) with unit_wall.py in
place of NKI, hone sim runs their kernels, and their own assertions decide. --files: only these of
the suite. --cases: so many sets of parameters of each test (3). --python: one with numpy. --write
replaces the table between the marks of PAGE."""

import argparse
import ast
import collections
import datetime
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- unit_tests.py -->", "<!-- end of unit_tests.py -->"
# name: folder under CHECKOUTS, test files in it, where imports are looked for first (None: they are
# functions to check). nki-samples is the tree before "Remove reference kernels" (116).
SUITES = {
    "KLR, front end": ("leanprover+KLR/interop/test", "test_*.py", None),
    "nki-samples": ("aws-neuron+nki-samples-2.26", "test/unit/test_*.py", "src"),
    "Neuron SDK, nki/test": ("aws-neuron+aws-neuron-sdk/nki/test", "test_*.py", "."),
    "nki-library": ("aws-neuron+nki-library", "test/integration/nkilib/**/test_*.py", "src"),
}
RESULTS = ("right", "ran", "refused as it should be", "refused", "gap", "wrong", "not run")
# The functions of KLR's tests are no whole kernels.
NO_KERNEL = "err_tensor_output_not_written_to"
SMALL = ("bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2")
GAPS = ("hone-gap", "hone-unsupported")


def errors_of(found):
    return [one for one in found.get("diagnostics", []) if one["severity"] == "error"]


def ask(command, seconds):
    """What a command of hone printed as JSON; {} with "why" when it printed none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"why": "took more than %d s" % seconds}
    except ValueError:
        return {"why": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "?"}


# ---- functions that a compiler takes or refuses ------------------------------------------------

def listed(tree):
    """(function, whether it is taken) of each parametrised test of a file."""
    for test in tree.body:
        if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test_"):
            continue
        for mark in test.decorator_list:
            if isinstance(mark, ast.Call) and len(mark.args) == 2:
                for one in getattr(mark.args[1], "elts", []):
                    if isinstance(one, ast.Name):
                        yield one.id, "fail" not in test.name, "crossing" in test.name


def check_functions(options, path):
    """A line of results for each function of a file."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    for name, taken, crossing in listed(tree):
        case = "%s %s" % (os.path.basename(path), name)
        if name not in functions or crossing:
            yield case, "not run", "takes an object of Python's"
            continue
        command = [options.hone, "check", path, "--json", "--kernel-name", name, "--release", "0.2"]
        for argument in functions[name].args.args:
            command += ["--input", argument.arg + "=10x10x10:float32"]
        found = ask(command, 60)
        errors = [one for one in errors_of(found) if one["code"] != NO_KERNEL]
        why = "%s [%s]" % (errors[0]["message"], errors[0]["code"]) if errors else ""
        if found.get("why"):
            yield case, "not run", found["why"]
        elif taken:
            yield case, ("right" if not errors else "gap" if errors[0]["code"].startswith(GAPS)
                         else "refused"), why
        else:
            yield case, "refused as it should be" if errors else "wrong", why


# ---- tests that call kernels -------------------------------------------------------------------

REFERENCE = '''import dataclasses
import json
import os
import numpy as np
HERE = os.path.dirname(os.path.abspath(__file__))
def value(one):
    if isinstance(one, dict) and "array" in one:
        return np.load(os.path.join(HERE, one["array"]))
    if isinstance(one, dict) and "class" in one:
        fields = {name: value(it) for name, it in one["fields"].items()}
        return dataclasses.make_dataclass(one["class"], list(fields))(**fields)
    if isinstance(one, dict) and "tuple" in one:
        return tuple(value(it) for it in one["tuple"])
    return np.dtype(one["dtype"]).type if isinstance(one, dict) else one
with open(os.path.join(HERE, "arguments.json")) as file:
    GIVEN = json.load(file)
nki_input_dtypes = [one["dtype"] if isinstance(one, dict) and "array" in one and
                    one["dtype"] in %(small)r else None for one in GIVEN.values()]
def get_inputs():
    return {name: value(one) for name, one in GIVEN.items()}
def forward(*args, **kwargs):
    return np.zeros(1)
'''


LAUNCH = """%s

import numpy
import neuronxcc.nki


def launch_of_the_test(%s):
    return %s%s(%s)
"""


def launched(path, call):
    """The kernel's file with the launch that the test asks for, beside it: a path, a name."""
    name, baked = call["name"], {}
    for argument, value in list(call["arguments"].items()):
        if isinstance(value, dict) and "name" in value:     # hone takes none from a reference
            baked[argument] = call["arguments"].pop(argument)["name"]
    with open(path, encoding="utf-8") as file:
        older = "neuronxcc" in file.read()
    if not (call["grid"] and older) and not baked:
        return path, name
    beside = "%s_launch_%d.py" % (path[:-3], call["call"])
    with open(path, encoding="utf-8") as file:
        text = file.read()
    names = ", ".join(call["arguments"])
    given = ", ".join("%s=%s" % (one, baked.get(one, one)) for one in (*call["arguments"], *baked))
    grid = "[%s]" % ", ".join(str(one) for one in call["grid"]) if call["grid"] else ""
    with open(beside, "w", encoding="utf-8") as file:
        file.write(LAUNCH % (text, names, name, grid, given))
    return beside, "launch_of_the_test"


def run_kernel(options, suite, out, call):
    """The answer to a call that a test makes: its outputs as files in `out`, or why not."""
    if not call["file"].startswith("/suite/"):
        return {"result": "not run", "why": "the kernel is not in the suite"}
    path, name = launched(os.path.join(suite, call["file"][len("/suite/"):]), call)
    folder = tempfile.mkdtemp(dir=os.path.dirname(out))
    for file in glob.glob(os.path.join(out, "in_%d_*" % call["call"])):
        shutil.move(file, folder)
    with open(os.path.join(folder, "arguments.json"), "w", encoding="utf-8") as file:
        json.dump(call["arguments"], file)
    with open(os.path.join(folder, "reference.py"), "w", encoding="utf-8") as file:
        file.write(REFERENCE % {"small": SMALL})
    saved = os.path.join(folder, "saved")
    command = [options.hone, "sim", path, "--kernel-name", name, "--json", "--reference",
               os.path.join(folder, "reference.py"), "--seeds", "0", "--no-time",
               "--save-outputs", saved]
    command += ["--lnc", "2"] if path.endswith(call["file"][7:]) and call["grid"] == [2] else []
    found = ask(command, options.seconds)
    errors = errors_of(found)
    if errors and errors[0]["code"] in ("hone-generation", "NCC_ESPP047"):
        found = ask(command + ["--device", "trn3"], options.seconds)
        errors = errors_of(found)
    answer = {"result": "not run", "why": found.get("why", "no outputs")}
    if errors:
        one = errors[0]
        answer = {"result": "gap" if one["code"].startswith(GAPS) else "refused",
                  "why": "%s:%d: %s [%s]" % (os.path.basename(one["file"]), one["line"],
                                             one["message"], one["code"])}
    if os.path.isdir(os.path.join(saved, "seed_0")):
        answer = {"outputs": []}
        for number, one in enumerate(sorted(os.listdir(os.path.join(saved, "seed_0")))):
            file = "out_%d_%d.npy" % (call["call"], number)
            shutil.move(os.path.join(saved, "seed_0", "output_%d.npy" % number),
                        os.path.join(out, file))
            kinds = found.get("outputs", [])
            answer["outputs"].append({"file": file, "dtype": kinds[number]["dtype"]
                                      if number < len(kinds) else one})
    shutil.rmtree(folder)
    return answer


def run_tests(options, suite, path, first):
    """A line of results for each test of a file of the suite (a copy of it)."""
    work = tempfile.mkdtemp()
    out, machine = os.path.join(work, "out"), os.path.join(work, "machine")
    os.mkdir(out)
    with open(machine, "w", encoding="utf-8") as file:
        file.write("trn2.48xlarge\n")
    home = os.path.dirname(os.path.dirname(os.path.realpath(options.python)))
    inside = "/suite/" + os.path.relpath(path, suite)
    wall = ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--proc", "/proc", "--dev",
            "/dev", "--tmpfs", "/tmp", "--ro-bind", suite, "/suite", "--bind", out, "/out",
            "--setenv", "PYTHONPATH", "/suite/%s:/suite" % first, "--chdir", "/out",
            "--ro-bind", machine, "/sys/devices/virtual/dmi/id/product_name"]
    for place in ("/usr", "/lib", "/lib64", "/bin", "/etc/alternatives", "/etc/ld.so.cache", home,
                  os.path.dirname(os.path.dirname(options.python)), HERE,
                  os.path.join(HERE, "../../core/task")):
        wall += ["--ro-bind", place, place] if os.path.exists(place) else []
    wall += [options.python, os.path.join(HERE, "unit_wall.py"), "/out", str(options.cases), inside]
    with subprocess.Popen(wall, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as child:
        for line in child.stdout:
            said = json.loads(line)
            if "case" in said:
                yield said["case"], said["result"], said["why"]
                continue
            child.stdin.write(json.dumps(run_kernel(options, suite, out, said)) + "\n")
            child.stdin.flush()
    if child.returncode:
        yield os.path.basename(path), "not run", "the wall ended with %d" % child.returncode
    shutil.rmtree(work)


# ---- all of it -----------------------------------------------------------------------------------

def results_of(options, name):
    folder, pattern, first = SUITES[name]
    suite = os.path.join(options.checkouts, folder)
    if not os.path.isdir(suite):
        return
    copy = tempfile.mkdtemp()
    if first is not None:
        shutil.copytree(suite, os.path.join(copy, "suite"), symlinks=True,
                        ignore=shutil.ignore_patterns(".git"))
        suite = os.path.join(copy, "suite")
    for path in sorted(glob.glob(os.path.join(suite, pattern), recursive=True)):
        if options.files and os.path.basename(path) not in options.files:
            continue
        if first is None:
            yield from check_functions(options, path)
        else:
            yield from run_tests(options, suite, path, first)
    shutil.rmtree(copy)


def write(page, lines):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN, 1)
    made = "\n%s:\n\n%s\n" % (datetime.date.today().isoformat(), "\n".join(lines))
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + made + "\n" + END + rest.split(END, 1)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hone")
    parser.add_argument("checkouts")
    parser.add_argument("--files", nargs="*")
    parser.add_argument("--suite", choices=SUITES)
    parser.add_argument("--write")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--cases", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=300)
    options = parser.parse_args()
    lines = ["| suite | %s |" % " | ".join(RESULTS), "|---|%s" % ("---|" * len(RESULTS))]
    for name in [options.suite] if options.suite else SUITES:
        counts = collections.Counter()
        for case, result, why in results_of(options, name):
            counts[result if result in RESULTS else "not run"] += 1
            if why != "is only measured":
                print("%s: %s: %s %s" % (name, case, result, why), flush=True)
        lines.append("| %s | %s |" % (name, " | ".join(str(counts[one]) for one in RESULTS)))
    print("\n".join(lines))
    if options.write:
        write(options.write, lines)


if __name__ == "__main__":
    sys.exit(main())
