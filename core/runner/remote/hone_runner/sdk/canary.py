# SPDX-License-Identifier: Apache-2.0
"""Whether the toolchain can be believed. Some releases returned zeros with exit status 0 and
plausible latencies. So once in a session, for each environment and boot, kernels of ours are
evaluated like any other: one that is known to be good must pass and measure "no change" against
itself; one that writes zeros and one that is slightly wrong must fail. This also chooses the seam
(seams.py) of the session: the first one with which all that is true."""

import hashlib
import json
import os
import time

from hone_runner import folder as folders, process
from hone_runner.context import Failed

from . import bench, compile as compiling, execute, reference, seams, verdict

PAIRS = 5
NOISE = 0.05                # two runs of the same kernel may differ by so much
SEED = 7

REFERENCE = '''# SPDX-License-Identifier: Apache-2.0
import numpy as np


def get_inputs():
    return [np.random.standard_normal((128, 512)).astype(np.float32),
            np.random.standard_normal((128, 512)).astype(np.float32)]


def forward(a, b):
    return a * np.float32(2) + b
'''
# {zero} and {factor} make the good kernel, the one that writes zeros, the one that is nearly right.
LEGACY = '''# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def canary(a, b):
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(512)[None, :]
    x = nl.load(a[i_p, i_f])
    y = nl.load(b[i_p, i_f])
    doubled = nl.multiply(x, {factor})
    total = nl.add(doubled, nl.multiply(y, {other}))
    nl.store(out[i_p, i_f], value=total)
    return out
'''
CURRENT = '''# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def canary(a, b):
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    nisa.dma_copy(dst=y, src=b)
    doubled = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    other = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    total = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=doubled, data=x, op0=nl.multiply, operand0={factor})
    nisa.tensor_scalar(dst=other, data=y, op0=nl.multiply, operand0={other})
    nisa.tensor_tensor(dst=total, data1=doubled, data2=other, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out
'''
TEXTS = {"legacy": LEGACY, "current": CURRENT}
# name: (factor, other) of the kernel, and whether it has to pass.
KERNELS = [("good", ("2.0", "1.0"), True), ("zeros", ("0.0", "0.0"), False),
           ("wrong", ("2.0", "0.999"), False)]


def text_of(dialect, name):
    factor, other = next(pair for kernel, pair, _ in KERNELS if kernel == name)
    return TEXTS[dialect].format(factor=factor, other=other)


def key(context, dialect, device, lnc):
    host = context.environment
    parts = [context.job.get("session") or context.folder.id, dialect, device, lnc, process.boot(),
             os.uname().nodename, host.chosen and host.chosen.path, sorted(host.packages.items()),
             {name: row.get("version") for name, row in host.tools.items()}]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]


def seam_text(name):
    return "%s (%s)" % (name, seams.SEAMS[name].what) if name in seams.SEAMS else str(name)


def last(cache, host):
    """What the newest canary that passed in this environment remembered, below the folder .hone/
    cache; None where there is none."""
    rows = []
    folder = os.path.join(cache, "canaries")
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        row = folders.read_json(os.path.join(folder, name), 1 << 20)
        if isinstance(row, dict) and isinstance(row.get("time"), float) and host.chosen and \
                row.get("seam") in seams.SEAMS and isinstance(row.get("skipped"), dict) and \
                row.get("environment") == host.chosen.path and row.get("packages") == host.packages:
            rows.append(row)
    return max(rows, key=lambda row: row["time"], default=None)


class Unfit(Failed):
    """The kernels do not behave as they must with this seam; another one may do."""

    def __init__(self, seam, text):
        super().__init__("environment", text)
        self.seam = seam


