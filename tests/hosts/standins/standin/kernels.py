# SPDX-License-Identifier: Apache-2.0
"""What nki.jit makes of a function, by release, and what can be done with it."""

import dataclasses
import inspect
import json
import os
import subprocess
import time

import numpy as np

from standin import compiler, driver, host, logs, model, neff, runtime

NKI = host.LINE["nki"] or ""
LATER_CALL_S = 0.02         # stands for the 1.3 s of loading and unloading at each call


def bind(function, args, kwargs):
    """{name: value} of a call, with defaults for what was not given."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def to_numpy(name, array):
    """A result as callers get it. Raw codes of types that numpy lacks come back as void."""
    if name in model.CODES and name != "bool_" and array.dtype != np.float32:
        return array.view("V%d" % array.dtype.itemsize)
    return array


def raw(array):
    """An argument's numbers as the device model takes them."""
    return array.view(model.raw_dtype(array.dtype.names[0])) if array.dtype.names else array


def arrays_of(arguments):
    return {name: raw(value) for name, value in arguments.items() if isinstance(value, np.ndarray)}


def run_once(path, arguments):
    """Loads, executes once, unloads."""
    loaded = runtime.Model(neff.Neff(path))
    outputs = [to_numpy(name, array) for name, array in loaded.execute(arrays_of(arguments))]
    loaded.close()
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


# ------------------------------------------------------------------------------------ nki >= 0.3

# Options that the decorator takes, by release. From 0.7 on it takes any other keyword too.
KEYWORDS = ("mode", "lnc", "schedule", "address_rotation", "barrier_check") \
    if "0.6" <= NKI < "0.7" else ("mode",)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The object that nki.jit returns from 0.3 on. lnc None: NEURON_LOGICAL_NC_CONFIG has it."""

    func: object = None
    lnc: object = None
    schedule: object = None
    address_rotation: bool = True
    barrier_check: bool = False
    compile_config: object = None
    specialization_config: object = None

    @property
    def __name__(self):
        return self.func.__name__

    def __getitem__(self, lnc):
        return dataclasses.replace(self, lnc=int(lnc[0] if isinstance(lnc, tuple) else lnc))

    def cores(self):
        return self.lnc or int(os.environ.get("NEURON_LOGICAL_NC_CONFIG") or 1)

    def told(self):
        """What is unusual in its decorator's options, for the diary."""
        return {one.name: getattr(self, one.name) for one in dataclasses.fields(Kernel)
                if one.name not in ("func", "lnc") and getattr(self, one.name) != one.default}

    def __call__(self, *args, **kwargs):
        arguments = bind(self.func, args, kwargs)
        driver.moved("call")
        if not any(isinstance(value, np.ndarray) for value in arguments.values()):
            raise TypeError("nki.jit: cannot tell the framework from the arguments of %s: pass "
                            "torch.Tensor, jax.Array or np.ndarray" % self.func.__name__)
        if os.environ.get("NKI_SIMULATOR") == "1":
            return simulate(self)(*args, **kwargs)
        with compiler.work(os.environ.get("NKI_ARTIFACTS_DIR")) as folder:
            path = os.path.join(folder, "kernel.neff")
            compiler.Job(self.func, arguments, self.cores(), told=self.told(),
                         by="call").build(folder, path)
            time.sleep(LATER_CALL_S)
            return run_once(path, arguments)

    if NKI >= "0.6":
        def _to_subclass(self, kind, **fields):
            mine = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
            return kind(**dict(mine, **fields))
    else:
        def _to_subclass(self, kind):
            return kind(func=self.func, lnc=self.lnc)


