# SPDX-License-Identifier: Apache-2.0
"""Messages: what lines mean, the same here as in hone, which reads the same corpus
(tests/runner/test_messages.c)."""

import builtins
import os
import re
import unittest

from common import ROOT

from hone_runner import tables
from hone_runner.sdk import advice, grammar


def corpus():
    """[(code, cause, row, line)]; None for what a line does not have."""
    rows = []
    with open(os.path.join(ROOT, "tests", "runner", "messages.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                code, cause, row, text = (part.strip() for part in line.split("|", 3))
                rows.append((code.strip("-") or None, cause, None if row == "-" else row, text))
    return rows


class Messages(unittest.TestCase):
    def test_lines_mean_what_the_corpus_says(self):
        for code, cause, row, text in corpus():
            with self.subTest(text):
                found, known = grammar.find_code(text), advice.explain(text, 1)
                self.assertEqual(code, found and found[0])
                self.assertEqual(cause, grammar.category_of(found[0] if found else ""))
                self.assertEqual(row, known and known.id)

    def test_the_corpus_has_every_row(self):
        found = {row for _, _, row, _ in corpus()}
        names = {name for name, kind, _, _, _ in grammar.TABLE.of("TEXT") if kind != "noise"}
        self.assertEqual(set(), names - found)
        self.assertEqual({cause for _, cause in grammar.TABLE.of("CLASS")},
                         {cause for _, cause, _, _ in corpus()})

    def test_statuses_name_rows_that_are_there(self):
        names = {row[0] for row in grammar.TABLE.of("TEXT")} | {""}
        self.assertLessEqual({text for _, _, text in grammar.TABLE.of("STATUS")}, names)

    def test_no_code_is_told_twice(self):
        codes = [code for row in grammar.TABLE.of("CODE") for code in row[0].split()]
        self.assertEqual(len(codes), len(set(codes)))
        known = re.compile(r"NCC_\w+|F\d+|err_\w+|hone-[a-z0-9-]+|syntax")
        self.assertFalse([code for code in codes if not known.fullmatch(code) and
                          not isinstance(getattr(builtins, code, None), type)])

    def test_what_to_do_follows_what_is_wrong(self):
        finding = grammar.Finding("error", "user", "NCC_EVRF007", "", 0, "too many")
        self.assertEqual("too many (the program has more instructions than the compiler takes: use "
                         "larger tiles, loops that stay loops, fewer unrolled copies; or do less "
                         "in one kernel)", advice.sentence(finding))


class Tables(unittest.TestCase):
    def test_rows_are_calls_of_texts_numbers_and_names(self):
        rows = tables.parse('/* "no" ROW(1) */ ROW("a /* in a text */ b\\\\d\\"" "c",\n'
                            '    2, NULL, X)\n'
                            'OTHER() /* after */\n')
        self.assertEqual([("ROW", ("a /* in a text */ b\\d\"c", 2, None, "X")), ("OTHER", ())],
                         rows)

    def test_what_is_no_row_is_refused(self):
        for text in ("ROW(f())", "x = 1", "ROW(1 +)"):
            with self.assertRaises((ValueError, SyntaxError, AttributeError)):
                tables.parse(text)


if __name__ == "__main__":
    unittest.main()
