# SPDX-License-Identifier: Apache-2.0
"""The one part of the runner that imports an SDK. It runs in the Python of the environment, one
process for one kernel: compiles it by the first way that this release has, or runs it in process
where a release has no other way. Requests and answers are files; what the SDK prints is the
stage's output.

The compile seams of NKI moved in every release. Each function below is one of them; a seam that is
not there (ImportError, a changed signature) gives way to the next, an error in the kernel does
not."""

import glob
import inspect
import json
import os
import re
import subprocess
import sys
import traceback

from . import arrays, source

MAX_TEXT = 200000
OTHER_SIGNATURE = re.compile(r"\(\) (?:got an unexpected keyword argument|missing \d+ required "
                             r"|takes \d+ positional)")
OTHER_OBJECT = re.compile(r"'(?:Kernel|function|GenericKernel)' object has no attribute")


class NotHere(Exception):
    """This seam does not exist in this release, or needs what is not known."""


class Call:
    """A kernel with its arguments. raw: the function below the decorator."""

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
        self.kernel = self.raw = None

    def load(self):
        """Runs the file; its errors are the kernel's."""
        import importlib.util
        spec = importlib.util.spec_from_file_location("kernel", self.path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["kernel"] = module
        spec.loader.exec_module(module)
        self.kernel = getattr(module, self.node.name)
        self.raw = self.kernel
        for _ in range(4):
            below = getattr(self.raw, "func", None) or getattr(self.raw, "__wrapped__", None)
            if below is None or not callable(below):
                break
            self.raw = below

    def bound(self):
        """The arguments by the names of the parameters."""
        return dict(inspect.signature(self.raw).bind(*self.arguments).arguments)

    def with_lnc(self):
        """The kernel as it is launched: kernel[lnc], where it is an object that takes one."""
        if self.lnc == 1 or not hasattr(self.kernel, "__getitem__"):
            return self.kernel
        return self.kernel[self.lnc]


# ------------------------------------------------------------------------- what a compile tells


def spec_row(spec):
    """{"name", "dtype", "shape"} of a tensor spec: an object, or a (name, ...) pair."""
    if isinstance(spec, (tuple, list)):
        name, rest = spec[0], spec[1] if len(spec) > 1 else None
        return {"name": str(name), "dtype": arrays.dtype_name(getattr(rest, "dtype", None)),
                "shape": shape_of(rest)}
    return {"name": str(spec.name), "dtype": arrays.dtype_name(getattr(spec, "dtype", None)),
            "shape": shape_of(spec)}


def shape_of(spec):
    shape = getattr(spec, "shape", None)
    return [int(size) for size in shape] if shape is not None else None


def described(compiled):
    """Inputs and outputs of a compiled kernel, where its object tells them. Outputs that alias an
    input carry that input's name in the NEFF."""
    rows = {"inputs": None, "outputs": None}
    for key, name in (("inputs", "input_specs"), ("outputs", "output_specs")):
        specs = getattr(compiled, name, None)
        if specs is None:
            specs = getattr(getattr(compiled, "descriptor", None), name, None)
        if specs:
            rows[key] = [spec_row(spec) for spec in specs]
    aliases = getattr(compiled, "input_output_aliases", None)
    if callable(aliases):
        aliases = aliases()
    for index, name in (aliases.items() if isinstance(aliases, dict) else ()):
        if rows["outputs"] and isinstance(index, int) and index < len(rows["outputs"]):
            rows["outputs"][index]["alias"] = str(name)
    return rows


def described_by(results):
    """Outputs as far as the returned arrays tell: types and shapes, no names."""
    if results is None:
        return None
    several = results if isinstance(results, (tuple, list)) else [results]
    return [{"name": "", "dtype": arrays.dtype_name(getattr(one, "dtype", None)),
             "shape": shape_of(one)} for one in several]


def find_neff(folder):
    found = glob.glob(os.path.join(folder, "**", "*.neff"), recursive=True)
    return min(found, key=lambda path: (os.path.basename(path) != "kernel.neff", len(path)),
               default=None)


# ---------------------------------------------------------------------------------- the seams


def options_of(call, folder):
    from nki.compiler.ncc_driver import CompileOptions
    fields = {"target": call.target, "lnc": call.lnc, "artifacts_dir": folder,
              "output_path": os.path.join(folder, "kernel.neff")}
    if call.flags:
        fields["neuronx_cc_args"] = tuple(call.flags)
    options = CompileOptions(**fields)
    plain = getattr(options, "disable_backend_optimizations", None)     # as @nki.jit itself does
    return plain() if plain else options


def to_neff(compile_bir_to_neff, options, bir):
    """The second half: from the compiler's representation to a NEFF."""
    names = [[row["name"] for row in described(bir)[key] or []] for key in ("inputs", "outputs")]
    try:
        return compile_bir_to_neff(options, bir, input_arrays=[], argument_names=names[0],
                                   output_arg_names=names[1])
    except TypeError as problem:
        if not is_ours(problem):
            raise
    return compile_bir_to_neff(bir, options)


def seam_nir(call, folder):
    from nki.framework.compiled import compile_kernel_to_nir
    options = options_of(call, folder)
    nir = compile_kernel_to_nir(call.with_lnc(), inputs=call.bound(), compile_opts=options,
                                enable_cache=False)
    from nki.compiler import ncc_driver
    if hasattr(ncc_driver, "compile_bir_to_neff"):
        compiled = to_neff(ncc_driver.compile_bir_to_neff, options, nir)
    else:
        from nki.compiler.driver import _compile_bir_to_neff
        compiled = _compile_bir_to_neff(nir, options, call.bound())
    return described(compiled) if compiled is not None else described(nir)


def flags_by_environment(call):
    """For seams that take no flags themselves: the compiler's driver reads these."""
    if call.flags:
        os.environ["NEURON_CC_FLAGS"] = " ".join(call.flags)


def seam_executor(call, folder):
    """The kernel's own launch with an executor of ours in place of the device."""
    from nki.framework.compiled import CompileKernel
    flags_by_environment(call)
    caught = []

    def executor(compiled, *rest, **options):
        caught.append(compiled)

    kernel = CompileKernel(func=call.raw, artifacts_dir=folder, _executor=executor, **lnc_of(call))
    try:
        kernel(*call.arguments)
    except Exception:
        if not caught and not find_neff(folder):
            raise
    return described(caught[0]) if caught else {}


def lnc_of(call):
    return {} if call.lnc == 1 else {"lnc": call.lnc}


def seam_simulation(call, folder):
    """Compiles and runs the compiler's simulator, which is slow for large kernels."""
    from nki.framework.compiled import CompileKernel
    flags_by_environment(call)
    kernel = CompileKernel(func=call.raw, artifacts_dir=folder, _enable_simulation=True,
                           **lnc_of(call))
    try:
        return {"outputs": described_by(kernel(*call.arguments))}
    except Exception:
        if not find_neff(folder):
            raise
    return {}


def seam_frontend(call, folder):
    from nki.compiler.frontend import ParserFrontend
    from nki.compiler.ncc_driver import CompiledKernel
    options = options_of(call, folder)
    traced = ParserFrontend().compile(call.kernel, inputs=call.bound(), target=call.target,
                                      lnc=call.lnc, artifacts_dir=folder)
    return described(CompiledKernel.from_frontend(traced, options))


def seam_bir(call, folder):
    from nki.compiler.driver import compile_bir_to_neff, compile_to_bir
    options = options_of(call, folder)
    bir = compile_to_bir(call.with_lnc(), inputs=call.bound(), compile_opts=options)
    return described(to_neff(compile_bir_to_neff, options, bir))


def seam_ir(call, folder):
    """NKI 0.1 and 0.2: the compiler's own entry point, which must be told the outputs."""
    from neuronxcc.nki_standalone import NKI_IR_VERSION, compile_nki_ir_kernel_to_neff
    hints = call.request.get("outputs")
    names = source.returned_names(call.node)
    if not hints or len(hints) != len(names):
        raise NotHere("the shapes of the outputs are not known beforehand")

    class Stub:
        def __init__(self, name, hint):
            self.name, self.shape = name, list(hint["shape"])
            self.dtype = arrays.numpy_dtype(hint["dtype"])

    outputs = [Stub(name or "output_%d" % i, hint)
               for i, (name, hint) in enumerate(zip(names, hints))]
    compile_nki_ir_kernel_to_neff(call.raw, call.bound(), outputs, call.target, call.lnc, folder,
                                  NKI_IR_VERSION.beta2, " ".join(call.flags))
    return {"outputs": [{"name": one.name, "dtype": hint["dtype"], "shape": one.shape}
                        for one, hint in zip(outputs, hints)]}


def seam_call(call, folder):
    """The documented launch with numpy arrays and NKI_ARTIFACTS_DIR (set before this process
    began): without a core it fails after the NEFF was written."""
    import nki                                      # noqa: F401 - the release must have it
    flags_by_environment(call)
    kept = os.environ.get("NKI_ARTIFACTS_DIR")
    if not callable(call.kernel) or call.kernel is call.raw and not hasattr(call.kernel, "func"):
        raise NotHere("the kernel is no object that can be launched")
    try:
        return {"outputs": described_by(call.with_lnc()(*call.arguments))}
    except Exception:
        if not find_neff(kept or folder):
            raise
    return {}


def legacy_launch(call, entry, options):
    """Launches the kernel by an entry point of the legacy namespace, as it is decorated or, where
    that is not taken, the function below; the object that was called, and its result."""
    import neuronxcc.nki as nki
    kernels = [call.kernel] + ([call.raw] if call.raw is not call.kernel else [])
    for kernel in kernels:
        try:
            launch = getattr(nki, entry)(**options)(kernel)
            return launch, launch(*call.arguments)
        except (TypeError, AttributeError) as problem:
            if kernel is kernels[-1] or not is_missing(problem, call) or find_neff("."):
                raise


def legacy_flags(call):
    return {"additional_compile_opt": " ".join(call.flags)} if call.flags else {}


def seam_baremetal(call, folder):
    """The legacy namespace: compiles, writes the NEFF, then wants a device. Old releases have no
    artifacts_dir; the NEFF then lands in the working folder, which is this one."""
    options = dict(legacy_flags(call), save_neff_name="file.neff")
    try:
        try:
            results = legacy_launch(call, "baremetal", dict(options, artifacts_dir=folder))[1]
        except TypeError as problem:
            if not OTHER_SIGNATURE.search(str(problem)):
                raise
            results = legacy_launch(call, "baremetal", options)[1]
        return {"outputs": described_by(results)}
    except Exception:
        if not find_neff(folder):
            raise
    return {}


SEAMS = {"nir": seam_nir, "executor": seam_executor, "simulation": seam_simulation,
         "frontend": seam_frontend, "bir": seam_bir, "ir": seam_ir, "call": seam_call,
         "baremetal": seam_baremetal}


# ------------------------------------------------------------------------------------- errors


def is_ours(problem):
    """An exception raised where this file calls the SDK, not within: the call does not fit."""
    frames = traceback.extract_tb(problem.__traceback__)
    return bool(frames) and os.path.basename(frames[-1].filename) == os.path.basename(__file__)


def is_missing(problem, call):
    """An exception that says that a seam is not there, and nothing about the kernel."""
    if isinstance(problem, NotHere):
        return True
    frames = traceback.extract_tb(problem.__traceback__)
    if any(frame.filename == call.path for frame in frames) or call.path in str(problem):
        return False
    if isinstance(problem, (ImportError, NotImplementedError)):
        return True
    if isinstance(problem, TypeError) and OTHER_SIGNATURE.search(str(problem)):
        return True
    if isinstance(problem, AttributeError) and OTHER_OBJECT.search(str(problem)):
        return True
    own = os.path.basename(__file__)
    return isinstance(problem, (TypeError, AttributeError)) and \
        all(os.path.basename(frame.filename) == own for frame in frames)


def trace_of(problem):
    """The traceback as text, without this file's own frames at its start."""
    trace = problem.__traceback__
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(problem), problem, trace))


