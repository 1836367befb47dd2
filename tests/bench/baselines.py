#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far hone comes from published baselines, on the device model's clock.

    baselines.py HONE [CHECKOUTS] [--device trn2] [--precision keep] [--budget N] [--rounds N]
                 [--only TEXT]

HONE is the program; CHECKOUTS (else HONE_CHECKOUTS) has the repositories in folders OWNER+NAME: the
tasks with their references and first kernels, and, where it is there, another agent's kernels of
the same tasks.

For each task it prints the published kernel, the one that `hone new` writes, the one that its
search finds with a budget of schedules, with --rounds the best of so many rounds of `hone run`
(which verifies what it keeps), the other agent's kernel, and the floor in that precision; then the
geometric means of the ratios. "a minute" is how many schedules were judged in one, with nothing
else measured than the search. Without --rounds nothing is executed: it takes minutes."""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TASKS = "zhang677+AccelOpt/NKIBench"
OTHERS = "Jerry2423+kda-for-trainium"
FLOORS = {"keep": "floor_us", "split": "floor_split_us", "any": "floor_any_us"}
TIME_LIMIT_S = 3600


def tasks(checkouts, only):
    """Name, first kernel, reference of each task."""
    folder = checkouts / TASKS
    for kernel in sorted((folder / "kernels").glob("*_0.py")):
        stem = kernel.stem[:-2]
        name = re.match(r"[a-z_]+(?=_[A-Z])", stem).group()
        found = sorted((folder / "reference").glob(stem + "_numpy_*.py"))
        if found and only in name:
            yield name, kernel, found[0]


def promoted(checkouts):
    """The kernel that the other agent promoted, for each task: the last file named in its row."""
    results, found = checkouts / OTHERS / "RESULTS.md", {}
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        files = re.findall(r"`(\w+\.py)`", cells[-1])
        if len(cells) > 2 and files and cells[0].isdigit():
            path = checkouts / OTHERS / "workspaces" / cells[1].split()[0] / "runs" / files[-1]
            found[cells[1].split()[0]] = path
    return found


def run(arguments, folder):
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False,
                          timeout=TIME_LIMIT_S)


def clock(options, folder, kernel, reference):
    """Latency and floor in µs; (None, None) where the device model refuses the kernel."""
    done = run([options.hone, "sim", str(kernel), "--reference", str(reference), "--no-verify",
                "--device", options.device, "--json"], folder)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return None, None
    return answer.get("latency_us"), answer.get(FLOORS[options.precision])


def search(options, folder, reference):
    """The latency of the written kernel as it is, and as the search leaves it; schedules a
    minute."""
    command = [options.hone, "new", "searched", "--reference", str(reference), "--device",
               options.device, "--precision", options.precision, "--choices"]
    began = time.monotonic()
    run(command, folder)
    written = time.monotonic()
    done = run(command + ["--scheduled", "--budget", str(options.budget)], folder)
    took = time.monotonic() - written - (written - began)
    found = re.search(r"([\d.]+) us as it is, ([\d.]+) us with", done.stdout)
    judged = re.search(r"(\d+) judged", done.stdout)
    rate = 60 * int(judged[1]) / took if judged and int(judged[1]) > 4 and took > 0 else None
    return (float(found[1]), float(found[2]), rate) if found else (None, None, None)


def tune(options, folder, name, kernel, reference):
    """The best latency of the loop, in µs."""
    task = folder / name
    task.mkdir()
    shutil.copy(kernel, task / "kernel.py")
    shutil.copy(reference, task / "reference.py")
    done = run([options.hone, "run", str(task), "--device", options.device, "--precision",
                options.precision, "--rounds", str(options.rounds), "--json"], folder)
    best = None
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if event["event"] == "summary":
            best = event.get("best_us")
    return best


def mean(ratios):
    ratios = [ratio for ratio in ratios if ratio]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def text(us, form="{:10.1f}"):
    return form.format(us) if us else " " * 9 + "-"


def ratio(before, after):
    return before / after if before and after else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hone", type=os.path.abspath)
    parser.add_argument("checkouts", nargs="?", type=pathlib.Path,
                        default=os.environ.get("HONE_CHECKOUTS"))
    parser.add_argument("--device", default="trn2")
    parser.add_argument("--precision", default="keep", choices=FLOORS)
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if not options.checkouts or not (options.checkouts / TASKS).is_dir():
        print("no CHECKOUTS, and HONE_CHECKOUTS names none with " + TASKS)
        return 77
    others = promoted(options.checkouts)
    print(f"{'task':24}{'published':>10}{'written':>10}{'searched':>10}{'loop':>10}{'other':>10}"
          f"{'floor':>10}  gain  over other  a minute", flush=True)
    gains, over = [], []
    with tempfile.TemporaryDirectory() as made:
        for name, kernel, reference in tasks(options.checkouts, options.only):
            folder = pathlib.Path(made)
            before, floor = clock(options, folder, kernel, reference)
            other = clock(options, folder, others[name], reference)[0] if name in others else None
            naive, searched, rate = search(options, folder, reference)
            loop = tune(options, folder, name, kernel, reference) if options.rounds else None
            best = min(us for us in (before, searched if not loop else loop, loop) if us)
            gains.append(ratio(before, best))
            over.append(ratio(best, other))
            print(f"{name:24}{text(before)}{text(naive)}{text(searched)}{text(loop)}{text(other)}"
                  f"{text(floor)}  {text(gains[-1], '{:.2f}x')}  {text(over[-1], '{:.2f}')}  "
                  f"{text(rate, '{:.0f}')}", flush=True)
    print(f"geometric mean of the gains {text(mean(gains), '{:.2f}x')}, of best over other "
          f"{text(mean(over), '{:.2f}')} ({sum(1 for one in over if one)} tasks)")


if __name__ == "__main__":
    sys.exit(main())
