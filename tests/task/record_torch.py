# SPDX-License-Identifier: Apache-2.0
"""References that compute with torch: their graph, computed again by numpy, gives what torch gives.
Skipped where torch is not installed."""
import os
import sys
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import record  # noqa: E402

try:
    import torch
except ImportError:
    print("torch is not installed")
    sys.exit(77)

HEAD = "import numpy as np\nimport torch\nimport torch.nn.functional as F\n"


def inputs_of(*shapes):
    made = ", ".join(f"torch.randn({shape})" for shape in shapes)
    return f"def get_inputs():\n    return [{made}]\n"


def returns(shapes, text):
    """A reference whose arguments are x, y, z."""
    names = ", ".join("xyz"[:len(shapes)])
    return inputs_of(*shapes) + f"def forward({names}):\n    return {text}\n"


X, Y, QKV = (4, 6), (4, 9), (2, 3, 8, 4)
REFERENCES = {
    "softmax": returns([Y], "torch.softmax(x * 2, -1), F.log_softmax(x, 0)"),
    "layer norm": returns([(4, 6, 9), (9,), (9,)], "F.layer_norm(x, (9,), y, z)"),
    "group norm": returns([(2, 8, 5), (8,), (8,)], "F.group_norm(x, 4, y, z)"),
    "batch norm": returns([(2, 8, 5), (8,), (8,)],
                          "F.batch_norm(x, None, None, y, z, training=True)"),
    "linear": returns([(4, 6, 9), (5, 9), (5,)], "F.gelu(F.linear(x, y, z)), F.linear(x, y)"),
    "activations": returns([Y], "F.silu(x) + F.relu(x) + torch.sigmoid(x) + F.leaky_relu(x, .1)"
                                " + F.elu(x) + F.softplus(x) + F.gelu(x, approximate='tanh')"
                                " + F.hardswish(x) + F.mish(x) + F.relu6(x) + F.hardsigmoid(x)"),
    "convolution with pooling": returns(
        [(2, 3, 8, 9), (4, 3, 3, 3), (4,)],
        "F.max_pool2d(F.relu(F.conv2d(x, y, z, padding=1)), 2)"),
    "convolution in groups": returns(
        [(2, 4, 9, 9), (6, 2, 3, 3)],
        "F.conv2d(x, y, stride=2, groups=2), F.avg_pool2d(x, 3), F.adaptive_avg_pool2d(x, 1)"),
    "convolution of each channel": returns([(2, 4, 19), (4, 1, 3)],
                                           "F.conv1d(x, y, groups=4, padding=2, dilation=2)"),
    "cross entropy": """def get_inputs():
    return [torch.randn(6, 10), torch.randint(0, 10, (6,))]
def forward(x, t):
    return F.cross_entropy(x, t, reduction="none"), F.cross_entropy(x, t).reshape(1)
""",
    "attention with causal mask": inputs_of(QKV, QKV, QKV) + """
def forward(q, k, v):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
    mask = torch.tril(torch.ones(8, 8)).bool()
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v
""",
    "rotary embedding": inputs_of((3, 10, 8)) + """
def forward(x):
    angle = torch.arange(10)[:, None] * (1.0 / 100 ** (torch.arange(4) / 4))[None]
    cos, sin = torch.cos(angle), torch.sin(angle)
    a, b = x.chunk(2, -1)
    out = torch.empty_like(x)
    out[..., :4] = a * cos - b * sin
    out[..., 4:] = b * cos + a * sin
    return out
""",
    "views written through": inputs_of(X) + """
def forward(x):
    y = x.clone()
    y[1:3].mul_(2)
    y[y > 1] = 1
    y[:, 0] += x[:, 1]
    z = torch.zeros(4, 6)
    z[:, 2:4] = y[:, :2]
    z.clamp_(min=-0.5)
    return (y, z.t().contiguous(), x.view(2, 2, 6).transpose(0, 1).reshape(4, 6),
            torch.cat([x, y], 1), torch.stack([x, y]), F.pad(x, (1, 2, -1, 3)))
""",
    "over axes": inputs_of(X) + """
def forward(x):
    return (x.mean(1, keepdim=True), x.var(1), x.std(0, unbiased=False), x.max(1)[0],
            x.sum((0, 1)).reshape(1), x.norm(dim=1), torch.logsumexp(x, 1), x.cumsum(1),
            x.argmax(1), torch.topk(x, 1, -1)[0], x.clamp(-1, 1), x.abs().rsqrt(), x.amin(0))
""",
    "rows that are chosen": inputs_of((9, 6)) + """
def forward(x):
    return (x[torch.tensor([1, 3, 2])], F.embedding(torch.tensor([[1, 2], [3, 4]]), x),
            x.index_select(1, torch.tensor([0, 5])), torch.where(x > 0, x, torch.zeros(1)), 1 - x)
""",
    "a module": "torch.manual_seed(7)\nlinear = torch.nn.Linear(6, 5)\n" + inputs_of(X) + """
def forward(x):
    return torch.nn.LayerNorm(5)(linear(x))
""",
    "a scan": inputs_of((3, 7), (3, 7)) + """
def forward(a, b):
    state, states = torch.zeros(3), []
    for i in range(7):
        state = a[:, i] * state + b[:, i]
        states.append(state)
    return torch.stack(states, 1)
""",
    "arrays of numpy": """def get_inputs():
    return [np.random.randn(4, 6).astype(np.float32)]
def forward(x):
    return torch.softmax(torch.from_numpy(x), -1).numpy()
""",
}
REFUSED = {
    "a number of an input": ("return x * x.sum().item()", "element"),
    "a branch on an input": ("return x if x[0, 0] > 0 else -x", "element"),
    "an operator nobody knows": ("return torch.linalg.inv(x @ x.T)", "torch's"),
    "places of a pooling": ("return F.max_pool1d(x[None], 2, return_indices=True)[1] + 1",
                            "places"),
}


