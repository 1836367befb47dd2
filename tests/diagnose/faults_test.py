# SPDX-License-Identifier: Apache-2.0
"""Kernels with one planted fault: how often the first statement that hone suspects is the faulty
one. faults_test.py HONE [parent|renamed] [SET] [NUMBER...]; SET is first to sixth, or sample.

With "parent" the kernel without the fault is given as one that is right, with "renamed" the same
with other names for all its tiles, so that no statement is the same."""
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import faults

PARENT = next((arg for arg in sys.argv if arg in ("parent", "renamed")), None)
ENOUGH = 0.75       # of the first suspects are the planted fault
HERE = os.path.dirname(os.path.abspath(__file__))


def statement_of(text):
    """The first line of the statement that each line belongs to."""
    first = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
            for line in range(node.lineno, node.end_lineno + 1):
                first[line] = max(first.get(line, 0), node.lineno)
    return first


def planted(fault):
    """The faulty kernel's text, and the statements that a diagnosis may name, by their lines."""
    kernel, what, old, new, words = fault
    with open(os.path.join(HERE, "kernels", kernel, "kernel.py"), encoding="utf-8") as file:
        text = file.read()
    assert text.count(old) == 1, (what, text.count(old))
    faulty = text.replace(old, new)
    lines = {text[:text.index(old)].count("\n") + 1} if words is None else \
        {number for number, line in enumerate(faulty.split("\n"), 1)
         for word in words.split("|") if word in line}
    first = statement_of(faulty)
    return faulty, {first[line] for line in lines}


def renamed(text):
    """The kernel with other names for all that it assigns: not one statement is as it was."""
    names = {target.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assign)
             for target in node.targets if isinstance(target, ast.Name)}
    return re.sub(r"(?<![\w.])(%s)\b(?!=[^=])" % "|".join(sorted(names)), r"\1_0", text)


def diagnose(hone, folder, fault):
    kernel, what = fault[:2]
    text, lines = planted(fault)
    place = tempfile.mkdtemp(dir=folder)
    with open(os.path.join(place, "kernel.py"), "w", encoding="utf-8") as file:
        file.write(text)
    shutil.copy(os.path.join(HERE, "kernels", kernel, "reference.py"), place)
    options = []
    if PARENT:
        with open(os.path.join(HERE, "kernels", kernel, "kernel.py"), encoding="utf-8") as file:
            right = renamed(file.read()) if PARENT == "renamed" else file.read()
        options = ["--compare", os.path.join(place, "parent.py")]
        with open(options[1], "w", encoding="utf-8") as file:
            file.write(right)
    done = subprocess.run([hone, "sim", "--no-time", "--json", *options, place],
                          capture_output=True, text=True, timeout=120, check=False)
    said = json.loads(done.stdout)
    assert said["correct"] is False, (what, done.stdout, done.stderr)
    first = statement_of(text)
    found = [first.get(row["line"], 0) for row in said["diagnostics"]
             if row["code"] == "hone-suspect"]
    rows = [row["message"] for row in said["diagnostics"] if row["code"].startswith("hone-")]
    return bool(found) and found[0] in lines, found, lines, rows


def count(hone, some):
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda fault: diagnose(hone, folder, fault), some))
    for fault, (right, named, lines, rows) in zip(some, found):
        print(f"{'ok ' if right else 'NO '} {fault[0]}: {fault[1]}: names {named}, "
              f"planted {sorted(lines)}")
        if not right or os.environ.get("HONE_SHOW"):
            print("".join(f"      {row}\n" for row in rows), end="")
    return sum(right for right, *_ in found)


def main():
    hone = os.path.abspath(sys.argv[1])
    which = {"first": faults.FIRST, "second": faults.SECOND, "third": faults.THIRD,
             "fourth": faults.FOURTH, "fifth": faults.FIFTH, "sixth": faults.SIXTH}
    which["sample"] = sum(which.values(), [])[::6]
    names = [name for name in which if name in sys.argv[2:]] or ["first", "second"]
    picked = [int(arg) for arg in sys.argv[2:] if arg.isdigit()]
    enough = True
    for name in names:
        some = [which[name][i] for i in picked] if picked else which[name]
        right = count(hone, some)
        enough = enough and right >= ENOUGH * len(some)
        print(f"{name}: {right} of {len(some)}")
    sys.exit(0 if enough else f"fewer than {ENOUGH:.0%} of the first suspects are the planted ones")


main()
