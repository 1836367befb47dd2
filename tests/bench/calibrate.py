#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the device model against latencies that others measured on Trainium and published.

    calibrate.py CALIBRATE ROWS.csv CHECKOUTS [--rows] [--order] [--only TEXT] [--regen]
                 [--doubt FILE] [--jobs N] [--without PASS]

CALIBRATE is the program of that name; ROWS.csv has a row per measured kernel (id, repository, path,
function, dialect, device, shape_dtype, latency_us, metrics_json ..); CHECKOUTS has the repositories
in folders OWNER+NAME. measured_rows.py knows how each row is run.

Prints each row with --rows, the error per group (generation, dialect, what binds), the pairs of one
operation and shape that were named right, and with --order the standing exam: ladders whose order
on the clock must be that of the hardware. Compares the groups with calibrated.csv and ends with 1
when one has become worse; --regen writes that file anew. --doubt FILE writes the table that says
how sure the clock is (core/device/time/doubt.def) from these rows.
"""
import argparse
import collections
import csv
import json
import math
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measured_rows  # noqa: E402

STORED = pathlib.Path(__file__).resolve().parent / "calibrated.csv"
# A pair counts when hardware tells its two kernels apart by 5 %, and by more than the microsecond
# to which most sources round. The clock decides it when its two times differ by 2 %.
PAIR_DIFFERS, PAIR_CALLED, PAIR_LEAST_US = 0.05, 0.02, 2.0
# Of 16 DMA engines, GB/s. Some latencies were published halved; see Result.is_possible.
DMA_PEAK, BUSY_LEAST = {"trn1": 16 * 27.2, "trn2": 16 * 27.2}, 0.75
# A group is worse when its figure is worse than the stored one by more than this.
SLACK = 0.002


class Result:
    """What the clock says about a row."""

    def __init__(self, row, parts):
        self.row = row
        self.wrong = next((p["wrong"] for p in parts if "wrong" in p), None)
        if self.wrong:
            return
        self.modelled = sum(p["latency"] for p in parts) + row.harness_us
        longest = max(parts, key=lambda p: p["latency"])
        self.bound, self.metrics = longest["bound"], longest["metrics"]
        if row.published and self.is_possible(row.published):
            row.measured = row.published
        self.ratio = self.modelled / row.measured
        self.error = abs(self.ratio - 1)


    def is_possible(self, latency_us):
        """Whether the counters published with a latency agree with it: the DMA engines moved the
        bytes no faster than they can in the time that they were busy, and no engine was busy for
        less than BUSY_LEAST of what its instructions take."""
        told = self.row.metrics
        if not told.get("DMA_pct") or not told.get("HBMrd_MB"):
            return False
        megabytes = told["HBMrd_MB"] + told.get("HBMwr_MB", 0)
        if megabytes * 1e3 > DMA_PEAK[self.row.device] * latency_us * told["DMA_pct"] / 100:
            return False
        return all(told[short] * latency_us >= BUSY_LEAST * self.metrics[name] * self.modelled
                   for short, name in COUNTERS if short != "DMA_pct" and told.get(short, 0) >= 5)


def parse_answer(fields):
    if fields[0] == "-":
        return {"wrong": fields[1] if len(fields) > 1 else "nothing said"}
    metrics = dict(word.split("=", 1) for word in fields[2].split())
    return {"latency": float(fields[0]), "bound": fields[1],
            "metrics": {k: float(v) for k, v in metrics.items()}}


def work(command, jobs, answers):
    """A process that times what it is given. It is started again when it dies."""
    process = None
    while True:
        try:
            name, part, row = jobs.get_nowait()
        except queue.Empty:
            break
        if process is None:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)
        line = "\t".join([name, str(part.file), part.function, row.device, part.inputs,
                          " ".join(row.without), row.release])
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = process.stdout.readline().rstrip("\n").split("\t")
        except BrokenPipeError:
            answer = [""]
        if answer[0] != name:
            answers[name] = {"wrong": f"the clock died: {process.wait()}"}
            process = None
            continue
        answers[name] = parse_answer(answer[1:])
    if process:
        process.stdin.close()
        process.wait()


def run(command, rows, n_workers):
    jobs, answers = queue.Queue(), {}
    for row in rows:
        if not row.why_not:
            for i, part in enumerate(row.parts):
                jobs.put((f"{row.id}/{i}", part, row))
    workers = [threading.Thread(target=work, args=(command, jobs, answers))
               for _ in range(n_workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    results = []
    for row in rows:
        parts = [{"wrong": row.why_not}] if row.why_not else [
            answers[f"{row.id}/{i}"] for i in range(len(row.parts))]
        results.append(Result(row, parts))
    return results


# ---- what is printed ----------------------------------------------------------------------------

COUNTERS = [  # of a row, by the model: busy time in percent, bytes in MB
    ("PE_pct", "tensor_engine_active_time_percent"),
    ("Vec_pct", "vector_engine_active_time_percent"),
    ("Scl_pct", "scalar_engine_active_time_percent"),
    ("DMA_pct", "dma_active_time_percent"),
]
PERCENT = [name for _, name in COUNTERS]


def counters(result):
    """"PE 95/93 .. rd 34/34": measured beside modelled."""
    words = []
    told, model = result.row.metrics, result.metrics
    for short, name in COUNTERS:
        value = told.get(short)
        if value is None and isinstance(told.get(name), (int, float)):
            value = told[name] * (100 if told[name] <= 1 else 1)
        if value is not None and name in model:
            words.append(f"{short[:3]} {value:.0f}/{model[name]:.0f}")
    read = told.get("HBMrd_MB", (told.get("hbm_read_bytes") or 0) / 1e6)
    write = told.get("HBMwr_MB", (told.get("hbm_write_bytes") or 0) / 1e6)
    both = told.get("dma_bytes", 0) / 1e6
    modelled = [model.get(k, 0) / 1e6 for k in ("hbm_read_bytes", "hbm_write_bytes")]
    if read or write:
        words.append(f"MB {read:.0f}+{write:.0f}/{modelled[0]:.0f}+{modelled[1]:.0f}")
    elif both:
        words.append(f"MB {both:.0f}/{sum(modelled):.0f}")
    return "  ".join(words)


def print_rows(results):
    print(f"{'row':58} {'measured':>10} {'modelled':>10} {'ratio':>6}  bound    counters")
    for r in results:
        if r.wrong:
            print(f"{r.row.id[:58]:58} {r.row.measured:10.1f}          -      -  {r.wrong[:90]}")
        else:
            print(f"{r.row.id[:58]:58} {r.row.measured:10.1f} {r.modelled:10.1f} {r.ratio:6.2f}  "
                  f"{r.bound:8} {counters(r)}")


def groups_of(results, stored):
    """The rows of each group. The bound of a row is taken from the stored table if the row is in
    it, so that a change of the clock compares the same rows."""
    groups = collections.defaultdict(list)
    for r in results:
        if not r.wrong and r.row.level:
            bound = stored.get(r.row.id, {}).get("bound") or r.bound
            groups[r.row.device, r.row.dialect, bound].append(r)
    return groups


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def figures(rows):
    errors = [r.error for r in rows]
    return (len(rows), statistics.median(errors), percentile(errors, 0.9),
            statistics.median(r.ratio for r in rows))


def pairs_of(results):
    same = collections.defaultdict(list)
    for r in results:
        if not r.wrong:
            same[r.row.operation, r.row.shape, r.row.device, r.row.harness_us].append(r)
    for rows in same.values():
        for i, a in enumerate(rows):
            for b in rows[i + 1:]:
                low, high = sorted((a.row.measured, b.row.measured))
                if high > low * (1 + PAIR_DIFFERS) and high - low > PAIR_LEAST_US:
                    yield a, b


def judge_pairs(pairs):
    n = called = right = 0
    for a, b in pairs:
        n += 1
        if abs(a.modelled - b.modelled) > PAIR_CALLED * min(a.modelled, b.modelled):
            called += 1
            right += (a.modelled < b.modelled) == (a.row.measured < b.row.measured)
    return n, called, right


def print_groups(groups):
    print("| generation | dialect | bound | rows | median error | 90th percentile | "
          "median ratio |")
    print("|---|---|---|---|---|---|---|")
    for key in sorted(groups):
        n, median, ninth, ratio = figures(groups[key])
        print(f"| {' | '.join(key)} | {n} | {median:.1%} | {ninth:.1%} | {ratio:.2f} |")
    whole = [r for rows in groups.values() for r in rows]
    n, median, ninth, ratio = figures(whole)
    print(f"| all | | | {n} | {median:.1%} | {ninth:.1%} | {ratio:.2f} |")


def print_pairs(program, results):
    by_operation = collections.defaultdict(list)
    for a, b in pairs_of(results):
        by_operation[a.row.operation, a.row.device, a.row.dialect].append((a, b))
    print("\n| operation | generation | dialect | pairs | called | right of those called |")
    print("|---|---|---|---|---|---|")
    whole = [0, 0, 0]
    for key in sorted(by_operation):
        judged = judge_pairs(by_operation[key])
        whole = [x + y for x, y in zip(whole, judged)]
        n, called, right = judged
        print(f"| {' | '.join(key)} | {n} | {called} | {right / called if called else 1:.0%} |")
    n, called, right = whole
    print(f"| all | | | {n} | {called / max(n, 1):.0%} | {right / max(called, 1):.1%} |")
    n, called, right = judge_verdicts(program, list(pairs_of(results)))
    print(f"\nOutside the model's error, as the verdict has it: {called / max(n, 1):.1%} called, "
          f"{right / max(called, 1):.1%} of them right")


# ---- the standing exam --------------------------------------------------------------------------

LADDERS = [  # name, what the ids of its rows begin with
    ("silu", "kda_silu"), ("matmul", "kda_matmul"), ("bmm", "kda_bmm"), ("gqa", "kda_gqa"),
    ("adamw", "kda_adamw"), ("rope", "kda_rope"), ("conv2d", "xg_conv2d"),
    ("attention", "autocomp_attention"), ("gemm", "autocomp_gemm"), ("conv1d", "autocomp_conv1d"),
    ("experts", "kg_moetkg"), ("decode attention", "kg_attn"),
]


def rank_agreement(rows):
    """Spearman's coefficient of measured and modelled times."""
    if len(rows) < 3:
        return None
    order = [{id(r): i for i, r in enumerate(sorted(rows, key=key))}
             for key in (lambda r: r.row.measured, lambda r: r.modelled)]
    n = len(rows)
    return 1 - 6 * sum((order[0][id(r)] - order[1][id(r)]) ** 2 for r in rows) / (n ** 3 - n)


