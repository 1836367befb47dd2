# SPDX-License-Identifier: Apache-2.0
"""Latency samples of a kernel, or of incumbent and kernel in turn (A B B A ...), inside the core
lock. A sample is the median of one run of many executions after warm-ups, never the first
execution. The release decides which clock there is; the log says which one was used. Samples are
judged elsewhere, but this module knows whether they can be compared."""

import glob
import json
import math
import os
import re
import shutil
import statistics

from hone_runner import stage
from hone_runner.context import Failed

from . import compile as compiling, execute, keys, launches, shown, summary

WARMUP, ITERATIONS = 20, 200
# A core that was reset, as each process of the runtime does it, is slower for seconds of wall time,
# whatever the number of executions (seen in public measurements of trn1 and inf2).
WARMUP_S = 3.0
MOST_WARMUPS = 200000
TRACES = "launches.ndjson.gz"       # the runtime's own events, in the job's work folder
CAPTURE_EXECUTIONS = 20
PAIRS = 10
ALONE = 5                   # samples of a kernel without an incumbent
MAX_PAIRS = 1000

CLOCKS = {
    "nrt": "the runtime's Python layer, device clock",
    "bench": "neuron-bench, NeuronCore latency",
    "capture": "the profiler, time of one profiled execution",
    "benchmark": "nki.benchmark, NeuronCore latency",
}


def order_of(pairs, with_incumbent):
    """The order of measuring: each pair is in the opposite order of the one before."""
    if not with_incumbent:
        return ["kernel"] * pairs
    order = []
    for pair in range(pairs):
        order += ["incumbent", "kernel"] if pair % 2 == 0 else ["kernel", "incumbent"]
    return order


# ---------------------------------------------------------------------------------- the clocks


def warmup_s(context):
    return context.number("warmup_s", WARMUP_S, 0, 60)


def by_nrt(device, programs, inputs, order, tell):
    python, extra = device.nrt_python()
    request = {"models": {who: program.row() for who, program in programs.items()},
               "inputs": inputs, "warmup": WARMUP, "iterations": ITERATIONS,
               "warmup_s": warmup_s(device.context), "lnc": device.lnc,
               "events": os.path.join(device.context.work, "part-" + TRACES),
               "together": len(programs), "first": 0}

    def piece():
        request.update(order=order, until=min(device.held.leave_at(), 1e12))
        return compiling.call_worker(device.context, compiling.Ask(
            "benchmark", "nrt-benchmark", request, device.limits(len(order)),
            device.variables(extra), python, "nrt"))
    while order:
        answer, result = device.held.piece(piece)
        check_nrt(answer, result)
        keep_traces(device.context.work, request)
        for row in answer["samples"]:
            tell(row["of"], row["us"], row)
        order = order[len(answer["samples"]):]
        request["first"] += len(answer["samples"])


def keep_traces(folder, request):
    """Adds the events of a piece to those of the pieces before. Events of an earlier benchmark (the
    canary's) are replaced. Compressed files are appended as they are."""
    part = request["events"]
    if os.path.exists(part):
        mode = "ab" if request["first"] else "wb"
        with open(part, "rb") as new, open(os.path.join(folder, TRACES), mode) as whole:
            shutil.copyfileobj(new, whole)
        os.unlink(part)


def check_nrt(answer, result):
    """Raises an exception for a wrong answer of the runtime's Python layer."""
    if not (answer and answer["ok"]):
        if answer and answer.get("missing"):
            raise execute.NoWay("there is no nrtpy")
        if answer and answer.get("unusable"):
            raise execute.NoWay(answer["error"])
        problem = execute.judge_failure(result, "nrtpy")
        # Perhaps the core is busy, or takes no second model: the next clock will show.
        raise execute.NoWay(str(problem)) if isinstance(problem, execute.Busy) else problem
    if not answer["samples"]:
        raise execute.NoWay("nrtpy took no sample")


