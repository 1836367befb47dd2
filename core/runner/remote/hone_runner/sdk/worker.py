# SPDX-License-Identifier: Apache-2.0
"""The one part of the runner that imports an SDK. It runs in the Python of the environment, one
process for one kernel: compiles it by the first seam (seams.py) that this release has, or runs it
in process where a release has no other way. Requests and answers are files; what the SDK prints is
the stage's output."""

import json
import os
import sys

from . import arrays, blame, predict, source, watch
from .call import Call, Mismatch
from .seams import SEAMS, legacy_flags, legacy_launch
from .told import find_neff


# -------------------------------------------------------------------------------- the requests


def prepare(request):
    """(call, None), or (None, answer) for a kernel that cannot even be read."""
    try:
        call = Call(request)
    except SyntaxError as problem:
        return None, {"ok": False, "kind": "syntax", "line": problem.lineno or 0,
                      "column": problem.offset or 0, "message": problem.msg}
    except source.Unclear as problem:
        return None, {"ok": False, "kind": "unclear", "message": str(problem)}
    about = {"name": call.node.name, "dialect": call.dialect,
             "parameters": source.parameters(call.node)}
    if not request["ways"].get(call.dialect):
        return None, dict(about, ok=False, kind="dialect")
    try:
        call.load()
        call.bound()
    except Mismatch as problem:
        return None, dict(about, ok=False, kind="unclear", message=str(problem))
    except BaseException as problem:                # a kernel's file may even exit
        return None, dict(about, ok=False, kind="kernel", error=blame.error_of(problem))
    return call, about


class Attempt:
    """One request to compile: what was tried, and the answer so far, which survives if the process
    dies within a seam."""""

    def __init__(self, request, about):
        self.request, self.about, self.tried = request, about, []
        self.last = None                # the exception of the last missing seam

    def begin(self, name):
        """Makes the folder of a seam and the working folder."""
        folder = os.path.join(self.request["folder"], name)
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        write_answer(self.request.get("answer"), self.failed("began", seam=name))
        watch.mark(name)
        return folder

    def passed_over(self, name, why):
        self.tried.append({"seam": name, "why": why})

    def failed(self, kind, **more):
        return dict(self.about, ok=False, kind=kind, tried=self.tried, **more)

    def done(self, name, neff, found):
        return dict(self.about, ok=True, seam=name, neff=neff, tried=self.tried,
                    inputs=found.get("inputs"), outputs=found.get("outputs"))


def do_compile(request):
    call, about = prepare(request)
    if call is None:
        return about
    attempt = Attempt(request, about)
    for name in request["ways"][call.dialect]:
        folder = attempt.begin(name)
        try:
            with watch.Watch(folder, os.path.join(request["folder"], watch.KEPT, name)):
                found = SEAMS[name].compile(call, folder)
        except Exception as problem:
            if not blame.is_missing(problem, call.path, name == request.get("proven")):
                return attempt.failed("kernel", error=blame.error_of(problem), seam=name)
            attempt.last = problem
            attempt.passed_over(name, blame.why_missing(problem))
            continue
        neff = find_neff(folder)
        if neff:
            return attempt.done(name, neff, found)
        attempt.passed_over(name, "it left no NEFF")
    return attempt.failed("seams", error=attempt.last and blame.error_of(attempt.last))


def store_results(results, folder, specs):
    several = results if isinstance(results, (tuple, list)) else [results]
    os.makedirs(folder, exist_ok=True)
    rows = []
    for i, one in enumerate(several):
        spec = specs[i] if specs and i < len(specs) else None
        rows.append(arrays.store(one, os.path.join(folder, "output_%d.bin" % i), spec))
    return rows


def do_call(request):
    """Runs the kernel in this process: the launch with numpy arrays, or legacy baremetal."""
    call, about = prepare(request)
    if call is None:
        return about
    os.makedirs(request["folder"], exist_ok=True)
    os.chdir(request["folder"])
    try:
        if request["how"] == "baremetal":
            options = dict(legacy_flags(call), save_neff_name="file.neff")
            results = legacy_launch(call, "baremetal", options)[1]
        else:
            results = call.launch(call.with_lnc())
        return dict(about, ok=True, outputs=store_results(results, request["results"], None))
    except Exception as problem:
        return dict(about, ok=False, kind="run", error=blame.error_of(problem))


def do_benchmark(request):
    """The legacy benchmark: the median of one run, in microseconds."""
    call, about = prepare(request)
    if call is None:
        return about
    os.makedirs(request["folder"], exist_ok=True)
    os.chdir(request["folder"])
    try:
        options = dict(legacy_flags(call), warmup=request["warmup"], iters=request["iterations"],
                       save_neff_name="file.neff")
        bench, _ = legacy_launch(call, "benchmark", options)
        return dict(about, ok=True, us=percentile(getattr(bench, "benchmark_result", None)))
    except Exception as problem:
        return dict(about, ok=False, kind="run", error=blame.error_of(problem))


def percentile(result):
    """p50 of a benchmark_result; None when it has none (its table on stdout may)."""
    try:
        return float(result.nc_latency.get_latency_percentile(50))
    except (AttributeError, TypeError, ValueError):
        pass
    try:
        return float(result.full_results["nc_latency"]["50"])
    except (AttributeError, TypeError, KeyError, ValueError):
        return None


OPERATIONS = {"compile": do_compile, "call": do_call, "benchmark": do_benchmark,
              "predict": predict.answer}


def write_answer(path, answer):
    """Writes an answer, whole or not at all; without a path nobody needs it yet."""
    if not path:
        return
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(path + ".tmp", path)


def main(arguments):
    """OPERATION REQUEST ANSWER, the last two being files of JSON."""
    operation, request_path, answer_path = arguments
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    request["answer"] = answer_path
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    answer = OPERATIONS[operation](request)
    write_answer(answer_path, answer)
    sys.stdout.flush()
    sys.stderr.flush()
    if request.get("predict") and answer.get("ok"):
        write_answer(answer_path, predict.add(request, answer))
    os._exit(0)             # an SDK's exit handlers have been seen to hang or abort