def array(value):
    value = value.detach() if isinstance(value, torch.Tensor) else value
    return value.numpy() if isinstance(value, torch.Tensor) else value


class Recording(unittest.TestCase):
    setUp, tearDown = record.Recording.setUp, record.Recording.tearDown
    tearDown_modules = record.Recording.tearDown_modules

    def record(self, text):
        kept = {name: getattr(torch, name) for name in ("tensor", "as_tensor", "from_numpy",
                                                        "asarray")}
        record.HEAD = HEAD
        torch.manual_seed(3)
        try:
            return record.Recording.record(self, text)[0]
        finally:
            for name, function in kept.items():
                setattr(torch, name, function)

    def test_references(self):
        record.OPERATIONS["erf"] = lambda row, x: torch.erf(torch.from_numpy(x)).numpy()
        for name, text in REFERENCES.items():
            with self.subTest(name):
                graph, names = self.record(text), {}
                exec(compile(HEAD + text, "reference", "exec"), names)
                inputs = names["get_inputs"]()
                found = record.compute(graph, [np.array(array(x)) for x in inputs])
                made = names["forward"](*inputs)
                for a, b in zip(found, made if isinstance(made, tuple) else (made,), strict=True):
                    b = array(b)
                    self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
                    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

    def test_numbers_of_bf16_are_rounded_where_torch_rounds_them(self):
        graph = self.record("""
def get_inputs():
    return [torch.randn(4, 6).bfloat16(), torch.randn(6, 5).bfloat16()]
def forward(x, w):
    return (x @ w + 1).float()
""")
        types = [(row["op"], row["dtype"]) for row in graph["nodes"] if row["op"] != "constant"]
        self.assertEqual(types, [("input", "bfloat16"), ("input", "bfloat16"),
                                 ("contract", "float32"), ("cast", "bfloat16"),
                                 ("add", "float32"), ("cast", "bfloat16"), ("cast", "float32")])

    def test_what_cannot_be_recorded_is_said_with_its_line(self):
        for name, (body, words) in REFUSED.items():
            with self.subTest(name):
                with self.assertRaises(Exception) as caught:
                    self.record(inputs_of((4, 4)) + "def forward(x):\n    " + body + "\n")
                self.assertEqual(type(caught.exception).__name__, "Untraced", caught.exception)
                self.assertEqual(caught.exception.line, 7)
                self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
