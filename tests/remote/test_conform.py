# SPDX-License-Identifier: Apache-2.0
"""The conformance report: what it makes of what was found, and what it never contains."""

import os
import tempfile
import unittest

import common       # noqa: F401 - finds the runner
from hone_runner import conform
from hone_runner.sdk import conformance, relied, seams, signatures


def a_row(first=None, last=None, needed=False):
    return relied.row("thing", "seams.py", "signature", "", first, last, needed)


class Judged(unittest.TestCase):
    # (row, SDK line, what was found): (state in the report, whether that is right)
    ROWS = [
        (a_row(), "2.32", "ok", "ok", True),
        (a_row("2.32", "2.32"), "2.32", "other", "other", False),
        (a_row("2.32", "2.32"), "2.33", "other", "absent", True),
        (a_row("2.32", "2.32"), "2.32", "absent", "absent", True),      # one of several ways
        (a_row("2.27", needed=True), "2.32", "absent", "absent", False),
        (a_row("2.27", needed=True), "2.26", "absent", "absent", True),
        (a_row("2.27"), "2.33+", "other", "other", False),
        (a_row("2.27", "2.33"), "2.33+", "other", "absent", True),      # a line nobody has seen
        (a_row("2.27", "2.33"), "2.33+", "ok", "ok", True),
    ]

    def test_states_by_release(self):
        for row, line, state, want, fine in self.ROWS:
            with self.subTest(line=line, first=row.first, last=row.last, state=state):
                got = conform.judge(row, line, state, "found")
                self.assertEqual((got["state"], got["fine"]), (want, fine))
                self.assertEqual(bool(got["why"]), got["state"] == "absent")

    def test_the_table_has_each_seam_and_a_way_to_look_at_each_row(self):
        names = [row.name for row in relied.TABLE]
        self.assertEqual(len(names), len(set(names)))
        for name in seams.SEAMS:
            self.assertIn("compile: " + name, names)
        folder = os.path.dirname(conformance.__file__)
        packed = folder if os.path.isdir(folder) else None
        for row in relied.TABLE:
            self.assertIn(row.how, conformance.CHECKS)
            self.assertTrue(row.used.endswith(".py"))
            if packed and row.used != "devices.py":
                self.assertTrue(os.path.exists(os.path.join(packed, row.used)), row.used)


class Redacted(unittest.TestCase):
    def setUp(self):
        self.hide = conform.Redactor({"/home/ada": "<home>", "/home/ada/venv": "<environment>",
                                      "ada": "<user>", "trn2-box": "<machine>"})

    def test_what_tells_of_a_machine_or_its_user_is_hidden(self):
        for text, want in (
                ("/home/ada/venv/bin/python", "<environment>/bin/python"),
                ("/home/ada/notes", "<home>/notes"),
                ("in /home/ada/venv/lib/python3.11/site-packages/nki/a.py line 3",
                 "in <environment>/lib/python3.11/site-packages/nki/a.py line 3"),
                ("/opt/x/lib/python3.11/site-packages/nki/a.py", "nki/a.py"),
                ("(/srv/people/ada/b.py)", "(<path>/b.py)"),
                ("ada@trn2-box: no", "<user>@<machine>: no"),
                ("the adapter of Canada", "the adapter of Canada"),
                ("a/b and 3/4", "a/b and 3/4"),
                ("~/secret/key.pem", "<path>/key.pem")):
            with self.subTest(text):
                self.assertEqual(self.hide.text(text), want)

    def test_lists_and_objects_too(self):
        self.assertEqual(self.hide.all({"a": ["/home/ada/x", 3, None], "b": {"c": "ada"}}),
                         {"a": ["<home>/x", 3, None], "b": {"c": "<user>"}})


class Signatures(unittest.TestCase):
    MODULE = """
def plain(a, b=1, *, c=print, **rest): pass
def strict(a, *, b): pass
class Thing:
    def __init__(self, size): pass
    def act(self, how): pass
number = 7
"""

    def setUp(self):
        import sys
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(os.path.join(self.folder.name, "looked_at.py"), "w", encoding="utf-8") as file:
            file.write(self.MODULE)
        with open(os.path.join(self.folder.name, "falls.py"), "w", encoding="utf-8") as file:
            file.write("raise SystemExit(3)\n")
        sys.path.insert(0, self.folder.name)
        self.addCleanup(sys.path.remove, self.folder.name)

    def test_what_is_there_and_what_it_takes(self):
        for target, wants, state, part in (
                ("looked_at:plain", ["a", "anything"], "ok", "(a, b=..., *, c=..., **rest)"),
                ("looked_at:strict", ["a", "b"], "ok", "(a, *, b)"),
                ("looked_at:strict", ["c"], "other", "has no c"),
                ("looked_at:Thing", ["size"], "ok", "(size)"),
                ("looked_at:Thing.act", ["how"], "ok", "(self, how)"),
                ("looked_at:number", [], "ok", "a int"),
                ("looked_at:gone", [], "absent", "AttributeError"),
                ("no_such_module_here:x", [], "absent", "ModuleNotFoundError"),
                ("falls:x", [], "other", "SystemExit: 3")):
            with self.subTest(target):
                found = signatures.look(target, wants)
                self.assertEqual(found[0], state, found)
                self.assertIn(part, found[1])


if __name__ == "__main__":
    unittest.main()
