# SPDX-License-Identifier: Apache-2.0
"""One table of everything in an SDK that the runner relies on: what it is, which file of the runner
needs it, how it is checked without a device, and on which lines of the SDK it was seen. The ways to
compile come from the table that the runner itself uses (seams.py). `conform` (conform.py) goes
through it.

Sources: those of seams.py, REMOTE.md and the modules named."""

import collections

from . import seams

# name: of the thing. used: file of the runner. how: a key of conformance.CHECKS. wants: words that
# must be there (parameters, flags, members). first, last: SDK lines it was seen on (None: from the
# first, to every later one). needed: the runner cannot use a release of those lines without it; the
# others are one of several ways.
Row = collections.namedtuple("Row", "name used how wants first last needed")


def row(name, used, how, wants="", first=None, last=None, needed=False):
    return Row(name, used, how, tuple(wants.split()), first, last, needed)


COMPILED = "nki.framework.compiled:"
DRIVER = "nki.compiler.driver:"
NCC = "nki.compiler.ncc_driver:"
FRONT = "nki.compiler.frontend:"
CAPTURE = "execute.py"

SIGNATURES = (
    row("nki:jit", "call.py", "signature", "", "2.27"),
    row(COMPILED + "compile_kernel_to_nir", "seams.py", "signature",
        "inputs compile_opts enable_cache", "2.32", "2.32"),
    row(COMPILED + "CompileKernel", "seams.py", "signature", "func artifacts_dir", "2.29", "2.32"),
    row(COMPILED + "CompileKernel._compile_opts", "seams.py", "signature", "", "2.32", "2.32"),
    row(NCC + "CompileOptions", "seams.py", "signature",
        "target lnc artifacts_dir output_path", "2.29", "2.32"),
    row(NCC + "CompileOptions.disable_backend_optimizations", "seams.py", "signature", "", "2.32",
        "2.32"),
    row(NCC + "compile_bir_to_neff", "seams.py", "signature", "", "2.32", "2.32"),
    row(NCC + "CompiledKernel.from_frontend", "seams.py", "signature", "", "2.29", "2.32"),
    row(DRIVER + "compile_to_bir", "seams.py", "signature", "frontend inputs compile_opts", "2.30",
        "2.31"),
    row(DRIVER + "compile_bir_to_neff", "seams.py", "signature", "", "2.30", "2.31"),
    row(DRIVER + "_compile_bir_to_neff", "seams.py", "signature", "", "2.32", "2.32"),
    row(DRIVER + "nki_ir_context", "seams.py", "signature", "", "2.30", "2.31"),
    row("nki._backends.context:nki_ir_context", "seams.py", "signature", "", "2.32", "2.32"),
    row(FRONT + "ParserFrontend.compile", "seams.py", "signature",
        "inputs target lnc artifacts_dir", "2.29", "2.32"),
    row(FRONT + "TracerFrontend.compile", "seams.py", "signature",
        "inputs target lnc artifacts_dir", "2.30", "2.32"),
    row("neuronxcc.nki_standalone:compile_nki_ir_kernel_to_neff", "seams.py", "signature", "",
        "2.27", "2.28"),
    row("neuronxcc.nki_standalone:NKI_IR_VERSION.beta2", "seams.py", "signature", "", "2.27",
        "2.28"),
    row("neuronxcc.nki:baremetal", "seams.py", "signature", "save_neff_name", None, "2.28"),
    row("neuronxcc.nki:benchmark", "worker.py", "signature", "warmup iters save_neff_name", None,
        "2.28"),
    row("ml_dtypes:bfloat16", "arrays.py", "signature"),
    row("nrtpy:NrtpyModel.load_from_neff", "nrt.py", "runtime", "name core_id", "2.32"),
    row("nrtpy:NrtpyModel.benchmark", "nrt.py", "runtime",
        "inputs warmup_iter benchmark_iter mode", "2.32"),
    row("nrtpy:SystemTraceSession", "nrt.py", "runtime", "", "2.32"),
    row("nrtpy:NrtpyTensor.from_numpy", "nrt.py", "runtime", "name core_id", "2.32"),
)

BEHAVIOUR = (
    row("a way to compile", "routes.py", "compiles", needed=True),
    row("files of a compilation", "told.py", "files", "*.neff", needed=True),
    row("the same kernel again", "compile.py", "again", needed=True),
    row("an error of the kernel's file", "grammar.py", "broken", "line", needed=True),
    # Up to 2.26 the compiler spills what does not fit.
    row("an error of the compiler's back end", "blame.py", "too_large", "", "2.27", needed=True),
    row("the prediction without a device", "predict.py", "prediction", "us", "2.32", "2.32"),
    row("arrays as .npy", "arrays.py", "npy", needed=True),
    row("NEURON_PLATFORM_TARGET_OVERRIDE", "compile.py", "target"),
)

TOOLS = (
    row("neuronx-cc compile", "compile.py", "flags", "target lnc output framework"),
    row("neuron-explorer capture", CAPTURE, "flags",
        "neff session-file num-exec profile-nth-exec save-output", "2.27"),
    row("neuron-explorer view", "bench.py", "flags",
        "output-format output-file session-file disable-ui", "2.27"),
    row("neuron-profile capture", CAPTURE, "flags", "neff session-file num-exec save-output", None,
        "2.29"),
    row("neuron-profile view", "bench.py", "flags", "output-format output-file session-file", None,
        "2.29"),
    row("neuron-bench exec", "bench.py", "flags",
        "warmup work enable-only-latency fixed-nc-count output-directory"),
    row("neuron-ls as JSON", "devices.py", "neuron_ls", "neuron_device nc_count neuron_processes"),
)

TABLE = tuple(row("compile: " + seam.name, "seams.py", "seam", seam.name, seam.first, seam.last)
              for seam in seams.TABLE) + SIGNATURES + BEHAVIOUR + TOOLS
