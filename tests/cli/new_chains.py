# SPDX-License-Identifier: Apache-2.0
"""hone new: products whose operand is made of another product's results, as attention has them,
stay in SBUF under every way of making them, and are what numpy computes."""
import random
import unittest

from writing import SEED, Writing, inputs_of

SOFTMAX = """
def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
"""
ANY = ("--precision", "any")
WRITTEN = {
    "attention": inputs_of((256, 64), (640, 64), (640, 96)) + SOFTMAX + """
def forward(q, k, v):
    return softmax(q @ k.T / np.float32(8)) @ v
""",
    # Operands that lie the other way round, and more summed over than there are partitions.
    "turned": inputs_of((160, 128), (160, 256), (40, 256)) + SOFTMAX + """
def forward(q, k, v):
    return softmax((q.T @ k) * 0.05) @ v.T + 1
""",
    # Several heads; two of the queries' share one of the keys'.
    "heads": inputs_of((2, 128, 4, 32), (2, 256, 2, 32), (2, 256, 2, 32)) + SOFTMAX + """
def forward(q, k, v):
    q, k, v = [x.transpose(0, 2, 1, 3) for x in (q, np.repeat(k, 2, 2), np.repeat(v, 2, 2))]
    return softmax(q @ k.transpose(0, 1, 3, 2) * 0.2) @ v
""",
    # A softmax that is a result itself: it reads the product's results out of PSUM.
    "rows": inputs_of((2, 256, 64), (2, 64, 1024)) + SOFTMAX + """
def forward(a, b):
    return softmax(np.matmul(a, b) * 0.5)
""",
    # Nothing is subtracted, and nothing divides.
    "gated": inputs_of((256, 48), (256, 48), (256, 72), (256, 72)) + """
def forward(a, b, w, x):
    s = a @ b.T
    return (s / (1 + np.exp(-s))) @ w * x
""",
    # The largest result is not only subtracted from.
    "centred": inputs_of((128, 32), (128, 32), (128, 40)) + """
def forward(a, b, w):
    s = a @ b.T
    m = s.max(axis=1, keepdims=True)
    p = np.tanh(0.1 * (s - m)) * m
    return (p @ w) / (p.sum(axis=1, keepdims=True) - 1000)
""",
}


class NewChains(Writing):
    def test_what_is_between_stays(self):
        for name, text in WRITTEN.items():
            reference = self.reference_of(name, text)
            with self.subTest(name):
                kernel = self.written(name, reference)
                self.assertNotIn("private_hbm", kernel)
        name = random.Random(SEED).choice(list(WRITTEN))
        schedule = self.draw(name, self.reference_of(name, WRITTEN[name]))
        with self.subTest(name, schedule=schedule):
            self.written_by("drawn", self.path(name + "_reference.py"), schedule)

    def test_in_every_way_of_shifting(self):
        reference = self.reference_of("attention", WRITTEN["attention"])
        for sure in ("keep", "split"):
            found = self.choices(reference, "--precision", sure)
            self.assertFalse([key for key, _, _ in found if key.endswith(".shift")], found)
        key = [key for key, _, _ in self.choices(reference, *ANY) if key.endswith(".shift")][0]
        chosen = (*ANY, "--choose", key + "=1")
        for more in ((), ("--dialect", "legacy", "--device", "trn1")):
            with self.subTest(more=more):
                self.written("sampled" + "_".join(more), reference, *chosen, *more)
        listed = self.new("none", reference, "--choices", *chosen).stdout
        self.assertIn("as exact, where none of a row's results is 100 above", listed)

    def test_a_softmax_of_a_product_reads_it_where_it_is_made(self):
        reference = self.reference_of("rows", WRITTEN["rows"])
        key = [key for key, _, _ in self.choices(reference, *ANY) if key.endswith(".shift")][0]
        for more in ((), ("--dialect", "legacy")):
            kernel = self.written("read" + "_".join(more), reference, *ANY, "--choose", key + "=1",
                                  *more)
            self.assertRegex(kernel, r"activation_reduce\(.*data=sums_")

    def test_large_results_neither_overflow_nor_vanish(self):
        for scale, shift in (("* 20", 0), ("* 3", 1)):
            text = WRITTEN["attention"].replace("/ np.float32(8)", scale)
            how = (*ANY, "--choose", "contract_12.shift=1") if shift else ()
            text = f"TOLERANCE = {1e-3 if shift else 2e-5}\n" + text
            self.written(f"large{shift}", self.reference_of("large", text), *how)

    def test_only_a_softmax_may_be_shifted(self):
        for name in ("gated", "centred"):
            found = self.choices(self.reference_of(name, WRITTEN[name]), *ANY)
            self.assertTrue([key for key, _, _ in found if key.endswith(".in_sbuf")], found)
            self.assertFalse([key for key, _, _ in found if key.endswith(".shift")], found)

    def test_numbers_of_half_precision_are_not_shifted(self):
        for name in ("attention", "rows"):
            half = WRITTEN[name].replace("float32", "float16").replace("0.5", "np.float16(0.5)")
            half = self.reference_of("half", "TOLERANCE = 2e-2" + chr(10) + half)
            found = self.choices(half, *ANY)
            self.assertFalse([key for key, _, _ in found if key.endswith(".shift")], found)

    def test_the_rest_goes_through_memory(self):
        # The rows of a softmax are wanted themselves; and a number of columns that leaves a rest.
        text = WRITTEN["attention"].replace("640", "200").replace("return softmax", "p = softmax")
        reference = self.reference_of("both", text[:-4].rstrip() + "\n    return p, p @ v\n")
        self.assertFalse([key for key, _, _ in self.choices(reference) if "in_sbuf" in key])
        self.written("both", reference)
        rest = self.reference_of("rest", WRITTEN["attention"].replace("640", "200"))
        self.assertIn("private_hbm", self.written("rest", rest))


if __name__ == "__main__":
    unittest.main()