def jit(function=None, **options):
    if "platform_target" in options:
        raise TypeError("nki.jit() got an unexpected keyword argument 'platform_target'; set "
                        "NEURON_PLATFORM_TARGET_OVERRIDE instead")
    other = [name for name in options if name not in KEYWORDS]
    if other and NKI < "0.7":
        raise TypeError("nki.jit() got an unexpected keyword argument '%s'" % other[0])
    options.pop("mode", None)
    options.setdefault("lnc", None if NKI >= "0.7" else 1)
    return Kernel(function, **options) if function else lambda one: Kernel(one, **options)


def simulate(kernel):
    """The simulator: the same numbers, without a device."""
    func = kernel.func if hasattr(kernel, "func") else kernel

    def call(*args, **kwargs):
        arguments = bind(func, args, kwargs)
        job = compiler.Job(func, arguments, getattr(kernel, "lnc", None) or 1)
        traced = job.trace()

        class Neff:
            source, info = traced["source"], traced["info"]
        outputs = [to_numpy(*row) for row in model.execute(Neff, arrays_of(arguments))]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
    return call


@dataclasses.dataclass(frozen=True)
class CompileKernel(Kernel):
    """nki.framework.compiled.CompileKernel: compiles when it is called, and runs nothing."""

    target: object = None
    artifacts_dir: object = None
    _enable_simulation: bool = False

    def __call__(self, *args, **kwargs):
        driver.moved("compile")
        given = self.artifacts_dir or os.environ.get("NKI_ARTIFACTS_DIR")
        with compiler.work(given) as folder:
            path = os.path.join(folder, "kernel.neff")
            job = compiler.Job(self.func, bind(self.func, args, kwargs), self.cores(), self.target,
                               told=self.told(), by="compile")
            job.build(folder, path)
            return driver.compiled_of(path, folder)

    def _compile_opts(self):
        told = ("--schedule=%s" % self.schedule,) if self.schedule else ()
        return driver.CompileOptions(
            target=self.target or "trn2", lnc=self.cores(), artifacts_dir=self.artifacts_dir,
            output_path=os.path.join(self.artifacts_dir or "", "kernel.neff"),
            address_rotation=self.address_rotation, enable_barrier_checker=self.barrier_check,
            neuronx_cc_backend_opts=told).disable_backend_optimizations()


# ----------------------------------------------------------------------------------- nki 0.1, 0.2


class GenericKernel:
    """The object that nki.jit returns in 0.1 and 0.2. Frameworks call it, and nothing else can."""

    def __init__(self, func, platform_target=None, mode=None):
        self.func, self.platform_target = func, platform_target
        self.__name__ = func.__name__

    def __call__(self, *args, **kwargs):
        raise NotImplementedError("nki.jit kernels run through PyTorch or JAX in this release; "
                                  "numpy "
                                  "arguments are not supported")


def jit_framework(function=None, mode=None, platform_target=None):
    if function:
        return GenericKernel(function, platform_target, mode)
    return lambda one: GenericKernel(one, platform_target, mode)


def not_implemented(name):
    def call(*args, **kwargs):
        raise NotImplementedError("nki.%s is not supported in this release" % name)
    return call


def compile_nki_ir_kernel_to_neff(kernel_func, kernel_inputs_dict, kernel_outputs, platform_target,
                                  logical_nc_config, output_directory, version,
                                  additional_compiler_args=""):
    """neuronxcc.nki_standalone: the caller says what comes out, by stubs with name, shape,
    dtype."""
    if version != "beta2":
        raise ValueError("unknown NKI IR version %r" % (version,))
    func = getattr(kernel_func, "func", kernel_func)
    job = compiler.Job(func, dict(kernel_inputs_dict), int(logical_nc_config), platform_target,
                       names=[stub.name for stub in kernel_outputs])
    neff_path = os.path.join(output_directory, "file.neff")
    traced = job.trace()
    if not traced["fault"]:
        check_stubs(traced, kernel_outputs)
    return compiler.backend(traced, output_directory, neff_path)


