# SPDX-License-Identifier: Apache-2.0
"""What the compiler says reaches people even where a release captures it, wraps its exception and
deletes its log: the log is followed and copied, the chain of causes is read, and standard error
too."""

import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

from sdks import SDKS, Sdk
from hone_runner.sdk import blame, compilerlog, grammar, shown, watch

# The second half of current releases: a work folder that is deleted unless artifacts_dir names one,
# a process whose output is captured and whose text is in its log, an exception of an exception.
# TEXT, OUT, STATUS: what its log and standard error have, and how it ends.
DRIVER = '''
import os, shutil, subprocess, sys, tempfile
from base import Compiled
class CompileOptions:
    def __init__(self, target="trn1", lnc=1, artifacts_dir=None, output_path="file.neff"):
        self.target, self.artifacts_dir, self.output_path = target, artifacts_dir, output_path
class NCCError(Exception):
    pass
def _compile_neff(work):
    path = os.path.join(os.path.dirname(__file__), "program.py")
    with open(path, "w") as file:
        file.write(PROGRAM)
    subprocess.run([sys.executable, path], cwd=work, check=True, capture_output=True)
def compile_bir_to_neff(options, bir, arrays, names, out_names):
    if KEEPS:
        os.makedirs(options.artifacts_dir, exist_ok=True)
        return inner(options.artifacts_dir)
    with tempfile.TemporaryDirectory(prefix="nki_") as work:
        return inner(work)
def inner(work):
    try:
        _compile_neff(work)
    except subprocess.CalledProcessError as problem:
        raise NCCError("neuronx-cc failed with exit code %d, see %s/log-neuron-cc.txt"
                       % (problem.returncode, work)) from problem
'''
PROGRAM = '''
import sys
with open("log-neuron-cc.txt", "w") as log:
    log.write(%r)
sys.stderr.write(%r)
sys.exit(%d)
'''
LOG = "2026-04-13T01:46:31Z INFO 7 [root/Tensorizer/SBAllocator]: Running SBAllocator\n" \
      "2026-04-13T01:46:31Z INFO 7 [root/Tensorizer/SBAllocator]: a line that nobody reads\n" \
      "2026-04-13T01:46:32Z ERROR 7 [Tensorizer]: [ERROR] [NCC_EVRF009] tensors are too large\n" \
      "at kernel.py:12, in every partition\n" \
      "2026-04-13T01:46:32Z ERROR 7 [driver]: Subcommand returned with exitcode=70\n"


def sdk(log=LOG, errors="", status=70, keeps=False):
    program = PROGRAM % (log, errors, status)
    files = dict(SDKS["nir"])
    files["nki/compiler/ncc_driver.py"] = "PROGRAM, KEEPS = %r, %r\n" % (program, keeps) + DRIVER
    return files


class Captured(Sdk):
    """The worker, where the SDK captures what the compiler says."""

    def logs(self):
        return sorted(watch.logs_below(os.path.join(self.folder, "neff")))

    def test_the_status_and_the_text_are_those_of_the_process_at_the_chains_end(self):
        found = self.compile(sdk(errors="[F134] neuronx-cc terminated abnormally\n", status=134))
        self.assertEqual(("kernel", 134), (found["kind"], found["error"]["status"]))
        self.assertIn("terminated abnormally", found["error"]["stderr"])
        self.assertIn("[F134] neuronx-cc terminated abnormally", self.said)

    def test_a_log_that_is_thrown_away_is_kept(self):
        found = self.compile(sdk())
        self.assertEqual("NCCError", found["error"]["type"])
        self.assertEqual([], os.listdir(self.temporary))
        self.assertEqual(1, len(self.logs()), self.logs())
        with open(self.logs()[0]) as file:
            self.assertEqual(LOG, file.read())
        self.assertEqual("nir", compilerlog.seam_of(self.logs()[0],
                                                    os.path.join(self.folder, "neff")))

    def test_a_log_in_the_folder_that_was_named_stays_there(self):
        self.compile(sdk(keeps=True))
        self.assertEqual([os.path.join(self.folder, "neff", "nir", watch.LOG)], self.logs())

    def test_progress_and_errors_are_said_and_the_rest_of_the_log_is_not(self):
        slow = "2026-04-13T01:46:31Z INFO 7 [x]: Running %s\n"
        files = sdk(log="".join(slow % name for name in ("Simplifier", "LICM")) + LOG, keeps=True)
        self.compile(files)
        for name in ("Simplifier", "LICM", "SBAllocator"):
            self.assertIn("%s2026-04-13T01:46:31Z INFO 7" % watch.PREFIX, self.said)
            self.assertIn("Running " + name, self.said)
        self.assertIn("NCC_EVRF009", self.said)
        self.assertNotIn("nobody reads", self.said)

    def test_what_a_skipped_seam_said_is_not_taken_for_the_cause(self):
        files = dict(SDKS["executor"])
        files["nki/compiler/ncc_driver.py"] = "import sys\n" \
            "sys.stderr.write('[INTERNAL_ERROR] [NCC_ITEN406] of another way\\n')\n" \
            "from nowhere_at_all import CompileOptions\n"
        self.assertEqual("executor", self.compile(files)["seam"])
        self.assertIn("NCC_ITEN406", self.said)
        path = self.write("said", self.said)
        result = types.SimpleNamespace(out=path, err=None, out_tail=b"", err_tail=b"")
        self.assertEqual([], [one for one in shown.findings(result)[0] if one.kind == "error"])


