# SPDX-License-Identifier: Apache-2.0
"""Walls on a host: what stages reach behind each wall that this machine can have, and what they do
not."""

import os
import socket
import sys
import time
import unittest
from unittest import mock

import common
from hone_runner import output, process, stage, wall

LEVELS = wall.LEVELS
# An attempt, and the level from which on it is kept out.
ATTEMPTS = (
    ("a key in the home folder", "open(SECRET).read()", "landlock"),
    ("a file in the home folder", "open(os.path.dirname(SECRET) + '/new', 'w')", "landlock"),
    ("a file in /usr", "open('/usr/hone-was-here', 'w'); os.unlink('/usr/hone-was-here')",
     "landlock"),
    ("a connection", "socket.create_connection(('127.0.0.1', PORT), 5)", "landlock"),
    ("the end of the runner", "os.kill(RUNNER, 0)", "landlock"),
    ("the environment of the runner", "open('/proc/%d/environ' % RUNNER, 'rb').read()", "landlock"),
    ("a file without end", "open(WORK + '/big', 'wb').truncate(1 << 40)", "limits"),
    ("a user namespace", "call('unshare', 0x10000000)", "landlock"),
    ("a mount", "call('mount', b'x', b'/tmp', b'tmpfs', 0, None)", "landlock"),
)
SCRIPT = """
import ctypes, os, socket, sys
SECRET, WORK, PORT, RUNNER = %r, %r, %d, %d
def call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
try:
    %s
except OSError as problem:
    print("kept out:", problem)
    sys.exit(3)
"""


