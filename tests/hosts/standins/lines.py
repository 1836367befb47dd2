# SPDX-License-Identifier: Apache-2.0
"""One table: what each line of the Neuron SDK has. Sources: the Neuron SDK and NKI release notes,
the documentation of neuron-explorer, neuron-ls and nrtpy, public harnesses that drive them.

nki         version of the package nki; None: the line has the legacy namespace alone
cc, nrtpy   versions of neuronx-cc and nrtpy (in an environment of its own)
venvs       folders under /opt, the first has the kernels' packages
legacy      what neuronxcc.nki does: "works", "zeros" (imports, exits with 0, returns zeros), None:
            gone
api         routes of the package nki from kernel to NEFF, in the shape of that release:
              framework   a standalone call is NotImplementedError; neuronxcc.nki_standalone
                          compiles
              call        a call with numpy arrays compiles and runs, NKI_ARTIFACTS_DIR keeps the
                          NEFF
              compile     nki.framework.compiled.CompileKernel
              frontend    nki.compiler.frontend and CompiledKernel.from_frontend
              context     the same within nki_ir_context, to which its result belongs
              driver      nki.compiler.driver.compile_to_bir, a pair, and compile_bir_to_neff
              nir         nki.framework.compiled.compile_kernel_to_nir and
                          driver._compile_bir_to_neff; its result has the compiler's prediction
explorer    tools' version; its form tells the old tool from the new one
tools       what is in /opt/aws/neuron/bin; "refuses": it is there and says that its support ended
views       output formats of view
exec_time   summary-json has total_exec_time
schema      of the profile; None: before schemas
rows        rows of the full JSON: "legacy" (timestamp, duration, label) or "tables" (start_ts,
            engine)
ls          "array", "typed" (with instance_type), or "object" (neuron-ls --output-format json)
trace       form of a traceback: "legacy" (compiled frames, the user's last) or "stack" (all the
            user's)
log         grammar of the compiler's log: "legacy", "old" or "new"
ntff        version of the trace file
pandas      the environment can read Parquet"""

OLD_TOOLS = ("neuron-profile", "neuron-bench", "neuron-ls", "neuron-monitor", "neuron-top")
BOTH_TOOLS = ("neuron-explorer",) + OLD_TOOLS
NEW_TOOLS = ("neuron-explorer", "neuron-bench", "neuron-ls", "neuron-monitor", "neuron-top")
TEXT = ("summary-text", "summary-json", "json")

