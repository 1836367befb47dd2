# SPDX-License-Identifier: Apache-2.0
"""Runs the reference on the host: inputs and expected outputs of each seed are made in a separate
process before the kernel's and cached by content hash. The comparison is hone's harness
(core/task/harness.py), as on the embedded device. `main` runs in that process."""

import glob
import hashlib
import json
import os
import re
import sys

from hone_runner import children, keep, stage
from hone_runner.context import Failed

from . import arrays

MAX_SOURCE = 32 << 20
TASK = re.compile(r"[0-9a-f]{32}$")   # a task's folder
# Whose fault it is that the harness could not answer a request.
KINDS = {"value": "usage", "raise": "usage", "memory": "environment", "disk": "environment",
         "internal": "environment"}


class KernelFault(Exception):
    """The comparison failed because of what the kernel returned."""


def task_of(path):
    """The folder that hone sent the reference's task in, which is named by its content; else
    None."""
    folder = os.path.dirname(path)
    while os.path.basename(os.path.dirname(folder)) != "tasks":
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    return folder if TASK.match(os.path.basename(folder)) else None


def content_key(path, extra):
    """Hash of the reference and of the Python files beside it; of a task that hone sent: its name,
    which is a hash of all its files."""
    digest = hashlib.sha256(repr(extra).encode())
    folder, task = os.path.dirname(path), task_of(path)
    names = sorted(glob.glob(os.path.join(glob.escape(folder), "*.py")))
    for name in [path] + names[:200]:
        digest.update(os.path.basename(name).encode() + b"\0")
        with open(name, "rb") as file:
            digest.update(file.read(MAX_SOURCE))
    if task:
        digest.update(os.path.relpath(path, os.path.dirname(task)).encode())
    return digest.hexdigest()[:40]


def find(context, path):
    """The reference's file: absolute, or relative to the job, to .hone or to its parent."""
    path = os.path.expanduser(path)
    home = context.folder.home
    for base in ("", context.folder.path, home, os.path.dirname(home)):
        if os.path.isfile(os.path.join(base, path)):
            return os.path.abspath(os.path.join(base, path))
    raise Failed("usage", "the reference %s is not on the host" % path)


class Reference:
    """One reference (or, without one, the job's inputs) over the seeds of an evaluation."""

    def __init__(self, context, path=None, inputs=None, scope="inputs"):
        self.context, self.scope = context, scope
        self.path = path and find(context, path)
        context.references += [self.path] if self.path else []
        self.inputs = inputs
        self.python = context.environment.python_with_numpy()
        key = content_key(self.path, self.python) if self.path else \
            hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:40]
        self.folder = os.path.join(context.cache, "inputs", key)
        self.own = set()            # seeds whose arrays are not kept

    def seed_folder(self, seed):
        base = os.path.join(self.context.work, "inputs") if seed in self.own else self.folder
        return os.path.join(base, str(seed))

    def inputs_of(self, seed):
        return os.path.join(self.seed_folder(seed), "inputs")

    def meta(self, seed):
        return arrays.read_meta(self.inputs_of(seed))

    def tolerance(self, seed):
        return (self.meta(seed) or {}).get("tolerance") or 0.0

    def shapes(self, seed):
        """The names of the task's shapes; none where it has one without a name."""
        return [name for name, _ in (self.meta(seed) or {}).get("shapes") or []]

    def output_hints(self, seed):
        """Types and shapes of the reference's outputs; None without a reference."""
        meta = arrays.read_meta(os.path.join(self.seed_folder(seed), "outputs"))
        return meta and [{"dtype": row["dtype"], "shape": row["shape"]} for row in meta["values"]]

    def prepare(self, seeds, own=(), forward=True):
        """Makes what is missing, in one process; own: seeds chosen by the host, which are not
        cached."""
        self.own |= set(own)
        requests = []
        for seed in seeds:
            folder = self.seed_folder(seed)
            os.makedirs(folder, mode=0o700, exist_ok=True)
            for op, name in (("inputs", "inputs"), ("forward", "outputs")):
                if arrays.read_meta(os.path.join(folder, name)) is None and \
                        (op == "inputs" or (forward and self.path)):
                    requests.append({"id": len(requests), "op": op, "seed": seed, "folder": folder})
        if requests:
            for request, answer in zip(requests, self.serve("inputs", requests)):
                self.settle(request, answer)
        if os.path.isdir(self.folder):
            keep.use(self.folder)

    def compare(self, runs):
        """runs: [(seed, rows of outputs)]; yields (seed, matches). Raises KernelFault for outputs
        that cannot be compared, with `seed`."""
        requests = [{"id": i, "op": "compare" if self.path else "look", "seed": seed,
                     "folder": self.seed_folder(seed), "outputs": rows}
                    for i, (seed, rows) in enumerate(runs)]
        for request, answer in zip(requests, self.serve("compare", requests)):
            self.settle(request, answer)
            yield request["seed"], answer["matches"]

    @staticmethod
    def settle(request, answer):
        if answer["ok"]:
            return
        if answer["kind"] == "kernel":
            fault = KernelFault("seed %d: %s" % (request["seed"], answer["text"]))
            fault.seed = request["seed"]
            raise fault
        raise Failed(KINDS.get(answer["kind"], "environment"), answer["text"])

    def serve(self, name, requests):
        """The answers to requests, from one process that serves them in order."""
        asked = os.path.join(self.context.work, "%s.json" % name)
        with open(asked, "w", encoding="utf-8") as file:
            json.dump({"path": self.path, "inputs": self.inputs, "requests": requests}, file)
        said = asked + ".answers"
        if os.path.exists(said):
            os.unlink(said)
        limit = self.context.number("reference_limit_s", 120.0 * len(requests) + 60)
        result = self.context.stage(name, children.argv(self.python, "reference", asked, said),
                                    stage.Limits(limit), wall="reference")
        answers = read_answers(said)
        if len(answers) < len(requests) and not (answers and not answers[-1]["ok"]):
            what = self.path and os.path.basename(self.path) or "the inputs"
            kind = "usage" if result.outcome == "timeout" else "environment"
            why = result.text or "its process ended without an answer"
            raise Failed(kind, "%s: %s" % (what, why))
        return answers


