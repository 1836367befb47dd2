# SPDX-License-Identifier: Apache-2.0
"""hone's device model, asked by its command line: the compiler's front end, limits and latency of a
kernel, and its execution on given arrays. All numbers of the stand-ins come from here."""

import hashlib
import io
import json
import os
import subprocess
import tempfile

import numpy as np

from standin import host

# Types that numpy has no name for: how many bytes, what an array of their codes is.
CODES = {"bfloat16": np.uint16, "float8_e4m3": np.uint8, "float8_e4m3fn": np.uint8,
         "float8_e5m2": np.uint8, "float8_e8m0fnu": np.uint8, "tfloat32": np.float32,
         "float8_e4m3fn_x4": np.uint32, "float8_e5m2_x4": np.uint32, "float4_e2m1fn_x4": np.uint16,
         "bool_": np.bool_}
GENERATIONS = {"trn1": "trn1", "inf2": "trn1", "gen2": "trn1", "trn2": "trn2", "gen3": "trn2",
               "trn3": "trn3", "gen4": "trn3"}
KNOWN = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7")  # releases of nki that hone knows


class Unusable(Exception):
    """hone could not do what it was asked to. That is a fault of the stand-in, never of a
    kernel."""


def dtype_of(array):
    """The NKI name of an array's type. Types of ml_dtypes' stand-in have it in their field."""
    names = array.dtype.names
    if names:
        return names[0]
    return "bool_" if array.dtype == np.bool_ else array.dtype.name


def raw_dtype(name):
    return np.dtype(CODES.get(name, name))


def run(arguments, limit_s=300):
    """hone's JSON answer."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME")}
    environment["XDG_CACHE_HOME"] = host.state("cache")
    environment["HONE_DEFAULTS_NKI_PYTHON"] = "none"        # otherwise it asks this very stand-in
    # The search for leaks is a tracer, which the wall around this forbids.
    environment["ASAN_OPTIONS"] = "detect_leaks=0:quarantine_size_mb=16:handle_sigill=1"
    done = subprocess.run([host.SETUP["hone"], "sim", "--json"] + arguments, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=limit_s)
    try:
        return json.loads(done.stdout.decode("utf-8", "replace"))
    except ValueError:
        raise Unusable("hone sim %s: status %d: %s" % (
            " ".join(arguments), done.returncode, done.stderr.decode("utf-8", "replace"))) from None


# -------------------------------------------------------------------------------------- memory
# What was asked before is not computed again: many lines and seeds ask the same of the same kernel.


def key_of(source, info, arrays):
    """A name for a question: the kernel's text, what it is called with, and the numbers it is
    given."""
    found = hashlib.sha256(source.encode("utf-8", "surrogateescape"))
    asked = [info[name] for name in ("kernel", "generation", "scalars", "inputs")]
    asked.append(host.switch("constants"))
    found.update(json.dumps(asked, default=float).encode())
    for name in sorted(arrays):
        found.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()[:32]


def remembered(name):
    return os.path.join(host.SETUP["memory"] or host.state("memory", ""), name)


def remember(name, data):
    """Written beside and renamed, because several ask at once."""
    path = remembered(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = "%s.%d" % (path, os.getpid())
    with open(beside, "wb") as file:
        file.write(data)
    os.rename(beside, path)


# ----------------------------------------------------------------------------------- questions


def scalar(value):
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    return repr(int(value)) if isinstance(value, (int, np.integer)) else repr(float(value))


def release():
    """What kernels are held against: the release that is stood in for, where hone knows it."""
    own = ".".join((host.LINE["nki"] or "").split(".")[:2])
    return ["--release", own] if own in KNOWN else []


def base(folder, source, info):
    """The arguments that every question has: the kernel's file, its name, device and scalars."""
    path = os.path.join(folder, os.path.basename(info["source_file"]) or "kernel.py")
    with open(path, "wb") as file:
        file.write(source.encode("utf-8", "surrogateescape"))
    found = [path, "--kernel-name", info["kernel"], "--device", info["generation"], *release()]
    for name, value in info["scalars"].items():
        found += ["--input", "%s=%s" % (name, scalar(value))]
    return path, found


def compile_kernel(source, info):
    """(answer, profile or None) of the front end, with limits and latency. No numbers are made."""
    name = "compiled-%s-%s" % ("".join(release()), key_of(source, info, {}))
    known = host.read_json(remembered(name))
    if known is None:
        known = ask_compile(source, info)
        remember(name, json.dumps(known).encode())
    return known


def ask_compile(source, info):
    with tempfile.TemporaryDirectory(prefix="standin-") as folder:
        path, arguments = base(folder, source, info)
        for row in info["inputs"]:
            shape = "x".join(str(side) for side in row["shape"])
            arguments += ["--input", "%s=%s:%s" % (row["name"], shape, row["dtype"])]
        timeline = os.path.join(folder, "timeline.json")
        own = host.switch("constants")
        answer = run(arguments + (["--constants", own] if own else [])
                     + ["--no-verify", "--profile", timeline])
        for row in answer["diagnostics"]:
            row["own"] = row["file"] == path
        return [answer, host.read_json(timeline)]


def execute(neff, arrays):
    """[(dtype name, array)] of the kernel's results, as raw codes where numpy lacks the type.
    arrays: {input: array of raw numbers}. What is missing is zeros, as with the tools."""
    name = "executed-" + key_of(neff.source, neff.info, arrays)
    try:
        with open(remembered(name), "rb") as file:
            saved = np.load(io.BytesIO(file.read()))
        return [(str(saved["dtypes"][at]), saved["output_%d" % at])
                for at in range(len(saved["dtypes"]))]
    except (OSError, ValueError):
        pass
    found = ask_execute(neff, arrays)
    data = io.BytesIO()
    np.savez(data, dtypes=np.array([dtype for dtype, _ in found]),
             **{"output_%d" % at: array for at, (_, array) in enumerate(found)})
    remember(name, data.getvalue())
    return found


def ask_execute(neff, arrays):
    with tempfile.TemporaryDirectory(prefix="standin-") as folder:
        _, arguments = base(folder, neff.source, neff.info)
        for row in neff.info["inputs"]:
            array = arrays.get(row["name"])
            if array is None:
                array = np.zeros(row["shape"], raw_dtype(row["dtype"]))
            path = os.path.join(folder, "%s.bin" % row["name"])
            np.ascontiguousarray(array).tofile(path)
            shape = "x".join(str(side) for side in row["shape"])
            arguments += ["--input", "%s=%s:%s:%s" % (row["name"], path, shape, row["dtype"])]
        answer = run(arguments + ["--no-time", "--save-outputs", os.path.join(folder, "outputs")])
        if not answer.get("outputs"):
            raise Unusable("; ".join(row["message"] for row in answer["diagnostics"])
                           or "no outputs")
        return [(row["dtype"], np.load(row["file"]).reshape(row["shape"]))
                for row in answer["outputs"]]
