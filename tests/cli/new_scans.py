# SPDX-License-Identifier: Apache-2.0
"""hone new: loops whose steps follow from the one before become scans, whatever they are written
like, with rows that fit into memory and rows that come in chunks. Sizes are drawn at random from a
seed that is printed; HONE_SCAN_SEED=5 takes the same ones again."""
import os
import random
import unittest

from writing import Writing, inputs_of

SEED = int(os.environ.get("HONE_SCAN_SEED") or random.randrange(1 << 30))


def drawn(seed):
    """References, each with sizes of its own."""
    draw = random.Random(seed).randint
    c, s, m, r = draw(100, 150), draw(2, 5), draw(513, 1400), draw(3, 9)
    long = draw(9000, 11000)
    return {
        # States of several kinds, which are summed up in each step.
        "space": inputs_of((c, m), (c, m), (c, s), (s, m), (s, m)) + f"""
def forward(delta, u, a, b, c):
    decay = np.exp(0.1 * delta[:, None, :] * a[:, :, None] - 0.2)
    given = delta[:, None, :] * b[None, :, :] * u[:, None, :]
    state = np.ndarray(({c}, {s}, {m}), dtype=np.float32)
    for i in range({m}):
        state[..., i] = decay[..., i] * (state[..., i - 1] if i > 0 else 0) + given[..., i]
    return np.sum(c[None, :, :] * state, axis=-2)
""",
        "steps": inputs_of((r, m, c), (c, s), (r, c, s), (s, m)) + f"""
def forward(x, a, h, w):
    y = np.zeros(({r}, {m}, {c}), dtype=np.float32)
    for t in range({m}):
        h = h * np.tanh(a) + x[:, t, :, None] * w[:, t]
        y[:, t] = h.max(axis=-1)
    return y, h
""",
        "average": inputs_of((r, long)) + """
def forward(x):
    y = np.zeros_like(x)
    y[:, 0] = x[:, 0]
    for t in range(1, x.shape[1]):
        y[:, t] = y[:, t - 1] + 0.2 * (x[:, t] - y[:, t - 1])
    return y * 2
""",
        "joined": inputs_of((m, c), (m, c), (c,)) + f"""
def forward(a, b, h):
    states = []
    for t in range({m}):
        h = 0.5 * np.tanh(a[t]) * h - b[t]
        states.append(h)
    return np.stack(states, axis=1)
""",
        "sums": inputs_of((r, long), (r, long)) + """
def forward(x, y):
    total = np.cumsum(x * y, axis=1)
    return total * 0.5, np.maximum.accumulate(x + y, axis=1)
""",
    }


