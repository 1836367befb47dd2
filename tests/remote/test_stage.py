# SPDX-License-Identifier: Apache-2.0
"""Stages: every way in which a tool can end, and everything it can print."""

import os
import re
import resource
import sys
import unittest

import common
from hone_runner import output, process, stage

PYTHON = sys.executable


def python(text):
    return [PYTHON, "-c", text]


class Log:
    """Events as a list."""

    def __init__(self):
        self.rows = []

    def log(self, text, severity="note"):
        from hone_runner import emit
        self.rows.append((severity, emit.clean(text)))

    def texts(self):
        return [text for _, text in self.rows]


class Ends(common.HostCase):
    def run_stage(self, argv, **limits):
        self.log = Log()
        self.streams = [output.Stream(self.log, None, self.path("out")),
                        output.Stream(self.log, None, self.path("err"))]
        limits.setdefault("wall_s", 60.0)
        return stage.Stage("tool", argv, stage.Limits(**limits)).run(
            stage.clean_environment({"HOME": self.home}), self.home, self.streams)

    def test_success(self):
        result = self.run_stage(python("print('fine')"))
        self.assertEqual((result.outcome, result.status, result.text), ("ok", 0, ""))
        self.assertEqual(self.log.texts(), ["fine"])
        self.assertEqual(result.read_out(), b"fine\n")

    def test_failure_with_its_status(self):
        result = self.run_stage(python("import sys; sys.exit(70)"))
        self.assertEqual((result.outcome, result.status), ("failed", 70))
        self.assertIn("status 70", result.text)

    def test_a_signal_is_named(self):
        result = self.run_stage(python("import os; os.abort()"))
        self.assertEqual((result.outcome, result.signal), ("signalled", 6))
        self.assertIn("SIGABRT", result.text)

    def test_a_kill_from_outside_is_nobodys_fault(self):
        result = self.run_stage(python("import os; os.kill(os.getpid(), 9)"))
        self.assertEqual((result.outcome, result.signal), ("killed", 9))
        self.assertEqual(self.run_stage(python("import sys; sys.exit(137)")).outcome, "killed")

    def test_the_compiler_s_envelope_for_a_killed_pass_is_lack_of_memory(self):
        result = self.run_stage(python("import sys; print('[F137] neuronx-cc was killed'); "
                                       "sys.exit(70)"))
        self.assertEqual(result.outcome, "memory")

    def test_a_limit_of_memory_holds_for_all_processes_of_the_stage(self):
        result = self.run_stage(python(
            "import subprocess, sys, time\n"
            "subprocess.Popen([sys.executable, '-c', 'x = bytearray(200 << 20); import time; "
            "time.sleep(60)'])\ntime.sleep(60)"), memory_bytes=100 << 20)
        self.assertEqual(result.outcome, "memory")
        self.assertIn("100 MiB", result.text)

    def test_a_limit_of_the_address_space(self):
        result = self.run_stage(python("x = bytearray(900 << 20)"), address_bytes=512 << 20)
        self.assertEqual(result.outcome, "memory")

    def test_time_out(self):
        result = self.run_stage(python("import time; print('begun', flush=True); time.sleep(60)"),
                                wall_s=0.5)
        self.assertEqual(result.outcome, "timeout")
        self.assertIn("limit is 0.5 s", result.text)
        self.assertEqual(self.log.texts(), ["begun"])

    def test_time_out_of_a_tool_that_will_not_end(self):
        before = stage.GRACE_S
        stage.GRACE_S = 0.3
        self.addCleanup(setattr, stage, "GRACE_S", before)
        result = self.run_stage(python("import signal, time\nsignal.signal(15, signal.SIG_IGN)\n"
                                       "time.sleep(60)"), wall_s=0.5)
        self.assertEqual(result.outcome, "timeout")
        self.assertLess(result.seconds, 30)

    def test_processor_time(self):
        result = self.run_stage(python("while True: pass"), cpu_s=1)
        self.assertEqual(result.outcome, "timeout")

    def test_a_tool_that_is_not_there(self):
        result = self.run_stage([self.path("nowhere")])
        self.assertEqual(result.outcome, "missing")
        self.assertIn("nowhere", result.text)

    def test_a_file_that_is_no_program(self):
        path = self.write("text", "\0\1\2", 0o755)
        self.assertEqual(self.run_stage([path]).outcome, "missing")

    def test_processes_left_behind_are_ended(self):
        result = self.run_stage(["/bin/sh", "-c", "sleep 300 & echo $!; exit 0"])
        self.assertEqual(result.outcome, "ok")
        # A process that was killed still takes a moment.
        common.wait_for(lambda: not common.is_running(int(result.out_tail)), "its end")

    def test_processes_that_left_the_group_and_the_session_are_ended(self):
        self.assertTrue(process.adopt_orphans())
        result = self.run_stage(python(
            "import os, sys, time\n"
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    if os.fork() == 0:\n"
            "        print(os.getpid(), flush=True)\n"
            "        os.closerange(0, 100)\n"
            "        time.sleep(300)\n"
            "    os._exit(0)\n"
            "time.sleep(0.5)"))
        self.assertEqual(result.outcome, "ok")
        common.wait_for(lambda: not common.is_running(int(result.out_tail)), "its end")

    def test_a_daemon_that_holds_the_pipes_does_not_hold_the_stage(self):
        result = self.run_stage(["/bin/sh", "-c", "(sleep 300 &) ; echo done"])
        self.assertLess(result.seconds, 30)
        self.assertEqual(self.log.texts(), ["done"])

    def test_the_environment_is_the_clean_one(self):
        os.environ["NEURON_CC_FLAGS"] = "--surprise"
        os.environ["LD_PRELOAD_OF_MINE"] = "x"
        self.addCleanup(os.environ.pop, "NEURON_CC_FLAGS")
        self.addCleanup(os.environ.pop, "LD_PRELOAD_OF_MINE")
        result = self.run_stage(["/usr/bin/env"])
        names = {line.split("=")[0] for line in result.out_tail.decode().splitlines()}
        self.assertFalse(names & {"NEURON_CC_FLAGS", "LD_PRELOAD_OF_MINE"})
        self.assertLessEqual({"PATH", "HOME", "PYTHONUNBUFFERED"}, names)

    def test_there_is_nothing_on_standard_input_and_no_core_file(self):
        result = self.run_stage(python("import sys, resource, os; print(repr(sys.stdin.read()), "
                                       "resource.getrlimit(resource.RLIMIT_CORE), os.nice(0), "
                                       "os.getsid(0) == os.getpid())"))
        nice = min(os.nice(0) + 5, 19)      # five more than ours
        self.assertEqual(result.out_tail, b"'' (0, 0) %d True\n" % nice)


