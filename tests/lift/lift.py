# SPDX-License-Identifier: Apache-2.0
"""hone lift: what is lifted of a kernel, computed again by numpy, is what the kernel was written
from. Kernels are spelled in both dialects and in several ways, and written by hone new; tiles,
loops, blocks and tails of odd sizes must leave no trace in the graph."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

HONE, HERE = os.path.abspath(sys.argv.pop(1)), os.path.dirname(os.path.abspath(__file__))
ARGV = sys.argv[:]


def load(path):
    sys.argv = [path, HONE, HERE]
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.argv = ARGV[:]
    return module


sys.path.insert(0, os.path.join(HERE, "..", "cli"))
RECORD = load(os.path.join(HERE, "..", "task", "record.py"))
RECORD.OPERATIONS["expit"] = lambda row, x: 1 / (1 + np.exp(-x))

CURRENT = "import nki\nimport nki.language as nl\nimport nki.isa as nisa\n\n\n@nki.jit\n"
LEGACY = ("import neuronxcc.nki as nki\nimport neuronxcc.nki.language as nl\n"
          "import neuronxcc.nki.isa as nisa\nimport numpy as np\n\n\n@nki.jit\n")

# Each computes a @ b of [K, M] and [K, N] in a way of its own.
PRODUCTS = {
    "psum": CURRENT + """def kernel(a, b):
    K, M = a.shape
    N = b.shape[1]
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in nl.affine_range((M + 127) // 128):
        rows = min(128, M - m * 128)
        total = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(K // 128):
            left = nl.ndarray((128, rows), dtype=a.dtype, buffer=nl.sbuf)
            right = nl.ndarray((128, N), dtype=b.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=left, src=a[k * 128:(k + 1) * 128, m * 128:m * 128 + rows])
            nisa.dma_copy(dst=right, src=b[k * 128:(k + 1) * 128, 0:N])
            nisa.nc_matmul(dst=total, stationary=left, moving=right)
        result = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=result, src=total)
        nisa.dma_copy(dst=out[m * 128:m * 128 + rows, 0:N], src=result)
    return out
""",
    # Partial sums are added in SBUF, from the last block of columns to the first.
    "sbuf": CURRENT + """def kernel(a, b):
    K, M = a.shape
    N = b.shape[1]
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((128, K // 128, M), dtype=a.dtype, buffer=nl.sbuf)
    for k in nl.affine_range(K // 128):
        nisa.dma_copy(dst=left[:, k, :], src=a[k * 128:(k + 1) * 128, 0:M])
    for n in range(N // 50 - 1, -1, -1):
        right = nl.ndarray((128, K // 128, 50), dtype=b.dtype, buffer=nl.sbuf)
        for k in nl.affine_range(K // 128):
            nisa.dma_copy(dst=right[:, k, :], src=b[k * 128:(k + 1) * 128, n * 50:(n + 1) * 50])
        for m in nl.affine_range((M + 99) // 100):
            rows = min(100, M - m * 100)
            total = nl.ndarray((rows, 50), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(dst=total, value=0.0)
            for k in nl.affine_range(K // 128):
                part = nl.ndarray((rows, 50), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(dst=part, stationary=left[:, k, m * 100:m * 100 + rows],
                               moving=right[:, k, :])
                nisa.tensor_tensor(dst=total, data1=total, data2=part, op=nl.add)
            nisa.dma_copy(dst=out[m * 100:m * 100 + rows, n * 50:(n + 1) * 50], src=total)
    return out
""",
    # Masks for odd sizes, a transpose by an identity, blocks of tiles.
    "legacy": LEGACY + """def kernel(a, b):
    K, M = a.shape
    N = b.shape[1]
    out = nl.ndarray((M, N), dtype=np.float32, buffer=nl.shared_hbm)
    one = nl.shared_constant(np.identity(128, dtype=np.float32))
    unit = nl.load(one[nl.arange(128)[:, None], nl.arange(128)[None, :]])
    tiles = nl.ndarray((K // 128, nl.par_dim(128), N), dtype=np.float32, buffer=nl.sbuf)
    i_p, i_n = nl.arange(128)[:, None], nl.arange(N)[None, :]
    i_m = nl.arange(128)[None, :]
    for k in nl.affine_range(K // 128):
        tiles[k, i_p, i_n] = nl.load(b[k * 128 + i_p, i_n])
    for m in nl.affine_range((M + 127) // 128):
        total = nl.zeros((nl.par_dim(128), N), dtype=np.float32, buffer=nl.psum)
        for k in nl.affine_range(K // 128):
            left = nl.load(a[k * 128 + i_p, m * 128 + i_m], mask=(m * 128 + i_m < M))
            turned = nl.copy(nisa.nc_matmul(left, unit, is_transpose=True, is_moving_onezero=True),
                             dtype=np.float32)
            again = nl.copy(nisa.nc_transpose(turned), dtype=np.float32)
            total[i_p, i_n] += nisa.nc_matmul(again, tiles[k, i_p, i_n])
        result = nl.copy(total, dtype=np.float32)
        nl.store(out[m * 128 + i_p, i_n], value=result[i_p, i_n], mask=(m * 128 + i_p < M))
    return out
"""}

ROWS = {
    # The maximum and the sum of a row come from parts of it.
    "parts": CURRENT + """def kernel(x):
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range((M + 127) // 128):
        rows = min(128, M - m * 128)
        tile = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        most = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.sbuf)
        for h in nl.affine_range(2):
            half = nl.ds(h * (N // 2), N // 2)
            nisa.dma_copy(dst=tile[:, half], src=x[nl.ds(m * 128, rows), half])
            nisa.tensor_reduce(dst=most[:, h:h + 1], op=nl.maximum, data=tile[:, half], axis=1)
        bias = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=bias, op=nl.maximum, data=most, axis=1, negate=True)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        e = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=e, op=nl.exp, data=tile, bias=bias, reduce_op=nl.add,
                               reduce_res=total)
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=e, data=e, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[nl.ds(m * 128, rows), 0:N], src=e)
    return out
""",
    "operators": LEGACY + """def kernel(x):
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(N)[None, :]
    for m in nl.affine_range((M + 127) // 128):
        inside = m * 128 + i_p < M
        tile = nl.load(x[m * 128 + i_p, i_f], mask=inside)
        e = nl.exp(nl.subtract(tile, nl.max(tile, axis=[1], mask=inside), mask=inside),
                   mask=inside)
        nl.store(out[m * 128 + i_p, i_f], value=e / nl.sum(e, axis=[1], mask=inside), mask=inside)
    return out
"""}

OPAQUE = CURRENT + """def kernel(x):
    out = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    best = nl.ndarray((128, 8), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.max8(dst=best, src=tile)
    nisa.dma_copy(dst=out, src=best)
    return out
"""


def reference(*shapes):
    made = ", ".join(f"np.random.normal(size={shape}).astype(np.float32)" for shape in shapes)
    return f"import numpy as np\n\n\ndef get_inputs():\n    return [{made}]\n\n\ndef forward(*x):\n"


class Kernels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def environ(self):
        return dict(os.environ, **{f"XDG_{kind.upper()}_HOME": self.path(kind)
                                   for kind in ("cache", "state", "config")})

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_hone(self, *args, code=0):
        done = subprocess.run([HONE, *args], capture_output=True, text=True, timeout=280,
                              env=self.environ(), check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def graph(self):
        self.assertIn("agrees with the kernel's own results",
                      self.run_hone("lift", self.folder.name))
        return json.loads(self.run_hone("lift", "--json", "--no-verify",
                                        self.folder.name))["graph"]

    def compare(self, graph, text):
        """Against forward, whose arguments are the kernel's."""
        names = {}
        exec(compile(text, "reference", "exec"), names)
        np.random.seed(5)
        inputs = names["get_inputs"]()
        found = RECORD.compute(graph, [np.asarray(x) for x in inputs])
        made = names["forward"](*inputs)
        for a, b in zip(found, made if isinstance(made, tuple) else (made,), strict=True):
            self.assertEqual(a.shape, b.shape)
            size = np.linalg.norm(b) or 1
            self.assertLess(np.linalg.norm(a.astype(float) - b.astype(float)) / size, 2e-5)

    def lift(self, kernel, text):
        self.write("kernel.py", kernel)
        self.write("reference.py", text)
        graph = self.graph()
        self.compare(graph, text)
        return graph


class Spellings(Kernels):
    def test_products_of_all_spellings_are_one_contraction(self):
        text = reference((256, 300), (256, 100)) + "    return x[0].T @ x[1]\n"
        for name, kernel in PRODUCTS.items():
            with self.subTest(name):
                graph = self.lift(kernel, text)
                self.assertEqual([row["op"] for row in graph["nodes"] if row["op"] != "input"],
                                 ["contract"], name)

    def test_a_softmax_is_one_whatever_its_tiles(self):
        text = reference((200, 96)) + """    x, = x
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
"""
        for name, kernel in ROWS.items():
            with self.subTest(name):
                graph = self.lift(kernel, text)
                operations = [row["op"] for row in graph["nodes"]]
                for op in ("max", "exp", "sum"):
                    self.assertEqual(operations.count(op), 1, operations)

    def test_what_stays_opaque_is_told_with_its_line(self):
        self.write("kernel.py", OPAQUE)
        told = self.run_hone("lift", "--input", "x=128x64:float32", self.path("kernel.py"), code=1)
        line = OPAQUE.split("\n").index("    nisa.max8(dst=best, src=tile)") + 1
        self.assertIn(f"max8 at line {line}", told)
        self.assertIn("an output hangs on it", told)

    def test_a_kernel_of_the_older_dialect_is_written_in_the_current_one(self):
        text = reference((256, 300), (256, 100)) + "    if float(x[0][0, 0]) > 1e9:\n" \
            "        return x[0]\n    return x[0].T @ x[1]\n"
        self.write("reference.py", text)
        self.write("older.py", PRODUCTS["legacy"])
        self.write("opaque.py", OPAQUE)
        told = self.run_hone("new", "--from", self.path("older.py"), "--reference",
                             self.path("reference.py"), self.path("task"))
        self.assertIn("current dialect", told)
        self.assertIn("correct   yes: 5 seeds", told)
        with open(self.path("task/kernel.py"), encoding="utf-8") as file:
            self.assertIn("import nki\n", file.read())
        self.write("reference.py", reference((128, 64)) + "    return x[0][:, :8]\n")
        self.run_hone("new", "--from", self.path("opaque.py"), "--reference",
                      self.path("reference.py"), self.path("none"), code=1)
        self.assertFalse(os.path.exists(self.path("none/kernel.py")))


class RoundTrip(Kernels):
    """What hone new writes of a reference is lifted to what the reference computes."""

    def rounds(self, module, names, *options):
        for name in names:
            with self.subTest(name):
                with tempfile.TemporaryDirectory() as folder:
                    self.folder = type("", (), {"name": os.path.join(folder, name)})
                    os.mkdir(self.folder.name)
                    text = "import numpy as np\n" + module.WRITTEN[name]
                    self.write("reference.py", text)
                    self.run_hone("new", "--no-sim", *options, self.folder.name)
                    self.compare(self.graph(), text)

    def test_kernels_from_references(self):
        self.rounds(load(os.path.join(HERE, "..", "cli", "new.py")),
                    ["layer_norm", "attention", "halves", "causal", "routing", "listed", "mlp",
                     "columns", "adam"])

    def test_rows(self):
        self.rounds(load(os.path.join(HERE, "..", "cli", "new_rows.py")),
                    ["factors", "rows", "gates", "roots", "softmax", "shared", "heads", "late"])


if __name__ == "__main__":
    unittest.main()