class Canary:
    """One dialect's canary. run() raises Failed, whose text says what was found."""

    def __init__(self, context, dialect, compiler, held_executor=None):
        """held_executor: makes (Device, Executor) within a held core; a context manager."""
        self.context, self.dialect, self.compiler = context, dialect, compiler
        self.held_executor, self.ways = held_executor, compiler.ways
        name = key(context, dialect, compiler.device, compiler.lnc)
        self.path = os.path.join(context.cache, "canaries", name + ".json")

    def run(self):
        if self.passed():
            self.context.events.log("the canary passed before in this session; kernels compile by "
                                    + seam_text(self.ways.proven))
            return
        with self.context.phase("canary"):
            reference_of = self.prepare()
            seam, samples = self.choose(lambda: self.attempt(reference_of))
            self.judge_samples(samples)
            self.ways.prove(seam)
            self.remember()

    def prove(self):
        """Chooses a seam only by compiling, for evaluations without a device. Returns whether there
        is one. The choice is not remembered, because nothing was run."""
        if self.passed():
            return True
        reference_of = self.prepare()
        try:
            self.ways.prove(self.choose(lambda: self.compile("good", reference_of).seam))
        except Failed:
            return False
        return True

    def choose(self, attempt):
        """Calls attempt() with one seam after another and returns its result. When no seam is left,
        raises the failure of the first."""
        first = None
        while True:
            try:
                return attempt()
            except Unfit as problem:
                first = first or problem
                if not problem.seam or not self.ways.skip(problem.seam, str(problem), self.dialect):
                    raise first
                self.context.events.log("the canary does not pass by %s: %s; trying the next way"
                                        % (problem.seam, problem), "warning")
            except compiling.NoSeam:
                if first is None:
                    raise
                raise first         # no other way is there

    def attempt(self, reference_of):
        """The seam that compiled, and samples of the good kernel against itself. If the device
        fails, no seam is at fault: it would fail, or hang, with each of them."""
        programs = {name: self.compile(name, reference_of) for name, _, _ in KERNELS}
        seam = programs["good"].seam
        try:
            return seam, self.on_device(programs, reference_of, seam)
        except execute.KernelFailed as fault:
            raise Failed("environment", "a kernel that is known to be good fails on this host: "
                         + str(fault))

    def on_device(self, programs, reference_of, seam):
        """Runs and judges all three kernels; returns samples of the good one against itself."""
        inputs = reference_of.inputs_of(SEED)
        with self.held_executor() as (device, executor):
            outputs = [(name, executor.run(programs[name], inputs, os.path.join(
                self.context.work, seam + "-canary-" + name))) for name, _, _ in KERNELS]
            self.judge_outputs(reference_of, outputs, seam)
            return self.measure(device, programs["good"], reference_of)

    def passed(self):
        """Whether it passed before; then the seam of that time is the chosen one."""
        try:
            with open(self.path, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            return False
        if known.get("passed") is not True or known.get("seam") not in seams.SEAMS:
            return False
        self.ways.prove(known["seam"], known.get("skipped"))
        return True

    def remember(self):
        """Only success is remembered: after a failure the next job tries again."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        host = self.context.environment
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"passed": True, "dialect": self.dialect, "seam": self.ways.proven,
                       "skipped": self.ways.skipped, "time": time.time(),
                       "environment": host.chosen and host.chosen.path,
                       "packages": host.packages}, file)
        self.context.events.log("kernels compile by " + seam_text(self.ways.proven))
        self.context.events.log("the canary passes: a good kernel is right, one that writes zeros "
                                "and one that is wrong by 0.1 % are found out, and it measures no "
                                "change against itself")

    def prepare(self):
        folder = os.path.join(self.context.work, "canary")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, "reference.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(REFERENCE)
        found = reference.Reference(self.context, path)
        found.prepare([SEED])
        return found

    def compile(self, name, reference_of):
        kernel = compiling.Kernel(self.context, text_of(self.dialect, name), "canary", "canary.py",
                                  "canary-""" + name)
        kernel.shown = False            # nobody needs the compiler's messages about it
        try:
            return self.compiler.compile(kernel, reference_of.inputs_of(SEED),
                                         reference_of.output_hints(SEED))
        except compiling.Refused as refused:
            raise Unfit(refused.about.get("seam"), "the toolchain on this host cannot be used: a "
                        "kernel that is known to be good (%s dialect) does not compile: %s"
                        % (self.dialect, refused.reason))

    def measure(self, device, program, reference_of):
        clock = bench.Bench(device, program.dialect, quiet=True)
        return clock.take({"incumbent": program, "kernel": program}, reference_of.inputs_of(SEED),
                          PAIRS)

    def judge_outputs(self, reference_of, outputs, seam):
        compared = self.compared(reference_of, outputs, seam)
        for name, _, has_to_pass in KERNELS:
            matches = compared[name]
            right = verdict.correct([(SEED, matches)], verdict.TOLERANCE)["answer"] == "yes"
            honest = verdict.credible([(SEED, matches)])["answer"] == "yes"
            if has_to_pass and not (right and honest):
                raise Unfit(seam, self.words_bad(matches))
            if not has_to_pass and right:
                raise Unfit(seam, "results from this host cannot be believed: a kernel that %s "
                            "passes the comparison"
                            % ("writes zeros" if name == "zeros" else "is wrong by 0.1 %"))

    @staticmethod
    def compared(reference_of, outputs, seam):
        try:
            found = list(reference_of.compare([(SEED, rows) for _, rows in outputs]))
        except reference.KernelFault as fault:
            raise Unfit(seam, "the toolchain on this host cannot be used: %s" % fault)
        return {name: matches for (name, _), (_, matches) in zip(outputs, found)}

    @staticmethod
    def words_bad(matches):
        start = "results from this host cannot be believed: a kernel that is known to be good "
        strange = next((verdict.odd(match) for match in matches if verdict.odd(match)), None)
        if strange:
            return start + "returns an output that %s, with exit status 0; choose another " \
                "environment (setting environment)" % strange
        rel = verdict.worst(matches)[0]
        return start + "is off by a relative L2 of %s" % ("NaN" if rel is None else "%.3g" % rel)

    @staticmethod
    def judge_samples(samples):
        """The same kernel against itself."""
        was, now = verdict.middle(samples["incumbent"]), verdict.middle(samples["kernel"])
        change = abs(was[1] / now[1] - 1) if now[1] > 0 else 1.0
        apart = now[2] < was[0] or now[0] > was[2]
        if apart and change > NOISE:
            raise Failed("environment", "latencies from this host cannot be believed: a kernel "
                         "measured against itself differs by %.1f %% (%.4g us and %.4g us); is "
                         "something else running on the device?" % (100 * change, was[1], now[1]))