def ladder_of(results, prefix):
    return [r for r in results if not r.wrong and r.row.id.startswith(prefix)]


def reversed_pairs(rows):
    """Pairs (fast, slow) that hardware found slower and the clock calls faster."""
    turned = []
    for a, b in pairs_of(rows):
        slow, fast = (a, b) if a.row.measured > b.row.measured else (b, a)
        if slow.modelled * (1 + PAIR_CALLED) < fast.modelled:
            turned.append((fast, slow))
    return turned


def print_exam(results):
    print("\nThe standing exam: order on the clock against order on hardware")
    for name, prefix in LADDERS:
        rows = ladder_of(results, prefix)
        if len(rows) < 2:
            continue
        turned = reversed_pairs(rows)
        n, called, _ = judge_pairs(pairs_of(rows))
        agreement = rank_agreement(rows)
        print(f"{name}: {len(rows)} kernels, {n} pairs, {called} called, {len(turned)} reversed" +
              (f", rank agreement {agreement:.2f}" if agreement is not None else ""))
        for fast, slow in turned:
            print(f"    {fast.row.id}: {fast.row.measured:.0f} us, clock {fast.modelled:.0f}; "
                  f"{slow.row.id}: {slow.row.measured:.0f} us, clock {slow.modelled:.0f}")


