# SPDX-License-Identifier: Apache-2.0
"""hone new: kernels written from references alone are what their references compute, on every seed;
what cannot be written is said with its line."""
import glob
import os
import re
import shutil
import unittest

from writing import Writing, inputs_of

# Shapes that are no multiples of a tile among them.
WRITTEN = {
    "layer_norm": inputs_of((200, 96), (96,), (96,)) + """
def forward(x, gain, bias):
    mean = np.mean(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + bias
""",
    "group_norm": inputs_of((2, 8, 50)) + """
def forward(x):
    groups = x.reshape(2, 4, -1)
    groups = groups - groups.mean(axis=2, keepdims=True)
    return (groups / np.sqrt((groups ** 2).mean(axis=2)[..., None] + 1e-5)).reshape(x.shape)
""",
    "attention": inputs_of((2, 3, 160, 64), (2, 3, 160, 64), (2, 3, 160, 64)) + """
def forward(q, k, v):
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v
""",
    "halves": inputs_of((3, 10, 8), (10, 4), (10, 4)) + """
def forward(x, cos, sin):
    half = x.shape[-1] // 2
    out = np.empty_like(x)
    out[..., :half] = x[..., :half] * cos - x[..., half:] * sin
    out[..., half:] = x[..., half:] * cos + x[..., :half] * sin
    return out
""",
    "convolution": inputs_of((2, 3, 10, 10), (4, 3, 3, 3), (4,)) + """
def forward(x, w, b):
    n, c, h, wide = x.shape
    out = np.zeros((n, 4, h - 2, wide - 2), dtype=np.float32)
    for i in range(3):
        for j in range(3):
            part = x[:, :, i:i + h - 2, j:j + wide - 2].reshape(n, c, -1)
            out += np.matmul(w[:, :, i, j], part).reshape(out.shape)
    out += b[None, :, None, None]
    return out.reshape(n, 4, 4, 2, 4, 2).max(axis=(3, 5))
""",
    "causal": inputs_of((2, 150, 64), (2, 150, 64), (2, 150, 64)) + """
def forward(q, k, v):
    scores = np.einsum("bqd,bkd->bqk", q, k)
    scores = scores + np.triu(np.full((150, 150), -np.inf, dtype=np.float32), k=1)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)) @ v
""",
    "hidden": inputs_of((300, 200)) + """
def forward(x):
    shown = np.arange(300)[:, None] >= np.arange(200)[None, :] + 20
    return np.where(shown, x, -1e9)
""",
    "ranges": inputs_of((200, 2500), (3, 200, 50)) + """
def forward(x, y):
    y = y + (np.arange(3 * 200 * 50).reshape(3, 200, 50) * 0.25).astype(np.float32)
    return x * np.arange(2500, dtype=np.float32) + np.arange(200)[:, None] * 0.5, y
""",
    "cross_entropy": inputs_of((256, 300)).replace(
        "]", ", np.random.randint(0, 300, size=256)]") + """
def forward(x, wanted):
    most = x.max(axis=1, keepdims=True)
    all_of = np.log(np.exp(x - most).sum(axis=1)) + most[:, 0]
    return all_of - x[np.arange(256), wanted]
""",
    "routing": inputs_of((200, 64), (64, 16)) + """
def forward(x, w):
    scores = x @ w
    e = np.exp(scores - scores.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    best = np.argmax(p, axis=-1)
    return np.take_along_axis(p, best[:, None], axis=-1), best.astype(np.float32)
""",
    "embedding": inputs_of((300, 70)).replace(
        "]", ", np.random.randint(0, 300, size=(3, 50))]") + """
def forward(table, token):
    return table[token] * 2
""",
    "names": inputs_of((700, 4096), (700, 4096), (64, 200), (200, 300)) + """
def forward(p, r, k, tile):
    return p * r + np.exp(p), k @ tile + 1
""",
    "listed": inputs_of((130, 7)) + """
def forward(x):
    return x * np.array([1.0, 2.5, -3.0, 0.1, 7, 9, 11], dtype=np.float32)
""",
    "running_sum": inputs_of((140, 300)) + "def forward(x):\n    return np.cumsum(x, axis=1)\n",
    "mlp": inputs_of((300, 200), (200, 640), (640, 200), (200,)) + """
def forward(x, up, down, bias):
    hidden = x @ up
    hidden = hidden / (1 + np.exp(-hidden))
    return hidden @ down + bias + x
""",
    "columns": inputs_of((150, 40), (150, 7)) + """
def forward(x, y):
    return x.sum(axis=0), x.T @ y, np.where(x > 0, x, 0.1 * x).max(axis=0)
""",
    "adam": inputs_of((1000, 37), (1000, 37), (1000, 37)) + """
def forward(p, g, m):
    m = 0.9 * m + 0.1 * g
    return p - 0.01 * m / (np.abs(m) + 1e-3), np.concatenate([m, g * 2], axis=1)
""",
    "joined_twice": inputs_of((130, 9)) + """
def forward(x):
    y = x * 2
    return np.concatenate([y, x, y], axis=1), np.concatenate([np.concatenate([-x, x]), x])
""",
    "keywords": """import numpy as np
def get_inputs():
    return {"b": np.random.randn(96, 50).astype(np.float32), "eps": 1e-3,
            "a": np.random.randn(200, 96).astype(np.float32)}
def forward(a, b, eps):
    return np.exp(-np.abs(a @ b)) + eps
""",
    "whole": inputs_of((64, 5000)) + """
def forward(x):
    return np.sqrt((x * x).sum()), x / x.max()
""",
}
SKELETONS = {
    "sorted": (inputs_of((4, 6)) + "def forward(x):\n    return np.sort(x * 2, axis=1) + 1\n", 5,
               "sort"),
    "table": (inputs_of((5000,)) + "def forward(x):\n    return x * np.cos(np.arange(5000.0))\n", 5,
              "constant"),
}


