# SPDX-License-Identifier: Apache-2.0
"""The evaluation of a kernel on a host with a Neuron SDK: inputs and reference, compile, then
within the core lock verify, benchmark and profile. The stages are in sdk/; this module has their
order and builds the result. Nothing is measured or believed before the canary of the session has
passed."""

import contextlib
import os
import random
import time

from hone_runner import generations, hold, stage
from hone_runner.context import Failed
from hone_runner.sdk import (advice, bench, canary, compile as compiling, execute, grammar, measure,
                             reference, routes, source, verdict)

SEEDS = (0, 21, 42, 63, 84)
MAX_SEEDS = 64
MAX_DIAGNOSTICS = 20


class Evaluation:
    """A job that is being evaluated; result() gives the members of the result event."""

    def __init__(self, context):
        self.context, self.job = context, context.job
        self.events = context.events
        self.verdict = verdict.blank()
        self.generation = generations.find(self.job.get("device") or "trn2")
        self.device = self.generation.name if self.generation else None
        own = source.decorator_lnc(str(self.job.get("kernel_text")), self.job.get("kernel_name"))
        self.lnc = int(context.number("lnc", own or 1, 1, 2))
        self.tolerance = 0.0
        self.program = self.incumbent = None
        self.about = {}
        self.measured = None
        self.samples = {}
        self.device_s = 0.0
        self.reference = None
        self.route = self.seeds = self.own_seed = None

    # -------------------------------------------------------------------------- what there is

    def look(self):
        """The environment, and how to use its release."""
        context = self.context
        with context.phase("environment"):
            host = context.environment
            self.route = routes.route_for(host.route, host.release)
        if self.device is None:
            raise Failed("usage", "there is no device %s; there are %s"
                         % (self.job.get("device"), generations.names()))
        if not host.chosen or self.route is None:
            raise Failed("environment", host.why if not host.chosen else
                         "the environment %s has neither nki nor neuronx-cc" % host.chosen.path)
        context.device = self.device
        self.events.log("Neuron SDK %s in %s (%s); device %s, %d physical core%s"
                        % (host.release or "of an unknown release", host.chosen.path,
                           packages_text(host.packages), self.device, self.lnc,
                           "" if self.lnc == 1 else "s"))
        if self.route.note:
            self.events.log(self.route.note, "warning")

    def choose_seeds(self):
        seeds = self.job.get("seeds") or list(SEEDS)
        if len(seeds) > MAX_SEEDS or not all(
                isinstance(s, int) and not isinstance(s, bool) and 0 <= s < 1 << 32 for s in seeds):
            raise Failed("usage", "seeds are at most %d whole numbers from 0 to 4294967295"
                         % MAX_SEEDS)
        self.seeds = list(seeds) if self.reference.path else list(seeds)[:1]
        if self.wants_numbers() and self.reference.path:
            unpredictable = random.SystemRandom()
            self.own_seed = next(s for s in iter(lambda: unpredictable.getrandbits(32), None)
                                 if s not in self.seeds)

    def wants(self, what):
        """Whether a part of the evaluation is wanted; `what` is the member of the job that switches
        it off."""
        return not any(self.job.get(name) for name in ("check_only", "predict_only", what))

    def wants_numbers(self):
        return self.wants("no_verify")

    def wants_time(self):
        return self.wants("no_time")

    def needs_outputs(self):
        """Whether the way to compile needs the shapes of the outputs."""
        return self.route.name == "framework" and not self.job.get("predict_only")

    def prepare(self):
        """Computes inputs and expected outputs in the reference's own process, before the kernel's
        process starts."""
        path, inputs = self.job.get("reference_path"), self.job.get("inputs")
        if not path and not inputs:
            raise Failed("usage", "the inputs of the kernel are not known: a reference is needed")
        with self.context.phase("inputs"):
            self.reference = reference.Reference(self.context, None if inputs else path, inputs)
            self.choose_seeds()
            first = self.seeds[:1]
            forward = self.wants_numbers() or self.needs_outputs()
            own = [self.own_seed] if self.own_seed is not None else []
            wanted = self.seeds + own if self.wants_numbers() else first
            self.reference.prepare(wanted, own, forward)
        self.tolerance = self.job.get("tolerance") or self.reference.tolerance(self.seeds[0]) \
            or verdict.TOLERANCE
        shapes = self.reference.shapes(self.seeds[0])
        if len(shapes) > 1:
            self.events.log("hosts evaluate the first of %d shapes alone: %s"
                            % (len(shapes), shapes[0]), "warning")

    # -------------------------------------------------------------------------------- compile

    def kernel(self):
        text = self.job.get("kernel_text")
        if not isinstance(text, str):
            raise Failed("usage", "the job has no kernel_text")
        return compiling.Kernel(self.context, text, self.job.get("kernel_name"),
                                self.job.get("kernel_path") or "kernel.py").put_helpers(
                                    self.job.get("reference_path"), self.context.settings)

    def tell_prediction(self, found):
        """The compiler's prediction of the kernel's time, if the release makes one."""
        if found:
            by = "nki " + (self.context.environment.packages.get("nki") or "?")
            self.events.emit("prediction", by=by, **found)

    def predict(self):
        """Only the prediction. It is not a failure when there is none."""
        compiler = compiling.Compiler(self.context, self.route, self.device, self.lnc)
        with self.context.phase("predict"):
            found, why = compiler.predict(self.kernel(), self.reference.inputs_of(self.seeds[0]))
        self.tell_prediction(found)
        if not found:
            self.events.log("the compiler predicts nothing: %s" % why)

    def compile(self):
        """Compiles the kernel, and the incumbent if it has to be beaten; False: the kernel does not
        compile."""
        compiler = compiling.Compiler(self.context, self.route, self.device, self.lnc)
        if self.job.get("check_only") is not True:
            self.check_toolchain(compiler)
        with self.context.phase("compile"):
            kernel = self.kernel()
            try:
                self.program = self.compile_one(compiler, kernel)
            except compiling.Refused as refused:
                self.refuse(kernel, refused)
                return False
            self.verdict["compiles"] = verdict.judgement("yes")
            self.tell_prediction(self.program.prediction)
            if self.wants_time() and self.job.get("incumbent_text"):
                self.compile_incumbent(compiler)
        return True

    def compile_one(self, compiler, kernel):
        first = self.seeds[0]
        wanted = kernel, self.reference.inputs_of(first), self.reference.output_hints(first)
        try:
            return compiler.compile(*wanted)
        except compiling.NoSeam:
            dialect = routes.canary_dialect(self.route)
            if compiler.ways.proven or not canary.Canary(self.context, dialect, compiler).prove():
                raise
        return compiler.compile(*wanted)

    def compile_incumbent(self, compiler):
        kernel = compiling.Kernel(self.context, self.job["incumbent_text"],
                                  self.job.get("kernel_name"), "incumbent.py",
                                  "incumbent").put_helpers(self.job.get("reference_path"),
                                                           self.context.settings)
        try:
            self.incumbent = self.compile_one(compiler, kernel)
        except compiling.Refused as refused:
            self.events.log("the incumbent does not compile: %s" % refused.reason, "warning")
            self.verdict["faster"] = verdict.judgement("inconclusive",
                                                       "the incumbent does not compile")

    def refuse(self, kernel, refused):
        self.about = refused.about
        self.verdict["compiles"] = verdict.judgement("no", refused.reason)
        findings = [one for one in refused.findings if one.kind == "error"]
        if not findings:
            findings = [grammar.Finding("error", "", "", "", 0, refused.reason)]
        for finding in findings[:MAX_DIAGNOSTICS]:
            fields = {"class": finding.category}
            self.events.diagnostic(advice.sentence(finding), code=finding.code,
                                   file=kernel.file, line=finding.line, **fields)

    def check_toolchain(self, compiler):
        if not (self.wants_numbers() or self.wants_time()):
            return
        dialect = routes.canary_dialect(self.route)
        canary.Canary(self.context, dialect, compiler, self.held).run()

    # ------------------------------------------------------------------------------- the core

    @contextlib.contextmanager
    def held(self):
        """Takes cores, and makes what runs on them: (execute.Device, execute.Executor)."""
        count = max(self.lnc // self.context.environment.devices.lnc, 1)
        with self.context.cores(count, self.lnc) as held:
            began = time.monotonic()
            try:
                device = execute.Device(self.context, held, self.lnc)
                yield device, execute.Executor(device, self.route.run)
            finally:
                self.device_s += time.monotonic() - began - held.waited

    def on_device(self):
        with self.held() as (device, executor):
            good = True
            if self.wants_numbers():
                with self.context.phase("verify"):
                    good = self.verify(executor)
            if good and self.wants_time():
                with self.context.phase("benchmark"):
                    self.benchmark(device)
                with self.context.phase("profile"):
                    ntff = self.capture_profile(device)
        if good and self.wants_time():
            self.read_profile(device, ntff)

    # ---------------------------------------------------------------------------------- verify

    def verify(self, executor):
        """Compares every seed's outputs with the reference's: first those of one seed, then all
        others at once."""
        seeds = self.seeds + ([self.own_seed] if self.own_seed is not None else [])
        compared, hashes = [], {}
        for batch in (seeds[:1], seeds[1:]):
            if not batch:
                continue
            try:
                runs = [(seed, self.run_seed(executor, seed, hashes)) for seed in batch]
                for seed, matches in self.reference.compare(runs):
                    if not self.failed(compared) or self.job.get("all_seeds"):
                        self.tell_seed(seed, matches)
                    compared.append((seed, matches))
            except (execute.KernelFailed, reference.KernelFault) as fault:
                self.fail_verify(str(fault), compared)
                return False
            if self.failed(compared) and not self.job.get("all_seeds"):
                break
        self.judge(compared, hashes)
        return "no" not in (self.verdict["correct"]["answer"], self.verdict["credible"]["answer"])

    def run_seed(self, executor, seed, hashes):
        folder = os.path.join(self.context.work, "seed_%d" % seed)
        inputs = self.reference.inputs_of(seed)
        try:
            rows = executor.run(self.program, inputs, folder)
        except execute.KernelFailed as fault:
            raise execute.KernelFailed("seed %d: %s" % (seed, fault))
        if seed != self.seeds[0]:           # those of the first are measured with
            executor.device.drop_inputs(inputs)
        hashes[seed] = [compiling.sha256(row["path"]) for row in rows]
        if self.job.get("output_folder") and seed != self.own_seed:
            measure.keep_outputs(self.context, rows, seed if self.reference.path else None)
        return rows

    def tell_seed(self, seed, matches):
        rel, most = verdict.worst(matches)
        if not self.reference.path:
            return
        passed = verdict.holds(matches, self.tolerance)
        if seed == self.own_seed and passed:
            self.events.log("seed %d, which the host chose, passes too (relative L2 %.3g)"
                            % (seed, rel))
            return
        self.events.emit("correctness", seed=seed, rel_l2=rel, max_abs=most, passed=passed)

    def failed(self, compared):
        return verdict.correct(compared, self.tolerance)["answer"] == "no"

    def fail_verify(self, text, compared):
        self.verdict["credible"] = verdict.credible(compared)
        self.verdict["correct"] = verdict.judgement("no", text)
        self.events.diagnostic(text, file=self.job.get("kernel_path") or "kernel.py",
                               **{"class": "run"})

    def judge(self, compared, hashes):
        """Sets correct and credible. The host's own seed counts only when it fails; it is not in
        the number of seeds."""
        shown = [row for row in compared if row[0] != self.own_seed]
        own = [row for row in compared if row[0] == self.own_seed]
        self.verdict["credible"] = verdict.credible(compared)
        if self.reference.path:
            self.verdict["correct"] = verdict.correct(shown, self.tolerance)
            if self.verdict["correct"]["answer"] == "yes" and own and self.failed(own):
                text = verdict.correct(own, self.tolerance)["reason"]
                self.verdict["correct"] = verdict.judgement(
                    "no", text + ", with a seed that the host chose: it is right for known "
                    "seeds only")
        else:
            self.verdict["correct"] = verdict.judgement("not asked", "there is no reference")
        stuck = self.unchanged(compared, hashes)
        if stuck is not None and self.verdict["credible"]["answer"] == "yes":
            self.verdict["credible"] = verdict.judgement(
                "no", "output %d is the same for every seed, but the reference's is not" % stuck)

    def unchanged(self, compared, hashes):
        """The number of an output that does not depend on the inputs; None when there is none."""
        if len(compared) < 2 or not self.failed(compared):
            return None
        rows = [hashes[seed] for seed, _ in compared]
        return next((i for i in range(len(rows[0])) if len({row[i] for row in rows}) == 1), None)

    # ------------------------------------------------------------------------------- the time

    def benchmark(self, device):
        programs = {"kernel": self.program}
        if self.incumbent:
            programs["incumbent"] = self.incumbent
        clock = bench.Bench(device, self.program.dialect)
        try:
            self.samples = clock.take(programs, self.reference.inputs_of(self.seeds[0]),
                                      bench.pairs_of(self.context, self.incumbent is not None))
        except execute.KernelFailed as fault:
            raise Failed("kernel", "it failed while it was measured: %s" % fault)
        if self.incumbent and clock.doubt:
            self.verdict["faster"] = verdict.judgement("inconclusive", clock.doubt)
        elif self.incumbent:
            self.verdict["faster"] = verdict.faster(self.samples.get("incumbent"),
                                                    self.samples.get("kernel"))
        traces = os.path.join(self.context.work, bench.TRACES)
        if self.job.get("artifact_folder") and clock.clock == "nrt" and os.path.exists(traces):
            measure.keep_file(self.context, "launches", traces, bench.TRACES)

    def latency_us(self):
        return verdict.middle(self.samples["kernel"])[1] if self.samples.get("kernel") else 0.0

    def capture_profile(self, device):
        """The NTFF; None when there is none, and the log says why."""
        try:
            return measure.capture(device, self.program, self.reference.inputs_of(self.seeds[0]))
        except (execute.NoWay, execute.KernelFailed, execute.Busy, Failed, hold.TimeUp) as problem:
            self.events.log("there is no profile: %s" % problem, "warning")
            return None

    def read_profile(self, device, ntff):
        """Reads the profile; outside the lock, because that needs no core."""
        found = measure.Measured()
        if ntff:
            try:
                found = measure.read(device, self.program, ntff, self.program.kernel)
            except (execute.NoWay, execute.KernelFailed, execute.Busy, Failed) as problem:
                self.events.log("the profile cannot be read: %s" % problem, "warning")
        self.measured = found
        for name, value, unit in found.metrics:
            self.events.metric(name, value, unit)
        if self.job.get("artifact_folder"):
            head = {"kernel": self.program.name, "generation": self.generation.alias,
                    "latency_us": self.latency_us(), "kernel_file": self.program.kernel.path}
            measure.write_artifacts(self.context, found, self.program, head)

    # ----------------------------------------------------------------------------- the result

    def result(self):
        program, about = self.program, self.about
        members = {"wall": self.context.level or "", "device_s": round(self.device_s, 3),
                   "verdict": self.verdict, "tolerance": self.tolerance, "device": self.device,
                   "kernel_name": program.name if program else about.get("name") or
                   self.job.get("kernel_name") or "",
                   "dialect": program.dialect if program else about.get("dialect") or "unknown",
                   "nki": self.context.environment.packages.get("nki") or "",
                   "lnc": self.lnc, "latency_us": self.latency_us(),
                   "floor_us": 0, "floor_bound": "", "bound": "",
                   "instructions": 0, "lines": [], "bounds": []}
        found = self.measured
        if found:
            members.update(bound=found.bound(), instructions=found.instructions())
            if found.profile:
                members.update(lines=found.profile.lines(self.latency_us()),
                               bounds=found.profile.bounds(self.latency_us()))
        return members

    def run(self):
        self.look()
        self.prepare()
        if self.job.get("predict_only"):
            self.predict()
        elif self.compile() and (self.wants_numbers() or self.wants_time()):
            self.on_device()


def packages_text(packages):
    return ", ".join("%s %s" % (name, packages[name]) for name in ("nki", "neuronx-cc")
                     if packages.get(name))


def evaluate(context):
    """The members of the result event for a job of the kind kernel. A failure keeps what was found
    before it."""
    evaluation = Evaluation(context)
    try:
        evaluation.run()
    except Failed as failure:
        if evaluation.program is None:
            raise
        return dict(evaluation.result(), failure={"kind": failure.kind, "text": str(failure)})
    except stage.Cancelled:
        raise
    return evaluation.result()
