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

# States that decay, h[t] = a[t] * h[t - 1] + x[t], in ways of their own.
SCANS = {
    # Chunks of a row hand on their last column; the last one is shorter.
    "chunks": CURRENT + """def kernel(a, x):
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    carry = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=carry, value=0.0)
    for n in nl.sequential_range((N + 99) // 100):
        size = min(100, N - n * 100)
        left = nl.ndarray((M, size), dtype=nl.float32, buffer=nl.sbuf)
        right = nl.ndarray((M, size), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=a[0:M, n * 100:n * 100 + size])
        nisa.dma_copy(dst=right, src=x[0:M, n * 100:n * 100 + size])
        h = nl.ndarray((M, size), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor_scan(dst=h, data0=left, data1=right, initial=carry, op0=nl.multiply,
                                op1=nl.add)
        nisa.tensor_copy(dst=carry, src=h[:, size - 1:size])
        nisa.dma_copy(dst=out[0:M, n * 100:n * 100 + size], src=h)
    return out
""",
    # One instruction over a tile that came in two parts, with operands the other way round.
    "reversed": CURRENT + """def kernel(a, x):
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    left = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    right = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    nisa.dma_copy(dst=right[:, 0:40], src=x[0:M, 0:40])
    nisa.dma_copy(dst=right[:, 40:N], src=x[0:M, 40:N])
    nisa.tensor_scalar(dst=right[:, 40:N], data=right[:, 40:N], op0=nl.add, operand0=0.0)
    minus = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=minus, data=left, op0=nl.multiply, operand0=-1.0)
    nisa.tensor_tensor_scan(dst=left, data0=minus, data1=right, initial=0.0, op0=nl.multiply,
                            op1=nl.subtract, reverse1=True)
    nisa.dma_copy(dst=out, src=left)
    return out
""",
    "step by step": LEGACY + """def kernel(a, x):
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    left, right = nl.load(a), nl.load(x)
    h = nl.ndarray((nl.par_dim(M), N), dtype=np.float32, buffer=nl.sbuf)
    h[:, 0:50] = nisa.tensor_tensor_scan(left[:, 0:50], right[:, 0:50], initial=0, op0=np.multiply,
                                         op1=np.add)
    h[:, 50:N] = nisa.tensor_tensor_scan(left[:, 50:N], right[:, 50:N], initial=h[:, 49:50],
                                         op0=np.multiply, op1=np.add)
    nl.store(out, value=h)
    return out
"""}

# What each scan is, and the operations of its graph.
RUNNING = {
    "sum": ("nl.multiply", "nl.add", "1.0", "0.0", "np.cumsum(x, axis=1)", ["cumsum"]),
    "later sum": ("nl.add", "nl.subtract", "2.0", "3.0", "3 + np.cumsum(2 - x, axis=1)",
                  ["cumsum", "add"]),
    "most": ("nl.multiply", "nl.maximum", "1.0", "-1e38", "np.maximum.accumulate(x, axis=1)",
             ["cummax"]),
    "least": ("nl.add", "nl.minimum", "0.0", "0.5", "np.minimum(0.5, np.minimum.accumulate(x, 1))",
              ["cummin", "minimum"]),
    "decay": ("nl.multiply", "nl.add", "0.5", "0.0", None, ["recurrence"])}


def running(op0, op1, first, start, value):
    kernel = CURRENT + f"""def kernel(x):
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    some = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=some, value={first})
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_tensor_scan(dst=tile, data0=some, data1=tile, initial={start}, op0={op0}, op1={op1})
    nisa.dma_copy(dst=out, src=tile)
    return out
"""
    body = f"    return {value}\n" if value else """    y = np.zeros_like(x)
    for t in range(x.shape[1]):
        y[:, t] = 0.5 * (y[:, t - 1] if t else 0) + x[:, t]
    return y
"""
    return kernel, reference((96, 64)) + "    x, = x\n" + body


