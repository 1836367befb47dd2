# SPDX-License-Identifier: Apache-2.0
"""Runs other people's unit tests behind the wall of unit_tests.py: with modules of our own in place
of NKI and pytest. What a test calls a kernel with goes out as files and a line of JSON; what the
kernel returned comes back in the same way, and the test's own assertions decide."""

import dataclasses
import importlib.util
import inspect
import itertools
import json
import os
import re
import sys
import traceback
import types
import unittest
import warnings

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../core/task"))
import harness  # pylint: disable=wrong-import-position

OUT = sys.argv[1] if __name__ == "__main__" else ""
CHANNEL = os.fdopen(os.dup(1), "w", encoding="utf-8")
# Types numpy does not have: their numbers are float32 ones that the type can hold.
SMALL = {name: type(name, (np.float32,), {}) for name in harness.OWN_DTYPES}
NUMPY = ("float16", "float32", "int8", "int16", "int32", "uint8", "uint16", "uint32", "int64")


class NotRun(Exception):
    """The kernel did not run, or is only measured: no fault of the test."""

    def __init__(self, why, result="not run"):
        super().__init__(why)
        self.result = result


def tell(**fields):
    CHANNEL.write(json.dumps(fields) + "\n")
    CHANNEL.flush()


# ---- stand-ins ---------------------------------------------------------------------------------

class Anything:
    """Whatever a module has that only the kernel's own code uses; a decorator, too."""

    def __init__(self, name=""):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything("%s.%s" % (self._name, name))

    def __call__(self, *args, **kwargs):
        alone = len(args) == 1 and not kwargs and callable(args[0])
        return args[0] if alone else self

    def __getitem__(self, key):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        return False

    def __mro_entries__(self, bases):
        return (object,)

    def __repr__(self):
        return self._name


def dtype_of(name):
    return SMALL.get(name) or getattr(np, name)


class Small(np.ndarray):
    """An array of one of these types."""
    small = None

    def __array_finalize__(self, other):
        self.small = getattr(other, "small", None)

    def astype(self, dtype, *args, **kwargs):
        return static_cast(np.asarray(self), dtype)


def rounded(data, name):
    made = harness.decode(harness.encode(data, name), name).reshape(data.shape).view(Small)
    made.small = name
    return made


def static_cast(data, dtype):
    name = getattr(dtype, "__name__", "")
    data = np.asarray(data)
    return rounded(data, name) if SMALL.get(name) is dtype else data.astype(dtype)


def packed(value, number):
    """A value as JSON, arrays in files."""
    if isinstance(value, np.ndarray):
        path = os.path.join(OUT, "in_%d_%d.npy" % (number, len(os.listdir(OUT))))
        name = getattr(value, "small", None) or value.dtype.name
        np.save(path, np.asarray(value))
        return {"array": os.path.basename(path), "dtype": name}
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__name__,
                "fields": {one.name: packed(getattr(value, one.name), number)
                           for one in dataclasses.fields(value)}}
    if isinstance(value, (tuple, list)):
        return {"tuple": [packed(one, number) for one in value]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.ufunc):
        return {"name": "numpy." + value.__name__}
    if isinstance(value, Anything) and repr(value).split(".")[0] in ("nki", "neuronxcc"):
        return {"name": repr(value)}
    if isinstance(value, Anything):
        raise NotRun("an argument is made with " + repr(value))
    if isinstance(value, type) and value.__name__ in SMALL:
        return {"dtype": value.__name__}
    try:
        return {"dtype": np.dtype(value).name}
    except TypeError:
        raise NotRun("an argument of the type " + type(value).__name__)


def unpacked(outputs):
    arrays = []
    for one in outputs:
        data = np.load(os.path.join(OUT, one["file"]))
        arrays.append(rounded(harness.decode(data, one["dtype"]), one["dtype"])
                      if one["dtype"] in SMALL else data)
    return tuple(arrays)


