# SPDX-License-Identifier: Apache-2.0
"""The compiler's own prediction of a kernel's time, a second opinion beside the device model: it
needs no device and no back end. Runs in the worker's process (worker.py). Current releases keep it
on what the front half of the compiler returns (nki 0.6: total_time_ns, estimated_utilization,
mac_count, hbm_bytes); everything is read with getattr, and missing members mean that there is no
prediction. A prediction says nothing about whether a kernel is right or compiles, and if it fails,
the evaluation does not.

The program that is predicted is the one that is shipped: options as seams.options_of makes them,
with the back end's own optimisations off unless the kernel wants them, which is recorded."""

import math
import os
import signal

LIMIT_S = 60                # of one prediction; the worker's answer is safe before it begins
STAGE_S = 180.0             # the same in a process of its own, which loads the SDK first
MAX_ENGINES = 16


class Unavailable(Exception):
    """There is no prediction for this release or this kernel; the text says why."""


def number(value, most):
    """A finite number from 0 to most; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        value = float(value)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) and 0 <= value <= most else None


def utilisation_of(found):
    """{engine: percent} of a mapping, or of an object with such members."""
    rows = found if isinstance(found, dict) else getattr(found, "__dict__", None) or {}
    kept = {str(getattr(name, "name", name))[:24]: number(value, 1e6)
            for name, value in list(rows.items())[:MAX_ENGINES]}
    return {name: round(value, 3) for name, value in kept.items() if value is not None}


def read(nir, is_optimised):
    """The members of the event; raises Unavailable if the release gives no time."""
    total_ns = number(getattr(nir, "total_time_ns", None), 1e15)
    if not total_ns:
        raise Unavailable("this release gives no time (total_time_ns)")
    return {"us": total_ns / 1000, "optimised": is_optimised,
            "utilisation": utilisation_of(getattr(nir, "estimated_utilization", None)),
            "macs": number(getattr(nir, "mac_count", None), 1e18),
            "hbm_bytes": number(getattr(nir, "hbm_bytes", None), 1e18)}


def entry():
    """The front half of the compiler, as nki 0.6 names it; seams.to_nir calls it."""
    try:
        from nki.framework.compiled import compile_kernel_to_nir    # noqa: F401 - is it there?
    except (ImportError, AttributeError) as problem:
        raise Unavailable("this release has none (%s)" % problem) from None


def optimised(call, options):
    """Whether the back end's optimisations are on in what is predicted, as options_of() has it."""
    if not hasattr(options, "disable_backend_optimizations"):
        return None
    return bool(getattr(call.kernel, "_enable_backend_opt", False))


def predict(call, folder):
    """What the compiler predicts for a call.Call; may raise any exception."""
    from . import seams
    entry()
    os.makedirs(folder, exist_ok=True)
    options = seams.options_of(call, folder)
    return read(seams.to_nir(call, options), optimised(call, options))


def attempt(call, folder):
    """(prediction or None, why not)."""
    try:
        return predict(call, folder), ""
    except Unavailable as problem:
        return None, str(problem)
    except Exception as problem:
        return None, "%s: %s" % (type(problem).__name__, str(problem)[:300])


def answer(request):
    """The worker's operation "predict"."""
    from . import worker
    call, about = worker.prepare(request)
    if call is None:
        error = about.get("error") or {}
        return dict(about, ok=False, why=about.get("message") or error.get("message") or
                    "it is written in a dialect that this release does not compile")
    found, why = attempt(call, os.path.join(request["folder"], "predict"))
    return dict(about, ok=found is not None, prediction=found, why=why)


def add(request, said):
    """A compilation's answer with the prediction. The answer without it is already on disk. If the
    prediction never ends, the alarm ends it with this process, and nothing is lost. What the SDK
    prints meanwhile is what it already printed when it compiled."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    try:
        entry()
    except Exception as problem:
        return dict(said, unpredicted=str(problem)[:300])
    found = answer(dict(request, folder=os.path.join(request["folder"], "second")))
    signal.setitimer(signal.ITIMER_REAL, 0)
    return dict(said, prediction=found.get("prediction"), unpredicted=found.get("why"))
