# SPDX-License-Identifier: Apache-2.0
"""hone new: row operations under schedules drawn by chance are what numpy computes. The
references are made of the forms that are computed otherwise than they are written: factors and
summands that wait for an instruction that takes them, sigmoids, inverse roots, shared stages."""
import re
import unittest

from writing import Writing, inputs_of

WRITTEN = {
    # A number is taken along by whatever reads the array, whichever side it is on.
    "factors": inputs_of((130, 70), (130, 70)) + """
def forward(x, y):
    a = (2 * x - 3) * (0.5 * y + 1) - x * 0.1
    b = 1.5 - np.maximum(-2 * x + 1, 0.3) + np.minimum(0.2 * y, 4 - y)
    c = (x - 0.1 * x) * (3 - (x + x)) + (y - y * 4) * y
    return a, b * 1e-3, -c, (x * 0.25 - y) * -1.0
""",
    # One element a row is such a factor or summand, too, and so is one of each column.
    "rows": inputs_of((150, 33), (150, 1), (33,), (150, 1)) + """
def forward(x, c, w, d):
    a = (x - c) * w + (x * d) * w
    b = (x * c + w) - (x - d) * 2
    return a * (b * c), np.exp(0.1 * (x - c)) * d, (c * 2 + d) * x, c + d * x - w
""",
    "flat": inputs_of((61, 60, 300), (61, 60, 300)) + """
def forward(x, y):
    return np.sqrt(0.3 * x * x + 0.1) / (np.abs(y) + 0.5) - 0.01 * x, y * 2
""",
    "gates": inputs_of((257, 40), (257, 40)) + """
def forward(x, y):
    a = x / (1 + np.exp(-x))
    b = y * (1 / (np.exp(0.5 - 2 * x) + 1))
    return a * b, 3 / (1 + np.exp(y)), np.tanh(x * 0.5 + 1) * 0.5
""",
    "roots": inputs_of((129, 200), (200,)) + """
def forward(x, g):
    mean = np.mean(x, axis=-1, keepdims=True)
    spread = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
    root = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-5)
    return (x - mean) / np.sqrt(spread + 1e-5) * g, g * x / root, (x / np.sqrt(x * x + 2)) ** 3
""",
    "softmax": inputs_of((70, 300)) + """
def forward(x):
    e = np.exp((x - x.max(axis=-1, keepdims=True)) / 4)
    return e / e.sum(axis=-1, keepdims=True), (2 - 3 * x).max(axis=1), (1 - x).sum(axis=1)
""",
    # Results that read the same arrays come out of one stage, but not before what they need.
    "shared": inputs_of((90, 64), (90, 64), (64, 64)) + """
def forward(x, y, w):
    first = x * y + 1
    second = first @ w
    third = x - y
    return first * 2, second + third, third * first, np.concatenate([x * y, x + y], axis=0)
""",
    # Short rows lie beside each other in a partition.
    "heads": inputs_of((3, 500, 2, 8), (500, 8)) + """
def forward(x, c):
    turned = np.transpose(x, (0, 2, 1, 3))
    return turned[..., :4] * c[:, :4] - turned[..., 4:] * c[:, 4:], np.exp(turned)
""",
    # What the rows of a product's operand have in common goes over its result.
    "late": inputs_of((2, 70, 40), (2, 40, 30), (40,), (2, 70, 1), (130, 50), (50, 130)) + """
def forward(x, v, g, c, a, b):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    rms = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)
    kept = x * c
    wide = (a @ (b * (b.sum(axis=0) * 0.01))) @ a
    return (e / e.sum(-1, keepdims=True)) @ v, (x / rms * g) @ v, kept @ v, kept, wide
""",
    # It is made for a tile of rows beside the products that it goes over.
    "beside": inputs_of((300, 600), (600, 200), (300,)) + """
def forward(x, w, c):
    rms = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-5)
    return (x / rms) @ w + c[:, None]
""",
    # What a product multiplies is made on the way in, and so are the sums that go over its result.
    "prologue": inputs_of((300, 70), (300, 70), (70,), (70, 200)) + """
def forward(x, z, g, w):
    y = x + z * 0.5
    rms = np.sqrt(np.mean(y * y, axis=-1, keepdims=True) + 1e-5)
    return (y / rms * g) @ w
""",
    # Parts of a row that lie some columns apart are in one tile; in short rows, and where they lie
    # farther apart, too.
    "shifted": inputs_of((6, 70, 300), (130, 3172), (200, 9)) + """
def forward(x, y, z):
    most = x[:, :-2, :-2]
    for i in range(3):
        for j in range(3):
            most = np.maximum(most, x[:, i:i + 68, j:j + 298])
    taps = np.exp(0.5 * y[:, :-100]) * y[:, 3:-97] - 2 * y[:, 70:-30] + np.tanh(y[:, 100:])
    return most, taps, z[:, :4] - z[:, 4:8] * z[:, 5:], y[:, 1:] - y[:, :-1]
""",
    # Sums of a few elements are a few additions, of what lies every few columns and in other rows.
    "pooled": inputs_of((5, 66, 90), (300, 7, 12), (3, 4, 40, 50), (4, 1, 1), (2000, 4)) + """
def forward(x, y, z, w, t):
    a = x.reshape(5, 33, 2, 45, 2)
    b = (y[:, :, ::3] * y[:, :, 1::3]).min(axis=1)
    c = (z * w + 0.5).sum(axis=1) * 2 - np.exp(z[:, 0]).prod(axis=0)
    return (a.mean(axis=(2, 4)) - 1, a.max(axis=(2, 4)), b, c, t.max(axis=1) - t.min(axis=1),
            np.square(x[:, :64].reshape(5, 4, 16, 90)).sum(axis=2))
""",
    # Of windows, rows become one first; a sum that has one part twice is none of a window.
    "windows": inputs_of((4, 140, 70), (130, 3005), (90, 2 * 41 + 3)) + """
def forward(x, y, z):
    box, most = np.zeros((4, 138, 68), dtype=np.float32), x[:, :138, :68]
    for i in range(3):
        for j in range(3):
            box += x[:, i:i + 138, j:j + 68]
            most = np.maximum(most, x[:, i:i + 138, j:j + 68])
    pooled = x[:, 0:137:2, 0:67:2]
    for i in range(3):
        for j in range(3):
            pooled = np.minimum(pooled, x[:, i:i + 137:2, j:j + 67:2])
    twice = y[:-1, :-1] + y[1:, :-1] + y[:-1, 1:] + y[1:, 1:] + y[1:, 1:]
    return box / 9, most, pooled, twice, z[:, 0:82:2] * z[:, 1:83:2] - z[:, 3::2]
""",
    # What pads rows is put into tiles, also where it is wider on one side, or another number.
    "padded_rows": inputs_of((2, 70, 300), (130, 1, 2500), (130, 3), (40, 50)) + """
def forward(x, y, w, z):
    p = np.pad(x, ((0, 0), (0, 0), (2, 1)))
    q = np.full((130, 1, 2507), -9, dtype=np.float32)
    q[:, :, 5:2505] = y
    most = np.maximum(np.maximum(q[..., 0:2505], q[..., 1:2506]), q[..., 2:])
    r = np.pad(z, ((0, 0), (3, 3)))
    return (p[:, :, :-3] * 0.5 + x * 2 + p[:, :, 3:], np.exp(p[:, 1:, 2:301:2]),
            q[:, 0, 4:2504] * w[:, :1] + y[:, 0], most, r[:, 1:51] @ r[:, 2:52].T, r[1:] - r[:-1])
""",
    # A few long rows fill the partitions in parts.
    "few_rows": inputs_of((3, 40000), (3, 1), (2, 3, 2560), (3, 2560)) + """
def forward(x, c, y, z):
    return np.exp(0.1 * x) * c - x, y * z + c
""",
    # Elements change places within rows, of all or of an outer dimension.
    "permuted": inputs_of((130, 12, 40), (3, 70, 8, 33), (40, 6, 5, 7), (20, 300, 2, 9)) + """
def forward(x, y, z, t):
    return (np.transpose(x, (0, 2, 1)), np.transpose(y, (0, 1, 3, 2)),
            np.transpose(z, (0, 3, 1, 2)), np.transpose(z, (0, 3, 2, 1)) + 1,
            np.transpose(t, (0, 2, 1, 3)), np.transpose(t, (2, 0, 3, 1)))
""",
    # What is no array goes into the kernel as it was.
    "padded": """
def get_inputs():
    x, f = np.random.normal(size=(2, 130, 1, 500)), np.random.normal(size=(130, 1, 1, 3))
    return {"x": x.astype(np.float32), "f": f.astype(np.float32), "by": ((0, 0), (1, 2)), "n": 3}

def forward(x, f, by, n):
    padded = np.pad(x, ((0, 0), (0, 0), *by))
    return sum(padded[..., i:i + 501] * f[None, :, 0, :, i:i + 1] for i in range(n))
""",
    # numpy cuts fractions off, the engines round.
    "whole_numbers": inputs_of((130, 40), (130, 1)) + """
def forward(x, c):
    n = (x * 7 + 0.5).astype(np.int32)
    return n, n * 2 + (c * -3).astype(np.int32), (x.max(axis=1) * 2.5).astype(np.int32)
""",
    "kinds": """
def get_inputs():
    x, y = [np.random.normal(size=(40, 50)).astype(np.float32) for _ in range(2)]
    return [x, y, np.random.randint(-9, 9, size=(40, 50)).astype(np.int32)]

def forward(x, y, n):
    return n + n * 2 - 3, (x > y * 0.5), np.where(2 * x > y, -x, 0.5 * y), -n
""",
}


