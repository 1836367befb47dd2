# SPDX-License-Identifier: Apache-2.0
"""The evaluation of a kernel inside a model: a command of the user's runs the model end to end, and
patterns find in its output what counts. The score is that of the NKI MoE contest
(aws-neuron/nki-moe, README, "Evaluation and Scoring"):

    accuracy (0 or 1) * reference latency / latency * tokens per second / reference * (1 + NKI
    share)

Latency is the whole answer's where there is a pattern for it (as in the contest), else the time to
the first token. A sample is reference latency / score, so that it falls as the score rises."""

import contextlib
import hashlib
import json
import os
import re
import sys
import time

from hone_runner import folder as folders, keep, stage
from hone_runner.context import Failed
from hone_runner.sdk import shown, verdict

NAMES = ("latency_ms", "ttft_ms", "tokens_per_s", "accuracy", "nki_flops_share")
UNITS = {"latency_ms": "ms", "ttft_ms": "ms", "tokens_per_s": "1/s", "accuracy": "", "score": "",
         "nki_flops_share": ""}
SEARCHED = 1 << 20          # bytes at the end of each stream that patterns are applied to
MAX_RUNS, MAX_ARGV = 100, 1000
DEFAULT_LIMIT_S = 3600.0
WORDS = {"True": 1.0, "False": 0.0}     # what Python prints for a truth value
PLACES = re.compile(r"\{(kernel|kernel_folder|kernel_module|cache|job|python)\}")


class RunFailed(Exception):
    """The model's command failed. one: the Contender it ran with; result: the stage, None if it
    ended well but printed nothing that can be used."""

    def __init__(self, text, one=None, result=None):
        super().__init__(text)
        self.one, self.result = one, result


# ------------------------------------------------------------------------------------- the job


def usage(text, *values):
    return Failed("usage", "the model's description: " + text % values)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Spec:
    """The job's member `model`, checked (PROTOCOL.md)."""

    def __init__(self, found):
        if not isinstance(found, dict):
            raise usage("the job has none")
        self.found = found
        self.argv = self.words("argv", needed=True)
        self.prepare = self.words("prepare")
        self.cwd = found.get("cwd") or ""
        self.install = found.get("install") or ""
        env = found.get("env") or {}
        if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            raise usage("env must be an object of strings")
        self.env = env
        self.patterns = self.read_patterns(found.get("patterns"))
        self.reference = self.read_reference(found.get("reference") or {})
        self.runs = self.whole("runs", 5, 1, MAX_RUNS)
        self.warmup = self.whole("warmup", 0, 0, MAX_RUNS)
        self.cores = self.whole("cores", 1, 1, 1024)
        self.accuracy_min = self.number("accuracy_min", 1.0)
        self.limit_s = self.number("limit_s", DEFAULT_LIMIT_S)

    def words(self, name, needed=False):
        found = self.found.get(name) or []
        if not isinstance(found, list) or len(found) > MAX_ARGV or (needed and not found) \
                or not all(isinstance(word, str) and "\0" not in word for word in found):
            raise usage("%s must be a list of words%s", name,
                        ", with at least one" if needed else "")
        return found

    def number(self, name, default):
        value = self.found.get(name, default)
        if not is_number(value) or not 0 <= value < 1e12:
            raise usage("%s must be a number, 0 or more", name)
        return float(value)

    def whole(self, name, default, low, high):
        value = self.number(name, default)
        if value != int(value) or not low <= value <= high:
            raise usage("%s must be a whole number from %d to %d", name, low, high)
        return int(value)

    @staticmethod
    def read_patterns(found):
        """{name: (compiled pattern, scale)}."""
        if not isinstance(found, dict):
            raise usage("patterns must be an object")
        rows = {}
        for name, row in found.items():
            row = {"pattern": row} if isinstance(row, str) else row
            if name not in NAMES or not isinstance(row, dict):
                raise usage("the pattern %s is not known; there are %s", name, ", ".join(NAMES))
            scale = row.get("scale", 1.0)
            try:
                pattern = re.compile(row.get("pattern") or "", re.M)
            except (re.error, TypeError, RecursionError, OverflowError) as problem:
                raise usage("the pattern %s is not a regular expression: %s", name, problem)
            if pattern.groups != 1 or not is_number(scale):
                raise usage("the pattern %s needs exactly one group, and scale a number", name)
            rows[name] = (pattern, float(scale))
        if "latency_ms" not in rows and "ttft_ms" not in rows:
            raise usage("a pattern for latency_ms or ttft_ms is needed")
        return rows

    def read_reference(self, found):
        """The reference's values that the score needs."""
        if not isinstance(found, dict):
            raise usage("reference must be an object of numbers")
        for name in {self.latency} | ({"tokens_per_s"} & set(self.patterns)):
            value = found.get(name)
            if not is_number(value) or not 0 < value < 1e12:
                raise usage("reference needs %s, a number over 0", name)
        return found

    @property
    def latency(self):
        """The name of the latency that counts."""
        return "latency_ms" if "latency_ms" in self.patterns else "ttft_ms"


