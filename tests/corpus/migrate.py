#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Migrates public kernels of the older dialect and of releases before the newest one, and counts
what comes of them: accepted for the release, numbers identical, questions left. Kernels and inputs
are those of accepted.csv; their code is read from checkouts outside of the project.

    migrate.py HONE CHECKOUTS RELEASE [WORD]

WORD: only kernels whose name has it. A kernel that takes more than 90 seconds counts as slow."""

import collections
import csv
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 90


def migrate(hone, file, row, release):
    """(kind, why)."""
    command = [hone, "migrate", file, "--to", release, "--json", "--kernel-name", row["function"]]
    command += ["--device", row["device"]] if row["device"] else []
    for one in row["inputs"].split():
        command += ["--input", one]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS,
                              check=False)
        found = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return "slow", ""
    except ValueError:
        return "crashed", done.stderr.strip()[:200]
    errors = [one for one in found["diagnostics"] if one["severity"] == "error"]
    numbers = {True: "identical", False: "other numbers", None: "not compared"}[found["identical"]]
    if found["questions"]:
        kind = "accepted, questions" if found["accepted"] else "refused, questions"
    else:
        kind = "accepted, %s" % numbers if found["accepted"] else "refused"
    why = "; ".join("line %d: %s" % (one["line"], one["text"]) for one in found["questions"][:2])
    why = why or (errors[0]["message"] if errors else "") or found["difference"] or ""
    return kind, why


def main():
    hone, checkouts, release = sys.argv[1:4]
    word = sys.argv[4] if len(sys.argv) > 4 else ""
    counts = collections.Counter()
    with open(os.path.join(HERE, "accepted.csv"), encoding="utf-8") as file:
        for row in csv.DictReader(file):
            path = os.path.join(checkouts, row["repository"].replace("/", "+"), row["path"])
            name = "%s %s %s" % (row["repository"], row["path"], row["function"])
            if row["release"] == "0.7" or not row["inputs"] or word not in name:
                continue
            kind, why = migrate(hone, path, row, release) if os.path.isfile(path) else ("missing",
                                                                                     "")
            counts[kind] += 1
            print("%s: %s %s" % (name, kind, why), flush=True)
    print("\n".join("%3d %s" % (number, kind) for kind, number in counts.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
