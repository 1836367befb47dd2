# SPDX-License-Identifier: Apache-2.0
"""hone model, and which models hone run tries before it begins.
usage: models.py PATH_OF_HONE [NAME]..."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

HONE = os.path.abspath(sys.argv[1])
SERVER = pathlib.Path(__file__).resolve().parent.parent / "model" / "server.py"
SECRETS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_PROFILE", "AWS_ACCESS_KEY_ID",
           "AWS_BEARER_TOKEN_BEDROCK", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Models(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone-models-"))
        cls.server = subprocess.Popen([sys.executable, SERVER], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        cls.port = int(cls.server.stdout.readline())
        cls.env = {name: value for name, value in os.environ.items()
                   if name not in SECRETS and name.upper() not in SECRETS}
        for name in ("cache", "config", "state"):
            cls.env[f"XDG_{name.upper()}_HOME"] = str(cls.folder / name)
        (cls.folder / "config" / "hone").mkdir(parents=True)
        cls.nobody = free_port()

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.server.wait()
        cls.server.stdout.close()
        cls.server.stdin.close()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def configure(self, text):
        (self.folder / "config" / "hone" / "config.ini").write_text(text)

    def section(self, name, api="openai", port=None, **keys):
        path = "/v1" if api in ("openai", "responses") else ""
        rows = {"base_url": f"http://127.0.0.1:{port or self.port}{path}", "api": api, **keys}
        return f"[model {name}]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items())

    def run_hone(self, *args, **env):
        return subprocess.run([HONE, *map(str, args)], env={**self.env, **env}, text=True,
                              timeout=200, capture_output=True, stdin=subprocess.DEVNULL,
                              cwd=self.folder)

    def steps(self, *args, **env):
        """Exit status, and (model, step, state) with what was found, of hone model test."""
        done = self.run_hone("model", "test", "--json", *args, **env)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(rows[-1]["event"], "end", done.stderr)
        self.assertEqual(rows[-1]["ok"], done.returncode == 0)
        return done.returncode, [(row["model"], row["name"], row["state"], row["found"])
                                 for row in rows[:-1]]

    def test_a_model_that_answers(self):
        for api in ("anthropic", "openai", "responses"):
            self.configure(self.section("m", api, model="plain", key_env="A_KEY"))
            status, rows = self.steps("m", A_KEY="k-4711")
            self.assertEqual([row[:3] for row in rows], [("m", "key", "ok"), ("m", "address", "ok"),
                                                         ("m", "answer", "ok")])
            self.assertEqual(status, 0)
            self.assertIn("tokens in and 15 out", rows[2][3])
            self.assertNotIn("k-4711", str(rows))

    def test_an_answer_that_is_cut_is_one(self):
        self.configure(self.section("m", model="long"))
        self.assertEqual(self.steps("m")[0], 0)

    def test_what_is_wrong_is_named(self):
        far = "https://192.0.2.1:1/v1"
        rows = [
            (dict(model="plain", key_env="NO_SUCH_KEY"), "key",
             "the environment has no NO_SUCH_KEY"),
            (dict(model="plain", key_command="false"), "key", "key_command failed"),
            (dict(model="plain", key_env="A_KEY", base_url="http://example.test/v1"), "key",
             "over plain http"),
            (dict(model="unauthorised", key_env="A_KEY"), "key", "the key was not accepted"),
            (dict(model="wants-key"), "key", "it requires a key"),
            (dict(model="plain", port=self.nobody), "address",
             f"nothing answers at http://127.0.0.1:{self.nobody}: is the server running?"),
            (dict(model="plain", base_url=far, connect_limit_s=1), "address", "requires a proxy"),
            (dict(model="plain", base_url=far, proxy=f"http://127.0.0.1:{self.nobody}"), "address",
             f"the proxy 127.0.0.1:{self.nobody} cannot be reached"),
            (dict(model="plain", base_url=f"http://127.0.0.1:{self.port}/v2"), "model", "404"),
            (dict(model="quota"), "key", "no credit left"),
            (dict(model="later"), "answer", "that may pass"),
        ]
        for keys, step, words in rows:
            self.configure(self.section("m", **keys))
            status, told = self.steps("m", A_KEY="k-4711")
            self.assertEqual((status, told[-1][1:3]), (3, (step, "failed")), told)
            self.assertIn(words, told[-1][3])
            self.assertNotIn("k-4711", str(told))

    def test_programs_and_persons(self):
        self.configure("[model cat]\napi = command\ncommand = cat -\n"
                       "[model gone]\napi = command\ncommand = /no/such/program -p\n"
                       "[model mute]\napi = command\ncommand = true\n")
        self.assertEqual([row[1:3] for row in self.steps("cat")[1]],
                         [("program", "ok"), ("answer", "ok")])
        self.assertEqual(self.steps("gone")[1][0][1:3], ("program", "failed"))
        self.assertEqual(self.steps("mute")[1][1][1:3], ("answer", "failed"))
        self.assertEqual(self.steps("human"), (0, [("human", "person", "ok", "you are asked")]))

    def test_roles_and_lists(self):
        self.configure(self.section("a", model="plain")
                       + self.section("b", model="plain", effort="low")
                       + "[roles]\nplanner = a, b\nrewriter = b\n")
        status, rows = self.steps()
        self.assertEqual((status, [row[0] for row in rows if row[1] == "answer"]), (0, ["a", "b"]))
        self.assertEqual(self.run_hone("model", "list", "--names").stdout, "a\nb\n")
        listed = json.loads(self.run_hone("model", "list", "--json").stdout)
        self.assertEqual([row["effort"] for row in listed], ["", "low"])
        text = self.run_hone("model", "test", "a").stdout
        self.assertRegex(text, r"(?m)^  ok      answer ")
        self.assertEqual(self.run_hone("model", "test", "nobody").returncode, 2)
        self.assertEqual(self.run_hone("model", "ask").returncode, 2)
        self.assertIn("--names", self.run_hone("completion", "bash").stdout)

    def run_task(self, name, *args, **env):
        session = self.folder / name
        done = self.run_hone("run", "softmax", "--proposer", name, "--rounds", "1", "--session",
                             session, "--json", *args, **env)
        return done, session

    def test_a_run_does_nothing_without_a_key(self):
        self.configure(self.section("keyless", model="plain", key_env="NO_SUCH_KEY"))
        done, session = self.run_task("keyless")
        self.assertEqual(done.returncode, 3)
        self.assertIn("the environment has no NO_SUCH_KEY", done.stderr)
        self.assertIn("hone model test keyless", done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse((session / "checkpoints").exists())

    def test_a_run_asks_after_a_server_that_is_not_there(self):
        self.configure(self.section("absent", model="plain", port=self.nobody)
                       + self.section("there", model="plain")
                       + "[roles]\nplanner = absent\n")
        done, _ = self.run_task("absent")
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"nothing answers at http://127.0.0.1:{self.nobody}: is the server running?",
                      done.stderr)
        # When a role has another model, one that cannot be reached is no reason not to begin.
        preflight = self.run_hone("model", "test", "absent,there")
        self.assertEqual(preflight.returncode, 0, preflight.stdout)

    def test_a_preflight_asks_nothing(self):
        self.configure(self.section("first", model="plain", port=self.nobody))
        listener = socket.socket()
        listener.bind(("127.0.0.1", self.nobody))
        listener.listen(4)
        try:
            process = subprocess.Popen(
                [HONE, "run", "softmax", "--proposer", "first", "--rounds", "1", "--session",
                 str(self.folder / "quiet")],
                env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            listener.settimeout(60)
            connection, _ = listener.accept()
            connection.settimeout(60)
            self.assertEqual(connection.recv(100), b"")     # it ends without a word
            connection.close()
        finally:
            process.kill()
            process.wait()
            listener.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + [f"Models.{name}" for name in sys.argv[2:]])