class NewRows(Writing):
    def check(self, task, name, *options):
        return self.written(task, self.reference_of(name, WRITTEN[name]), *options)

    def test_schedules_are_correct(self):
        for name, text in WRITTEN.items():
            reference = self.reference_of(name, text)
            with self.subTest(name):
                self.check(name, name)
            schedule = self.draw(name, reference)
            with self.subTest(name, schedule=schedule):
                self.written_by(name + "_drawn", reference, schedule)

    def test_kernels_are_written_for_older_devices(self):
        for name in ("factors", "roots", "gates", "shifted", "padded", "permuted", "pooled",
                     "windows"):
            self.check(name + "_trn1", name, "--device", "trn1")

    def test_forms_that_have_an_instruction_take_it(self):
        text = self.check("gates", "gates")
        self.assertIn("op=nl.silu", text)
        self.assertNotIn("nisa.reciprocal", text)
        self.assertIn("nisa.activation_reduce", self.check("softmax", "softmax"))

    def test_parts_of_a_row_are_loaded_once(self):
        text = self.check("shifted", "shifted")
        self.assertEqual(len(re.findall(r"nisa.dma_copy\(dst=x_\w+", text)), 3)
        self.assertNotIn("data1=x_t2_wide[0:rows, 0:298], data2=x_t2_wide[0:rows, 0:298]", text)

    def test_elements_are_not_loaded_one_by_one(self):
        text = self.check("pooled", "pooled")
        self.assertEqual(text.count("tensor_reduce"), 2)
        self.assertEqual(re.findall(r"src=[xy]\.ap\(.*\[(?!1,)\d+, \d+\]\]", text), [])

    def test_padded_rows_do_not_go_through_memory(self):
        reference = self.reference_of("convolution", inputs_of((3, 130, 700), (130, 3)) + """
def forward(x, w):
    p = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    return sum(p[:, :, i:i + 700] * w[:, i:i + 1] for i in range(3))
""")
        text = self.written("convolution", reference)
        self.assertNotIn("private_hbm", text)
        self.assertEqual(text.count("src=x"), 1)
        self.written("convolution_older", reference, "--device", "trn1", "--dialect", "legacy")

    def test_rows_of_windows_become_one_first(self):
        text = self.check("windows", "windows")
        self.assertEqual(len(re.findall(r"dst=rows_h\d+,", text)), 2 + 2 + 2 + 1)

    def test_a_division_goes_over_the_smaller_result(self):
        early = [part for key in self.late_keys() for part in ("--choose", key + "=0")]
        self.assertNotEqual(self.check("late", "late"), self.check("early", "late", *early))

    def test_rows_do_not_hold_products_up(self):
        for name in ("beside", "prologue"):
            text = self.check(name, name)
            self.assertNotIn("private_hbm", text)
            self.assertEqual(len(re.findall("for r in range", text)), 1)

    def test_sums_of_rows_in_parts_are_made_before_products(self):
        reference = self.reference_of("beside", WRITTEN["beside"])
        apart = [f"{key}=0" for key, _, _ in self.choices(reference) if key.endswith("beside")]
        self.assertEqual(len(apart), 1)
        found = self.choices(reference, "--choose", *apart)
        narrow = [f"{key}=512" for key, _, values in found
                  if key.startswith("sum") and "512" in values]
        self.assertEqual(len(narrow), 1, found)
        self.check("parts", "beside", "--choose", *apart, "--choose", *narrow)

    def late_keys(self):
        found = self.choices(self.reference_of("late", WRITTEN["late"]))
        keys = [key for key, default, values in found
                if key.endswith(".late") and (default, values) == ("1", ["0"])]
        self.assertEqual(len(keys), 3, found)
        return keys


if __name__ == "__main__":
    unittest.main()