def check_stubs(traced, stubs):
    """Outputs that are not what the kernel returns. The library's verifier refuses them."""
    class Neff:
        source, info = traced["source"], traced["info"]
    found = model.execute(Neff, {})
    if len(found) != len(stubs):
        raise AssertionError("kernel returns %d tensors, %d outputs were given"
                             % (len(found), len(stubs)))
    for stub, (_, array) in zip(stubs, found):
        if tuple(stub.shape) != array.shape:
            raise AssertionError("output %s: shape %s was given, the kernel returns %s"
                                 % (stub.name, tuple(stub.shape), array.shape))


# ---------------------------------------------------------------------------------- neuronxcc.nki


class TraceKernel:
    """The object neuronxcc.nki.jit returns."""

    def __init__(self, func, grid=None):
        self.func, self.grid = func, grid
        self.__name__ = func.__name__

    def __getitem__(self, grid):
        return TraceKernel(self.func, grid)

    def __call__(self, *args, **kwargs):
        return baremetal(self)(*args, **kwargs)

    def lnc(self):
        """nl.nc(n) in the grid, otherwise one core."""
        grid = self.grid if isinstance(self.grid, tuple) else (self.grid,)
        return next((g.n for g in grid if hasattr(g, "n")), 1)


def legacy_jit(function=None, **options):
    return TraceKernel(function) if function else TraceKernel


def legacy_lnc(kernel, flags):
    found = [part.partition("=")[2] for part in flags.split()
             if part.startswith(("--logical-nc-config=", "--lnc="))]
    return int(found[-1]) if found else kernel.lnc()


def legacy_compile(kernel, args, kwargs, flags, path):
    """The NEFF; a back end that fails is a RuntimeError with the command and its status."""
    kernel.grid                     # what is no kernel of this namespace fails here
    job = compiler.Job(kernel.func, bind(kernel.func, args, kwargs), legacy_lnc(kernel, flags),
                       legacy=True)
    folder = compiler.work_folder()
    try:
        return job.build(folder, os.path.abspath(path))
    except subprocess.CalledProcessError as problem:
        command = "['neuronx-cc', 'compile', '--framework', 'XLA', '--target', '%s', " \
            "'--output=%s']" % (job.info["target"], path)
        how = "died with <Signals.SIGKILL: 9>" if problem.returncode == -9 else \
            "returned non-zero exit status %d" % problem.returncode
        raise RuntimeError("Compilation failed for %s with error Command '%s' %s."
                           % (job.info["kernel"], command, how)) from None


def decorated(function, make):
    """Legacy entry points are used as decorators, with and without arguments."""
    return make(function) if function is not None else make


def baremetal(kernel=None, save_neff_name=None, save_trace_name=None, additional_compile_opt="",
              artifacts_dir=None, disable_allocation_opt=False):
    def make(kernel):
        kernel.grid

        def call(*args, **kwargs):
            path = in_folder(artifacts_dir, save_neff_name or
                             os.path.join(compiler.work_folder(), "file.neff"))
            legacy_compile(kernel, args, kwargs, additional_compile_opt or "", path)
            return run_once(path, bind(kernel.func, args, kwargs))
        return call
    return decorated(kernel, make)


def in_folder(folder, name):
    if folder:
        os.makedirs(folder, exist_ok=True)
    return os.path.abspath(os.path.join(folder or "", name))


class Latency:
    def __init__(self, values):
        self.values = sorted(values)

    def get_latency_percentile(self, percentile):
        at = min(len(self.values) - 1, int(round(percentile / 100 * (len(self.values) - 1))))
        return int(round(self.values[at]))


class BenchmarkResult:
    def __init__(self, device, called):
        self.nc_latency, self.latency = Latency(device), Latency(called)
        self.full_results = {
            name: {str(p): one.get_latency_percentile(p) for p in (0, 1, 10, 25, 50, 90, 99, 100)}
            for name, one in (("nc_latency", self.nc_latency), ("latency", self.latency))}


