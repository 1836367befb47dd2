# SPDX-License-Identifier: Apache-2.0
"""Releases: the table that C and the runner share reads the same in both, and is in order."""

import os
import re
import subprocess
import unittest

import common                           # noqa: F401 - the runner's place
from hone_runner import releases, tables
from hone_runner.sdk import seams

PRINT = os.environ.get("HONE_RELEASES_PRINT")
# kind of row -> where its arguments are in what C prints.
FIELDS = {"RELEASE": 5, "NEW": 1, "GONE": 2, "GONE_HOST": 2, "OLD": 2, "KEYWORD": 3, "RULE": 0,
          "ENDS": 0}


def rows_of_c():
    """[(kind, release of nki, arguments)] as C has them."""
    done = subprocess.run([PRINT], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    rows = []
    for line in done.stdout.splitlines():
        kind, since, *found = (None if part == "NULL" else part for part in line.split("\t"))
        if kind in ("NEW", "GONE", "GONE_HOST", "OLD"):
            found = [found[0]] + found[2:]              # they have no keyword
        rows.append((kind, since, tuple(found[:FIELDS[kind]])))
    return rows


def rows_of_python():
    rows, since = [], None
    for kind, found in tables.Table("releases.def").rows:
        since = found[1] if kind == "RELEASE" else since
        rows.append((kind, since, found[:FIELDS[kind]]))
    return rows


class Releases(unittest.TestCase):
    @unittest.skipUnless(PRINT, "HONE_RELEASES_PRINT names no program")
    def test_c_and_python_read_the_same(self):
        self.assertEqual(rows_of_c(), rows_of_python())
        self.assertGreater(len(rows_of_c()), 40)

    def test_releases_are_in_order(self):
        for name, rows in (("line", releases.TABLE), ("nki", releases.WITH_NKI),
                           ("compiler", releases.TABLE)):
            found = [releases.version(getattr(row, name)) for row in rows]
            self.assertEqual(sorted(set(found)), found, name)

    def test_a_release_names_routes_and_ways_that_are_there(self):
        for row in releases.TABLE:
            self.assertIn(row.route, releases.ROUTES)
            self.assertLessEqual(set(row.seams), set(seams.SEAMS), row.line)
            self.assertTrue(row.seams)

    def test_spans_follow_from_the_releases(self):
        for name, first, last in (("nir", "2.32", "2.32"), ("bir", "2.30", "2.31"),
                                  ("frontend", "2.29", "2.29"), ("ir", "2.27", "2.28"),
                                  ("baremetal", None, "2.28")):
            self.assertEqual((first, last), (seams.SEAMS[name].first, seams.SEAMS[name].last))

    def test_a_name_is_new_once_and_not_gone_before(self):
        new, gone = set(), set()
        for kind, _, found in rows_of_python():
            for name in found[0].split() if kind == "NEW" else ():
                self.assertNotIn(name, new | gone)
                self.assertTrue(re.fullmatch(r"(nki|nl|nisa|NkiTensor)\.[\w.]+", name), name)
                new.add(name)
            if kind in ("GONE", "OLD"):
                gone.add(found[0])



if __name__ == "__main__":
    unittest.main()