# ------------------------------------------------------------------------------------ the values


def value_of(text):
    """The number that a group matched; None when it is not a number."""
    if text in WORDS:
        return WORDS[text]
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if abs(value) < 1e18 else None      # neither NaN nor infinite


def parse(spec, texts):
    """{name: value} from the model's output: for each pattern the last match that is a number.
    Raises RunFailed with the name of the first pattern without a match."""
    values = {}
    for name, (pattern, scale) in spec.patterns.items():
        found = [value_of(match.group(1)) for text in texts for match in pattern.finditer(text)]
        found = [value for value in found if value is not None]
        if not found:
            raise RunFailed("the pattern %s (%s) finds no number in the model's output"
                            % (name, pattern.pattern))
        values[name] = found[-1] * scale
    for name in (spec.latency, "tokens_per_s"):
        if values.get(name, 1.0) <= 0:
            raise RunFailed("the pattern %s found %g, which is impossible" % (name, values[name]))
    share = values.get("nki_flops_share", 0.0)
    if not 0 <= share <= 1:
        raise RunFailed("the pattern nki_flops_share found %g; it is a share from 0 to 1 (scale "
                        "0.01 makes one of per cent)" % share)
    return values


def is_accurate(spec, values):
    return "accuracy" not in values or values["accuracy"] >= spec.accuracy_min


def score_of(spec, values):
    """The contest's score."""
    score = spec.reference[spec.latency] / values[spec.latency]
    if "tokens_per_s" in values:
        score *= values["tokens_per_s"] / spec.reference["tokens_per_s"]
    return score * (1 + values.get("nki_flops_share", 0.0)) if is_accurate(spec, values) else 0.0


def sample_us(spec, score):
    """The value reported as a sample: it falls as the score rises."""
    return 1000.0 * spec.reference[spec.latency] / score


# ------------------------------------------------------------------------------------- the runs