def benchmark(kernel=None, warmup=10, iters=100, save_neff_name="file.neff",
              save_trace_name="profile.ntff", additional_compile_opt="", device_count=1,
              artifacts_dir=None):
    def make(kernel):
        kernel.grid

        def call(*args, **kwargs):
            path = in_folder(artifacts_dir, save_neff_name)
            legacy_compile(kernel, args, kwargs, additional_compile_opt or "", path)
            tool = os.path.join(host.ROOT, "opt", "aws", "neuron", "bin", "neuron-bench")
            folder = compiler.work_folder()
            subprocess.run([tool, "exec", "--warmup=%d" % warmup, "--work=%d" % iters,
                            "--fixed-nc-count=%d" % device_count, "--output-directory=" + folder,
                            path],
                           check=True)
            with open(os.path.join(folder, "nc_latency_data.json"), encoding="utf-8") as file:
                device = json.load(file)["latency_data"]["0"]
            call.benchmark_result = BenchmarkResult(
                device, [us + runtime.HOST_EXTRA_US for us in device])
        return call
    return decorated(kernel, make)


def profile(kernel=None, working_directory=None, save_neff_name="file.neff",
            save_trace_name="profile.ntff", additional_compile_opt="", overwrite=False,
            profile_nth=1):
    def make(kernel):
        def call(*args, **kwargs):
            path = in_folder(working_directory, save_neff_name)
            legacy_compile(kernel, args, kwargs, additional_compile_opt or "", path)
            tool = os.path.join(host.ROOT, "opt", "aws", "neuron", "bin", "neuron-profile")
            subprocess.run([tool, "capture", "-n", path, "-s",
                            in_folder(working_directory, save_trace_name), "--num-exec",
                            str(profile_nth), "--profile-nth-exec", str(profile_nth)], check=True)
        return call
    return decorated(kernel, make)


def simulate_kernel(kernel, *args, **kwargs):
    job = compiler.Job(kernel.func, bind(kernel.func, args, kwargs), legacy=True)
    traced = job.trace()
    if traced["fault"]:
        raise RuntimeError(traced["fault"])

    class Neff:
        source, info = traced["source"], traced["info"]
    arrays = arrays_of(bind(kernel.func, args, kwargs))
    outputs = [to_numpy(*row) for row in model.execute(Neff, arrays)]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


# --------------------------------------------------------------------------- nrtpy, nki.runtime


class NrtpyError(RuntimeError):
    pass


class NrtError(NrtpyError):
    pass


class Tensor:
    """NrtpyTensor, SpikeTensor."""

    def __init__(self, array, name):
        self.array, self.name = array, name
        self.shape, self.size = array.shape, array.nbytes

    @classmethod
    def from_numpy(cls, array, name=None, core_id=0):
        """A copy, which stays as it is."""
        copy = np.array(array)
        copy.setflags(write=False)
        return cls(copy, name)

    def numpy(self):
        return self.array


class Benchmark:
    def __init__(self, durations, warmup):
        self.durations_ms, self.iterations = durations, len(durations)
        self.warmup_iterations = warmup
        self.mean_ms, self.min_ms = float(np.mean(durations)), min(durations)
        self.max_ms, self.std_dev_ms = max(durations), float(np.std(durations))


