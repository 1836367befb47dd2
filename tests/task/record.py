# SPDX-License-Identifier: Apache-2.0
"""core/task/record: the graph of a reference, computed again from its nodes, gives what forward
gives. References as people write them, operations on random shapes, and what cannot be recorded."""
import os
import sys
import tempfile
import unittest

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load():
    """The harness with what follows it, in one file as hone starts it."""
    text = ""
    for name in ("harness.py", "outline.py", "record/arrays.py", "record/operations.py",
                 "record/functions.py", "record/fold.py", "record/graph.py", "record/tensors.py",
                 "record/work.py"):
        with open(os.path.join(ROOT, "core", "task", name), encoding="utf-8") as file:
            text += file.read() + "\n"
    names = {"__name__": "harness"}
    exec(compile(text, "harness", "exec"), names)
    return names


# ------------------------------------------------------------------------ the graph, computed again


def constant(row):
    shape, dtype = row["shape"], row["dtype"]
    if "fill" in row:
        return np.full(shape, float(row["fill"]) if isinstance(row["fill"], str) else row["fill"],
                       dtype)
    if "values" in row:
        return np.array([float(x) if isinstance(x, str) else x for x in row["values"]],
                        dtype).reshape(shape)
    if "band" in row:
        band = row["band"]
        below = np.tri(*shape[-2:], band["offset"], dtype=bool)
        return np.broadcast_to(np.where(below, float(band["below"]), float(band["above"])),
                               shape).astype(dtype)
    made = np.full(shape, row["plane"][0])
    for axis, step in enumerate(row["plane"][1:]):
        along = [1] * len(shape)
        along[axis] = shape[axis]
        made = made + step * np.arange(shape[axis]).reshape(along)
    return made.astype(dtype)


def recurrence(row, a, b, start):
    axis = row["axes"][0]
    a, b = (np.broadcast_to(x, row["shape"]) for x in (a, b))
    made, state = np.zeros(row["shape"], row["dtype"]), start
    for i in range(row["shape"][axis]):
        at = (slice(None),) * axis + (slice(i, i + 1),)
        made[at] = state = a[at] * state + b[at]
    return made


def part_of(row):
    return tuple(slice(a, a + n * step if a + n * step >= 0 else None, step)
                 for a, n, step in row["part"])


def update(row, whole, part):
    made = whole.copy()
    made[part_of(row)] = part
    return made


def scatter(row, whole, index, value):
    made = whole.copy()
    made[(slice(None),) * row["axis"] + (index,)] = value
    return made


def contract(row, *operands):
    parts = [x for pair in zip(operands, row["terms"]) for x in pair]
    labels = {x: i for i, x in enumerate(sorted({x for term in row["terms"] for x in term}))}
    parts = [[labels[i] for i in x] if isinstance(x, list) else x for x in parts]
    return np.einsum(*parts, [labels[i] for i in row["out"]])


def along(call):
    return lambda row, x: call(x, axis=tuple(row["axes"]), keepdims=True)


def along_one(call):
    return lambda row, x: call(x, axis=row["axes"][0])


OPERATIONS = {
    "constant": constant, "update": update, "scatter": scatter, "contract": contract,
    "recurrence": recurrence, "reshape": lambda row, x: x.reshape(row["shape"]),
    "transpose": lambda row, x: x.transpose(row["order"]),
    "broadcast": lambda row, x: np.broadcast_to(x, row["shape"]),
    "slice": lambda row, x: x[part_of(row)],
    "concatenate": lambda row, *xs: np.concatenate(xs, row["axes"][0]),
    "cast": lambda row, x: x.astype(row["dtype"]),
    "where": lambda row, c, x, y: np.where(c, x, y),
    "gather": lambda row, x, i: np.take(x, i, row["axes"][0]),
    "gather_along": lambda row, x, i: np.take_along_axis(x, i, row["axes"][0]),
    "windows": lambda row, x: np.lib.stride_tricks.sliding_window_view(
        x, row["shape"][x.ndim:], tuple(row["axes"])),
    **{name: along(getattr(np, name)) for name in ("sum", "prod", "max", "min", "all", "any")},
    **{name: along_one(getattr(np, name)) for name in ("cumsum", "cumprod", "sort", "argsort")},
    "cummax": along_one(np.maximum.accumulate), "cummin": along_one(np.minimum.accumulate),
    "argmax": lambda row, x: np.argmax(x, row["axes"][0], keepdims=True),
    "argmin": lambda row, x: np.argmin(x, row["axes"][0], keepdims=True),
}


