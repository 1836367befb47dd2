# SPDX-License-Identifier: Apache-2.0
"""hone new: images and their channels. Convolutions are one stage whose image is loaded once; sums
over pixels leave channels side by side; what is the same for all pixels is there once. Each kernel
is correct by itself, and in the older dialect with choices drawn by chance."""
import unittest

from writing import Writing, inputs_of

SAME = """
def conv(x, w, step):
    n, c, high, wide = x.shape
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    high, wide = (high - 1) // step + 1, (wide - 1) // step + 1
    out = np.zeros((n, w.shape[0], high, wide), np.float32)
    for i in range(3):
        for j in range(3):
            part = x[:, :, i:i + step * (high - 1) + 1:step, j:j + step * (wide - 1) + 1:step]
            out += np.einsum('nchw,oc->nohw', part, w[:, :, i, j])
    return out
"""
LAST = """
def conv(x, w):
    rows, columns, _, o = w.shape
    high, wide = x.shape[1] - rows + 1, x.shape[2] - columns + 1
    out = np.zeros((len(x), high, wide, o), np.float32)
    for i in range(rows):
        for j in range(columns):
            out += x[:, i:i + high, j:j + wide] @ w[i, j]
    return out
"""
CONVOLUTIONS = {
    # Few channels: all taps lie above each other.
    "rgb": inputs_of((2, 3, 12, 14), (5, 3, 3, 3), (5,)) + SAME + """
def forward(x, w, b):
    y = np.maximum(conv(x, w, 1) + b[None, :, None, None], 0)
    return y.reshape(2, 5, 6, 2, 7, 2).max(axis=(3, 5))
""",
    # Rows of taps, of which the last is alone; strides; more channels than partitions.
    "strided": inputs_of((2, 20, 9, 11), (140, 20, 3, 3)) + SAME + """
def forward(x, w):
    return conv(x, w, 2)
""",
    "deep": inputs_of((1, 150, 6, 7), (9, 150, 3, 3)) + SAME + """
def forward(x, w):
    return conv(x, w, 1)
""",
    # Channels last: pixels are turned over; taps in part of a row lie above each other.
    "last": inputs_of((2, 9, 23, 40), (2, 5, 40, 7), (7,)) + LAST + """
def forward(x, w, b):
    return conv(x, w) + b
""",
    # Rows of more pixels than there are partitions; what is added before the taps.
    "row": inputs_of((1, 1, 300, 16), (1, 3, 16, 8), (8,)) + """
def forward(x, w, b):
    out = np.zeros((1, 1, 298, 8), np.float32) + b
    for j in range(3):
        out += x[:, :, j:j + 298] @ w[0, j]
    return out
""",
    # Taps apart, backwards.
    "dilated": inputs_of((2, 8, 40), (6, 8, 3)) + """
def forward(x, w):
    out = np.zeros((2, 6, 32), np.float32)
    for j in range(3):
        out += np.einsum('ncl,oc->nol', x[:, :, 4 * j:4 * j + 32], w[:, :, 2 - j])
    return out
""",
}
# Pixels lie apart in the result, and products are added up there; or the window lies within them.
TRANSPOSED = {
    "scattered": inputs_of((2, 10, 7, 6), (10, 9, 3, 3), (9,)) + """
def forward(x, w, b):
    out = np.zeros((2, 9, 16, 14), np.float32)
    for i in range(3):
        for j in range(3):
            out[:, :, i:i + 13:2, 1 + j:j + 12:2] += np.einsum('nchw,co->nohw', x, w[:, :, i, j])
    return out + b[:, None, None]
""",
    "last": inputs_of((3, 5, 6, 40), (2, 3, 40, 12)) + """
def forward(x, w):
    out = np.zeros((3, 14, 8, 12), np.float32)
    for i in range(2):
        for j in range(3):
            out[:, 3 * i:3 * i + 9:2, j:j + 6] += x @ w[i, j]
    return out
""",
    "line": inputs_of((2, 6, 50), (5, 6, 4)) + """
def forward(x, w):
    out = np.zeros((2, 6, 151), np.float32)
    out[:, :5, 0:148:3] = np.einsum('ncl,oc->nol', x, w[:, :, 0])
    return out
""",
    "within": inputs_of((2, 20, 5, 7), (20, 6, 2, 3)) + """
def forward(x, w):
    return np.einsum('nchw,coij->nohiwj', x, w).reshape(2, 6, 10, 21)
""",
    "within_last": inputs_of((2, 5, 7, 20), (20, 2, 2, 6), (6,)) + """
def forward(x, w, b):
    return np.tensordot(x, w, 1).transpose(0, 1, 3, 2, 4, 5).reshape(2, 10, 14, 6) + b
""",
}
# A number for each channel and a function, in the stage of the convolution.
BEHIND = {
    "first": inputs_of((2, 9, 10, 12), (140, 9, 3, 3), (140,)) + SAME + """
def forward(x, w, b):
    return np.tanh(conv(x, w, 1) + b[None, :, None, None])
""",
    "last": inputs_of((3, 9, 23, 32), (2, 3, 32, 7), (7,)) + LAST + """
def forward(x, w, b):
    return np.maximum(conv(np.pad(x, ((0, 0), (1, 0), (1, 1), (0, 0))), w) + b, 0)
""",
    "alone": inputs_of((2, 5, 131, 6), (2, 3, 6, 140)) + LAST + """
def forward(x, w):
    return np.maximum(0, conv(x, w))
""",
    # Not for channels: of a stage of its own.
    "pixels": inputs_of((2, 5, 14, 8), (2, 3, 8, 14), (4, 12, 1)) + LAST + """
def forward(x, w, b):
    return np.exp(conv(x, w) + b)
""",
}
CHANNELS = {
    "batch_norm": (inputs_of((4, 16, 16, 24), (24,), (24,)) + """
def forward(x, gain, bias):
    mean, var = x.mean(axis=(0, 1, 2)), x.var(axis=(0, 1, 2))
    return (x - mean) / np.sqrt(var + 1e-5) * gain + bias
""", r"stationary=ones"),
    "group_norm": (inputs_of((2, 9, 11, 12), (12,)) + """
def forward(x, gain):
    y = x.reshape(2, 9, 11, 3, 4)
    y = y - y.mean(axis=(1, 2, 4), keepdims=True)
    return (y / np.sqrt((y * y).mean(axis=(1, 2, 4), keepdims=True) + 1e-5)).reshape(x.shape) * gain
""", r"stationary=ones"),
    "depthwise": (inputs_of((2, 12, 13, 20), (3, 3, 20)) + """
def forward(x, w):
    out = np.zeros((2, 10, 11, 20), np.float32)
    for i in range(3):
        for j in range(3):
            out += x[:, i:i + 10, j:j + 11] * w[i, j]
    return out
""", r"op=nl.multiply"),
    # Windows that are summed over alone; few rows of an image lie above each other.
    "windows": (inputs_of((3, 9, 20, 22), (9, 3, 3)) + """
def forward(x, w):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    return np.einsum('nchwij,cij->nchw', windows, w)
""", r"for q in range"),
    # Elements that are there several times, and in another order, within rows.
    "larger": (inputs_of((2, 70, 6, 8)) + """
def forward(x):
    y = x[:, :68].reshape(2, 17, 2, 2, 6, 8).transpose(0, 1, 4, 2, 5, 3)
    return x.repeat(2, axis=2).repeat(2, axis=3), y.reshape(2, 17, 12, 16)
""", r"turned_\d+\[0:\w+, .*j\d+"),
    "running": (inputs_of((16384, 24), (24,), (24,)) + """
def forward(x, mean, var):
    return (x - mean) / np.sqrt(var * var + 1)
""", r"(?s)rsqrt.*for r in"),
}


