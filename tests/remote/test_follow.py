# SPDX-License-Identifier: Apache-2.0
"""follow: nothing is lost and nothing comes twice, from any offset, over any number of
connections."""

import os
import unittest

import common
from common import SENTINEL, wait_for

BETWEEN = (b'@hone {"event":"follow"', b'@hone {"event":"end"', b'@hone {"event":"alive"',
           b'@hone {"event":"gone"')


def counted(data):
    """The bytes that count in offsets."""
    return b"".join(line for line in data.splitlines(True) if not line.startswith(BETWEEN))


class Follow(common.HostCase):
    def raw_follow(self, job, offset=0):
        child = self.spawn("follow", job, str(offset))
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0)
        return out

    def events(self, job):
        with open(self.path(job, "events.ndjson"), "rb") as file:
            return file.read()

    def file_id(self, job):
        with open(self.path(job, "events.id")) as file:
            return file.read().strip()

    def test_the_file_keeps_its_id_when_the_job_is_begun_again(self):
        job = self.job("a", steps=[{"do": "lines", "count": 5}, {"do": "sleep", "seconds": 300}])
        self.call("start", job)
        wait_for(lambda: self.events(job).count(b"line") >= 5, "the lines")
        before = self.events(job)
        first = self.file_id(job)
        os.kill(self.state(job)["pid"], 9)
        self.assertEqual(self.follow(job)[-1]["event"], "gone")
        self.call("start", job)
        self.assertEqual(self.file_id(job), first)
        child = self.spawn("follow", job, str(len(before)), first)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        said = b""
        while b"line 4" not in said:
            said += os.read(child.stdout.fileno(), 65536)
        self.assertIn(b'"event":"restart"', said)
        self.assertEqual(said.count(b"line 0"), 1)
        self.call("cancel", job)

    def test_an_offset_that_was_counted_in_another_file_does_not_count(self):
        job = self.job("a", steps=[{"do": "lines", "count": 5}])
        self.finish(job)
        child = self.spawn("follow", job, "100", "another")
        out, _ = child.communicate(timeout=120)
        self.assertEqual(common.events_of(out)[0]["offset"], 0)
        self.assertEqual(counted(out), self.events(job))

    def test_it_says_exactly_the_bytes_of_the_file(self):
        job = self.job("a", steps=[{"do": "lines", "count": 500}])
        self.call("start", job)
        out = self.raw_follow(job)
        self.assertEqual(counted(out), self.events(job))
        self.assertEqual(common.events_of(out)[-1], {"event": "end", "offset": len(counted(out))})

    def test_any_offset_at_a_line_goes_on_from_there(self):
        job = self.job("a", steps=[{"do": "lines", "count": 50}])
        self.finish(job)
        whole = self.events(job)
        at = 0
        for line in whole.splitlines(True)[::7]:
            at = whole.index(line)
            out = self.raw_follow(job, at)
            self.assertEqual(counted(out), whole[at:])
            self.assertEqual(common.events_of(out)[0],
                             {"event": "follow", "offset": at, "file": self.file_id(job)})

    def test_connections_that_break_lose_nothing_and_repeat_nothing(self):
        job = self.job("a", steps=[{"do": "lines", "count": 200}, {"do": "sleep", "seconds": 0.4},
                                   {"do": "lines", "count": 20000}, {"do": "sleep", "seconds": 0.4},
                                   {"do": "lines", "count": 20000}])
        self.call("start", job)
        got, breaks = b"", 0
        while not got.endswith(b"}\n") or b'"event":"result"' not in got[-4000:]:
            child = self.spawn("follow", job, str(len(got)))
            data = b""
            while len(data) < 300000:
                chunk = os.read(child.stdout.fileno(), 65536)
                if not chunk:
                    break
                data += chunk
            child.kill()
            child.communicate()
            whole = data[:data.rfind(b"\n") + 1]        # as a reader of lines keeps it
            got += counted(whole)
            breaks += 1
            self.assertLess(breaks, 200)
        self.assertGreater(breaks, 3)
        self.assertEqual(got, self.events(job))

    def test_an_unfinished_line_is_not_said(self):
        job = self.job("a", steps=[])
        self.finish(job)
        whole = self.events(job)
        with open(self.path(job, "events.ndjson"), "ab") as file:
            file.write(b'@hone {"event":"lo')
        self.assertEqual(counted(self.raw_follow(job)), whole)

    def test_lines_come_as_they_are_written(self):
        job = self.job("a", steps=[{"do": "lines", "count": 1}, {"do": "sleep", "seconds": 300}])
        self.call("start", job)
        child = self.spawn("follow", job, "0")
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        said = b""
        while b"line 0" not in said:
            said += os.read(child.stdout.fileno(), 65536)
        self.assertTrue(said.endswith(b"\n"))
        self.call("cancel", job)

    def test_silence_is_filled_with_signs_of_life(self):
        from hone_runner import follow
        self.addCleanup(setattr, follow, "ALIVE_S", follow.ALIVE_S)
        follow.ALIVE_S = 0.3
        job = self.job("a", steps=[{"do": "sleep", "seconds": 1.5}])
        self.call("start", job)
        rows = self.in_process(follow, job)
        self.assertGreaterEqual([row["event"] for row in rows].count("alive"), 2)
        self.assertEqual(rows[-1]["event"], "end")

    def test_a_network_file_system_may_show_a_job_late(self):
        from hone_runner import folder, follow
        self.addCleanup(setattr, folder, "is_network", folder.is_network)
        folder.is_network = lambda path: True
        self.addCleanup(setattr, follow, "UNSEEN_S", follow.UNSEEN_S)
        follow.UNSEEN_S = 0.5
        job = self.job("a", steps=[])
        self.assertEqual([row["event"] for row in self.in_process(follow, job)],
                         ["follow", "gone"])
        follow.UNSEEN_S = common.PATIENCE_S
        starter = self.spawn("start", job)
        rows = self.in_process(follow, job)
        starter.communicate()
        self.assertEqual(rows[-1]["event"], "end")

    def in_process(self, follow, job):
        from hone_runner import emit
        reader, writer = os.pipe()
        rows = []

        class Answers(emit.Events):
            def emit(self, event, **fields):
                rows.append(dict(fields, event=event))

        follow.Reader.__init__.__defaults__ = (writer,)
        self.addCleanup(setattr, follow.Reader.__init__, "__defaults__", (1,))
        try:
            follow.follow(self.path(job), 0, Answers(writer))
        finally:
            os.close(writer)
            os.close(reader)
        return rows

    def test_a_connection_that_is_gone_ends_it_and_not_the_job(self):
        job = self.job("a", steps=[{"do": "lines", "count": 1}, {"do": "sleep", "seconds": 1},
                                   {"do": "lines", "count": 1}])
        self.call("start", job)
        child = self.spawn("follow", job, "0")
        child.stdout.readline()
        child.stdout.close()
        wait_for(lambda: child.poll() is not None, "the end of follow")
        self.assertEqual(self.raw_follow(job).count(b'"result"'), 1)

    def test_a_job_that_is_not_there_is_gone(self):
        row = self.call("follow", ".hone/jobs/none", "0")[0]
        self.assertEqual(row["event"], "gone")
        self.job("a", steps=[])
        rows = self.follow(".hone/jobs/a")
        self.assertEqual([row["event"] for row in rows], ["follow", "gone"])
        self.assertIn("not started", rows[-1]["text"])

    def test_a_host_that_was_started_anew_is_said(self):
        job = self.job("a", steps=[])
        self.write(job + "/state.json",
                   '{"state": "running", "pid": 77, "ticks": 5, "boot": "old", '
                   '"host": "%s"}' % os.uname().nodename)
        self.assertIn("restarted", self.follow(job)[-1]["text"])

    def test_an_offset_past_the_end_waits_or_ends(self):
        job = self.job("a", steps=[])
        self.finish(job)
        rows = self.follow(job, 10**9)
        self.assertEqual([row["event"] for row in rows], ["follow", "end"])

    def test_a_million_lines_pass_without_much_work(self):
        job = self.job("a", steps=[])
        self.finish(job)
        line = SENTINEL + b'{"event":"log","severity":"note","text":"a line of the log"}\n'
        path = self.path(job, "events.ndjson")
        with open(path, "wb") as file:
            for _ in range(100):
                file.write(line * 10000)
        child = self.spawn("follow", job, "0")
        count = 0
        while True:
            chunk = child.stdout.read(1 << 20)
            if not chunk:
                break
            count += chunk.count(b"\n")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        self.assertEqual(count, 1000002)           # and follow, end
        self.assertLess(usage.ru_maxrss, 100000)    # KiB: constant, whatever the size
        child.stdout.close()


if __name__ == "__main__":
    unittest.main()