def compute(graph, inputs):
    values = []
    for row in graph["nodes"]:
        operands = [values[i] for i in row["in"]]
        if row["op"] == "input":
            values.append(inputs[row["argument"]])
        else:
            call = OPERATIONS.get(row["op"])
            made = call(row, *operands) if call else getattr(np, row["op"])(*operands)
            assert list(np.shape(made)) == row["shape"], (row, np.shape(made))
            values.append(np.asarray(made).astype(row["dtype"]))
    return [values[i] for i in graph["outputs"]]


# --------------------------------------------------------------------------------------- references

HEAD = "import numpy as np\n"


def inputs_of(*shapes):
    made = ", ".join(f"np.random.normal(size={shape}).astype(np.float32)" for shape in shapes)
    return f"def get_inputs():\n    return [{made}]\n"


REFERENCES = {
    "layer norm": inputs_of((6, 16), (16,), (16,)) + """
def forward(x, gain, bias):
    mean = np.mean(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + bias
""",
    "group norm": inputs_of((2, 8, 5)) + """
def forward(x):
    groups = x.reshape(2, 4, -1)
    groups -= groups.mean(axis=2, keepdims=True)
    return (groups / np.sqrt((groups ** 2).mean(axis=2)[..., None] + 1e-5)).reshape(x.shape)
""",
    "attention with causal mask": inputs_of((2, 3, 8, 4), (2, 3, 8, 4), (2, 3, 8, 4)) + """
def forward(q, k, v):
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(np.tril(np.ones((8, 8), dtype=bool)), scores, -1e9)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v
""",
    "rotary embedding": inputs_of((3, 10, 8)) + """
def forward(x):
    half = x.shape[-1] // 2
    angle = np.arange(10)[:, None] * (1.0 / 100 ** (np.arange(half) / half))[None]
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    out = np.empty_like(x)
    out[..., :half] = x[..., :half] * cos - x[..., half:] * sin
    out[..., half:] = x[..., half:] * cos + x[..., :half] * sin
    return out
""",
    "top-1 routing": inputs_of((12, 6), (6, 4), (4, 6, 5)) + """
def forward(x, gate, experts):
    logits = x @ gate
    chosen = np.argmax(logits, axis=-1)
    weight = np.take_along_axis(logits, chosen[:, None], axis=1)
    return np.einsum("ti,tij->tj", x, experts[chosen]) * weight
""",
    "cumulative sum": inputs_of((4, 9)) + "def forward(x):\n    return np.cumsum(x, axis=1)\n",
    "convolution with pooling": inputs_of((2, 3, 8, 8), (4, 3, 3, 3), (4,)) + """
def forward(x, w, b):
    n, c, h, wide = x.shape
    out = np.zeros((n, 4, h - 2, wide - 2), dtype=np.float32)
    for i in range(3):
        for j in range(3):
            part = x[:, :, i:i + h - 2, j:j + wide - 2].reshape(n, c, -1)
            out += np.matmul(w[:, :, i, j], part).reshape(out.shape)
    out += b[None, :, None, None]
    return out.reshape(n, 4, 3, 2, 3, 2).max(axis=(3, 5))
""",
    "cross entropy": inputs_of((6, 10)) + """
def forward(x):
    label = np.arange(6) % 10
    top = x.max(axis=1, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=1)) + top[:, 0] - x[:, 3] + 0 * label
""",
    "a scan": inputs_of((3, 7), (3, 7)) + """
def forward(a, b):
    state = np.ndarray((3, 7), dtype=np.float32)
    for i in range(7):
        state[:, i] = a[:, i] * (state[:, i - 1] if i else 0) + b[:, i]
    return state
""",
    "a scan that is joined": inputs_of((9, 4), (9, 4), (4,)) + """
def forward(a, b, start):
    states, h = [], start * 2
    for i in range(9):
        h = a[i] * h - b[i]
        states.append(h / 2)
    return np.stack(states, axis=1), h
""",
    "selective state space": inputs_of((3, 20), (3, 20), (3, 2), (2, 20), (2, 20)) + """
def forward(delta, u, a, b, c):
    h = np.zeros((3, 2), dtype=np.float32)
    y = np.zeros((20, 3), dtype=np.float32)
    for t in range(20):
        h = np.exp(delta[:, t, None] * a) * h + (delta[:, t] * u[:, t])[:, None] * b[None, :, t]
        y[t] = (h * c[:, t]).sum(axis=1)
    return y.T
""",
    "a moving average": inputs_of((2, 18, 3)) + """
def forward(x):
    y = np.empty_like(x)
    y[:, 0] = x[:, 0]
    for t in range(1, x.shape[1]):
        y[:, t] = y[:, t - 1] + 0.25 * (x[:, t] - y[:, t - 1])
    return y
""",
    "chunks that follow one another": inputs_of((64, 6), (6, 5)) + """
def forward(x, w):
    out = np.zeros((66, 5), dtype=np.float32)
    for i in range(16):
        rows = x[i * 4:(i + 1) * 4]
        out[i * 4:i * 4 + 4] = np.maximum(rows @ w, 0) - rows.mean(axis=1, keepdims=True) * i
    return out
""",
    "a state of two steps": inputs_of((3, 20)) + """
def forward(x):
    y = x.copy()
    for t in range(2, 20):
        y[:, t] = 0.5 * y[:, t - 1] - 0.25 * y[:, t - 2] + x[:, t]
    return y
""",
    "views written through": inputs_of((4, 6)) + """
def forward(x):
    y = x.copy()
    t = y.T[1:5]
    t *= 2
    y.reshape(-1)[3:9] = -1
    y[y > 1] = 1
    y[::2, ::-2] += x[::2, ::2]
    return y, t
""",
    "pieces": inputs_of((4, 6), (4, 6)) + """
def forward(x, y):
    a, b = np.split(np.concatenate([x, y], axis=1), 2, axis=1)
    c = np.stack([a, np.roll(b, 2, axis=1)]).transpose(1, 0, 2)
    d = np.pad(c, ((0, 0), (1, 0), (2, 1))) + np.tile(np.float32([1, 2, 3]), 3)
    return np.repeat(np.flip(d, 1), 2, axis=0), np.clip(np.outer(x[0], y[0]), -1, 1)
""",
    "windows": inputs_of((20,), (5,)) + """
def forward(x, w):
    return np.lib.stride_tricks.sliding_window_view(x, 5) @ w
""",
    "products of three": inputs_of((4, 5), (5, 6), (6, 3), (1, 3)) + """
def forward(x, a, b, c):
    return np.einsum("ij,jk,kl->il", x, a, b), np.einsum("ij,jk,kl,ml->mi", x, a, b, c)
""",
    "half products": inputs_of((4, 5), (5, 6)) + """
def forward(x, w):
    exact = np.round(x).astype(np.float16) @ np.round(w).astype(np.float16)
    return exact.astype(np.float32), np.tensordot(x, w, 1)
""",
    "pairs of indices": inputs_of((4, 6, 3)) + """
def forward(x):
    order = np.argsort(x[:, 0, :], axis=1)
    return x[order[:, 0], order[:, 1]] + x[np.array([3, -1, 0, 2]), order[:, 2]]
""",
    "choices": inputs_of((5, 6)) + """
def forward(x):
    order = np.argsort(x, axis=1)
    one_of_each = x[np.arange(5), order[:, 0]]
    return np.sort(x, axis=1), x[[4, 0, 2]], x[:, np.arange(6) % 2 == 0], (
        np.triu(x, 1) + order), one_of_each
""",
}