class Says(unittest.TestCase):
    def setUp(self):
        self.log = Log()

    def stream(self, chunks, path=None, limit=output.RAW_LIMIT):
        stream = output.Stream(self.log, None, path, limit)
        for chunk in chunks:
            stream.feed(chunk)
        stream.close()
        return stream

    def test_lines_across_reads(self):
        self.stream([b"one\ntw", b"o\nthr", b"ee"])
        self.assertEqual(self.log.texts(), ["one", "two", "three"])

    def test_binary_garbage_is_shown_as_text(self):
        self.stream([bytes(range(256)) * 20, b"\n\xff\xfe\x00\x1b]0;title\x07\n"])
        for text in self.log.texts():
            self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text))
        self.assertIn("\ufffd\ufffd\\x00\\x1b]0;title\\x07", self.log.texts())

    def test_a_bar_that_redraws_itself_is_its_last_picture(self):
        self.stream([b"\r%3d%%" % done for done in range(101)] + [b"\nfine\n"])
        self.assertEqual([text.strip() for text in self.log.texts()], ["100%", "fine"])

    def test_dots_wait_for_their_line_and_a_prompt_does_not(self):
        stream = output.Stream(self.log, None, None)
        stream.feed(b"......")
        stream.quiet()
        self.assertEqual(self.log.texts(), [])
        stream.feed(b"\nLoading model")
        stream.quiet()
        stream.quiet()
        self.assertEqual(self.log.texts(), ["......", "Loading model"])
        stream.feed(b" done\n")
        stream.close()
        self.assertEqual(self.log.texts(), ["......", "Loading model", " done"])

    def test_a_line_without_end_takes_no_memory(self):
        stream = output.Stream(self.log, None, None)
        for _ in range(300):
            stream.feed(b"x" * (1 << 20))
        self.assertLessEqual(len(stream.rest), output.LINE_BYTES)
        stream.feed(b"\nnext\n")
        stream.close()
        self.assertEqual(len(self.log.texts()), 2)
        self.assertIn("more", self.log.texts()[0])
        self.assertEqual(self.log.texts()[1], "next")

    def test_head_and_tail_are_shown_and_the_rest_counted(self):
        rows = [b"line %d\n" % number for number in range(10000)]
        self.stream([b"".join(rows[at:at + 77]) for at in range(0, 10000, 77)])
        texts = self.log.texts()
        head, tail = output.HEAD_LINES, output.TAIL_LINES
        self.assertEqual(texts[:head], ["line %d" % number for number in range(head)])
        self.assertEqual(texts[-tail:],
                         ["line %d" % number for number in range(10000 - tail, 10000)])
        self.assertEqual(len(texts), head + tail + 1)
        self.assertIn("%d lines were left out" % (10000 - head - tail), texts[head])

    def test_what_is_of_note_is_shown_in_between_and_once(self):
        rows = [b"line %d\n" % number for number in range(10000)]
        rows[5000] = b"ERROR: [NCC_ITEN406] too many partition dimensions\n"
        rows[9900] = b"ERROR at the end\n"
        self.stream([b"".join(rows[at:at + 501]) for at in range(0, 10000, 501)])
        texts = self.log.texts()
        self.assertEqual(sum("NCC_ITEN406" in text for text in texts), 1)
        self.assertEqual(sum(text == "ERROR at the end" for text in texts), 1)
        self.assertIn("%d lines" % (10000 - output.HEAD_LINES - output.TAIL_LINES - 1),
                      "".join(texts))

    def test_a_flood_of_errors_has_a_budget(self):
        self.stream([b"ERROR again\n" * 1000] * 100)
        self.assertLessEqual(len(self.log.rows), output.HEAD_LINES + output.NOTABLE_LINES
                             + output.TAIL_LINES + 1)

    def test_raw_keeps_head_and_tail_and_says_what_was_cut(self):
        path = os.path.join(common.tempfile.mkdtemp(), "raw")
        self.addCleanup(common.shutil.rmtree, os.path.dirname(path))
        limit = output.TAIL_BYTES + (1 << 20)
        chunk = bytes(range(256)) * 4096
        self.stream([chunk] * 12, path, limit)
        with open(path, "rb") as file:
            data = file.read()
        cut = 12 * len(chunk) - limit
        self.assertIn(b"[hone: %d bytes were left out here]" % cut, data)
        self.assertLess(len(data), limit + 100)
        self.assertTrue(data.startswith(chunk) and data.endswith(chunk * 2))

    def test_raw_is_the_same_bytes_where_nothing_was_cut(self):
        path = os.path.join(common.tempfile.mkdtemp(), "raw")
        self.addCleanup(common.shutil.rmtree, os.path.dirname(path))
        chunk = bytes(range(256)) * 4096
        self.stream([chunk] * 6, path, output.TAIL_BYTES + (4 << 20))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), chunk * 6)


class Flood(common.HostCase):
    def test_200_mb_of_log_pass_in_constant_memory(self):
        job = self.job("flood", steps=[{"do": "stage", "argv": [
            PYTHON, "-c", "import sys\nfor i in range(200): sys.stdout.buffer.write("
            "b'a line of a log that is about seventy bytes long, and some more\\n' * 15600)"]}])
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(before, 150000, "an earlier child was too large to tell")
        lines = self.call("run", job)
        self.assertEqual(lines[-1]["event"], "started")
        said = self.follow(job)
        outcome = [row for row in said if row["event"] == "outcome"][0]
        self.assertEqual(outcome["outcome"], "ok")
        self.assertLess(sum(row["event"] == "log" for row in said), 3000)
        self.assertLess(os.path.getsize(outcome["out"]), output.RAW_LIMIT + 100)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(most, 150000)               # KiB, of any process there was


if __name__ == "__main__":
    unittest.main()
