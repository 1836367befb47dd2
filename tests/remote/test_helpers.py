# SPDX-License-Identifier: Apache-2.0
"""A kernel that imports files of its task finds them on the host, too: those and no others."""

import os
import subprocess
import sys
import tempfile
import types
import unittest

from hone_runner.sdk import compile as compiling
from hone_runner.sdk import helpers

KERNEL = """import nki
import nki.language as nl
import tiles
from shapes import ROWS


def kernel(a):
    return tiles.WIDTH + ROWS
"""


class Helpers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hone-helpers-")
        self.addCleanup(folder.cleanup)
        self.task, self.work = [os.path.join(folder.name, name) for name in ("task", "work")]
        os.mkdir(self.task)
        os.mkdir(self.work)
        self.write("reference.py", "SECRET = 1\n")
        self.write("tiles.py", "import deeper\nimport reference\nWIDTH = deeper.WIDTH\n")
        self.write("deeper.py", "import tiles\nWIDTH = 128\n")
        self.write("shapes.py", "ROWS = 7\n")
        self.write("unused.py", "")
        self.write("nki.py", "raise SystemExit(3)\n")

    def write(self, name, text):
        with open(os.path.join(self.task, name), "w", encoding="utf-8") as file:
            file.write(text)

    def kernel(self, text=KERNEL):
        context = types.SimpleNamespace(work=tempfile.mkdtemp(dir=self.work))
        made = compiling.Kernel(context, text, "kernel", "kernel.py")
        return made.put_helpers(os.path.join(self.task, "reference.py"))

    def test_what_it_imports_is_beside_it_and_nothing_else(self):
        made = self.kernel()
        self.assertEqual(["deeper.py", "kernel.py", "shapes.py", "tiles.py"],
                         sorted(os.listdir(made.folder)))
        self.assertEqual(["deeper.py", "shapes.py", "tiles.py"],
                         [name for name, _ in made.helpers])

    def test_what_hone_names_is_put_there_with_its_folders(self):
        for name in ("common/__init__.py", "common/tiles.py", "table.npy"):
            os.makedirs(os.path.dirname(os.path.join(self.task, name)), exist_ok=True)
            self.write(name, name)
        names = ["common/__init__.py", "common/tiles.py", "table.npy", "../task/unused.py",
                 "gone.py"]
        context = types.SimpleNamespace(work=tempfile.mkdtemp(dir=self.work))
        made = compiling.Kernel(context, KERNEL, "kernel", "kernel.py").put_helpers(
            None, {"kernel_folder": self.task, "kernel_files": "\n".join(names)})
        self.assertEqual(names[:3], [name for name, _ in made.helpers])
        for name in names[:3]:
            self.assertTrue(os.path.isfile(os.path.join(made.folder, name)))
        self.assertFalse(os.path.exists(os.path.join(self.task, "..", "unused.py")))

    def test_a_changed_helper_is_another_program(self):
        before = self.kernel().helpers
        self.assertEqual(before, self.kernel().helpers)
        self.write("deeper.py", "WIDTH = 64\n")
        self.assertNotEqual(before, self.kernel().helpers)

    def test_a_kernel_without_helpers_or_reference_is_alone(self):
        self.assertEqual([], list(self.kernel("def kernel(a):\n    return a\n").helpers))
        self.assertEqual([], helpers.put("x = (", self.task, self.work, "reference.py"))
        context = types.SimpleNamespace(work=tempfile.mkdtemp(dir=self.work))
        alone = compiling.Kernel(context, KERNEL, "kernel", "kernel.py").put_helpers(None)
        self.assertEqual(["kernel.py"], os.listdir(alone.folder))

    def test_python_finds_them(self):
        self.write("tiles.py", "import deeper\nWIDTH = deeper.WIDTH\n")
        self.write("deeper.py", "WIDTH = 128\n")
        made = self.kernel(KERNEL.replace("import nki\nimport nki.language as nl\n", ""))
        run = ("import types\nfrom hone_runner.sdk import call\n"
               "one = call.Call.__new__(call.Call)\n"
               "one.path, one.node = %r, types.SimpleNamespace(name='kernel')\n"
               "one.check_lnc = lambda: None\n"
               "one.load()\nprint(one.kernel(0))\n" % made.path)
        said = subprocess.run([sys.executable, "-c", run], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
                              check=True)
        self.assertEqual("135\n", said.stdout)


if __name__ == "__main__":
    unittest.main()