# ---- doubt --------------------------------------------------------------------------------------

EDITS = ["TRAFFIC", "ARITHMETIC", "TILING", "ENGINES", "TRANSFERS", "ORDER"]  # enum device_edit
COUNTS = ["hardware_flops", *(f"{engine}_engine_instruction_count"
                              for engine in ("tensor", "vector", "scalar", "gpsimd")),
          "dma_packet_count"]
LEAST_ROWS = 8      # a kind of kernel with this many rows has an interval of its own
LEAST_PAIRS = 10    # pairs of a kind, of which nine of ten must be right
FEW_PAIRS = 200     # a kind with fewer is not believed to be better than its residuals
RATIOS = [1 + i / 100 for i in range(1, 101)]


def intervals(results):
    """(generation, dialect, bound, rows, low, high), with the most exact kind first."""
    groups = collections.defaultdict(list)
    for r in results:
        if not r.wrong and r.row.level:
            for key in ((r.row.device, r.row.dialect, r.bound), (r.row.device, r.row.dialect, "")):
                groups[key].append(1 / r.ratio)
    rows = sorted(groups, key=lambda key: (key.count(""), key))
    return [(*key, len(groups[key]), percentile(groups[key], 0.1), percentile(groups[key], 0.9))
            for key in rows if len(groups[key]) >= LEAST_ROWS]


