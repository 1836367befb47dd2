# SPDX-License-Identifier: Apache-2.0
"""What cmake --install puts where, and the manual page as man reads it: install.py BUILD SOURCE."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone-install-"))
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "KEYS", "FILES", "ENVIRONMENT",
            "EXAMPLES", "EXIT STATUS", "CONFIGURATION", "SEE ALSO"]


def run(*args, **env):
    return subprocess.run([*map(str, args)], env={**os.environ, **env}, text=True, timeout=120,
                          capture_output=True, stdin=subprocess.DEVNULL)


def sources(*folders):
    for folder in folders:
        yield from (path.read_text() for path in (SOURCE / folder).rglob("*.c"))


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = run("cmake", "--install", BUILD, "--prefix", "/usr", DESTDIR=str(FOLDER))
        assert done.returncode == 0, done.stdout + done.stderr
        cls.root = FOLDER / "usr"
        cls.page = (cls.root / "share/man/man1/hone.1").read_text()

    def test_everything_is_in_its_usual_place(self):
        for path in ("bin/hone", "share/man/man1/hone.1", "share/doc/hone/README.md",
                     "share/doc/hone/LICENSE", "share/doc/hone/doc/own-kernel.md",
                     "share/bash-completion/completions/hone", "share/zsh/site-functions/_hone",
                     "share/fish/vendor_completions.d/hone.fish"):
            self.assertTrue((self.root / path).stat().st_size, path)
        installed = {path.name for path in (self.root / "share/doc/hone/doc").iterdir()}
        self.assertEqual(installed, {path.name for path in (SOURCE / "doc").glob("*.md")})

    def test_the_installed_program_works_by_itself(self):
        done = run(self.root / "bin/hone", "explain", "MFU")
        self.assertIn("mfu_estimated_percent", done.stdout)

    def test_completions_are_those_of_their_shells(self):
        share = self.root / "share"
        self.assertEqual(run("bash", "-n", share / "bash-completion/completions/hone").returncode,
                         0)
        zsh = (share / "zsh/site-functions/_hone").read_text()
        self.assertTrue(zsh.startswith("#compdef hone\n"))
        self.assertIn("complete -c hone",
                      (share / "fish/vendor_completions.d/hone.fish").read_text())

    def test_the_manual_page_has_all_its_sections(self):
        found = re.findall(r"^\.SH (.*)$", self.page, re.MULTILINE)
        self.assertEqual(found, SECTIONS)
        for section in SECTIONS:
            body = self.page.split(f".SH {section}\n")[1].split("\n.SH ")[0]
            self.assertGreater(len(body), 20, section)
        keys = self.page.split(".SH KEYS\n")[1].split("\n.SH ")[0]
        self.assertGreater(keys.count("\n.TP\n"), 80)
        self.assertIn(".SS On the screen history", keys)

    def test_the_manual_page_is_clean(self):
        if not shutil.which("groff"):
            self.skipTest("there is no groff")
        done = run("groff", "-man", "-Tutf8", "-ww", "-z", self.root / "share/man/man1/hone.1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_variables_that_are_read_are_told(self):
        told = self.page.split(".SH ENVIRONMENT\n")[1].split("\n.SH ")[0].replace("\\", "")
        read = {name for text in sources("core", "tui", "views", "cli")
                for name in re.findall(r'getenv\("((?:HONE_\w+|NO_COLOR|SSL_\w+))"\)', text)}
        read -= {"HONE_WALL", "HONE_RUNNER"}    # of tests, and of hone to itself
        self.assertGreater(len(read), 4)
        self.assertEqual({name for name in read if name not in told}, set())

    def test_files_are_those_of_the_page_about_files(self):
        told = self.page.split(".SH FILES\n")[1].split("\n.SH ")[0].replace("\\", "")
        page = (SOURCE / "doc/files.md").read_text()
        paths = re.findall(r"^\.B (.*)$", told, re.MULTILINE)
        self.assertGreater(len(paths), 8)
        self.assertEqual([path for path in paths if f"`{path}`" not in page], [])


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1], verbosity=1)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