class New(Writing):
    def new_of(self, name, text, *options):
        return self.new(name, self.reference_of(name, text), *options)

    def test_written_kernels_are_correct(self):
        for name, text in WRITTEN.items():
            with self.subTest(name):
                self.written(name, self.reference_of(name, text))

    def test_a_searched_kernel_is_correct(self):
        for name in ("mlp", "attention"):
            with self.subTest(name):
                done = self.new_of(name, WRITTEN[name], "--scheduled", "--budget", "40")
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, 0, said)
                self.assertRegex(said, r"schedule: \d+ judged, \d+ of them refused")
                steps = re.findall(r"^  \w+\.\w+ +-?\d+ -> -?\d+  (.*)$", said, re.M)
                self.assertTrue(steps, said)
                for step in steps:  # in words, with no number of a choice left
                    self.assertRegex(step, r"^(saves [\d.]+ us|for later steps): line "
                                     r"\d+ of the reference, [^()]+: [^()]+ rather than [^()]+$")
                self.assertIn("correct   yes: 5 seeds", said)

    def test_a_wrong_budget_is_refused(self):
        done = self.new_of("wrong", WRITTEN["mlp"], "--scheduled", "--budget", "none")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertFalse(os.path.exists(self.path("wrong")))

    def test_what_cannot_be_written_is_said(self):
        for name, (text, line, word) in SKELETONS.items():
            with self.subTest(name):
                done = self.new_of(name, text)
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn(f"reference.py:{line}: {word} cannot be written yet", done.stderr)
                self.assertIn("# To be written: " + word, self.kernel(name))
                self.assertEqual(done.stderr.count("cannot be written yet"), 1)

    def test_a_keyword_that_the_kernel_cannot_have_is_refused(self):
        text = ("import numpy as np\ndef get_inputs():\n"
                "    return {'nl': np.ones((4, 4), np.float32)}\n")
        done = self.new_of("taken", text + "def forward(nl):\n    return nl + 1\n")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("the input 'nl' has a name that the kernel needs", done.stderr)
        self.assertFalse(os.path.exists(self.path("taken")))

    def test_a_keyword_that_forward_does_not_take_is_said(self):
        text = ("import numpy as np\ndef get_inputs():\n"
                "    return {'x': np.ones((4, 4), np.float32), 'y': 1}\n")
        done = self.new_of("more", text + "def forward(x):\n    return x + 1\n")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("unexpected keyword argument 'y'", done.stderr)
        self.assertNotIn(":0:", done.stderr)

    def test_what_cannot_be_recorded_is_said(self):
        done = self.new_of("branch", inputs_of((4, 4)) + "def forward(x):\n"
                           "    return x if x[0, 0] > 0 else -x\n")
        self.assertEqual(done.returncode, 2)
        self.assertIn("reference.py:5: cannot be recorded: the truth", done.stderr)
        self.assertFalse(os.path.exists(self.path("branch")))

    def test_a_loop_over_elements_is_said_with_its_line(self):
        done = self.new_of("long", inputs_of((4, 4)) + "def forward(x):\n"
                           "    for _ in range(4100):\n        x = x + 1\n    return x\n")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, r"reference.py:6: forward takes 4\d\d\d operations on "
                         r"arrays, 4\d\d\d of them here; more than 4000 are not written out")

    def test_what_was_not_recorded_is_recorded(self):
        """A hone that was killed meanwhile leaves inputs in the cache, and no graph."""
        text = inputs_of((4, 4)) + "def forward(x):\n    return x + 1\n"
        self.assertEqual(self.new_of("first", text).returncode, 0)
        graphs = glob.glob(self.path("cache", "hone", "references", "*", "graph"))
        self.assertTrue(graphs)
        for graph in graphs:
            shutil.rmtree(graph)
        again = self.new("second", self.path("first_reference.py"), "--no-sim")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_a_reference_that_is_no_file(self):
        for path in ("/dev/null", "."):
            done = self.new("task", path)
            self.assertEqual(done.returncode, 2)
            self.assertIn("is no file", done.stderr)

    def test_a_kernel_is_never_written_over(self):
        text = inputs_of((4, 4)) + "def forward(x):\n    return x + 1\n"
        self.assertEqual(self.new_of("twice", text).returncode, 0)
        again = self.new_of("twice", text)
        self.assertEqual(again.returncode, 2)
        self.assertIn("never writes over", again.stderr)


if __name__ == "__main__":
    unittest.main()
