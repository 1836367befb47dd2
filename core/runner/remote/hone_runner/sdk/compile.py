# SPDX-License-Identifier: Apache-2.0
"""Compiling a kernel to a NEFF, outside the core lock: one fresh folder and one process for each
try, the cache of NEFFs by content, and what a failure means. How a release compiles is in
worker.py."""

import collections
import hashlib
import json
import os
import shutil

from hone_runner import children, keep, stage
from hone_runner.context import Failed

from . import advice, arrays, compilerlog, grammar, helpers, predict, routes, shown

VERSION = 2                 # of what lies in the cache

# Errors of a kernel's process that are the environment's fault: its packages do not load.
BROKEN = ("No module named 'nki", "No module named 'neuronxcc", "No module named 'numpy", "libnrt",
          "libneuron", "cannot open shared object file", "No module named 'ml_dtypes")


class Refused(Exception):
    """The kernel does not compile. reason: one sentence; findings: grammar.Findings; some of them
    only give the compiler's exit status, which is less than the reason."""

    def __init__(self, reason, findings=(), about=None):
        super().__init__(reason)
        telling = [one for one in findings if grammar.exit_status(one.message) is None]
        self.reason, self.findings, self.about = reason, telling, about or {}


class NoSeam(Failed):
    """No seam exists, or all have another form: most likely the SDK's fault. A kernel that is known
    to be good shows whether it is this kernel's."""

    def __init__(self, text):
        super().__init__("environment", text)


class Kernel:
    """A kernel's source as a file of the job. file: its name in diagnostics. shown: whether the log
    has the compiler's messages about it."""

    shown = True
    helpers = ()

    def __init__(self, context, text, name, file, label="kernel"):
        self.text, self.name, self.file, self.label = text, name, file, label
        self.folder = os.path.join(context.work, label)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(self.folder, safe_name(file))
        with open(self.path, "w", encoding="utf-8") as out:
            out.write(text)

    def put_helpers(self, reference, settings=None):
        """Puts the files beside it that it imports: those that hone names in the settings, or,
        where it names none, what its text imports from the folder of the task's reference (a path,
        or None)."""
        folder, names = [(settings or {}).get(key) for key in ("kernel_folder", "kernel_files")]
        if folder and names:
            self.helpers = helpers.copy(names.splitlines(), folder, self.folder)
        elif reference:
            self.helpers = helpers.put(self.text, os.path.dirname(reference), self.folder,
                                       os.path.basename(reference))
        return self


def safe_name(file):
    name = os.path.basename(file) or "kernel.py"
    name = "".join(c if c.isalnum() or c in "_-." else "_" for c in name)
    return name if name.endswith(".py") and name[0] not in ".-" else "kernel.py"


class Program:
    """A compiled kernel. inputs: [{"name", "argument", "dtype", "shape"}] by the NEFF's names;
    outputs: [{"name", "dtype", "shape", "alias"}] or None if the compiler does not tell them."""

    def __init__(self, kernel, about, neff, from_cache):
        self.kernel, self.neff, self.from_cache = kernel, neff, from_cache
        self.name, self.dialect, self.seam = about["name"], about["dialect"], about["seam"]
        self.inputs, self.outputs = about["inputs"], about["outputs"]
        self.hints = None           # types and shapes of the reference's outputs, where it has some
        self.prediction = about.get("prediction")       # predict.read(), or None

    def row(self):
        return {"neff": self.neff, "inputs": self.inputs, "outputs": self.outputs}


