# SPDX-License-Identifier: Apache-2.0
"""hone new: what references are made of that people write by hand: convolutions through windows,
statistics, states that go on, rows by index. Each is written and found correct, or the operation
that cannot be written is named with its line."""
import unittest

from writing import Writing, inputs_of

WRITTEN = {
    # Sums over dimensions that do not lie side by side.
    "cross_attention": inputs_of((2, 9, 32), (2, 21, 12), (32, 32), (12, 32), (12, 32), (32, 32)) +
                       """
def forward(x, context, q, k, v, o):
    def split(t):
        return t.reshape(2, -1, 4, 8).transpose(0, 2, 1, 3)
    scores = split(x @ q) @ split(context @ k).swapaxes(-1, -2) * 8 ** -0.5
    power = np.exp(scores - np.max(scores, -1, keepdims=True))
    values = power / np.sum(power, -1, keepdims=True) @ split(context @ v)
    return values.transpose(0, 2, 1, 3).reshape(2, 9, 32) @ o
""",
    "bilinear": inputs_of((20, 12), (12, 7, 9), (20, 9), (9, 5, 12)) + """
def forward(x, w, y, v):
    return np.einsum('bi,ioj,bj->bo', x, w, y), np.einsum('ioj,jki->ok', w, v)
""",
    "extremes_so_far": inputs_of((40, 90)) + """
def forward(x):
    return np.maximum.accumulate(x, axis=1) - np.minimum.accumulate(2 * x, axis=1)
""",
    "borders": inputs_of((5, 8, 30)) + """
def forward(x):
    y = np.pad(x, ((0, 0), (0, 0), (2, 2)), mode="reflect")
    z = np.pad(x, ((1, 1), (0, 2), (0, 0)), "edge")
    w = np.pad(x, ((0, 0), (3, 1), (0, 0)), "wrap")
    return y[..., :-4] - 2 * y[..., 2:-2] + y[..., 4:], np.diff(z, axis=0), w * w
""",
    "conv_pool": inputs_of((2, 8, 18, 18), (16, 8, 3, 3), (16,)) + """
def forward(x, w, b):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    y = np.einsum('nchwij,ocij->nohw', windows, w) + b[None, :, None, None]
    n, o, h, w_ = y.shape
    return y.reshape(n, o, h // 2, 2, w_ // 2, 2).max(axis=(3, 5))
""",
    "conv_taps": inputs_of((2, 8, 18, 18), (16, 8, 3, 3)) + """
def forward(x, w):
    y = np.zeros((2, 16, 16, 16), np.float32)
    for i in range(3):
        for j in range(3):
            y += np.einsum('nchw,oc->nohw', x[:, :, i:i + 16, j:j + 16], w[:, :, i, j])
    return y
""",
    "depthwise": inputs_of((3, 20, 70), (20, 4)) + """
def forward(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x, 4, axis=2)
    return np.einsum('ncti,ci->nct', windows, w)
""",
    "batch_norm": inputs_of((16, 24, 30), (24,), (24,)) + """
def forward(x, gamma, beta):
    mean = x.mean(axis=(0, 2), keepdims=True)
    var = x.var(axis=(0, 2), keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gamma[:, None] + beta[:, None]
""",
    "backwards": inputs_of((60, 200), (60, 200)).replace("normal(", "uniform(") + """
def forward(a, x):
    h = np.zeros_like(x)
    for t in range(x.shape[1] - 1, -1, -1):
        h[:, t] = a[:, t] * (h[:, t + 1] if t + 1 < x.shape[1] else 0) + x[:, t]
    return h
""",
    "second_order": inputs_of((60, 200)).replace("normal(", "uniform(") + """
def forward(x):
    y = np.zeros_like(x)
    for t in range(x.shape[1]):
        y[:, t] = x[:, t] + 0.5 * (y[:, t - 1] if t > 0 else 0)
        y[:, t] -= 0.25 * (y[:, t - 2] if t > 1 else 0)
    return y
""",
    "last_state": inputs_of((60, 200), (60, 200)).replace("normal(", "uniform(") + """
def forward(a, x):
    h = np.zeros(60, np.float32)
    for t in range(200):
        h = a[:, t] * h + x[:, t]
    return h
""",
    "two_indices": inputs_of((40, 50)).replace(
        "return [", "i, j = np.random.randint(0, 40, 90), np.random.randint(0, 50, 90)\n"
        "    return [i, j, ") + """
def forward(i, j, x):
    return x[i, j]
""",
    "top1": inputs_of((200, 64), (64, 8), (8, 64)) + """
def forward(x, w, scale):
    logits = x @ w
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    best = np.argmax(p, axis=1)
    return x * scale[best] * p[np.arange(200), best][:, None]
""",
    "max_pool": inputs_of((60, 80)) + """
def forward(x):
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3)).max(axis=(2, 3))
""",
}

# The line, the operation, and why.
CANNOT = {
    "backwards_sum": (inputs_of((60, 200)) + """
def forward(x):
    return np.cumsum(x[:, ::-1], axis=1)[:, ::-1]
""", 6, "slice", "too many strides"),
    "rope": (inputs_of((2, 4, 140, 64)) + """
def forward(x):
    angle = np.arange(140.0)[:, None] / 10000 ** (np.arange(32) / 32)
    c, s = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    a, b = x[..., :32], x[..., 32:]
    return np.concatenate([a * c - b * s, a * s + b * c], axis=-1)
""", 9, "constant", "a table of numbers, which forward should be given as an argument"),
}


class NewMore(Writing):
    def test_what_people_write_by_hand_is_written(self):
        for name, text in WRITTEN.items():
            with self.subTest(name):
                self.written(name, self.reference_of(name, text))

    def test_what_cannot_be_written_says_why(self):
        for name, (text, line, operation, why) in CANNOT.items():
            with self.subTest(name):
                done = self.new(name, self.reference_of(name, text))
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                said = f"reference.py:{line}: {operation} cannot be written yet: "
                self.assertIn(said, done.stderr)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