class Contender:
    """One of the two kernels, its place and its scores."""

    def __init__(self, context, spec, role, text):
        self.context, self.spec, self.role, self.text = context, spec, role, text
        self.path = self.place()
        self.cache = self.make_cache()
        self.values, self.samples = [], []

    def place(self):
        """Where the kernel's file is put: only inside the job's folder or .hone."""
        name = os.path.basename(self.context.job.get("kernel_path") or "") or "kernel.py"
        default = os.path.join(self.context.work, self.role, name)
        wanted = self.spec.install
        if not wanted:
            return default
        wanted = wanted.replace("{job}", self.context.folder.path)
        path = os.path.join(self.context.work, self.role, os.path.expanduser(wanted))
        whole = os.path.realpath(path)
        if not whole.startswith(os.path.realpath(self.context.folder.home) + os.sep):
            raise usage("install = %s lies outside of the job's folder and ~/.hone; give the model "
                        "the kernel by {kernel}, {kernel_folder} or PYTHONPATH", self.spec.install)
        return whole

    def make_cache(self):
        """A permanent folder for what is compiled from exactly this kernel and command."""
        parts = [self.text, self.spec.argv, self.spec.prepare, self.spec.env,
                 self.context.environment.packages]
        key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
        path = os.path.join(self.context.cache, "models", key)
        os.makedirs(path, mode=0o700, exist_ok=True)
        keep.use(path)
        return path

    def put(self):
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        folders.write_whole(self.path, self.text)

    def fill(self, text):
        """A text with its placeholders replaced; other braces stay as they are."""
        values = {"kernel": self.path, "kernel_folder": os.path.dirname(self.path),
                  "kernel_module": os.path.splitext(os.path.basename(self.path))[0],
                  "cache": self.cache, "job": self.context.folder.path,
                  "python": self.context.environment.python or sys.executable}
        return PLACES.sub(lambda found: values[found.group(1)], text)

    def run(self, name, argv, held=None):
        """Runs one of the model's commands with this kernel in place. Returns a stage.Result that
        is ok."""
        self.put()
        context = self.context
        argv = [self.fill(word) for word in argv]
        argv[0] = os.path.expanduser(argv[0])
        env = stage.proxies()           # a model may fetch its weights
        env.update({key: self.fill(value) for key, value in self.spec.env.items()})
        env.setdefault("NEURON_COMPILE_CACHE_URL", os.path.join(self.cache, "neuron-compile-cache"))
        path = [os.path.dirname(self.path), env.get("PYTHONPATH", "")]
        env["PYTHONPATH"] = os.pathsep.join(part for part in path if part)
        cwd = os.path.expanduser(self.fill(self.spec.cwd)) or context.work
        if not os.path.isdir(cwd):
            raise usage("cwd = %s is not a folder on this host", cwd)
        limits = stage.Limits(self.spec.limit_s, nice=0 if held else 5).on(held)
        result = context.stage("%s-%s" % (self.role, name), argv, limits, cwd=cwd,
                               env=context.variables(env, held), grammar=shown.Grammar("the model"))
        if result.outcome == "missing":
            raise usage("argv: %s", result.text)
        if not result.ok:
            raise RunFailed("%s: %s" % (result.text, last_words(result)), self, result)
        return result

    def measure(self, held, counts=True):
        """One run of the model; its values are stored if the run counts."""
        result = held.piece(lambda: self.run("run", self.spec.argv, held))
        try:
            values = parse(self.spec, [text_of(result.out, result.out_tail),
                                       text_of(result.err, result.err_tail)])
        except RunFailed as problem:
            show_tail(self.context, result)
            raise RunFailed(str(problem), self) from None
        if not counts:
            return
        self.values.append(values)
        score = score_of(self.spec, values)
        self.context.events.log("%s: %s; score %.4g" % (self.role, ", ".join(
            "%s %.6g" % row for row in sorted(values.items())), score))
        if score > 0 and not self.context.job.get("no_time"):
            self.samples.append(sample_us(self.spec, score))
            self.context.events.emit("sample", us=self.samples[-1], modelled=False,
                                     of="kernel" if self.role == "kernel" else "incumbent")

    def middle(self, name):
        return verdict.middle([values[name] for values in self.values])[1]

    def accuracy(self):
        return min(values["accuracy"] for values in self.values)


def text_of(path, tail):
    """The end of what a stream said."""
    data = tail
    if path:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - SEARCHED, 0))
            data = file.read(SEARCHED)
    return data.decode("utf-8", "replace")


def last_words(result):
    lines = result.tail(3)
    return lines[-1].strip()[:400] if lines else "it said nothing"


def show_tail(context, result):
    for line in result.tail(20):
        context.events.log(line, "error")


# ------------------------------------------------------------------------------- the evaluation


