# SPDX-License-Identifier: Apache-2.0
"""hone new on products of arrays: every schedule, on sizes that are no multiples of tiles, gives a
kernel that is what its reference computes and that strict checks accept."""
import re
import unittest

from writing import Writing, inputs_of

# Each with a part of the kernel that says that its product is made as meant.
PRODUCTS = {
    "plain": (inputs_of((200, 300), (300, 700)) + """
def forward(x, w):
    return x @ w
""", "left = "),
    "turned": (inputs_of((300, 130), (700, 300)) + """
def forward(x, w):
    return x.T @ w.T
""", "nc_transpose"),
    "softmax": (inputs_of((2, 200, 96), (2, 96, 600)) + """
def forward(x, w):
    y = x @ w
    e = np.exp(y - y.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True)
""", "left_2"),
    "gated": (inputs_of((300, 200), (200, 640), (200, 640)) + """
def forward(x, up, gate):
    g = x @ gate
    return g / (1 + np.exp(-g)) * (x @ up)
""", "left_3"),
    "biased": (inputs_of((140, 60), (60, 3000), (3000,)) + """
def forward(x, w, b):
    return np.maximum(x @ w + b, 0)
""", "left_3"),
    # The sums go along the rows of the product: its arrays change places.
    "other_way": (inputs_of((300, 64), (64, 150)) + """
def forward(x, w):
    y = x @ w
    return y / np.abs(y).sum(axis=0, keepdims=True)
""", "left_2"),
    "grouped": (inputs_of((2, 2, 150, 40), (2, 260, 40)) + """
def forward(q, k):
    k = np.repeat(k[:, None], 2, axis=1)
    scores = np.einsum("ghqd,ghkd->ghqk", q, k)
    return scores / np.sqrt((scores ** 2).mean(axis=-1, keepdims=True) + 1e-5)
""", "left_"),
    "halves": (inputs_of((2, 2, 150, 72), (2, 260, 72)) + """
def forward(q, k):
    k = np.repeat(k[:, None], 2, axis=1)
    scores = np.einsum("ghqd,ghkd->ghqk", q, k)
    return scores / np.sqrt((scores ** 2).mean(axis=-1, keepdims=True) + 1e-5)
""", "left_"),
    # Batches that lie innermost are brought outside of rows, and back.
    "inner_batches": (inputs_of((140, 70, 6), (90, 70, 6)) + """
def forward(a, b):
    return np.einsum("ikd,jkd->ijd", a, b), np.einsum("ikd,kjd->dij", a, a[:70, :60] + 1)
""", "_rows = "),
    "used_twice": (inputs_of((150, 70), (70, 200)) + """
def forward(x, w):
    y = x @ w
    return y / np.sqrt((y * y).sum(axis=1, keepdims=True)), (y + 1).max(axis=0)
""", "contract"),
}

# What is summed over takes at most half of the partitions: halves lie above each other.
PACKED = {
    "half": inputs_of((260, 64), (64, 2048)) + """
def forward(x, w):
    return x @ w
""",
    "turned_half": inputs_of((2, 512, 64), (2, 384, 64)) + """
def forward(x, w):
    return x @ w.transpose(0, 2, 1)
""",
    # Fewer than the partitions that a half takes: the rest is 0.
    "third": inputs_of((2, 256, 40), (2, 40, 1024)) + """
def forward(x, w):
    y = x @ w
    e = np.exp(y - y.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True)
""",
    "quarter": inputs_of((2, 300, 32), (2, 260, 32)) + """
def forward(q, k):
    scores = q @ k.transpose(0, 2, 1)
    return scores / np.sqrt((scores ** 2).mean(axis=-1, keepdims=True) + 1e-5)
""",
    "less": inputs_of((130, 20), (20, 300)) + """
def forward(x, w):
    return np.maximum(x @ w, 0)
""",
}
# Few summed elements, by the copies that may lie above each other: as blocks of rows, as tiles of a
# stage, in rows that are turned, and before another product.
BESIDE = {
    "blocks": ("2", inputs_of((2, 300, 64), (2, 64, 1100)) + """
def forward(x, w):
    return x @ w
"""),
    "tiles": ("2", inputs_of((140, 40), (40, 1100), (1100,)) + """
def forward(x, w, b):
    return np.maximum(x @ w + b, 0)
"""),
    "quarters": ("4", inputs_of((2, 256, 32), (2, 640, 32)) + """
def forward(q, k):
    scores = q @ k.transpose(0, 2, 1)
    return scores / np.sqrt((scores ** 2).mean(axis=-1, keepdims=True) + 1e-5)
"""),
    "heads": ("2", inputs_of((2, 640, 64), (2, 640, 64), (2, 640, 64)) + """
def forward(q, k, v):
    s = (q @ k.transpose(0, 2, 1)) * np.float32(0.125)
    e = np.exp(s - s.max(axis=2, keepdims=True))
    return (e / e.sum(axis=2, keepdims=True)) @ v
"""),
}
# Extremes of rows that are found while sums leave PSUM, and one tile that two engines divide.
EXTREMES = {
    "softmax": inputs_of((300, 96), (96, 2048)) + """
def forward(x, w):
    y = x @ w
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
""",
    "negative": inputs_of((2, 256, 72), (2, 72, 640)) + """
def forward(x, w):
    y = (x @ w) / np.float32(-3)
    e = np.exp(y - y.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True)
""",
    "least": inputs_of((140, 60), (60, 1024)) + """
def forward(x, w):
    y = x @ w
    return y - y.min(axis=1, keepdims=True)
""",
}