class NewScans(Writing):
    def test_sizes_at_random(self):
        print("HONE_SCAN_SEED=%d" % SEED, flush=True)
        for name, text in drawn(SEED).items():
            with self.subTest(name, seed=SEED):
                written = self.written(name, self.reference_of(name, text))
                self.assertIn("nisa.tensor_tensor_scan", written)
                other = [f"{key}={value}"
                         for key, _, values in self.choices(self.reference_of(name, text))
                         for value in values]
                if other:
                    chosen = random.Random(SEED).choice(other)
                    self.written(f"{name}_{chosen}", self.reference_of(name, text), "--choose",
                                 chosen)

    def narrow(self, name):
        """The choice of the shortest chunks of a row."""
        keys = self.choices(self.reference_of(name, drawn(SEED)[name]))
        return ["--choose", *(f"{key}=512" for key, _, values in keys if "512" in values)]

    def test_sums_of_states_stay_in_memory(self):
        text = self.written("stays", self.reference_of("space", drawn(SEED)["space"]),
                            *self.narrow("space"))
        self.assertNotIn("private_hbm", text)
        self.assertIn("carry", text)

    def test_channels_are_added_up_apart(self):
        """By products with a unit matrix a NaN of one channel would reach the others."""
        reference = self.reference_of("space", drawn(SEED)["space"])
        self.assertFalse([key for key, default, values in self.choices(reference)
                          if key.endswith("adds_up") and "1" in (default, *values)])
        self.assertNotIn("moving=", self.written("apart", reference))

    def test_steps_are_added_up_in_the_end(self):
        reference = self.reference_of("space", drawn(SEED)["space"])
        key, = (key for key, _, values in self.choices(reference)
                if key.endswith("adds_up") and "2" in values)
        text = self.written("steps", reference, "--choose", key + "=2")
        self.assertIn("data=steps_", text)
        self.assertNotIn("total_h1, data2", text)
        older = self.written("steps_older", reference, "--choose", key + "=2", "--device", "trn1",
                             "--dialect", "legacy")
        self.assertIn("data=steps_", older)

    def test_steps_run_side_by_side(self):
        """All numbers of them that are offered, whatever adds them up; in both dialects."""
        reference = self.reference_of("space", drawn(SEED)["space"])
        for at, options in enumerate((("--precision", "split"),
                                      ("--device", "trn1", "--dialect", "legacy"))):
            offered = [(key, [own, *values])
                       for key, own, values in self.choices(reference, *options)
                       if key.endswith(("abreast", "adds_up", "pairs"))]
            (key, values), = (row for row in offered if row[0].endswith("abreast"))
            others = [f"{name}={value}" for name, numbers in offered if name != key
                      for value in numbers]
            for value in [value for value in values if value != "1"]:
                with self.subTest(options=options, value=value):
                    chosen = [key + "=" + value, *random.Random(SEED).sample(others, 1)]
                    text = self.written_by(f"side_{at}_{value}", reference, chosen, *options)
                    self.assertIn(".append(nl.ndarray(", text)
            chosen = ["--choose", key + "=1"]
            self.assertNotIn(".append(",
                             self.written(f"apart_{at}", reference, *chosen, *options))

    def test_names_of_arguments_stay_theirs(self):
        """Where steps run side by side, the kernel has a name of its own for the first of them."""
        text = drawn(SEED)["space"].replace("delta", "first")
        self.written("named", self.reference_of("named", text))

    def test_vector_of_trn1_reads_one_of_two_tiles_from_psum(self):
        """Tiles lie there, or are brought there by Scalar, as the schedule says; not on trn2."""
        older = ("--device", "trn1", "--dialect", "legacy")
        scaled = inputs_of((130, 1024), (130, 1024), (1024,)) + """
def forward(x, y, g):
    return np.exp(x / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1) * g - y) * y * x
"""
        pooled = inputs_of((140, 1033)) + """
def forward(x):
    parts = [x[i:i + 138, j:j + 1031] for i in range(3) for j in range(3)]
    largest = parts[0]
    for part in parts[1:]:
        largest = np.maximum(largest, part)
    return largest
"""
        for name, text in (("space", drawn(SEED)["space"]), ("scaled", scaled), ("pooled", pooled)):
            reference = self.reference_of(name, text)
            found = [key for key, *_ in self.choices(reference, *older)
                     if key.endswith((".lies", ".pairs"))]
            self.assertTrue(found, name)
            self.assertFalse([key for key, *_ in self.choices(reference)
                              if key.endswith((".lies", ".pairs"))])
            chosen = [[key] for key in found] + [found]
            for at, keys in enumerate(chosen):
                with self.subTest(name, keys=keys):
                    written = self.written_by(f"{name}_{at}", reference,
                                              [key + "=1" for key in keys], *older)
                    self.assertIn("buffer=nl.psum", written)

    def test_where_numbers_are_finite_the_tensor_engine_adds_up(self):
        reference = self.reference_of("space", drawn(SEED)["space"])
        for precision in ("split", "any"):
            allowed = ("--precision", precision)
            with self.subTest(precision):
                self.assertIn("moving=", self.written(f"tensor_{precision}", reference, *allowed))
                key, = (key for key, *_ in self.choices(reference, *allowed)
                        if key.endswith("adds_up"))
                self.assertNotIn("moving=", self.written(f"vector_{precision}", reference, *allowed,
                                                         "--choose", key + "=0"))


if __name__ == "__main__":
    unittest.main()
