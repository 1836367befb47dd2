# SPDX-License-Identifier: Apache-2.0
"""hone new --dialect legacy: kernels of neuronxcc.nki, correct and clean as those of the current
dialect. Each run takes some references of the other tests, and draws a schedule for one of them."""
import random
import unittest

import writing
from new_more import WRITTEN
from writing import SEED, inputs_of

# With masks, ranges, products that add up and parts of tiles that are filled.
ATTENTION = inputs_of((2, 256, 64), (2, 256, 64), (2, 256, 64)) + """
def forward(q, k, v):
    s = np.matmul(q, k.transpose(0, 2, 1)) / np.float32(8)
    s = np.where(np.tril(np.ones((256, 256), dtype=bool)), s, np.float32(-1e9))
    e = np.exp(s - s.max(-1, keepdims=True))
    return np.matmul(e / e.sum(-1, keepdims=True), v) + np.arange(64, dtype=np.float32)
"""


class NewOlder(writing.Writing):
    def older(self, name, reference, *options):
        text = self.written(name, reference, "--dialect", "legacy", *options)
        self.assertIn("import neuronxcc.nki as nki\n", text)
        self.assertNotIn(".ap(", text)
        return text

    def test_what_is_written_is_written_in_the_older_dialect(self):
        draws = random.Random(SEED)
        for name in draws.sample(sorted(WRITTEN), 3):
            with self.subTest(name):
                self.older(name, self.reference_of(name, WRITTEN[name]))

    def test_attention_as_it_is_and_with_another_schedule(self):
        reference = self.reference_of("attention", ATTENTION)
        text = self.older("attention", reference)
        self.assertRegex(text, r"sums_\d+\[.*\] \+= nisa\.nc_matmul\(stationary=")
        self.assertRegex(text, r"= nisa\.affine_select\(pred=r \+ nl\.arange\(128\)\[:, None\]")
        drawn = self.draw("attention", reference, "--precision", "split")
        self.written_by("drawn", reference, drawn, "--dialect", "legacy", "--precision", "split")

    def test_the_search_times_kernels_of_the_dialect(self):
        reference = self.reference_of("attention", ATTENTION)
        text = self.older("searched", reference, "--scheduled", "--budget", "12")
        self.assertIn("nl.static_range(", text)

    def test_it_is_evaluated_on_the_device_that_it_is_for(self):
        done = self.new("trn1", self.reference_of("attention", ATTENTION), "--dialect", "legacy",
                        "--device", "trn1")
        self.assertIn("legacy dialect) on trn1", done.stdout)
        self.assertIn("correct   yes: 5 seeds", done.stdout)


if __name__ == "__main__":
    unittest.main()
