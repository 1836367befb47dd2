# SPDX-License-Identifier: Apache-2.0
"""The whole chain: hone tunes a kernel over a real SSH server, on a stand-in of an old line and on
one of a new line, of which it knows nothing but the name. chain.py HONE LAB [NAME OF A TEST]..."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import lines  # noqa: E402
import make  # noqa: E402
import remote  # noqa: E402
import tasks  # noqa: E402

HONE, LAB = [os.path.abspath(path) for path in (sys.argv[1:3] if len(sys.argv) > 2 else "..")]
FOLDER = os.path.realpath(tempfile.mkdtemp(prefix="hone-chain-"))
# The line, and the task that is tuned there. The seed's own kernel leaves something to gain.
HOSTS = {"2.26": "silu", "2.32": "matmul"}
# What a kernel gets that the newest release, for which kernels are here by default, lacks.
OF_ITS_RELEASE = {"2.26": None,
                  "2.32": ("    for m in range(M // TILE_M):\n",
                           "    for once in nl.dynamic_range(1):\n        pass\n"
                           "    for m in range(M // TILE_M):\n")}


def name_of(line):
    return "sdk" + line.replace(".", "")


class Lab:
    """The servers: one for each line, whose sessions see that line's root."""

    def __init__(self):
        self.roots, servers = {}, []
        for line in HOSTS:
            root = os.path.join(FOLDER, "root-" + line)
            self.roots[line] = make.make_root(root, line, HONE, memory=FOLDER + "/memory")
            servers.append("%s=SetEnv HONE_ROOT=%s HONE_LOCK_FOLDER=%s/locks-%s"
                           % (name_of(line), root, FOLDER, line))
        self.process = subprocess.Popen([LAB, *servers], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, encoding="utf-8")
        self.environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "xterm",
                            "XDG_CACHE_HOME": FOLDER + "/cache",
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


