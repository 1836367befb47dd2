# SPDX-License-Identifier: Apache-2.0
"""Modules of names, for nki.language and its kind. Python imports a kernel's file but never runs
it, so a name need not do anything: it only has to exist."""

import sys
import types

import numpy as np

NUMPY = {"float32": np.float32, "float16": np.float16, "int32": np.int32, "int16": np.int16,
         "int8": np.int8, "uint32": np.uint32, "uint16": np.uint16, "uint8": np.uint8}
NUMBERS = {"pmax": 128, "psum_fmax": 512, "gemm_stationary_fmax": 128, "gemm_moving_fmax": 512,
           "bn_stats_fmax": 512, "psum_min_align": 4, "sbuf_min_align": 1}


class Name:
    """A name of the language. Used outside of a kernel, it says so."""

    def __init__(self, name):
        self.__name__ = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return NUMBERS[name] if name in NUMBERS else Name(self.__name__ + "." + name)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("%s is called outside of a kernel" % self.__name__)

    def __getitem__(self, item):
        return Name(self.__name__)

    def __repr__(self):
        return self.__name__


class Grid:
    """nl.nc(n)."""

    def __init__(self, n):
        self.n = n


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "nc":
            return Grid
        if name == "NKIObject":
            return object
        return NUMPY.get(name) or Name(self.__name__ + "." + name)


def install(*names):
    """Makes these modules importable, as parts of those above them."""
    for name in names:
        module = Module(name)
        module.__path__ = []
        sys.modules[name] = module
        above, _, last = name.rpartition(".")
        if above in sys.modules:
            setattr(sys.modules[above], last, module)
