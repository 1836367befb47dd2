#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds hone against public kernels: those known to compile must be taken, those known to be
refused must be refused, in the release each is for. The lists beside this file name kernels; their
code is read from checkouts outside of the project.

    accept.py HONE CHECKOUTS [--write PAGE]

CHECKOUTS is a folder with a checkout of each repository, named OWNER+NAME. What is not there is
counted as missing. --write replaces the table between the marks of PAGE."""

import collections
import csv
import datetime
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- accept.py -->", "<!-- end -->"
# What comes of a kernel. source: its shapes are not in the list, so it was evaluated only as far as
# it goes without them.
KINDS = ("taken", "source", "refused", "unusable", "missing")


def check(hone, file, row):
    """(kind, why)."""
    command = [hone, "check", file, "--json", "--kernel-name", row["function"]]
    for option in ("release", "device"):
        command += ["--" + option, row[option]] if row[option] else []
    for one in row["inputs"].split():
        command += ["--input", one]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        found = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as problem:
        return "unusable", str(problem)
    errors = [one for one in found["diagnostics"] if one["severity"] == "error"]
    if errors:
        return "refused", "%s:%d: %s [%s]" % (os.path.basename(errors[0]["file"]),
                                              errors[0]["line"], errors[0]["message"],
                                              errors[0]["code"])
    return ("taken" if found["compiles"] else "source"), ""


def run(hone, checkouts, name):
    """{release: Counter of kinds} of a list, and rows that came out otherwise than it says."""
    counts, odd = collections.defaultdict(collections.Counter), []
    wanted = "refused" if name == "refused.csv" else "taken"
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        for row in csv.DictReader(file):
            path = os.path.join(checkouts, row["repository"].replace("/", "+"), row["path"])
            kind, why = check(hone, path, row) if os.path.isfile(path) else ("missing", "")
            counts[row["release"] or row["dialect"]][kind] += 1
            if kind not in (wanted, "missing") and not (wanted == "taken" and kind == "source"):
                odd.append("%s %s %s: %s %s" % (row["repository"], row["path"], row["function"],
                                                kind, why))
    return counts, odd


def table(results):
    lines = ["| list | for | %s |" % " | ".join(KINDS), "|---|---|%s" % ("---|" * len(KINDS))]
    for name, counts in results:
        for release in sorted(counts):
            lines.append("| %s | %s | %s |" % (name[:-4], release, " | ".join(
                str(counts[release][kind]) for kind in KINDS)))
    return lines


def main():
    hone, checkouts = sys.argv[1], sys.argv[2]
    results, odd = [], []
    for name in ("accepted.csv", "refused.csv"):
        counts, others = run(hone, checkouts, name)
        results.append((name, counts))
        odd += others
    lines = table(results)
    print("\n".join(lines + [""] + odd))
    if "--write" in sys.argv:
        page = sys.argv[sys.argv.index("--write") + 1]
        with open(page, encoding="utf-8") as file:
            text = file.read()
        before, rest = text.split(BEGIN, 1)
        made = "\n%s:\n\n%s\n" % (datetime.date.today().isoformat(), "\n".join(lines))
        with open(page, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + "\n" + made + "\n" + END + rest.split(END, 1)[1])
    return 1 if odd else 0


if __name__ == "__main__":
    sys.exit(main())