class NewImages(Writing):
    def both(self, name, text):
        reference = self.reference_of(name, text)
        older = ("--dialect", "legacy", "--device", "trn1")
        schedule = self.draw(name, reference, *older)
        self.written_by(name + "_older", reference, schedule, *older)
        return self.written(name, reference)

    def test_convolutions_are_one_stage(self):
        for name, text in CONVOLUTIONS.items():
            with self.subTest(name):
                kernel = self.both(name, text)
                self.assertRegex(kernel, r"# A convolution of \d+ taps")
                self.assertNotIn("# A matrix product", kernel)

    def test_transposed_convolutions_are_convolutions(self):
        for name, text in TRANSPOSED.items():
            with self.subTest(name):
                kernel = self.both("transposed_" + name, text)
                if name != "line":  # one tap is a product
                    self.assertRegex(kernel, r"# A convolution of \d+ taps")

    def test_what_is_behind_is_a_part_of_the_stage(self):
        for name, text in BEHIND.items():
            kernel = self.both("behind_" + name, text)
            self.assertEqual("private_hbm" in kernel, name == "pixels", name)
            reference = self.reference_of(name, text)
            for key in (key for key, *_ in self.choices(reference) if key.endswith(".behind")):
                with self.subTest(name, key=key):
                    self.assertNotEqual(name, "pixels")
                    apart = self.written(f"{name}_apart", reference, "--choose", key + "=0")
                    self.assertIn("private_hbm", apart)

    def test_pixels_come_together_or_piece_by_piece(self):
        for name in ("last", "row"):
            reference = self.reference_of(name, CONVOLUTIONS[name])
            key, = (key for key, *_ in self.choices(reference) if key.endswith(".pieces"))
            with self.subTest(name):
                self.written(f"{name}_pieces", reference, "--choose", key + "=0")

    def test_images_are_padded_in_their_tiles(self):
        for name, text in (("deep", CONVOLUTIONS["deep"]), ("within", TRANSPOSED["within"])):
            reference = self.reference_of(name, text)
            key, = (key for key, *_ in self.choices(reference) if key.endswith(".padded"))
            for value in "10":
                with self.subTest(name, padded=value):
                    kernel = self.written(f"{name}_{value}", reference, "--choose",
                                          f"{key}={value}")
                    self.assertEqual("private_hbm" in kernel, value == "0")

    def test_products_of_a_convolution_may_have_a_stage_each(self):
        """Where that is faster; the search decides."""
        reference = self.reference_of("row", CONVOLUTIONS["row"])
        key, = (key for key, *_ in self.choices(reference) if key.endswith(".taps"))
        kernel = self.written("row_apart", reference, "--choose", key + "=0")
        self.assertNotIn("# A convolution", kernel)
        self.assertGreaterEqual(kernel.count("buffer=nl.psum"), 3)

    def test_one_of_the_products_may_have_wider_rows(self):
        """The tap that is all of the image has whole images as its columns, the others rows."""
        reference = self.reference_of("wider", BEHIND["first"])
        key, = (key for key, *_ in self.choices(reference) if key.endswith(".taps"))
        self.written("wider_apart", reference, "--choose", key + "=0")

    def test_channels_lie_side_by_side(self):
        for name, (text, pattern) in CHANNELS.items():
            with self.subTest(name):
                self.assertRegex(self.both(name, text), pattern)


if __name__ == "__main__":
    unittest.main()
