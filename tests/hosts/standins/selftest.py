# SPDX-License-Identifier: Apache-2.0
"""The stand-ins alone: every tool and module is driven as Neuron's documentation says, and answers
with the device model's numbers. selftest.py HONE [NAME OF A TEST]..."""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import lines  # noqa: E402
import make  # noqa: E402
import tasks  # noqa: E402

HONE = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
FOLDER = os.path.realpath(tempfile.mkdtemp(prefix="hone-standins-"))
LINES = list(lines.LINES)
SILU = "silu"

# From a kernel's file to a NEFF by each route. The environment's Python runs it.
LOAD = """
import sys, os, json, importlib.util
import numpy as np
spec = importlib.util.spec_from_file_location("user_kernel", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["user_kernel"] = module
spec.loader.exec_module(module)
kernel, folder = module.kernel, sys.argv[2]
x = np.zeros((256, 512), np.float32)
"""
# How the exception of a captured compiler ends. Its log is in the folder that it names.
CHAIN = """
import sys
def told(kind, problem, trace):
    sys.__excepthook__(kind, problem, trace)
    for one in (problem.__cause__, problem.__context__):
        for part in ("stdout", "stderr"):
            sys.stderr.write(str(getattr(one, part, b"") or b""))
sys.excepthook = told
"""
ROUTES = {
    "legacy": LOAD + """
import neuronxcc.nki as nki
got = nki.baremetal(kernel, save_neff_name="kernel.neff", artifacts_dir=folder,
                    additional_compile_opt="--logical-nc-config=1")(x)
""",
    "framework": LOAD + """
from neuronxcc.nki_standalone import NKI_IR_VERSION, compile_nki_ir_kernel_to_neff
class Stub:
    name, shape, dtype = "y", (256, 512), np.float32
try:
    kernel(x)
except NotImplementedError:
    compile_nki_ir_kernel_to_neff(
        kernel_func=kernel, kernel_inputs_dict={"x": x}, kernel_outputs=[Stub],
        platform_target="trn2", logical_nc_config=1, output_directory=folder,
        version=NKI_IR_VERSION.beta2, additional_compiler_args="")
    os.rename(folder + "/file.neff", folder + "/kernel.neff")
""",
    "call": LOAD.replace("import numpy", "os.environ['NKI_ARTIFACTS_DIR'] = sys.argv[2]\n"
                         "import numpy") + """
got = kernel(x)
assert got.shape == x.shape and not got.any()
""",
    "compile": LOAD + """
from nki.framework.compiled import CompileKernel
CompileKernel(func=kernel.func, artifacts_dir=folder, _enable_simulation=True)(x)
""",
    "frontend": LOAD + """
from nki.compiler.frontend import ParserFrontend
from nki.compiler.ncc_driver import CompiledKernel, CompileOptions
result = ParserFrontend().compile(kernel, inputs={"x": x}, target="trn2", lnc=1,
                                  artifacts_dir=folder)
made = CompiledKernel.from_frontend(result, CompileOptions(
    target="trn2", lnc=1, output_path=folder + "/kernel.neff", artifacts_dir=folder))
assert made.neff_path == folder + "/kernel.neff"
""",
    "context": LOAD + """
from nki.compiler.frontend import TracerFrontend
from nki.compiler.ncc_driver import CompiledKernel, CompileOptions
try:
    from nki._backends.context import nki_ir_context
except ImportError:
    from nki.compiler.driver import nki_ir_context
options = CompileOptions(target="trn2", lnc=1, output_path=folder + "/kernel.neff",
                         artifacts_dir=folder)
with nki_ir_context() as context:
    result = TracerFrontend().compile(context, kernel, inputs={"x": x}, target="trn2", lnc=1)
    CompiledKernel.from_frontend(result, options, tensor_inputs={"x": x})
try:
    CompiledKernel.from_frontend(result, options, tensor_inputs={"x": x})
except RuntimeError as problem:
    assert "context" in str(problem)
""",
    "driver": LOAD + """
from nki.compiler.driver import CompileOptions, compile_bir_to_neff, compile_to_bir
from nki.compiler.frontend import TracerFrontend
options = CompileOptions(target="trn2", lnc=1, output_path=folder + "/kernel.neff",
                         artifacts_dir=folder)
bir, result = compile_to_bir(kernel, frontend=TracerFrontend(), inputs={"x": x},
                             compile_opts=options)
compile_bir_to_neff(options, bir, [x], ["x"], [one.name for one in result.descriptor.output_specs])
""",
    "nir": LOAD + """
from nki.compiler.driver import _compile_bir_to_neff
from nki.framework.compiled import CompileKernel, compile_kernel_to_nir
one = CompileKernel(func=kernel.func, lnc=1, target="trn2", artifacts_dir=folder)
options = one._compile_opts()
nir = compile_kernel_to_nir(kernel, inputs={"x": x}, compile_opts=options)
_compile_bir_to_neff(nir, options, {"x": x})
""",
}
# The routes that a line's environment has, found by what can be imported.
WHAT_IS_THERE = """
import importlib
def has(module, name):
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False
found = [route for route, module, name in (
    ("legacy", "neuronxcc.nki", "baremetal"), ("call", "nki", "simulate"),
    ("framework", "neuronxcc.nki_standalone", "compile_nki_ir_kernel_to_neff"),
    ("compile", "nki.framework.compiled", "CompileKernel"),
    ("driver", "nki.compiler.driver", "compile_bir_to_neff"),
    ("nir", "nki.framework.compiled", "compile_kernel_to_nir")) if has(module, name)]
if has("nki.compiler.ncc_driver", "CompiledKernel"):
    found.append("frontend" if has("nki.compiler.frontend", "ParserFrontend") else "context")
print(*sorted(found))
"""


