# SPDX-License-Identifier: Apache-2.0
"""The core lock as jobs use it: one holder at a time, first come first served, and nobody's crash
holds it for long. test_lock_rules.py tests its rules, test_lock_files.py its files."""

import fcntl
import json
import os
import signal
import sys
import time
import types
import unittest

import common
from common import wait_for
from hone_runner import hold


class Cores(common.HostCase):
    def setUp(self):
        super().setUp()
        self.settings = {"tools": self.neuron_ls(devices=1, cores=1)}
        self.diary = self.path("diary")
        self.env["HONE_TEST_POLL_S"] = "0.2"

    def cores_job(self, name, count=1, seconds=0.0, **more):
        settings = dict(self.settings, **more.pop("settings", {}))
        step = dict({"do": "cores", "count": count, "seconds": seconds, "diary": self.diary,
                     "who": name}, **more)
        return self.job(name, settings=settings, steps=[step])

    def entries(self):
        if not os.path.exists(self.diary):
            return []
        with open(self.diary) as file:
            return file.read().splitlines()

    def locks(self):
        with open(self.path("locks", "locks.json")) as file:
            return json.load(file)

    def set_locks(self, **members):
        os.makedirs(self.path("locks"), exist_ok=True)
        self.write("locks/locks.json", json.dumps(dict({"version": 2}, **members)), 0o666)

    def only(self, said, event):
        return [row for row in said if row["event"] == event]

    def test_a_free_core_is_taken_and_given_back(self):
        said = self.finish(self.cores_job("a"))
        held = self.only(said, "held")[0]
        self.assertEqual((held["logical"], held["physical"]), ([0], [0, 1]))
        self.assertEqual(held["variables"]["NEURON_RT_VISIBLE_CORES"], "0")
        self.assertEqual(held["variables"]["NEURON_LOGICAL_NC_CONFIG"], "2")
        self.assertEqual(held["variables"]["NEURON_RT_RESET_CORES"], "1")
        self.assertEqual(self.only(said, "phase"), [])          # it did not have to wait
        self.assertEqual(self.locks()["physical_neuron_cores_lock_timeout"], {})
        self.assertEqual(os.stat(self.path("locks")).st_mode & 0o7777, 0o1777)
        for name in ("atomic_lock", "locks.json", "infra_version.json"):
            self.assertEqual(os.stat(self.path("locks", name)).st_mode & 0o777, 0o666)
        with open(self.path("locks", "infra_version.json")) as file:
            self.assertEqual(json.load(file), {"minClientLockingVersion": 2})

    def test_a_lock_is_seen_by_others_while_it_is_held(self):
        job = self.cores_job("a", seconds=6.0)  # each question takes a second on a slow machine
        self.call("start", job)
        wait_for(lambda: self.entries(), "the core")
        held = self.locks()["physical_neuron_cores_lock_timeout"]
        self.assertEqual(sorted(held), ["0", "1"])
        self.assertTrue(50 <= held["0"] - time.time() <= 61)
        self.assertEqual(self.call("jobs")[0]["core"], "0")
        self.follow(job)

    def test_four_at_once_get_the_core_one_after_another(self):
        jobs = [self.cores_job("job%d" % number, seconds=0.3) for number in range(4)]
        for job in jobs:
            self.call("start", job)
        said = [self.follow(job) for job in jobs]
        self.assertTrue(all(rows[-2]["event"] == "result" for rows in said))
        rows = self.entries()
        self.assertEqual(len(rows), 8)
        for took, gave in zip(rows[::2], rows[1::2]):
            self.assertEqual(took.split()[0], gave.split()[0], rows)
            self.assertEqual((took.split()[1], gave.split()[1]), ("+", "-"))

    def test_they_get_it_in_the_order_they_came(self):
        self.set_locks(physical_neuron_cores_lock_timeout={"0": time.time() + 1000,
                                                           "1": time.time() + 1000})
        jobs = []
        for number in range(3):
            jobs.append(self.cores_job("job%d" % number, seconds=0.1))
            self.call("start", jobs[-1])
            wait_for(lambda: len(self.locks().get("queue", [])) == number + 1, "its place")
        with open(self.path("locks", "atomic_lock")) as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            self.set_locks(queue=self.locks()["queue"])
        for job in jobs:
            said = self.follow(job)
            self.assertEqual({row["name"] for row in self.only(said, "phase")}, {"wait"})
        self.assertEqual([row.split()[0] for row in self.entries()[::2]], ["job0", "job1", "job2"])

    def test_a_holder_that_crashed_is_forgotten_when_its_lock_expires(self):
        self.env.update(HONE_TEST_HOLD_S="8")
        first = self.cores_job("a", crash=True)
        self.call("start", first)
        wait_for(lambda: self.entries(), "the core")
        wait_for(lambda: not common.is_running(self.state(first)["pid"]), "its end")
        said = self.finish(self.cores_job("b"))
        self.assertEqual([row.split()[:2] for row in self.entries()],
                         [["a", "+"], ["b", "+"], ["b", "-"]])
        self.assertIn("wait", [row["name"] for row in self.only(said, "phase")])

    def test_who_finds_that_a_holder_crashed_gives_its_cores_back(self):
        for number, look in enumerate(("follow", "cancel")):
            job = self.cores_job("job%d" % number, crash=True)
            self.call("start", job)
            wait_for(lambda: len(self.entries()) == number + 1, "the core")
            wait_for(lambda: not common.is_running(self.state(job)["pid"]), "its end")
            self.assertEqual(sorted(self.locks()["physical_neuron_cores_lock_timeout"]), ["0", "1"])
            self.call(*(look, job, "0")[:3 if look == "follow" else 2])
            self.assertEqual(self.locks()["physical_neuron_cores_lock_timeout"], {})

    def test_who_finds_that_one_who_waited_was_killed_gives_up_its_place(self):
        self.set_locks(physical_neuron_cores_lock_timeout={"0": int(time.time()) + 1000})
        job = self.cores_job("a")
        self.call("start", job)
        wait_for(lambda: self.locks().get("queue"), "its place")
        os.kill(self.state(job)["pid"], signal.SIGKILL)
        self.assertEqual(self.follow(job)[-1]["event"], "gone")
        self.assertNotIn("queue", self.locks())

    # ------------------------------------------------------------------- longer than one lock

    SHORT = {"HONE_TEST_HOLD_S": "8", "HONE_TEST_LEAVE_S": "1", "HONE_TEST_RENEW_S": "6",
             "HONE_TEST_BEAT_S": "1", "HONE_TEST_LEAST_S": "0.1"}

    def pieces_job(self, name, pieces=1, **more):
        """Each piece lasts until the file `go` is there."""
        argv = ["/bin/sh", "-c", "until [ -e %s ]; do sleep 0.1; done" % self.path("go")]
        step = dict({"do": "pieces", "pieces": pieces, "argv": argv, "diary": self.diary,
                     "who": name}, **more)
        return self.job(name, settings=self.settings, steps=[step])

    def expiry(self):
        return self.locks()["physical_neuron_cores_lock_timeout"].get("0", 0)

    def test_work_on_a_core_keeps_it_while_nobody_waits(self):
        self.env.update(self.SHORT)
        job = self.pieces_job("a", pieces=2)
        self.call("start", job)
        wait_for(lambda: self.entries(), "the core")
        first = self.expiry()
        wait_for(lambda: self.expiry() > first + 3, "a longer lock")
        self.write("go", "")
        said = self.follow(job)
        self.assertEqual(said[-2]["event"], "result")
        self.assertNotIn("failure", said[-2])
        self.assertEqual([row.split()[1] for row in self.entries()], ["+", "-", "+", "-"])

    def test_work_on_a_core_is_ended_with_its_lock_when_somebody_waits(self):
        self.env.update(self.SHORT)
        first = self.pieces_job("a")
        self.call("start", first)
        wait_for(lambda: self.entries(), "the core")
        second = self.cores_job("b", seconds=0.2)
        self.finish(second)
        self.write("go", "")
        said = self.follow(first)
        self.assertNotIn("failure", said[-2])
        self.assertEqual([row.split()[:2] for row in self.entries()],
                         [["a", "+"], ["b", "+"], ["b", "-"], ["a", "+"], ["a", "-"]])
        self.assertIn("repeating it", " ".join(row["text"] for row in self.only(said, "log")))
        self.assertGreater(self.only(said, "held")[0]["waited"], 0)

    def test_work_on_a_core_is_ended_with_its_lock_when_the_host_drains(self):
        self.env.update(self.SHORT)
        job = self.pieces_job("a")
        self.call("start", job)
        wait_for(lambda: self.entries(), "the core")
        with open(self.path("locks", "atomic_lock")) as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            self.write("locks/locks.json", json.dumps(dict(
                self.locks(), draining_enabled_with_timeout=int(time.time()) + 500)), 0o666)
        wait_for(lambda: self.locks().get("queue"), "its place")
        self.assertEqual(self.locks()["physical_neuron_cores_lock_timeout"], {})
        self.write("go", "")
        with open(self.path("locks", "atomic_lock")) as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            state = self.locks()
            del state["draining_enabled_with_timeout"]
            self.write("locks/locks.json", json.dumps(state), 0o666)
        self.assertNotIn("failure", self.follow(job)[-2])
        self.assertEqual([row.split()[1] for row in self.entries()], ["+", "+", "-"])

    def test_what_takes_longer_than_a_lock_twice_is_said(self):
        class Taker:
            events = types.SimpleNamespace(log=lambda *words: None)
            context = types.SimpleNamespace(events=events)

        def never():
            raise hold.TimeUp("sleep was ended after 56.0 s")
        with self.assertRaises(hold.TimeUp) as raised:
            hold.Held(Taker, 2).piece(never)
        self.assertIn("longer than the 60 s of a lock", str(raised.exception))

    def test_a_lock_that_another_took_makes_the_measurement_void(self):
        job = self.cores_job("a", seconds=3)
        self.call("start", job)
        wait_for(lambda: self.entries(), "the core")
        self.set_locks(physical_neuron_cores_lock_timeout={"0": int(time.time()) + 500})
        result = self.follow(job)[-2]
        self.assertIn("another program took the lock", result["failure"]["text"])
        self.assertEqual(sorted(self.locks()["physical_neuron_cores_lock_timeout"]), ["0"])

    def test_cancel_gives_the_core_back_and_leaves_the_queue(self):
        first = self.cores_job("a", seconds=100)
        self.call("start", first)
        wait_for(lambda: self.entries(), "the core")
        second = self.cores_job("b")
        self.call("start", second)
        wait_for(lambda: self.locks().get("queue"), "its place")
        self.call("cancel", second)
        self.assertNotIn("queue", self.locks())
        self.call("cancel", first)
        self.assertEqual(self.locks()["physical_neuron_cores_lock_timeout"], {})

    def test_a_drained_host_is_waited_for(self):
        self.set_locks(draining_enabled_with_timeout=int(time.time()) + 4)
        said = self.finish(self.cores_job("a"))
        self.assertIn("drained", self.only(said, "log")[0]["text"])
        self.assertEqual(len(self.only(said, "held")), 1)

    def test_waiting_has_a_limit_and_says_who_holds_the_core(self):
        left = common.subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        self.addCleanup(left.wait)
        self.addCleanup(left.send_signal, signal.SIGKILL)
        self.neuron_ls(cores=1, processes=[{"pid": left.pid, "command": "python train\x1b[2J.py",
                                            "neuron_runtime_version": "2.35"}])
        said = self.finish(self.cores_job("a", settings={"wait_limit_s": "1"}))
        text = said[-1]["failure"]["text"]
        self.assertIn("pid %d" % left.pid, text)
        self.assertIn("train\\x1b[2J.py", text)
        self.assertEqual(said[-1]["failure"]["kind"], "environment")
        self.assertIsNone(left.poll())                          # nobody is ended for a core
        self.assertNotIn("queue", self.locks())

    def test_cores_that_a_process_named_are_passed_over_and_others_taken(self):
        left = common.subprocess.Popen(["/bin/sleep", "300"],
                                       env={"NEURON_RT_VISIBLE_CORES": "0-1"})
        self.addCleanup(left.wait)
        self.addCleanup(left.send_signal, signal.SIGKILL)
        self.neuron_ls(cores=4, processes=[{"pid": left.pid, "command": "sleep"}])
        said = self.finish(self.cores_job("a"))
        self.assertIn(self.only(said, "held")[0]["logical"], ([2], [3]))

    def test_several_cores_are_aligned_and_the_setting_is_kept(self):
        self.neuron_ls(devices=2, cores=4)
        said = self.finish(self.cores_job("a", count=2, settings={"cores": "1-5"}))
        held = self.only(said, "held")[0]
        self.assertIn((held["logical"], held["physical"]),
                      (([2, 3], [4, 5, 6, 7]), ([4, 5], [8, 9, 10, 11])))
        said = self.finish(self.cores_job("b", settings={"cores": "7", "lnc": "1"}))
        self.assertEqual(self.only(said, "held")[0]["physical"], [7])

    def test_cores_that_the_host_does_not_have_are_refused_at_once(self):
        self.neuron_ls(devices=2, cores=4)
        for number, (text, part) in enumerate((
                ("x", "is not a list of cores"), (",", "is not a list of cores"),
                ("-1", "is not a list"),
                ("9", "names core 9"), ("40-44", "names core 40-44"), ("6-9", "names core 8-9"),
                ("0,8,9999", "names core 8,9999"), ("5-2", "has 5-2, which runs backwards"),
                ("0-3,2-4", "names core 2-3 twice"), ("99999", "is not a list"))):
            said = self.finish(self.cores_job("a%d" % number, settings={"cores": text}))
            failure = said[-1]["failure"]
            self.assertEqual((failure["kind"], self.only(said, "phase")), ("usage", []), text)
            self.assertIn("cores = %s %s" % (text, part), failure["text"])
            self.assertIn("this host has the logical cores 0-7", failure["text"])

    def test_cores_among_which_there_is_no_place_are_refused_at_once(self):
        self.neuron_ls(devices=2, cores=4)
        for number, (text, count) in enumerate((("1-2", 2), ("0-2,5-7", 4), ("", 16))):
            said = self.finish(self.cores_job("a%d" % number, count, settings={"cores": text}))
            self.assertEqual(said[-1]["failure"]["kind"], "usage", text)
            self.assertIn("%d cores side by side" % count, said[-1]["failure"]["text"])

    def test_a_lock_of_an_unknown_kind_is_refused(self):
        said = self.finish(self.cores_job("a", settings={"lock": "mine"}))
        self.assertEqual(said[-1]["failure"]["kind"], "usage")

    def test_without_the_lock_nothing_is_written_there(self):
        said = self.finish(self.cores_job("a", settings={"lock": "none"}))
        self.assertEqual(self.only(said, "held")[0]["logical"], [0])
        self.assertFalse(os.path.exists(self.path("locks")))

    def test_a_host_of_any_version_known_is_worked_on_and_a_newer_one_refused(self):
        for version in (2, 3, 4, 5, 6):
            text = '{"minClientLockingVersion": %d}' % version
            self.write("locks/infra_version.json", text)
            said = self.finish(self.cores_job("a%d" % version))
            self.assertEqual(len(self.only(said, "held")), 1 if version < 6 else 0)
            with open(self.path("locks/infra_version.json")) as file:
                self.assertEqual(file.read(), text)
        self.assertIn("version 6", said[-1]["failure"]["text"])

    def test_a_host_without_devices_says_so(self):
        self.write("tools/neuron-ls", "#!/bin/sh\necho 'no neuron device found' >&2; exit 1\n",
                   0o755)
        said = self.finish(self.cores_job("a"))
        self.assertIn("no NeuronCore", said[-1]["failure"]["text"])
        self.assertIn("no neuron device found", said[-1]["failure"]["text"])


if __name__ == "__main__":
    unittest.main()