def evaluate(context):
    """The members of the result event."""
    spec = Spec(context.job.get("model"))
    text = context.job.get("kernel_text")
    if not isinstance(text, str):
        raise Failed("usage", "a job of the kind model needs kernel_text")
    with context.phase("environment"):
        kernel = Contender(context, spec, "kernel", text)
        before = context.job.get("incumbent_text")
        incumbent = None
        if isinstance(before, str):
            incumbent = Contender(context, spec, "incumbent", before)
    clock = DeviceClock()
    try:
        result = run_all(context, spec, kernel, incumbent, clock)
    except RunFailed as problem:
        result = judge_failure(context, kernel, incumbent, problem)
    return dict(result, kernel_name=context.job.get("kernel_name") or "", dialect="unknown",
                nki=context.environment.packages.get("nki") or "",
                device=context.job.get("device") or "trn2", device_s=round(clock.seconds, 3))


class DeviceClock:
    """How long cores were held."""

    def __init__(self):
        self.seconds = 0.0

    @contextlib.contextmanager
    def running(self, held):
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - began - held.waited


def run_all(context, spec, kernel, incumbent, clock):
    """Everything the job asks for, judged: members of the result."""
    asked = context.job
    both = [one for one in (incumbent, kernel) if one]
    if asked.get("check_only") or asked.get("no_time"""):
        both, spec.runs, spec.warmup = [kernel], 1, 0       # one run shows whether it is right
    if spec.prepare:
        with context.phase("compile"):
            for one in both:
                one.run("prepare", spec.prepare)
    if asked.get("check_only"):
        answer = verdict.judgement("yes") if spec.prepare else verdict.NOT_ASKED
        return {"verdict": dict(verdict.blank(), compiles=answer)}
    with context.cores(spec.cores) as held, clock.running(held):
        measure(context, spec, both, held)
    return judge(context, spec, kernel, incumbent)


def measure(context, spec, both, held):
    """All runs, the two kernels in turn, the order reversed each time."""
    with context.phase("verify" if context.job.get("no_time") else "benchmark"):
        for count in range(spec.warmup + spec.runs):
            for one in both if count % 2 == 0 else both[::-1]:
                one.measure(held, counts=count >= spec.warmup)
                if one.role == "kernel" and one.values and not is_accurate(spec, one.values[-1]):
                    return                      # a wrong kernel need not be timed


def judge_failure(context, kernel, incumbent, problem):
    """The result when a run failed. The kernel is at fault if the incumbent did not fail and "
      "either the command itself says so or the same command gave usable output before."""
    whose = problem.one
    if whose is not kernel or (problem.result is None and not (incumbent and incumbent.values)):
        raise Failed("environment", "the model with the %s: %s" % (whose.role, problem))
    if problem.result is not None:
        for one in shown.findings(problem.result, (kernel.path,))[0][:50]:
            context.events.diagnostic(one.message, one.kind, code=one.code, file=one.file,
                                      line=one.line)
    return {"verdict": dict(verdict.blank(), compiles=verdict.judgement("no", str(problem)))}


def judge(context, spec, kernel, incumbent):
    answers = dict(verdict.blank(), compiles=verdict.judgement("yes"))
    if "accuracy" in spec.patterns:
        fine = all(is_accurate(spec, values) for values in kernel.values)
        answers["correct"] = verdict.judgement(
            "yes" if fine else "no", "accuracy %.6g, needed is %.6g"
            % (kernel.accuracy(), spec.accuracy_min))
    else:
        answers["correct"] = verdict.judgement("not asked", "the model has no pattern for accuracy")
    emit_metrics(context, spec, kernel, "")
    latency = 0.0
    if kernel.samples and answers["correct"]["answer"] != "no":
        latency = verdict.middle(kernel.samples)[1]
        if incumbent and incumbent.samples:
            emit_metrics(context, spec, incumbent, "incumbent_")
            answers["faster"] = verdict.faster(incumbent.samples, kernel.samples)
    return {"verdict": answers, "latency_us": latency}


def emit_metrics(context, spec, one, prefix):
    for name in NAMES:
        if name in spec.patterns and one.values:
            context.events.metric(prefix + name, one.middle(name), UNITS[name])
    if one.values:
        scores = [score_of(spec, values) for values in one.values]
        context.events.metric(prefix + "score", verdict.middle(scores)[1], UNITS["score"])