class Host:
    """A root and how things are run in it."""

    def __init__(self, line):
        self.line, self.row = line, lines.LINES[line]
        self.root = os.path.join(FOLDER, "root-" + line)
        if not os.path.exists(self.root):
            make.make_root(self.root, line, HONE, memory=os.path.join(FOLDER, "memory"))
        self.venv = os.path.join(self.root, "opt", self.row["venvs"][0])
        self.tools = os.path.join(self.root, "opt", "aws", "neuron", "bin")
        self.dialect = lines.DIALECT[line]
        self.profiler = "neuron-explorer" if "neuron-explorer" in self.row["tools"] else \
            "neuron-profile"

    def switches(self, **values):
        make.set_switches(self.root, **values)

    def run(self, argv, cwd=None, env=None, limit=120):
        environment = {"PATH": "/usr/bin:/bin", "HOME": FOLDER, "TMPDIR": FOLDER,
                       "NEURON_LOGICAL_NC_CONFIG": "1",
                       "NEURON_RT_VISIBLE_CORES": "0", "OPENBLAS_NUM_THREADS": "1", **(env or {})}
        return subprocess.run(argv, cwd=cwd or FOLDER, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit,
                              encoding="utf-8", errors="replace", check=False)

    def tool(self, name, *arguments, **options):
        return self.run([os.path.join(self.tools, name), *map(str, arguments)], **options)

    def compile(self, kernel, folder, route=None, **options):
        """Runs a route; (the process, the NEFF's path)."""
        route = route or (self.row["api"] or ("legacy",))[0]
        if folder:
            os.makedirs(folder, exist_ok=True)
        done = self.run([os.path.join(self.venv, "bin", "python"), "-c", CHAIN + ROUTES[route],
                         kernel, folder], **options)
        return done, os.path.join(folder, "kernel.neff")

    @staticmethod
    def said(done, folder):
        """What the compiler said, printed or in its log."""
        path = os.path.join(folder, "log-neuron-cc.txt")
        log = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                log = file.read()
        return done.stdout + done.stderr + log


