# SPDX-License-Identifier: Apache-2.0
"""The core lock: one holder at a time, first come first served, and nobody's crash holds it for
long."""

import fcntl
import json
import os
import signal
import sys
import time
import unittest

import common
from common import wait_for
from hone_runner import lock


class Rules(unittest.TestCase):
    """What follows from a state alone."""

    def state(self, **members):
        return lock.State(members)

    def entry(self, name, count, **more):
        return dict({"entry_id": name, "request_cores": count, "enqueued_ts": 1,
                     "last_seen_ts": 100,
                     "ready": True}, **more)

    def share(self, state, now=100, total=8, fits=lambda row, block: True):
        state.tidy(now)
        state.share_out(now, total, fits)
        return {row["entry_id"]: lock.blocks_of(row) for row in state.queue}

    def test_blocks_are_aligned_and_side_by_side(self):
        state = self.state(physical_neuron_cores_lock_timeout={"1": 200, "4": 200},
                           queue=[self.entry("a", 2), self.entry("b", 2)])
        self.assertEqual(self.share(state), {"a": [2, 3], "b": [6, 7]})

    def test_one_that_finds_none_holds_up_those_behind_it(self):
        state = self.state(physical_neuron_cores_lock_timeout={"1": 200, "5": 200},
                           queue=[self.entry("wide", 4), self.entry("narrow", 2)])
        self.assertEqual(self.share(state), {"wide": [], "narrow": []})

    def test_one_that_is_not_ready_holds_up_nobody(self):
        state = self.state(queue=[self.entry("a", 8, ready=False), self.entry("b", 2)])
        self.assertEqual(self.share(state), {"a": [], "b": [0, 1]})

    def test_locks_that_expired_are_free(self):
        state = self.state(physical_neuron_cores_lock_timeout={"0": 99, "1": 101},
                           queue=[self.entry("a", 1)])
        self.assertEqual(self.share(state), {"a": [0]})
        self.assertEqual(state.held, {1: 101})

    def test_one_that_was_not_seen_for_long_is_forgotten(self):
        state = self.state(queue=[self.entry("a", 2, last_seen_ts=30), self.entry("b", 2)])
        self.assertEqual(self.share(state), {"b": [0, 1]})

    def test_a_block_that_is_not_taken_in_time_is_given_again(self):
        state = self.state(queue=[self.entry("a", 8, reserved_cores=list(range(8)),
                                             commit_deadline_ts=99, last_seen_ts=95)])
        self.assertEqual(self.share(state), {"a": list(range(8))})
        self.assertEqual(state.queue[0]["commit_deadline_ts"], 100 + lock.COMMIT_S)

    def test_blocks_of_others_are_left_alone_in_either_spelling(self):
        state = self.state(queue=[self.entry("a", 2, reserved_cores=[0, 1]),
                                  self.entry("b", 2, reserved_region=[2, 3]), self.entry("c", 2)])
        self.assertEqual(self.share(state)["c"], [4, 5])

    def test_nothing_is_given_while_the_host_is_drained(self):
        state = self.state(queue=[self.entry("a", 2)], draining_enabled_with_timeout=200)
        self.assertEqual(self.share(state), {"a": []})
        self.assertEqual(self.share(state, now=201 - 60), {"a": []})

    def test_members_that_are_not_known_survive(self):
        state = self.state(version=2, last_lnc_config_per_core={"0": 2}, other=[1])
        row = json.loads(state.text())
        self.assertEqual((row["last_lnc_config_per_core"], row["other"], row["version"]),
                         ({"0": 2}, [1], 2))

    def test_nonsense_is_an_empty_state(self):
        for data in (None, [], "x", {"queue": 7, "physical_neuron_cores_lock_timeout": [1]},
                     {"queue": [None, 3, {"entry_id": 4}],
                      "physical_neuron_cores_lock_timeout": {"a": 1, "-1": 2, "3": "x"}}):
            state = lock.State(data)
            state.tidy(100)
            self.assertEqual((state.held, state.queue), ({}, []))


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
        self.assertEqual(os.stat(self.path("locks")).st_mode & 0o7777, 0o777)
        for name in ("atomic_lock", "locks.json", "infra_version.json"):
            self.assertEqual(os.stat(self.path("locks", name)).st_mode & 0o777, 0o666)
        with open(self.path("locks", "infra_version.json")) as file:
            self.assertEqual(json.load(file), {"minClientLockingVersion": 2})

    def test_a_lock_is_seen_by_others_while_it_is_held(self):
        job = self.cores_job("a", seconds=1.0)
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
        waited = [row for rows in said for row in rows if row["event"] == "phase"]
        self.assertEqual({row["name"] for row in waited}, {"wait"})

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
            self.follow(job)
        self.assertEqual([row.split()[0] for row in self.entries()[::2]], ["job0", "job1", "job2"])

    def test_a_holder_that_crashed_is_forgotten_when_its_lock_expires(self):
        self.env.update(HONE_TEST_HOLD_S="3", HONE_TEST_RENEW_S="2")
        first = self.cores_job("a", crash=True)
        self.call("start", first)
        wait_for(lambda: self.entries(), "the core")
        self.assertEqual(self.follow(first)[-1]["event"], "gone")
        said = self.finish(self.cores_job("b"))
        self.assertEqual([row.split()[:2] for row in self.entries()],
                         [["a", "+"], ["b", "+"], ["b", "-"]])
        self.assertIn("wait", [row["name"] for row in self.only(said, "phase")])

    def test_a_holder_that_lives_keeps_its_lock(self):
        self.env.update(HONE_TEST_HOLD_S="3", HONE_TEST_RENEW_S="2", HONE_TEST_BEAT_S="1")
        first = self.cores_job("a", seconds=5)
        self.call("start", first)
        wait_for(lambda: self.entries(), "the core")
        before = self.locks()["physical_neuron_cores_lock_timeout"]["0"]
        said = self.finish(self.cores_job("b"))
        self.assertEqual([row.split()[0] for row in self.entries()], ["a", "a", "b", "b"])
        self.assertGreater(int(time.time()), before)
        self.assertEqual(self.follow(first)[-2]["event"], "result")
        self.assertIn("locked by hone:", " ".join(row["text"] for row in self.only(said, "log")))

    def test_a_lock_that_another_took_makes_the_measurement_void(self):
        self.env.update(HONE_TEST_HOLD_S="9", HONE_TEST_RENEW_S="8", HONE_TEST_BEAT_S="1")
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
        self.assertEqual(self.only(said, "held")[0]["logical"], [2])

    def test_several_cores_are_aligned_and_the_setting_is_kept(self):
        self.neuron_ls(devices=2, cores=4)
        said = self.finish(self.cores_job("a", count=2, settings={"cores": "1-5"}))
        self.assertEqual(self.only(said, "held")[0]["logical"], [2, 3])
        self.assertEqual(self.only(said, "held")[0]["physical"], [4, 5, 6, 7])
        said = self.finish(self.cores_job("b", settings={"cores": "7", "lnc": "1"}))
        self.assertEqual(self.only(said, "held")[0]["physical"], [7])

    def test_cores_that_the_host_does_not_have_are_refused_at_once(self):
        self.neuron_ls(devices=2, cores=4)
        for number, (text, part) in enumerate((
                ("x", "is no list of cores"), (",", "is no list of cores"), ("-1", "is no list"),
                ("9", "names core 9"), ("40-44", "names core 40-44"), ("6-9", "names core 8-9"),
                ("0,8,9999", "names core 8,9999"), ("5-2", "has 5-2, which runs backwards"),
                ("0-3,2-4", "names core 2-3 twice"), ("99999", "is no list"))):
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

    def test_a_newer_version_of_the_scheme_is_refused(self):
        self.write("locks/infra_version.json", '{"minClientLockingVersion": 3}')
        said = self.finish(self.cores_job("a"))
        self.assertIn("version 3", said[-1]["failure"]["text"])

    def test_a_torn_file_heals_and_a_link_is_refused(self):
        self.write("locks/locks.json", '{"version": 2, "que')
        said = self.finish(self.cores_job("a"))
        self.assertEqual(len(self.only(said, "held")), 1)
        os.unlink(self.path("locks/locks.json"))
        self.write("precious", "mine")
        os.symlink(self.path("precious"), self.path("locks/locks.json"))
        said = self.finish(self.cores_job("b"))
        self.assertIn("core lock", said[-1]["failure"]["text"])
        with open(self.path("precious")) as file:
            self.assertEqual(file.read(), "mine")

    def test_a_host_without_devices_says_so(self):
        self.write("tools/neuron-ls", "#!/bin/sh\necho 'no neuron device found' >&2; exit 1\n",
                   0o755)
        said = self.finish(self.cores_job("a"))
        self.assertIn("no NeuronCore", said[-1]["failure"]["text"])
        self.assertIn("no neuron device found", said[-1]["failure"]["text"])


if __name__ == "__main__":
    unittest.main()