class Kernel:
    calls = 0

    def __init__(self, function, grid=(), measured=False):
        self.function, self.grid, self.measured = function, grid, measured
        self.__name__ = getattr(function, "__name__", "kernel")
        self.__wrapped__ = function

    def __getitem__(self, grid):
        grid = grid if isinstance(grid, tuple) else (grid,)
        return Kernel(self.function, tuple(int(one) for one in grid), self.measured)

    def __call__(self, *args, **kwargs):
        if self.measured:
            raise NotRun("is only measured")
        Kernel.calls += 1
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        bound.apply_defaults()
        tell(call=Kernel.calls, file=inspect.getsourcefile(self.function),
             name=self.function.__name__, grid=self.grid,
             arguments={name: packed(value, Kernel.calls)
                        for name, value in bound.arguments.items()})
        answer = json.loads(sys.stdin.readline())
        if "outputs" not in answer:
            raise NotRun(answer["why"], answer["result"])
        outputs = unpacked(answer["outputs"])
        if not self.returns:
            return self.write(bound.arguments, outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    @property
    def returns(self):
        return re.search(r"^ +return +\S", inspect.getsource(self.function), re.M)

    def write(self, arguments, outputs):
        """The kernel of the older dialect that stores into its parameters."""
        source = inspect.getsource(self.function)
        written = [value for name, value in arguments.items()
                   if re.search(r"\bstore\(\s*(dst *= *)?%s\b" % name, source)]
        for target, output in zip(written, outputs):
            target[...] = output


def as_kernel(function=None, measured=False, **_):
    if function is None:
        return lambda one: as_kernel(one, measured)
    if isinstance(function, Kernel):
        return Kernel(function.function, function.grid, measured)
    return Kernel(function, (), measured)


def module(name, **names):
    made = types.ModuleType(name)
    made.__dict__.update(names)
    made.__getattr__ = Anything(name).__getattr__
    made.__path__ = []
    sys.modules[name] = made
    if "." in name:
        setattr(sys.modules[name.rsplit(".", 1)[0]], name.rsplit(".", 1)[1], made)
    return made


def made_small(function):
    """np.ones and the like, which know no such types."""
    def make(*args, **kwargs):
        made = function(*args, **kwargs)
        dtype = kwargs.get("dtype")
        return static_cast(made, dtype) if getattr(dtype, "__name__", "") in SMALL else made
    return make


def softmax(data, axis=None):
    top = np.exp(data - np.max(data, axis=axis, keepdims=True))
    return top / np.sum(top, axis=axis, keepdims=True)


def stand_ins():
    for name in ("ones", "zeros", "full", "array"):
        setattr(np, name, made_small(getattr(np, name)))
    module("scipy")
    module("scipy.special", softmax=softmax)
    sizes = types.SimpleNamespace(pmax=128, psum_fmax=512, gemm_stationary_fmax=128,
                                  gemm_moving_fmax=512, bn_stats_fmax=512)
    for package in ("nki", "neuronxcc.nki"):
        if "." in package:
            module("neuronxcc")
        module(package, jit=as_kernel, trace=as_kernel, baremetal=as_kernel,
               benchmark=lambda *a, **k: as_kernel(*a, measured=True),
               profile=lambda *a, **k: as_kernel(*a, measured=True),
               simulate_kernel=lambda kernel, *a, **k: as_kernel(kernel)(*a, **k))
        for part in ("isa", "typing", "compiler", "isa.constants"):
            module(package + "." + part)
        module(package + ".language", tile_size=sizes, nc=int, spmd_dim=lambda *n: np.prod(n),
               static_cast=static_cast,
               NKIObject=object, fp32=np.finfo(np.float32),
               **{name: dtype_of(name) for name in (*SMALL, *NUMPY)})


class Framework:
    """nki-library's UnitTestFramework: its references need torch, so no numbers are compared."""

    def __init__(self, kernel_entry=None, kernel_input_generator=None, **_):
        self.kernel, self.generator = kernel_entry, kernel_input_generator

    def run_test(self, test_config=None, **_):
        given = {name.split(".")[0]: value for name, value in self.generator(test_config).items()}
        as_kernel(self.kernel)(**given)
        raise NotRun("", "ran")


class Finder:
    """Finds a stand-in for every module of these that is not installed."""
    NAMES = ("torch", "ml_dtypes", "neuron_dtypes", "test.utils", "boto3", "aws_embedded_metrics",
             "typing_extensions")

    @staticmethod
    def find_spec(name, _path=None, _target=None):
        if name.split(".")[0] not in Finder.NAMES and not name.startswith("test.utils"):
            return None
        return importlib.util.spec_from_loader(name, Finder, is_package=True)

    @staticmethod
    def create_module(spec):
        name = spec.name
        made = types.ModuleType(name)
        made.__getattr__ = Anything(name).__getattr__
        made.__dict__.update({one: dtype_of(one) for one in (*SMALL, *NUMPY)})
        made.__dict__.update(
            UnitTestFramework=Framework, static_cast=static_cast,
            pytest_parametrize=lambda names, sets, *_, **__: Mark("parametrize")(names, sets))
        return made

    @staticmethod
    def exec_module(module_):
        pass


# ---- pytest --------------------------------------------------------------------------------------

class Mark:
    def __init__(self, name):
        self.name = name

    def __call__(self, *args, **kwargs):
        if len(args) == 1 and not kwargs and inspect.isfunction(args[0]):
            return args[0]

        def decorate(function):
            if self.name == "parametrize":
                names = args[0] if not isinstance(args[0], str) else args[0].split(",")
                sets = function.__dict__.setdefault("cases", [])
                sets.insert(0, ([one.strip() for one in names], list(args[1])))
            if self.name == "coverage_parametrize":     # the first value of each
                wanted = [one for one in kwargs if one in inspect.signature(function).parameters]
                first = [list(kwargs[one])[0] for one in wanted]
                function.__dict__.setdefault("cases", []).append(
                    (wanted, first if len(wanted) == 1 else [first]))
            return function
        return decorate


class Marks:
    def __getattr__(self, name):
        return Mark(name)


def skip(why=""):
    raise NotRun(why)


def cases_of(function):
    """The keyword arguments of each case."""
    sets = []
    for names, values in function.__dict__.get("cases", []):
        sets.append([dict(zip(names, one if len(names) > 1 else [one])) for one in values])
    for one in itertools.product(*sets):
        merged = {}
        for part in one:
            merged.update(part)
        yield merged


def tests_of(loaded):
    """(name, a function that runs one case) of a module."""
    for name, value in list(vars(loaded).items()):
        if not isinstance(value, type) or value.__module__ != loaded.__name__:
            if name.startswith("test") and inspect.isfunction(value):
                yield name, value, None
            continue
        for method, function in vars(value).items():
            if method.startswith("test") and inspect.isfunction(function):
                yield "%s.%s" % (name, method), function, value


def run_case(function, owner, arguments):
    wanted = inspect.signature(function).parameters
    if "test_manager" in wanted:
        arguments = dict(arguments, test_manager=None)
        arguments.update({one: False for one in wanted if one == "is_negative_test_case"})
        if any(one not in arguments for one in wanted if one not in ("self", "collector")):
            raise NotRun("its parameters are made by the suite")
        arguments.update({"collector": None} if "collector" in wanted else {})
    if "simulation_only" in wanted:
        arguments = dict(arguments, simulation_only=True)
    if owner is None:
        return function(**arguments)
    if issubclass(owner, unittest.TestCase):
        one = owner(function.__name__)
        one.setUp()
        return function(one)
    return function(owner(), **arguments)


def run(path, most):
    spec = importlib.util.spec_from_file_location("suite_" + os.path.basename(path)[:-3], path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    loaded.warnings = warnings     # one suite's tests forgot to import it
    try:
        spec.loader.exec_module(loaded)
    except BaseException as problem:  # pylint: disable=broad-except
        tell(case=os.path.basename(path), result="not loaded", why=repr(problem))
        return
    for name, function, owner in tests_of(loaded):
        for number, arguments in enumerate(itertools.islice(cases_of(function), most)):
            calls, result, why = Kernel.calls, "right", ""
            try:
                run_case(function, owner, arguments)
                result = "right" if Kernel.calls > calls else "calls no kernel"
            except NotRun as problem:
                result, why = problem.result, str(problem)
                if result == "refused" and "assertRaises" in inspect.getsource(function):
                    result = "refused as it should be"
            except AssertionError as problem:
                result, why = "wrong", str(problem)[:200]
            except BaseException as problem:  # pylint: disable=broad-except
                at = [one for one in traceback.extract_tb(problem.__traceback__)
                      if one.filename.startswith("/suite")][-1:]
                result, why = "test fails", "%s: %r" % (
                    "%s:%d" % (os.path.basename(at[0].filename), at[0].lineno) if at else "?",
                    problem)
            tell(case="%s %s[%d]" % (os.path.basename(path), name, number), result=result,
                 why=why[:300])


def main():
    os.dup2(2, 1)   # what tests print
    stand_ins()
    sys.meta_path.insert(0, Finder)
    sys.modules["pytest"] = types.ModuleType("pytest")
    sys.modules["pytest"].__dict__.update(
        mark=Marks(), skip=skip, fixture=lambda *a, **k: (a[0] if a else lambda f: f),
        param=lambda *a, **k: a if len(a) > 1 else a[0])
    for path in sys.argv[3:]:
        run(path, int(sys.argv[2]))


if __name__ == "__main__":
    main()