def fresh(name):
    path = os.path.join(FOLDER, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


class Base(unittest.TestCase):
    maxDiff = None

    def host(self, line):
        host = Host(line)
        self.addCleanup(host.switches)
        return host

    def good(self, line, name=SILU):
        """A host with a kernel compiled on it: (host, NEFF, folder)."""
        host = self.host(line)
        folder = os.path.join(FOLDER, "good-%s-%s" % (line, name))
        path = os.path.join(folder, "out", "kernel.neff")
        if not os.path.exists(path):
            tasks.make(folder, name, host.dialect)
            done, path = host.compile(folder + "/kernel.py", folder + "/out")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        np.save(folder + "/x.npy", np.random.default_rng(3).normal(size=(256, 512)).astype("f4"))
        return host, path, folder


class Everywhere(Base):
    def test_every_route_compiles_and_no_other_is_there(self):
        for line in LINES:
            host = self.host(line)
            folder = tasks.make(fresh("routes-" + line), SILU, host.dialect)
            routes = host.row["api"] or ("legacy",)
            for route in routes:
                out = os.path.join(folder, route)
                done, neff = host.compile(folder + "/kernel.py", out, route)
                self.assertEqual(done.returncode, 0, (line, route, done.stdout, done.stderr))
                self.assertTrue(os.path.exists(neff), (line, route))
            if routes != ("legacy",):
                done, _ = host.compile(folder + "/kernel.py", out, route)
                self.assertIn("artifacts already exist", done.stdout + done.stderr)
            done = host.run([host.venv + "/bin/python", "-c", WHAT_IS_THERE])
            self.assertEqual(done.stdout.split(), sorted(routes + (
                ("legacy",) if host.row["legacy"] and host.row["nki"] else ())),
                             (line, done.stderr))

    def test_a_neff_is_run_on_inputs_and_saves_outputs(self):
        for line in LINES:
            host, neff, folder = self.good(line)
            cwd = fresh("capture")
            done = host.tool(host.profiler, "capture", "--neff", neff, "-s", "p.ntff",
                             "--num-exec", 4,
                             "--profile-nth-exec", 2, "--save-output-npy", "x", folder + "/x.npy",
                             cwd=cwd)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r'saved output "\w+" as "\w+\.npy"\n')
            self.assertRegex(done.stdout, r'saved output "\w+" as "\w+\.npy\.4"\n')
            self.assertEqual(sorted(glob.glob(cwd + "/*.ntff")),
                             [cwd + "/p_exec_2.ntff", cwd + "/p_exec_4.ntff"])
            x = np.load(folder + "/x.npy").astype("f8")
            got = np.load(glob.glob(cwd + "/*.npy")[0])
            self.assertLess(np.linalg.norm(got - x / (1 + np.exp(-x))) / np.linalg.norm(got), 1e-6)
            self.check_views(host, neff, cwd)

    def check_views(self, host, neff, cwd):
        done = host.tool(host.profiler, "view", "-n", neff, "-s", "p_exec_4.ntff",
                         "--output-format",
                         "summary-json", cwd=cwd)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ERRO[0000]", done.stderr)
        row, = json.loads(done.stdout).values()
        self.assertTrue(5e-6 < row["total_time"] < 1e-4, row["total_time"])
        self.assertTrue(0 < row["vector_engine_active_time_percent"] <= 1)
        self.assertEqual("total_exec_time" in row, host.row["exec_time"])
        done = host.tool(host.profiler, "view", "-n", neff, "-s", "p_exec_4.ntff",
                         "--output-format",
                         "json", "--output-file", "full.json", cwd=cwd)
        if "json" in host.row["views"]:
            with open(cwd + "/full.json", encoding="utf-8") as file:
                full = json.load(file)
            self.assertTrue(full["instruction"] and full["dma"] and full["summary"])
        else:
            self.assertNotEqual(done.returncode, 0)
        if host.line not in ("2.26", "2.33"):
            return
        done = host.tool(host.profiler, "view", "-n", neff, "-s", "p_exec_4.ntff",
                         "--output-format",
                         "summary-text", cwd=cwd)
        self.assertIn("Summary metrics account for Logical NeuronCore config = 1", done.stdout)

    def test_the_first_execution_is_slow_and_the_others_scatter(self):
        host, neff, folder = self.good("2.32")
        cwd = fresh("bench")
        done = host.tool("neuron-bench", "exec", "--warmup=0", "--work=50", "--enable-only-latency",
                         "--fixed-nc-count=1", "--output-directory=" + cwd, neff)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("NCL(50)", done.stdout)
        with open(cwd + "/nc_latency_data.json", encoding="utf-8") as file:
            times = json.load(file)["latency_data"]["0"]
        with open(cwd + "/info.json", encoding="utf-8") as file:
            info = json.load(file)
        self.assertGreater(times[0], min(times) + 900)
        self.assertTrue(1 < max(times[1:]) / min(times) < 1.2)
        self.assertGreater(info["latency"]["50"], info["nc_latency"]["50"])
        other = host.tool("neuron-bench", "exec", "--work=3", neff)
        self.assertEqual(other.stdout.count("LIBMODE"), 2)

    def test_devices_are_listed_in_the_line_s_own_way(self):
        for line in LINES:
            host = self.host(line)
            flag = ["--output-format", "json"] if host.row["ls"] == "object" else ["-j"]
            done = host.tool("neuron-ls", *flag)
            rows = json.loads(done.stdout)
            if host.row["ls"] == "object":
                rows = rows["neuron_devices"]
                self.assertNotEqual(host.tool("neuron-ls", "-j").returncode, 0)
            self.assertEqual(rows[0]["nc_count"], 8)
            self.assertEqual("instance_type" in rows[0], host.row["ls"] == "typed")
            for name in set(host.row["refuses"]) | {host.profiler}:
                done = host.tool(name, "--version")
                refused = name in host.row["refuses"]
                self.assertEqual(done.returncode, 1 if refused else 0, (line, name))

    def test_errors_of_a_kernel_name_its_line_as_the_release_does(self):
        for line, *bad in (("2.26", "no such name", "too many partitions"),
                           ("2.28", "no such name"),
                           ("2.29", "too many partitions"), ("2.33", "no such name")):
            host = self.host(line)
            for what in bad:
                folder = tasks.bad(fresh("bad-" + line), what, host.dialect)
                done, neff = host.compile(folder + "/kernel.py", folder + "/out")
                answer = json.loads(subprocess.run([HONE, "sim", folder, "--json"],
                                                   stdout=subprocess.PIPE, check=False).stdout)
                want = answer["diagnostics"][0]["line"]
                self.assertNotEqual(done.returncode, 0)
                frames = [text for text in done.stderr.splitlines() if 'File "' in text]
                self.assertIn('kernel.py", line %d, in kernel' % want, frames[-1], done.stderr)
                self.assertFalse(os.path.exists(neff))
                if host.row["trace"] == "legacy" and host.dialect == "legacy":
                    self.assertIn("TraceKernel.py", done.stderr)

    def test_limits_of_the_back_end_end_it_with_70(self):
        for line in ("2.29", "2.31"):
            host = self.host(line)
            folder = fresh("wide")
            tasks.write(folder + "/kernel.py", tasks.big_tile(tasks.kernel(SILU, "current")))
            for route in host.row["api"]:
                out = os.path.join(folder, route)
                done, neff = host.compile(folder + "/kernel.py", out, route)
                self.assertIn("NCCError: neuronx-cc failed with exit code 70", done.stderr)
                self.assertIn("returned non-zero exit status 70", done.stderr, done.stdout)
                self.assertNotRegex(done.stdout + done.stderr, r"\[NCC_[A-Z]{3,4}\d{3}\]")
                self.assertRegex(host.said(done, out), r"\[NCC_[A-Z]{3,4}\d{3}\]")
                self.assertFalse(os.path.exists(neff))

    def test_a_folder_that_was_not_named_is_thrown_away_with_its_log(self):
        host = self.host("2.31")
        folder = fresh("thrown")
        tasks.write(folder + "/kernel.py", tasks.big_tile(tasks.kernel(SILU, "current")))
        done, _ = host.compile(folder + "/kernel.py", "", "call", env={"TMPDIR": folder})
        self.assertRegex(done.stderr, "see %s/nki_[^/]*/log-neuron-cc.txt" % folder)
        self.assertEqual(sorted(set(os.listdir(folder)) - {"__pycache__"}), ["kernel.py"])