class Chain(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        tasks.write(FOLDER + "/conf/hone/config.ini",
                    "".join("[host %s]\nsamples = 5\nwarmup_s = 0\n\n" % name_of(line)
                            for line in HOSTS))

    @classmethod
    def tearDownClass(cls):
        cls.lab.close()

    def test_doctor_finds_nothing_wrong(self):
        for line in HOSTS:
            child = self.lab.start("host", "doctor", name_of(line), "--json")
            out, errors = child.communicate()
            self.assertEqual(child.returncode, 0, out + errors)
            checks = [json.loads(text) for text in out.splitlines()]
            self.assertIn(lines.LINES[line]["venvs"][0], out)
            self.assertFalse([row for row in checks if row.get("state") == "failed"])

    def test_their_sdks_are_as_hone_knows_them(self):
        for line in HOSTS:
            child = self.lab.start("host", "conform", name_of(line), "--json")
            out, errors = child.communicate()
            self.assertEqual(child.returncode, 0, out + errors)
            report = json.loads(out)
            self.assertEqual((report["versions"]["line"], report["bad"]), (line, 0))
            self.assertNotIn(FOLDER, out)

    def test_a_kernel_is_tuned_on_hosts_of_two_lines(self):
        running = []
        for line, task in HOSTS.items():
            folder = tasks.make(os.path.join(FOLDER, task), task, lines.DIALECT[line],
                                OF_ITS_RELEASE[line])
            self.lab.environment.update(HONE_SEARCH_PRUNE="1000", HONE_SEARCH_PRUNE_BY="both")
            running.append((line, folder, self.lab.start(
                "run", folder, "--target", name_of(line), "--rounds", "1", "--seeds", "0,21",
                "--json")))
        for line, folder, child in running:
            out, errors = child.communicate()
            self.assertEqual(child.returncode, 0, (line, out[-3000:], errors[-3000:]))
            self.check([json.loads(text) for text in out.splitlines()], line)
            self.is_exported(folder, line)

    def is_exported(self, folder, line):
        """What was tuned there is tried here for the release of the host."""
        made = os.path.join(FOLDER, "export-" + line)
        out, errors = self.lab.start("export", folder, "--output", made).communicate()
        self.assertEqual((out.strip(), errors), (made, ""))
        command = next(text for text in tasks.read(made + "/README.md").splitlines()
                       if "hone sim" in text)
        self.assertEqual("--release 0.6" in command, line == "2.32", command)

    def check(self, events, line):
        end = events[-1]
        self.assertEqual(end["event"], "end")
        self.assertFalse(end["best"]["modelled"])
        self.assertTrue(end["best"]["correct"])
        self.assertGreater(end["best"]["speedup"], 1.05, (line, end))
        self.has_artefacts(end, line)
        self.is_asked(end)
        for which in ("baseline", "best"):
            self.as_modelled(end[which], line)
            self.as_predicted(end[which], line)
        asked = tasks.read(os.path.join(self.lab.roots[line], "standin", "state", "diary"))
        self.assertEqual(asked.count('"predict"') > 0, line == "2.32")

    def has_artefacts(self, end, line):
        """What the host made of the seed kernel is in the session's folder."""
        session = os.path.dirname(os.path.dirname(end["baseline"]["kernel"]))
        wanted = {"events.ndjson", "kernel.neff", "profile.ntff", "summary.json"}
        wanted |= {"launches.ndjson.gz"} if lines.LINES[line]["nrtpy"] else set()
        self.assertEqual(set(os.listdir(os.path.join(session, "run", "0.1"))), wanted)

    def ask(self, name, sql, *more):
        out, errors = self.lab.start("query", name, sql, "--json", *more).communicate()
        answer = json.loads(out or "{}")
        self.assertIn("rows", answer, errors)
        return answer["rows"]

    def is_asked(self, end):
        """Questions to an attempt are answered by the device's profile, not the model's."""
        session = os.path.dirname(os.path.dirname(end["best"]["kernel"]))
        best = ("--attempt", str(end["best"]["attempt"]))
        self.assertEqual(self.ask(session, "SELECT source FROM Metadata", *best), [["device"]])
        total = self.ask(session, "SELECT total_time FROM Summary", *best)[0][0]
        self.assertAlmostEqual(total * 1e6 / end["best"]["latency_us"], 1, 0)
        rows = self.ask(session, "SELECT COUNT(*), MAX(end_ts) FROM Instruction WHERE line > 0",
                        *best)[0]
        self.assertGreater(rows[0], 3)
        self.assertGreater(rows[1], 0)
        lines_of = self.ask(session, "SELECT SUM(share) FROM Line", *best)
        self.assertAlmostEqual(lines_of[0][0], 1, 3)
        summary = os.path.join(session, "run", "0.1", "summary.json")
        self.assertEqual(self.ask(summary, "SELECT source FROM Metadata"), [["device"]])
        self.assertGreater(self.ask(summary, "SELECT total_time FROM Summary")[0][0], 0)

    def as_modelled(self, attempt, line):
        """What was measured there is what the device model says here."""
        task = os.path.join(FOLDER, HOSTS[line])
        release = ("--release", "2.32") if line == "2.32" else ()
        want = remote.embedded(HONE, attempt["kernel"], "--reference", task + "/reference.py",
                               "--seeds", "0,21", *release)
        self.assertIs(want["correct"], True)
        self.assertAlmostEqual(attempt["latency_us"] / want["latency_us"], 1, 1)


    def as_predicted(self, attempt, line):
        """If the release has a prediction of its own, it is kept beside the time, and differs from
        it."""
        if line != "2.32":
            self.assertNotIn("predicted_us", attempt)
            return
        self.assertEqual(attempt["predicted_by"], "nki 0.6.0")
        self.assertTrue(0.1 < attempt["predicted_us"] / attempt["latency_us"] < 0.95, attempt)
        self.assertGreater(attempt["predicted_utilisation"]["dma"], 1)


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=1)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