LAST = CURRENT + """def kernel(x):
    M, N = x.shape
    out = nl.ndarray((M, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar_cumulative(dst=tile, src=tile, op0=nl.multiply, op1=nl.add, imm0=2.0,
                                  imm1=5.0, reduce_cmd=nisa.reduce_cmd.load_reduce)
    nisa.dma_copy(dst=out, src=tile[:, N - 1:N])
    return out
"""

DEEP = CURRENT + """def kernel(x):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    most = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for i in nl.sequential_range(60):
        nisa.activation(dst=tile, op=nl.exp, data=tile)
        nisa.tensor_reduce(dst=most, op=nl.maximum, data=tile, axis=1)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.subtract, operand0=most)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""

# The sum of exponentials of a row, whose halves an engine adds up by itself.
SUMS = CURRENT + """def kernel(x):
    M, N = x.shape
    out = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    most = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    high = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    e = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    half = N // 2
    nisa.activation(dst=e[:, 0:half], op=nl.exp, data=tile[:, 0:half], reduce_op=nl.add,
                    reduce_cmd=nisa.reduce_cmd.reset_reduce)
    nisa.tensor_scalar_reduce(dst=e[:, 0:half], data=tile[:, 0:half], op0=nl.multiply, operand0=2.0,
                              reduce_op=nl.maximum, reduce_res=high, reduce_init=0.5,
                              reduce_cmd=nisa.reduce_cmd.load_reduce)
    nisa.activation(dst=e[:, half:N], op=nl.exp, data=tile[:, half:N], reduce_op=nl.add,
                    reduce_res=total, reduce_cmd=nisa.reduce_cmd.reduce)
    nisa.tensor_scalar_reduce(dst=e[:, half:N], data=tile[:, half:N], op0=nl.multiply, operand0=2.0,
                              reduce_op=nl.maximum, reduce_res=high,
                              reduce_cmd=nisa.reduce_cmd.reduce)
    nisa.dma_copy(dst=out, src=total)
    nisa.dma_copy(dst=most, src=high)
    return out, most
"""

# Means and variances of rows of 700 elements, of which an instruction takes 300.
STATISTICS = CURRENT + """def kernel(x):
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in nl.affine_range((M + 127) // 128):
        rows = min(128, M - m * 128)
        tile = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[nl.ds(m * 128, rows), 0:N])
        groups = (N + 299) // 300
        stats = nl.ndarray((rows, 6 * groups), dtype=nl.float32, buffer=nl.sbuf)
        for g in range(groups):
            nisa.bn_stats(dst=stats[:, 6 * g:6 * g + 6],
                          data=tile[:, 300 * g:min(300 * g + 300, N)])
        both = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(dst=both, data=stats)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.subtract, operand0=both[:, 0:1],
                           op1=nl.multiply, operand1=both[:, 1:2])
        nisa.dma_copy(dst=out[nl.ds(m * 128, rows), 0:N], src=tile)
    return out
"""

ROWS_BY_INDEX = LEGACY + """def kernel(table, index):
    out = nl.ndarray((64, 96), dtype=table.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(64)[:, None], nl.arange(96)[None, :]
    rows = nl.load(index[i_p])
    tile = nl.load(table[rows[i_p, 0], i_f])
    nl.store(out[i_p, i_f], value=tile[i_p, i_f] * 2)
    return out
"""

BACKWARDS = LEGACY + """def kernel(a, x):
    M, N = x.shape
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(M)[:, None], nl.arange(N)[None, :]
    left = nl.load(a[i_p, N - 1 - i_f])
    right = nl.load(x)
    turned = nl.copy(right[i_p, N - 1 - i_f])
    h = nisa.tensor_tensor_scan(left, turned, initial=0, op0=np.multiply, op1=np.add)
    nl.store(out[i_p, i_f], value=h[i_p, N - 1 - i_f])
    return out
"""

ROUNDS = CURRENT + """def kernel(x, n):
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
    count = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=count, src=n)
    rounds = nisa.register_alloc()
    nisa.register_load(rounds, count)
    for i in nl.dynamic_range(rounds):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""

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