FOLDED = {"a scan": True, "a scan that is joined": True, "selective state space": True,
          "a moving average": True, "chunks that follow one another": False}

REFUSED = {
    "a number of an input": ("return x * float(x.sum())", 3, "number"),
    "a branch on an input": ("return x if x[0, 0] > 0 else -x", 3, "truth"),
    "a function nobody knows": ("return np.linalg.inv(x @ x.T)", 3, "inv"),
    "elements that an input chooses": ("return x[x > 0]", 3, "choice"),
}


class Recording(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "reference.py")
        self.kept = dict(sys.modules), np.random, sys.argv, sys.path[0]

    def tearDown(self):
        sys.modules.update(self.kept[0])
        np.random, sys.argv, sys.path[0] = self.kept[1:]
        self.folder.cleanup()

    def record(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(HEAD + text)
        names = load()
        recorded = names["Recorded"](self.path)
        recorded.given = None
        try:
            graph = names["folded"](recorded.graph(0))
        finally:
            self.tearDown_modules()
        return graph, names

    def tearDown_modules(self):
        sys.modules.update(self.kept[0])
        np.random = self.kept[1]

    def check(self, text):
        graph, _ = self.record(text)
        names = {}
        exec(compile(HEAD + text, "reference", "exec"), names)
        np.random.seed(3)
        inputs = names["get_inputs"]()
        found = compute(graph, [x.copy() for x in inputs])
        made = names["forward"](*inputs)
        for a, b in zip(found, made if isinstance(made, tuple) else (made,), strict=True):
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)

    def test_references(self):
        for name, text in REFERENCES.items():
            with self.subTest(name):
                self.check(text)

    def test_steps_that_are_alike_are_one(self):
        for name in FOLDED:
            with self.subTest(name):
                graph, _ = self.record(REFERENCES[name])
                names = [row["op"] for row in graph["nodes"]]
                self.assertLess(len(names), 40)
                self.assertEqual("recurrence" in names, FOLDED[name])

    def test_what_cannot_be_recorded_is_said_with_its_line(self):
        for name, (body, line, words) in REFUSED.items():
            with self.subTest(name):
                with self.assertRaises(Exception) as caught:
                    self.record(inputs_of((4, 4)) + "def forward(x):\n    " + body + "\n")
                self.assertEqual(type(caught.exception).__name__, "Untraced")
                self.assertEqual(caught.exception.line, line + 2)
                self.assertIn(words, str(caught.exception))