def error_of(problem):
    text = trace_of(problem)
    said = {}
    if isinstance(problem, subprocess.CalledProcessError):
        said = {"status": problem.returncode}
        for name in ("stdout", "stderr"):
            value = getattr(problem, name, None)
            value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            said[name] = (value or "")[-MAX_TEXT:]
            sys.stderr.write(said[name])
    sys.stderr.write(text[-MAX_TEXT:])
    return dict(said, type=type(problem).__name__, message=str(problem)[:MAX_TEXT],
                text=text[-MAX_TEXT:])


# -------------------------------------------------------------------------------- the requests


def prepare(request):
    """(call, None) or (None, answer) for a kernel that cannot even be looked at."""
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
    except BaseException as problem:                # a kernel's file may even exit
        return None, dict(about, ok=False, kind="kernel", error=error_of(problem))
    return call, about


def do_compile(request):
    call, about = prepare(request)
    if call is None:
        return about
    tried, last = [], None
    for name in request["ways"][call.dialect]:
        folder = request["folder"] if name == "call" else os.path.join(request["folder"], name)
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        try:
            found = SEAMS[name](call, folder)
        except Exception as problem:
            if not is_missing(problem, call):
                return dict(about, ok=False, kind="kernel", error=error_of(problem), tried=tried,
                            seam=name)
            last = problem
            why = "%s: %s" % (type(problem).__name__, str(problem)[:300])
            tried.append({"seam": name, "why": why})
            continue
        neff = find_neff(folder)
        if neff:
            return dict(about, ok=True, seam=name, neff=neff, tried=tried,
                        inputs=found.get("inputs"), outputs=found.get("outputs"))
        tried.append({"seam": name, "why": "it left no NEFF"})
    return dict(about, ok=False, kind="seams", tried=tried, error=last and error_of(last))


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
            results = call.with_lnc()(*call.arguments)
        return dict(about, ok=True, outputs=store_results(results, request["results"], None))
    except Exception as problem:
        return dict(about, ok=False, kind="run", error=error_of(problem))


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
        return dict(about, ok=False, kind="run", error=error_of(problem))


def percentile(result):
    """p50 of a benchmark_result; None when it tells none (its table on stdout may)."""
    try:
        return float(result.nc_latency.get_latency_percentile(50))
    except (AttributeError, TypeError, ValueError):
        pass
    try:
        return float(result.full_results["nc_latency"]["50"])
    except (AttributeError, TypeError, KeyError, ValueError):
        return None


OPERATIONS = {"compile": do_compile, "call": do_call, "benchmark": do_benchmark}


def main(arguments):
    """OPERATION REQUEST ANSWER, the last two being files of JSON."""
    operation, request_path, answer_path = arguments
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]
    answer = OPERATIONS[operation](request)
    with open(answer_path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(answer_path + ".tmp", answer_path)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)             # an SDK's exit handlers have been seen to hang or abort
