# SPDX-License-Identifier: Apache-2.0
"""hone calibrate over a real SSH server, on stand-ins whose constants were changed in secret, and
where something goes wrong. calibrating.py HONE LAB [NAME OF A TEST]..."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import make  # noqa: E402
import tasks  # noqa: E402

HONE, LAB = [os.path.abspath(path) for path in (sys.argv[1:3] if len(sys.argv) > 2 else "..")]
FOLDER = os.path.realpath(tempfile.mkdtemp(prefix="hone-calibrating-"))
HOSTS = {"new": "2.32", "bare": "none"}
SECRET = {"vector_fixed_ns": 81.0, "scalar_function_ns": 62.0}
# The whole suite takes minutes; tests/calibrate fits it.
KERNELS = "vector_small,scalar_small,scalar_exp,dma_gather"


class Lab:
    """The servers: each session sees its host's root."""

    def __init__(self):
        self.roots, servers = {}, []
        for name, line in HOSTS.items():
            root = os.path.join(FOLDER, "root-" + name)
            self.roots[name] = make.make_root(root, line, HONE, memory=FOLDER + "/memory")
            servers.append("%s=SetEnv HONE_ROOT=%s HONE_LOCK_FOLDER=%s/locks-%s"
                           % (name, root, FOLDER, name))
        self.process = subprocess.Popen([LAB, *servers], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, encoding="utf-8")
        self.environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm",
                            "XDG_CACHE_HOME": FOLDER + "/cache",
                            "XDG_STATE_HOME": FOLDER + "/state",
                            "XDG_CONFIG_HOME": FOLDER + "/conf"}
        for text in self.process.stdout:
            if text.startswith("HOME="):
                self.environment["HOME"] = text.strip()[len("HOME="):]
            if text == "ready\n":
                return
        self.close()
        sys.exit(self.process.returncode or 1)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def start(self, *arguments):
        return subprocess.Popen([HONE, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")

    def run(self, *arguments):
        child = self.start(*arguments)
        out, errors = child.communicate()
        return child.returncode, out, errors


def wait_for_line(stream, start):
    for line in stream:
        if line.startswith(start):
            return
    raise AssertionError("no line begins with %s" % start)


class Calibrating(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        tasks.write(FOLDER + "/conf/hone/config.ini",
                    "".join("[host %s]\nsamples = 5\nwarmup_s = 0\n\n" % name for name in HOSTS))

    @classmethod
    def tearDownClass(cls):
        cls.lab.close()

    def tearDown(self):
        make.set_switches(self.lab.roots["new"])

    def kept(self, name):
        return os.path.join(FOLDER, "state", "hone", "calibrated", name + ".json")

    def test_changed_constants_are_found_and_used(self):
        root = self.lab.roots["new"]
        secret = os.path.join(root, "standin", "secret.json")
        tasks.write(secret, json.dumps({
            "format": "hone-constants", "version": 1, "host": "new", "device": "trn2",
            "constants": [{"name": name, "is": value} for name, value in SECRET.items()]}))
        make.set_switches(root, constants=secret, refuses_function="gathers")
        status, out, errors = self.lab.run("calibrate", "new", "--kernels", KERNELS, "--json")
        self.assertEqual(status, 0, out + errors)
        found = json.loads(out)
        self.check_constants(found)
        self.assertEqual([row["name"] for row in found["left_out"]], ["dma_gather"])
        self.assertIn("Neuron SDK 2.32", found["release"])
        self.assertLess(found["error_after"], 0.01)
        self.assertEqual(found["file"], self.kept("new"))
        self.assertEqual(stat.S_IMODE(os.stat(found["file"]).st_mode), 0o600)
        self.check_use(secret)

    def check_constants(self, found):
        for row in found["constants"]:
            truth = SECRET.get(row["name"], row["was"])
            if truth:
                self.assertLess(abs(row["is"] / truth - 1), 0.05, row)
            if row["name"] in SECRET:
                self.assertTrue(row["low"] <= truth <= row["high"] or
                                abs(row["is"] / truth - 1) < 0.02, row)

    def check_use(self, secret):
        """The model takes them; the person is told that they are there, and can forget them."""
        asked = ("sim", "silu", "--no-verify", "--json", "--constants")
        ours, theirs = [json.loads(self.lab.run(*asked, name)[1]) for name in ("new", secret)]
        usual = json.loads(self.lab.run(*asked[:-1])[1])
        self.assertLess(abs(ours["latency_us"] / theirs["latency_us"] - 1), 0.005)
        self.assertGreater(abs(usual["latency_us"] / theirs["latency_us"] - 1), 0.01)
        for command in ("config", "clean"):
            self.assertIn("new has constants of its own", self.lab.run(command)[1])
        self.assertEqual(self.lab.run("calibrate", "new", "--forget")[0], 0)
        self.assertFalse(os.path.exists(self.kept("new")))
        self.assertEqual(self.lab.run("sim", "silu", "--constants", "new")[0], 2)
        self.assertEqual(self.lab.run("calibrate", "new", "--forget")[0], 2)

    def test_a_host_that_fails_on_the_way(self):
        child = self.lab.start("calibrate", "new")
        wait_for_line(child.stderr, "1 of ")
        make.set_switches(self.lab.roots["new"], hardware=True)
        out, errors = child.communicate()
        self.assertEqual(child.returncode, 3, out + errors)
        self.assertIn("new failed at kernel", errors)
        self.assertIn("Nothing was kept", errors)
        self.assertFalse(os.path.exists(self.kept("new")))

    def test_an_interrupt_ends_it(self):
        child = self.lab.start("calibrate", "new")
        wait_for_line(child.stderr, "1 of ")
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130, out + errors)
        self.assertFalse(os.path.exists(self.kept("new")))
        status, out, errors = self.lab.run("host", "doctor", "new", "--json")
        self.assertNotIn('"ours"', out)

    def test_a_host_without_an_sdk(self):
        status, out, errors = self.lab.run("calibrate", "bare")
        self.assertEqual(status, 3, out + errors)
        self.assertIn("bare", errors)
        self.assertFalse(os.path.exists(self.kept("bare")))

    def test_what_is_no_host(self):
        for wrong in (("sim",), ("nobody-knows-this",), ("",), ("new", "--kernels", "vector")):
            status, out, errors = self.lab.run("calibrate", *wrong)
            self.assertEqual(status, 2, (wrong, out, errors))

    def test_a_kernel_that_the_suite_does_not_have(self):
        """The names that are meant, perhaps, are told."""
        for asked, told in (("vector_pair", "it has vector_small, vector_wide, vector_wide_bf16"),
                            ("scalar_exp, dma", "it has dma_wide"),
                            ("sums", "names begin with nothing, vector, scalar, gpsimd, from")):
            status, out, errors = self.lab.run("calibrate", "new", "--kernels", asked)
            self.assertEqual(status, 2, (asked, out, errors))
            self.assertIn(told, errors)


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
