# SPDX-License-Identifier: Apache-2.0
"""A kernel with its arguments, as it is launched: what its file defines, the options of its
decorator, and the values of its parameters, defaults included."""

import ast
import dataclasses
import importlib.util
import inspect
import os
import sys

from . import arrays, source

# Keywords of decorators that are not options for the compiler but say how the kernel is launched.
NO_OPTIONS = ("mode", "platform_target", "func", "fn", "lnc""")
UNKNOWN = object()          # an option that was given, with an unknown value


class Mismatch(Exception):
    """The kernel cannot be launched as the job wants it; the text says why."""


def plain(value):
    """A numpy scalar as a plain number: everything except tensors is compiled in."""
    if getattr(value, "shape", None) == () and hasattr(value, "dtype") and hasattr(value, "item"):
        return value.item()
    return value


def is_tensor(value):
    return bool(getattr(value, "shape", None)) and hasattr(value, "dtype")


class Call:
    """""A kernel with its arguments. raw: the function below the decorator. lowered: what the
    compiler's front end made of it, if the seam that compiled it has such an object."""

    def __init__(self, request):
        self.request = request
        self.path = request["kernel"]
        self.lnc = int(request.get("lnc") or 1)
        self.target = request.get("target") or "trn2"
        self.flags = list(request.get("flags") or ())
        with open(self.path, encoding="utf-8") as file:
            self.tree = source.ast.parse(file.read(), self.path)
        self.node = source.find_kernel(self.tree, request.get("name"))
        self.dialect = source.dialect(self.tree)
        self.arguments = arrays.load(request["inputs"])
        self.kernel = self.raw = self.lowered = None

    def load(self):
        """Runs the file; its errors are the kernel's."""
        spec = importlib.util.spec_from_file_location("kernel", self.path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["kernel"] = module
        folder = os.path.dirname(self.path)
        if sum(name.endswith(".py") for name in os.listdir(folder)) > 1:
            sys.path.insert(0, folder)          # it imports what helpers.py put beside it
        spec.loader.exec_module(module)
        self.kernel = getattr(module, self.node.name)
        self.raw = self.kernel
        for _ in range(4):
            below = getattr(self.raw, "func", None) or getattr(self.raw, "__wrapped__", None)
            if below is None or not callable(below):
                break
            self.raw = below
        self.check_lnc()

    # -------------------------------------------------------------------------- the arguments

    def bind(self):
        """The inspect.BoundArguments of the launch: parameters that were not given take their "
          "defaults. Default scalars are compiled in; a default tensor would be an input without a "
          "value."""
        bound = inspect.signature(self.raw).bind(*self.arguments)
        given = set(bound.arguments)
        bound.apply_defaults()
        for name in set(bound.arguments) - given:
            bound.arguments[name] = value = plain(bound.arguments[name])
            if is_tensor(value):
                raise TypeError("the parameter %s of %s has a tensor as its default: the inputs of "
                                "the reference must have it" % (name, self.node.name))
        return bound

    def bound(self):
        """The arguments by the names of the parameters."""
        bound = self.bind()
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return {name: value for name, value in bound.arguments.items()
                if bound.signature.parameters[name].kind not in several or value}

    def tensors(self):
        """The arguments that are inputs of the compiled program."""
        return {name: value for name, value in self.bound().items() if is_tensor(value)}

    def launch(self, kernel):
        """Calls an object with the arguments."""
        bound = self.bind()
        return kernel(*bound.args, **bound.kwargs)

    # ---------------------------------------------------------------------- logical cores

    def check_lnc(self):
        own = self.decorated().get("lnc")
        if isinstance(own, int) and own != self.lnc:
            raise Mismatch("its decorator asks for lnc = %d, and it is compiled for %d physical "
                           "core%s: set lnc = %d for the host"
                           % (own, self.lnc, "" if self.lnc == 1 else "s", own))

    def with_lnc(self):
        """The kernel as it is launched: kernel[lnc] where it is an object that takes one. "
          "Otherwise NEURON_LOGICAL_NC_CONFIG gives lnc; every compiling process has it."""
        if self.lnc == 1 or not hasattr(type(self.kernel), "__getitem__") or \
                getattr(self.kernel, "lnc", None) == self.lnc:
            return self.kernel
        try:
            return self.kernel[self.lnc]
        except (TypeError, NotImplementedError):
            return self.kernel

    # -------------------------------------------------------------------------- the decorator

    def decorated(self):
        """{keyword: value} of the kernel's decorator: from the object it made, else as written in "
          "the source."""
        found = {}
        for word in source.decorator_words(self.node):
            value = next((getattr(self.kernel, name) for name in (word.arg, "_" + word.arg)
                          if hasattr(self.kernel, name)), UNKNOWN)
            if value is UNKNOWN:
                try:
                    value = ast.literal_eval(word.value)
                except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    pass
            found[word.arg] = value
        return found

    def options(self):
        """""{name: value} of the compiler's options that the kernel itself carries: keywords of its
        decorator, and fields of its object that differ from their defaults."""
        found = {name: value for name, value in self.decorated().items() if name not in NO_OPTIONS}
        for field in object_fields(self.kernel):
            value, usual = getattr(self.kernel, field.name), field.default
            if usual is not dataclasses.MISSING and not same(value, usual) and \
                    field.name not in NO_OPTIONS and not field.name.startswith("_"):
                found.setdefault(field.name, value)
        return found


def same(value, usual):
    return value is usual or (type(value) is type(usual) and value == usual)


def object_fields(kernel):
    """The fields of a kernel's object, where a release made it a dataclass."""
    return [field for field in (dataclasses.fields(kernel) if dataclasses.is_dataclass(kernel)
                                else ()) if field.init and field.name != "func"]
