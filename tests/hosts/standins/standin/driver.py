# SPDX-License-Identifier: Apache-2.0
"""nki.compiler and what else goes from a kernel to a NEFF in steps, in the shape that each release
has: a front end without a context (0.3) and within one, compile_to_bir with a pair (0.4, 0.5), the
NirResult (0.6)."""

import contextlib
import dataclasses
import os
import signal

from standin import compiler, host, model, neff, opinion

NKI = host.LINE["nki"] or ""


def moved(name):
    """Fails as a part of the toolchain does that was changed and calls another part as it was
    before."""
    if name in (host.switch("other_shape") or ()):
        lower(None, ())


def lower(module, passes):
    return module.run(passes)


class Spec:
    """Name, shape and type of a tensor of a compiled kernel."""

    def __init__(self, name, shape=None, dtype=None):
        self.name, self.shape, self.dtype = name, shape, dtype


@dataclasses.dataclass(frozen=True)
class CompileOptions:
    target: str = "trn1"
    lnc: int = 1
    verbose: bool = False
    verbose_neuronx_cc: bool = False
    artifacts_dir: object = None
    neuronx_cc_args: tuple = ()
    neuronx_cc_backend_opts: tuple = ()
    output_path: str = "file.neff"
    address_rotation: bool = True
    enable_barrier_checker: bool = False
    schedules: bool = True              # the back end's own; @nki.jit switches it off

    def __post_init__(self):
        if self.target not in model.GENERATIONS:
            raise ValueError("unknown target %s" % self.target)

    def disable_backend_optimizations(self):
        return dataclasses.replace(self, schedules=False)

    def told(self):
        """What is unusual, for the diary."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(self)
                if one.name not in ("target", "lnc", "artifacts_dir", "output_path")
                and getattr(self, one.name) != one.default}


class Context:
    """The context to which modules belong, and with which they end."""

    alive = True


@contextlib.contextmanager
def nki_ir_context():
    context = Context()
    try:
        yield context
    finally:
        context.alive = False


# ---------------------------------------------------------------------------------- front ends


class Frontend:
    """nki.compiler.frontend.ParserFrontend and TracerFrontend."""

    if NKI < "0.4":
        def compile(self, kernel, inputs=None, target="trn1", lnc=1, artifacts_dir=None,
                    dump_python_ast=False, output_names=None):
            moved("frontend")
            return Traced(compiler.Job(kernel.func, dict(inputs), lnc, target,
                                       by="frontend").trace())
    else:
        def compile(self, context, kernel, *, inputs, target="trn1", lnc=1, artifacts_dir=None,
                    output_names=None):
            if not isinstance(context, Context):
                raise TypeError("compile(): incompatible function arguments: a context is wanted")
            moved("context")
            return Traced(compiler.Job(kernel.func, dict(inputs), lnc, target,
                                       by="context").trace(), context)


class Traced:
    """What a front end returns, under the several names it has had."""

    def __init__(self, traced, context=None):
        self.traced, self.context = traced, context
        inputs = [Spec(**row) for row in traced["info"]["inputs"]]
        outputs = specs_of(traced["source"], traced["info"])
        self.descriptor = type("Descriptor", (), {"input_specs": inputs, "output_specs": outputs})()
        self.mlir_time = 0.01

    @property
    def module(self):
        if self.context is not None and not self.context.alive:
            raise RuntimeError("the module was destroyed with its context")
        return self.traced


# ------------------------------------------------------------------------------------ back end


class CompiledKernel:
    """nki.compiler.ncc_driver.CompiledKernel."""

    def __init__(self, neff_path, artifacts_dir=None, output_specs=(), input_output_aliases=None):
        self.neff_path, self.artifacts_dir = neff_path, artifacts_dir
        self.output_specs = list(output_specs)
        self.input_output_aliases = input_output_aliases or {}

    @staticmethod
    def from_frontend(frontend_result, compile_opts, frontend_time=0.0, tensor_inputs=None):
        if NKI >= "0.6" and tensor_inputs is None:
            raise ValueError("tensor_inputs required")
        return to_neff(frontend_result, compile_opts)


def to_neff(made, options):
    made.module["info"]["told"] = {name: str(value) for name, value in options.told().items()}
    with compiler.work(options.artifacts_dir) as folder:
        path = os.path.join(folder, options.output_path)
        compiler.backend(made.module, folder, path)
        return compiled_of(path, folder)


def specs_of(source, info):
    """What comes out. On lines whose objects say no more, only names."""
    if not host.LINE["nrtpy"]:
        return [Spec("output_0")]

    class Neff:
        pass
    Neff.source, Neff.info = source, info
    try:
        found = model.execute(Neff, {})
    except model.Unusable:
        return [Spec("output_0")]
    return [Spec("output_%d" % i, array.shape, dtype) for i, (dtype, array) in enumerate(found)]


def compiled_of(path, folder):
    made = neff.Neff(path)
    return CompiledKernel(path, folder, specs_of(made.source, made.info))


# -------------------------------------------------------------------------------------- drivers


def compile_to_bir(kernel, *, frontend, inputs, compile_opts, output_names=None):
    """nki.compiler.driver.compile_to_bir of 0.4 and 0.5: (bir, what the front end found)."""
    moved("driver")
    with nki_ir_context() as context:
        found = frontend.compile(context, kernel, inputs=inputs, target=compile_opts.target,
                                 lnc=compile_opts.lnc, output_names=output_names)
    found.context = None            # by now its BIR is a file
    return found, found


def compile_bir_to_neff(compile_opts, bir, input_arrays, argument_names, output_arg_names):
    """nki.compiler.driver.compile_bir_to_neff of 0.4 and 0.5."""
    wanted = [spec.name for spec in bir.descriptor.input_specs]
    if list(argument_names) != wanted or len(input_arrays) != len(wanted):
        raise ValueError("arguments are %s, not %s" % (wanted, argument_names))
    return to_neff(bir, compile_opts)


class NirResult(Traced):
    """What the front half of nki 0.6 returns. Its prediction is computed when it is read."""

    def __init__(self, traced, scheduled):
        super().__init__(traced)
        self.scheduled = scheduled
        for name, value in opinion.predicted(traced["info"], scheduled).items():
            setattr(self, name, value)

    def __getattribute__(self, name):
        if name == "total_time_ns":
            host.note("predict", scheduled=self.scheduled)
            what = host.switch("prediction", self.traced["source"])
            if what == "crashes":
                os.kill(os.getpid(), signal.SIGSEGV)
            if what == "fails":
                raise RuntimeError("latency estimation: no cost is known for an instruction")
            if what == "none":
                return None
        return super().__getattribute__(name)


def compile_kernel_to_nir(kernel_func, *, inputs, compile_opts, frontend=None, enable_cache=True,
                          trace_cache=None):
    """nki.framework.compiled.compile_kernel_to_nir."""
    moved("nir")
    traced = compiler.Job(kernel_func.func, dict(inputs), compile_opts.lnc, compile_opts.target,
                          by="nir").trace()
    return NirResult(traced, compile_opts.schedules)


def _compile_bir_to_neff(nir, compile_opts, tensors):
    """nki.compiler.driver's of 0.6."""
    return to_neff(nir, compile_opts)
