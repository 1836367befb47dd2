#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone query from outside: answers as text, CSV and JSON, tables and recipes, sessions and their
attempts, what is refused, files that are none."""
import contextlib
import csv
import io
import json
import math
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent),
                str(pathlib.Path(__file__).resolve().parent.parent / "tune")]
from agent import Agent  # noqa: E402
from small_task import KERNEL, REFERENCE  # noqa: E402

HONE = os.path.abspath(sys.argv.pop(1))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone_query_"))
ENV = dict(os.environ, XDG_CACHE_HOME=str(FOLDER / "cache"), XDG_STATE_HOME=str(FOLDER / "state"),
           XDG_CONFIG_HOME=str(FOLDER / "config"))
MEASURED = pathlib.Path(__file__).resolve().parent.parent / "query" / "measured"
TABLES = MEASURED.parent / "tables"
INPUTS = ["--input", "x=128x1024:float32", "--input", "z=128x1024:float32"]


def hone(*args, **more):
    more.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([HONE, *map(str, args)], env=ENV, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, **more)


def setUpModule():
    task = FOLDER / "task"
    task.mkdir()
    (task / "kernel.py").write_text(KERNEL)
    (task / "reference.py").write_text(REFERENCE)
    done = hone("run", task, "--rounds", "1", "--seeds", "0")
    assert done.returncode == 0, done.stdout + done.stderr


def tearDownModule():
    shutil.rmtree(FOLDER)


class Query(unittest.TestCase):
    task = FOLDER / "task"
    session = FOLDER / "task" / ".hone" / "task"
    kernel = FOLDER / "task" / "kernel.py"

    def ask(self, *args, status=0, **more):
        done = hone("query", *args, **more)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        text = (done.stderr if status else done.stdout).decode()
        self.assertNotRegex(text, "[\x00-\x08\x0b\x0c\x0e-\x1f]")
        return text

    def answer(self, *args):
        answer = json.loads(self.ask(*args, "--json"))
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]

    @staticmethod
    def alike(row, other):
        return all(math.isclose(a, b, rel_tol=1e-13) if isinstance(a, float) and b is not None
                   else a == b for a, b in zip(row, other))

    def test_a_kernel_without_a_reference(self):
        alone = FOLDER / "alone.py"
        alone.write_text(KERNEL)
        rows = self.answer(alone, "SELECT nki_op, COUNT(*) AS n, SUM(hbm_read_bytes) AS bytes "
                           "FROM Instruction GROUP BY 1 ORDER BY 1", *INPUTS)
        self.assertEqual([(row["nki_op"], row["n"]) for row in rows],
                         [("dma_copy", 48), ("tensor_tensor", 16)])
        self.assertEqual(rows[0]["bytes"], 2 * 128 * 1024 * 4)
        self.assertIn("inputs", self.ask(alone, "SELECT * FROM Line", status=2))
        self.assertIn("has no session", self.ask(alone, "SELECT * FROM attempts", status=2))
        self.ask(alone, "SELECT * FROM Line", *INPUTS, "--device", "trn9", status=2)

    def test_a_kernel_that_does_not_compile(self):
        wrong = FOLDER / "wrong.py"
        wrong.write_text(KERNEL.replace("nl.add(a, b)", "nl.no_such(a, b)"))
        said = self.ask(wrong, "SELECT * FROM Line", *INPUTS, status=1)
        self.assertRegex(said, r"wrong.py:\d+: .*no_such")

    def test_attempts_of_a_session(self):
        for name in (self.task, self.session):
            rows = self.answer(name, "SELECT attempt, latency_us, speedup FROM attempts "
                               "ORDER BY attempt")
            self.assertEqual([row["attempt"] for row in rows], [0, 1])
        self.assertLess(rows[1]["latency_us"], rows[0]["latency_us"])
        for row in rows:  # the profile of each is the one that it was measured with
            for args in ([f"{self.task}#{row['attempt']}"],
                         [self.session, "--attempt", row["attempt"]]):
                us = self.answer(args[0], "SELECT latency_us FROM Metadata", *args[1:])
                self.assertAlmostEqual(us[0]["latency_us"], row["latency_us"], places=6)
        best = self.answer(self.session, "SELECT latency_us FROM Metadata")
        self.assertAlmostEqual(best[0]["latency_us"], rows[1]["latency_us"], places=6)
        own = self.answer(self.task, "SELECT latency_us FROM Metadata")
        self.assertAlmostEqual(own[0]["latency_us"], rows[0]["latency_us"], places=6)
        self.assertIn("attempts are 0 to 1",
                      self.ask(f"{self.task}#7", "SELECT * FROM Line", status=2))

    def test_the_profile_of_an_attempt_is_a_file_with_the_same_numbers(self):
        sql = ("SELECT line, tensor_ns, vector_ns, scalar_ns, gpsimd_ns, dma_ns FROM Line "
               "WHERE line > 0 ORDER BY line")
        agent = Agent([HONE, "mcp", str(self.task)], ENV)
        stored = agent.ask("resources/read", uri="hone://attempt/0/profile")["result"]
        self.assertEqual(agent.close(), 0)
        file = FOLDER / "stored.json"
        file.write_text(stored["contents"][0]["text"])
        own, read = self.answer(f"{self.task}#0", sql), self.answer(file, sql)
        self.assertGreater(sum(row["dma_ns"] + row["vector_ns"] for row in read), 0)
        for a, b in zip(own, read, strict=True):
            for key in a:
                self.assertAlmostEqual(a[key], b[key], delta=0.01, msg=str((a, b)))
        self.assertEqual(self.answer(file, "SELECT device FROM Metadata")[0]["device"], "trn2")

    def test_a_session_has_the_tables_that_its_database_has(self):
        tables = json.loads(self.ask("--tables", "--json"))["tables"]
        database = sqlite3.connect(f"file:{self.session}/session.db?mode=ro", uri=True)
        for table in tables:
            if table["of"] != "session" or table["name"] == "rounds":  # sums of attempts
                continue
            name, columns = table["name"], [column["name"] for column in table["columns"]]
            there = database.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
            kept = [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
            self.assertEqual(columns, kept)
            answer = json.loads(self.ask(self.session, f"SELECT * FROM {name}", "--json"))
            self.assertEqual(len(answer["rows"]), len(there))
            for row in there:  # 15 digits of a real come through
                self.assertTrue(any(self.alike(row, other) for other in answer["rows"]), row)
        database.close()

    def test_rounds_are_sums_of_attempts(self):
        attempts = self.answer(self.task, "SELECT * FROM attempts")
        rounds = self.answer(self.task, "SELECT * FROM rounds ORDER BY round")
        self.assertEqual([row["round"] for row in rounds],
                         sorted({row["round"] for row in attempts}))
        for row in rounds:
            own = [one for one in attempts if one["round"] == row["round"]]
            right = [one["latency_us"] for one in own
                     if "no" not in (one["compiles"], one["correct"])]
            self.assertEqual(row["attempts"], len(own))
            self.assertEqual(row["latency_us"], min(right, default=None))
            if right:
                best = next(one for one in own if one["attempt"] == row["attempt"])
                self.assertEqual(best["latency_us"], row["latency_us"])

    def test_every_recipe_runs(self):
        names = [line.split()[0] for line in self.ask("--recipes").splitlines()]
        self.assertGreater(len(names), 15)
        for name in ("attempts", "opcodes", "waits"):
            sql = self.ask("--recipes", name)
            self.assertEqual(self.ask(self.task, "--recipe", name), self.ask(self.task, sql))
        self.assertIn("opcodes", self.ask(self.task, "--recipe", "opcode", status=2))
        self.assertIn("opcodes", self.ask("--recipes", "opcode", status=2))

    def test_text_csv_and_json_say_the_same(self):
        sql = "SELECT id, engine, opcode, start_ts, cause FROM Instruction"
        rows = json.loads(self.ask(self.kernel, sql, "--json"))
        table = list(csv.reader(io.StringIO(self.ask(self.kernel, sql, "--csv"), newline="")))
        self.assertEqual(table[0], rows["columns"])
        self.assertEqual(len(table) - 1, len(rows["rows"]))
        for one, other in zip(table[1:], rows["rows"]):
            self.assertEqual(one[1:3], other[1:3])
            self.assertEqual(float(one[3]), other[3])
            self.assertEqual(int(one[4]) if one[4] else None, other[4])
        self.assertFalse(rows["cut"])
        text = self.ask(self.kernel, sql, "--rows", "3").splitlines()
        self.assertEqual(len(text), 5)
        self.assertEqual(text[1].split()[:3], ["0", *rows["rows"][0][1:3]])
        self.assertIn("only the first 3 rows", text[4])
        self.assertTrue(json.loads(self.ask(self.kernel, sql, "--json", "--rows", "3"))["cut"])
        self.assertIn("(no rows)", self.ask(self.kernel, sql + " WHERE 0"))
        self.assertEqual(json.loads(self.ask(self.kernel, sql + " WHERE 0", "--json"))["rows"], [])

    def test_foreign_texts_do_not_act_on_the_terminal(self):
        sql = "SELECT char(27) || '[31m', 'a' || char(10) || 'b\"c', x'ff00' AS \"\u001b[2J\""
        self.assertEqual(len(self.ask(self.task, sql).splitlines()), 2)
        rows = list(csv.reader(io.StringIO(self.ask(self.task, sql, "--csv"), newline="")))
        self.assertEqual(rows[1][1], 'a\nb"c')
        self.assertEqual(json.loads(self.ask(self.task, sql, "--json"))["rows"][0][1], 'a\nb"c')

    def test_standard_input(self):
        self.assertIn("42", self.ask(self.task, "-", input=b"SELECT 42", stdin=None))
        self.ask(self.task, "-", input=b"SELECT 1\0;DROP", stdin=None, status=2)
        self.ask(self.task, "-", input=b"-- " + b"x" * 300000, stdin=None, status=2)

    def test_what_is_refused(self):
        for sql in ("DELETE FROM attempts", "ATTACH 'x.db' AS x", "SELECT 1; SELECT 2", "",
                    "PRAGMA user_version", "SELECT * FROM attempt", "SELECT nothing FROM attempts"):
            self.ask(self.session, sql, status=2)
        self.assertIn("Did you mean", self.ask(self.task, "SELECT * FROM attempt", status=2))
        for args in ((), (self.task,), (self.task, "SELECT 1", "x"), ("--tables", "nothing"),
                     (self.task, "SELECT 1", "--json", "--csv"), (self.task, "1", "--rows", "0"),
                     (self.task, "SELECT 1", "--recipe", "lines"),
                     (self.task, "SELECT 1", "--attempt", "x")):
            self.ask(*args, status=2)
        endless = ("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
                   "SELECT SUM(x) FROM r")
        self.assertIn("0.1 s", self.ask(self.task, endless, "--time-limit", "0.1", status=2))
        long = ", ".join(["printf('%.*c', 2000000000, 'x')"] * 100)  # a step for each, no more
        self.assertIn("took more time than it may",
                      self.ask(self.task, f"SELECT {long}", "--time-limit", "0.1", status=2))
        for sql in ("SELECT load_extension('x')", "SELECT fts3_tokenizer('simple')",
                    "SELECT FTS3_TOKENIZER('simple', x'00')", "VACUUM INTO 'x.db'",
                    "SELECT * FROM pragma_database_list"):
            self.ask(self.task, sql, status=2)
        self.assertFalse(pathlib.Path("x.db").exists())

    def test_a_question_may_begin_with_a_comment(self):
        self.assertEqual(self.answer(self.task, "-- one\nSELECT 1 AS one"), [{"one": 1}])
        self.assertEqual(self.answer(self.task, "--\tone\nSELECT 1 AS one"), [{"one": 1}])

    def test_the_session_of_a_seed_has_its_name(self):
        """The seed is in the program, so that its kernel is no file."""
        place = FOLDER / "of_a_seed"
        place.mkdir()
        done = hone("run", "silu", "--rounds", "1", "--seeds", "0", cwd=place)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in ("silu", "seeds/silu", ".hone/silu"):
            done = hone("diff", name, "0", "1", "--json", cwd=place)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            both = json.loads(done.stdout)
            self.assertEqual((both["before"]["attempt"], both["after"]["attempt"]), (0, 1))
            self.ask(name + "#1", "SELECT count(*) FROM Instruction", cwd=place)
        self.ask("silu", "SELECT count(*) FROM attempts", cwd=place)

    def test_what_is_no_kernel(self):
        os.mkfifo(FOLDER / "fifo.py")
        (FOLDER / "noise.py").write_bytes(bytes(range(256)) * 20)
        (FOLDER / "empty.py").write_text("")
        for name in ("/dev/null", "/dev/zero", FOLDER / "fifo.py", FOLDER / "noise.py",
                     FOLDER / "empty.py", FOLDER, FOLDER / "not there", "", "#3", HONE):
            for table in ("Instruction", "attempts"):
                done = hone("query", name, f"SELECT COUNT(*) FROM {table}", *INPUTS)
                self.assertIn(done.returncode, (1, 2, 3), (name, done.stdout, done.stderr))
                self.assertTrue(done.stderr)
                self.assertFalse(done.stdout)

    def test_a_damaged_session_and_another_database(self):
        other = FOLDER / "other"
        other.mkdir()
        database = sqlite3.connect(other / "session.db")
        database.execute("CREATE TABLE attempts(attempt, secret)")
        database.execute("INSERT INTO attempts VALUES (1, 2)")
        database.commit()
        database.close()
        self.ask(other, "SELECT * FROM attempts", status=3)
        damaged = FOLDER / "damaged"
        shutil.copytree(self.session, damaged)
        before = bytearray((damaged / "session.db").read_bytes())
        for at in range(4096, len(before), 1000):
            before[at] ^= 0xff
        (damaged / "session.db").write_bytes(before)
        for sql in ("SELECT attempt, status FROM attempts", "SELECT COUNT(*) FROM Instruction"):
            self.assertIn("hone session", self.ask(damaged, sql, status=4))
        self.assertEqual((damaged / "session.db").read_bytes(), before)

    def changed(self, name, *statements):
        """A copy of the session whose database somebody changed."""
        folder = FOLDER / name
        shutil.copytree(self.session, folder)
        with contextlib.closing(sqlite3.connect(folder / "session.db")) as database, database:
            for statement in statements:
                database.execute(statement)
        return folder

    def test_the_log_answers_and_not_tables_made_of_it(self):
        asked = {name: f"SELECT * FROM {name}" for name in
                 ("attempts", "rounds", "samples", "seeds", "metrics", "lines")}
        want = {name: self.ask(self.session, sql, "--json") for name, sql in asked.items()}
        self.assertNotIn('"rows":[]', "".join(want.values()).replace(" ", ""))
        kept = [name for name in asked if name != "rounds"]
        for folder in (self.changed("altered", "UPDATE attempts SET latency_us = 1, status = 'x'",
                                    "UPDATE seeds SET passed = 'no'", "UPDATE lines SET us = 0"),
                       self.changed("behind", *(f"DELETE FROM {name} WHERE attempt = 1"
                                                for name in kept), "UPDATE derived SET seq = 3"),
                       self.changed("lacking", *(f"DROP TABLE {name}" for name in kept),
                                    "DROP TABLE derived")):
            for name, sql in asked.items():
                self.assertEqual(self.ask(folder, sql, "--json"), want[name], folder.name)

    def test_a_log_that_was_changed_has_no_answer(self):
        for name, statement in (
                ("event", "UPDATE events SET payload = replace(payload, 'us', 'ns') "
                 "WHERE type = 'measured'"),
                ("cut", "DELETE FROM events WHERE seq > 5")):
            folder = self.changed("damaged-" + name, statement)
            done = hone("query", folder, "SELECT attempt, status FROM attempts")
            self.assertEqual(done.returncode, 4, done)
            self.assertFalse(done.stdout)
            self.assertRegex(done.stderr.decode(), "damaged.*hone session")

    @staticmethod
    def patched(old, diff):
        """What a unified diff makes of a text."""
        lines, out, at = old.splitlines(), [], 0
        for line in diff.splitlines():
            if line.startswith("@@"):
                start = int(re.match(r"@@ -(\d+)", line).group(1)) - 1
                out += lines[at:start]
                at = start
            elif line[0] == "+":
                out.append(line[1:])
            else:
                assert lines[at] == line[1:], (lines[at], line)
                out += lines[at:at + 1] if line[0] == " " else []
                at += 1
        return out + lines[at:]

    def test_two_attempts_are_compared(self):
        def diff(*args):
            done = hone("diff", *args)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.decode()
        both = json.loads(diff(self.task, 0, 1, "--json"))
        us = [row["latency_us"] for row in
              self.answer(self.task, "SELECT latency_us FROM attempts ORDER BY attempt")]
        for side, latency in zip(("before", "after"), us):
            self.assertAlmostEqual(both[side]["latency_us"], latency, places=6)
        change = sum(row["us"]["after"] - row["us"]["before"] for row in both["lines"])
        self.assertAlmostEqual(change, us[1] - us[0], places=6)
        sources = [next(self.session.glob(f"checkpoints/attempt_00{n}_*")).read_text()
                   for n in (0, 1)]
        self.assertEqual(self.patched(sources[0], both["source"]), sources[1].splitlines())
        for row in both["lines"]:
            if row["line_after"]:
                self.assertEqual(sources[1].splitlines()[row["line_after"] - 1].strip(),
                                 row["text"])
            self.assertEqual(row["busy_us"]["after"] > 0, row["line_after"] is not None, row)
        busy = self.answer(f"{self.task}#1", "SELECT SUM(duration_ns) / 1000 AS us "
                           "FROM ActiveTime WHERE engine = 'DMA'")
        self.assertAlmostEqual(both["busy_us"]["DMA"]["after"], busy[0]["us"], places=6)
        again = json.loads(diff(f"{self.task}#0", f"{self.session}#1", "--json"))
        for one in (both, again):
            one["before"].pop("name"), one["after"].pop("name")
        self.assertEqual(both, again)
        text = diff(self.task, 0, 1)
        self.assertIn("\n-", text)
        self.assertIn("by the device model", text)
        limits = [both[side]["limited_by"] for side in ("before", "after")]
        self.assertIn(f"bound    {limits[0]} -> {limits[1]}\n", text)
        told = hone("sim", self.task, "--no-verify").stdout.decode()
        self.assertIn(f"limited by {limits[0]}\n", told)
        same = diff(f"{self.task}#0", self.kernel)
        self.assertIn("The sources are the same", same)
        self.assertIn("no line costs more or less", same)

    def test_an_attempt_is_a_kernel_for_sim_and_check(self):
        us = [row["latency_us"] for row in
              self.answer(self.task, "SELECT latency_us FROM attempts ORDER BY attempt")]
        for number, latency in enumerate(us[:2]):
            for name in (f"{self.task}#{number}", f"{self.session}#{number}"):
                done = hone("sim", name, "--json", "--no-verify")
                about = json.loads(done.stdout)
                self.assertEqual((done.returncode, about["attempt"]), (0, number), done.stderr)
                self.assertAlmostEqual(about["latency_us"], latency, places=6)
        text = hone("sim", f"{self.task}#1", "--seeds", "0").stdout.decode()
        self.assertRegex(text, r"(?m)^kernel +attempt 1 of .*kernel\.py")
        self.assertRegex(text, r"(?m)^correct +yes")
        self.assertEqual(hone("check", f"{self.task}#1").returncode, 0)
        for name, part in ((f"{self.task}#99", "no attempt 99"), (f"{FOLDER}#1", "session")):
            for command in ("sim", "check"):
                done = hone(command, name)
                self.assertEqual(done.returncode, 2)
                self.assertIn(part, done.stderr.decode())

    def test_what_cannot_be_compared(self):
        for args in ((self.task,), (self.task, "x", "1"), (self.task, "0", "9"),
                     ("/dev/null", self.task), (self.task, FOLDER / "not there"),
                     (self.task, 0, 1, 2)):
            done = hone("diff", *args)
            self.assertIn(done.returncode, (1, 2), args)
            self.assertTrue(done.stderr)

    def profile(self, *args, status=0):
        done = hone("profile", self.task, *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return (done.stderr if status else done.stdout).decode()

    def test_a_timeline_that_perfetto_takes(self):
        trace = json.loads(self.profile("--format", "perfetto"))
        self.assertEqual(trace["displayTimeUnit"], "ns")
        slices, ends, named = {}, {}, set()
        for event in trace["traceEvents"]:
            thread = (event["pid"], event.get("tid"))
            if event["ph"] == "X":
                self.assertTrue(event["name"] and event["cat"])
                slices.setdefault(thread, []).append(
                    (round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)))
            elif event["ph"] in "sf":
                ends.setdefault(event["id"], {})[event["ph"]] = (thread, round(event["ts"] * 1000))
                self.assertEqual(event.get("bp"), None if event["ph"] == "s" else "e")
            else:
                self.assertEqual(event["ph"], "M")
                named.add((thread, event["name"]))
        for thread, all_of in slices.items():  # nothing of a thread overlaps, so all of it nests
            self.assertIn((thread, "thread_name"), named)
            self.assertIn(((thread[0], None), "process_name"), named)
            all_of.sort()
            for one, other in zip(all_of, all_of[1:]):
                self.assertLessEqual(one[1], other[0])
        rows = self.answer(self.kernel, "SELECT COUNT(*) AS n, COUNT(DISTINCT queue) AS queues, "
                           "MAX(end_ts) AS end FROM Instruction")[0]
        self.assertEqual(sum(map(len, slices.values())), rows["n"])
        self.assertGreaterEqual(len(slices), rows["queues"])
        self.assertEqual(max(end for of in slices.values() for _, end in of), round(rows["end"]))
        self.assertTrue(ends)
        for both in ends.values():  # each end of an arrow is within a slice of its thread
            self.assertEqual(set(both), {"s", "f"})
            self.assertLessEqual(both["s"][1], both["f"][1])
            for thread, at in both.values():
                self.assertTrue(any(one <= at < end for one, end in slices[thread]))

    def test_files_for_other_tools_hold_the_tables(self):
        whole = json.loads(self.profile("--format", "json"))
        file = FOLDER / "profile.db"
        file.write_text("something old")
        self.profile("--format", "sqlite", "--output", file)
        database = sqlite3.connect(file)
        tables = [table for table in json.loads(self.ask("--tables", "--json"))["tables"]]
        for table in tables:
            name = table["name"]
            rows = [list(row) for row in database.execute(f'SELECT * FROM "{name}"')]
            if table["of"] == "session":
                answer = json.loads(self.ask(self.task, f"SELECT * FROM {name}", "--json"))
            else:
                answer = whole[name]
                self.assertEqual(answer["columns"], [one["name"] for one in table["columns"]])
            self.assertEqual(rows, answer["rows"], name)
        for name in ("opcodes", "waits", "bounds"):
            sql = self.ask("--recipes", name)
            rows = [list(row) for row in database.execute(sql)]
            self.assertEqual(rows, json.loads(self.ask(self.task, sql, "--json"))["rows"])
        database.close()
        text = self.profile("--format", "csv", "--table", "Line")
        self.assertEqual(text, self.ask(self.task, "SELECT * FROM Line", "--csv"))
        self.assertIn("us", self.profile())

    def test_a_profile_is_written_whole_or_not_at_all(self):
        old = FOLDER / "old.json"
        old.write_text("old")
        self.profile("--format", "perfetto", "--output", old)
        json.loads(old.read_text())
        for output in (FOLDER / "not there" / "x", FOLDER, "/dev/full/x"):
            self.profile("--format", "csv", "--output", output, status=3)
        self.profile("--format", "sqlite", status=2)
        self.profile("--format", "nothing", status=2)
        self.profile("--table", "Line", status=2)
        self.profile("--format", "csv", "--table", "nothing", status=2)
        self.assertFalse(list(FOLDER.glob("*.hone-*")))
        with open("/dev/full", "w") as full:
            done = subprocess.run([HONE, "profile", self.kernel, "--format", "csv"], env=ENV,
                                  stdout=full, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"could not be written", done.stderr)

    def measured(self, name, sql):
        answer = json.loads(self.ask(MEASURED / f"{name}.json", sql, "--json"))
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]

    def test_a_summary_of_neuron_explorer_has_the_same_tables(self):
        summary = self.measured("summary", "SELECT * FROM Summary")[0]
        self.assertEqual((summary["total_time"], summary["dma_active_time_percent"]), (2e-5, 65))
        self.assertEqual(summary["hbm_read_bytes"], 1048576)
        self.assertIsNone(summary["mfu_estimated_percent"])  # NaN, which is no JSON
        self.assertIsNone(summary["spill_save_bytes"])
        meta = self.measured("summary", "SELECT source, latency_us FROM Metadata")[0]
        self.assertEqual(meta, {"source": "device", "latency_us": 18.5})
        units = {row["name"]: row["unit"] for row in
                 self.measured("summary", "SELECT name, unit FROM Metric")}
        self.assertEqual((units["neuroncore_cycle_count"], units["mm_arithmetic_intensity"]),
                         ("cycles", "ratio"))
        self.assertNotIn("instance_type", units)
        self.assertIn("2 nodes", self.measured("summary", "SELECT * FROM Warning")[0]["message"])
        for recipe in ("headline", "gate", "opcodes", "limits"):
            self.ask(MEASURED / "summary.json", "--recipe", recipe)
        self.assertIn("2e-05", hone("profile", MEASURED / "summary.json", "--format", "csv",
                                    "--table", "Summary").stdout.decode())

    def test_a_profile_of_neuron_explorer_has_the_same_tables(self):
        rows = self.measured("profile", "SELECT * FROM Instruction")
        self.assertEqual([(row["id"], row["engine"], row["opcode"], row["start_ts"], row["end_ts"])
                          for row in rows],
                         [(0, "Tensor", "MATMUL", 0, 148),  # it counts in ps, from anywhere
                          (1, "Vector", "TENSOR_TENSOR", 200, 1200),
                          (2, "Scalar", "ACTIVATE", 1200, 2200),
                          (3, "GpSimd", "MEMSET", 3200, 4000)])
        self.assertEqual([row["line"] for row in rows], [None, 12, 13, None])
        self.assertEqual(rows[1]["bir_debug_info_source_location"], "kernel.py:12")
        self.assertEqual((rows[2]["bir_id"], rows[2]["evt_wait_time_ns"]), ("I-77", 250))
        self.assertEqual(rows[3]["evt_wait_time_ns"], 3200)  # not the profiler's evt_wait_time
        shares = {row["name"]: row["value"] for row in
                  self.measured("profile", "SELECT * FROM Metric WHERE unit = '%'")}
        self.assertEqual(shares, {"tensor_engine_active_time_percent": 25,
                                  "dma_active_time_percent": 65,
                                  "vector_engine_active_time_percent": 25})
        warnings = [row["message"] for row in
                    self.measured("profile", "SELECT * FROM Warning")]
        self.assertEqual((len(warnings), warnings[-1]), (6, "some of it was lost"))

    def test_a_profile_that_the_runner_brought_has_the_same_tables(self):
        self.assertEqual(self.measured("ours", "SELECT engine, start_ts, duration_ns FROM "
                                       "ActiveTime WHERE engine = 'DMA'"),
                         [{"engine": "DMA", "start_ts": 0, "duration_ns": 2500},
                          {"engine": "DMA", "start_ts": 4500, "duration_ns": 500}])
        self.assertEqual(self.measured("ours", "SELECT file, line, us, dma_ns FROM Line"),
                         [{"file": "kernel.py", "line": 12, "us": 3.75, "dma_ns": 3000},
                          {"file": "helpers.py", "line": 3, "us": 1.25, "dma_ns": 0}])
        self.assertEqual(self.measured("ours", "SELECT name FROM Bound WHERE is_bound"),
                         [{"name": "DMA"}])
        joined = self.measured("ours", "SELECT i.opcode, d.dest FROM Flow f JOIN Instruction i ON "
                               "i.id = f.in_id JOIN DmaPacketAggregated d ON d.id = f.out_id")
        self.assertEqual([row["dest"] for row in joined], ["SBUF", "SBUF", "HBM"])
        database = FOLDER / "measured.db"
        self.assertEqual(hone("profile", MEASURED / "ours.json", "--format", "sqlite", "--output",
                              database).returncode, 0)
        with sqlite3.connect(database) as tables:
            self.assertEqual(tables.execute("SELECT source FROM Metadata").fetchall(),
                             [("device",)])
        for recipe in self.ask("--recipes").splitlines():
            done = hone("query", MEASURED / "ours.json", "--recipe", recipe.split()[0])
            self.assertTrue(not done.returncode or b"has no session" in done.stderr, done.stderr)

    def test_what_is_no_profile_is_named(self):
        for name, text, said in (("list.json", "[1, 2]", "no JSON"),
                                 ("odd.json", "{}", "no profile"),
                                 ("cut.json", '{"total_time": 1, "x": {"y": 2}', "not all of it"),
                                 ("deep.json", '{"a":' * 5000 + "}" * 5000, "no JSON"),
                                 ("empty.json", "", "no JSON")):
            (FOLDER / name).write_text(text)
            done = hone("query", FOLDER / name, "SELECT * FROM Summary")
            self.assertEqual((done.returncode, done.stdout), (4, b""), (name, done.stderr))
            self.assertIn(said, done.stderr.decode())
        for name in ("profile.ntff", "kernel.neff"):
            self.assertIn("summary-json", self.ask(FOLDER / name, "SELECT 1", status=2))

    def test_a_device_s_timeline_is_written_where_its_profile_has_one(self):
        done = hone("profile", MEASURED / "summary.json", "--format", "perfetto")
        self.assertIn(b"no intervals", done.stderr)
        self.assertEqual(done.returncode, 2)
        for file in (MEASURED / "ours.json", MEASURED / "profile.json",
                     TABLES / "duckdb_types"):
            done = hone("profile", file, "--format", "perfetto")
            self.assertEqual(done.returncode, 0, done.stderr)
            events = json.loads(done.stdout)["traceEvents"]
            slices = [event for event in events if event["ph"] == "X"]
            rows = self.answer(file, "SELECT COUNT(*) AS n, MAX(end_ts) AS end FROM Instruction")[0]
            self.assertEqual(len(slices), rows["n"])
            self.assertTrue(all(event["name"] and event["args"] for event in slices))
            self.assertEqual(round(max(event["ts"] + event["dur"] for event in slices) * 1000),
                             round(rows["end"]))
            until = {}
            for event in sorted(slices, key=lambda event: event["ts"]):
                self.assertGreaterEqual(round(event["ts"] * 1000), until.get(event["tid"], 0))
                until[event["tid"]] = round((event["ts"] + event["dur"]) * 1000)

    def test_asking_changes_nothing(self):
        def state():
            return {path.relative_to(self.session): path.read_bytes()
                    for path in sorted(self.session.rglob("*")) if path.is_file()}
        before = state()
        self.ask(self.session, "SELECT * FROM attempts, metrics")
        self.ask(self.session, "SELECT * FROM Line")
        self.assertEqual(state(), before)


unittest.main()
