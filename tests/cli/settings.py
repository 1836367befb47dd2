# SPDX-License-Identifier: Apache-2.0
"""hone config and hone host as a user calls them: settings.py PATH_OF_HONE."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HONE = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="hone-cli-"))


class Settings(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(dir=ROOT))
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("HONE_", "XDG_"))}
        self.env["HOME"] = str(self.home)
        self.file = self.home / ".config/hone/config.ini"

    def write(self, text):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text)

    def hone(self, *args, status=0, env=None):
        done = subprocess.run([HONE, *map(str, args)], env={**self.env, **(env or {})}, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=60,
                              cwd=self.home, start_new_session=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def value(self, section, key, *args, env=None):
        rows = json.loads(self.hone("config", "--json", *args, env=env))
        return next((row["value"], row["origin"]) for row in rows
                    if (row["section"], row["key"]) == (section, key))


class Config(Settings):
    def test_every_value_says_where_it_came_from(self):
        self.write("[defaults]\nrounds = 7\n[host trn2]\nuser = me\n")
        task = self.home / "task"
        (task / ".hone").mkdir(parents=True)
        (task / ".hone/config.ini").write_text("[defaults]\nrounds = 9\n")
        (task / "kernel.py").write_text("")
        self.assertEqual(self.value("defaults", "rounds"), ("7", "~/.config/hone/config.ini:2"))
        self.assertEqual(self.value("defaults", "rounds", task),
                         ("9", "~/task/.hone/config.ini:2"))
        self.assertEqual(self.value("defaults", "rounds", task / "kernel.py"),
                         ("9", "~/task/.hone/config.ini:2"))
        self.assertEqual(self.value("defaults", "rounds", env={"HONE_DEFAULTS_ROUNDS": "8"}),
                         ("8", "HONE_DEFAULTS_ROUNDS"))
        self.assertEqual(self.value("host trn2", "samples"), ("10", "default"))
        self.assertIn("user             me", self.hone("config"))
        self.assertEqual(self.hone("config", "--path").strip(), str(self.file))

    def test_every_command_that_needs_it_refuses_a_wrong_file(self):
        self.write("[host trn2]\nprot = 22\n")
        for args in (["config"], ["host", "list"], ["host", "doctor", "trn2"],
                     ["run", "seeds/silu"], ["host", "add", "b"]):
            said = self.hone(*args, status=2)
            self.assertIn("config.ini:2: [host trn2] has no setting 'prot'; did you mean 'port'?",
                          said)

    def test_a_task_may_not_choose_where_it_runs(self):
        task = self.home / "task"
        (task / ".hone").mkdir(parents=True)
        (task / ".hone/config.ini").write_text("[defaults]\ntarget = me@evil\n")
        (task / "kernel.py").write_text("x = 1\n")
        (task / "reference.py").write_text("")
        self.assertIn("may not set [defaults] target", self.hone("run", task, status=2))

    def test_the_reference_has_every_setting(self):
        lines = self.hone("config", "--reference").splitlines()
        rows = [line for line in lines if line.startswith("| `")]
        named = [line[2:-7] for line in lines if line.endswith(" NAME]`")]
        self.write("".join("[%s x%d]\n" % (kind, at) for at, kind in enumerate(named)))
        self.assertEqual(len(rows), len(json.loads(self.hone("config", "--json"))))
        page = self.hone("help", "--man")
        for row in rows:
            self.assertIn(".B " + row.split("`")[1], page)


class Host(Settings):
    def test_add_writes_a_section_and_keeps_the_rest(self):
        self.write("# mine\n[host a]\nport = 2\n")
        self.hone("host", "add", "trn2", "ubuntu@10.0.0.5:2200", "--identity", "~/.ssh/key",
                  "--environment", "/opt/venv", "--no-check")
        self.assertEqual(self.file.read_text(),
                         "# mine\n[host a]\nport = 2\n\n[host trn2]\nuser = ubuntu\nport = 2200\n"
                         "address = 10.0.0.5\nidentity = ~/.ssh/key\nenvironment = /opt/venv\n")
        self.assertIn("already has a section [host trn2]",
                      self.hone("host", "add", "trn2", "--no-check", status=2))

    def test_an_ipv6_address_is_no_port(self):
        self.hone("host", "add", "six", "ubuntu@fe80::1", "--port", "2200", "--no-check")
        self.assertIn("address = fe80::1\nport = 2200\n", self.file.read_text())

    def test_what_cannot_be_a_host_is_not_written(self):
        for args in (["a b"], ["sim"], ["-x"], ["x" * 60], ["a]"], ["a\n[host b]"],
                     ["a", "me@h", "--port", "0"], ["a", "me@h", "--lnc", "3"],
                     ["a", "me@h ;x"], ["a", "me\x1b[2J@h"]):
            said = self.hone("host", "add", *args, "--no-check", status=2)
            self.assertNotIn("\x1b", said)
            self.assertFalse(self.file.exists(), args)

    def test_list_shows_what_target_takes(self):
        self.assertIn("no hosts yet", self.hone("host", "list"))
        self.write("[host trn2]\nuser = me\naddress = h\n[cluster hpc]\nhead = trn2\n")
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh/config").write_text("Host bastion trn2 *.internal\n  User me\n")
        rows = json.loads(self.hone("host", "list", "--json"))
        self.assertEqual([(row["name"], row["kind"], row["address"], row["seen"]) for row in rows],
                         [("trn2", "host", "me@h", None), ("hpc", "cluster", "head trn2", None),
                          ("bastion", "ssh alias", "~/.ssh/config", None)])
        self.assertEqual(self.hone("host", "list", "--names"), "trn2\nhpc\nbastion\n")
        self.assertIn("never", self.hone("host", "list"))

    def test_wrong_usage_says_what_there_is(self):
        for args, words in ((["host"], "is missing"), (["host", "lst"], "Did you mean list?"),
                            (["host", "doctor"], "NAME is missing"),
                            (["host", "list", "x"], "one argument too many"),
                            (["host", "list", "--yes"], "makes no sense"),
                            (["host", "doctor", "sim"], "device model"),
                            (["host", "conform", "sim"], "device model"),
                            (["host", "doctor", "nowhere"], "there is no target nowhere")):
            self.assertIn(words, self.hone(*args, status=2))

    def test_completion_knows_the_names(self):
        self.write("[host trn2]\n[cluster hpc]\n")
        script = (f"eval \"$('{HONE}' completion bash)\"\n"
                  "t() { COMP_WORDS=(\"$@\") COMP_CWORD=$(($#-1)); _hone; echo ${COMPREPLY[@]}; }\n"
                  "t hone host ''; t hone host doctor t; t hone host conform t; "
                  "t hone run --target ''; t hone run x")
        env = {**self.env, "PATH": os.path.dirname(HONE) + ":" + self.env["PATH"]}
        done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True)
        self.assertEqual(done.stdout.splitlines(),
                         ["add list doctor setup conform", "trn2", "trn2", "sim trn2 hpc", ""])


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)
    finally:
        shutil.rmtree(ROOT, ignore_errors=True)