class Walls(common.HostCase):
    def setUp(self):
        super().setUp()
        self.secret = self.path("login", ".ssh", "id_x")
        self.work = self.path("login", ".hone", "jobs", "one", "work")
        os.makedirs(os.path.dirname(self.secret))
        self.inputs = self.path("login", ".hone", "cache", "inputs")
        os.makedirs(self.work)
        os.makedirs(self.inputs)
        with open(self.secret, "w") as file:
            file.write("secret")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.before = os.environ.get("HOME")
        os.environ["HOME"] = self.path("login")

    def tearDown(self):
        os.environ["HOME"] = self.before or "/"
        self.listener.close()
        super().tearDown()

    def wall(self, level, network=False):
        return wall.Wall(level, [(self.work, True), (self.inputs, False)], network, (self.work,))

    def levels(self, least="limits"):
        for level in LEVELS[LEVELS.index(least):]:
            if wall.works(self.wall(level)):
                yield level
            else:
                print("no wall %s here" % level, file=sys.stderr)

    def run_behind(self, level, argv, network=False, **limits):
        limits.setdefault("wall_s", 60.0)
        streams = [output.Stream(None, None, None), output.Stream(None, None, None)]
        result = stage.Stage("tool", argv, stage.Limits(**limits),
                             wall=self.wall(level, network)).run(
            stage.clean_environment({"HOME": self.work}), self.work, streams)
        result.out_tail, result.err_tail = [stream.raw.tail.bytes() for stream in streams]
        return result

    def attempt(self, level, body, network=False):
        text = SCRIPT % (self.secret, self.work, self.listener.getsockname()[1], os.getpid(), body)
        return self.run_behind(level, ["/usr/bin/python3", "-c", text], network)

    def test_what_a_wall_is_for_is_kept_out(self):
        for name, body, least in ATTEMPTS:
            for level in self.levels(least):
                if level == "landlock" and name.startswith("the end") and \
                        wall.LIBC.syscall(wall.LANDLOCK_CREATE, None, 0, 1) < 6:
                    continue            # Landlock knows signals from its sixth version on
                with self.subTest(name=name, level=level):
                    result = self.attempt(level, body)
                    self.assertEqual(result.status, 3, result.tail())

    def test_what_the_verdict_rests_on_is_read_and_not_written(self):
        path = os.path.join(self.inputs, "outputs.raw")
        with open(path, "w") as file:
            file.write("expected")
        for level in self.levels("landlock"):
            with self.subTest(level=level):
                result = self.attempt(level, "assert open(%r).read() == 'expected'; "
                                             "open(%r, 'w')" % (path, path))
                self.assertEqual(result.status, 3, result.tail())
        with open(path) as file:
            self.assertEqual(file.read(), "expected")

    def test_packages_in_work_are_seen(self):
        site, package = self.path("login", "venv", "lib"), self.path("login", "src", "nki-fork")
        for folder in (site, package):
            os.makedirs(folder)
        with open(os.path.join(site, "fork.pth"), "w") as file:
            file.write("import sys; sys.exit()\n# a remark\n../../src/nki-fork\n/nowhere\n")
        found = wall.linked_places([site])
        self.assertEqual([os.path.realpath(path) for path in found], [os.path.realpath(package)])

    def exceeds(self, part, limit, value, body):
        for level in self.levels():
            with self.subTest(level=level), mock.patch.object(wall, limit, value):
                result = self.attempt(level, body + "; import time; time.sleep(60)")
                self.assertEqual(result.outcome, "failed")
                self.assertIn(part, result.text)
                self.assertLess(result.seconds, 50)

    def test_processes_without_number_are_ended(self):
        self.exceeds("it had over 12 processes", "PROCESSES", 12,
                     "[os.fork() for _ in range(5)]")

    def test_processes_without_end_are_ended(self):
        if os.geteuid() == 0 and wall.groups() is None:
            self.skipTest("root, and no control groups to make here")
        for level in self.levels():
            with self.subTest(level=level), mock.patch.object(wall, "PROCESSES", 200), \
                    mock.patch.object(wall, "THREADS", 400):
                result = self.attempt(level, """
    while True:
        os.fork()""")
                self.assertNotEqual(result.outcome, "ok")
                self.assertLess(result.seconds, 55)

    def test_a_disk_that_is_filled_by_many_files_ends_it(self):
        self.exceeds("it wrote over 0 GiB", "WORK_BYTES", 1 << 20,
                     "[open(WORK + '/%d' % i, 'wb').write(bytes(1 << 19)) for i in range(8)]")
        self.exceeds("it left over 30 files", "WORK_FILES", 30,
                     "[open(WORK + '/n%d' % i, 'wb').close() for i in range(40)]")

    def test_the_network_is_there_where_the_setting_says_so(self):
        for level in self.levels():
            with self.subTest(level=level):
                result = self.attempt(level, "socket.create_connection(('127.0.0.1', PORT), 5)",
                                      True)
                self.assertTrue(result.ok, result.tail())

    def test_work_goes_on_as_without(self):
        body = ("open(WORK + '/answer', 'w').write('x'); import multiprocessing, threading; "
                "threading.Thread(target=print).start(); open('/dev/null', 'w').write('x'); "
                "multiprocessing.Pipe(); os.listdir('/sys/devices/system/cpu'); "
                "assert os.getcwd() == WORK; open('/etc/hostname').read()")
        for level in self.levels():
            with self.subTest(level=level):
                result = self.attempt(level, body)
                self.assertTrue(result.ok, result.tail())
                self.assertTrue(os.path.exists(os.path.join(self.work, "answer")))

    def test_signals_and_statuses_are_told(self):
        for level in self.levels():
            with self.subTest(level=level):
                result = self.run_behind(level, ["/bin/sh", "-c", "exit 7"])
                self.assertEqual((result.outcome, result.status), ("failed", 7))
                result = self.run_behind(level, ["/bin/sh", "-c", "kill -SEGV $$"])
                self.assertEqual((result.outcome, result.signal), ("signalled", 11))
                result = self.run_behind(level, ["sleep", "60"], wall_s=0.3)
                self.assertEqual(result.outcome, "timeout")

    def test_nothing_outlives_a_stage(self):
        process.adopt_orphans()
        for level in self.levels():
            with self.subTest(level=level):
                word = "%d.%d" % (os.getpid() + 100000, LEVELS.index(level) + 11)
                self.run_behind(level, ["/usr/bin/python3", "-c", """if True:
                    import os
                    if os.fork() == 0:
                        try:
                            os.setsid()
                        except OSError:
                            pass
                        if os.fork() == 0:
                            os.execvp("sleep", ["sleep", %r])
                        os._exit(0)
                    os.wait()""" % word])
                deadline = time.monotonic() + 20
                while self.is_running(word) and time.monotonic() < deadline:
                    process.reap()
                    time.sleep(0.05)
                self.assertFalse(self.is_running(word))

    @staticmethod
    def is_running(word):
        return any(word.encode() in process.read_proc(pid, "cmdline") for pid in process.everyone())

    def test_a_demanded_wall_is_had_or_refused(self):
        self.assertEqual(wall.choose("landlock", lambda level: True), "landlock")
        self.assertEqual(wall.choose("auto", lambda level: level == "namespaces"), "namespaces")
        self.assertEqual(wall.choose("auto", lambda level: False), "limits")
        with self.assertRaisesRegex(wall.Unavailable, "install bubblewrap"):
            wall.choose("bubblewrap", lambda level: False)


if __name__ == "__main__":
    unittest.main()
