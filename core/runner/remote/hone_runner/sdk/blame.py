# SPDX-License-Identifier: Apache-2.0
"""Who is to blame for an exception: a seam (a way to compile) that this release lacks or has in
another form, or the kernel. The traceback decides. An exception with a frame of the kernel's file
anywhere in its chain of causes is the kernel's, whatever its type. A TypeError, AttributeError or
ImportError that was raised between our call and the kernel is the toolchain's. Also here: the text
of a chain of exceptions."""

import os
import sys
import traceback

MAX_TEXT = 200000           # characters of a text that are handed on
MAX_CHAIN = 16              # exceptions of one chain that are looked at
SHAPES = (ImportError, AttributeError, TypeError, NotImplementedError)


class NotHere(Exception):
    """This seam does not exist in this release, or needs something unknown."""


def chain(problem):
    """The exception and its causes, nearest first, including causes hidden by `from None`."""
    found, left = [], [problem]
    while left and len(found) < MAX_CHAIN:
        one = left.pop(0)
        if one is not None and all(one is not other for other in found):
            found.append(one)
            left += [one.__cause__, one.__context__]
    return found


def files_of(problem):
    """The files of the frames it passed through: ours first, last the one that raised it."""
    return [frame.f_code.co_filename for frame, _ in traceback.walk_tb(problem.__traceback__)]


def is_own(path):
    """Whether it is one of ours, as frames name them: byte code keeps the name that it was compiled
    under."""
    return os.path.dirname(path) == os.path.dirname(is_own.__code__.co_filename)


def is_ours(problem):
    """An exception raised by the call of the SDK itself, not within the SDK: the call does not
    fit."""
    files = files_of(problem)
    return bool(files) and is_own(files[-1])


def in_kernel(problem, path):
    """Whether the kernel's file is involved: it has a frame, or the text names it."""
    places = {path, os.path.realpath(path)}
    for one in chain(problem):
        if any(name in places or os.path.realpath(name) in places for name in files_of(one)):
            return True
        if any(name in str(one) for name in places) or getattr(one, "filename", None) in places:
            return True
    return False


def is_missing(problem, path, proven=False):
    """Whether an exception means that a seam is missing or has another form, and says nothing about
    the kernel of that path. proven: the seam has compiled a kernel that is known to be good, so an
    exception within it is not the seam's fault."""
    if isinstance(problem, NotHere):
        return True
    if not isinstance(problem, SHAPES) or in_kernel(problem, path):
        return False
    return is_ours(problem) or not proven


def trace_of(problem):
    """The traceback as text, without our own frames at its start."""
    trace = problem.__traceback__
    while trace and trace.tb_next and is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(problem), problem, trace))


def short(problem):
    """One line about an exception."""
    return ("%s: %s" % (type(problem).__name__, str(problem)))[:400].replace("\n", " ")


def why_missing(problem):
    """One line about a seam that was skipped, with the place that refused."""
    if isinstance(problem, NotHere):
        return str(problem)
    frames = traceback.extract_tb(problem.__traceback__)
    last = frames[-1] if frames else None
    where = " (%s line %d)" % (os.path.basename(last.filename), last.lineno) \
        if last and not is_own(last.filename) else ""
    return short(problem) + where


def text_of(value):
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return value[-MAX_TEXT:] if isinstance(value, str) else ""


def of_process(problem):
    """{"status", "stdout", "stderr"} of the child process that a chain of exceptions ends in: the
    wrappers around subprocess.CalledProcessError drop what it says. {} when there is none."""
    for one in chain(problem):
        status = getattr(one, "returncode", None)
        if isinstance(status, int) and not isinstance(status, bool):
            return {"status": status, "stdout": text_of(getattr(one, "stdout", None)),
                    "stderr": text_of(getattr(one, "stderr", None))}
    return {}


def kind_of(problem):
    """The class of an exception, with its module where it is not Python's own."""
    kind = type(problem)
    return kind.__name__ if kind.__module__ == "builtins" else \
        "%s.%s" % (kind.__module__, kind.__name__)


def error_of(problem):
    """The text of an exception for the answer; its whole chain also goes to standard error."""
    text, said = trace_of(problem), of_process(problem)
    for part in (said.get("stdout"), said.get("stderr"), text[-MAX_TEXT:]):
        if part:
            sys.stderr.write(part if part.endswith("\n") else part + "\n")
    return dict(said, type=type(problem).__name__, message=str(problem)[:MAX_TEXT],
                chain=[kind_of(one) for one in chain(problem)],
                text=text[-MAX_TEXT:])
