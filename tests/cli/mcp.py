#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hone mcp from outside, with an agent by script: tools, kernels that are handed in: good, wrong,
cheating, abandoned; gates, and what survives a kill."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import tempfile
import time
import unittest

from serving import (BEFORE, CHEATS, ENV, FOLDER, HERE, HONE, KERNEL, MIDDLE, NARROW, REFERENCE,
                     WIDE, WRONG, Bench, Serving, hone, until)


class Mcp(Serving):
    def test_only_kernels_of_the_task_are_read(self):
        """A client that keeps its agent in a folder keeps it there: hone does not read for it what
        is elsewhere."""
        agent = self.agent("--gate", "auto")
        outside = FOLDER / "outside.py"
        outside.write_text(WIDE)
        (self.task / "link.py").symlink_to(outside)
        (self.task / "input.py").symlink_to("/dev/stdin")
        (self.task / "notes.txt").write_text(WIDE)
        (self.task / "tries").mkdir()
        (self.task / "tries" / "wide.py").write_text(WIDE)
        (self.task / "tries" / "more").symlink_to(FOLDER)
        os.mkfifo(self.task / "pipe.py")
        for file in (str(outside), "../outside.py", "link.py", "tries/more/outside.py", "notes.txt",
                     "/etc/passwd", "/dev/stdin", "/dev/fd/0", "input.py"):
            for tool, more in (("check", {}), ("evaluate", {}), ("query", {"recipe": "lines"}),
                               ("submit", {"title": "x", "wait_s": 0})):
                said = agent.tool(tool, file=file, **more)
                self.assertRegex(said, "is not read|cannot read", (tool, file))
        self.assertIn("pipe", agent.tool("check", file="pipe.py"))
        said = agent.tool("check", file=str(outside))
        self.assertIn(str(self.task), said)
        self.assertIn("the text itself", said)
        for file in ("", "none.py", "kernel.py/x.py"):
            self.assertIn("cannot read" if file else "is not read", agent.tool("check", file=file))
        for file in ("kernel.py", "tries/wide.py", "tries/../kernel.py",
                     str(self.task / "tries/wide.py")):
            self.assertEqual(agent.tool("check", file=file)["errors"], 0, file)
        self.assertIn("nothing was handed in", agent.tool("wait"))
        self.assertEqual(agent.close(), 0)

    def test_what_can_be_read(self):
        agent = self.agent()
        tools = agent.ask("tools/list")["result"]["tools"]
        self.assertEqual(len(tools), len({tool["name"] for tool in tools}))
        for tool in tools:
            self.assertEqual(tool["inputSchema"]["type"], "object")
            for schema in (tool["inputSchema"], tool["outputSchema"]):
                self.assertGreaterEqual(set(schema["properties"]), set(schema.get("required", [])))
            self.assertTrue(tool["outputSchema"]["properties"], tool["name"])
        profile = agent.tool("profile")
        self.assertEqual(profile["lines"][0]["us"], max(row["us"] for row in profile["lines"]))
        self.assertIn("hbm_read_bytes", profile["metrics"])
        self.assertIn("sbuf_peak_bytes", agent.tool("memory")["metrics"])
        self.assertGreater(agent.tool("bound")["floor_us"], 0)
        self.assertIn(agent.tool("cost", words="vector")["numbers"][0]["known"],
                      ("documented", "measured", "fitted", "guessed"))
        self.prices(agent)
        asked = agent.tool("query")
        self.assertIn("Instruction", [row["name"] for row in asked["tables"]])
        self.assertIn("waits", [row["name"] for row in asked["recipes"]])
        self.assertIn("dst", agent.tool("explain", what="nc_matmul")["text"])
        self.assertTrue(agent.tool("menu")["try"])
        self.assertEqual(agent.tool("history")["all"], 1)
        agent.tool("notes"), agent.tool("experiences")
        self.assertEqual(agent.tool("compare", a=0)["b_times_as_fast"], 1)
        uris = [row["uri"] for row in agent.ask("resources/list")["result"]["resources"]]
        for uri in uris:
            self.assertTrue(agent.ask("resources/read", uri=uri)["result"]["contents"][0]["text"])
        read = agent.ask("resources/read", uri="hone://kernel")["result"]["contents"][0]["text"]
        self.assertEqual(read, KERNEL)
        stored = agent.ask("resources/read", uri="hone://attempt/0/profile")["result"]
        json.loads(stored["contents"][0]["text"])
        for row in agent.ask("prompts/list")["result"]["prompts"]:
            self.assertTrue(agent.ask("prompts/get", name=row["name"])["result"]["messages"])
        status = agent.tool("status")
        self.assertEqual(status["gates"]["decide"], "ask")
        self.assertFalse(status["approved_by_nobody"])
        self.assertEqual(status["proposer"], "agents")
        self.idle(agent)
        self.assertEqual(agent.close(), 0)

    def prices(self, agent):
        """They are the clock's, and say what they rest on."""
        price = agent.tool("cost", op="nl.add")
        took = agent.tool("query", kernel=WIDE, sql="SELECT MIN(duration_ns) FROM Instruction "
                          "WHERE nki_op = 'tensor_tensor'")["rows"][0]
        self.assertAlmostEqual(price["ns"], float(list(took.values())[0] if isinstance(took, dict)
                                                  else took[0]), delta=0.01)
        self.assertEqual([row["engine"] for row in price["alternatives"]][0], "gpsimd")
        self.assertTrue(price["because_of"][0]["source"])
        narrow = agent.tool("cost", op="nc_matmul", shape="128x128x512", dtype="bfloat16")
        wide = agent.tool("cost", op="nc_matmul", shape="128x128x512")
        self.assertAlmostEqual(wide["alternatives"][0]["times_as_fast"], wide["ns"] / narrow["ns"])
        small, large = (agent.tool("cost", op="dma_copy", shape=f"128x{n}") for n in (64, 4096))
        self.assertGreater(large["gigabytes_per_s"], small["gigabytes_per_s"])
        self.assertGreater(small["until_usable_ns"], small["ns"])
        for nonsense in ({}, {"op": "zz"}, {"op": "add", "words": "dma"}, {"op": "add",
                         "shape": "129x1"}, {"op": "add", "shape": "1x"}, {"op": "add",
                         "engine": "tensor"}, {"op": "add", "dtype": "q"}, {"op": "dma_copy",
                         "memory": "psum"}, {"op": "nc_matmul", "shape": "128x128x513"},
                         {"op": "add", "shape": "128x99999999"}, {"op": "register_load"},
                         {"op": "exp", "func": "zz"}, {"op": "nc_transpose", "shape": "1x129"}):
            self.assertIsInstance(agent.tool("cost", **nonsense), str, nonsense)

    def idle(self, agent):
        def ticks():
            text = pathlib.Path(f"/proc/{agent.process.pid}/stat").read_text()
            return sum(map(int, text.rsplit(")", 1)[1].split()[11:13]))
        if not os.path.exists("/proc/self/stat"):
            return

        def rests():
            before = ticks()
            time.sleep(0.7)
            return ticks() == before
        until(rests, "a server that does nothing takes no time of the processor")

    def test_long_work_is_heard_of(self):
        agent = self.agent(revision=BEFORE)
        agent.tool("profile", "first")  # waits until the first kernel is measured
        agent.tool("submit", "handed in", title="wider tiles", kernel=WIDE, wait_s=1)
        heard = {}
        for note in agent.notes:
            told = note["params"]
            heard.setdefault(told["progressToken"], []).append(told["message"])
        self.assertTrue(any("the first kernel: profile: seed" in text
                            for text in heard["first"]), heard)
        for texts in heard.values():
            self.assertTrue(all(a != b for a, b in zip(texts, texts[1:])), heard)
        self.assertEqual(agent.close(), 0)

    def test_evaluations_are_those_of_hone_sim(self):
        agent = self.agent(revision=BEFORE)
        (self.task / "wide.py").write_text(WIDE)
        found = agent.tool("evaluate", "token", file=str(self.task / "wide.py"))
        self.assertTrue([note for note in agent.notes
                         if note["method"] == "notifications/progress"])
        steps = [note["params"]["progress"] for note in agent.notes]
        self.assertEqual(steps, sorted(set(steps)))
        said = json.loads(hone("sim", self.task / "wide.py", "--reference",
                               self.task / "reference.py", "--json").stdout)
        self.assertEqual(found["latency_us"], said["latency_us"])
        self.assertEqual(found["verdict"]["correct"], "yes")
        several = agent.tool("evaluate", kernels=[KERNEL, WIDE, WRONG, "def x(:"])["kernels"]
        self.assertEqual([row["verdict"].get("correct") for row in several],
                         ["yes", "yes", "no", None])
        self.assertEqual(several[3]["verdict"]["compiles"], "no")
        self.assertEqual(several[0]["tried_before"].split(" ")[:2], ["same", "as"])
        checked = agent.tool("check", kernel=WIDE.replace("a, b)", "a, q)"))
        self.assertEqual(checked["verdict"]["compiles"], "no")
        self.assertTrue(checked["findings"][0]["line"])
        self.assertEqual(agent.tool("check", kernel=WIDE)["errors"], 0)
        tile = "nl.ndarray((nl.par_dim(128), TILE_N), dtype=x.dtype, buffer=nl.sbuf)"
        codes = [row["code"] for row in
                 agent.tool("check", kernel=WIDE.replace("nl.add(a, b)", tile))["findings"]]
        self.assertIn("hone-unwritten", codes)
        for cheat in (CHEATS[0], CHEATS[1], CHEATS[3]):
            codes = [row["code"] for row in agent.tool("check", kernel=cheat)["findings"]]
            self.assertTrue([code for code in codes if code.startswith("hone-candidate")], cheat)
        self.assertEqual(agent.tool("history")["all"], 1)
        self.assertEqual(agent.close(), 0)

    def test_checks_come_from_one_child(self):
        agent = self.agent()
        mixed = WIDE.replace("nl.add(a, b)", "nl.add(a, q)")
        endless = WIDE.replace("    return y", "    k = 0\n    while k < 1:\n        k = k - 1\n"
                               "    return y")
        for kernel in (WIDE, mixed, endless, "def x(:", "", WIDE):
            (self.task / "other.py").write_text(kernel)
            said = json.loads(hone("check", self.task / "other.py", "--strict", "--json",
                                   "--reference", self.task / "reference.py").stdout)
            found = agent.tool("check", kernel=kernel or "\n")
            own = [(row.get("code"), row.get("line")) for row in found["findings"]
                   if not row.get("code", "").startswith("hone-candidate")]
            self.assertEqual(own, [(row["code"] or None, row["line"] or None)
                                   for row in said["diagnostics"]])
            self.assertEqual(found["verdict"].get("compiles") == "yes", said["compiles"] is True)
        child = self.runners(agent)
        self.assertEqual(len(child), 1)
        agent.tool("check", kernel=WIDE)
        self.assertEqual(self.runners(agent), child)
        os.kill(child[0], signal.SIGKILL)
        self.assertEqual(agent.tool("check", kernel=WIDE)["verdict"]["compiles"], "yes")
        number = agent.begin("tools/call", name="check", arguments={"kernel": endless})
        agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": number}})
        first, second = (agent.begin("tools/call", name="check", arguments={"kernel": kernel})
                         for kernel in (endless, WIDE))  # two at once
        answers = {message["id"]: message["result"]["structuredContent"] for message in
                   (agent.read(), agent.read())}
        self.assertEqual(answers[first]["verdict"]["compiles"], "no")
        self.assertEqual(answers[second]["verdict"]["compiles"], "yes")
        self.assertEqual(agent.close(), 0)

    @staticmethod
    def runners(agent):
        """Children of a server that are hone as a runner, or the wall that it is in."""
        if not os.path.exists("/proc/self/stat"):
            return [0]
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                text = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                if int(text[1]) == agent.process.pid and text[0] != "Z":
                    found.append(int(folder.name))
            except OSError:
                pass
        return found

    def test_profiles_answer_questions(self):
        agent = self.agent(revision=BEFORE)
        lines = {row["text"].split(" ")[0]: row["line"] for row in agent.tool("profile")["lines"]}
        load = agent.tool("why", line=lines["a"])
        self.assertEqual(load["instructions"][0]["op"], "dma_copy")
        self.assertEqual(load["moves"][0]["bytes"], 128 * 1024 * 4)
        added = agent.tool("why", line=lines["both"])
        self.assertIn(lines["b"], [row["line"] for row in added["waits_for"]])
        self.assertIn(lines["both"], [row["line"] for row in load["waited_for_by"]] +
                      [row["line"] for row in
                       agent.tool("why", line=lines["b"])["waited_for_by"]])
        chain = agent.tool("why", instruction=added["instructions"][0]["first_id"])
        self.assertEqual(chain["line"], lines["both"])
        starts = [row["starts_us"] for row in [chain] + chain["because_of"]]
        self.assertEqual(starts, sorted(starts, reverse=True))
        self.assertGreater(len(starts), 1)
        for nonsense in ({}, {"line": 1, "instruction": 1}, {"line": 1}, {"instruction": 10 ** 8}):
            self.assertIsInstance(agent.tool("why", **nonsense), str)
        moved = agent.tool("what_if", line=lines["both"], to="gpsimd")
        now = agent.tool("history")["attempts"][0]["latency_us"]
        self.assertAlmostEqual(moved["latency_us"], now, places=2)
        other = KERNEL.replace("nl.add(a, b)", "nki.isa.tensor_tensor(a, b, nl.add, "
                               "engine=nki.isa.gpsimd_engine)").replace(
                               "import neuronxcc.nki.lang", "import neuronxcc.nki.isa\n"
                               "import neuronxcc.nki.lang")
        self.assertAlmostEqual(moved["changes"][0]["latency_us"],
                               agent.tool("evaluate", kernel=other)["latency_us"], places=2)
        self.assertTrue(agent.tool("what_if")["infinitely_fast"])
        self.assertIn("cannot run", agent.tool("what_if", line=lines["a"], to="vector"))
        self.assertIn("belong together", agent.tool("what_if", line=3))
        newer = agent.tool("migrate", to="0.7")
        self.assertEqual(newer["from"], "legacy")
        self.assertIn("import nki\n", newer["source"])
        self.assertNotIn("affine_range", newer["source"])
        self.assertTrue(newer["changes"])
        self.assertTrue(newer["identical"])
        self.assertTrue(newer["diff"].startswith("@@"), newer["diff"])
        self.assertNotIn("hone-", json.dumps(newer))  # no file of ours
        broken = KERNEL.replace("nl.add", "nl.ad")
        for tool, more in (("migrate", {"to": "0.9"}), ("migrate", {"from": "x"}),
                           ("migrate", {"kernel": "def f(:"}), ("migrate", {"kernel": "x = 1"}),
                           ("query", {"kernel": broken, "recipe": "lines"}),
                           ("query", {"recipe": "x"}), ("query", {"sql": "SELECT x"}),
                           ("query", {"sql": "SELECT * FROM x"}),
                           ("why", {"line": 9, "kernel": broken}),
                           ("what_if", {"kernel": "def f(:"})):
            said = json.dumps(agent.tool(tool, **more))  # no file and no option of ours
            self.assertNotRegex(said, "/|hone[- ]|--", (tool, more))
        self.assertNotIn(".py", json.dumps(agent.tool("migrate", kernel=broken)))
        count = agent.tool("query", sql="SELECT COUNT(*) FROM Instruction", kernel=WIDE)
        self.assertEqual(count["rows"], [[8]])
        self.assertEqual(agent.tool("query", sql="SELECT status FROM attempts")["rows"], [["keep"]])
        names = [table["name"] for table in agent.tool("query")["tables"]]
        self.assertIn("Dependence", names)
        self.assertTrue(agent.tool("query", recipe="critical", rows=2)["rows"])
        self.assertIn("only read", agent.tool("query", sql="DELETE FROM attempts"))
        self.assertIn("no recipe", agent.tool("query", recipe="odd"))
        self.assertIn("not both", agent.tool("query", recipe="lines", sql="SELECT 1"))
        self.assertEqual(agent.close(), 0)
        self.assertFalse(list(pathlib.Path(tempfile.gettempdir()).glob(
            f"hone-{agent.process.pid}-agent-*")))

    def test_questions_in_sql_are_no_options(self):
        agent = self.agent()
        asked = agent.tool("query", sql="-- how many\nSELECT 1 AS one")
        self.assertEqual(asked["rows"], [[1]])
        for sql in ("--help", "--csv", "-h", "--output=x", "--attempt=7", "-"):
            said = agent.tool("query", sql=sql)
            self.assertRegex(said, "there is no question|cannot be answered|on standard input", sql)
        self.assertEqual(agent.close(), 0)

    def test_pages_are_looked_up(self):
        agent = self.agent()
        page = agent.tool("docs", what="nisa.activation")["pages"][0]
        self.assertIn("engine", page["page"])
        self.assertIn("tiling", [row["name"] for row in agent.tool("docs", what="tiling")["pages"]])
        self.assertGreater(len(agent.tool("docs", what="transpose psum")["pages"]), 1)
        self.assertIn("nisa.activation", agent.tool("docs", what="nisa.activaton"))
        self.assertIn("release", agent.tool("docs", what="tiling", release="99"))
        self.assertEqual(agent.close(), 0)

    def test_plans_go_before_their_kernels(self):
        agent = self.agent("--gate", "auto", name="one")
        done = agent.tool("propose", title="wider tiles", what="TILE_N = 512", size=0.5)
        self.assertEqual((done["state"], done["plan_title"]), ("under way", "wider tiles"), done)
        self.assertIn("its kernel", done["waits_for"])
        self.assertIn("plan", done["next"])
        self.assertIn("no kernel", agent.tool("submit", plan=7, kernel=WIDE))
        self.assertIn("needs", agent.tool("submit", kernel=WIDE))
        agent.process.kill()  # the plan waits for its kernel again
        agent.process.wait()
        agent = self.agent("--gate", "auto", name="two")
        self.assertIn("its kernel", agent.tool("wait", submission=1)["waits_for"])
        done = agent.tool("submit", plan=1, kernel=WIDE)
        self.assertEqual((done["status"], done["author"]), ("keep", "agent/one"), done)
        self.assertEqual(agent.tool("history")["attempts"][1]["author"], "agent/two")
        self.assertEqual(agent.close(), 0)
        again = self.agent("--gate", "auto")
        self.assertEqual(again.tool("wait", submission=1)["status"], "keep")
        self.assertEqual(again.tool("status")["submitted"], 1)
        self.assertEqual(again.close(), 0)

    def test_work_is_given_up_when_it_is_cancelled(self):
        agent = self.agent()
        agent.tool("profile")
        number = agent.begin("tools/call", name="evaluate", arguments={"kernels": [WIDE] * 8})
        agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": number, "reason": "enough"}})
        agent.tool("status")
        agent.begin("tools/call", name="evaluate", arguments={"kernel": WIDE})
        self.assertEqual(agent.close(), 0)  # does not wait for what nobody reads
        self.assertNotIn(number, [note.get("id") for note in agent.notes])

    def test_few_children_work_at_once_and_no_agent_waits_for_all_of_another(self):
        first = self.agent(revision=BEFORE, name="one")
        first.tool("profile")
        second = self.agent(revision=BEFORE, name="two")
        until(lambda: second.tool("status")["agents"] == 2, "both work in one session")

        def children():
            """Of the session's holder."""
            found = []
            for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
                try:
                    fields = stat.read_text().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                found += [stat.parent.name] if int(fields[1]) == first.process.pid else []
            return len(found)
        before = children()
        asked = [first.begin("tools/call", name="evaluate", arguments={"kernels": [
            KERNEL + f"# {call} {number}\n" for number in range(4)]}) for call in range(2)]
        asked += [first.begin("tools/call", name="query", arguments={"recipe": "waits"})
                  for _ in range(3)]
        mine = second.tool("evaluate", kernel=WIDE)  # though eight kernels came before
        self.assertGreater(mine["latency_us"], 0)
        self.assertLessEqual(children() - before, 2 * max(os.cpu_count(), 2))
        first.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": asked[1]}})
        kernels = first.end(asked[0])["result"]["structuredContent"]["kernels"]
        self.assertEqual([row["verdict"]["correct"] for row in kernels], ["yes"] * 4)
        heard = [note["id"] for note in first.notes if "id" in note]
        for number in set(asked[2:]) - set(heard):
            self.assertIn("rows", first.end(number)["result"]["structuredContent"])
        self.assertEqual(second.close(), 0)
        self.assertEqual(first.close(), 0)

    def test_kernels_are_judged_like_any_other(self):
        agent = self.agent("--gate", "auto", name="odd \x1b[2J name")
        done = agent.tool("submit", title="wider tiles", what="TILE_N = 512", why="fewer pieces",
                          kernel=WIDE, metric="dma_transfer_count", size=0.5)
        self.assertEqual((done["state"], done["status"]), ("ended", "keep"), done)
        self.assertEqual(done["author"], "agent/odd2Jname")
        self.assertEqual(set(done["verdict"]) & {"compiles", "correct", "credible", "faster"},
                         {"compiles", "correct", "credible", "faster"})
        self.assertGreater(done["vs_parent"], 1)
        self.assertEqual(agent.tool("history")["attempts"][1]["status"], "keep")
        wrong = agent.tool("submit", title="wrong", kernel=WRONG)
        self.assertEqual((wrong["status"], wrong["verdict"]["correct"]), ("failed", "no"))
        again = agent.tool("submit", title="again", kernel=WIDE)
        self.assertEqual(again["rejected_by"], "hone")
        for cheat in CHEATS:
            self.assertNotEqual(cheat, WIDE)
            done = agent.tool("submit", title="cheat", kernel=cheat)
            self.assertIn(done["status"], ("failed", "suspect", "rejected"), done)
        status = agent.tool("status")
        self.assertEqual(status["incumbent"]["attempt"], 1)
        self.assertTrue(status["approved_by_nobody"])
        self.assertEqual(agent.close(), 0)
        ran = json.loads(hone("run", self.task, "--rounds", "1", "--json",
                              "--proposer", "agents").stdout.splitlines()[-1])
        self.assertEqual(ran["best"]["attempt"], 1)

    def test_exported_attempts_count_their_seeds_and_a_wrong_one_is_not_faster(self):
        drawn = "[np.random.rand(128, 1024).astype(np.float32) for _ in range(2)]"
        self.assertIn(drawn, REFERENCE)
        (self.task / "reference.py").write_text(REFERENCE.replace(
            "    return " + drawn, "    sign = -1 if 0.3 < np.random.rand() < 0.5 else 1\n"
            "    return [sign * one for one in " + drawn + "]"))
        agent = self.agent("--gate", "auto")
        wrong = agent.tool("submit", title="sizes alone",  # of the five seeds, 42 has a sign
                           kernel=WIDE.replace("nl.add(a, b)", "nl.add(nl.abs(a), b)"))
        self.assertEqual((wrong["status"], wrong["verdict"]["correct"]), ("failed", "no"))
        self.assertEqual(agent.tool("submit", title="wider", kernel=WIDE)["status"], "keep")
        self.assertEqual(agent.close(), 0)
        out = self.task / "out"
        done = hone("export", self.task, "--output", out, "--no-verify")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, bad, good = [json.loads((out / f"attempts/00{n}.json").read_text())
                            for n in range(3)]
        for one in (first, good):
            self.assertEqual([seed["seed"] for seed in one["seeds"]], [0, 21, 42, 63, 84])
            self.assertEqual({seed["passed"] for seed in one["seeds"]}, {"yes"})
            self.assertGreaterEqual(one["speedup"], 1)
        # Seeds beside the wrong one may have been at work when it was found.
        found = [(seed["seed"], seed["passed"]) for seed in bad["seeds"]]
        self.assertEqual(found[:3], [(0, "yes"), (21, "yes"), (42, "no")])
        self.assertEqual({passed for _, passed in found[3:]} | {"yes"}, {"yes"})
        self.assertIsNone(bad.get("speedup"))
        rows = [json.loads(line) for line in (out / "experiments.jsonl").read_text().splitlines()]
        self.assertEqual([row["status"] for row in rows],
                         ["baseline", "correctness_fail", "improved"])
        self.assertEqual([row["score"] >= 1 for row in rows], [True, False, True])
        asked = json.loads(hone("query", self.task, "SELECT speedup IS NULL, (SELECT count(*) "
                                "FROM seeds s WHERE s.attempt = a.attempt) FROM attempts a "
                                "ORDER BY attempt", "--json").stdout)
        self.assertEqual(asked["rows"], [[0, 5], [1, len(found)], [0, 5]])

    def test_a_kernel_that_cannot_be_read_back_is_no_verdict(self):
        """It is left in the log, which changes after it was read."""
        agent = self.agent("--gate", "auto")
        self.assertEqual(agent.tool("submit", title="wider", kernel=WIDE)["status"], "keep")
        self.assertEqual(agent.close(), 0)
        agent = self.agent("--gate", "auto")
        self.assertNotIn("trouble", agent.tool("status")["loop"])
        with contextlib.closing(sqlite3.connect(self.session / "session.db")) as log, log:
            log.execute("UPDATE events SET payload = replace(payload, 'nl.add', 'nl.odd') "
                        "WHERE type = 'attempt'")
        for name, arguments in (("check", {"attempt": 1}), ("evaluate", {"attempt": 1}),
                                ("compare", {"a": 0, "b": 1})):
            answer = agent.ask("tools/call", name=name, arguments=arguments)["result"]
            self.assertTrue(answer["isError"], (name, answer))
            self.assertIn("is damaged", answer["content"][0]["text"], name)
        self.assertIn("is damaged", agent.tool("status")["loop"]["trouble"])

    def test_another_session_in_the_place_of_its_own_is_not_asked(self):
        agent = self.agent("--gate", "auto")
        sql = "SELECT COUNT(*) FROM attempts"
        self.assertEqual(agent.tool("submit", title="wider", kernel=WIDE)["status"], "keep")
        self.assertEqual(agent.tool("query", sql=sql)["rows"], [[2]])
        other = self.session.with_name("other.db")
        shutil.copyfile(self.session / "session.db", other)
        other.rename(self.session / "session.db")
        answer = agent.ask("tools/call", name="query", arguments={"sql": sql})["result"]
        self.assertTrue(answer["isError"], answer)
        self.assertIn("removed or replaced", answer["content"][0]["text"])

    def test_gates_hold_and_a_kill_loses_nothing(self):
        agent = self.agent(revision=BEFORE)
        self.arrives(agent, title="wider tiles", kernel=WIDE)
        self.assertNotIn("incumbent", agent.tool("status"))
        queued = agent.tool("submit", title="after it", kernel=WRONG, wait_s=0)
        self.assertEqual(queued["state"], "queued")
        agent.process.kill()
        agent.process.wait()
        agent = self.agent("--gate", "auto")
        done = agent.tool("wait", submission=1)
        self.assertEqual((done["state"], done["status"]), ("ended", "keep"))
        self.assertEqual(agent.tool("wait", submission=2)["status"], "failed")
        self.assertEqual(agent.close(), 0)
        self.assertEqual(hone("session", "check", self.task).returncode, 0)

    def test_limits_are_the_servers(self):
        agent = self.agent("--gate", "auto", "--rounds", "1")
        self.assertEqual(agent.tool("submit", title="one", kernel=WIDE)["status"], "keep")
        last = agent.tool("submit", title="two", kernel=WIDE.replace("512", "256"))
        self.assertEqual(last["state"], "queued")
        self.assertIn("stopped", last["waits_for"])
        self.assertEqual(agent.close(), 0)

    def test_several_agents_share_a_session(self):
        first = self.agent("--gate", "auto", name="one")
        first.tool("profile")
        socket = self.session / "agents.sock"
        self.assertEqual(stat.S_IMODE(socket.stat().st_mode), 0o600)
        second, third = self.agent(name="two"), self.agent(revision=BEFORE, name="three")
        status = second.tool("status")
        self.assertEqual((status["held_by"], status["agents"]), ("hone mcp", 3))
        for _ in range(4000):  # more answers than a socket holds, before one is read
            second.line(b"[")
        self.assertEqual(second.tool("status")["agents"], 3)
        self.assertEqual(len(second.notes), 4000)
        done = second.tool("submit", title="wider tiles", kernel=WIDE)
        self.assertEqual((done["status"], done["author"]), ("keep", "agent/two"))
        self.assertEqual(first.tool("history")["attempts"][1]["author"], "agent/two")
        self.assertEqual(third.tool("submit", title="same", kernel=WIDE)["rejected_by"], "hone")
        self.assertEqual(second.close(), 0)
        first.process.kill()  # the third one holds the session from now on
        first.process.wait()
        until(lambda: self.held(third) == "hone mcp", "the third one holds the session")
        status = third.tool("status")
        self.assertEqual((status["agents"], status["incumbent"]["attempt"]), (1, 1))
        self.assertEqual(third.close(), 0)
        self.assertFalse(socket.exists())

    def test_a_full_session_says_so_until_somebody_leaves(self):
        first = self.agent()
        first.tool("profile")
        crowd, folder = [], os.open(self.session, os.O_RDONLY)
        for _ in range(15):
            crowd.append(socket.socket(socket.AF_UNIX))
            crowd[-1].connect(f"/proc/self/fd/{folder}/agents.sock")
        os.close(folder)

        def leaves(left):
            crowd.pop().close()
            until(lambda: first.tool("status")["agents"] == left, "one has left")
        until(lambda: first.tool("status")["agents"] == 16, "all joined")
        asked = {"name": "status", "arguments": {}}
        late, older = self.agent(name="late"), self.agent(revision=BEFORE, name="older")
        for answer in (older.first, late.ask("tools/call", **asked), older.ask("ping")):
            self.assertIn("16 agents work in this session", answer["error"]["message"])
        leaves(15)
        self.assertEqual(late.tool("status")["agents"], 16)
        self.assertIn("error", older.ask("tools/call", **asked))
        leaves(15)
        self.assertEqual(older.tool("status")["agents"], 16)  # how it began is not forgotten
        for one in crowd:
            one.close()
        for agent in (older, late, first):
            self.assertEqual(agent.close(), 0)

    def test_who_cannot_be_joined_is_named(self):
        other = subprocess.Popen([HONE, "run", str(self.task), "--gate", "ask", "--json"], env=ENV,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        other.stdout.readline()  # it waits for decisions that do not come
        agent = self.agent()
        status = agent.tool("status")
        self.assertTrue(status["read_only"], status)
        self.assertIn("process", status["held_by"])
        self.assertIn("open in", agent.tool("submit", title="x", kernel=WIDE))
        second = self.agent(revision=BEFORE)
        self.assertTrue(second.tool("status")["read_only"])
        other.kill()
        other.communicate()
        status = agent.tool("status")  # it takes the session over, where nobody else is left
        self.assertEqual((status["held_by"], status["read_only"]), ("hone mcp", False))
        status = second.tool("status")  # and this one joins it
        self.assertEqual((status["held_by"], status["agents"]), ("hone mcp", 2))
        self.assertEqual(second.close(), 0)
        self.assertEqual(agent.close(), 0)

    def test_a_person_decides_in_the_workbench(self):
        agent = self.agent(revision=BEFORE)
        self.arrives(agent, title="wider tiles", kernel=WIDE)
        bench = Bench(self.task)  # hone mcp gives it the session
        self.addCleanup(bench.end)
        until(lambda: self.held(agent) == "a workbench", "the workbench holds the session")
        self.assertEqual(agent.tool("wait", submission=1, wait_s=0)["state"], "under way")
        self.assertEqual(agent.tool("status")["proposer"], "rewriter")
        log = agent.ask("resources/read", uri="hone://log")["result"]["contents"][0]["text"]
        self.assertRegex(log, "(?s)agents propose while hone mcp.*rewriter proposes from here on")
        bench.decide(agent, "plan", b"a")
        bench.decide(agent, "rewrite", b"a")
        bench.decide(agent, "decide", b"")
        self.assertEqual(agent.tool("wait", wait_s=0)["state"], "under way")
        self.assertIn("a person", agent.tool("history")["attempts"][1]["awaits"])
        bench.press(b"a")
        self.assertEqual(agent.tool("wait", submission=1)["status"], "keep")
        self.no_more_of_its_own(agent, bench)
        self.arrives(agent, title="narrower", kernel=NARROW)
        bench.decide(agent, "plan", b"r")
        bench.press(b"too narrow\r")
        done = agent.tool("wait", submission=2)
        self.assertEqual((done["status"], done["rejected_by"]), ("rejected", "a person"))
        self.assertEqual(done["reason"], "too narrow")
        self.arrives(agent, title="in between", kernel=MIDDLE)
        bench.decide(agent, "plan", b"a")
        bench.decide(agent, "rewrite", b"e")
        until(lambda: "edit" in agent.tool("wait", submission=3, wait_s=0), "the person's edit")
        bench.decide(agent, "rewrite", b"a")
        bench.decide(agent, "decide", b"a")
        done = agent.tool("wait", submission=3)
        self.assertEqual((done["state"], done["edited_by"]), ("ended", "a person"), done)
        self.assertIn("+# by hand", done["edit"])
        self.assertNotIn("edit", agent.tool("wait", submission=1))
        kernel = agent.ask("resources/read", uri=f"hone://attempt/{done['attempt']}/kernel.py")
        self.assertTrue(kernel["result"]["contents"][0]["text"].startswith("# by hand\n"))
        bench.kill()
        until(lambda: self.held(agent) == "hone mcp", "the server holds the session again")
        self.assertEqual(agent.tool("wait", submission=2)["reason"], "too narrow")
        self.assertEqual(agent.close(), 0)

    def test_a_plan_of_the_menu_is_carried_out_by_the_rewriter(self):
        bench = Bench(self.task)
        self.addCleanup(bench.end)
        agent = self.agent(name="scout")
        until(lambda: self.held(agent) == "a workbench", "the workbench holds the session")
        bench.press(b"s")
        bench.decide(agent, "plan", b"")
        plans = agent.tool("menu")["plans"]
        self.assertTrue(plans)
        best = min(plans, key=lambda plan: plan["latency"])
        self.assertIn("key of menu's plans", agent.tool("propose", title="Mine", wait_s=0))
        self.assertEqual(agent.tool("status")["submitted"], 0)
        agent.tool("propose", title="From the menu", strategy=best["key"], wait_s=0)
        bench.press(b"r")
        bench.press(b"let the agent try\r")

        def asked():
            return "a person decides about it" in agent.tool("wait", wait_s=0)["waits_for"]
        until(asked, "the agent's plan is asked about")
        for step in ("plan", "rewrite", "decide"):
            bench.decide(agent, step, b"a")
        done = agent.tool("wait")
        self.assertEqual((done["status"], done["author"]), ("keep", "agent/scout"), done)
        self.assertGreater(done["vs_parent"], 1)
        self.assertEqual(agent.tool("history")["attempts"][1]["title"], "From the menu")
        self.assertEqual(agent.close(), 0)

    def test_workbench_and_agent_may_start_at_once(self):
        """An editor starts both; who opens the new session first does not matter."""
        for _ in range(4):
            shutil.rmtree(self.task / ".hone", ignore_errors=True)
            bench = Bench(self.task)
            self.addCleanup(bench.end)
            agent = self.agent()
            until(lambda: self.held(agent) == "a workbench", "the workbench holds the session")
            self.assertFalse(agent.tool("status")["read_only"])
            self.assertEqual(agent.close(), 0)
            bench.kill()

    @staticmethod
    def no_more_of_its_own(agent, bench):
        """Refuses what the rewriter would try next, if it has anything."""
        def rests():
            return agent.tool("status")["loop"]["waits"] in ("gate", "stopped")
        until(rests, "what the rewriter has")
        if agent.tool("status")["loop"]["waits"] == "gate":
            bench.decide(agent, "plan", b"r")
            bench.press(b"not now\r")

    def test_an_agents_program_is_a_model_and_measures_before_it_answers(self):
        config, seen = FOLDER / "config" / "hone" / "config.ini", self.task / "seen"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text("[model desk]\napi = command\n"
                          f"command = /usr/bin/python3 {HERE / 'at_the_desk.py'} {seen}\n")
        kernel = self.task / "kernel.py"
        kernel.write_text("from parts import twice  # noqa: F401\n" + kernel.read_text())
        (self.task / "parts.py").write_text("def twice(x):\n    return 2 * x\n")
        done = hone("run", self.task, "--proposer", "desk", "--rounds", "1", "--seeds", "0",
                    "--gate", "auto", "--json")
        config.unlink()
        self.assertTrue(seen.exists(), done.stdout + done.stderr)
        for line in seen.read_text().splitlines():
            saw = json.loads(line)
            self.assertGreaterEqual(set(saw["files"]), {"kernel.py", "reference.py", "docs.md",
                                                      "AGENTS.md", "parts.py"})
            self.assertIn("parts.py:\n\n   1  def twice(x):\n   2      return 2 * x\n",
                          saw["prompt"])
            self.assertIn("nl.load: ", saw["docs"])
            self.assertIn("Tiling: ", saw["docs"])
            self.assertTrue(saw["profile"]["lines"])
            self.assertEqual(saw["found"]["verdict"]["correct"], "yes")
            self.assertTrue(saw["status"]["read_only"])  # the run has the session
        best = json.loads(done.stdout.splitlines()[-1])["best"]
        self.assertEqual(best["attempt"], 1)
        self.assertEqual(best["latency_us"], saw["found"]["latency_us"])

    def test_configurations_of_clients(self):
        for client in ("claude", "cursor", "gemini", "kiro", "vscode"):
            told = json.loads(hone("mcp", self.task, "--print-config", client).stdout)
            entry = next(iter(told.values()))["hone"]
            self.assertEqual(entry["args"], ["mcp", str(self.task)])
            self.assertTrue(os.path.isabs(entry["command"]))
            self.assertEqual(entry.get("type"), {"cursor": "stdio", "vscode": "stdio"}.get(client))
        self.assertIn(f'args = ["mcp", "{self.task}"]',
                      hone("mcp", self.task, "--print-config", "codex").stdout)
        self.assertEqual(hone("mcp", self.task, "--print-config", "odd").returncode, 2)
        self.assertEqual(hone("mcp", FOLDER / "none").returncode, 2)


if __name__ == "__main__":
    unittest.main()