LINES = {
    "2.26": {
        "nki": None, "cc": "2.21.18209.0+043b1bf7", "nrtpy": None, "legacy": "works", "api": (),
        "venvs": ("aws_neuronx_venv_pytorch_2_8",),
        "explorer": "2.26.14.0%kaena-tools/2.26@6459a28",
        "tools": OLD_TOOLS, "refuses": (), "views": TEXT + ("db",), "exec_time": False,
        "schema": None,
        "rows": "legacy", "ls": "array", "trace": "legacy", "log": "legacy", "ntff": 2,
        "runtime": "2.28.23.0", "driver": "2.24.7.0", "pandas": False},
    "2.27": {
        "nki": "0.1.0", "cc": "2.22.12471.0+b4a00d10", "nrtpy": None, "legacy": "works",
        "api": ("framework",), "venvs": ("aws_neuronx_venv_pytorch_2_9",),
        "explorer": "2.27.33.0%kaena-tools/2.27@4b1d9a7", "tools": BOTH_TOOLS, "refuses": (),
        "views": TEXT, "exec_time": False, "schema": "5.0.0", "rows": "legacy", "ls": "array",
        "trace": "legacy", "log": "old", "ntff": 3, "runtime": "2.29.40.0", "driver": "2.25.4.0",
        "pandas": False},
    "2.28": {
        "nki": "0.2.0", "cc": "2.23.6484.0+3b612583", "nrtpy": None, "legacy": "works",
        "api": ("framework",), "venvs": ("aws_neuronx_venv_pytorch_2_9",),
        "explorer": "2.28.19.0%kaena-tools/2.28@91ce0b2", "tools": BOTH_TOOLS, "refuses": (),
        "views": TEXT, "exec_time": False, "schema": "6.0.0", "rows": "legacy", "ls": "typed",
        "trace": "legacy", "log": "old", "ntff": 3, "runtime": "2.30.51.0", "driver": "2.26.5.0",
        "pandas": False},
    "2.29": {
        "nki": "0.3.0", "cc": "2.24.5133.0+58f8de22", "nrtpy": None, "legacy": "zeros",
        "api": ("call", "compile", "frontend"),
        "venvs": ("aws_neuronx_venv_pytorch_2_9", "aws_neuronx_venv_jax_0_7"),
        "explorer": "2.29.18.0-a7d01c4", "tools": BOTH_TOOLS, "refuses": (),
        "views": TEXT + ("parquet",), "exec_time": True, "schema": "7.0.0", "rows": "tables",
        "ls": "typed", "trace": "legacy", "log": "new", "ntff": 3, "runtime": "2.31.24.0",
        "driver": "2.27.4.0", "pandas": False},
    "2.30": {
        "nki": "0.4.0", "cc": "2.25.3371.0+f524f9d7", "nrtpy": None, "legacy": "zeros",
        "api": ("call", "compile", "context"),
        "venvs": ("aws_neuronx_venv_pytorch_2_9_nxd_inference", "aws_neuronx_venv_pytorch_2_9"),
        "explorer": "2.30.60.0-3d8e1b0", "tools": BOTH_TOOLS, "refuses": ("neuron-profile",),
        "views": TEXT + ("parquet",), "exec_time": True, "schema": "7.2.0", "rows": "tables",
        "ls": "typed", "trace": "stack", "log": "new", "ntff": 4, "runtime": "2.32.10.0",
        "driver": "2.28.3.0", "pandas": True},
    "2.31": {
        "nki": "0.5.0", "cc": "2.26.4410.0+1c8b7a55", "nrtpy": None, "legacy": "zeros",
        "api": ("call", "driver"), "venvs": ("aws_neuronx_venv_pytorch_2_9",),
        "explorer": "2.31.42.0-77b20fe", "tools": BOTH_TOOLS, "refuses": ("neuron-profile",),
        "views": TEXT + ("parquet",), "exec_time": True, "schema": "7.4.0", "rows": "tables",
        "ls": "typed", "trace": "stack", "log": "new", "ntff": 4, "runtime": "2.33.14.0",
        "driver": "2.29.5.0", "pandas": True},
    "2.32": {
        "nki": "0.6.0", "cc": "2.27.5120.0+ab33d0e1", "nrtpy": "2.34.11.0", "legacy": "zeros",
        "api": ("call", "compile", "nir", "context"),
        "venvs": ("aws_neuronx_venv_pytorch_inference_vllm_0_24_0_1_1_0",
                  "aws_neuronx_venv_jax_0_10"),
        "explorer": "2.32.0.498-b1f3998", "tools": NEW_TOOLS, "refuses": (),
        "views": TEXT + ("parquet",), "exec_time": True, "schema": "7.4.0", "rows": "tables",
        "ls": "typed", "trace": "stack", "log": "new", "ntff": 4, "runtime": "2.34.20.0",
        "driver": "2.30.9.0", "pandas": True},
    "2.33": {
        "nki": "0.7.0", "cc": "2.28.7631.0+5e6fd2c8", "nrtpy": "2.35.30.0", "legacy": None,
        "api": ("call", "compile"), "venvs": ("aws_neuronx_venv_torch_neuronx_2_14_0",),
        "explorer": "2.33.38.0-e07c6aa", "tools": NEW_TOOLS, "refuses": (),
        "views": TEXT + ("parquet",), "exec_time": True, "schema": "12.0.1", "rows": "tables",
        "ls": "typed", "trace": "stack", "log": "new", "ntff": 5, "runtime": "2.35.30.0",
        "driver": "2.31.7.0", "pandas": True},
    # A line nobody has seen: other modules, no full JSON, no -j.
    "2.36": {
        "nki": "0.9.0", "cc": "2.31.1009.0+00c0ffee", "nrtpy": "2.38.2.0", "legacy": None,
        "api": ("call",), "venvs": ("aws_neuronx_venv_torch_neuronx_2_16_0",),
        "explorer": "2.36.4.0-90aa1b2", "tools": NEW_TOOLS, "refuses": (),
        "views": ("summary-text", "summary-json", "parquet"), "exec_time": True, "schema": "14.1.0",
        "rows": "tables", "ls": "object", "trace": "stack", "log": "new", "ntff": 7,
        "runtime": "2.38.2.0", "driver": "2.34.1.0", "pandas": False},
}
# In which dialect kernels are written for a line.
DIALECT = {line: "current" if row["nki"] else "legacy" for line, row in LINES.items()}

# What can be made to go wrong: switches.json in the root, {name: value}. "only" is a text that must
# be in the kernel's source; otherwise the switch does not count for it.
SWITCHES = {
    "core_busy": "another process holds every core: value is the text of its command",
    "no_driver": "no driver is loaded: tools that need a device say so",
    "crash": "the compiler dies: 134 (abort), 137 (killed, told), -9 (killed, not told)",
    "hang": "\"compile\" or \"run\": never ends, with a child that does not either",
    "host_oom": "the compiler asks for memory until it is refused",
    "device_oom": "the tensors do not fit the device",
    "flood": "bytes of log the compiler prints",
    "garbage": "control sequences, no UTF-8, no line ends in the compiler's log",
    "zeros": "every execution returns zeros and exits with 0",
    "wrong_on": "number of the distinct inputs, from 0, that a kernel gets wrong",
    "nan": "every execution returns NaN in one place",
    "stale_cache": "without a cache of its own a compilation finds a failure in the shared one",
    "ntff_skew": "the viewer is older than the trace's version",
    "neff_skew": "the runtime is older than the NEFF's version",
    "exit_noise": "the runtime complains when it closes, with exit status 0",
    "scale": "factor on all latencies",
    "oob": "an indirect access out of bounds: status 1006",
    "exec_hang": "the device does not answer within NEURON_RT_EXEC_TIMEOUT",
    "hardware": "an uncorrectable error of the memory",
    "ignores_inputs": "the first result is returned for all later inputs",
    "prediction": "reading the compiler's prediction gives \"none\", \"fails\" or \"crashes\"",
    "other_shape": "names of routes (\"api\" above) whose calls have another shape",
    "lying_seam": "name of a route whose NEFFs write zeros",
    "noisy_timing": "every other run takes this factor longer",
    "ramp": "seconds for which a core is 2.2 times slower after its reset",
    "trace_taken": "another one subscribes to the system trace",
    "constants": "file of constants that the device has, as hone calibrate keeps them",
    "refuses_function": "name of a function that the compiler does not take",
    "trace_loses": "the system trace lacks its last event",
}