def read_answers(path):
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except OSError:
        return []


# ------------------------------------------------------------------------- in a process of its own


def generate(harness, inputs, request):
    """The job's own inputs: the content of files, numbers, and normal numbers of the seed."""
    import numpy as np
    random = np.random.default_rng(request["seed"])
    values = []
    for row in inputs:
        if "value" in row:
            values.append((int(row["value"]) if row.get("is_whole") else float(row["value"]), None))
            continue
        name = row.get("dtype") or "float32"
        if row.get("file"):
            values.append(from_file(harness, np, row))
        elif name.startswith(("int", "uint")):
            values.append((random.integers(0, 8, row["shape"]).astype(name), name))
        elif name in harness.OWN_DTYPES:
            values.append((harness.encode(random.standard_normal(row["shape"]), name), name))
        else:
            values.append((random.standard_normal(row["shape"]).astype(name), name))
    harness.write_arrays(request["folder"], "inputs", values,
                         {"tolerance": 0, "depends": [], "elapsed": 0})


def from_file(harness, np, row):
    if row["file"].endswith(".npy"):
        array = np.load(row["file"], allow_pickle=False)
    else:
        array = np.fromfile(row["file"], harness.raw_type(row["dtype"])).reshape(row["shape"])
    name = row.get("dtype") or array.dtype.name
    return array.view(harness.raw_type(name)) if array.dtype.name != name else array, name


def look(harness, request):
    """The checks of outputs that need no reference."""
    import numpy as np
    raws, values = harness.kernel_results(request)
    inputs = harness.read_arrays(request["folder"], "inputs")
    rows = []
    for raw, value in zip(raws, values):
        numbers = np.asarray(value)
        finite = bool(np.isfinite(numbers).all()) if numbers.dtype.kind == "f" else True
        rows.append({"rel_l2": 0.0, "max_abs": 0.0, "finite": finite, "zero": not numbers.any(),
                     "reference_zero": False,
                     "is_input": bool(inputs) and any(harness.same_bytes(raw, a)
                                                      for a, _ in inputs[0])})
    return {"matches": rows}


def main(arguments):
    """REQUESTS ANSWERS: JSON files; one line for each answer, in order, up to the first failure."""
    import harness
    with open(arguments[0], encoding="utf-8""") as file:
        asked = json.load(file)
    os.dup2(2, 1)                       # what the reference prints is not an answer
    with open(arguments[1], "w", encoding="utf-8") as answers:
        harness.answer = lambda **fields: answers.write(json.dumps(fields, allow_nan=False) + "\n")
        harness.OPERATIONS["look"] = lambda reference, request: look(harness, request)
        if not asked["path"]:
            harness.OPERATIONS["inputs"] = \
                lambda reference, request: generate(harness, asked["inputs"], request)
        reference = harness.Reference(asked["path"] or "inputs")
        for request in asked["requests"]:
            harness.serve(reference, request)
            answers.flush()
    sys.stdout.flush()
    return 0
