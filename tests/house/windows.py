# SPDX-License-Identifier: Apache-2.0
"""Functions that only tests call are declared in a testing.h, and nowhere else: windows.py BUILD
ROOT NM. A function of the product that no other file of it calls must be static, gone, or such a
window."""

import collections
import glob
import os
import re
import subprocess
import sys

BUILD, ROOT, NM = sys.argv[1:4]


def symbols(objects):
    """For each function: the objects that define it, and those that call it."""
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    for first in range(0, len(objects), 200):
        told = subprocess.run([NM, "-A", *objects[first:first + 200]], check=True,
                              capture_output=True, text=True, timeout=60).stdout
        for file, kind, name in re.findall(r"^(.*?):\s*[0-9a-f]* (\w) _?(\w+)$", told, re.M):
            if kind == "T":
                defined[name].add(file)
            elif kind == "U":
                used[name].add(file)
    return defined, used


def is_there(path):
    """Whether its source exists: objects of renamed files stay in a build's folder."""
    source = re.sub(r".*?\.dir/|\.o$", "", path)
    return os.path.exists(os.path.join(ROOT, source)) or not re.match(
        r"(core|cli|views|tui)/", source)


def windows():
    text = ""
    for path in glob.glob(os.path.join(ROOT, "*", "**", "testing.h"), recursive=True):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return set(re.findall(r"\b(\w+)\(", text))


def main():
    objects = glob.glob(os.path.join(BUILD, "**", "*.o"), recursive=True)
    tests = [path for path in objects if "/tests/" in path]
    product = [path for path in objects
               if "/tests/" not in path and "CompilerId" not in path and is_there(path)]
    defined, used = symbols(product)
    _, in_tests = symbols(tests)
    own = {name for name in defined if re.match(r"[a-z]", name) and name != "main"}
    shown, wrong = windows(), []
    for name in sorted(own):
        outside = used[name] - defined[name]
        if not outside and name not in shown:
            who = "only tests call it" if in_tests[name] else "nobody outside its file calls it"
            wrong.append(f"{name}: {who}")
        elif outside and name in shown:
            wrong.append(f"{name}: stands in a testing.h, and the product calls it")
    if wrong or len(own) < 1000:
        print(*wrong, f"{len(own)} functions", sep="\n")
    return 1 if wrong or len(own) < 1000 else 0


sys.exit(main())