class SystemTraceSession:
    """The runtime's events of one core while it is open. Each launch has a start and a stop of each
    physical core, by a clock of its own whose offset nobody knows, and by one that all share."""

    current = None

    def __init__(self, core_id=None):
        if host.switch("trace_taken"):
            raise RuntimeError("Only one subscriber allowed")
        self.core_id, self.events = core_id, []

    def __enter__(self):
        SystemTraceSession.current = self
        return self

    def __exit__(self, *args):
        SystemTraceSession.current = None

    def drain_events(self):
        self.events = []

    def fetch_events_json(self):
        events, self.events = self.events, []
        if host.switch("trace_loses"):
            events = events[:-1]
        return json.dumps({"events": events})

    def add(self, launch, times_us):
        """times_us: of each physical core. The second one begins a little later."""
        rows = []
        for core, us in enumerate(times_us):
            skew, offset = 1000 * core, 7_000_000_000_000 * (core + 1)
            for phase, at in (("start", skew), ("stop", skew + int(us * 1e3))):
                rows.append((at, {
                    "event_type": "nc_exec_running", "phase": phase, "nc_idx": self.core_id,
                    "tracking_id": 100 * launch + core, "timestamp_ns": 10 ** 9 * launch + at,
                    "data": {"exec_id": launch, "device_core_idx": core,
                             "nc_timestamp_ns": 10 ** 9 * launch + at + offset}}))
        self.events += [{"event_type": "nrt_execute", "phase": "start", "tracking_id": 7}]
        self.events += [row for _, row in sorted(rows, key=lambda item: item[0])]


class LoadedModel:
    """NrtpyModel, SpikeModel."""

    def __init__(self, path, core_id):
        try:
            self.loaded = runtime.Model(neff.Neff(str(path)))
        except (runtime.Failed, neff.Broken) as problem:
            raise NrtError(str(problem)) from None
        info = self.loaded.neff.info
        self.model_ref = type("NrtModel", (), {"core_id": core_id})()
        self.input_tensors_info = {
            row["name"]: Tensor(np.empty(row["shape"], model.raw_dtype(row["dtype"])), row["name"])
            for row in info["inputs"]}
        self.output_tensors_info = {name: None for name in info["outputs"] or ["output_0"]}
        self.given, self.arrays = {}, None

    @classmethod
    def load_from_neff(cls, neff_path, name=None, core_id=0, cc_enabled=False, rank_id=0,
                       world_size=1):
        return cls(neff_path, core_id)

    def __call__(self, inputs, outputs=None, save_trace=False, ntff_name=None):
        try:
            found = self.loaded.execute(self.arrays_of(inputs))
        except runtime.Failed as problem:
            raise NrtError(str(problem)) from None
        self.launch()
        names = self.loaded.neff.info["outputs"] or ["output_%d" % i for i in range(len(found))]
        return {name: Tensor(to_numpy(*row), name) for name, row in zip(names, found)}

    def arrays_of(self, inputs):
        """Their raw numbers, in the same dictionary for the same tensors that nobody can change."""
        same = self.given.keys() == inputs.keys() and all(
            one is self.given[name] and not one.array.flags.writeable
            for name, one in inputs.items())
        if not same:
            self.given = dict(inputs)
            self.arrays = {name: raw(one.array) for name, one in inputs.items()}
        return self.arrays

    def launch(self):
        """How long each physical core takes for one execution. The first is the slower one."""
        us = self.loaded.device_us()
        times = [us, us * 2 / 3][:self.loaded.neff.info["lnc"]]
        if SystemTraceSession.current:
            SystemTraceSession.current.add(self.loaded.executions, times)
        return times

    def allocate_output_tensors(self):
        return [Tensor(np.empty(0), name) for name in self.output_tensors_info]

    def benchmark(self, inputs, outputs=None, warmup_iter=5, benchmark_iter=5, mode="device"):
        """One duration for each event of a core, in the order of their stops."""
        self(inputs)
        for _ in range(warmup_iter):
            self.launch()
        if mode == "host":
            times = [self.launch()[0] + runtime.HOST_EXTRA_US for _ in range(benchmark_iter)]
        else:
            times = [us for _ in range(benchmark_iter) for us in sorted(self.launch())]
        return Benchmark([us / 1000 for us in times], warmup_iter)


def extract_perf_metrics(neff_path, ntff_path, verbose=False):
    """ncc_driver.extract_perf_metrics: the summary of a trace."""
    from standin import views
    if verbose:
        logs.say("reading %s" % ntff_path)
    return views.summary(neff.read_ntff(ntff_path, host.LINE["ntff"]))