def each(sample):
    """A clock that takes one sample at a time."""
    def run(device, programs, inputs, order, tell):
        for number, who in enumerate(order):
            us = execute.patiently(device,
                                   lambda: sample(device, programs[who], inputs, number))
            tell(who, us)
    return run


def by_bench(device, programs, inputs, order, tell):
    """Runs of neuron-bench: each sample is the median of one."""
    warmups = {who: bench_warmups(device, program) for who, program in programs.items()}
    for number, who in enumerate(order):
        us, _ = execute.patiently(
            device, lambda: bench_run(device, programs[who], number, warmups[who]))
        tell(who, us)


def bench_warmups(device, program):
    """How many warm-ups take as long as wanted. neuron-bench takes their number, so a run that does
    not count as a sample measures how long a call takes."""
    wanted_s = warmup_s(device.context)
    if not wanted_s:
        return WARMUP
    _, call_us = execute.patiently(device, lambda: bench_run(device, program, "first", WARMUP))
    return min(max(WARMUP, math.ceil(wanted_s * 1e6 / call_us)), MOST_WARMUPS)


def bench_run(device, program, number, warmups):
    """(the NeuronCore's time, the time of a call of the runtime), medians in microseconds."""
    tool = device.context.environment.tool("neuron-bench")
    if not tool:
        raise execute.NoWay("neuron-bench is not there")
    folder = os.path.join(device.context.work, "bench-%s-%s" % (program.kernel.label, number))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    argv = [tool, "exec", "--warmup=%d" % warmups, "--work=%d" % ITERATIONS,
            "--enable-only-latency", "--fixed-nc-count=1", "--output-directory=" + folder,
            program.neff]
    result = device.context.stage("bench", argv, device.limits(), env=device.variables(),
                                  cwd=folder, grammar=shown.Grammar("measuring"),
                                  show=number in (0, "first"))
    if not result.ok:
        raise execute.judge_failure(result, "neuron-bench")
    us = read_bench(folder) or read_bench_table(result.read_out().decode("utf-8", "replace"))
    call_us = read_bench_call(folder)
    shutil.rmtree(folder, ignore_errors=True)
    if not us:
        raise execute.NoWay("neuron-bench reports no NeuronCore latency")
    return us, max(call_us or us, us)


def read_bench_call(folder):
    """The median time of a call, in microseconds; None: not reported."""
    for path in glob.glob(os.path.join(folder, "**", "info.json"), recursive=True):
        found = find_member(read_json(path), "latency")
        if isinstance(found, dict) and keys.number(found.get("50")):
            return float(found["50"])
    return None


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def read_bench(folder):
    """The median in microseconds from neuron-bench's files: of all latencies, else their p50."""
    for path in glob.glob(os.path.join(folder, "**", "nc_latency_data.json"), recursive=True):
        data = read_json(path).get("latency_data")
        values = [v for v in (data or {}).get("0", ()) if keys.number(v)]
        if values:
            return statistics.median(values)
    for path in glob.glob(os.path.join(folder, "**", "info.json"), recursive=True):
        found = find_member(read_json(path), "nc_latency")
        if isinstance(found, dict) and keys.number(found.get("50")):
            return float(found["50"])
    return None


def find_member(value, name, depth=0):
    """The first member of that name, at any depth."""
    if isinstance(value, dict) and depth < 8:
        if name in value:
            return value[name]
        value = list(value.values())
    if isinstance(value, list) and depth < 8:
        for item in value[:100]:
            found = find_member(item, name, depth + 1)
            if found is not None:
                return found
    return None


def read_bench_table(text):
    """NCL(50) of the row with one core, out of the table that neuron-bench prints. None: none."""
    columns = None
    for line in text.splitlines():
        words = line.replace("NC USED", "NC_USED").split()
        if "NCL(50)" in words:
            columns = words
        elif columns and len(words) == len(columns) and re.match(r"\d+$", words[0]):
            row = dict(zip(columns, words))
            if row.get("NC_USED", "1") == "1" and re.match(r"\d+(\.\d+)?$", row["NCL(50)"]):
                return float(row["NCL(50)"])
    return None


