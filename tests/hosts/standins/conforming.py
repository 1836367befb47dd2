# SPDX-License-Identifier: Apache-2.0
"""The conformance report on every stand-in: each release is as hone knows it, and where one was
changed, the row says so. conforming.py HONE RUNNER [NAME OF A TEST]..."""

import getpass
import glob
import json
import os
import socket
import sys
import tempfile
import unittest

import lines
import tasks
import verdicts

# A wrapper with other names of parameters, put at the end of a module.
OTHER_SHAPE = """

_as_it_was = compile_kernel_to_nir


def compile_kernel_to_nir(kernel, *, arguments, options, enable_cache=True):
    return _as_it_was(kernel, inputs=arguments, compile_opts=options, enable_cache=enable_cache)
"""
OTHER_TOOL = "#!/bin/sh\necho '  --output-directory DIR  --warmup N  --enable-only-latency'\n"


class Conforming(verdicts.Base):
    """What the tests below share."""

    def conform(self, line, *more, root=None, status=0):
        home = self.home(line)
        if root:
            home.root = root
        done = home.command("conform", *more, limit=500)
        self.assertEqual(done.returncode, status, done.stdout[-4000:] + done.stderr[-2000:])
        self.assertEqual(os.listdir(home.folder) if os.path.isdir(home.folder) else [], [])
        return done.stdout

    def report(self, line, **more):
        text = self.conform(line, "--json", **more)
        report = json.loads(text)
        self.private(text)
        return report, {row["name"]: row for row in report["rows"]}

    def private(self, text):
        """Nothing of this machine, its user or its folders is in a report."""
        for word in (verdicts.FOLDER, tempfile.gettempdir() + "/", socket.gethostname(),
                     os.path.expanduser("~") + "/"):
            self.assertNotIn(word, text)
        if getpass.getuser() != "root":
            self.assertNotIn(getpass.getuser(), text)

    def as_known(self, line):
        report, rows = self.report(line)
        self.assertEqual([row for row in rows.values() if not row["fine"]], [])
        self.assertEqual({row["state"] for row in rows.values()}, {"ok", "absent"})
        self.assertEqual(report["bad"], 0)
        self.assertEqual(report["versions"]["packages"].get("nki"), lines.LINES[line]["nki"])
        for name in ("a way to compile", "files of a compilation", "the same kernel again",
                     "an error of the kernel's file"):
            self.assertEqual(rows[name]["state"], "ok", rows[name])
        self.assertEqual(rows["the prediction without a device"]["state"] == "ok", line == "2.32")


class Old(Conforming):
    def test_the_old_lines_are_as_hone_knows_them(self):
        for line in ("2.26", "2.27", "2.28", "2.29"):
            with self.subTest(line):
                self.as_known(line)


class New(Conforming):
    def test_the_new_lines_are_as_hone_knows_them(self):
        for line in ("2.30", "2.31", "2.32", "2.33", "2.36"):
            with self.subTest(line):
                self.as_known(line)


class Changed(Conforming):
    def changed(self):
        """The root of a separate stand-in of 2.32."""
        return verdicts.make.make_root(
            os.path.join(verdicts.FOLDER, "root-changed"), "2.32", verdicts.HONE,
            memory=os.path.join(verdicts.FOLDER, "memory"))

    def test_what_was_changed_is_told_in_its_row(self):
        root = self.changed()
        module, = glob.glob(root + "/opt/*/lib/python3*/site-packages/nki/framework/compiled.py")
        tasks.write(module, tasks.read(module) + OTHER_SHAPE)
        tasks.write(root + "/opt/aws/neuron/bin/neuron-bench", OTHER_TOOL)
        report, rows = self.report("2.32", root=root, status=1)
        bad = {name: row["found"] for name, row in rows.items() if not row["fine"]}
        signature = bad.pop("nki.framework.compiled:compile_kernel_to_nir")
        self.assertIn("has no inputs, compile_opts", signature)
        self.assertIn("arguments", signature)
        self.assertIn("unexpected keyword argument 'inputs'", bad.pop("compile: nir"))
        self.assertEqual(bad.pop("neuron-bench exec"), "has no --work, --fixed-nc-count")
        self.assertEqual(bad, {})
        self.assertEqual(report["bad"], 3)
        self.assertEqual(rows["a way to compile"]["state"], "ok")      # the next seam works
        text = self.conform("2.32", root=root, status=1)
        self.assertIn("\nOTHER   compile: nir (seams.py)\n", text)
        self.assertIn("3 in CAPITALS are not as hone expects", text)

    def test_an_sdk_that_compiles_nothing_fails_the_rows_that_need_it(self):
        home = self.home("2.30")
        verdicts.make.set_switches(home.root, crash=134)
        _, rows = self.report("2.30", status=1)
        self.assertEqual(rows["a way to compile"]["state"], "absent")
        self.assertFalse(rows["a way to compile"]["fine"])

    def test_without_an_sdk_it_says_so(self):
        home = self.home("none")
        done = home.command("conform")
        self.assertEqual(done.returncode, 3)
        self.assertIn("conform: no Python environment with nki or neuronx-cc", done.stderr)


if __name__ == "__main__":
    try:
        status = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False).result
    finally:
        verdicts.shutil.rmtree(verdicts.FOLDER, ignore_errors=True)
    sys.exit(not status.wasSuccessful())