class Following(unittest.TestCase):
    """A log that grows, as watch.Watch follows it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hone-watch-")
        self.addCleanup(shutil.rmtree, self.folder)

    def follower(self, text):
        path = os.path.join(self.folder, watch.LOG)
        with open(path, "wb") as file:
            file.write(text)
        follower = watch.Follower(path)
        self.addCleanup(follower.close)
        return path, follower

    def test_lines_come_when_they_are_whole_also_after_the_file_is_gone(self):
        path, follower = self.follower(b"one\ntw")
        self.assertEqual(["one"], follower.lines())
        with open(path, "ab") as file:
            file.write(b"o\nthree\n")
            os.unlink(path)
        self.assertEqual(["two", "three"], follower.lines())

    def test_a_flood_is_passed_over_and_garbage_is_harmless(self):
        _, follower = self.follower(b"\x1b[2J\x00\xff line\n" * (1 << 20))
        lines = follower.lines()
        self.assertLess(sum(map(len, lines)), 2 * watch.READ)
        self.assertFalse([line for line in lines if "\x1b" in line or "\0" in line])

    def test_what_is_kept_of_a_log_is_its_end(self):
        path, _ = self.follower(b"x" * (watch.KEEP + 7) + b"end")
        target = os.path.join(self.folder, "kept", watch.LOG)
        watch.copy_tail(path, target)
        with open(target, "rb") as file:
            data = file.read()
        self.assertEqual((watch.KEEP, b"end"), (len(data), data[-3:]))

    def test_links_and_deep_folders_are_not_followed(self):
        self.follower(b"")
        os.symlink("/etc/passwd", os.path.join(self.folder, "link"))
        deep = os.path.join(self.folder, *"abcdefgh")
        os.makedirs(os.path.join(self.folder, "l"))
        os.symlink("/etc/passwd", os.path.join(self.folder, "l", watch.LOG))
        os.makedirs(deep)
        with open(os.path.join(deep, watch.LOG), "w"):
            pass
        self.assertEqual([os.path.join(self.folder, watch.LOG)], watch.logs_below(self.folder))

    def test_it_is_said_while_the_compiler_still_runs(self):
        """A process that ends only when its progress was seen. Otherwise it would wait forever."""
        child = subprocess.Popen(
            [sys.executable, "-c", "import os, sys, time\n"
             "from hone_runner.sdk import watch\n"
             "os.chdir(%r)\n"
             "with watch.Watch(os.getcwd(), 'kept'):\n"
             "    open(watch.LOG, 'w').write('Running SBAllocator\\n')\n"
             "    while not os.path.exists('seen'): time.sleep(0.02)\n" % self.folder],
            stdout=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path),
                                             TMPDIR=self.folder))
        self.addCleanup(child.stdout.close)
        self.assertEqual(watch.PREFIX + "Running SBAllocator\n", child.stdout.readline().decode())
        open(os.path.join(self.folder, "seen"), "w").close()
        self.assertEqual(0, child.wait(60))


class Chains(unittest.TestCase):
    def raised(self, body):
        try:
            exec(body, {"subprocess": subprocess})
        except Exception as problem:
            return problem

    def test_the_process_is_found_anywhere_and_a_ring_ends(self):
        ends = "subprocess.CalledProcessError(70, ['neuronx-cc'], b'out', b'\\xff err')"
        for body in ("raise " + ends, "try:\n  raise %s\nexcept Exception as e:\n"
                     "  raise RuntimeError('x') from e" % ends,
                     "try:\n  raise %s\nexcept Exception:\n  raise RuntimeError('x')" % ends,
                     "try:\n  raise %s\nexcept Exception:\n  raise OSError() from None" % ends):
            said = blame.of_process(self.raised(body))
            self.assertEqual((70, "out"), (said["status"], said["stdout"]), body)
            self.assertIn(" err", said["stderr"])
        ring = ValueError("a")
        ring.__cause__, ring.__context__ = KeyError("b"), ring
        ring.__cause__.__cause__ = ring
        self.assertEqual(2, len(blame.chain(ring)))
        self.assertEqual({}, blame.of_process(ring))
        long = one = ValueError()
        for _ in range(100):
            one.__cause__ = ValueError()
            one = one.__cause__
        self.assertEqual(blame.MAX_CHAIN, len(blame.chain(long)))


class Findings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hone-text-")
        self.addCleanup(shutil.rmtree, self.folder)

    def found(self, out=b"", err=b"", log=None):
        path = os.path.join(self.folder, "log")
        with open(path, "w") as file:
            file.write(log or "")
        result = types.SimpleNamespace(out=None, err=None, out_tail=out, err_tail=err)
        return shown.findings(result, ["/job/kernel.py"], [path] if log else [])

    def test_the_log_tells_cause_and_line_and_nothing_is_told_twice(self):
        line = (watch.PREFIX + LOG.splitlines()[2] + "\n").encode()
        found, reader = self.found(out=line, err=line, log=LOG)
        causes = grammar.causes(found)
        self.assertEqual([("NCC_EVRF009", 12)], [(one.code, one.line) for one in causes])
        self.assertIn("in every partition", causes[0].message)
        self.assertEqual(70, reader.exit_status)

    def test_the_pass_it_was_at_is_known_without_a_log(self):
        _, reader = self.found(out=(watch.PREFIX + LOG.splitlines()[0] + "\n").encode())
        self.assertEqual("SBAllocator", reader.stage)

    def test_the_wrapper_says_less_than_what_it_wraps(self):
        trace = "Traceback (most recent call last):\n  File \"/sdk/nki/x.py\", line 3, in f\n" \
                "nki.compiler._errors.NCCError: neuronx-cc failed with exit code 70, see /tmp/n\n"
        found, reader = self.found(err=trace.encode(), log=LOG)
        self.assertEqual(["NCC_EVRF009"], [one.code for one in grammar.causes(found)])
        self.assertEqual(70, grammar.exit_status("NCCError: it failed with exit code 70"))

    def test_what_the_front_end_writes_to_standard_error_has_its_place(self):
        for text, line in (("/job/kernel.py:9:3: error: 'nisa.dma' op has no data", 9),
                           ("loc(\"/job/kernel.py\":14:7): error: 'nisa.dma' op has no data", 14),
                           ("loc(callsite(\"f\"(\"/sdk/isa.py\":1:1) at \"k\"(\"/job/kernel.py\""
                            ":21:5))): error: 'nisa.dma' op has no data", 21)):
            found, _ = self.found(err=(text + "\nnote: see current operation\n").encode())
            self.assertEqual([("/job/kernel.py", line, "'nisa.dma' op has no data")],
                             [(one.file, one.line, one.message) for one in found], text)
        self.assertEqual([], self.found(err=b"/sdk/other.py:3:1: error: not ours\n")[0])

    def test_a_line_with_a_code_is_shown_once(self):
        lines = shown.Grammar()
        told = [lines.line(text.encode()) for text in (
            "[ERROR] [NCC_EVRF009] too large", watch.PREFIX + "[ERROR] [NCC_EVRF009] too large",
            watch.MARK + "nir")]
        self.assertEqual([("error", "[ERROR] [NCC_EVRF009] too large"), None, None], told)


if __name__ == "__main__":
    unittest.main()