class Traps(Base):
    def test_the_legacy_namespace_returns_zeros_on_new_lines(self):
        host = self.host("2.32")
        folder = tasks.make(fresh("zeros"), SILU, "legacy")
        done, neff = host.compile(folder + "/kernel.py", folder + "/out", "legacy")
        self.assertEqual(done.returncode, 0, done.stderr)
        np.save(folder + "/x.npy", np.ones((256, 512), "f4"))
        done = host.tool("neuron-explorer", "capture", "-n", neff, "--save-output-npy", "x",
                         folder + "/x.npy", cwd=folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(np.load(glob.glob(folder + "/output*.npy")[0]).any())
        folder = tasks.make(fresh("mixed"), SILU, "current")
        done, _ = host.compile(folder + "/kernel.py", folder + "/out", "legacy")
        self.assertIn("'Kernel' object has no attribute 'grid'", done.stderr)

    def test_cores_are_held_and_lnc_must_agree(self):
        host, neff, folder = self.good("2.30")
        host.switches(hang="run")
        holder = subprocess.Popen([host.tools + "/neuron-explorer", "capture", "-n", neff],
                                  cwd=folder,
                                  start_new_session=True, stdout=subprocess.DEVNULL,
                                  env={"NEURON_RT_VISIBLE_CORES": "0",
                                       "NEURON_LOGICAL_NC_CONFIG": "1",
                                       "PATH": "/usr/bin:/bin"})
        try:
            for _ in range(600):
                listed = json.loads(host.tool("neuron-ls", "-j").stdout)[0]["neuron_processes"]
                if listed and listed[0]["pid"]:     # the holder is written after the core is held
                    break
                time.sleep(0.05)
            self.assertEqual(listed[0]["pid"], holder.pid)
            host.switches()
            done = host.tool("neuron-explorer", "capture", "-n", neff, cwd=folder)
            self.assertIn("NeuronCore(s) not available - Requested:nc0-nc0", done.stderr)
            done = host.tool("neuron-explorer", "capture", "-n", neff, cwd=folder,
                             env={"NEURON_RT_VISIBLE_CORES": "1"})
            self.assertEqual(done.returncode, 0, done.stderr)
        finally:
            os.killpg(holder.pid, signal.SIGKILL)
            holder.wait()
        done = host.tool("neuron-explorer", "capture", "-n", neff, cwd=folder,
                         env={"NEURON_LOGICAL_NC_CONFIG": "2"})
        self.assertIn("Could not find VNC id", done.stderr)

    def test_nrtpy_lives_alone_and_wants_its_library(self):
        host, neff, folder = self.good("2.33")
        python = os.path.join(host.root, "opt", "aws_neuronx_venv_nrtpy", "bin", "python")
        code = "import sys, numpy as np\nfrom nrtpy import NrtpyModel, NrtpyTensor\n" \
            "m = NrtpyModel.load_from_neff(sys.argv[1])\n" \
            "x = np.ones((256, 512), np.float32)\n" \
            "ins = {'x': NrtpyTensor.from_numpy(x, 'x')}\n" \
            "assert abs(m(inputs=ins)['output_0'].numpy() - 0.7310586).max() < 1e-6\n" \
            "r = m.benchmark(ins, warmup_iter=2, benchmark_iter=7)\n" \
            "assert r.iterations == 7 and 0.005 < r.mean_ms < 0.1, r.mean_ms\n"
        done = host.run([python, "-c", code, neff])
        self.assertIn("libnrt.so.1", done.stderr)
        done = host.run([python, "-c", code, neff], env={"LD_LIBRARY_PATH": "/opt/aws/neuron/lib"})
        self.assertEqual(done.returncode, 0, done.stderr)
        done = host.run([python, "-c", "import nki"])
        self.assertIn("No module named 'nki'", done.stderr)


class Switches(Base):
    """Each switch makes wrong what its name says, with the documented words."""

    def outputs(self, host, neff, folder, count=3):
        """What a kernel returns for `count` different inputs."""
        found = []
        for seed in range(count):
            cwd = fresh("switch-outputs")
            numbers = np.random.default_rng(seed).normal(size=(256, 512))
            np.save(cwd + "/in.npy", numbers.astype("f4"))
            done = host.tool(host.profiler, "capture", "-n", neff, "--save-output-npy", "x",
                             cwd + "/in.npy", cwd=cwd)
            self.assertEqual(done.returncode, 0, done.stderr)
            found.append(np.load(glob.glob(cwd + "/output_0.npy")[0]))
        return found

    def test_results(self):
        host, neff, folder = self.good("2.31")
        right = self.outputs(host, neff, folder)
        host.switches(zeros=True)
        self.assertFalse(np.any(self.outputs(host, neff, folder, 1)))
        host.switches(nan=True)
        self.assertEqual(np.isnan(self.outputs(host, neff, folder, 1)[0]).sum(), 1)
        host.switches(ignores_inputs=True)
        got = self.outputs(host, neff, folder)
        self.assertTrue(np.array_equal(got[0], got[2]))
        shutil.rmtree(os.path.join(host.root, "standin", "state", "seen"), ignore_errors=True)
        host.switches(wrong_on=1)
        got = self.outputs(host, neff, folder)
        self.assertEqual([np.array_equal(a, b) for a, b in zip(got, right)], [True, False, True])
        host.switches(wrong_on=0, only="no kernel has this")
        self.assertTrue(np.array_equal(self.outputs(host, neff, folder, 1)[0], right[0]))

    def test_the_runtime(self):
        host, neff, folder = self.good("2.31")
        for switch, status, part in (
                ({"core_busy": "python train.py"}, 1, "Available:0"),
                ({"no_driver": 1}, 1, "No neuron device available"),
                ({"device_oom": 1}, 1, "Failed to alloc DEVICE memory: 10485760"),
                ({"neff_skew": 1}, 1, "NEFF version mismatch supported: 1.1 received: 2.0"),
                ({"oob": 1}, 1, "NRT_EXEC_OOB(1006)"), ({"exec_hang": 1}, 1, "execution timeout"),
                ({"hardware": 1}, 1, "Uncorrectable memory error"),
                ({"exit_noise": 1}, 0, "Unexpected runtime state: NRT_STATE_START")):
            host.switches(**switch)
            done = host.tool(host.profiler, "capture", "-n", neff, cwd=folder,
                             env={"NEURON_RT_EXEC_TIMEOUT": "0.1"})
            self.assertEqual(done.returncode, status, switch)
            self.assertIn(part, done.stderr, switch)
        host.switches(no_driver=1)
        done = host.tool("neuron-ls", "-j")
        self.assertIn("Unable to determine Neuron Driver version", done.stderr)
        host.switches(core_busy="python train.py")
        self.assertIn("python train.py", host.tool("neuron-ls", "-j").stdout)
        host.switches(ntff_skew=1)
        host.tool(host.profiler, "capture", "-n", neff, cwd=folder)
        done = host.tool(host.profiler, "view", "-n", neff, "-s", "profile.ntff", "--output-format",
                         "summary-json", cwd=folder)
        self.assertIn("is not supported in this version of the tool", done.stderr)

    def test_the_compiler(self):
        host = self.host("2.29")
        folder = tasks.make(fresh("compiler"), SILU, "current")
        for number, (switch, part) in enumerate((
                ({"crash": 134}, "[F134] neuronx-cc terminated abnormally"),
                ({"crash": 137}, "[F137]"), ({"crash": -9}, "SIGKILL"), ({"host_oom": 1}, "[F137]"),
                ({"flood": 3000000}, "unrolled access"), ({"garbage": 1}, "\x1b]0;owned"),
                ({"stale_cache": 1}, "Got a cached failed neff"))):
            host.switches(**switch)
            limit = "ulimit -v 1500000; exec \"$@\"" if "host_oom" in switch else "exec \"$@\""
            out = folder + "/%d" % number
            done = host.run(["/bin/sh", "-c", limit, "sh", host.venv + "/bin/python", "-c",
                             CHAIN + ROUTES["compile"], folder + "/kernel.py", out])
            self.assertIn(part, host.said(done, out), switch)
            self.assertEqual(done.returncode == 0, "flood" in switch or "garbage" in switch, switch)
        host.switches(stale_cache=1)
        done, _ = host.compile(folder + "/kernel.py", folder + "/own", "compile",
                               env={"NEURON_COMPILE_CACHE_URL": folder})
        self.assertEqual(done.returncode, 0)

    def test_hangs_end_with_their_group(self):
        host = self.host("2.29")
        folder = tasks.make(fresh("hang"), SILU, "current")
        host.switches(hang="compile")
        process = subprocess.Popen([host.venv + "/bin/python", "-c", ROUTES["compile"],
                                    folder + "/kernel.py", folder + "/out"], start_new_session=True,
                                   stdout=subprocess.PIPE, env={"PATH": "/usr/bin:/bin"},
                                   cwd=folder)
        log = os.path.join(folder, "out", "log-neuron-cc.txt")
        for _ in range(1200):
            if os.path.exists(log) and "Running SBAllocator" in tasks.read(log):
                break
            time.sleep(0.05)
        else:
            self.fail("it did not hang")
        os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.stdout.read(), b"")       # the last of the group is gone
        process.wait()
        process.stdout.close()

    def test_every_switch_is_in_the_table_and_is_asked_for(self):
        text = "".join(tasks.read(path) for path in glob.glob(HERE + "/standin/*.py"))
        for name in lines.SWITCHES:
            self.assertIn('switch("%s"' % name, text)
        with self.assertRaises(SystemExit):
            make.set_switches(FOLDER, no_such_switch=1)


if __name__ == "__main__":
    try:
        names = sys.argv[2:] or ["Everywhere", "Traps", "Switches"]
        unittest.main(argv=[sys.argv[0], *names], verbosity=1)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
