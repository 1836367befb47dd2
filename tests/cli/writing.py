# SPDX-License-Identifier: Apache-2.0
"""What tests of written kernels share: a folder with a home of its own, references in it, the
program started there, schedules drawn by chance. The program's path is the first argument of such a
test."""
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

HONE = os.path.abspath(sys.argv.pop(1))
# Each run tries a sample of what could be tried, from a seed of its own: over runs all of it.
SEED = int(os.environ.get("HONE_SAMPLE_SEED", time.time_ns() // 1000000 % 10**9))
print(f"sampled with HONE_SAMPLE_SEED={SEED}", file=sys.stderr, flush=True)


def inputs_of(*shapes):
    """get_inputs() with a normal fp32 array of each shape."""
    made = ", ".join(f"np.random.normal(size={shape}).astype(np.float32)" for shape in shapes)
    return f"def get_inputs():\n    return [{made}]\n"


class Writing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.environ = dict(os.environ)
        for kind in ("cache", "state", "config"):
            self.environ[f"XDG_{kind.upper()}_HOME"] = os.path.join(self.folder.name, kind)

    def tearDown(self):
        self.folder.cleanup()

    def path(self, *parts):
        return os.path.join(self.folder.name, *parts)

    def hone(self, *arguments):
        return subprocess.run([HONE, *arguments], capture_output=True, text=True,
                              cwd=self.folder.name, env=self.environ, timeout=300, check=False)

    def reference_of(self, name, text):
        with open(self.path(name + "_reference.py"), "w", encoding="utf-8") as file:
            file.write("import numpy as np\n" + text)
        return file.name

    def new(self, task, reference, *options):
        return self.hone("new", task, "--reference", reference, *options)

    def kernel(self, task):
        with open(self.path(task, "kernel.py"), encoding="utf-8") as file:
            return file.read()

    def written(self, task, reference, *options):
        """The text of a kernel that was found correct, and that strict checks accept."""
        done = self.new(task, reference, *options)
        said = f"{options}\n{done.stdout}{done.stderr}"
        kept = self.kernel(task) if done.returncode == 1 else ""
        self.assertEqual(done.returncode, 0, said + kept)
        self.assertIn("correct   yes: 5 seeds", said)
        strict = self.hone("check", self.path(task, "kernel.py"), "--strict")
        self.assertEqual(strict.returncode, 0, strict.stdout + strict.stderr)
        return self.kernel(task)

    def written_by(self, task, reference, schedule, *options):
        """With a schedule ("key=value"); what others of it leave no room for is passed over."""
        while True:
            chosen = [part for choice in schedule for part in ("--choose", choice)]
            listed = self.new("none", reference, "--choices", *options, *chosen)
            gone = re.search(r"nothing takes (\S+=-?\d+)", listed.stderr)
            if not gone:
                return self.written(task, reference, *options, *chosen)
            schedule = [choice for choice in schedule if choice != gone.group(1)]

    def draw(self, name, reference, *options, without=()):
        """A schedule in which about half of the choices have another value than by themselves."""
        draws = random.Random(f"{SEED} {name}")
        found = [(key, values) for key, _, values in self.choices(reference, *options)
                 if values and not key.endswith(without)]
        kept = [row for row in found if draws.random() < 0.5] or found[:1]
        return [f"{key}={draws.choice(values)}" for key, values in kept]

    def choices(self, reference, *options):
        """What can be chosen: key, default and the other values."""
        listed = self.new("none", reference, "--choices", *options)
        self.assertEqual(listed.returncode, 0, listed.stdout + listed.stderr)
        rows = re.findall(r"^(\S+) +(-?\d+) of((?: -?\d+)+):", listed.stdout, re.M)
        return [(key, default, [value for value in values.split() if value != default])
                for key, default, values in rows]
