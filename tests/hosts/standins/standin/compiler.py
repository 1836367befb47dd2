# SPDX-License-Identifier: Apache-2.0
"""From a Python function and its arguments to a NEFF: traces by asking hone, then runs the
stand-in of neuronx-cc as a process of its own, as the SDK does."""

import contextlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from standin import host, model, raising

FIRST_IMPORT_S = 0.05       # stands for the first compilation's 8 s


class NCCError(Exception):
    """nki.compiler._errors.NCCError: what the exception of a captured neuronx-cc is wrapped in."""


class Job:
    """What is compiled: the function, its arguments by name, and the target. told: what else the
    compiler was told."""

    def __init__(self, function, arguments, lnc=1, target=None, legacy=False, names=None,
                 told=None, by=""):
        self.function = function
        self.file = os.path.abspath(inspect.getsourcefile(function)
                                    or function.__code__.co_filename)
        with open(self.file, encoding="utf-8", errors="surrogateescape") as file:
            self.source = file.read()
        target = target or os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or "trn2"
        if target not in model.GENERATIONS:
            raise ValueError("Unsupported platform target: %s" % target)
        arrays, scalars = {}, {}
        for name, value in arguments.items():
            if isinstance(value, np.ndarray):
                arrays[name] = value
            elif value is not None:
                scalars[name] = value
        self.info = {
            "kernel": function.__name__, "source_file": self.file, "scalars": scalars, "lnc": lnc,
            "target": target, "generation": model.GENERATIONS[target], "legacy": legacy,
            "outputs": names, "told": {name: str(value) for name, value in (told or {}).items()},
            "zeros": legacy and host.LINE["legacy"] == "zeros" or
                     by == host.switch("lying_seam", self.source),
            "inputs": [{"name": name, "dtype": model.dtype_of(array), "shape": list(array.shape)}
                       for name, array in arrays.items()]}

    def trace(self):
        """The front end. For the first error it raises what the release raises."""
        if host.count("compilations", str(os.getpid())) == 0:
            time.sleep(FIRST_IMPORT_S)
        dialect_rules(self)
        answer, timeline = model.compile_kernel(self.source, self.info)
        errors = [row for row in answer["diagnostics"] if row["severity"] == "error"]
        fault = next((row for row in errors if is_traced(row)), None)
        if fault:
            raising.trace_error(fault, self.file, self.info["kernel"], self.info["legacy"])
        self.info.update(latency_us=answer["latency_us"], instructions=answer["instructions"],
                         metrics=answer["metrics"], dialect=answer["dialect"],
                         debug=os.environ.get("NKI_DEBUG_INFO", "").lower() in ("true", "1"))
        return {"info": self.info, "source": self.source, "timeline": timeline,
                "fault": errors[0]["message"] if errors else None}

    def build(self, folder, neff):
        """Traces and compiles into `folder`; the NEFF's path."""
        return backend(self.trace(), folder, neff)


def is_traced(row):
    """Whether the front end finds an error. The back end finds where tiles lie, and NCC_..."""
    of_back_end = ("NCC_", "hone-capacity", "hone-overlap")
    return bool(row["code"]) and not row["code"].startswith(of_back_end) and row["own"]


def dialect_rules(job):
    """What a release refuses before it looks at anything else."""
    if job.info["kernel"] == host.switch("refuses_function"):
        raising.trace_error({"code": "TypeError", "line": 1, "message": "this release lacks it"},
                            job.file, job.info["kernel"], job.info["legacy"])
    uses_old = "neuronxcc" in job.source and "import neuronxcc" in job.source
    nki = host.LINE["nki"]
    if not job.info["legacy"] and uses_old and nki and nki >= "0.4":
        line = next((i for i, text in enumerate(job.source.splitlines(), 1)
                     if "neuronxcc" in text), 1)
        raising.trace_error({"code": "SyntaxError", "line": line, "message":
                             "beta-1 API (neuronxcc.nki) used in kernel: APIs from neuronxcc may "
                             "not be "
                             "used in Beta-2 kernels"}, job.file, job.info["kernel"], False)


def is_captured(info):
    """Whether the release hides what neuronx-cc prints. The legacy namespace shows it."""
    return not info["legacy"] and (host.LINE["nki"] or "") >= "0.3"


def backend(traced, folder, neff):
    """neuronx-cc on what was traced, in a work folder. Raises subprocess.CalledProcessError; where
    the output is captured, an NCCError from it, and the text is in log-neuron-cc.txt alone."""
    info = traced["info"]
    host.note("compile", kernel=info["kernel"], neff=neff, target=info["target"], lnc=info["lnc"],
              folder=folder, told=info["told"], flags=os.environ.get("NEURON_CC_FLAGS", ""))
    os.makedirs(folder, exist_ok=True)
    if not is_captured(info):
        return run(traced, folder, neff)
    try:
        return run(traced, folder, neff)
    except subprocess.CalledProcessError as problem:
        raise NCCError("neuronx-cc failed with exit code %d, see %s for details"
                       % (problem.returncode, os.path.join(folder, "log-neuron-cc.txt"))) \
            from problem


def run(traced, folder, neff):
    captured = is_captured(traced["info"])
    if os.path.exists(os.path.join(folder, "sg00")):
        message = "[ERROR] [NCC_IDRV077] artifacts already exist in %s" % folder
        if not captured:
            print(message)
        raise subprocess.CalledProcessError(70, ["neuronx-cc"], message + "\n", "")
    bir = os.path.join(folder, "bir.json")
    with open(bir, "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(traced, file)
    command = [os.path.join(os.path.dirname(sys.executable), "neuronx-cc"), "compile",
               "--framework",
               "XLA", bir, "--target", traced["info"]["target"], "--lnc=%d" % traced["info"]["lnc"],
               "--output=%s" % neff, "--verbose=info"]
    if captured:
        command.append("--logfile=log-neuron-cc.txt")
    if not os.access(command[0], os.X_OK):
        command[0] = "neuronx-cc"
    sys.stdout.flush()
    subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, check=True,
                   capture_output=captured)
    return neff


def work_folder():
    """A folder for a compilation of the legacy namespace, which leaves it there."""
    return tempfile.mkdtemp(prefix="neuroncc_compile_workdir_")


@contextlib.contextmanager
def work(artifacts_dir):
    """The work folder of a compilation: the one that is named, otherwise one that is deleted
    afterwards."""
    if artifacts_dir:
        os.makedirs(artifacts_dir, exist_ok=True)
        yield artifacts_dir
        return
    folder = tempfile.mkdtemp(prefix="nki_")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