def capture_sample(device, program, inputs, number):
    """The last of several executions, profiled; the first one alone is no sample."""
    if not device.tool.has("capture", "num-exec"):
        raise execute.NoWay("this profiler executes only once")
    folder = os.path.join(device.context.work, "sample-%s-%d" % (program.kernel.label, number))
    nodes = view_summary(device, program, capture_profile(device, program, inputs, folder, False))
    shutil.rmtree(folder, ignore_errors=True)
    us, _ = keys.latency_us(summary.slowest(nodes) or {})
    if not us:
        raise execute.NoWay("the profiler's summary has no time")
    return us


def legacy_sample(device, program, inputs, number):
    """One nki.benchmark, which compiles again each time: the last resort."""
    if program.dialect != "legacy":
        raise execute.NoWay("nki.benchmark is for legacy kernels")
    context, label = device.context, program.kernel.label
    request = {"kernel": program.kernel.path, "name": program.kernel.name, "inputs": inputs,
               "ways": {"legacy": ["benchmark"]}, "lnc": device.lnc, "warmup": WARMUP,
               "iterations": ITERATIONS, "flags": context.settings.get("compile_flags", "").split(),
               "folder": os.path.join(context.work, "benchmark-%s-%d" % (label, number))}
    limits = stage.Limits(context.number("compile_limit_s") + context.number("run_limit_s"), nice=0)
    limits.on(device.held)
    answer, result = compiling.call_worker(context, compiling.Ask(
        "benchmark", "nki-benchmark", request, limits,
        device.variables(compiling.own_flags())))
    if not (answer and answer["ok"]):
        raise execute.judge_failure(result, "nki.benchmark")
    us = answer["us"] or read_bench_table(result.read_out().decode("utf-8", "replace"))
    if not us:
        raise execute.NoWay("nki.benchmark reports no latency")
    return us


CLOCK_WAYS = {"nrt": by_nrt, "bench": by_bench, "capture": each(capture_sample),
              "benchmark": each(legacy_sample)}


class Bench:
    """Takes samples with the first clock that works. samples: {"kernel": [us], "incumbent": [us]}.
    doubt: why they cannot be compared, "" when they can."""

    def __init__(self, device, dialect, quiet=False):
        self.device, self.quiet = device, quiet
        self.ways = ["nrt", "bench", "capture"] + (["benchmark"] if dialect == "legacy" else [])
        self.clock, self.doubt = None, ""
        self.samples, self.rows = {}, {}

    def tell(self, who, us, row=None):
        """row: what else is known of the sample (launches.sample)."""
        if not us > 0:
            raise execute.NoWay("it reports a latency of %r us" % us)
        if row and not row["comparable"]:
            self.doubt = "times are %s: %s" % (launches.UNPAIRED, row["why"])
        self.samples.setdefault(who, []).append(us)
        self.rows.setdefault(who, []).append(row)
        # Samples that cannot be compared are shown for the kernel only.
        if not self.quiet and not (self.doubt and who != "kernel"):
            more = {"per": launches.UNPAIRED} if self.doubt else {}
            self.device.context.events.emit("sample", us=us, of=who, modelled=False, **more)

    def take(self, programs, inputs, pairs):
        """programs: {"kernel": Program} and maybe "incumbent"."""
        events, problems = self.device.context.events, []
        order = order_of(pairs, "incumbent" in programs)
        for name in self.ways:
            if any(self.samples.values()):
                break               # samples of two clocks are not compared
            try:
                CLOCK_WAYS[name](self.device, programs, inputs, order, self.tell)
                self.clock = name
                break
            except execute.NoWay as problem:
                problems.append("%s: %s" % (name, problem))
                events.log("measuring by %s does not work: %s" % (name, problem),
                           "note" if not self.samples else "warning")
                self.clock = name if self.samples else None
                if self.samples and not self.enough(programs):
                    raise Failed("environment", "the measurement broke off: %s" % problem)
        if not self.samples:
            raise Failed("environment", "the kernel cannot be timed on this host; tried "
                         + "; ".join(problems))
        each_one = "the median of %d executions after at least %d warm-ups and %g s" \
            % (ITERATIONS, WARMUP, warmup_s(self.device.context))
        if self.clock == "capture":
            each_one = "the last of %d executions" % CAPTURE_EXECUTIONS
        events.log("latency by %s: each sample is %s" % (CLOCKS[self.clock], each_one))
        self.tell_launches(events)
        return self.samples

    def tell_launches(self, events):
        """What the runtime reported about the launches besides their median."""
        if self.doubt:
            events.log("a sample is not a launch, and is not compared: " + self.doubt, "warning")
        for who, rows in self.rows.items():
            known = [row for row in rows if row and row["span_us"] is not None]
            if not known or self.quiet:
                continue
            us, least, apart, span = [statistics.median(row[name] for row in known) for name in
                                      ("us", "min_us", "iqr_us", "span_us")]
            events.log("%s: a launch takes %.3f us%s, at least %.3f us, quartiles %.3f us apart; "
                       "%.3f us from the earliest start to the latest stop"
                       % (who, us, "" if self.device.lnc == 1 else " (the longest of its cores)",
                          least, apart, span))

    def enough(self, programs):
        return all(len(self.samples.get(who, ())) >= ALONE for who in programs)


