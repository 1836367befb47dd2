# SPDX-License-Identifier: Apache-2.0
"""The seams: the ways from a kernel to a NEFF in the releases of the SDK, each with a function and
a row of a table. They changed in every release. If a seam is missing or has another form, the next
one is tried (blame.py decides); an error in the kernel is final.

Shapes by release, from public programs that drive them (nki-library, nki-autotune, nkipy, autocomp)
and the NKI documentation. `nki` of 0.3 came with SDK 2.29, and so on: releases.def."""

import collections
import contextlib
import copy
import dataclasses
import inspect
import os

from hone_runner import releases

from . import arrays, source
from .blame import NotHere, is_missing, is_ours
from .call import UNKNOWN, object_fields
from .told import described, described_by, find_neff, first_telling

SHAPES = (ImportError, TypeError, AttributeError)
# Options of the decorator that have another name elsewhere.
PLACES = {"barrier_check": ("barrier_check", "enable_barrier_checker")}


# ------------------------------------------------------------------------------- the options


def takes(kind):
    """The names of the parameters that a class or function takes."""
    try:
        return set(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        return set()


def placed(call, kind):
    """The kernel's own options as keywords for `kind`. An option that `kind` does not take, or
    whose value is unknown, must not get lost: then the seam cannot be used for this kernel."""
    names, found = takes(kind), {}
    for name, value in call.options().items():
        place = next((one for one in PLACES.get(name, (name,)) if one in names), None)
        if place is None or value is UNKNOWN:
            raise NotHere("it cannot be given the decorator's option %s" % name)
        found[place] = value
    return found


def as_kind(call, kind, **fields):
    """The decorated kernel as another class of launch, with all options of its decorator."""
    kernel = call.with_lnc()
    convert = getattr(kernel, "_to_subclass", None)
    if convert:
        try:
            return convert(kind, **fields)
        except TypeError as problem:
            if not is_ours(problem):
                raise
    kept = {field.name: getattr(kernel, field.name) for field in object_fields(kernel)}
    if not kept:
        kept = dict(placed(call, kind), **({} if call.lnc == 1 else {"lnc": call.lnc}))
    return kind(func=call.raw, **dict(kept, **fields))


def own_options(call, folder):
    """The compiler's options as the kernel's own launch makes them; None if they are unknown."""
    try:
        from nki.framework.compiled import CompileKernel
        tell = getattr(as_kind(call, CompileKernel, artifacts_dir=folder), "_compile_opts", None)
        return tell() if tell else None
    except NotHere:
        return None
    except SHAPES as problem:
        if not is_missing(problem, call.path):
            raise
        return None


def with_fields(options, fields):
    """A copy of options with other values in those of the fields that it has."""
    fields = {name: value for name, value in fields.items() if hasattr(options, name)}
    if dataclasses.is_dataclass(options):
        return dataclasses.replace(options, **fields)
    options = copy.copy(options)
    for name, value in fields.items():
        setattr(options, name, value)
    return options


def options_of(call, folder):
    """CompileOptions as @nki.jit makes them for this kernel, to compile into `folder`: those of its
    decorator, the job's target and flags, and the back end's optimisations switched off unless the
    kernel wants them. With default options another program would be compiled than the one that
    ships."""
    from nki.compiler.ncc_driver import CompileOptions
    fields = {"target": call.target, "lnc": call.lnc, "artifacts_dir": folder,
              "output_path": os.path.join(folder, "kernel.neff")}
    own = own_options(call, folder)
    flags = tuple(getattr(own, "neuronx_cc_args", None) or ()) + tuple(call.flags)
    if flags:
        fields["neuronx_cc_args"] = flags
    options = with_fields(own, fields) if own is not None else \
        CompileOptions(**dict(placed(call, CompileOptions), **fields))
    plain = getattr(options, "disable_backend_optimizations", None)
    wanted = getattr(call.kernel, "_enable_backend_opt", False)
    return plain() if plain and not wanted else options


def flags_by_environment(call):
    """For seams that take no flags themselves: the compiler's driver appends these."""
    if call.flags:
        before = os.environ.get("NEURON_CC_FLAGS", "")
        os.environ["NEURON_CC_FLAGS"] = " ".join([before] * bool(before) + call.flags)


# -------------------------------------------------------------------------- parts of the ways


def kernel_object(call):
    """The kernel as an object of nki.jit's, also where its file does not decorate it."""
    if call.kernel is not call.raw:
        return call.with_lnc()
    import nki
    return nki.jit(call.raw)


def ir_context():
    """The context that the intermediate representation of 0.4 and newer belongs to; where it is
    no name of its own, the driver's compile_to_bir uses it."""
    try:
        from nki._backends.context import nki_ir_context
        return nki_ir_context
    except ImportError:
        pass
    from nki.compiler import driver
    found = getattr(driver, "nki_ir_context", None) or \
        getattr(driver.compile_to_bir, "__globals__", {}).get("nki_ir_context")
    if found is None:
        raise NotHere("there is no nki_ir_context")
    return found


def front_end(*names):
    """The first front end that exists."""
    from nki.compiler import frontend
    kind = next((getattr(frontend, name) for name in names if hasattr(frontend, name)), None)
    if kind is None:
        raise NotHere("nki.compiler.frontend has neither of " + ", ".join(names))
    return kind()


def to_nir(call, options):
    """0.6: what the front end makes of a kernel, a NirResult; needs no device and no back end."""
    from nki.framework.compiled import compile_kernel_to_nir
    call.lowered = compile_kernel_to_nir(call.with_lnc(), inputs=call.bound(),
                                         compile_opts=options, enable_cache=False)
    return call.lowered


def to_neff(compile_bir_to_neff, call, options, bir, about):
    """The second half: from the compiler's representation to a NEFF. about: what tells names."""
    rows, tensors = described(about), call.tensors()
    given, outputs = [[row["name"] for row in rows[key] or []] for key in ("inputs", "outputs")]
    names = given if len(given) == len(tensors) else list(tensors)
    values = [tensors[name] for name in names] if set(names) == set(tensors) else \
        list(tensors.values())
    try:
        return compile_bir_to_neff(options, bir, values, names, outputs)
    except TypeError as problem:
        if not is_ours(problem):
            raise
    return compile_bir_to_neff(bir, options, call.bound())


# ---------------------------------------------------------------------------------- the seams


def seam_nir(call, folder):
    from nki.compiler import ncc_driver
    options = options_of(call, folder)
    nir = to_nir(call, options)
    if hasattr(ncc_driver, "compile_bir_to_neff"):
        return first_telling(to_neff(ncc_driver.compile_bir_to_neff, call, options, nir, nir), nir)
    from nki.compiler.driver import _compile_bir_to_neff
    return first_telling(_compile_bir_to_neff(nir, options, call.bound()), nir)


def seam_bir(call, folder):
    """0.4 and 0.5: compile_to_bir returns a pair; later it returned the NirResult alone."""
    from nki.compiler import driver
    options = options_of(call, folder)
    made = driver.compile_to_bir(kernel_object(call),
                                 frontend=front_end("TracerFrontend", "ParserFrontend"),
                                 inputs=call.bound(), compile_opts=options)
    bir, about = made if isinstance(made, tuple) and len(made) == 2 else (made, made)
    call.lowered = about
    to = getattr(driver, "compile_bir_to_neff", None)
    if to is None:
        raise NotHere("nki.compiler.driver has no compile_bir_to_neff")
    return first_telling(to_neff(to, call, options, bir, about), about)


def from_frontend(call, options, traced):
    """The compiled kernel of what a front end returned. Releases that compile at this point need
    the tensors."""
    from nki.compiler.ncc_driver import CompiledKernel
    more = {"tensor_inputs": call.tensors()} \
        if "tensor_inputs" in takes(CompiledKernel.from_frontend) else {}
    return first_telling(CompiledKernel.from_frontend(traced, options, **more), traced)


def seam_frontend(call, folder):
    """0.3: a front end without a context."""
    parser, options = front_end("ParserFrontend"), options_of(call, folder)
    traced = parser.compile(kernel_object(call), inputs=call.bound(), target=call.target,
                            lnc=call.lnc, artifacts_dir=folder)
    return from_frontend(call, options, traced)


def seam_context(call, folder):
    """0.4 to 0.6: a front end within a context, to which what it returns belongs: the NEFF is made
    before the context ends."""
    options, tracer = options_of(call, folder), front_end("TracerFrontend", "ParserFrontend")
    with ir_context()() as context:
        traced = tracer.compile(context, kernel_object(call), inputs=call.bound(),
                                target=call.target, lnc=call.lnc, artifacts_dir=folder)
        return from_frontend(call, options, traced)


@contextlib.contextmanager
def forgiving(folder):
    """Exceptions after the NEFF was written do not matter: nothing is run here."""
    try:
        yield
    except Exception:
        if not find_neff(folder):
            raise


def seam_executor(call, folder):
    """The kernel's own launch with an executor of ours in place of the device."""
    from nki.framework.compiled import CompileKernel
    flags_by_environment(call)
    caught = []

    def executor(compiled, *rest, **options):
        caught.append(compiled)

    kernel = as_kind(call, CompileKernel, artifacts_dir=folder, _executor=executor)
    try:
        call.launch(kernel)
    except Exception:
        if not caught and not find_neff(folder):
            raise
    return described(caught[0]) if caught else {}


def seam_simulation(call, folder):
    """Compiles and runs the compiler's simulator, which is slow for large kernels."""
    from nki.framework.compiled import CompileKernel
    flags_by_environment(call)
    kernel = as_kind(call, CompileKernel, artifacts_dir=folder, _enable_simulation=True)
    with forgiving(folder):
        return {"outputs": described_by(call.launch(kernel))}
    return {}


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
        raise NotHere("the kernel is not an object that can be launched")
    with forgiving(kept or folder):
        return {"outputs": described_by(call.launch(call.with_lnc()))}
    return {}


def legacy_launch(call, entry, options):
    """Launches the kernel by an entry point of the legacy namespace, as it is decorated or, where
    that is not taken, the function below; the object that was called, and its result."""
    import neuronxcc.nki as nki
    kernels = [call.kernel] + ([call.raw] if call.raw is not call.kernel else [])
    for kernel in kernels:
        try:
            launch = getattr(nki, entry)(**options)(kernel)
            return launch, call.launch(launch)
        except (TypeError, AttributeError) as problem:
            if kernel is kernels[-1] or not is_missing(problem, call.path) or find_neff("."):
                raise


def legacy_flags(call):
    return {"additional_compile_opt": " ".join(call.flags)} if call.flags else {}


def seam_baremetal(call, folder):
    """The legacy namespace: compiles, writes the NEFF, then wants a device. Old releases have no
    artifacts_dir; the NEFF then lands in the working folder, which is this one."""
    options = dict(legacy_flags(call), save_neff_name="file.neff")
    with forgiving(folder):
        try:
            results = legacy_launch(call, "baremetal", dict(options, artifacts_dir=folder))[1]
        except TypeError as problem:
            if not is_missing(problem, call.path) or "artifacts_dir" not in str(problem):
                raise
            results = legacy_launch(call, "baremetal", options)[1]
        return {"outputs": described_by(results)}
    return {}


# ---------------------------------------------------------------------------------- the table

# first, last: the SDK lines a seam was seen on, of releases.def (last None: every later one, too).
# compile: a function of (Call, folder) that leaves a NEFF below the folder and returns what is told
# of inputs and outputs. what: the calls it makes, for people.
Seam = collections.namedtuple("Seam", "name first last compile what")


def seam(name, compile_it, what):
    return Seam(name, *releases.span_of(name), compile_it, what)


TABLE = (
    seam("nir", seam_nir, "compile_kernel_to_nir and compile_bir_to_neff"),
    seam("bir", seam_bir, "compile_to_bir and compile_bir_to_neff"),
    seam("frontend", seam_frontend, "ParserFrontend and CompiledKernel"),
    seam("context", seam_context, "a front end within nki_ir_context, and CompiledKernel"),
    seam("executor", seam_executor, "CompileKernel with an executor of hone's"),
    seam("simulation", seam_simulation, "CompileKernel with the simulator"),
    seam("call", seam_call, "the numpy call with NKI_ARTIFACTS_DIR"),
    seam("ir", seam_ir, "neuronxcc.nki_standalone"),
    seam("baremetal", seam_baremetal, "neuronxcc.nki.baremetal"),
)
SEAMS = {row.name: row for row in TABLE}
