# SPDX-License-Identifier: Apache-2.0
"""The folder of the core lock: who may write there, what others left, and what is left when a
process ends in the middle."""

import fcntl
import json
import os
import signal
import stat
import tempfile
import threading
import time
import unittest

from hone_runner import lock

SOMEBODY = 65534


class Folder(unittest.TestCase):
    def setUp(self):
        self.above = tempfile.TemporaryDirectory(prefix="hone-lock-")
        self.addCleanup(self.above.cleanup)
        os.chmod(self.above.name, 0o755)
        self.folder = os.path.join(self.above.name, "shared", "core_locks")
        self.lock = lock.Lock(self.folder, "tester")

    def file(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o666):
        os.makedirs(self.folder, exist_ok=True)
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.file(name), mode)

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as file:
            return file.read()

    def as_somebody(self, call):
        """What a call reports, in a process of a user who owns nothing here."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setgid(SOMEBODY)
                    os.setuid(SOMEBODY)
                said = str(call())
            except Exception as problem:
                said = "%s: %s" % (type(problem).__name__, problem)
            os.write(writer, said.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            said = pipe.read().decode()
        os.waitpid(child, 0)
        return said

    def test_a_folder_that_is_made_is_for_everybody_and_nobody_removes_what_is_not_his(self):
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        self.lock.prepare()
        for path in (self.folder, os.path.dirname(self.folder)):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o1777)
        for name in ("atomic_lock", "locks.json", "infra_version.json"):
            self.assertEqual(stat.S_IMODE(os.stat(self.file(name)).st_mode), 0o666)
        self.assertEqual(json.loads(self.read("infra_version.json")),
                         {"minClientLockingVersion": 2})

    def test_a_folder_that_is_there_is_left_as_it_is(self):
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o755)
        self.lock.prepare()
        self.assertEqual(stat.S_IMODE(os.stat(self.folder).st_mode), 0o755)

    def test_what_another_user_keeps_to_himself_is_said_with_what_to_do(self):
        """Each as the folder of a client that leaves the umask on has it."""
        names = ("atomic_lock", "locks.json", "infra_version.json")
        for closed, mode in (("locks.json", 0o444), ("atomic_lock", 0o444),
                             ("infra_version.json", 0), ("locks.json", 0), (None, 0o555)):
            with self.subTest(closed=closed, mode=mode):
                for name in names:
                    self.write(name, '{"minClientLockingVersion": 5}')
                    os.chmod(self.file(name), mode if name == closed else 0o666)
                if closed is None:
                    os.unlink(self.file("locks.json"))
                os.chmod(self.folder, 0o555)
                said = self.as_somebody(self.lock.prepare)
                os.chmod(self.folder, 0o755)
                self.assertIn("Unusable: ", said)
                self.assertIn("Permission denied", said)
                for part in (closed or "locks.json", "chmod 1777", "lock = none", "belongs to"):
                    self.assertIn(part, said)

    def test_files_that_are_open_to_all_serve_in_a_folder_that_is_not(self):
        for name in ("atomic_lock", "locks.json", "infra_version.json"):
            self.write(name, '{"minClientLockingVersion": 4}', 0o666)
        os.chmod(self.file("infra_version.json"), 0o444)
        os.chmod(self.folder, 0o555)

        def look():
            self.lock.prepare()
            with self.lock.state() as state:
                state.held[3] = 7
                state.say("COMMIT", cores=[3], expiry=7)
            return "fine"
        self.assertEqual(self.as_somebody(look), "fine")
        os.chmod(self.folder, 0o755)
        self.assertIn('{"3": 7}', self.read("locks.json"))

    def test_what_is_closed_later_is_unusable_too(self):
        self.lock.prepare()
        os.chmod(self.file("locks.json"), 0o444)
        os.chmod(self.folder, 0o755)

        def look():
            with self.lock.state() as state:
                state.held[3] = 7
        self.assertIn("Unusable", self.as_somebody(look))

    @unittest.skipUnless(os.geteuid() == 0, "two users are needed")
    def test_no_log_is_made_where_it_would_shut_others_out(self):
        self.lock.prepare()

        def look():
            with self.lock.state() as state:
                state.say("COMMIT", cores=[3], expiry=7)
            return "fine"
        self.assertEqual(self.as_somebody(look), "fine")
        self.assertEqual(self.logs(), [])
        look()
        self.assertEqual(len(self.logs()), 1)
        self.assertEqual(self.as_somebody(look), "fine")
        self.assertEqual(len(self.read(self.logs()[0]).splitlines()), 2)

    def logs(self):
        return [name for name in os.listdir(self.folder) if name.startswith("events-")]

    def test_links_and_what_is_no_file_are_refused(self):
        precious = os.path.join(self.above.name, "precious")
        with open(precious, "w", encoding="utf-8") as file:
            file.write("mine")
        for name in ("atomic_lock", "locks.json", "infra_version.json"):
            for make in (lambda path: os.symlink(precious, path), os.mkdir):
                self.lock.prepare()
                os.unlink(self.file(name))
                make(self.file(name))
                self.assertRaises(lock.Unusable, self.lock.prepare)
                os.rename(self.file(name), os.path.join(self.above.name, "away"))
                away = os.path.join(self.above.name, "away")
                os.rmdir(away) if os.path.isdir(away) and not os.path.islink(away) \
                    else os.unlink(away)
        with open(precious, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_the_version_is_made_where_it_is_missing_or_nonsense_and_else_left(self):
        for text in ("", "{", "[]", '{"minClientLockingVersion": "5"}',
                     '{"minClientLockingVersion": true}'):
            self.write("infra_version.json", text)
            self.lock.prepare()
            self.assertEqual(json.loads(self.read("infra_version.json")),
                             {"minClientLockingVersion": 2})
        text = '{"minClientLockingVersion": 5, "more": 1}\n'
        self.write("infra_version.json", text, 0o444)
        self.lock.prepare()
        self.assertEqual((self.read("infra_version.json"), self.lock.version), (text, 5))

    def test_nobody_elses_helper_is_made_or_touched(self):
        self.lock.prepare()
        with self.lock.state() as state:
            state.held[0] = 7
        self.assertNotIn("lock_helpers.py", os.listdir(self.folder))

    def test_a_lock_file_that_was_replaced_meanwhile_is_not_held(self):
        """A clean-up deletes it. Whoever waited for the old one must not think that he has the
        lock."""
        self.lock.prepare()
        old = open(self.file("atomic_lock"), "rb")
        self.addCleanup(old.close)
        fcntl.flock(old, fcntl.LOCK_EX)
        got = []

        def wait():
            with self.other().state(30.0, write=False) as state:
                got.append(state is not None)
        waiter = threading.Thread(target=wait)
        waiter.start()
        os.unlink(self.file("atomic_lock"))
        with open(self.file("atomic_lock"), "wb") as new:
            fcntl.flock(new, fcntl.LOCK_EX)
            fcntl.flock(old, fcntl.LOCK_UN)
            with self.other().state(0.3, write=False) as state:
                self.assertIsNone(state)
            self.assertEqual(got, [])
        waiter.join()
        self.assertEqual(got, [True])

    def other(self):
        return lock.Lock(self.folder, "other")

    def test_a_file_that_is_too_large_is_not_taken_for_an_empty_one(self):
        self.lock.prepare()
        text = json.dumps({"more": "x" * lock.MAX_FILE})
        self.write("locks.json", text)
        with self.assertRaises(lock.Unusable):
            with self.lock.state():
                pass
        self.assertEqual(self.read("locks.json"), text)

    def test_a_torn_file_heals(self):
        self.lock.prepare()
        self.write("locks.json", '{"version": 2, "que')
        with self.lock.state() as state:
            self.assertEqual((state.held, state.queue), ({}, []))
        self.assertEqual(json.loads(self.read("locks.json"))["version"], 2)

    def test_what_is_broken_off_changes_nothing(self):
        self.lock.prepare()
        with self.lock.state() as state:
            state.held[0] = 7
        before = self.read("locks.json")
        with self.assertRaises(KeyError):
            with self.lock.state() as state:
                state.held[1] = 8
                raise KeyError
        self.assertEqual(self.read("locks.json"), before)

    def test_each_step_of_writing_leaves_text_that_can_be_read(self):
        """The process ends after each of its calls in turn, with longer and shorter texts."""
        texts = [json.dumps({"a": "x" * 900}), json.dumps({"b": 1})]
        for old, new in (texts, texts[::-1]):
            for calls in range(4):
                self.write("locks.json", old)
                child = os.fork()
                if child == 0:
                    self.end_after(calls)
                    lock.write_whole(os.open(self.file("locks.json"), os.O_RDWR), new)
                    os._exit(0)
                os.waitpid(child, 0)
                self.assertIn(json.loads(self.read("locks.json")),
                              (json.loads(old), json.loads(new)))

    @staticmethod
    def end_after(calls):
        left = [calls]

        def counted(real):
            def call(*words):
                if not left[0]:
                    os._exit(1)
                left[0] -= 1
                return real(*words)
            return call
        for name in ("pwrite", "ftruncate"):
            setattr(os, name, counted(getattr(os, name)))

    def test_a_full_disk_keeps_the_old_text(self):
        old, real = json.dumps({"a": 1}), os.pwrite
        self.write("locks.json", old)

        def pwrite(descriptor, data, at):
            if at + len(data) > 100:
                if at + 10 > 100:
                    raise OSError(28, "No space left on device")
                return real(descriptor, data[:100 - at], at)
            return real(descriptor, data, at)
        os.pwrite = pwrite
        try:
            with self.assertRaises(OSError):
                lock.write_whole(os.open(self.file("locks.json"), os.O_RDWR), "y" * 900)
        finally:
            os.pwrite = real
        self.assertEqual(self.read("locks.json"), old)

    def test_signals_wait_until_the_file_is_written(self):
        self.lock.prepare()
        came = []
        before = signal.signal(signal.SIGALRM, lambda number, frame: came.append(frame))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        with self.lock.state() as state:
            os.kill(os.getpid(), signal.SIGALRM)
            time.sleep(0.01)
            self.assertEqual(came, [])
            state.held[0] = 7
        self.assertEqual(len(came), 1)

    def test_events_are_lines_and_tell_who_holds_what(self):
        self.lock.prepare()
        with self.lock.state() as state:
            state.say("RESERVE", entry_id="a", cores=[2], assembly_ts=1)
            state.say("COMMIT", cores=[2, 3], expiry=7)
        row = json.loads(self.read(self.logs()[0]))
        self.assertEqual((row["event"], row["caller"], row["cores"]), ("COMMIT", "tester", [2, 3]))
        self.assertEqual(self.lock.callers(), {2: "tester", 3: "tester"})
        os.environ["CORE_LOCK_DEBUG_EVENTS"] = "Yes"
        self.addCleanup(os.environ.pop, "CORE_LOCK_DEBUG_EVENTS")
        with self.lock.state() as state:
            state.say("RESERVE", entry_id="a", cores=[2], assembly_ts=1)
        self.assertIn('"RESERVE"', self.read(self.logs()[0]))


if __name__ == "__main__":
    unittest.main()
