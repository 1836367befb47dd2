# SPDX-License-Identifier: Apache-2.0
"""hone docs from the outside: lookup.py HONE."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HONE = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMANDS = re.findall(r"^  hone ([a-z]+)", subprocess.run(
    [HONE, "help"], capture_output=True, text=True, check=True, timeout=60).stdout, re.MULTILINE)


def docs(*args):
    return subprocess.run([HONE, "docs", *args], capture_output=True, text=True, timeout=60)


class Lookup(unittest.TestCase):
    def test_a_name_in_any_spelling(self):
        text = docs("nisa.activation").stdout
        self.assertIn("nisa.activation(dst, op, data, bias=None", text)
        self.assertIn("older      nisa.activation(op, data, *, bias=None", text)
        for name in "activation", "nki.isa.activation", "neuronxcc.nki.isa.activation":
            self.assertEqual(docs(name).stdout, text)

    def test_a_name_of_two_modules_shows_both(self):
        text = docs("dropout").stdout
        self.assertIn("nl.dropout: ", text)
        self.assertIn("nisa.dropout: ", text)

    def test_an_example_is_a_file_that_hone_evaluates(self):
        page = json.loads(docs("nisa.bn_aggr", "--json").stdout)[0]
        with tempfile.TemporaryDirectory() as folder:
            for dialect, key in (("current", "current"), ("older", "legacy"),
                                 ("legacy", "legacy")):
                kernel = pathlib.Path(folder, dialect + ".py")
                kernel.write_text(docs("nisa.bn_aggr", "--example", dialect).stdout)
                self.assertEqual(kernel.read_text(), page[key]["example"])
                inputs = [part for one in page[key]["inputs"].split() for part in ("--input", one)]
                done = subprocess.run([HONE, "sim", kernel, "--json", *inputs],
                                      stdout=subprocess.PIPE, timeout=60)
                self.assertTrue(json.loads(done.stdout)["compiles"], done.stdout)

    def test_one_release(self):
        page = json.loads(docs("nl.load", "--release", "0.2", "--json").stdout)[0]
        self.assertNotIn("legacy", page)
        self.assertNotIn("2.28", page["releases"])
        self.assertIn("SDK 2.28 does not document it", page["text"])
        self.assertIn("(the older dialect)", docs("nl.load", "--release", "2.26").stdout)
        listed = docs("--release", "2.26").stdout
        self.assertIn("nl.mgrid ", listed)
        self.assertNotIn("nisa.scalar_load", listed)
        self.assertEqual(docs("nl.load", "--release", "1.7").returncode, 2)

    def test_numbers_and_costs_are_said_as_people_read_them(self):
        self.assertIn("180224, 212984 and 245752 bytes",
                      " ".join(docs("memory").stdout.replace("\n", " ").split()))
        for page in json.loads(docs("nl.dynamic_range", "--json").stdout):
            self.assertIn("\ncost       a round of a loop on the device", page["text"])
        for name in ("memory", "tiling", "engines", "dma", "precision", "profiling", "cores",
                     "nl.load", "nl.fori_loop", "nisa.nc_matmul"):
            self.assertNotRegex(docs(name).stdout, r"\de[+]\d")

    def test_costs_are_those_of_a_device(self):
        self.assertIn("0.7143 ns (trn1", docs("nl.exp", "--device", "trn1").stdout)
        self.assertNotEqual(docs("nl.exp", "--device", "trn1").stdout, docs("nl.exp").stdout)

    def test_words(self):
        self.assertEqual(docs("contiguous", "piece", "descriptors").returncode, 0)
        self.assertIn("nl.softmax", docs("softmax").stdout)
        self.assertIn("NCC_EVRF007", docs("NCC_EVRF007").stdout)  # hone explain knows it
        found = docs("causal", "mask").stdout
        self.assertIn("nisa.range_select", found)

    def test_what_nobody_knows(self):
        done = docs("nc_matmlu")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean nc_matmul?", done.stderr)
        done = docs("zzyzx\x1b[2J")
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("\x1b", done.stderr)
        self.assertEqual(docs("nl.mgrid", "--example", "current").returncode, 2)

    def test_guides(self):
        self.assertIn("PSUM", docs("memory").stdout)
        self.assertIn("tiling ", docs().stdout)

    def test_commands_that_guides_name_are_there(self):
        named = set()
        for guide in (ROOT / "pages" / "guides").iterdir():
            named |= set(re.findall(r"`hone ([^`]+)`", " ".join(guide.read_text().split())))
        self.assertGreater(len(named), 4)
        for one in named:
            command, *options = one.split()
            self.assertIn(command, COMMANDS)
            usage = subprocess.run([HONE, "help", command], capture_output=True, text=True,
                                   timeout=60).stdout
            for option in options:
                if option.startswith("--"):
                    self.assertIn(option, usage, one)


unittest.main()
