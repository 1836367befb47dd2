# SPDX-License-Identifier: Apache-2.0
"""hone new: Strassen's products whose turned blocks stay in SBUF, and whose results do until the
stage around them has used them, are what numpy computes, as are the ways around both."""
import random
import unittest

from writing import SEED, Writing, inputs_of

NORMALISED = """
    return y / np.sqrt((y * y).sum(axis=1, keepdims=True) + 1)
"""
STAYS = (".left_once", ".right_once", ".results_stay")


def sizes_of(name, levels):
    """Rows, what is summed over, columns: of whole blocks, up to three times the smallest."""
    draws = random.Random(f"{SEED} {name}")
    unit = 128 << levels
    columns = draws.randint(64, 120) << levels
    return unit * draws.randint(1, 3), unit * draws.randint(1, 2), columns


class NewFast(Writing):
    def product(self, name, product, after, levels, turned=False):
        """A reference with arrays of sizes by chance, and the settings that make it Strassen's."""
        rows, deep, columns = sizes_of(name, levels)
        if turned:  # columns in tiles of 128
            columns = 128 << levels
        text = inputs_of((rows, deep), (columns, deep) if turned else (deep, columns))
        reference = self.reference_of(name, f"{text}\ndef forward(x, w):\n    y = {product}{after}")
        key = [key for key, _, _ in self.choices(reference) if key.endswith(".strassen")][0]
        return reference, (f"{key}={levels}",)

    def listed(self, reference, schedule, *options):
        return self.choices(reference, *options,
                            *(part for one in schedule for part in ("--choose", one)))

    def in_both_ways(self, name, reference, schedule, *options):
        """As it is by itself, and with nothing that stays; returns both texts."""
        listed = self.listed(reference, schedule, *options)
        away = tuple(f"{key}=0" for key, default, _ in listed
                     if key.endswith(STAYS) and default == "1")
        self.assertTrue(away, listed)
        return [self.written_by(task, reference, chosen, *options)
                for task, chosen in ((name, schedule), (name + "_away", schedule + away))]

    def test_blocks_are_turned_once(self):
        reference, schedule = self.product("product", "x @ w", "\n    return y\n", 1)
        once, away = self.in_both_ways("product", reference, schedule)
        self.assertRegex(once, r"whole_left = .*float32, buffer=nl.sbuf")
        self.assertNotIn("whole_left", away)

    def test_blocks_of_both_operands_are_turned_once(self):
        reference, schedule = self.product("both", "x @ w.T", "\n    return y\n", 1, turned=True)
        once, away = self.in_both_ways("both", reference, schedule, "--precision", "split")
        for whole in ("whole_left = ", "whole_right = "):
            self.assertIn(whole, once)
            self.assertNotIn(whole, away)

    def test_results_stay_for_the_stage(self):
        for name, levels, options in (("once", 1, ("--precision", "split")), ("twice", 2, ())):
            reference, schedule = self.product(name, "x @ w", NORMALISED, levels)
            stays, away = self.in_both_ways(name, reference, schedule, *options)
            self.assertRegex(stays, r"ready_\d+ = done_\d+")
            self.assertRegex(away, r"product_\d+ = .*private_hbm")
            self.assertNotRegex(stays, r"product_\d+ = ")

    def made_operand(self, name, levels):
        """A reference whose left array is a sum with a gain, and settings for parts of its rows."""
        rows, deep, columns = sizes_of(name, levels)
        rows = max(rows, 2 * 128 << levels)
        text = inputs_of((rows, deep), (deep, columns), (rows, deep), (deep,))
        reference = self.reference_of(name, f"{text}\ndef forward(x, w, z, g):\n    s = x + z\n"
                                      "    y = (s / np.sqrt((s * s).sum(axis=1, keepdims=True) "
                                      "+ 1) * g) @ w\n    return y\n")
        key = [key for key, _, _ in self.choices(reference) if key.endswith(".strassen")][0]
        return reference, (f"{key}={levels}", f"{key[:-8]}fast_rows={128 << levels}"), key

    def test_operands_that_lie_nowhere_are_made_for_their_blocks(self):
        """Sums and gains of the left array are made on the way in: once, not for each sum."""
        for name, levels, options in (("made", 1, ("--precision", "split")), ("made_twice", 2, ())):
            reference, schedule, key = self.made_operand(name, levels)
            early = f"{key[:-8]}made_early"
            self.assertIn((early, "1"), [one[:2] for one in
                                         self.listed(reference, schedule, *options)])
            made = self.written_by(name, reference, schedule, *options)
            self.assertRegex(made, r"whole_left_\d+ = next_whole_left_\d+")
            self.assertRegex(made, r"z\[later_\d+:later_\d+ \+ 128")
            made = self.written_by(name + "_at_once", reference, schedule + (f"{early}=0",),
                                   *options)
            self.assertRegex(made, r"made_from_\d+ = m \+ j")
            drawn = tuple(self.draw(name, reference, without=(".strassen", ".fast_rows",
                                                              ".made_beside")))
            self.written_by(name + "_drawn", reference, schedule + drawn, *options)

    def test_in_the_smallest_parts(self):
        for after in ("\n    return y\n", NORMALISED):
            reference, schedule = self.product("parts", "x @ w", after, 1)
            listed = self.listed(reference, schedule)
            parts = tuple(f"{key}={others[-1]}" for key, _, others in listed if others and
                          key.endswith((".fast_depth", ".fast_rows", ".fast_columns")))
            name = f"parts_{len(after)}"
            with self.subTest(name, schedule=parts):
                self.written_by(name, reference, schedule + parts)
            drawn = tuple(self.draw(name, reference, without=(".strassen",)))
            with self.subTest(name, schedule=parts + drawn):
                self.written_by(name + "_drawn", reference, schedule + parts + drawn)

    def test_in_the_older_dialect(self):
        reference, schedule = self.product("older", "x @ w", NORMALISED, 1)
        older = ("--dialect", "legacy", "--device", "trn1")
        self.assertIn("neuronxcc", self.written_by("older", reference, schedule, *older))


if __name__ == "__main__":
    unittest.main()