class Limits(unittest.TestCase):
    """A recording may take so much of a processor, and wait for longer."""

    def graph_of(self, forward):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "reference.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import time\nimport numpy as np\n" + inputs_of((2, 2)) + forward)
            names = load()
            names["TRACE_S"], names["WAITS_S"] = 1, 60
            request = {"folder": os.path.join(folder, "0"), "seed": 0}
            return names["graph_of"](names["Reference"](path), request)

    def test_time_of_the_processor_counts(self):
        waits = self.graph_of("def forward(x):\n    time.sleep(1.5)\n    return x + 1\n")
        self.assertIn("graph", waits)
        works = self.graph_of("def forward(x):\n    while True:\n        x = x\n")
        self.assertEqual(works["refused"], "recording it took too long")


class Least(unittest.TestCase):
    """The work that every kernel of a reference has to do."""

    setUp, tearDown = Recording.setUp, Recording.tearDown
    record, tearDown_modules = Recording.record, Recording.tearDown_modules

    def work(self, text):
        graph, names = self.record(text)
        return names["Work"](graph).summary()

    def test_a_product(self):
        work = self.work(inputs_of((8, 4), (4, 6)) + "def forward(x, w):\n    return x @ w\n")
        self.assertEqual(work, {"read_bytes": 4 * (32 + 24), "written": 48,
                                "multiply_adds": {"fp32": 8 * 4 * 6, "bf16": 0, "fp8": 0}})

    def test_the_cheapest_order_of_a_chain_counts(self):
        work = self.work(inputs_of((8, 4), (4, 100), (100, 2)) +
                         "def forward(x, a, b):\n    return (x @ a) @ b\n")
        self.assertEqual(work["multiply_adds"]["fp32"], 4 * 100 * 2 + 8 * 4 * 2)

    def test_what_a_mask_hides_does_not_count(self):
        mask = "np.tril(np.ones((8, 8), bool))"
        for tail in (f"np.where({mask}, s * 2, -1e9)", f"s + np.where({mask}, 0, -1e9)"):
            work = self.work(inputs_of((8, 4), (4, 8)) + "def forward(q, k):\n    s = q @ k\n"
                             f"    return {tail}\n")
            self.assertAlmostEqual(work["multiply_adds"]["fp32"], 4 * 36)

    def test_inputs_count_in_the_type_the_kernel_is_given(self):
        work = self.work(inputs_of((8, 4), (4, 6)) + "nki_input_dtypes = ['bfloat16', 'bfloat16']\n"
                         "def forward(x, w):\n    return x @ w[:, :3]\n")
        self.assertEqual(work["read_bytes"], 2 * (32 + 12))
        self.assertEqual(work["multiply_adds"], {"fp32": 0, "bf16": 8 * 4 * 3, "fp8": 0})

    def test_an_input_that_does_not_matter_is_not_read(self):
        work = self.work(inputs_of((8,), (9,)) +
                         "def forward(x, y):\n    y + 1\n    return x * 2\n")
        self.assertEqual(work["read_bytes"], 32)


if __name__ == "__main__":
    unittest.main()