class Compiler:
    """Compiles kernels of one job for one device. lnc: physical cores of the kernel's core."""

    def __init__(self, context, route, device, lnc):
        self.context, self.route, self.device, self.lnc = context, route, device, lnc
        self.ways = routes.Ways(route)
        self.flags = context.settings.get("compile_flags", "").split()
        self.attempts = 0
        self.said = set()           # about seams that are not there

    def key(self, kernel, meta):
        """Everything that a NEFF depends on."""
        host = self.context.environment
        parts = [VERSION, kernel.text, kernel.name, arrays.signature(meta), self.device, self.lnc,
                 self.flags, own_flags(), self.ways.compile(),
                 sorted(host.packages.items()), host.chosen and host.chosen.path,
                 host.release, self.route.name] + ([kernel.helpers] if kernel.helpers else [])
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]

    def compile(self, kernel, inputs, hints=None):
        """inputs: folder of a seed's inputs. Returns a Program; raises Refused or Failed."""
        meta = arrays.read_meta(inputs)
        entry = os.path.join(self.context.cache, "neffs", self.key(kernel, meta))
        found = self.cached(kernel, entry)
        if found:
            self.context.events.log("%s: compiled before, taken from the cache" % kernel.label)
            found.hints = hints
            return found
        crashed = None
        for attempt in range(2):
            try:
                about = self.attempt(kernel, inputs, hints)
                self.tell(kernel, about)
                program = self.keep_program(kernel, about, meta, entry)
                program.hints = hints
                return program
            except Crashed as crash:
                crashed = crash
                if not attempt:
                    self.context.events.log("the compiler crashed (%s); once more" % crash.reason,
                                            "warning")
        raise Refused("the compiler crashed twice: %s" % crashed.reason, crashed.findings,
                      crashed.about)

    def tell(self, kernel, about):
        for row in about.get("tried") or ():
            if row["seam"] not in self.said:
                self.said.add(row["seam"])
                self.context.events.log("compiling by %s is not possible here: %s"
                                        % (row["seam"], row["why"]))
        self.context.events.log("%s: compiled by %s" % (kernel.label, about["seam"]))

    def predict(self, kernel, inputs):
        """(the compiler's prediction or None, why not); see predict.py. Raises nothing except when
        cancelled: a prediction is only an opinion."""
        folder = os.path.join(self.context.work, kernel.label + "-predict")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        limits = self.limits()
        limits.wall_s = predict.STAGE_S
        answer, result = call_worker(self.context, Ask(
            "predict", kernel.label + "-predict", self.request(kernel, inputs, folder, None),
            limits, self.variables(folder), show=False))
        if answer is None:
            return None, result.text or "its process ended without an answer"
        return answer.get("prediction"), answer.get("why") or ""

    def request(self, kernel, inputs, folder, hints):
        return {"kernel": kernel.path, "name": kernel.name, "inputs": inputs, "folder": folder,
                "ways": self.ways.compile(), "proven": self.ways.proven, "target": self.device,
                "lnc": self.lnc, "flags": self.flags, "outputs": hints}

    def variables(self, folder):
        temporary, artifacts = [os.path.join(folder, name) for name in ("tmp", "call")]
        for path in (temporary, artifacts):
            os.makedirs(path, mode=0o700, exist_ok=True)
        return self.context.variables(dict(own_flags(), **{
            "TMPDIR": temporary, "NKI_ARTIFACTS_DIR": artifacts,
            "NEURON_PLATFORM_TARGET_OVERRIDE": self.device,
            "NKI_DEBUG_INFO": "True", "NEURON_FRAMEWORK_DEBUG": "1", "XLA_IR_DEBUG": "1",
            "XLA_HLO_DEBUG": "1", "NEURON_RT_VISIBLE_CORES": shown.NO_CORE,
            "NEURON_LOGICAL_NC_CONFIG": str(self.lnc),
            "NEURON_COMPILE_CACHE_URL": os.path.join(folder, "cache")}))

    def limits(self):
        return stage.Limits(self.context.number("compile_limit_s"),
                            memory_bytes=self.context.most_memory())

    def attempt(self, kernel, inputs, hints):
        """One try in one process: what the worker answered. Raises Refused, Crashed or Failed."""
        self.attempts += 1              # also of a canary that is compiled by one way and another
        folder = os.path.join(self.context.work, "%s-neff-%d" % (kernel.label, self.attempts))
        os.makedirs(folder, mode=0o700)
        request = dict(self.request(kernel, inputs, folder, hints), predict=kernel.shown)
        answer, result = call_worker(self.context, Ask(
            "compile", kernel.label + "-compile", request, self.limits(), self.variables(folder),
            show=kernel.shown))
        logs = compilerlog.keep(self.context, kernel, folder, (answer or {}).get("seam"))
        if answer and answer["ok"]:
            return answer
        if answer and answer["kind"] == "dialect":
            raise Refused(self.route.why.get(answer["dialect"], "its dialect is not known here"),
                          about=answer)
        raise self.explain(kernel, answer, result, logs)

    def explain(self, kernel, answer, result, logs=()):
        """The exception for a try that failed. logs: the compiler's own."""
        if answer and answer["kind"] in ("syntax", "unclear"):
            code = "syntax" if answer["kind"] == "syntax" else ""
            line = answer.get("line", 0)
            where = "line %d: " % line if line else ""
            return Refused(where + answer["message"], [grammar.Finding(
                "error", "trace", code, kernel.path, line, answer["message"])])
        files = [kernel.path]
        found, reader = shown.findings(result, files, logs)
        error = (answer or {}).get("error") or {}
        if error:
            traced = grammar.read_trace(error["text"], files)
            if traced and all(traced.message != one.message for one in found):
                found.append(traced)
        causes = grammar.causes(found)
        if kernel.shown and logs:
            compilerlog.tell(self.context, logs, any(
                grammar.exit_status(one.message) is None for one in causes))
        status = error.get("status")
        status = grammar.exit_status(error.get("text", "")) if status is None else status
        status = reader.exit_status if status is None else status
        if result.outcome == "timeout":
            last = " (the compiler was at %s)" % reader.stage if reader.stage else ""
            return Refused("it did not compile within %.0f s%s" % (result.seconds, last), causes,
                           answer)
        return self.judge(answer, result, error, causes, status)

    def judge(self, answer, result, error, causes, status):
        about = answer or {}
        text = shown.text_of(result) + error.get("text", "")
        if any(sign in error.get("message", "") for sign in BROKEN):
            return Failed("environment", "the environment %s does not load: %s; repair it, or "
                          "choose another by the setting environment"
                          % (self.context.environment.chosen.path, error["message"][:300]))
        if about.get("kind") == "seams":
            tried = "tried " + said_of(about.get("tried"))
            return Refused("no way of compiling here accepts it: " + tried, (), about) \
                if self.ways.proven else NoSeam("no way to compile is known for this SDK (%s): %s"
                                                % (self.context.environment.release, tried))
        memory = result.outcome == "memory" or any(one.category == "memory" for one in causes)
        if not memory and (result.outcome == "killed" or status in (137, -9)):
            return Failed("environment", result.text or "the compiler was killed from outside, by "
                          "the system when memory runs out, or by somebody")
        if memory:
            return Refused(advice.row_of("host-memory").text, causes, about)
        if is_crash(answer, causes, status):
            said = causes[0].message if causes else "its process ended without an answer"
            return Crashed(result.text or said.split("\n")[0], causes, about)
        if causes:
            first = causes[0]
            where = "line %d: " % first.line if first.line else ""
            said = first.message.split("\n")[0] or advice.sentence(first)
            return Refused(where + said, causes, about)
        known = advice.explain(text, result.status)
        if known and known.kind in ("environment", "hardware", "busy"):
            return Failed("environment", known.text)
        return Refused(result.text or error.get("message", "")[:300] or "the compiler left no NEFF",
                       causes, about)

    # ------------------------------------------------------------------------------ the cache

    def cached(self, kernel, entry):
        """A NEFF that was compiled from the same inputs before; failures are never cached."""
        try:
            with open(os.path.join(entry, "meta.json"), encoding="utf-8") as file:
                about = json.load(file)
            if about.get("sha256") != sha256(os.path.join(entry, "kernel.neff")):
                return None
        except (OSError, ValueError):
            return None
        keep.use(entry)
        return Program(kernel, about, os.path.join(entry, "kernel.neff"), True)

    def keep_program(self, kernel, answer, meta, entry):
        """Puts a new NEFF into the cache, whole or not at all; a full disk does no harm."""
        about = {"name": answer["name"], "dialect": answer["dialect"], "seam": answer["seam"],
                 "inputs": match_inputs(answer, meta), "outputs": usable_outputs(answer["outputs"]),
                 "prediction": answer.get("prediction")}
        about["sha256"] = sha256(answer["neff"])
        beside = "%s.%d.tmp" % (entry, os.getpid())
        try:
            shutil.rmtree(beside, ignore_errors=True)
            os.makedirs(beside, mode=0o700)
            shutil.copy2(answer["neff"], os.path.join(beside, "kernel.neff"))
            with open(os.path.join(beside, "meta.json"), "w", encoding="utf-8") as file:
                json.dump(about, file)
            shutil.rmtree(entry, ignore_errors=True)
            os.rename(beside, entry)
        except OSError:
            shutil.rmtree(beside, ignore_errors=True)
            return Program(kernel, about, answer["neff"], False)
        return Program(kernel, about, os.path.join(entry, "kernel.neff"), False)


