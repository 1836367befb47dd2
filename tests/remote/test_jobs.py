# SPDX-License-Identifier: Apache-2.0
"""Jobs: started once, detached, ended as a whole, cancelled exactly, swept with care."""

import json
import os
import signal
import sys
import time
import unittest

import common
from common import wait_for

SLEEPER = [sys.executable, "-c", "import time; time.sleep(300)"]
STUBBORN = [sys.executable, "-c", "import signal, time\nsignal.signal(15, signal.SIG_IGN)\n"
            "print('deaf', flush=True)\ntime.sleep(300)"]


class Starting(common.HostCase):
    def test_a_job_runs_and_says_its_result_last(self):
        said = self.finish(self.job("a", steps=[{"do": "lines", "count": 3}], answer=4.5))
        self.assertEqual([row["event"] for row in said], ["log"] * 3 + ["result"])
        self.assertEqual(said[-1]["latency_us"], 4.5)
        state = self.state(".hone/jobs/a")
        self.assertEqual(state["state"], "ended")
        self.assertFalse(os.path.exists(self.path(".hone/jobs/a/work")))

    def test_start_returns_with_the_job_recorded_and_nothing_of_the_connection_held(self):
        job = self.job("a", steps=[{"do": "stage", "argv": SLEEPER}])
        started = self.call("start", job)[0]        # communicate() ends: nobody holds its output
        self.assertFalse(started["already"])
        state = self.state(job)
        self.assertEqual((state["state"], state["pid"]), ("running", started["pid"]))
        self.assertNotEqual(os.getsid(started["pid"]), os.getsid(0))
        self.assertEqual(os.getpgid(started["pid"]), started["pid"])
        for number in (0, 1, 2):
            target = os.readlink("/proc/%d/fd/%d" % (started["pid"], number))
            self.assertTrue(target == "/dev/null" or target.startswith(self.home), target)

    def test_a_job_survives_the_hang_up_of_its_session(self):
        job = self.job("a", steps=[{"do": "sleep", "seconds": 1}])
        shell = self.spawn("start", job, start_new_session=True)
        shell.communicate()
        pid = self.state(job)["pid"]
        os.kill(pid, signal.SIGHUP)
        said = self.follow(job)
        self.assertEqual(said[-1]["event"], "end")
        self.assertEqual(said[-2]["event"], "result")

    def test_a_second_start_starts_nothing(self):
        job = self.job("a", steps=[{"do": "sleep", "seconds": 1}])
        first = self.call("start", job)[0]
        second = self.call("start", job)[0]
        self.assertEqual((second["already"], second["pid"]), (True, first["pid"]))
        self.follow(job)
        third = self.call("start", job)[0]
        self.assertEqual((third["already"], third["state"]), (True, "ended"))

    def test_of_two_starts_at_once_one_starts(self):
        for number in range(5):
            job = self.job("a%d" % number, steps=[{"do": "lines", "count": 1}])
            both = [self.spawn("start", job) for _ in range(4)]
            rows = [common.events_of(one.communicate()[0])[0] for one in both]
            self.assertEqual([row["event"] for row in rows], ["started"] * 4)
            self.assertEqual(sum(not row["already"] for row in rows), 1)
            self.assertEqual(len({row["pid"] for row in rows}), 1)
            said = self.follow(job)
            self.assertEqual([row["event"] for row in said], ["follow", "log", "result", "end"])

    def test_a_recycled_process_id_is_not_taken_for_the_job(self):
        job = self.job("a", steps=[{"do": "lines", "count": 1}])
        other = self.spawn("follow", self.job("b", steps=[]), "0")
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        from hone_runner import process
        state = dict(process.identity(os.getpid()), state="running", pgid=os.getpid())
        state["ticks"] -= 1
        self.write(job + "/state.json", json.dumps(state))
        self.assertEqual(self.call("cancel", job)[0]["was"], "gone")
        self.assertEqual(self.call("jobs")[0]["state"], "cancelled")    # and this test still runs

    def test_a_job_that_cannot_be_read_is_refused(self):
        job = self.job("a")
        self.write(job + "/job.json", "no json")
        rows = self.call("start", job, status=2)
        self.assertEqual((rows[0]["event"], rows[0]["kind"]), ("error", "usage"))

    def test_a_protocol_or_kind_that_is_not_known_is_a_result(self):
        for members in ({"protocol": 2}, {"kind": "dance"}):
            said = self.finish(self.job("a%d" % len(str(members)), **members))
            self.assertEqual(said[-1]["failure"]["kind"], "usage")

    def test_paths_outside_of_the_jobs_are_refused(self):
        self.job("a")
        os.symlink(self.path(".hone/jobs/a"), self.path(".hone/jobs/link"))
        os.makedirs(self.path("jobs/b"))
        for path in ("../x", "jobs/b", "/etc", ".hone/jobs/../..", ".hone/jobs/.",
                     ".hone/jobs/link",
                     ".hone/jobs/none"):
            for command in ("start", "cancel", "run"):
                rows = self.call(command, path, status=None)
                self.assertEqual([row["event"] for row in rows], ["error"], (command, path))

    def test_a_runner_that_fails_says_where(self):
        said = self.finish(self.job("a", steps=[{"do": "raise", "what": "bug"}]))
        failure = said[-1]["failure"]
        self.assertEqual(failure["kind"], "environment")
        self.assertIn("KeyError", failure["text"])
        self.assertIn("runner.err", failure["text"])
        said = self.finish(self.job("b", steps=[{"do": "raise", "what": "disk"}]))
        self.assertIn("free space", said[-1]["failure"]["text"])

    def test_wrong_command_lines_are_answered(self):
        for words in ((), ("dance",), ("start",), ("follow", "x"), ("follow", "x", "-1"),
                      ("probe", "--settings"), ("probe", "--settings", "[]"), ("sweep", "soon")):
            self.call(*words, status=2)