def edits_of(program, pairs):
    """(kind of edit, least ratio that the verdict believes) of each pair, by the program."""
    def work_words(r):
        both = r.metrics.get("hbm_read_bytes", 0) + r.metrics.get("hbm_write_bytes", 0)
        return " ".join(str(v) for v in [both, *(r.metrics.get(name, 0) for name in COUNTS)])
    lines = "".join(f"{work_words(a)} {work_words(b)}\n" for a, b in pairs)
    done = subprocess.run([program, "--edits"], input=lines, capture_output=True, text=True,
                          check=True)
    words = done.stdout.split()
    return [(EDITS[int(kind)], float(least)) for kind, least in zip(words[::2], words[1::2])]


def judge_verdicts(program, pairs):
    """As judge_pairs, but a pair is called where the verdict calls it: outside the error that
    doubt.def has for an edit of its kind."""
    called = right = 0
    for (a, b), (_, least) in zip(pairs, edits_of(program, pairs)):
        if max(a.modelled, b.modelled) >= least * min(a.modelled, b.modelled):
            called += 1
            right += (a.modelled < b.modelled) == (a.row.measured < b.row.measured)
    return len(pairs), called, right


def least_ratio(pairs):
    """The ratio of the clock's times from which on nine of ten pairs are named right. None: there
    are too few."""
    said = [(abs(math.log(a.modelled / b.modelled)),
             (a.modelled < b.modelled) == (a.row.measured < b.row.measured)) for a, b in pairs]
    least = None
    for ratio in reversed(RATIOS):
        right = [r for size, r in said if size >= math.log(ratio)]
        if len(right) >= LEAST_PAIRS and sum(right) < 0.9 * len(right):
            break
        if len(right) >= LEAST_PAIRS:
            least = ratio
    return least


def residual_ratio(pairs):
    """The median of how far the clock's ratio of two latencies is from the measured one."""
    return math.exp(statistics.median(
        abs(math.log(a.ratio / b.ratio)) for a, b in pairs)) if pairs else 1


def honest_ratio(own, pairs):
    """least_ratio of a kind of edit. A few dozen pairs come from two or three ladders, so that all
    of them may be right by chance. Then it is at least that of all pairs, and at least the median
    residual of its own."""
    least = least_ratio(own) or least_ratio(pairs) or RATIOS[-1]
    if len(own) < FEW_PAIRS:
        least = max(least, least_ratio(pairs) or RATIOS[-1], residual_ratio(own))
    return math.ceil(100 * least - 1e-9) / 100


def all_pairs(results):
    """All pairs of one operation and shape, whatever hardware says about them."""
    same = collections.defaultdict(list)
    for r in results:
        if not r.wrong:
            same[r.row.operation, r.row.shape, r.row.device, r.row.harness_us].append(r)
    return [(a, b) for rows in same.values() for i, a in enumerate(rows) for b in rows[i + 1:]]


def write_doubt(path, program, results):
    pairs = all_pairs(results)
    by_edit = collections.defaultdict(list)
    for pair, (edit, _) in zip(pairs, edits_of(program, pairs)):
        by_edit[edit].append(pair)
    with open(path, "w") as file:
        file.write("/* SPDX-License-Identifier: Apache-2.0 */\n"
                   "/* Made by tests/bench/calibrate.py --doubt; see there what the numbers mean.\n"
                   " * DOUBT(generation, dialect, bound, rows, low, high): measured over modelled, "
                   "from the 10th\n * to the 90th percentile. EDIT(kind, pairs, least): the ratio "
                   "of two latencies from which on\n * nine of ten pairs were named right; of a "
                   "kind with few pairs at least that of all pairs\n * and the median residual of "
                   "its own. */\n")
        for generation, dialect, bound, n, low, high in intervals(results):
            file.write(f'DOUBT("{generation}", "{dialect}", "{bound}", {n}, {low:.3f}, '
                       f'{high:.3f})\n')
        for edit in EDITS:
            least = honest_ratio(by_edit[edit], pairs)
            file.write(f"EDIT({edit}, {len(by_edit[edit])}, {least:.2f})\n")


# ---- the ratchet --------------------------------------------------------------------------------