NORMALISED = inputs_of((256, 1024), (256, 1024), (1024,), (1024, 256)) + """
def forward(x, z, g, w):
    y = x + z
    mean = np.sum(np.square(y) / 1024, axis=-1, keepdims=True)
    return np.matmul(y / np.sqrt(mean + np.float32(1e-5)) * g, w)
"""


# Each as it is kept in SBUF or turned, alone or in a batch, with the levels and the precision.
STRASSEN = {
    "twice": (inputs_of((512, 512), (512, 540)) + """
def forward(x, w):
    return x.T @ w
""", "2", "keep"),
    "turned": (inputs_of((512, 256), (256, 256)) + """
def forward(x, w):
    return x @ w.T
""", "1", "keep"),
    "batch": (inputs_of((2, 256, 256), (2, 256, 300)) + """
def forward(x, w):
    return x @ w
""", "1", "split"),
    # Made for the stages that use them, of which the first goes over whole rows.
    "rows": (inputs_of((768, 512), (512, 256)) + """
def forward(x, w):
    y = x @ w
    return y / np.sqrt((y * y).sum(axis=1, keepdims=True))
""", "1", "split"),
    "gated": (inputs_of((512, 256), (256, 300), (256, 300)) + """
def forward(x, up, gate):
    g = x @ gate
    return g / (1 + np.exp(-g)) * (x @ up)
""", "1", "keep"),
}

PLACES = ("made_in_place", "numbers")  # choices that have tests of their own