class FullDisk(common.HostCase):
    """On a small file system of its own, which only root can mount."""

    def setUp(self):
        super().setUp()
        base = self.path(".hone")
        done = common.subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", base],
                                     stderr=common.subprocess.DEVNULL)
        if done.returncode:
            self.skipTest("a file system cannot be mounted here")
        self.addCleanup(common.subprocess.run, ["umount", "-l", base])
        os.makedirs(self.path(".hone", "jobs"))

    def test_a_full_disk_is_a_result_that_says_so(self):
        said = self.finish(self.job("a", steps=[
            {"do": "stage", "argv": ["/usr/bin/head", "-c", "20000000", "/dev/zero"]},
            {"do": "lines", "count": 100000}]))
        failure = said[-1]["failure"]
        self.assertEqual(failure["kind"], "environment")
        self.assertIn("No space left on device; free space", failure["text"])
        self.assertEqual(self.state(".hone/jobs/a")["state"], "ended")

    def test_a_disk_that_is_full_from_the_start_refuses_the_job(self):
        job = self.job("a", steps=[])
        with open(self.path(".hone", "filler"), "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while True:
                    file.write(b"x" * 4096)
        rows = self.call("start", job, status=3)
        self.assertEqual(rows[0]["event"], "error")
        self.assertIn("No space left", rows[0]["text"])


class Killing(common.HostCase):
    def setUp(self):
        super().setUp()
        self.env["HONE_TEST_GRACE_S"] = "0.5"

    def running(self, name, argv=None):
        """A job in its stage: (job, state)."""
        job = self.job(name, steps=[{"do": "stage", "argv": argv or SLEEPER}])
        self.call("start", job)
        wait_for(lambda: "stage" in self.state(job), "the stage")
        return job, self.state(job)

    def test_cancel_ends_the_job_and_its_stage_and_says_so(self):
        job, state = self.running("a")
        row = self.call("cancel", job)[0]
        self.assertEqual((row["event"], row["was"]), ("cancelled", "running"))
        wait_for(lambda: not common.is_running(state["pid"]), "its end")
        wait_for(lambda: not common.is_running(state["stage"]["pid"]), "its end")
        said = self.follow(job)
        self.assertEqual([row["event"] for row in said[-2:]], ["result", "end"])
        self.assertEqual(said[-2]["failure"]["kind"], "cancelled")
        self.assertEqual(self.state(job)["state"], "cancelled")

    def test_cancel_ends_a_stage_that_does_not_listen(self):
        job, state = self.running("a", STUBBORN)
        raw = self.path(job, "raw", "tool.out")
        wait_for(lambda: os.path.getsize(raw), "its word")
        self.call("cancel", job)
        wait_for(lambda: not common.is_running(state["stage"]["pid"]), "its end")

    def test_cancel_leaves_other_jobs_alone(self):
        first, state = self.running("a")
        second, other = self.running("b")
        self.call("cancel", first)
        self.assertTrue(common.is_running(other["pid"]))
        self.assertTrue(common.is_running(other["stage"]["pid"]))
        self.call("cancel", second)

    def test_cancel_of_a_hanging_runner_kills_it_with_all_it_started(self):
        job, state = self.running("a")
        os.kill(state["pid"], signal.SIGSTOP)
        self.call("cancel", job)
        wait_for(lambda: not common.is_running(state["pid"]), "its end")
        wait_for(lambda: not common.is_running(state["stage"]["pid"]), "its end")
        self.assertEqual(self.state(job)["state"], "cancelled")

    def test_a_job_cancelled_before_its_start_never_starts(self):
        job = self.job("a", steps=[])
        self.assertEqual(self.call("cancel", job)[0]["was"], "new")
        row = self.call("start", job)[0]
        self.assertEqual((row["already"], row["state"]), (True, "cancelled"))

    def test_cancelling_twice_does_no_harm(self):
        job, _ = self.running("a")
        self.call("cancel", job)
        self.assertEqual(self.call("cancel", job)[0]["was"], "cancelled")

    def test_cancel_after_the_end_changes_nothing(self):
        job = self.job("a", steps=[])
        self.finish(job)
        self.assertEqual(self.call("cancel", job)[0]["was"], "ended")
        self.assertEqual(self.state(job)["state"], "ended")

    def test_a_killed_runner_takes_its_stage_along_and_is_gone(self):
        job, state = self.running("a", ["/bin/sh", "-c", "setsid sleep 300 & exec sleep 300"])
        from hone_runner import process
        folder = os.path.realpath(self.path(job))
        wait_for(lambda: len(process.marked(folder)) >= 2, "both sleepers")
        os.kill(state["pid"], signal.SIGKILL)
        said = self.follow(job)
        self.assertEqual(said[-1]["event"], "gone")
        self.assertIn("killed", said[-1]["text"])
        self.assertEqual(process.marked(folder), [])

    def test_a_job_that_said_its_result_has_ended_whatever_its_state_says(self):
        job = self.job("a", steps=[{"do": "lines", "count": 1}])
        self.finish(job)
        self.write(job + "/state.json", json.dumps(dict(self.state(job), state="running")))
        self.assertEqual(self.follow(job)[-1]["event"], "end")
        self.assertTrue(self.call("start", job)[0]["already"])

    def test_a_job_that_is_gone_can_begin_anew_and_says_so(self):
        job, state = self.running("a")
        os.kill(state["pid"], signal.SIGKILL)
        wait_for(lambda: not common.is_running(state["pid"]), "its end")
        with open(self.path(job, "events.ndjson"), "ab") as file:
            file.write(b'@hone {"event":"log","te')
        with open(self.path(job, "job.json")) as file:
            members = json.load(file)
        self.write(job + "/job.json", json.dumps(dict(members, steps=[])))
        self.assertFalse(self.call("start", job)[0]["already"])
        said = self.follow(job)
        self.assertEqual([row["event"] for row in said if row["event"] != "log"],
                         ["follow", "restart", "result", "end"])


class Foreground(common.HostCase):
    def test_run_is_the_same_in_the_foreground(self):
        job = self.job("a", steps=[{"do": "lines", "count": 2}])
        child = self.spawn("run", job)
        out, _ = child.communicate()
        self.assertEqual(child.returncode, 0)
        self.assertEqual([row["event"] for row in common.events_of(out)], ["started"])
        self.assertEqual([row["event"] for row in self.follow(job)],
                         ["follow", "log", "log", "result", "end"])

    def test_run_of_a_job_that_ended_does_nothing(self):
        job = self.job("a", steps=[])
        self.call("run", job)
        self.assertTrue(self.call("run", job)[0]["already"])

    def test_a_job_that_a_scheduler_stops_may_run_again(self):
        job = self.job("a", steps=[{"do": "stage", "argv": SLEEPER}])
        child = self.spawn("run", job)
        wait_for(lambda: os.path.exists(self.path(job, "state.json"))
                 and "stage" in self.state(job), "the stage")
        child.send_signal(signal.SIGTERM)
        child.communicate()
        self.assertEqual(self.state(job)["state"], "interrupted")
        said = self.follow(job)
        self.assertEqual(said[-1]["event"], "gone")
        self.assertIn("told to stop", said[-1]["text"])
        with open(self.path(job, "job.json")) as file:
            members = json.load(file)
        self.write(job + "/job.json", json.dumps(dict(members, steps=[])))
        self.assertFalse(self.call("run", job)[0]["already"])
        self.assertIn("restart", [row["event"] for row in self.follow(job)])

    def test_a_signal_to_all_at_once_is_not_laid_to_the_tool(self):
        job = self.job("a", steps=[{"do": "stage", "argv": SLEEPER}])
        child = self.spawn("run", job)
        wait_for(lambda: os.path.exists(self.path(job, "state.json"))
                 and "stage" in self.state(job), "the stage")
        os.kill(self.state(job)["stage"]["pid"], signal.SIGTERM)
        os.kill(self.state(job)["pid"], signal.SIGTERM)
        child.communicate()
        self.assertEqual(self.state(job)["state"], "interrupted")
        self.assertEqual(self.follow(job)[-1]["event"], "gone")

    def test_a_job_of_a_node_that_died_runs_again_elsewhere(self):
        job = self.job("a", steps=[])
        self.write(job + "/state.json", json.dumps(
            {"state": "running", "pid": 4242, "ticks": 1, "boot": "x", "host": "another-node"}))
        self.write(job + "/beat", "1\n")
        row = self.call("start", job)[0]
        self.assertEqual((row["already"], row["state"]), (True, "elsewhere"))
        self.assertEqual(self.call("cancel", job, status=3)[0]["event"], "error")
        old = time.time() - 1000
        os.utime(self.path(job, "beat"), (old, old))
        self.assertFalse(self.call("start", job)[0]["already"])


class Keeping(common.HostCase):
    def test_jobs_lists_what_is_ours(self):
        self.finish(self.job("a", steps=[], kernel_path="rms\x1b[2Jnorm.py"))
        self.job("b")
        os.symlink("/etc", self.path(".hone/jobs/c"))
        self.write(".hone/jobs/file", "x")
        rows = self.call("jobs")
        self.assertEqual([(row["id"], row["state"]) for row in rows],
                         [("a", "ended"), ("b", "new")])
        self.assertEqual(rows[0]["kernel"], "rms\\x1b[2Jnorm.py")

    def age(self, *paths):
        old = time.time() - 40 * 86400
        for path in paths:
            for folder, _, files in os.walk(path):
                for name in files:
                    os.utime(os.path.join(folder, name), (old, old), follow_symlinks=False)
            os.utime(path, (old, old), follow_symlinks=False)

    def old_job(self, name, **state):
        job = self.job(name, steps=[])
        members = {"state": "ended", "pid": 4242, "ticks": 1, "host": os.uname().nodename,
                   "ended": time.time() - 40 * 86400}
        members.update(state)
        self.write(job + "/state.json", json.dumps(members))
        self.age(self.path(job))
        return job

    def test_sweep_deletes_old_jobs_and_nothing_else(self):
        self.old_job("old")
        self.finish(self.job("young", steps=[]))
        running = self.job("running", steps=[{"do": "stage", "argv": SLEEPER}])
        self.call("start", running)
        self.age(self.path(running))
        self.old_job("far", state="running", host="another-node")
        self.write(".hone/jobs/far/beat", "5")
        self.write("outside/precious", "x")
        os.symlink(self.path("outside"), self.path(".hone/jobs/link"))
        os.makedirs(self.path(".hone/jobs/notours"))
        self.write(".hone/jobs/notours/thesis.tex", "x")
        self.age(self.path(".hone/jobs/notours"), self.path("outside"))
        row = self.call("sweep", "30")[0]
        self.assertEqual((row["event"], row["jobs"]), ("swept", 1))
        self.assertGreater(row["bytes"], 0)
        left = set(os.listdir(self.path(".hone/jobs")))
        self.assertEqual(left, {"young", "running", "far", "link", "notours"})
        self.assertTrue(os.path.exists(self.path("outside/precious")))
        self.assertTrue(common.is_running(self.state(running)["pid"]))

    def test_sweep_does_not_follow_links_inside_a_job(self):
        self.old_job("old")
        self.write("outside/precious", "x")
        os.symlink(self.path("outside"), self.path(".hone/jobs/old/out"))
        self.age(self.path("outside"))
        self.assertEqual(self.call("sweep", "30")[0]["jobs"], 1)
        self.assertTrue(os.path.exists(self.path("outside/precious")))

    def test_sweep_leaves_a_job_whose_processes_still_run(self):
        job = self.old_job("old")
        left = common.subprocess.Popen(["/bin/sleep", "300"], env={
            "HONE_JOB": os.path.realpath(self.path(job)), "HOME": self.home})
        self.addCleanup(left.wait)
        self.addCleanup(left.kill)
        from hone_runner import process
        wait_for(lambda: process.marked(os.path.realpath(self.path(job))), "its mark")
        self.assertEqual(self.call("sweep", "30")[0]["jobs"], 0)

    def test_sweep_deletes_cache_entries_that_were_not_used(self):
        self.write(".hone/cache/compiled/0123abcd/kernel.neff", "x" * 1000)
        self.write(".hone/cache/compiled/young/kernel.neff", "x")
        self.write(".hone/cache/.hidden/old/file", "x")
        self.write("outside/precious", "x")
        os.symlink(self.path("outside"), self.path(".hone/cache/compiled/link"))
        os.symlink(self.path("outside"), self.path(".hone/cache/links"))
        self.age(self.path(".hone/cache/compiled/0123abcd"), self.path(".hone/cache/.hidden/old"),
                 self.path("outside"))
        row = self.call("sweep", "30")[0]
        self.assertEqual(row["bytes"], 1000)
        self.assertEqual(sorted(os.listdir(self.path(".hone/cache/compiled"))), ["link", "young"])
        self.assertTrue(os.path.exists(self.path("outside/precious")))
        self.assertTrue(os.path.exists(self.path(".hone/cache/.hidden/old/file")))


if __name__ == "__main__":
    unittest.main()
