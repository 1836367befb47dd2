#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well the clock does on kernels that its constants were not fitted to.

    held_out.py CALIBRATE ROWS.csv CHECKOUTS [--fit] [--jobs N]

The sources of the rows (a repository, or an operation of one that has several) are dealt into two
halves of about as many rows of each generation and dialect. Prints the figures of each source and
half. With --fit the constants that are known as fitted are set anew on each half alone, one after
the other by as many percent as they may be off, and each half is judged with what the other one
found. Takes the same arguments as calibrate.py, which knows how each row is run.
"""
import argparse
import collections
import csv
import json
import math
import os
import subprocess
import tempfile

import calibrate
import measured_rows


def source_of(row):
    """A repository, or one operation of a collection of kernels of many."""
    many = ("kda_", "accelopt_", "autocomp_", "kg_", "tkf_")
    prefix = row.id.split("_")[0]
    return f"{prefix}:{row.operation}" if f"{prefix}_" in many else prefix


def halves_of(rows):
    """source -> 0 or 1; the largest first, each to the half that has fewer of its kind."""
    sizes = collections.Counter((r.device, r.dialect, source_of(r)) for r in rows)
    filled, half = collections.Counter(), {}
    for (device, dialect, source), n in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        lighter = 0 if filled[device, dialect, 0] <= filled[device, dialect, 1] else 1
        half.setdefault(source, lighter)
        filled[device, dialect, half[source]] += n
    return half


def judged(results):
    return [r for r in results if not r.wrong and r.row.level]


def print_figures(name, results):
    rows = judged(results)
    if not rows:
        return
    n, median, ninth, ratio = calibrate.figures(rows)
    pairs, called, right = calibrate.judge_pairs(calibrate.pairs_of(results))
    share = f"{called / pairs:.0%} called, {right / max(called, 1):.0%} right" if pairs else "-"
    print(f"| {name} | {n} | {median:.1%} | {ninth:.1%} | {ratio:.2f} | {share} |")


def print_sources(results, half):
    print("| source | rows | median error | 90th percentile | median ratio | pairs |")
    print("|---|---|---|---|---|---|")
    for source in sorted(half, key=lambda s: (half[s], s)):
        print_figures(f"{half[source] + 1} {source}",
                      [r for r in results if source_of(r.row) == source])
    for h in (0, 1):
        print_figures(f"half {h + 1}", [r for r in results if half[source_of(r.row)] == h])


# ---- fitting ------------------------------------------------------------------------------------

def fitted_constants(program):
    """(generation.name, value, percent) of those known as fitted."""
    done = subprocess.run([program, "--constants"], capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines()]
    return [(f"{w[0]}.{w[1]}", float(w[3]), float(w[4])) for w in words if w[2] == "fitted"]


def loss(results):
    """What is made small: the mean error in logarithms, no row counting for more than half."""
    rows = judged(results)
    return sum(min(abs(math.log(r.ratio)), 0.5) for r in rows) / max(len(rows), 1)


class Fit:
    """Constants set on some rows, one at a time."""

    def __init__(self, program, rows, jobs):
        self.program, self.jobs, self.values = program, jobs, {}
        self.rows = [r for r in rows if r.level and not r.why_not]

    def loss_with(self, name, value):
        generation = name.split(".")[0]
        settings = [f"{k}={v}" for k, v in {**self.values, name: value}.items()]
        rows = [r for r in self.rows if r.device == generation]
        return loss(calibrate.run([self.program, *settings], rows, self.jobs)) if rows else 0

    def set(self, name, value, percent):
        tries = [value * (1 + sign * percent / 100) for sign in (-1, -0.5, 0.5, 1)]
        best, least = value, self.loss_with(name, value)
        for other in tries:
            worse = self.loss_with(name, other)
            if worse < least - 1e-4:
                best, least = other, worse
        if best != value:
            self.values[name] = best
            print(f"  {name}: {value:.4g} -> {best:.4g}")


def held_out(program, rows, half, jobs):
    results = []
    for h in (0, 1):
        print(f"\nFitted on half {h + 1}:")
        fit = Fit(program, [r for r in rows if half[source_of(r)] == h], jobs)
        for name, value, percent in fitted_constants(program):
            fit.set(name, value, percent)
        settings = [f"{k}={v}" for k, v in fit.values.items()]
        others = [r for r in rows if half[source_of(r)] != h]
        results += calibrate.run([program, *settings], others, jobs)
    print("\nEach half judged with what the other one found:")
    print_sources(results, half)
    print_figures("all, held out", results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("rows", nargs="?", default=os.environ.get("HONE_MEASURED", ""))
    parser.add_argument("checkouts", nargs="?", default=os.environ.get("HONE_CHECKOUTS", ""))
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    if not args.rows or not args.checkouts:
        print("HONE_MEASURED names no rows or HONE_CHECKOUTS no checkouts: nothing to compare.")
        return
    with tempfile.TemporaryDirectory(prefix="hone_held_out_") as made, open(args.rows) as file:
        checkouts = measured_rows.Checkouts(args.checkouts, made)
        rows = [measured_rows.row_of(line, json.loads(line["metrics_json"] or "{}"), checkouts)
                for line in csv.DictReader(file)]
        half = halves_of([r for r in rows if not r.why_not])
        rows = [r for r in rows if source_of(r) in half]
        results = calibrate.run([args.program], rows, args.jobs)
        print_sources(results, half)
        print_figures("all", results)
        if args.fit:
            held_out(args.program, rows, half, args.jobs)


if __name__ == "__main__":
    main()