class Products(Writing):
    made = 0

    def checked(self, reference, *options):
        """The text of a kernel in a folder of its own."""
        self.made += 1
        return self.written(f"task_{self.made}", reference, *options)

    def test_schedules_are_correct(self):
        for name, (text, part) in PRODUCTS.items():
            reference = self.reference_of(name, text)
            with self.subTest(name):
                self.assertIn(part, self.checked(reference))
            schedule = self.draw(name, reference, without=PLACES)
            with self.subTest(name, schedule=schedule):
                self.written_by(name, reference, schedule)

    def test_products_of_halves_are_correct(self):
        for name in ("plain", "turned", "halves", "gated"):
            reference = self.reference_of(name, PRODUCTS[name][0])
            with self.subTest(name):
                self.assertIn("_low[", self.checked(reference, "--precision", "split"))
            schedule = self.draw(name, reference, "--precision", "split", without=PLACES)
            with self.subTest(name, schedule=schedule):
                self.written_by(name + "_split", reference, schedule, "--precision", "split")

    def test_halves_above_each_other_are_correct(self):
        for name, text in PACKED.items():
            reference = self.reference_of(name, text)
            packed = [f"{key}=2" for key, _, _ in self.choices(reference, "--precision", "split")
                      if key.endswith(".numbers")]
            schedule = packed + self.draw(name, reference, "--precision", "split", without=PLACES)
            for task, chosen in ((name, packed), (name + "_drawn", schedule)):
                with self.subTest(name, schedule=chosen):
                    kernel = self.written_by(task, reference, chosen, "--precision", "split")
                    self.assertIn(", 128, ", re.search(r"for h in range.*", kernel).group())

    def test_short_products_that_run_at_once_are_correct(self):
        for name, (copies, text) in BESIDE.items():
            reference = self.reference_of(name, text)
            beside = [f"{key}={copies}" for key, default, values in self.choices(reference)
                      if key.endswith(".beside") and copies in (default, *values)]
            self.assertTrue(beside, name)
            schedule = beside + self.draw(name, reference, without=PLACES + (".beside",))
            for task, chosen in ((name, beside), (name + "_drawn", schedule)):
                with self.subTest(name, schedule=chosen):
                    kernel = self.written_by(task, reference, chosen)
                    self.assertIn(f"tile_size=({128 // int(copies)}, 128)", kernel)

    def test_extremes_of_rows_are_found_on_the_way(self):
        for name, text in EXTREMES.items():
            reference = self.reference_of(name, text)
            with self.subTest(name):
                self.assertIn("nisa.tensor_scalar_reduce", self.checked(reference))
            divided = [f"{key}=2" for key, _, values in self.choices(reference)
                       if key.endswith(".balance") and "2" in values]
            schedule = divided + self.draw(name, reference, without=PLACES + (".balance",))
            with self.subTest(name, schedule=schedule):
                self.written_by(name + "_drawn", reference, schedule)

    def numbers_of(self, tolerance, precision):
        text = f"TOLERANCE = {tolerance}\n" + PRODUCTS["plain"][0]
        reference = self.reference_of(f"plain_{tolerance}", text)
        for key, default, values in self.choices(reference, "--precision", precision):
            if key.endswith(".numbers"):
                return [default, *values]
        return None

    def test_an_error_keeps_a_margin_to_the_tolerance(self):
        """Halves err by 4.4e-6, bf16 by 2.3e-3; twice that is allowed, and nothing of it where the
        numbers are to be kept."""
        self.assertIsNone(self.numbers_of(1e-2, "keep"))
        self.assertEqual(self.numbers_of(9e-6, "split"), ["3", "0"])
        self.assertIsNone(self.numbers_of(8.5e-6, "split"))
        self.assertEqual(self.numbers_of(4.5e-3, "any"), ["3", "0"])
        self.assertEqual(self.numbers_of(5e-3, "any"), ["1", "3", "0"])
        reference = self.reference_of("narrow", "TOLERANCE = 1e-2\n" + PRODUCTS["plain"][0])
        self.assertIn("dtype=nl.bfloat16", self.checked(reference, "--precision", "any"))

    def test_fewer_products_of_sums_are_correct(self):
        """In parts of the smallest size, whose sums are kept in HBM."""
        for name, (text, levels, precision) in STRASSEN.items():
            reference = self.reference_of(name, text)
            options = ("--precision", precision)
            chosen = [f"{row[0]}={levels}" for row in self.choices(reference, *options)
                      if row[0].endswith(".strassen")]
            listed = self.choices(reference, *options,
                                  *(part for one in chosen for part in ("--choose", one)))
            parts = [f"{key}={others[-1]}" for key, _, others in listed if others and
                     key.endswith((".fast_depth", ".fast_rows", ".fast_columns", ".summed_by"))]
            with self.subTest(name, schedule=chosen + parts):
                kernel = self.written_by(name, reference, chosen + parts, *options)
                self.assertEqual(kernel.count("by Strassen"), len(chosen))

    def test_errors_of_several_products_add_up(self):
        """Of halves, the error of one product with fewer multiplications leaves none for others."""
        reference = self.reference_of("gated", STRASSEN["gated"][0])
        keys = [key for key, _, _ in self.choices(reference, "--precision", "split")
                if key.endswith(".strassen")]
        self.assertEqual(len(keys), 2)
        done = self.new("none", reference, "--precision", "split", "--choices",
                        "--choose", keys[0] + "=1", "--choose", keys[1] + "=1")
        self.assertIn(f"nothing takes {keys[1]}=1", done.stderr)

    def test_every_choice_that_is_listed_can_be_taken(self):
        """Also of stages that are made within others, whose rows are whole."""
        reference = self.reference_of("normalised", NORMALISED)
        listed = self.choices(reference)
        self.assertTrue([key for key, _, _ in listed if key.endswith(".made_beside")], listed)
        for key, _, values in listed:
            for value in values:
                with self.subTest(key, value=value):
                    done = self.new("none", reference, "--choices", "--choose", f"{key}={value}")
                    self.assertIn(f"{value} of", done.stdout, done.stderr)

    def test_a_product_through_hbm_is_correct(self):
        for name in ("softmax", "gated"):
            reference = self.reference_of(name, PRODUCTS[name][0])
            for key, _, _ in self.choices(reference):
                if key.endswith(".made_in_place"):
                    with self.subTest(name, key=key):
                        self.assertIn("private_hbm",
                                      self.checked(reference, "--choose", key + "=0"))


if __name__ == "__main__":
    unittest.main()
