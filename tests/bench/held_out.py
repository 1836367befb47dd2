#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well the clock does on kernels that its constants were not fitted to.

    held_out.py CALIBRATE ROWS.csv CHECKOUTS [--fit] [--jobs N]

Takes the same arguments as calibrate.py, which knows how each row is run. Prints the figures of
each source: a repository, or one operation of a collection of kernels. With --fit each source in
turn is left out: the constants that are known as fitted are set anew on all other sources, within
the percent that each may be off, and the source that was left out is judged with them.

A fit does not run the clock. CALIBRATE --slopes says once for each row what the latency is with
each fitted constant at either end of its range, and what lies between is taken as straight. Only
the rows that are judged are run with what was found. The passes and rules of the clock are the same
everywhere: they were written by people who had seen all rows, and this does not show what that is
worth.
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

SWEEPS = 4
STEPS = [i / 4 for i in range(-4, 5)]  # of the range of a constant
MOST_LOSS = 0.5  # no row counts for more: one kernel that misses must not move a constant


def source_of(row):
    """A repository, or one operation of a collection of kernels of many."""
    many = ("kda_", "accelopt_", "autocomp_", "kg_", "tkf_", "tal_", "xg_")
    prefix = row.id.split("_")[0]
    return f"{prefix}:{row.operation}" if f"{prefix}_" in many else prefix


def by_source(results):
    sources = collections.defaultdict(list)
    for r in results:
        sources[source_of(r.row)].append(r)
    return sources


def judged(results):
    return [r for r in results if not r.wrong and r.row.level]


def print_figures(name, results):
    rows = judged(results)
    pairs, called, right = calibrate.judge_pairs(calibrate.pairs_of(results))
    share = f"{called / pairs:.0%} called, {right / max(called, 1):.1%} right" if pairs else "-"
    if not rows:
        print(f"| {name} | 0 | - | - | - | {share} |", flush=True)
        return
    n, median, ninth, ratio = calibrate.figures(rows)
    print(f"| {name} | {n} | {median:.1%} | {ninth:.1%} | {ratio:.2f} | {share} |", flush=True)


def print_head():
    print("| source | rows | median error | 90th percentile | median ratio | pairs |")
    print("|---|---|---|---|---|---|", flush=True)


def print_balanced(results):
    """Each source counts the same, whether it has two rows or a hundred."""
    medians = sorted(calibrate.figures(judged(rows))[1]
                     for rows in by_source(results).values() if judged(rows))
    shares = []
    for rows in by_source(results).values():
        _, called, right = calibrate.judge_pairs(calibrate.pairs_of(rows))
        if called:
            shares.append(right / called)
    print(f"Of {len(medians)} sources: median of the medians {medians[len(medians) // 2]:.1%}, "
          f"mean {sum(medians) / len(medians):.1%}; pairs right in the mean of {len(shares)} "
          f"sources {sum(shares) / max(len(shares), 1):.1%}", flush=True)


def print_sources(results):
    print_head()
    for source, rows in sorted(by_source(results).items()):
        print_figures(source, rows)
    print_figures("all", results)
    print_balanced(results)


# ---- fitting ------------------------------------------------------------------------------------

def fitted_constants(program):
    """generation.name -> (value, percent) of those known as fitted."""
    done = subprocess.run([program, "--constants"], capture_output=True, text=True, check=True)
    words = [line.split() for line in done.stdout.splitlines()]
    return {f"{w[0]}.{w[1]}": (float(w[3]), float(w[4])) for w in words if w[2] == "fitted"}


class Fit:
    """Constants set on some rows. `at` is where each lies in its range, from -1 to 1."""

    def __init__(self, constants, results):
        self.at = {name: 0 for name in constants}
        self.lines = []  # measured, modelled, weight, [(constant, change at -1, change at 1)]
        for rows in by_source(judged(results)).values():
            for r in rows:
                self.lines.append((r.row.measured, r.modelled, 1 / len(rows), self.slopes(r)))

    def slopes(self, r):
        found = []
        for name in self.at:
            generation, constant = name.split(".")
            low, high = (r.metrics.get(f"{end}_{constant}") for end in ("low", "high"))
            base = r.metrics.get("latency")
            if generation == r.row.device and low and (low != base or high != base):
                found.append((name, low - base, high - base))
        return found

    def loss_of(self, lines):
        total = 0
        for measured, modelled, weight, slopes in lines:
            for name, low, high in slopes:
                x = self.at[name]
                modelled += x * high if x > 0 else -x * low
            total += weight * min(abs(math.log(max(modelled, 1e-3) / measured)), MOST_LOSS)
        return total

    def set(self, name):
        lines = [line for line in self.lines if any(slope[0] == name for slope in line[3])]
        was = self.at[name]
        tries = []
        for x in STEPS:
            self.at[name] = x
            tries.append((self.loss_of(lines), abs(x), x))
        self.at[name] = min(tries)[2] if lines else 0
        return self.at[name] != was

    def run(self):
        for _ in range(SWEEPS):
            if not any([self.set(name) for name in self.at]):
                break


def settings_of(fit, constants):
    return [f"{name}={constants[name][0] * (1 + x * constants[name][1] / 100)}"
            for name, x in fit.at.items() if x]


def held_out(program, rows, jobs):
    constants = fitted_constants(program)
    told = calibrate.run([program, "--slopes"], [r for r in rows if r.level], jobs)
    sources = by_source(calibrate.Result(r, [{"wrong": "not run yet"}]) for r in rows)
    print(f"\nEach source judged with {len(constants)} constants set on all others:")
    print_head()
    results = []
    for source in sorted(sources):
        fit = Fit(constants, [r for r in told if source_of(r.row) != source])
        fit.run()
        left_out = [r.row for r in sources[source]]
        found = calibrate.run([program, *settings_of(fit, constants)], left_out, jobs)
        print_figures(source, found)
        results += found
    print_figures("all, held out", results)
    print_balanced(results)


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
        rows = [r for r in rows if not r.why_not]
        print_sources(calibrate.run([args.program], rows, args.jobs))
        if args.fit:
            held_out(args.program, rows, args.jobs)


if __name__ == "__main__":
    main()
