# SPDX-License-Identifier: Apache-2.0
"""What is true of the runner's files themselves."""

import ast
import glob
import os
import subprocess
import sys
import unittest
import zipfile

import common

FILES = sorted(glob.glob(os.path.join(common.SOURCE, "**", "*.py"), recursive=True)) + \
    [os.path.join(common.ROOT, "core", "task", "harness.py")]
# What C reads too. The archive brings it along in the package.
TABLES = [os.path.join(common.ROOT, "core", "nki", "release", "releases.def"),
          os.path.join(common.ROOT, "core", "nki", "program", "generations.def"),
          os.path.join(common.ROOT, "core", "runner", "messages", "messages.def")]
MAX_FUNCTION, MAX_FILE, MAX_PARAMETERS, MAX_LINE = 80, 800, 8, 104
STANDARD = {"argparse", "array", "ast", "bisect", "collections", "contextlib", "copy", "ctypes",
            "dataclasses", "datetime",
            "enum", "errno", "fcntl", "functools", "getpass", "glob", "grp",
            "gzip", "hashlib", "heapq", "importlib", "inspect", "io", "itertools", "json",
            "keyword", "linecache", "math", "operator",
            "os", "pkgutil", "platform", "pwd", "random", "re", "resource", "select", "selectors",
            "shlex",
            "shutil", "signal", "socket", "stat", "statistics", "string", "struct", "subprocess",
            "sys",
            "tempfile", "textwrap", "time", "tokenize", "traceback", "types", "uuid", "warnings",
            "weakref", "zipfile", "zlib", "numpy", "hone_runner", "harness", "typing", "threading"}
# What belongs to a Neuron SDK is imported in stages only, where it may be missing.
SDK = {"nki", "neuronxcc", "nrtpy", "ml_dtypes", "pandas", "pyarrow", "torch", "jax"}


class Files(unittest.TestCase):
    def trees(self):
        for path in FILES:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            yield os.path.relpath(path, common.ROOT), text, ast.parse(text, path)

    def test_python_3_8_can_read_them(self):
        for path in FILES:
            with open(path, encoding="utf-8") as file:
                ast.parse(file.read(), path, feature_version=(3, 8))

    def test_an_old_python_compiles_them(self):
        found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.8.*/bin/python")))
        if not found:
            self.skipTest("there is no Python 3.8 here")
        text = "import sys\nfor path in sys.argv[1:]:\n    compile(open(path, " \
            "encoding='utf-8').read(), path, 'exec')\n"
        subprocess.run([found[0], "-c", text] + FILES, check=True)

    def test_they_need_nothing_but_the_standard_library_and_numpy(self):
        for name, _, tree in self.trees():
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    wanted = {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    wanted = {(node.module or "").split(".")[0]}
                else:
                    continue
                lazy = node.col_offset > 0
                self.assertLessEqual(wanted, STANDARD | (SDK if lazy else set()),
                                     "%s:%d" % (name, node.lineno))

    def test_files_and_functions_are_short(self):
        for name, text, tree in self.trees():
            lines = text.splitlines()
            self.assertTrue(lines[0].startswith("# SPDX-License-Identifier"), name)
            self.assertLessEqual(len(lines), MAX_FILE, name)
            for number, line in enumerate(lines, 1):
                self.assertLessEqual(len(line), MAX_LINE, "%s:%d" % (name, number))
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    where = "%s: %s" % (name, node.name)
                    self.assertLessEqual(node.end_lineno - node.lineno + 1, MAX_FUNCTION, where)
                    self.assertLessEqual(len(node.args.args), MAX_PARAMETERS, where)


class Archive(unittest.TestCase):
    def setUp(self):
        if not zipfile.is_zipfile(common.ARCHIVE):
            self.skipTest("the source tree is tested, not the archive")

    def test_it_holds_exactly_the_files(self):
        with zipfile.ZipFile(common.ARCHIVE) as archive:
            names = archive.namelist()
            self.assertEqual(len(names), len(FILES + TABLES))
            for path in FILES + TABLES:
                name = os.path.relpath(path, common.SOURCE)
                name = "harness.py" if name.startswith("..") else name
                name = "hone_runner/" + os.path.basename(path) if path in TABLES else name
                with open(path, "rb") as file:
                    self.assertEqual(archive.read(name), file.read(), name)

    def pack(self, *options):
        again = os.path.join(common.tempfile.mkdtemp(), "again.pyz")
        self.addCleanup(common.shutil.rmtree, os.path.dirname(again))
        names = [os.path.relpath(path, common.SOURCE) for path in FILES[:-1]]
        subprocess.run([sys.executable, os.path.join(common.ROOT, "cmake", "pack_runner.py"),
                        *options, again, common.SOURCE, FILES[-1]] + TABLES + names[::-1],
                       check=True, env={"TZ": "Asia/Tokyo", "PATH": "/usr/bin:/bin"})
        return again

    def test_packing_again_gives_the_same_bytes(self):
        with open(self.pack(), "rb") as one, open(common.ARCHIVE, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_with_byte_code_it_holds_the_same_files_and_any_python_runs_it(self):
        path = self.pack("--compiled")
        other = path + ".other"
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(common.ARCHIVE) as plain, \
                zipfile.ZipFile(other, "w") as foreign:
            added = set(archive.namelist()) - set(plain.namelist())
            self.assertEqual(added, {name + "c" for name in plain.namelist()
                                     if name.endswith(".py")})
            for name in plain.namelist():
                self.assertEqual(archive.read(name), plain.read(name), name)
                foreign.writestr(name, plain.read(name))
            for name in added:
                foreign.writestr(name, b"\0\0\r\n" + archive.read(name)[4:])
        said = [subprocess.run([sys.executable, one, "--help"], stdout=subprocess.PIPE,
                               check=True).stdout for one in (common.ARCHIVE, path, other)]
        self.assertEqual(said[1:], said[:1] * 2)
        self.assertIn(b"probe", said[0])

    def test_the_shared_module_is_imported_without_side_effects(self):
        text = "import sys; sys.path.insert(0, sys.argv[1]); import harness; " \
            "print(harness.CHANNEL, sys.stdin.read(), callable(harness.match))"
        out = subprocess.run([sys.executable, "-c", text, common.ARCHIVE], input=b"still here",
                             stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(out, b"None still here True\n")


if __name__ == "__main__":
    unittest.main()