def pairs_of(context, with_incumbent):
    """How many pairs, or how many samples of a kernel that is not compared with another."""
    asked = int(context.number("samples", PAIRS, 1, MAX_PAIRS))
    return asked if with_incumbent else min(asked, ALONE)


# --------------------------------------------------------------------------- profiled executions


def capture_profile(device, program, inputs, folder, dge):
    """Profiles the last of several executions with these inputs, with notifications of dynamic DMA
    or without: the path of its NTFF."""
    tool, context = device.tool, device.context
    if not tool.path:
        raise execute.NoWay("neither neuron-explorer nor neuron-profile is there")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    argv = [tool.path, "capture", "--neff", program.neff,
            "-s", os.path.join(folder, "profile.ntff")]
    argv += tool.executions(CAPTURE_EXECUTIONS, CAPTURE_EXECUTIONS)
    argv += ["--enable-dge-notifs"] if dge else []
    argv += device.input_files(program, inputs)
    more = {"NEURON_RT_ENABLE_DGE_NOTIFICATIONS": "1"} if dge else {}
    result = device.held.piece(lambda: context.stage(
        "profile", argv, device.limits(), env=device.variables(more), cwd=folder,
        grammar=shown.Grammar("profiling")))
    if not result.ok:
        raise execute.judge_failure(result, tool.name)
    found = glob.glob(os.path.join(folder, "**", "*.ntff"), recursive=True)
    if not found:
        raise execute.NoWay("%s left no NTFF" % tool.name)
    return max(found, key=lambda path: ("_exec_%d" % CAPTURE_EXECUTIONS in path,
                                        os.path.getmtime(path)))


def view_argv(device, program, ntff, form):
    argv = [device.tool.path, "view", "-n", program.neff, "-s", ntff, "--output-format", form]
    newer = device.tool.name == "neuron-explorer"       # neuron-profile has no such option
    if newer and device.tool.has("view", "disable-ui"):
        argv.append("--disable-ui")
    return argv


def view_summary(device, program, ntff):
    """[(node, summary)] of a profile; needs no core."""
    result = device.context.stage("view", view_argv(device, program, ntff, "summary-json"),
                                  device.limits_off(4), env=device.variables(),
                                  cwd=os.path.dirname(ntff), show=False)
    nodes = summary.parse(result.read_out())
    if not nodes:
        raise execute.judge_failure(result, device.tool.name) if not result.ok else \
            execute.NoWay("%s prints no summary" % device.tool.name)
    return nodes