class Scans(Kernels):
    def test_a_recurrence_is_one_whatever_its_chunks(self):
        text = reference((96, 250), (96, 250)) + """    a, x = x
    h = np.zeros_like(x)
    for t in range(x.shape[1]):
        h[:, t] = a[:, t] * (h[:, t - 1] if t else 0) + x[:, t]
    return h
"""
        for name, kernel in SCANS.items():
            with self.subTest(name):
                graph = self.lift(kernel, text.replace("size=", "scale=0.5, size="))
                operations = [row["op"] for row in graph["nodes"]]
                self.assertEqual(operations.count("recurrence"), 1, operations)

    def test_running_sums_and_extremes_have_their_names(self):
        for name, (*kernel, value, operations) in RUNNING.items():
            with self.subTest(name):
                graph = self.lift(*running(*kernel, value))
                found = [row["op"] for row in graph["nodes"]]
                for op in operations:
                    self.assertIn(op, found)

    def test_the_last_state_alone(self):
        graph = self.lift(LAST, reference((96, 64)) +
                          "    return 5 + 2 * x[0].sum(axis=1, keepdims=True)\n")
        self.assertIn("cumsum", [row["op"] for row in graph["nodes"]])

    def test_reductions_too_deep_are_refused(self):
        self.write("kernel.py", DEEP)
        done = subprocess.run([HONE, "lift", "--input", "x=128x64:float32",
                               self.path("kernel.py")], capture_output=True, text=True,
                              timeout=280, env=self.environ(), check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("too many reductions within reductions", done.stderr)


class Engines(Kernels):
    def test_sums_that_an_engine_goes_on_with(self):
        graph = self.lift(SUMS, reference((96, 64)) + """    x, = x
    return (np.exp(x).sum(axis=1, keepdims=True),
            np.maximum(0.5, 2 * x.max(axis=1, keepdims=True)))
""")
        operations = [row["op"] for row in graph["nodes"]]
        self.assertEqual((operations.count("sum"), operations.count("max")), (1, 1), operations)

    def test_statistics_are_a_mean_and_a_variance(self):
        graph = self.lift(STATISTICS, reference((200, 700)) + """    x, = x
    return (x - x.mean(axis=1, keepdims=True)) * x.var(axis=1, keepdims=True)
""")
        operations = [row["op"] for row in graph["nodes"]]
        self.assertEqual(operations.count("sum"), 2, operations)

    def test_rows_that_an_index_chooses(self):
        text = reference((500, 96)).replace(
            "return [", "index = np.random.randint(0, 500, (64, 1)).astype(np.int32)\n    return [")
        text = text.replace("astype(np.float32)]", "astype(np.float32), index]")
        graph = self.lift(ROWS_BY_INDEX, text + "    return x[0][x[1][:, 0]] * 2\n")
        self.assertIn("gather", [row["op"] for row in graph["nodes"]])

    def test_what_goes_backwards(self):
        self.lift(BACKWARDS, reference((96, 64), (96, 64)).replace("size=", "scale=0.5, size=") +
                  """    a, x = x
    h = np.zeros_like(x)
    for t in range(x.shape[1] - 1, -1, -1):
        h[:, t] = a[:, t] * (h[:, t + 1] if t + 1 < x.shape[1] else 0) + x[:, t]
    return h
""")

    def test_rounds_that_a_number_decides_are_refused(self):
        self.write("kernel.py", ROUNDS)
        np.save(self.path("n.npy"), np.array([[3]], np.int32))
        done = subprocess.run([HONE, "lift", "--release", "0.6", "--input",
                               "x=128x64:float32", "--input", "n=" + self.path("n.npy"),
                               self.path("kernel.py")],
                              capture_output=True, text=True, timeout=280, env=self.environ(),
                              check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("as many rounds as a number of the inputs says", done.stderr)


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

    def test_scans(self):
        module = load(os.path.join(HERE, "..", "cli", "new_scans.py"))
        module.WRITTEN = module.drawn(module.SEED)
        self.rounds(module, ["space", "joined", "sums"])

    def test_rows(self):
        self.rounds(load(os.path.join(HERE, "..", "cli", "new_rows.py")),
                    ["factors", "rows", "gates", "roots", "softmax", "shared", "heads", "late"])


if __name__ == "__main__":
    unittest.main()
