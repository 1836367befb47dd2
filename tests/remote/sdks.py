# SPDX-License-Identifier: Apache-2.0
"""Neuron SDKs of a few lines each, one for each seam, in the shape that releases had it; and the
worker, run with one of them."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import traceback
import unittest

import numpy        # noqa: F401 - once, for all workers

import common       # noqa: F401 - finds the runner
from hone_runner.sdk import routes, worker

BASE = '''
class Spec:
    def __init__(self, name, dtype, shape):
        self.name, self.dtype, self.shape = name, dtype, shape


class Compiled:
    def __init__(self, path, inputs):
        self.input_specs = [Spec(name, value.dtype, value.shape) for name, value in inputs.items()
                            if hasattr(value, "dtype")]
        self.output_specs = [Spec("output_0", "float32", (2, 3)), Spec("output_1", "bf16", (2,))]
        self.input_output_aliases = {1: "b"}
        with open(path, "wb") as file:
            file.write(b"NEFF")
'''
INIT = '''
class Kernel:
    def __init__(self, func):
        self.func, self.lnc = func, 1

    def __getitem__(self, lnc):
        return self

    def __call__(self, *args):
        return launch(self, *args)


def jit(func=None, **options):
    return Kernel(func) if func else Kernel


def launch(kernel, *args):
    raise NotImplementedError("kernels are not launched alone in this release")
'''
OPTIONS = '''
class CompileOptions:
    def __init__(self, target="trn1", lnc=1, artifacts_dir=None, output_path="file.neff"):
        self.target, self.artifacts_dir, self.output_path = target, artifacts_dir, output_path
'''
SDKS = {
    "nir": {
        "nki/compiler/ncc_driver.py": OPTIONS + '''
from base import Compiled
def compile_bir_to_neff(options, bir, input_arrays, argument_names, output_arg_names):
    assert options.target == "trn2"
    return Compiled(options.output_path, bir)
''', "nki/framework/compiled.py": '''
def compile_kernel_to_nir(kernel, *, inputs, compile_opts, enable_cache=True):
    kernel.func(**inputs)
    return inputs
'''},
    "executor": {"nki/framework/compiled.py": '''
import os
from base import Compiled
class CompileKernel:
    def __init__(self, func, artifacts_dir="", _executor=None):
        self.func, self.artifacts_dir, self.executor = func, artifacts_dir, _executor
    def __call__(self, *args):
        self.func(*args)
        path = os.path.join(self.artifacts_dir, "kernel.neff")
        return self.executor(Compiled(path, {"a": args[0], "b": args[1]}), {}, {})
'''},
    "simulation": {"nki/framework/compiled.py": '''
import os
import numpy as np
from base import Compiled
class CompileKernel:
    def __init__(self, func, artifacts_dir="", _enable_simulation=False):
        self.func, self.artifacts_dir = func, artifacts_dir
    def __call__(self, *args):
        self.func(*args)
        Compiled(os.path.join(self.artifacts_dir, "kernel.neff"), {})
        return np.zeros((2, 3), np.float32), np.zeros(2, np.float16)
'''},
    "frontend": {
        "nki/compiler/ncc_driver.py": OPTIONS + '''
from base import Compiled
class CompiledKernel:
    @classmethod
    def from_frontend(cls, result, options):
        return Compiled(options.output_path, result)
''', "nki/compiler/frontend.py": '''
class ParserFrontend:
    def compile(self, kernel, inputs, target, lnc, artifacts_dir):
        kernel.func(**inputs)
        return inputs
'''},
    "bir": {
        "nki/compiler/ncc_driver.py": OPTIONS, "nki/compiler/frontend.py": '''
class TracerFrontend:
    pass
''', "nki/compiler/driver.py": '''
from base import Compiled, Spec
class Result:
    def __init__(self, inputs):
        self.input_specs = [Spec(name, value.dtype, value.shape)
                            for name, value in inputs.items() if hasattr(value, "dtype")]
        self.output_specs = [Spec("output_0", "float32", (2, 3)), Spec("output_1", "bf16", (2,))]
def compile_to_bir(kernel, *, frontend, inputs, compile_opts, output_names=None):
    assert type(frontend).__name__ == "TracerFrontend"
    kernel.func(**inputs)
    return "bir", Result(inputs)
def compile_bir_to_neff(options, bir, arrays, in_names, out_names):
    assert bir == "bir" and options.target == "trn2", bir
    assert len(arrays) == 2 and in_names == ["a", "b"], in_names
    assert out_names == ["output_0", "output_1"], out_names
    return Compiled(options.output_path, dict(zip(in_names, arrays)))
'''},
    "context": {
        "nki/_backends/context.py": '''
import contextlib
open_ones = []
@contextlib.contextmanager
def nki_ir_context():
    one = object()
    open_ones.append(one)
    yield one
    open_ones.remove(one)
''', "nki/compiler/frontend.py": '''
class TracerFrontend:
    def compile(self, context, kernel, *, inputs, target, lnc=1, artifacts_dir=None,
                output_names=None):
        kernel.func(**inputs)
        return context, inputs
''', "nki/compiler/ncc_driver.py": OPTIONS + '''
from base import Compiled
from nki._backends.context import open_ones
class CompiledKernel:
    @staticmethod
    def from_frontend(frontend_result, compile_opts, frontend_time=0.0, tensor_inputs=None):
        context, inputs = frontend_result
        assert any(one is context for one in open_ones), "the module's context has ended"
        if tensor_inputs is None:
            raise ValueError("tensor_inputs required")
        assert list(tensor_inputs) == ["a", "b"], list(tensor_inputs)
        return Compiled(compile_opts.output_path, inputs)
'''},
    "call": {"nki/__init__.py": INIT + '''
import os
def launch(kernel, *args):
    kernel.func(*args)
    with open(os.path.join(os.environ["NKI_ARTIFACTS_DIR"], "kernel.neff"), "wb") as file:
        file.write(b"NEFF")
    raise RuntimeError("NRT Error NRT_LOAD_NOT_ENOUGH_NC(9): no core 4095")
'''},
    "ir": {"neuronxcc/nki_standalone.py": '''
import os
class NKI_IR_VERSION:
    beta2 = 2
def compile_nki_ir_kernel_to_neff(func, inputs, outputs, target, lnc, folder, version, more):
    func(**inputs)
    assert [(o.name, list(o.shape)) for o in outputs] == [("x", [2, 3]), ("y", [2])], outputs
    with open(os.path.join(folder, "file.neff"), "wb") as file:
        file.write(b"NEFF")
''', "neuronxcc/__init__.py": ""},
    "baremetal": {"neuronxcc/nki/__init__.py": '''
import subprocess
def jit(func):
    return func
def baremetal(kernel=None, save_neff_name=None, additional_compile_opt=""):
    def make(function):
        def call(*args):
            function(*args)
            with open(save_neff_name, "wb") as file:
                file.write(b"NEFF")
            raise subprocess.CalledProcessError(1, ["neuron-bench"])
        return call
    return make
''', "neuronxcc/__init__.py": ""},
    "none": {},
}
KERNEL = '''
import %s as nki


@nki.jit
def helper(a):
    return a


@nki.jit
def kernel(a, b, scale):
    %s
    x, y = helper, b
    return x, y
'''


class Sdk(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hone-sdk-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("inputs/data.bin", struct.pack("<6f", *range(6)) + struct.pack("<2H", 16256,
                                                                                  16384))
        self.write("inputs/meta.json", json.dumps({"values": [
            {"kind": "array", "dtype": "float32", "shape": [2, 3], "offset": 0},
            {"kind": "array", "dtype": "uint16", "shape": [2], "offset": 24},
            {"kind": "float", "value": (0.5).hex()}]}))

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def install(self, files, legacy=False):
        """Puts an SDK of these modules where the worker finds it."""
        shutil.rmtree(os.path.join(self.folder, "sdk"), ignore_errors=True)
        usual = {} if legacy else {"nki/__init__.py": INIT, "nki/framework/__init__.py": "",
                                   "nki/compiler/__init__.py": "", "nki/_backends/__init__.py": ""}
        for name, text in dict(usual, **files).items():
            self.write("sdk/" + name, textwrap.dedent(text))
        if "base.py" not in files:
            self.write("sdk/base.py", BASE)

    def work(self, arguments, environment):
        """Status and output of the worker in a child of this process, which has numpy and the
        worker loaded but no SDK: a Python of its own takes ten times as long to start."""
        sys.stdout.flush()
        sys.stderr.flush()
        with tempfile.TemporaryFile() as said:
            pid = os.fork()
            if pid == 0:
                self.be_worker(arguments, environment, said.fileno())
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            said.seek(0)
            return status, said.read().decode()

    def be_worker(self, arguments, environment, said):
        status = 1
        try:
            os.dup2(said, 1)
            os.dup2(said, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(self.folder)
            path = [os.path.join(self.folder, "sdk")] + sys.path
            os.environ.update(environment, PYTHONPATH=os.pathsep.join(path))
            sys.argv, sys.path, tempfile.tempdir = ["-c"] + arguments, ["", *path], None
            worker.main(arguments)
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def compile(self, sdk, body="pass", module=None, ways=None, text=None, **request):
        """What the worker answers in a process with this SDK: a name, or {module: text}."""
        legacy = sdk == "baremetal"
        self.install(SDKS[sdk] if isinstance(sdk, str) else sdk, legacy)
        kernel = self.write("kernel.py", text or KERNEL % (
            module or ("neuronxcc.nki" if legacy else "nki"), body))
        folder = os.path.join(self.folder, "neff")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, "call"))
        every = list(routes.CURRENT) + ["ir"]
        request = self.write("request.json", json.dumps(dict({
            "kernel": kernel, "name": None, "inputs": os.path.join(self.folder, "inputs"),
            "folder": folder, "target": "trn2", "lnc": 1, "flags": [],
            "ways": ways or {"current": every, "legacy": ["baremetal"], "unknown": every},
            "outputs": [{"dtype": "float32", "shape": [2, 3]}, {"dtype": "float32",
                                                                "shape": [2]}]}, **request)))
        answer = os.path.join(self.folder, "answer.json")
        self.temporary = os.path.join(self.folder, "tmp")
        os.makedirs(self.temporary, exist_ok=True)
        status, self.said = self.work(["compile", request, answer], {
            "TMPDIR": self.temporary, "NKI_ARTIFACTS_DIR": os.path.join(folder, "call")})
        self.assertEqual(0, status, self.said)
        with open(answer) as file:
            return json.load(file)


# ------------------------------------------------- a current SDK, with options of the decorator

# What a kernel's object has, and how its launch makes options of it. Every NEFF here is JSON of
# what the compiler was told.
MODERN_INIT = '''
import dataclasses


@dataclasses.dataclass(frozen=True)
class Kernel:
    func: object
    lnc: int = 1
    schedule: object = None
    address_rotation: bool = True
    barrier_check: bool = False
    compile_config: object = None
    _enable_backend_opt: bool = False

    def __getitem__(self, lnc):
        return dataclasses.replace(self, lnc=lnc)

    def _to_subclass(self, kind, **fields):
        mine = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return kind(**dict(mine, **fields))

    def __call__(self, *args, **more):
        return launch(self, *args, **more)


def jit(func=None, *, mode="auto", **options):
    if mode != "auto":
        raise TypeError("mode is of another release")
    return Kernel(func, **options) if func else lambda one: Kernel(one, **options)


def launch(kernel, *args, **more):
    raise NotImplementedError("kernels are not launched alone in this release")
'''
MODERN_LAUNCH = '''

def launch(kernel, *args, **more):
    import inspect, os, sys
    from base import write
    bound = inspect.signature(kernel.func).bind(*args, **more)
    kernel.func(*args, **more)
    path = os.path.join(os.environ["NKI_ARTIFACTS_DIR"], "kernel.neff")
    write(path, told(kernel), bound.arguments)
    raise RuntimeError("no core")


def told(kernel):
    return {one.name: getattr(kernel, one.name) for one in dataclasses.fields(kernel)
            if one.name != "func"}
'''
MODERN_OPTIONS = '''
import dataclasses
from base import write


@dataclasses.dataclass(frozen=True)
class CompileOptions:
    target: str = "trn1"
    lnc: int = 1
    artifacts_dir: str = None
    output_path: str = "file.neff"
    neuronx_cc_args: tuple = ()
    neuronx_cc_backend_opts: tuple = ("scheduling",)
    address_rotation: bool = True
    enable_barrier_checker: bool = False

    def disable_backend_optimizations(self):
        rest = tuple(one for one in self.neuronx_cc_backend_opts if one != "scheduling")
        return dataclasses.replace(self, neuronx_cc_backend_opts=rest)


def make(options, inputs):
    write(options.output_path, dataclasses.asdict(options), inputs)
'''
MODERN_COMPILED = '''
import dataclasses, inspect, os
import nki
from base import write


@dataclasses.dataclass(frozen=True)
class CompileKernel(nki.Kernel):
    artifacts_dir: str = None
    _executor: object = None

    def _compile_opts(self):
        from nki.compiler.ncc_driver import CompileOptions
        options = CompileOptions(lnc=self.lnc, address_rotation=self.address_rotation,
                                 enable_barrier_checker=self.barrier_check)
        more = ("schedule=%s" % self.schedule,) if self.schedule else ()
        options = dataclasses.replace(
            options, neuronx_cc_backend_opts=options.neuronx_cc_backend_opts + more)
        return options if self._enable_backend_opt else options.disable_backend_optimizations()
'''
MODERN_BASE = '''
import inspect
def write(path, told, inputs):
    import json
    values = {name: "tensor" if getattr(value, "shape", None) else value
              for name, value in inputs.items()}
    with open(path, "w") as file:
        json.dump(dict(told, inputs=values), file, default=str)
'''
BY_SEAM = {
    "nir": {"nki/compiler/ncc_driver.py": '''
def compile_bir_to_neff(options, bir, input_arrays, argument_names, output_arg_names):
    make(options, bir)
''', "nki/framework/compiled.py": '''

def compile_kernel_to_nir(kernel, *, inputs, compile_opts, enable_cache=True):
    kernel.func(**inputs)
    return inputs
'''},
    "bir": {"nki/compiler/frontend.py": "class TracerFrontend:\n    pass\n",
            "nki/compiler/driver.py": '''
from nki.compiler.ncc_driver import make
def compile_to_bir(kernel, *, frontend, inputs, compile_opts):
    kernel.func(**inputs)
    return inputs, None
def compile_bir_to_neff(options, bir, arrays, in_names, out_names):
    make(options, bir)
'''},
    "frontend": {"nki/compiler/ncc_driver.py": '''
class CompiledKernel:
    @staticmethod
    def from_frontend(result, options):
        make(options, result)
''', "nki/compiler/frontend.py": '''
class ParserFrontend:
    def compile(self, kernel, inputs, target, lnc, artifacts_dir):
        kernel.func(**inputs)
        return inputs
'''},
    "context": {"nki/compiler/ncc_driver.py": '''
class CompiledKernel:
    @staticmethod
    def from_frontend(result, options):
        make(options, result)
''', "nki/compiler/frontend.py": '''
class TracerFrontend:
    def compile(self, context, kernel, *, inputs, target, lnc, artifacts_dir):
        kernel.func(**inputs)
        return inputs
''', "nki/compiler/driver.py": '''
import contextlib
def compile_to_bir(*other):
    with nki_ir_context():
        raise TypeError("compile_to_bir() takes other arguments here")
@contextlib.contextmanager
def nki_ir_context():
    yield 1
'''},
    "executor": {"nki/framework/compiled.py": '''
    def __call__(self, *args, **more):
        bound = inspect.signature(self.func).bind(*args, **more)
        self.func(*args, **more)
        path = os.path.join(self.artifacts_dir, "kernel.neff")
        options = dataclasses.replace(self._compile_opts(), output_path=path)
        write(path, dataclasses.asdict(options), bound.arguments)
        raise RuntimeError("no core")
'''},
    "call": {"nki/__init__.py": MODERN_LAUNCH},
}
MODERN = sorted(BY_SEAM)


def modern(seam, options_told=True):
    """The modules of a current SDK that has this seam. options_told False: the kernel's launch does
    not make the compiler's options."""
    files = {"nki/__init__.py": MODERN_INIT, "nki/compiler/ncc_driver.py": MODERN_OPTIONS,
             "nki/framework/compiled.py": MODERN_COMPILED,
             "nki/compiler/driver.py": "", "base.py": MODERN_BASE}
    if seam == "call" or not options_told:
        files["nki/framework/compiled.py"] = ""
    for name, text in BY_SEAM[seam].items():
        files[name] = files.get(name, "") + text
    return files