def read_stored():
    if not STORED.exists():
        return {}
    with STORED.open() as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def write_stored(results, stored):
    """A row keeps the group that it is in: dealt anew, groups would hide what became worse."""
    with STORED.open("w") as file:
        file.write("id,bound,ratio\n")
        for r in results:
            if not r.wrong:
                bound = stored.get(r.row.id, {}).get("bound") or r.bound
                file.write(f"{r.row.id},{bound},{r.ratio:.6f}\n")


def ratchet(results, groups, stored):
    """What has become worse, in sentences."""
    worse = []
    lost = sorted(i for i in stored if not any(r.row.id == i and not r.wrong for r in results))
    if lost:
        worse.append(f"{len(lost)} rows can not be timed any more: {' '.join(lost[:5])}")
    for key, rows in sorted(groups.items()):
        known = [r for r in rows if r.row.id in stored]
        if not known:
            continue
        before = [abs(float(stored[r.row.id]["ratio"]) - 1) for r in known]
        now = [r.error for r in known]
        for what, old, new in (("median", statistics.median(before), statistics.median(now)),
                               ("90th percentile", percentile(before, .9), percentile(now, .9))):
            if new > old + SLACK:
                worse.append(f"{' '.join(key)}: {what} {old:.1%} -> {new:.1%}")
    return worse + ratchet_order([r for r in results if r.row.id in stored and not r.wrong], stored)


def order_of(known):
    return judge_pairs(pairs_of(known)), {name: len(reversed_pairs(ladder_of(known, prefix)))
                                          for name, prefix in LADDERS}


def ratchet_order(known, stored):
    """The pairs and the exam, compared with those of the stored times."""
    now, turned = order_of(known)
    times = [r.modelled for r in known]
    for r in known:
        r.modelled = float(stored[r.row.id]["ratio"]) * r.row.measured
    before, turned_before = order_of(known)
    for r, modelled in zip(known, times):
        r.modelled = modelled
    worse = [f"{name}: {turned_before[name]} pairs reversed -> {turned[name]}"
             for name in turned if turned[name] > turned_before[name]]
    if now[2] < before[2] and now[2] * before[1] < before[2] * now[1]:
        worse.append(f"pairs named right: {before[2]} of {before[1]} -> {now[2]} of {now[1]}")
    return worse


def print_changes(results, stored):
    """The rows whose error has changed by a hundredth or more."""
    for r in results:
        if r.wrong or r.row.id not in stored:
            continue
        old = float(stored[r.row.id]["ratio"])
        if abs(old - r.ratio) >= 0.01:
            mark = "better" if r.error < abs(old - 1) else "worse"
            print(f"  {mark:6} {r.row.id[:60]:60} {old:.2f} -> {r.ratio:.2f}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("rows", nargs="?", default=os.environ.get("HONE_MEASURED", ""))
    parser.add_argument("checkouts", nargs="?", default=os.environ.get("HONE_CHECKOUTS", ""))
    parser.add_argument("--rows", dest="print_rows", action="store_true")
    parser.add_argument("--changes", action="store_true")
    parser.add_argument("--order", action="store_true")
    parser.add_argument("--regen", action="store_true")
    parser.add_argument("--doubt", metavar="FILE")
    parser.add_argument("--only", default="")
    parser.add_argument("--without", action="append", default=[], metavar="PASS")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main():
    args = parse_arguments()
    if not args.rows or not args.checkouts:
        print("HONE_MEASURED names no rows or HONE_CHECKOUTS no checkouts: nothing to compare.")
        return 0
    with tempfile.TemporaryDirectory(prefix="hone_calibrate_") as made, open(args.rows) as file:
        checkouts = measured_rows.Checkouts(args.checkouts, made)
        rows = [measured_rows.row_of(line, json.loads(line["metrics_json"] or "{}"), checkouts)
                for line in csv.DictReader(file) if args.only in line["id"]]
        results = run([args.program, *args.without], rows, args.jobs)
    stored = read_stored()
    if args.print_rows:
        print_rows(results)
    if args.changes:
        print_changes(results, stored)
    if args.regen:
        write_stored(results, stored)
        stored = read_stored()
    if args.doubt:
        write_doubt(args.doubt, args.program, results)
    groups = groups_of(results, stored)
    print(f"{len(results)} rows, {sum(not r.wrong for r in results)} timed\n")
    if not groups:
        return 0
    print_groups(groups)
    print_pairs(args.program, results)
    if args.order:
        print_exam(results)
    worse = [] if args.only else ratchet(results, groups, stored)
    for sentence in worse:
        print(f"worse: {sentence}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
