# SPDX-License-Identifier: Apache-2.0
"""Generations: every name of one leads to it, and no name to two."""

import unittest

import common                           # noqa: F401 - the runner's place
from hone_runner import generations


class Generations(unittest.TestCase):
    def test_every_name_leads_to_its_generation(self):
        self.assertGreater(len(generations.TABLE), 2)
        for row in generations.TABLE:
            self.assertIs(generations.find(row.name), row)
            self.assertIs(generations.find(row.alias), row)

    def test_no_name_stands_for_two(self):
        names = [name for row in generations.TABLE for name in (row.name, row.alias)]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_instances_with_the_cores_of_another(self):
        self.assertEqual("gen2", generations.find("inf2").alias)

    def test_the_names_of_all_are_a_list_for_people(self):
        self.assertTrue(generations.names().startswith("trn1, trn2"), generations.names())
        self.assertTrue(generations.names().endswith(" and " + generations.TABLE[-1].name))

    def test_other_words_are_no_generation(self):
        for word in ("trn9", "", "TRN2", "2"):
            self.assertIsNone(generations.find(word), word)


if __name__ == "__main__":
    unittest.main()
