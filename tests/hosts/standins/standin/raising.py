# SPDX-License-Identifier: Apache-2.0
"""Exceptions with the call stacks that releases show: frames of compiled code without source lines,
and the user's own frames, of any file and line. Python itself prints them."""

import builtins

from standin import host

TRACER = "neuronxcc/nki/compiler/backends/neuron/TraceKernel.py"
COMPILED = (   # file, line, function: frames of compiled Python, as the legacy tracer has them
    (TRACER, 188, "neuronxcc.nki.compiler.backends.neuron.TraceKernel.TraceKernel.__call__"),
    (TRACER, 423, "neuronxcc.nki.compiler.backends.neuron.TraceKernel.TraceKernel."
                  "expand_kernel_with_ctx"))
STACK = (      # and what newer releases have above the user's frames
    ("/nki/framework/compiled.py", 354, "compile"),
    ("/nki/compiler/frontend.py", 332, "compile"))
DOCS = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/general/nki/api/" \
    "nki.errors.html#err-"
# Exceptions that the legacy tracer raises for its own errors, by the beginning of the slug.
KINDS = (("err_num_partition", ValueError), ("err_exceed", ValueError), ("err_size_of", ValueError),
         ("err_activation", TypeError))


def frame(file, line, name, call):
    """Runs `call` in a frame that claims to be of that file, line and function."""
    code = compile("\n" * (max(line, 1) - 1) + "call()", file, "exec")
    exec(code.replace(co_name=name, co_qualname=name) if hasattr(code, "co_qualname")
         else code.replace(co_name=name), {"call": call, "__name__": name})


def raise_here(file, line, name, problem):
    """Raises `problem` as if that line did."""
    code = compile("\n" * (max(line, 1) - 1) + "raise problem", file, "exec")
    exec(code.replace(co_name=name), {"problem": problem})


def kind_of(code):
    """The exception class and the slug for a code of hone's diagnostics."""
    if code.startswith("err_"):
        found = next((kind for start, kind in KINDS if code.startswith(start)), SyntaxError)
        return found, code[len("err_"):].replace("_", "-")
    found = getattr(builtins, code, None)
    if isinstance(found, type) and issubclass(found, Exception):
        return found, ""
    return AssertionError, ""


def trace_error(diagnostic, file, function, legacy):
    """Raises what tracing found, at the user's line, under the frames of the release."""
    kind, slug = kind_of(diagnostic["code"])
    text = diagnostic["message"]
    if slug and legacy:
        text += ". Info on how to fix: " + DOCS + slug
    problem = UnicodeError(text) if kind is UnicodeDecodeError else kind(text)
    frames = COMPILED if legacy else STACK

    def enter(left):
        if not left:
            raise_here(file, diagnostic["line"], function, problem)
        frame(*left[0], lambda: enter(left[1:]))
    enter(frames if host.LINE["trace"] == "legacy" or not legacy else ())
