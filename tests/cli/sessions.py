#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone session from outside: damage is reported and repaired, what vanishes under a run is saved,
places that cannot be written, signals."""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tune"))
from small_task import KERNEL, REFERENCE  # noqa: E402

HONE = os.path.abspath(sys.argv.pop(1))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone_sessions_"))
ENV = dict(os.environ, XDG_CACHE_HOME=str(FOLDER / "cache"), XDG_STATE_HOME=str(FOLDER / "state"),
           XDG_CONFIG_HOME=str(FOLDER / "config"))
OF_0_6 = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, z):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for once in nl.dynamic_range(1):
        pass
    nl.store(y, nl.add(nl.load(x), nl.load(z)))
    return y
"""


def hone(*args, **more):
    return subprocess.run([HONE, *map(str, args)], env=ENV, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **more)


class Sessions(unittest.TestCase):
    def setUp(self):
        self.task = FOLDER / self.id().split(".")[-1]
        self.session = self.task / ".hone" / self.task.name
        self.task.mkdir()
        (self.task / "kernel.py").write_text(KERNEL)
        (self.task / "reference.py").write_text(REFERENCE)

    def run_rounds(self, rounds=1):
        done = hone("run", self.task, "--rounds", rounds, "--seeds", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_times_are_known_before_the_numbers_are_checked(self):
        done = hone("run", self.task, "--rounds", "1", "--json")
        events = [json.loads(line) for line in done.stdout.splitlines()]
        for attempt in (0, 1):
            own = [event for event in events if event.get("attempt") == attempt]
            kinds = [event["event"] for event in own]
            self.assertEqual(kinds.count("measured"), 1)
            self.assertLess(kinds.index("measured"), kinds.index("seed"))
            measured = own[kinds.index("measured")]
            self.assertTrue(measured["lines"] and measured["causes"] and measured["modelled"])
            self.assertGreater(measured["latency_us"], 0)
            self.assertTrue(measured["wall"])

    def test_names_do_not_act_on_the_terminal(self):
        self.run_rounds()
        odd = FOLDER / "odd\x1b[31m\nsession.db  DAMAGED"
        shutil.copytree(self.session, odd)
        export = FOLDER / "out\x1b]0;title\x07\nx"
        for done in (hone("session", "check", odd), hone("session", "repair", odd),
                     hone("export", odd, "--output", export, "--no-verify"),
                     hone("session", "check", str(odd) + "x")):
            self.assertNotRegex(done.stdout + done.stderr, "[\x00-\x08\x0b-\x1f]")
            self.assertNotIn("\nsession.db  DAMAGED", done.stdout)

    def test_json_is_utf8_and_does_not_act_on_the_terminal(self):
        self.run_rounds()
        odd = os.fsencode(FOLDER) + "/odd\u202e\u009b".encode() + b"\xff"
        shutil.copytree(os.fsencode(self.session), odd)
        done = hone("session", "check", os.fsdecode(odd), "--json")
        self.assertTrue(json.loads(done.stdout)["session"].endswith("/odd\u202e\u009b\ufffd"))
        self.assertNotRegex(done.stdout, "[\u202e\u0080-\u009f]")

    def test_an_export_that_was_changed_is_noticed(self):
        self.run_rounds()
        out = self.task / "given"
        done = hone("export", self.task, "--output", out, "--no-verify")
        self.assertEqual(done.returncode, 0, done.stderr)
        sums = subprocess.run(["sha256sum", "-c", "--strict", "--quiet", "SHA256SUMS"], cwd=out,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((sums.returncode, sums.stdout), (0, ""))
        listed = (out / "SHA256SUMS").read_text().count("\n") - 1
        self.assertEqual(listed, sum(1 for at in out.rglob("*") if at.is_file()) - 1)
        other = FOLDER / "other"
        shutil.copytree(self.task, other, ignore=shutil.ignore_patterns(".hone", "given"))
        done = hone("import", out, other, "--json")
        self.assertEqual((json.loads(done.stdout)["altered"], done.stderr), (0, ""))
        rows = out / "experiments.jsonl"
        rows.write_text(rows.read_text().replace('"latency_ms":', '"latency_ms":1', 1))
        done = hone("import", rows, other, "--json")
        self.assertEqual(json.loads(done.stdout)["altered"], 1)
        self.assertIn("SHA256SUMS:", done.stderr)
        self.assertIn("changed since the export: experiments.jsonl.", done.stderr)

    def start(self, *args, until):
        process = subprocess.Popen([HONE, "run", str(self.task), "--json", "--seeds", "0", *args],
                                   env=ENV, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = []
        for line in process.stdout:
            seen.append(json.loads(line))
            if seen[-1]["event"] == until:
                break
        return process, seen

    def damage(self, what):
        path = self.session / "session.db"
        data = bytearray(path.read_bytes())
        at = data.find(what)
        self.assertGreater(at, 0)
        data[at] ^= 1
        path.write_bytes(data)

    def test_files_that_are_none_are_said_to_be_what_they_are(self):
        reference = self.task / "reference.py"
        helper, kernel = self.task / "helper.py", self.task / "kernel.py"

        def run(words):
            done = hone("run", self.task, "--rounds", 1, "--seeds", "0", "--fresh")
            self.assertIn(words, done.stdout + done.stderr)
            self.assertNotEqual(done.returncode, 0)

        reference.write_text("import helper\n" + REFERENCE)
        os.mkfifo(helper)
        run("helper.py is a device or a pipe")
        helper.unlink()
        helper.symlink_to("helper.py")
        run("helper.py is a link that leads to no file")
        helper.unlink()
        with open(helper, "wb") as file:
            file.truncate(6 << 30)
        run("helper.py is too large")
        reference.unlink()
        reference.symlink_to("/dev/zero")
        run("reference.py is a device")
        reference.unlink()
        reference.symlink_to("reference.py")
        run("reference.py is a symbolic link that leads to no file")
        kernel.unlink()
        kernel.symlink_to("kernel.py")
        run("kernel.py is a symbolic link that leads to no file")

    def test_a_task_is_found_by_the_folder_one_stands_in(self):
        self.run_rounds()
        for path in (".", "../" + self.task.name + "/"):
            done = hone("session", "check", path, cwd=self.task)
            self.assertEqual(done.returncode, 0, path + done.stdout + done.stderr)

    def test_what_a_reference_reads_by_a_computed_name_is_exported(self):
        reads = ("import importlib\nimport os\n"
                 "importlib.import_module('pa' + 'rts')\n"
                 "np.loadtxt(os.path.join(os.path.dirname(__file__), 'sc' + 'ale.txt'))\n")
        (self.task / "reference.py").write_text(REFERENCE + reads)
        (self.task / "parts.py").write_text("A = 1\n")
        (self.task / "scale.txt").write_text("1 2 3\n")
        self.run_rounds()
        out = FOLDER / "computed"
        done = hone("export", self.task, "--output", out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((out / "scale.txt").read_text(), "1 2 3\n")
        self.assertEqual((out / "parts.py").read_text(), "A = 1\n")
        (self.task / "parts.py").write_text("A = 2\n")
        done = hone("run", self.task, "--rounds", "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("parts.py changed on disk", done.stdout + done.stderr)

    def test_an_export_is_tried_for_the_release_of_its_session(self):
        """nl.dynamic_range is gone with 0.7, the newest release."""
        (self.task / "kernel.py").write_text(OF_0_6)
        done = hone("run", self.task, "--rounds", "1", "--seeds", "0", "--release", "0.6")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        out = FOLDER / "of_0_6"
        done = hone("export", self.task, "--output", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        command = next(line for line in (out / "README.md").read_text().splitlines()
                       if "hone sim" in line)
        self.assertIn(" --release 0.6", command)
        done = hone(*command.split()[1:], cwd=out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_kernel_of_several_goes_with_its_session(self):
        """Without a name, the last one is taken."""
        first = KERNEL.replace("def kernel", "def first")
        (self.task / "kernel.py").write_text(first + KERNEL[KERNEL.index("\n\n\n@"):])
        self.assertIn("(kernel, ", hone("sim", self.task, "--no-verify").stdout)
        done = hone("run", self.task, "--kernel-name", "first", "--rounds", "1", "--seeds", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("(first, ", hone("sim", self.task, "--no-verify").stdout)
        named = hone("sim", self.task, "--no-verify", "--kernel-name", "kernel")
        self.assertIn("(kernel, ", named.stdout)
        alike = json.loads(hone("diff", f"{self.task}#0", self.task, "--json").stdout)
        self.assertEqual(alike["before"]["kernel"], "first")
        self.assertEqual(alike["after"]["kernel"], "first")
        (self.task / "kernel.py").write_text(KERNEL)
        self.assertIn("(kernel, ", hone("sim", self.task, "--no-verify").stdout)

        out = FOLDER / "export_of_one_of_two"
        done = hone("export", self.task, "--output", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual(json.loads((out / "session.json").read_text())["function"], "first")
        command = next(line for line in (out / "README.md").read_text().splitlines()
                       if "hone sim" in line)
        self.assertIn(" --kernel-name first", command)
        self.assertIn("(first, ", hone(*command.split()[1:], cwd=out).stdout)
        self.assertIn("(first, ", hone("sim", out, "--no-verify").stdout)
        done = hone("run", out, "--rounds", "1", "--seeds", "0", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        begun = next(event for event in map(json.loads, done.stdout.splitlines())
                     if event["event"] == "session")
        self.assertEqual(begun["function"], "first")

    def test_an_export_that_fails_leaves_nothing(self):
        large = self.task / "large.bin"
        large.write_bytes(b"1" * (17 << 20))
        (self.task / "reference.py").write_text(
            REFERENCE + "import os\n"
            "np.fromfile(os.path.join(os.path.dirname(__file__), 'large.bin'), np.uint8, 8)\n")
        self.run_rounds()
        large.rename(self.task / "elsewhere.bin")
        out = FOLDER / "made" / "for" / "it"
        done = hone("export", self.task, "--output", out)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("large.bin is too large to be kept with the session", done.stderr)
        self.assertFalse((FOLDER / "made").exists())
        done = hone("export", self.task, "--output", out, "--no-verify")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("It also needs large.bin", (out / "README.md").read_text())
        self.assertEqual([path.name for path in out.parent.iterdir()], ["it"])

    def test_a_whole_session_is_told_so(self):
        self.run_rounds()
        done = hone("session", "check", self.task)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stdout.splitlines()[-1].endswith("is whole"))
        told = json.loads(hone("session", "check", self.session, "--json").stdout)
        self.assertTrue(told["whole"] and told["proven"])
        self.assertEqual(hone("session", "check", self.task / "nothing").returncode, 2)
        self.assertEqual(hone("session", "look", self.task).returncode, 2)

    def test_a_session_is_named_as_run_names_it(self):
        self.run_rounds()
        made = self.session
        named = hone("session", "check", "--session", made)
        self.assertEqual(named.returncode, 0, named.stderr)
        self.assertEqual(named.stdout, hone("session", "check", made).stdout)
        for args in (["check"], ["check", made, "--session", made], ["repair"]):
            self.assertEqual(hone("session", *args).returncode, 2)

    def test_a_session_of_a_folder_with_another_name_is_not_passed_over(self):
        self.run_rounds()
        copy = FOLDER / "renamed"
        shutil.copytree(self.task, copy)
        words = f"rename {self.task.name} to renamed in {copy}/.hone to go on with it"
        for done in (hone("run", copy, "--rounds", 1, "--seeds", "0"),
                     hone("session", "check", copy), hone("export", copy)):
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(words, done.stderr)
        self.assertFalse((copy / ".hone" / "renamed").exists())
        (copy / ".hone" / self.task.name).rename(copy / ".hone" / "renamed")
        done = hone("run", copy, "--rounds", 1, "--seeds", "0")
        self.assertIn("round 2", done.stdout)
        self.assertEqual(hone("session", "check", copy).returncode, 0)
        again = FOLDER / "renamed_again"
        shutil.copytree(copy, again)
        done = hone("session", "check", again)
        self.assertIn(f"rename renamed to renamed_again in {again}/.hone", done.stderr)
        done = hone("run", again, "--rounds", 1, "--seeds", "0", "--fresh")
        self.assertNotIn("round 2", done.stdout)
        self.assertEqual(hone("session", "check", again).returncode, 0)

    def test_a_change_in_the_optimisation_memory_is_noticed_and_made_good(self):
        self.run_rounds()
        memory = self.session / "optimization_memory" / "rewrites.json"
        data = memory.read_bytes()
        for at in (len(data) // 3, len(data) // 2):
            memory.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
            done = hone("session", "check", self.session)
            self.assertEqual(done.returncode, 4, done.stdout)
            self.assertIn("rewrites.json is not what the log says", done.stdout)
        memory.unlink()
        self.run_rounds()
        self.assertTrue(memory.exists())
        self.assertEqual(hone("session", "check", self.session).returncode, 0)
        memory.write_bytes(data[:-9])
        self.assertEqual(hone("session", "repair", self.session, "--replace").returncode, 0)
        self.run_rounds()
        self.assertIsInstance(json.loads(memory.read_text()), list)
        self.assertEqual(hone("session", "check", self.session).returncode, 0)

    def with_a_helper(self):
        """A session of a kernel that imports a file."""
        (self.task / "kernel.py").write_text("import helper\n" + KERNEL)
        (self.task / "helper.py").write_text("A = 1\n")
        self.run_rounds()

    def artefacts(self):
        return sorted(at.name for at in (self.session / "artifacts").iterdir())

    def test_copies_that_are_gone_are_told_and_put_back(self):
        self.with_a_helper()
        before = self.artefacts()
        shutil.rmtree(self.session / "artifacts")
        done = hone("session", "check", self.task)
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertRegex(done.stdout, r"DAMAGED +artefacts +5 of the 5 that the log names are "
                                      r"missing: .*helper.py, the profile of attempt 0")
        done = hone("session", "repair", self.task)
        self.assertRegex(done.stdout, r"MISSING +5 files that the log names: .*helper.py")
        self.assertIn("lost      no event\n", done.stdout)
        done = hone("run", self.task, "--rounds", "1", "--seeds", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "the session's copies of .*helper.py.* were missing or "
                                      "altered, and put back")
        self.assertIn("2 files are gone from artifacts/: the profile of attempt 0", done.stderr)
        self.assertEqual(len(set(before) & set(self.artefacts())), 3)
        done = hone("session", "check", self.task)
        self.assertRegex(done.stdout, r"2 of the \d+ that the log names are missing: the profile")

    def test_a_copy_that_nothing_has_any_more_is_told(self):
        self.with_a_helper()
        for at in (self.session / "artifacts").iterdir():
            if at.read_text() == "A = 1\n":
                at.write_text("A = 7\n")
        (self.task / "helper.py").write_text("A = 2\n")
        done = hone("run", self.task, "--rounds", "1", "--seeds", "0")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("the session's copy of helper.py is missing or altered, and the same file is "
                      "nowhere else", done.stderr)
        self.assertIn("cannot be shown", done.stdout + done.stderr)

    def checkpoints(self):
        return {at.name: at.read_text() for at in (self.session / "checkpoints").glob("*.py")}

    def best(self):
        done = hone("run", self.task, "--rounds", "1", "--seeds", "0", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1])["best"], done.stderr

    def test_a_checkpoint_that_was_altered_is_moved_aside_and_written_again(self):
        self.run_rounds()
        before = self.checkpoints()
        for at in (self.session / "checkpoints").iterdir():
            at.write_text("# mine\n")
        best, said = self.best()
        after = self.checkpoints()
        self.assertEqual({name: after[name] for name in before}, before)
        for name in before:
            self.assertEqual((self.session / "checkpoints" / (name + ".changed")).read_text(),
                             "# mine\n")
            self.assertIn(name + ".changed", said)

    def test_a_checkpoint_that_is_gone_is_told_and_written_again(self):
        self.run_rounds()
        before = self.checkpoints()
        shutil.rmtree(self.session / "checkpoints")
        done = hone("session", "check", self.task)
        self.assertRegex(done.stdout, r"unproven +checkpoints +\d+ of decided attempts are gone: "
                                      r"attempt_000_")
        best, said = self.best()
        self.assertIn("missing in checkpoints/ are written again", said)
        after = self.checkpoints()
        self.assertEqual({name: after[name] for name in before}, before)

    def test_rows_that_were_altered_are_made_again(self):
        self.run_rounds()
        rows = self.session / "experiments.jsonl"
        before = rows.read_text()
        rows.write_text(before.replace('"round":', '"rOUnd":'))
        done = hone("run", self.task, "--rounds", "1", "--seeds", "0")
        self.assertIn("experiments.jsonl is newer than the session", done.stderr)
        self.assertNotIn("rOUnd", rows.read_text())
        done = hone("session", "check", self.task)
        self.assertEqual(done.returncode, 0, done.stdout)
        done = hone("run", self.task, "--rounds", "1", "--seeds", "0")
        self.assertEqual(done.stderr, "")

    def test_an_export_of_what_lost_its_log_says_what_is_gone(self):
        self.run_rounds()
        (self.session / "session.db").unlink()
        done = hone("export", self.task, "--output", self.task / "out")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("it is gone", done.stderr)

    @unittest.skipIf(os.geteuid() == 0, "root writes everywhere")
    def test_a_repair_that_cannot_be_written_names_its_own_option(self):
        self.run_rounds()
        parent = self.session.parent
        parent.chmod(0o500)
        try:
            done = hone("session", "repair", self.task)
        finally:
            parent.chmod(0o700)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("--output FOLDER", done.stderr)

    def test_any_number_as_a_time_is_read(self):
        self.run_rounds()
        folder = FOLDER / "odd_times"
        folder.mkdir()
        with open(self.session / "session.db", "rb") as there:
            (folder / "session.db").write_bytes(there.read())
        db = sqlite3.connect(folder / "session.db")
        db.execute("UPDATE events SET wall_ms = -9223372036854775808 WHERE seq % 2 = 0")
        db.execute("UPDATE events SET wall_ms = 9223372036854775807 WHERE seq % 3 = 0")
        db.execute("ALTER TABLE events DROP COLUMN hash")
        db.execute("DROP TABLE chain")
        db.execute("PRAGMA user_version = 1")
        db.commit()
        db.close()
        done = hone("session", "check", folder)
        self.assertNotIn("runtime error", done.stderr)
        self.assertIn(done.returncode, (0, 4), done.stderr)

    def test_a_damaged_session_is_refused_and_repaired(self):
        self.run_rounds()
        self.damage(b'"task":')
        for command in (["run", self.task, "--rounds", "1"], ["export", self.task]):
            done = hone(*command, cwd=FOLDER)
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn("hone session repair", done.stderr)
            self.assertIn("event 1 is not as it was written", done.stderr)
        self.assertEqual(hone("session", "check", self.task).returncode, 4)
        done = hone("session", "repair", self.task, "--replace", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["lost_from"], told["mended"], told["proven"]), (0, 1, True))
        self.assertTrue(pathlib.Path(told["damaged"], "session.db").exists())
        self.run_rounds()
        self.assertEqual(hone("session", "check", self.task).returncode, 0)

    def test_a_task_is_found_however_its_folder_is_written(self):
        self.run_rounds()
        inside = self.task / "inside"
        inside.mkdir()
        for where, word in ((FOLDER, f"{self.task.name}/"), (FOLDER, f"./{self.task.name}//"),
                            (self.task, "."), (self.task, "./"), (inside, "..")):
            done = hone("session", "check", word, cwd=where)
            self.assertEqual(done.returncode, 0, f"{word}: {done.stderr}")
            self.assertIn("is whole", done.stdout)

    def test_a_change_that_concerns_no_event_is_told(self):
        self.run_rounds()
        path = self.session / "session.db"
        data = bytearray(path.read_bytes())
        data[80] ^= 1  # reserved bytes of SQLite's header
        path.write_bytes(data)
        done = hone("run", self.task, "--rounds", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("session.db was changed after hone closed it", done.stderr)

    def test_what_cannot_be_put_right_is_said_to_be_lost(self):
        self.run_rounds()
        path = self.session / "session.db"
        data = path.read_bytes()
        at = data.find(b'"verdict')
        at = at if at > 0 else data.find(b'"latency_us"')
        path.write_bytes(data[:at] + b"xxxxxxxx" + data[at + 8:])
        done = hone("session", "repair", self.task)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("LOST      events", done.stdout)
        new = pathlib.Path(f"{self.session}.repaired")
        self.assertTrue((new / "behind" / "events.jsonl").exists())
        done = hone("run", self.task, "--session", new, "--rounds", "1", "--seeds", "0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_session_that_vanishes_is_saved_and_an_error(self):
        ways = {"removed": lambda: (self.session / "session.db").unlink(),
                "folder": lambda: self.session.rename(FOLDER / "moved"),
                "replaced": lambda: (shutil.copy(self.session / "session.db", FOLDER / "other"),
                                     os.replace(FOLDER / "other", self.session / "session.db"))}
        for name, way in ways.items():
            process, seen = self.start("--rounds", "3", "--fresh", until="decided")
            way()
            rest, said = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 4, name + rest + said)
            seen += [json.loads(line) for line in rest.splitlines()]
            self.assertIn("removed or replaced while hone was using", seen[-1]["reason"])
            place = pathlib.Path(seen[-1]["session"])
            self.assertIn(str(place), said)
            self.assertNotEqual(place, self.session)
            last = max(event.get("seq", 0) for event in seen)
            check = json.loads(hone("session", "check", place, "--json").stdout)
            lacks = [part["text"] for part in check["parts"] if part["is"] == "damaged"]
            if name == "folder":  # what was profiled went with it; the task's files are there
                self.assertRegex("".join(lacks),
                                 r"^1 of the 3 .* missing: the profile of attempt 0")
            else:
                self.assertEqual(lacks, [], check)
            self.assertGreaterEqual(int(check["parts"][0]["text"].split(",")[0]), last)
            done = hone("run", self.task, "--session", place, "--rounds", "1", "--seeds", "0")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            shutil.rmtree(self.session, ignore_errors=True)

    def test_a_reference_of_another_folder_is_found_from_every_folder(self):
        (self.task / "own").mkdir()
        kernel, given = self.task / "own" / "sums.py", self.task / "reference.py"
        (self.task / "kernel.py").rename(kernel)
        for where, args in ((self.task, ["own/sums.py", "--reference", given.name, "--seeds", "0"]),
                            (FOLDER, [kernel])):
            done = hone("run", *args, "--rounds", "1", cwd=where)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("cannot read", done.stdout)

    def test_signals_end_it_cleanly(self):
        for number, name in ((signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")):
            process, _ = self.start("--rounds", "20", until="round")
            process.send_signal(number)
            rest, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 128 + number)
            reason = json.loads(rest.splitlines()[-1])["reason"]
            self.assertIn(name, reason)
            self.assertIn(f"the session is kept in {self.session}", reason)
            self.assertEqual(hone("session", "check", self.task).returncode, 0)

    def test_what_the_killed_left_is_collected(self):
        self.run_rounds()
        gone = subprocess.Popen(["true"])
        gone.wait()
        left = [pathlib.Path("/dev/shm") / f"hone-{gone.pid}-abcdef" if os.path.isdir("/dev/shm")
                else FOLDER / f"hone-{gone.pid}-abcdef", FOLDER / f"hone-{gone.pid}-wall-abcdef"]
        alive = FOLDER / f"hone-{os.getpid()}-abcdef"
        for path in (*left, alive):
            path.write_text("x")
        more = dict(ENV, TMPDIR=str(FOLDER))
        subprocess.run([HONE, "config"], env=more, stdout=subprocess.DEVNULL, check=True)
        self.assertFalse([path for path in left if path.exists()])
        self.assertTrue(alive.exists())

    @staticmethod
    def moving(folder, pattern):
        """What matches below a folder in which others make and remove folders meanwhile."""
        try:
            return list(folder.rglob(pattern))
        except FileNotFoundError:  # a folder that was listed has gone
            return []

    def killed(self, args, left, **more):
        """Kills hone -9 as soon as `left` finds something, and says what it found."""
        process = subprocess.Popen([HONE, *map(str, args)], env=dict(ENV, **more), text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        ends, found = time.monotonic() + 100, []
        while not found and process.poll() is None and time.monotonic() < ends:
            found = left(process.pid)
        process.kill()
        said, _ = process.communicate()
        return found if all(path.exists() for path in found) else [], said

    def test_what_a_kill_left_goes_at_the_next_start(self):
        own, cache = self.task / "tmp", self.task / "cache"
        own.mkdir()
        more = {"TMPDIR": str(own), "XDG_CACHE_HOME": str(cache), "HONE_WALL_LEVEL": "limits"}
        reference, sim = self.task / "reference.py", ("sim", self.task, "--seeds", "0")
        sleeps = "    import time\n    time.sleep(1000)\n"
        written = "\n\ndef never(value):\n" + sleeps + "\n\nnp.ascontiguousarray = never\n"
        read = REFERENCE.replace("    return k_res\n", sleeps + "    return k_res\n")
        reference.write_text(REFERENCE + written)  # while inputs are written into the cache
        half, said = self.killed((*sim, "--profile", self.task / "profile.json"),
                                 lambda pid: [path.parent for path in  # others end at once
                                              self.moving(cache, "*.part/data.bin")], **more)
        self.assertTrue(half, said)
        self.assertTrue(list(own.glob("hone-*-profile-*")))
        reference.write_text(read)  # while the kernel's outputs are looked at
        walled, said = self.killed(sim, lambda pid: list(own.glob(f"hone-{pid}-wall-*")), **more)
        self.assertTrue(walled, said)
        for path in half:  # nobody writes it any more: it is old enough
            os.utime(path, (1, 1))
        reference.write_text(REFERENCE)
        done = subprocess.run([HONE, *map(str, sim)], env=dict(ENV, **more), text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(own.iterdir()) + list(cache.rglob("*.part")), [])

    def half_an_export(self, end, out="given"):
        """An export that has begun to write, and ends as `end` says; what it wrote until then."""
        self.run_rounds()
        out = self.task / out
        for _ in range(20):
            process = subprocess.Popen([HONE, "export", self.task, "--output", out],
                                       env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            half = []
            while not half and process.poll() is None:
                half = list(out.parent.glob(f"{out.name}.hone-*-{process.pid}-export"))
            process.send_signal(end)
            if end == signal.SIGKILL:
                process.communicate()
            if half and half[0].exists():
                return half[0], process
            process.communicate()
            shutil.rmtree(self.task / "given", ignore_errors=True)
        self.fail("none was ended in time")

    def test_half_an_export_goes_with_the_next_start(self):
        self.half_an_export(signal.SIGKILL, "given/with/folders")
        self.assertFalse((self.task / "given/with/folders").exists())
        self.assertTrue((self.task / "given/with").exists())
        done = subprocess.run([HONE, "config"], env=ENV, cwd="/", stdout=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(list(self.task.glob("given*")), [])
        pending = pathlib.Path(ENV["XDG_STATE_HOME"]) / "hone" / "pending"
        self.assertEqual(list(pending.iterdir()), [])
        out = self.task / "given"
        self.assertEqual(hone("export", self.task, "--output", out).returncode, 0)

    def test_what_somebody_still_writes_is_left_alone(self):
        half, process = self.half_an_export(signal.SIGSTOP)
        pending = pathlib.Path(ENV["XDG_STATE_HOME"]) / "hone" / "pending"
        note, = pending.iterdir()
        kept = self.task / "kept"
        kept.mkdir()
        (pending / (note.name[:-6] + "forged")).write_text(str(kept))
        subprocess.run([HONE, "config"], env=ENV, stdout=subprocess.DEVNULL, check=True)
        self.assertTrue(half.exists() and kept.exists() and note.exists())
        process.send_signal(signal.SIGCONT)
        process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertTrue((self.task / "given" / "SHA256SUMS").exists())
        self.assertFalse(half.exists() or note.exists())

    def test_half_an_export_goes_with_the_next_one(self):
        half, _ = self.half_an_export(signal.SIGKILL)
        shutil.rmtree(pathlib.Path(ENV["XDG_STATE_HOME"]) / "hone" / "pending")
        done = hone("export", self.task, "--output", self.task / "given")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name for path in self.task.glob("given*")], ["given"])

    def test_a_place_that_cannot_be_written_is_looked_at(self):
        self.run_rounds()
        command = (f"mount --bind {self.session} {self.session} && "
                   f"mount -o remount,bind,ro {self.session} && "
                   f"{HONE} session check {self.session}; echo $?; "
                   f"{HONE} run {self.task} --rounds 1; echo $?; "
                   f"{HONE} export {self.session} --output {FOLDER / 'from_ro'}; echo $?")
        done = subprocess.run(["unshare", "-mr", "sh", "-c", command], env=ENV, text=True,
                              capture_output=True, timeout=120)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest("no mounts here")
        self.assertEqual([line for line in done.stdout.splitlines() if line.isdigit()],
                         ["0", "3", "0"], done.stdout + done.stderr)
        self.assertIn("cannot be written (Read-only file system)", done.stderr)
        self.assertTrue((FOLDER / "from_ro" / "kernel.py").exists())


if __name__ == "__main__":
    try:
        unittest.main(verbosity=1)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
