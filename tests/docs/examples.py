# SPDX-License-Identifier: Apache-2.0
"""Every name that a release of the SDK documents has a page, and every page's example computes what
the page says: examples.py HONE EVALUATE. All examples run in one process (evaluate.c); numpy says
what they have to return. Where a page says that hone lacks something, its example must fail: a gap
that was closed is found, too."""

import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

HONE, EVALUATE = sys.argv.pop(1), sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[2]
ERROR = 5e-3  # relative L2: activations are rounded, and some examples are in bfloat16
PACKED = 6e-2  # of 8-bit floats with scales
Case = collections.namedtuple("Case", "page dialect device of inputs")


def documented():
    """The names of names.txt, and the releases of each."""
    found, ranges = {}, None
    for line in (ROOT / "pages" / "names.txt").read_text().splitlines():
        if line.startswith("releases "):
            ranges = line.split()[1:]
        elif not line.startswith("#"):
            found.update((name, ranges) for name in line.split())
    return found


def pages():
    done = subprocess.run([HONE, "docs", "--json"], stdout=subprocess.PIPE, check=True, timeout=60)
    return json.loads(done.stdout)


PAGES = pages()
NAMES = [page for page in PAGES if not page["guide"]]


def numbers(rng, shape, dtype, values):
    below = re.search(r"below (\d+)", values)
    if below:
        return rng.integers(0, int(below.group(1)), shape).astype(np.float32)
    if "counted" in values:
        return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    found = rng.standard_normal(shape).astype(np.float32)
    if "int" in dtype:
        found = np.rint(found * 100)
    if "positive" in values:
        found = np.abs(found) + 0.5
    return found


def values_of(page, name):
    for one in page.get("values", "").split(","):
        if one.split()[:1] == [name]:
            return one
    return ""


def inputs_of(of):
    """The arrays that an example is given, by name."""
    rng, found = np.random.default_rng(7), {}
    for one in of["inputs"].split():
        name, kind = one.split("=")
        shape, dtype = kind.split(":")
        shape = tuple(int(size) for size in shape.split("x"))
        found[name] = numbers(rng, shape, dtype, values_of(of, name))
    return found


def device_of(page, number, dialect):
    """A generation that the example is for, another one from page to page."""
    able = [device for device in page["devices"] if dialect == "current" or device != "trn3"]
    return able[number % len(able)]


def cases():
    for number, page in enumerate(NAMES):
        for dialect in "current", "legacy":
            of = page.get(dialect, {})
            if "example" in of:
                yield Case(page, dialect, device_of(page, number, dialect), of, inputs_of(of))


def ask(folder, all_cases):
    lines = []
    for number, case in enumerate(all_cases):
        at = os.path.join(folder, str(number))
        pathlib.Path(at + ".py").write_text(case.of["example"])
        for name, array in case.inputs.items():
            array.tofile(f"{at}.{name}")
        two = case.dialect == "current" and "num_programs" in case.of["example"]
        cores = 2 if two and case.device != "trn1" else 1
        lines.append(f"{at}.py {case.device} {cores} {at} {case.of['inputs']}")
    done = subprocess.run([EVALUATE], input="\n".join(lines) + "\n", text=True, check=True,
                          stdout=subprocess.PIPE, timeout=110)
    return done.stdout.splitlines()


def erf(x):
    return np.vectorize(math.erf)(x)


def is_right(case, answer, at):
    """What is wrong with what an example returned; None."""
    outputs = answer.split()[2:]
    got = [np.fromfile(f"{at}.{number}", np.float32).astype(np.float64)
           for number in range(len(outputs))]
    gives = case.of["returns"]
    if not got:
        return "returns nothing"
    if gives == "any":
        return None if np.isfinite(got[0]).all() and len(np.unique(got[0])) > 1 else "is constant"
    known = {name: array.astype(np.float64) if array.dtype == np.float32 else array
             for name, array in case.inputs.items()}
    for name, kind in (one.split("=") for one in case.of["inputs"].split()):
        if "int" in kind:
            known[name] = known[name].astype(np.int32)
    want = eval(gives, {"np": np, "erf": erf, **known})  # a page of ours
    want = np.asarray(want, np.float64).ravel()
    if want.shape != got[0].shape:
        return f"{want.shape} elements wanted, {got[0].shape} returned"
    error = np.linalg.norm(want - got[0]) / max(np.linalg.norm(want), 1e-30)
    most = PACKED if "_x4" in case.of["example"] else ERROR
    return None if error < most else f"relative L2 {error:.3g}"


class Docs(unittest.TestCase):
    def test_every_documented_name_has_a_page(self):
        self.assertEqual(sorted(set(documented()) - {page["name"] for page in NAMES}), [])

    def test_every_page_is_of_a_documented_name(self):
        self.assertEqual(sorted({page["name"] for page in NAMES} - set(documented())), [])
        self.assertEqual(len({page["name"] for page in PAGES}), len(PAGES))

    def test_a_page_says_what_it_is_and_shows_it(self):
        for page in NAMES:
            self.assertTrue(page.get("what"), page["name"])
            for dialect in "current", "legacy":
                of = page.get(dialect)
                if of is None:
                    continue
                self.assertTrue("example" in of or "gap" in of, (page["name"], dialect))
                last = page["name"].replace("nki.compiler.", "nki.").split(".", 1)[-1]
                if "example" in of:
                    self.assertRegex(of["example"], rf"\b{re.escape(last)}\b")

    def test_examples_return_what_pages_say(self):
        all_cases, wrong = list(cases()), []
        with tempfile.TemporaryDirectory() as folder:
            answers = ask(folder, all_cases)
            self.assertEqual(len(answers), len(all_cases))
            for number, (case, answer) in enumerate(zip(all_cases, answers)):
                failed = answer.startswith("failed")
                what = answer if failed else is_right(case, answer, os.path.join(folder,
                                                                                 str(number)))
                if "gap" in case.of:
                    what = None if failed else "hone can do what the page says it cannot"
                if what:
                    wrong.append(f"{case.page['name']} {case.dialect} {case.device}: {what}")
        print(f"{len(NAMES)} pages, {len(all_cases)} examples")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))


unittest.main()
