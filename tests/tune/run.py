# SPDX-License-Identifier: Apache-2.0
"""hone run as a user and as a script calls it: run.py PATH_OF_HONE [NAME OF A TEST]..."""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from small_task import KERNEL, REFERENCE

HONE = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone-run-"))
ENV = {**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache"),
       "XDG_STATE_HOME": str(FOLDER / "state"),
       "XDG_CONFIG_HOME": str(FOLDER / "conf")}
ENV.pop("HONE_PYTHON", None)


def hone(*args, **options):
    return subprocess.run([HONE, *map(str, args)], env=ENV, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=240, **options)


class Run(unittest.TestCase):
    def setUp(self):
        self.task = pathlib.Path(tempfile.mkdtemp(prefix="task-", dir=FOLDER))
        (self.task / "kernel.py").write_text(KERNEL)
        (self.task / "reference.py").write_text(REFERENCE)
        self.session = self.task / ".hone" / self.task.name

    def events(self, *args, status=0):
        done = hone("run", self.task, "--json", *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def start(self, *args):
        """A run in the background, read up to the event in which it has begun."""
        process = subprocess.Popen([HONE, "run", str(self.task), "--json", *args], env=ENV,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        return process

    def database(self):
        return sqlite3.connect(self.session / "session.db")

    def unchained(self):
        """The database as an older hone wrote it, before events had hashes. Anything may be put
        into it."""
        (self.session / "session.db-head").unlink()
        db = self.database()
        db.executescript("ALTER TABLE events DROP COLUMN hash; DROP TABLE chain;"
                         "PRAGMA user_version = 1")
        return db

    def test_gets_faster_and_says_how_much(self):
        events = self.events("--rounds", "3", "--seeds", "0,21")
        end = events[-1]
        self.assertEqual(end["event"], "end")
        self.assertTrue(end["baseline"]["correct"] and end["best"]["correct"])
        self.assertGreater(end["best"]["speedup"], 1.05)
        self.assertGreaterEqual(end["best"]["latency_us"], end["best"]["floor_us"] * 0.999)
        self.assertLessEqual(end["rounds"], 3)
        self.assertIsNone(end["cost"]["dollars"])
        seqs = [event["seq"] for event in events[:-1]]
        self.assertEqual(seqs, sorted(set(seqs)))
        again = hone("sim", end["best"]["kernel"], "--reference", self.task / "reference.py",
                     "--json")
        self.assertEqual(json.loads(again.stdout)["correct"], True)
        self.assertAlmostEqual(json.loads(again.stdout)["latency_us"], end["best"]["latency_us"], 3)

    def test_plans_of_one_kind_are_told_apart(self):
        seed = pathlib.Path(__file__).resolve().parents[2] / "seeds" / "softmax"
        (self.task / "kernel.py").write_text((seed / "kernel.py").read_text())
        (self.task / "reference.py").write_text(
            (seed / "reference.py").read_text().replace("4096", "512"))
        events = self.events("--rounds", "1", "--seeds", "0")
        titles = [plan["title"] for event in events if event["event"] == "plans"
                  for plan in event["plans"]]
        alike = [title for title in titles if title.startswith("Merge the loads of part (lines ")]
        self.assertGreaterEqual(len(alike), 2, titles)
        self.assertEqual(len(set(titles)), len(titles))

    def test_leaves_files_that_others_can_read(self):
        end = self.events("--rounds", "2", "--seeds", "0")[-1]
        lines = [json.loads(line) for line in
                 (self.session / "experiments.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), end["attempts"])
        for field in ("round", "status", "latency_ms", "score", "plan", "error", "profile"):
            self.assertIn(field, lines[1])
        self.assertEqual(lines[0]["status"], "baseline")
        self.assertIsInstance(json.loads((self.session / "optimization_memory" / "rewrites.json")
                                         .read_text()), list)
        with self.database() as db:
            count, = db.execute("SELECT count(*) FROM attempts").fetchone()
            self.assertEqual(count, end["attempts"])
            busy, = db.execute("SELECT count(*) FROM metrics WHERE name = 'total_time'").fetchone()
            self.assertGreater(busy, 0)
        self.assertTrue((self.session / "hone.log").read_text())

    def test_goes_on_where_it_was(self):
        first = self.events("--rounds", "1", "--seeds", "0")[-1]
        second = self.events("--rounds", "1")[-1]
        # A second round, unless the first one took all that there was.
        self.assertTrue(second["rounds"] == 2 or "nothing left" in second["reason"], second)
        self.assertEqual(second["baseline"], first["baseline"])
        self.assertGreaterEqual(second["attempts"], first["attempts"])
        fresh = self.events("--rounds", "1", "--seeds", "0", "--fresh")[-1]
        self.assertEqual(fresh["rounds"], 1)
        self.assertTrue((self.session.parent / (self.task.name + ".1") / "session.db").exists())

    def test_a_kill_in_the_middle_loses_nothing(self):
        for lines in (3, 25, 60):
            process = self.start("--rounds", "8", "--seeds", "0,21")
            seen = [json.loads(process.stdout.readline()) for _ in range(lines)]
            process.kill()
            process.wait()
            process.stdout.close()
            with self.database() as db:
                stored = dict(db.execute("SELECT seq, type FROM events").fetchall())
            for event in seen:
                self.assertEqual(stored[event["seq"]], event["event"])
        end = self.events("--rounds", "1")[-1]
        self.assertTrue(end["best"]["correct"])

    def test_an_interrupt_ends_with_the_end_event(self):
        process = self.start("--rounds", "8", "--seeds", "0,21")
        for _ in range(5):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read().splitlines()
        self.assertEqual(process.wait(), 130)
        process.stdout.close()
        self.assertEqual(json.loads(rest[-1])["event"], "end")
        self.assertIn("interrupted", json.loads(rest[-1])["reason"])

    def test_a_second_process_is_told_who_holds_the_session(self):
        process = self.start("--rounds", "8", "--seeds", "0,21")
        process.stdout.readline()
        second = hone("run", self.task)
        self.assertEqual(second.returncode, 3)
        self.assertIn("open in process %d" % process.pid, second.stderr)
        process.kill()
        process.wait()
        process.stdout.close()

    def test_gates_and_limits_of_a_run_stay_with_it(self):
        self.events("--rounds", "1", "--seeds", "0")
        for wrong in (("--proposer", "nobody"), ("--target", "nowhere"), ("--gate", "maybe")):
            refused = hone("run", self.task, "--rounds", "3", *wrong)
            self.assertEqual(refused.returncode, 2, refused.stderr)
        with self.database() as db:
            rows = [(kind, json.loads(text)) for kind, text in
                    db.execute("SELECT type, payload FROM events ORDER BY seq")]
        own = [row for kind, row in rows if kind == "session" and row.get("origins")]
        self.assertEqual(len(own), 1) # nothing that was refused is in the session
        self.assertEqual((own[0]["gates"]["plan"], own[0]["rounds"]), ("ask", 50))
        runs = [(kind, row) for kind, row in rows if kind.startswith("run")]
        self.assertEqual([kind for kind, _ in runs], ["run", "run_end"])
        self.assertEqual(runs[0][1]["gates"]["plan"], "auto")
        self.assertEqual(runs[0][1]["limits"], {"rounds": 1})

    def test_what_waits_in_the_workbench_is_not_passed_by_the_way(self):
        pipe = subprocess.Popen(["script", "-qec", "%s run %s --gate ask --seeds 0" %
                                 (HONE, self.task), "/dev/null"], env=ENV, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for line in pipe.stdout:
            if "y " in line and "?" in line or "approve" in line:
                break
        pipe.communicate("q\n", timeout=60)
        self.assertIn("--gate auto", self.events("--rounds", "1")[-1]["reason"])
        self.assertEqual(self.events("--rounds", "1", "--gate", "auto")[-1]["attempts"], 2)

    def test_a_gate_that_asks_needs_a_person(self):
        done = hone("run", self.task, "--gate", "ask")
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs a person", done.stderr)
        self.assertFalse(self.session.exists())

    def test_a_sweep_tries_each_value_once(self):
        listed = json.loads(hone("sweep", self.task, "--json").stdout)
        self.assertEqual([(row["name"], row["value"], row["line"], row["uses"]) for row in listed],
                         [("TILE_N", 64, 4, 5)])
        self.assertFalse(self.session.exists())
        done = hone("sweep", self.task, "TILE_N=64,128,96", "--seeds", "0", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {row["values"]: row for row in json.loads(done.stdout)["rows"]}
        self.assertEqual([row["status"] for row in rows.values()], ["keep", "keep", "failed"])
        self.assertEqual(rows["TILE_N = 64"]["attempt"], 0)
        self.assertGreater(rows["TILE_N = 128"]["ratio"], 1.05)
        kept = rows["TILE_N = 128"]
        self.assertTrue(kept["modelled"] and pathlib.Path(kept["kernel"]).is_file())
        self.assertEqual([row["latency_us"] is None for row in rows.values()], [False, False, True])
        again = hone("sweep", self.task, "TILE_N", "128")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("best", again.stdout)
        with self.database() as base:
            kept = base.execute("SELECT COUNT(*) FROM events WHERE type = 'attempt'").fetchone()[0]
        self.assertEqual(kept, 3)
        wrong = hone("sweep", self.task, "TILE_M=3")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("it has TILE_N", wrong.stderr)
        self.assertEqual(hone("sweep", self.task, "TILE_N=1,x").returncode, 2)

    def test_a_wrong_seed_kernel_stops(self):
        (self.task / "kernel.py").write_text(KERNEL.replace("nl.add(a, b)", "nl.multiply(a, b)"))
        end = self.events("--rounds", "2", status=1)[-1]
        self.assertIn("seed kernel itself is wrong", end["reason"])
        self.assertFalse(end["baseline"]["correct"])
        (self.task / "kernel.py").write_text("def kernel(:\n")
        end = self.events("--rounds", "2", "--fresh", status=1)[-1]
        self.assertIn("seed kernel itself is wrong", end["reason"])

    def test_a_session_suspects_what_hone_sim_does(self):
        """The first wrong seed is looked at, also where a later one was compared before it."""
        (self.task / "kernel.py").write_text(KERNEL.replace("nl.add(a, b)", "nl.multiply(a, b)"))
        (self.task / "reference.py").write_text(
            REFERENCE.replace("    return x + z",
                              "    import time\n    time.sleep(1)\n    return x + z"))

        def found(events):
            return [(event["line"], event["message"]) for event in events
                    if event["severity"] == "note"]

        def sim(seeds):
            done = hone("sim", self.task, "--json", "--seeds", seeds)
            return found(json.loads(done.stdout)["diagnostics"])

        later = sim("21")  # its reference is kept, and the one of seed 0 takes a second
        events = self.events("--rounds", "1", "--seeds", "0,21", status=1)
        first = found(event for event in events if event["event"] == "diagnostic")
        self.assertNotEqual(first, later)
        self.assertEqual(first, sim("0"))
        self.assertEqual(first, sim("0,21"))

    def test_a_full_disk_is_reported(self):
        limit = 150 * 1024
        done = hone("run", self.task, "--json", "--rounds", "8", "--seeds", "0",
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(done.returncode, 3, done.stdout[-500:] + done.stderr)
        self.assertIn("cannot write", done.stdout.splitlines()[-1] + done.stderr)
        end = self.events("--rounds", "1", "--seeds", "0")[-1]
        self.assertTrue(end["best"]["correct"])

    def test_a_newer_session_is_refused(self):
        self.events("--rounds", "1", "--seeds", "0")
        with self.database() as db:
            db.execute("PRAGMA user_version = 7")
        done = hone("run", self.task)
        self.assertEqual(done.returncode, 3)
        self.assertIn("newer hone", done.stderr)

    def test_events_of_nonsense_do_no_harm(self):
        self.events("--rounds", "1", "--seeds", "0")
        nonsense = ["", "null", "[]", "{}", "[" * 100000, '{"attempt": -1, "round": 1e308}',
                    '{"attempt": [[]], "source": null, "path": "\\u001b[2J", "seq": {}}']
        with self.unchained() as db:
            types = [row[0] for row in db.execute("SELECT DISTINCT type FROM events")]
            for i, kind in enumerate([*types, "of another hone"]):
                for payload in nonsense[i % 3:]:
                    db.execute("INSERT INTO events(wall_ms, type, payload) VALUES (?, ?, ?)",
                               (2 ** 62, kind, payload))
        done = hone("run", self.task, "--rounds", "1", "--seeds", "0")
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        with self.unchained() as db:    # a session whose target was lost
            db.execute("DELETE FROM events WHERE type = 'session'")
        done = hone("run", self.task, "--rounds", "1", "--seeds", "0")
        self.assertIn(done.returncode, (0, 1, 2, 3), done.stderr)

    def test_tells_of_each_question_to_a_model(self):
        script, config = self.task / "script", FOLDER / "conf" / "hone" / "config.ini"
        script.write_text("=== planner\ntitle: Wider tiles\nwhat: TILE_N is 128\n"
                          "=== rewriter\n<<<<<<< SEARCH\nTILE_N = 64\n=======\nTILE_N = 128\n"
                          ">>>>>>> REPLACE\n")
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("[model script]\napi = command\ncommand = /usr/bin/python3 "
                          f"{pathlib.Path(__file__).parent / 'scripted.py'} "
                          f"{script} {script}.state\n")
        try:
            done = hone("run", self.task, "--proposer", "script", "--rounds", "1", "--seeds", "0")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for role in ("planner", "rewriter"):
                self.assertRegex(done.stdout, rf"{role} +asks script, about [0-9]+ tokens")
                self.assertRegex(done.stdout,
                                 rf"{role} +script, tokens in not reported, tokens out not "
                                 r"reported, cost not reported, [0-9.]+ s")
            self.assertIn("attempt 1", done.stdout)
        finally:
            config.unlink()

    PLAN = "title: Wider tiles\nwhat: TILE_N is 128\n"
    EDIT = "<<<<<<< SEARCH\nTILE_N = 64\n=======\nTILE_N = 128\n>>>>>>> REPLACE\n"

    def person(self, text, *args):
        return subprocess.run([HONE, "run", str(self.task), "--proposer", "human", "--rounds", "1",
                               "--seeds", "0", *args],
                              env=ENV, input=text, capture_output=True, text=True, timeout=240)

    def test_a_person_answers_through_a_pipe(self):
        done = self.person(f"I do not know.\n.\n{self.PLAN}.\n{self.EDIT}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("write the answer; a line with nothing but a dot"), 3)
        self.assertIn("That could not be used", done.stdout)
        self.assertIn("TILE_N = 64", done.stdout)
        self.assertRegex(done.stdout, r"best .* attempt 1")

    def test_a_person_who_stops_answering_ends_the_run(self):
        done = self.person(f"{self.PLAN}.\n")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the input ended before the question was answered", done.stdout)
        lines = self.person(self.PLAN + ".\n" + self.EDIT, "--json", "--fresh").stdout.splitlines()
        asked = [event for event in map(json.loads, lines) if event["event"] == "question"]
        self.assertEqual([event["role"] for event in asked], ["planner", "rewriter"])
        self.assertIn("Wider tiles", asked[1]["prompt"])

    def test_nobody_to_answer_is_said_at_once(self):
        done = hone("run", self.task, "--proposer", "human")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nobody can answer", done.stderr)

    def test_a_person_answers_at_a_terminal(self):
        leader, follower = os.openpty()
        process = subprocess.Popen([HONE, "run", str(self.task), "--proposer", "human",
                                    "--rounds", "1", "--seeds", "0"], env=ENV, stdin=follower,
                                   stdout=subprocess.PIPE,
                                   text=True, start_new_session=True)
        os.close(follower)
        said = []
        for answer in (self.PLAN + ".\n", self.EDIT + "\x04"):     # a dot, or Ctrl-D
            for line in process.stdout:
                said.append(line)
                if "write the answer" in line:
                    break
            os.write(leader, answer.encode())
        said += list(process.stdout)
        self.assertEqual(process.wait(), 0, "".join(said))
        process.stdout.close()
        os.close(leader)
        self.assertRegex("".join(said), r"best .* attempt 1")

    BEAM = ["--search", "beam:2,2", "--seeds", "0,21", "--rounds", "1"]

    def test_several_directions_as_text_say_whose_each_line_is(self):
        said = hone("run", self.task, *self.BEAM).stdout
        self.assertRegex(said, r"round 1   lane 1  plan       of #0: ")
        self.assertRegex(said, r"round 1   lane 2  plan       of #0: ")
        self.assertRegex(said, r"round 1   lane 1  rewrite    \+\d+ -\d+ in ")
        for attempt in (1, 2):
            self.assertRegex(said, rf"#{attempt}      verify     lane {attempt}: ")
            self.assertEqual(len(re.findall(rf"#{attempt}      verify     seed 21 ", said)), 1)
            self.assertEqual(len(re.findall(rf"#{attempt}      verify     correct on 2 of 2 ",
                                            said)), 1)
            self.assertEqual(len(re.findall(rf"#{attempt}      decide     ", said)), 1)
        self.assertRegex(said, r"round 1           decide     2 ok; goes on from #\d")
        self.assertNotIn("#-1", said)

    def test_several_directions_as_events(self):
        events = self.events(*self.BEAM)
        kinds = [event["event"] for event in events]
        for kind in ("lanes", "lanes_assign", "lane", "lane_end", "beam"):
            self.assertIn(kind, kinds)
        lanes = events[kinds.index("lanes")]["lanes"]
        self.assertEqual(lanes, [{"parent": 0, "draw": 0}, {"parent": 0, "draw": 1}])
        of_lane = {event["attempt"]: event["lane"] for event in events
                   if event["event"] == "attempt" and event["attempt"]}
        self.assertEqual(of_lane, {1: 0, 2: 1})
        for event in events:
            if event["event"] == "sample" and event["attempt"]:
                self.assertEqual(event["lane"], of_lane[event["attempt"]])
        ends = [(event["step"], event["lane"]) for event in events if event["event"] == "lane_end"]
        self.assertEqual(len(ends), len(set(ends)))

    def test_one_of_several_directions_is_rejected_at_a_terminal(self):
        leader, follower = os.openpty()
        process = subprocess.Popen([HONE, "run", str(self.task), *self.BEAM, "--gate", "ask"],
                                   env=ENV,
                                   stdin=follower, stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        os.close(follower)
        said = []
        answers = ["y", "n", "n 3 no", "n 2 too small a step", "n 2 again"] + ["y"] * 7
        for answer in answers:
            for line in process.stdout:
                said.append(line)
                if "q ends:" in line:
                    break
            os.write(leader, (answer + "\n").encode())
        said += list(process.stdout)
        text = "".join(said)
        self.assertEqual(process.wait(), 0, text)
        process.stdout.close()
        os.close(leader)
        self.assertIn("plan is done. y approves the 2 lanes, n LANE REASON rejects one", text)
        self.assertEqual(text.count("say which of the 2 lanes"), 2)
        self.assertIn("lane 2 is closed: too small a step", text)
        self.assertIn("rewrite is done. y approves the 1 lane,", text)
        self.assertIn("decide     1 ok; goes on from #", text)
        self.assertIn("the one round is done", text)

    def with_helper(self):
        """A task whose kernel and reference use files beside them."""
        (self.task / "tiles.py").write_text("TILE_N = 64\n")
        (self.task / "kernel.py").write_text(
            KERNEL.replace("TILE_N = 64\n", "from tiles import TILE_N\n"))
        (self.task / "sums.py").write_text("def both(x, z):\n    return x + z\n")
        (self.task / "reference.py").write_text(
            REFERENCE.replace("import numpy as np\n", "import numpy as np\nfrom sums import both\n")
            .replace("return x + z", "return both(x, z)"))

    def test_an_export_has_all_files_and_runs(self):
        self.with_helper()
        self.events("--rounds", "1", "--seeds", "0")
        given = self.task / "given"
        done = hone("export", self.task, "--output", given)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("kernel.py", "reference.py", "tiles.py", "sums.py", "events.jsonl"):
            self.assertTrue((given / name).exists(), name)
        self.assertEqual([path.name for path in self.task.glob("given*")], ["given"])
        for name in ("tiles.py", "sums.py"):
            (self.task / name).unlink()
        again = json.loads(hone("sim", given, "--seeds", "0", "--json").stdout)
        self.assertTrue(again["correct"], again)
        attempts = [json.loads(path.read_text()) for path in (given / "attempts").glob("*.json")]
        for attempt in attempts:
            self.assertEqual([seed["seed"] for seed in attempt["seeds"]],
                             [0] if attempt["verdict"]["compiles"]["answer"] == "yes" else [])
            if attempt["verdict"]["correct"]["answer"] == "no":
                self.assertIsNone(attempt["speedup"])

    def test_a_killed_export_leaves_no_folder_that_looks_finished(self):
        self.events("--rounds", "1", "--seeds", "0")
        for turn in range(6):
            given = self.task / f"given{turn}"
            process = subprocess.Popen([HONE, "export", str(self.task), "--no-verify",
                                        "--output", str(given)],
                                       env=ENV, stdout=subprocess.DEVNULL)
            try:
                process.wait(0.01 + 0.02 * turn)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if given.exists():
                self.assertTrue((given / "README.md").exists())
                self.assertTrue((given / "session.json").exists())

    def test_a_file_that_changed_stops_a_run_that_does_not_say_which_counts(self):
        self.with_helper()
        first = self.events("--rounds", "1", "--seeds", "0")[-1]
        (self.task / "tiles.py").write_text("TILE_N = broken(\n")
        done = hone("run", self.task, "--rounds", "1")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("tiles.py changed on disk", done.stderr)
        self.assertRegex(done.stdout, r"files +-TILE_N = 64\n.*files +\+TILE_N = broken\(")
        kept = self.events("--rounds", "1", "--changed", "keep")[-1]
        self.assertEqual(kept["baseline"]["latency_us"], first["baseline"]["latency_us"])
        self.assertTrue(kept["best"]["correct"])
        with self.database() as db:
            self.assertFalse([row for row in db.execute(
                "SELECT payload FROM events WHERE type = 'note' AND payload LIKE '%broken%'")])

    def test_wrong_words_cost_nobody_a_session(self):
        self.events("--rounds", "1", "--seeds", "0")
        before = (self.session / "experiments.jsonl").read_text()
        for wrong in (["--seeds", "0,x"], ["--search", "beem"], ["--rounds", "0"],
                      ["--tolerance", "-1"], ["--device", "trn9"], ["--device", "trn1"]):
            done = hone("run", self.task, "--fresh" if wrong[0] in ("--seeds", "--search") else
                        "--json", *wrong)
            self.assertEqual(done.returncode, 2, wrong)
        self.assertEqual((self.session / "experiments.jsonl").read_text(), before)


if __name__ == "__main__":
    try:
        unittest.main(argv=[sys.argv[0], *("Run.test_" + name for name in sys.argv[2:])],
                      verbosity=2)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