def own_flags():
    """The flags of the person's login, which compilers append; a stage does not inherit them."""
    return {name: os.environ[name] for name in ("NEURON_CC_FLAGS",) if os.environ.get(name)}


def is_crash(answer, causes, status):
    """The compiler died, or ended without saying why (status 70 sometimes comes and goes)."""
    if any(one.category in ("user", "internal") for one in causes):
        return False
    if answer is None or answer["kind"] == "began" or \
            any(one.category == "crash" for one in causes):
        return True
    return status in (70, 134, 139, -6, -11) and all(
        grammar.exit_status(one.message) is not None for one in causes)


class Crashed(Refused):
    """The compiler's process died, or failed within itself: worth one more try."""


def said_of(tried):
    return "; ".join("%s (%s)" % (row["seam"], row["why"]) for row in tried or ()) or "nothing"


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def usable_outputs(outputs):
    """Output specs with types and shapes, or None if any is incomplete."""
    if outputs and all(row.get("dtype") and row.get("shape") is not None for row in outputs):
        return outputs
    return None


def match_inputs(answer, meta):
    """The NEFF's inputs, each with its argument: by the compiler's names, else by the parameters.
    Numbers and texts are compiled in and are not inputs."""
    names = answer["parameters"]
    rows = [{"name": names[i] if i < len(names) else "input_%d" % i, "argument": i,
             "dtype": row["dtype"], "shape": row["shape"]}
            for i, row in enumerate(meta["values"]) if row["kind"] == "array"]
    specs = answer["inputs"]
    if not specs:
        return rows
    by_name = {row["name"]: row for row in rows}
    matched = []
    for place, spec in enumerate(specs):
        row = by_name.get(spec["name"].split(".must_alias_input")[0])
        if row is None and len(specs) == len(rows):
            row = rows[place]           # the compiler's own names, in the order of the arguments
        if row is None:
            return rows
        matched.append(dict(row, name=spec["name"]))
    return matched


# A request to a child: its operation, the stage's name, the request, limits and variables; python
# and child if they are not the environment's and the worker; whether the log shows it.
Ask = collections.namedtuple("Ask", "operation name request limits env python child show",
                             defaults=(None, "worker", True))


def call_worker(context, ask):
    """Runs a child that answers a request by a file: (answer or None, stage.Result)."""
    asked = os.path.join(context.work, ask.name + ".request")
    said = os.path.join(context.work, ask.name + ".answer")
    with open(asked, "w", encoding="utf-8") as file:
        json.dump(ask.request, file)
    if os.path.exists(said):
        os.unlink(said)
    python = ask.python or context.environment.python
    argv = children.argv(python, ask.child, ask.operation, asked, said)
    result = context.stage(ask.name, argv, ask.limits, env=ask.env, show=ask.show,
                           grammar=shown.Grammar(ask.name),
                           wall="candidate" if ask.child == "worker" else None)
    try:
        with open(said, encoding="utf-8") as file:
            return json.load(file), result
    except (OSError, ValueError):
        return None, result
