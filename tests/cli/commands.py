# SPDX-License-Identifier: Apache-2.0
"""hone's commands as a user calls them: commands.py PATH_OF_HONE [NAME OF A TEST]..."""

import json
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

from calling import (CARRIED, CURRENT, ENV, FOLDER, HELPER, HONE, ROUNDS, ROUNDS_OF,
                     LEGACY, REFERENCE, RUNNING, make_task, run)


class Commands(unittest.TestCase):
    maxDiff = None

    def assert_explains_words(self):
        for name in ("MFU", "roofline", "floor", "credible", "hbm_read_bytes"):
            done = run("explain", name)
            self.assertEqual(done.returncode, 0, name)
            self.assertGreater(len(done.stdout), 40, name)
        same = {run("explain", *name).stdout for name in
                (["hbm_read_bytes"], ["HBM read"], ["HBM", "read"], ["hbm-read"])}
        self.assertEqual(len(same), 1)

    def assert_explains_instructions(self):
        text = run("explain", "nisa.activation").stdout
        self.assertEqual(text, run("explain", "activation").stdout)
        self.assertIn("nisa.activation(dst, op, data, bias=None, scale=1.0, ", text)
        self.assertIn("legacy: nisa.activation(op, data, *, bias=None", text)
        self.assertIn("runs on Scalar", text)
        self.assertRegex(text, r"bias +a tile or a number, or None; read")
        self.assertEqual(run("explain", "elementwise").returncode, 2)

    def test_near_names_and_whole_lines_are_explained(self):
        for wrong, near in (("criticl", "critical"), ("sedd", "seed"), ("nc_matmull", "nc_matmul"),
                            ("menu_kep", "menu_keep")):
            done = run("explain", wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"Did you mean {near}?", done.stderr)
        # what hone check printed, with its source below, and the same without quotes
        line = "k.py:13:10: error: there is no name 'nl.ex' [hone-unknown-name]"
        whole = run("explain", line + "\n    13 |     nl.ex(t)\n       |       ^~")
        self.assertIn("hone-unknown-name: ", whole.stdout)
        self.assertEqual(run("explain", *line.split()).stdout, whole.stdout)
        # a line of the account of causes is in no table, its words are
        told = run("explain", "  Vector: busy 42 %, 50 % an operand, 2 % its own queue").stdout
        for word in ("Vector (", "busy (", "an operand (", "its own queue: "):
            self.assertIn(word, told)
        self.assertEqual(run("explain", "not one word of it").returncode, 2)

    def test_codes_are_explained(self):
        done = run("explain", "evrf007".upper())
        self.assertEqual(done.returncode, 0)
        self.assertIn("NCC_EVRF007: the program has more instructions", done.stdout)
        self.assertIn("Use larger tiles", done.stdout)
        self.assertIn("may not import", run("explain", "hone-candidate-import").stdout)
        words, codes = run("explain").stdout.split("\n\n")
        self.assertIn("HBM read (hbm_read_bytes): ", words)
        every = codes.splitlines()
        self.assertGreater(len(every), 50)
        self.assertEqual(len(every), len({line.split()[0] for line in every}))
        self.assert_explains_words()
        line = run("explain", "nrt_load status=1006 [NCC_ITEN404] (x.1) Internal tensorizer error")
        self.assertIn("NCC_ITEN404: the tensoriser failed", line.stdout)
        self.assertIn("out-of-bounds: the kernel accesses memory out of bounds", line.stdout)
        self.assertIn("on the device in time", run("explain", "NRT_TIMEOUT").stdout)
        self.assert_explains_instructions()
        unknown = run("explain", "NCC_IXYZ999")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("internal", unknown.stderr)

    def sim(self, task, *args, status=0, env=None):
        done = run("sim", task, "--json", *args, env=env)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return json.loads(done.stdout)


class Outputs(Commands):
    def shell(self, words):
        return subprocess.run(["sh", "-c", words, HONE], env=ENV, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=120)

    def test_what_could_not_be_written_is_not_done(self):
        for words in ("--help", "config", "explain MFU"):
            done = self.shell(f'"$0" {words} > /dev/full')
            self.assertEqual(done.returncode, 3, words)
            self.assertIn("not all of the output could be written: No space left", done.stderr)
        self.assertEqual(self.shell('"$0" --help | head -1').stderr, "")

    def test_closed_standard_files_take_nothing_else(self):
        """A file that is opened later must not get what is printed."""
        task = make_task("closed", CURRENT)
        for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
            done = self.shell(f'"$0" sim {task} --seeds 0 {closed}')
            self.assertEqual(done.returncode, 0, closed + done.stderr)
        self.assertEqual((task / "kernel.py").read_text(), CURRENT)


class Table(Commands):
    def test_help_names_every_command_and_every_option(self):
        text = run("--help").stdout
        names = re.findall(r"^  hone ([a-z]+)", text, re.M)
        self.assertTrue({"sim", "check", "help", "completion"} <= set(names))
        page = run("help", "--man").stdout
        completion = run("completion", "bash").stdout
        for name in names:
            done = run(name, "--help")
            self.assertEqual(done.returncode, 0)
            for line in (done.stdout + text).splitlines():
                self.assertLessEqual(len(line), 80, line)
            for option in re.findall(r"^  --([a-z-]+)", done.stdout, re.M):
                self.assertIn(f"--{option}", completion)
                if option != "help":
                    self.assertIn("\\-\\-" + option.replace("-", "\\-"), page)

    def test_completion_is_valid_for_bash(self):
        done = subprocess.run(["bash", "-c", f"eval \"$('{HONE}' completion bash)\"\n"
                               "COMP_WORDS=(hone sim --device t) COMP_CWORD=3; _hone;"
                               "echo ${COMPREPLY[@]}\n"
                               "COMP_WORDS=(hone s) COMP_CWORD=1; _hone; echo ${COMPREPLY[@]}"],
                              capture_output=True, text=True)
        first, second = done.stdout.splitlines()
        self.assertEqual(first, "trn1 trn2 trn3")
        self.assertIn("sim", second.split())
        self.assertEqual(run("completion", "tcsh").returncode, 2)
        self.assertEqual(run("completion", "fish").returncode, 0)

    def test_version_names_the_libraries(self):
        text = run("--version").stdout
        self.assertRegex(text, r"^hone \d+\.\d+\.\d+ \(\S+\)")
        for name in ("ncurses", "libcurl", "cJSON", "libssh2", "PCRE2", "SQLite", "libuv",
                     "OpenBLAS"):
            self.assertIn(name, text)

    def test_what_few_commands_need_is_not_loaded_at_the_start(self):
        if sys.platform != "linux":
            return
        done = run("--help", env={"LD_TRACE_LOADED_OBJECTS": "1"})  # the loader says and ends
        self.assertIn("libc.so", done.stdout)
        for name in ("curl", "ssh2", "crypto", "blas"):
            self.assertNotIn(name, done.stdout)

    def test_wrong_usage_says_what_was_meant(self):
        for args, part in ((["smi", "x"], "did you mean sim?"),
                           (["sim", "--devic=trn2", "x"], "did you mean --device?"),
                           (["sim"], "KERNEL|TASK is missing"),
                           (["sim", "a", "b"], "one argument too many: 'b'"),
                           (["sim", "silu", "--device", "trn9"], "trn1|trn2|trn3"),
                           (["sim", "silu", "--seeds", "1,x"], "--seeds"),
                           (["sim", "silu", "--seeds", ""], "--seeds"),
                           (["sim", "silu", "--tolerance", "small"], "--tolerance"),
                           (["sim", "silu", "--json=1"], "takes no value"),
                           (["sim", "silu", "--device"], "needs a value"),
                           (["sim", "silu", "--input", "x=4xx"], "--input"),
                           (["sim", "silu", "-x"], "no option -x"),
                           (["profile", "silu", "--as", ""], "--as: give a path"),
                           (["check", "/no/such/kernel.py"], "there is no task"),
                           (["check", "silu#-0"], "there is no task silu#-0"),
                           (["check", "bad\x1b[31mname"], "bad")):
            done = run(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(part, done.stderr)
            self.assertNotIn("\x1b", done.stderr)


    def test_a_session_is_not_taken_for_a_task_that_is_not_begun(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "session.db").write_text("")
            self.assertIn("is a session, not a task", run("run", folder).stderr)

    def test_a_folder_that_is_no_task_yet_says_how_to_begin(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, part in ((None, "beside it reference.py"),
                               ("reference.py", f"hone new {folder} writes a first kernel"),
                               ("add.py", "If add.py is the kernel"),
                               ("ref_add.py", "If add.py is the kernel"),
                               ("mul.py", "If one of add.py, mul.py is the kernel")):
                if name:
                    pathlib.Path(folder, name).write_text(
                        "" if name.startswith("ref") else "import nki\n")
                for command in ("run", "sim"):
                    done = run(command, folder)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("is not a task yet: it has no kernel.py", done.stderr)
                    self.assertIn(part, done.stderr)


class Sim(Commands):
    def test_an_imported_file_that_cannot_be_read_is_said_to_be_so(self):
        for number, make in enumerate((lambda at: at.mkdir(), lambda at: at.symlink_to(at.name))):
            kernel = CURRENT.replace("import nki\n", "import nki\nfrom khelp import load\n", 1)
            folder = make_task(f"unread{number}",
                               kernel.replace("nisa.dma_copy(dst=tile", "load(dst=tile"))
            make(folder / "khelp.py")
            done = run("sim", folder)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stdout + done.stderr, "cannot (read|open) [^ ]*khelp.py")
            shutil.rmtree(folder)

    def test_a_kernel_imports_from_files_and_folders_beside_it(self):
        for place, statement in (("helper.py", "from helper import load"),
                                 ("parts/helper.py", "from parts.helper import load")):
            kernel = CURRENT.replace("import nki\n", f"import nki\n{statement}\n", 1)
            folder = make_task("several", kernel.replace("nisa.dma_copy(dst=tile", "load(dst=tile"))
            (folder / place).parent.mkdir(exist_ok=True)
            (folder / place).write_text(HELPER)
            done = run("sim", folder, "--json")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            told = run("sim", folder).stdout  # what the helper costs, where it is called
            self.assertRegex(told, r"\n +[1-9][0-9.]*%  DMA +[0-9]+  (\w+\.)?load\(dst=tile")
            self.assertRegex(told, r"line \d+ of helper\w*\.py dma_copy DMA in")
            shutil.rmtree(folder)

    def test_a_kernel_in_a_package_imports_from_all_of_it(self):
        kernel = CURRENT.replace("import nki\n", "import nki\nfrom ..common.helper import load\n",
                                 1)
        package = FOLDER / "package"
        for name in ("common", "kernels"):
            (package / name).mkdir(parents=True)
            (package / name / "__init__.py").touch()
        (package / "__init__.py").touch()
        (package / "common" / "helper.py").write_text(HELPER)
        (package / "kernels" / "double.py").write_text(
            kernel.replace("nisa.dma_copy(dst=tile", "load(dst=tile"))
        (package / "kernels" / "double_numpy.py").write_text(REFERENCE)
        done = run("sim", package / "kernels" / "double.py", "--json",
                   "--reference", package / "kernels" / "double_numpy.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_packages_need_no_mark(self):
        kernel = CURRENT.replace("import nki\n", "import nki\nfrom ..common.helper import load\n",
                                 1)
        package = FOLDER / "unmarked"
        for name in ("common", "kernels"):
            (package / name).mkdir(parents=True)
        (package / "common" / "helper.py").write_text(HELPER)
        (package / "kernels" / "double.py").write_text(
            kernel.replace("nisa.dma_copy(dst=tile", "load(dst=tile"))
        (package / "kernels" / "double_numpy.py").write_text(REFERENCE)
        done = run("sim", package / "kernels" / "double.py", "--json",
                   "--reference", package / "kernels" / "double_numpy.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def causes_add_up(self, causes, latency_us):
        path = sum(row["us"] for row in causes["segments"])
        path += causes["others_us"] + causes["launch_us"]
        self.assertAlmostEqual(path, latency_us, delta=0.1)
        for lane in causes["lanes"]:
            us = lane["busy_us"] + lane["lead_us"] + lane["tail_us"] + causes["launch_us"]
            self.assertAlmostEqual(us + sum(lane["idle_us"].values()), latency_us, delta=0.1)
        self.assertLess(len(causes["text"]), 2000)

    def test_both_dialects_are_correct_and_have_all_keys(self):
        for name, kernel in (("legacy", LEGACY), ("current", CURRENT)):
            out = self.sim(make_task(name, kernel))
            self.assertEqual(list(out), [
                "kernel", "function", "device", "dialect", "release", "compiles", "correct",
                "credible", "wall", "seeds", "latency_us", "low_us", "high_us", "floor_us",
                "floor_split_us", "floor_any_us", "instructions", "cores", "predicted_us",
                "metrics", "causes", "diagnostics", "elapsed_s"])
            self.assertEqual(out["dialect"], name)
            self.assertEqual(out["release"], None if name == "legacy" else "0.7")
            self.causes_add_up(out["causes"], out["latency_us"])
            self.assertIs(out["compiles"], True)
            self.assertIs(out["correct"], True)
            self.assertIs(out["credible"], True)
            self.assertEqual([row["seed"] for row in out["seeds"]], [0, 21, 42, 63, 84])
            self.assertTrue(all(row["rel_l2"] < 1e-6 for row in out["seeds"]))
            self.assertGreater(out["latency_us"], out["floor_us"])
            self.assertGreater(out["floor_any_us"], 0)
            self.assertGreaterEqual(out["floor_split_us"], out["floor_any_us"])
            self.assertGreaterEqual(out["floor_us"], out["floor_split_us"])
            self.assertGreaterEqual(out["instructions"], 12)
            self.assertGreater(out["metrics"]["total_time"], 0)
            self.assertGreater(out["elapsed_s"]["total"], 0)

    def test_a_demanded_wall_stands_or_nothing_runs(self):
        task = make_task("legacy", LEGACY)
        out = self.sim(task, "--seeds", "3", env={"HONE_WALL_LEVEL": "limits"})
        self.assertEqual(out["wall"], "limits")
        self.assertIn(self.sim(task, "--seeds", "3")["wall"],
                      ("limits", "landlock", "namespaces", "bubblewrap"))
        done = run("sim", task, env={"HONE_WALL_LEVEL": "bubblewrap", "PATH": "/nowhere"})
        self.assertEqual(done.returncode, 3)
        self.assertIn("install bubblewrap", done.stderr)

    def test_the_text_says_the_same(self):
        done = run("sim", make_task("legacy", LEGACY), "--seeds", "7")
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("compiles  yes", "correct   yes: 1 seed", "credible  yes", "(modelled)",
                     "nl.load"):
            self.assertIn(part, done.stdout)

    def cases(self, file):
        """{name: None or the failure's message} of a JUnit file, and its suite."""
        suite = xml.etree.ElementTree.parse(file).getroot().find("testsuite")
        rows = {case.get("name"): case[0].get("message") if len(case) else None
                for case in suite.findall("testcase")}
        self.assertEqual(int(suite.get("tests")), len(rows))
        return rows, suite

    def test_a_latency_above_the_limit_fails(self):
        folder = make_task("limit", CURRENT)
        fine = run("sim", folder, "--fail-above", "1s")
        self.assertEqual(fine.returncode, 0, fine.stderr)
        self.assertIn("limit     yes", fine.stdout)
        slow = run("sim", folder, "--fail-above", "1 us", "--json")
        self.assertEqual(slow.returncode, 1)
        self.assertRegex(slow.stderr, r"too slow: [\d.]+ µs is above 1 µs")
        answer = json.loads(slow.stdout)
        self.assertTrue(answer["correct"])
        self.assertIn("too slow", answer["diagnostics"][0]["message"])
        for wrong in (["--fail-above", "400"], ["--fail-above", "1us", "--no-time"]):
            self.assertEqual(run("sim", folder, *wrong).returncode, 2, wrong)

    def test_junit_has_what_the_text_has(self):
        folder, file = make_task("junit <&>", CURRENT), FOLDER / "junit.xml"
        self.assertEqual(run("sim", folder, "--junit", file, "--fail-above", "1us").returncode, 1)
        rows, suite = self.cases(file)
        self.assertEqual([name for name, why in rows.items() if why], ["latency at most 1 µs"])
        self.assertEqual(len(rows), 9)
        self.assertEqual(suite.get("failures"), "1")
        self.assertIn("junit <&>", suite.find("testcase").get("classname"))
        latency = suite.find("properties/property[@name='latency_us']")
        self.assertGreater(float(latency.get("value")), 1)

    def test_junit_says_why_something_was_skipped(self):
        folder, file = make_task("junit_skipped", CURRENT), FOLDER / "skipped.xml"
        self.assertEqual(run("sim", folder, "--no-verify", "--junit", file).returncode, 0)
        self.assertEqual(self.cases(file)[0]["correct"], "not asked")

    def test_junit_of_a_wrong_kernel_and_of_a_broken_reference(self):
        file = FOLDER / "wrong.xml"
        wrong = make_task("junit_wrong", CURRENT.replace("nl.multiply", "nl.add"))
        self.assertEqual(run("sim", wrong, "--junit", file).returncode, 1)
        self.assertIn("relative L2", self.cases(file)[0]["correct for seed 0"])
        broken = make_task("junit_broken", CURRENT, "raise OSError('gone')\n")
        self.assertEqual(run("sim", broken, "--junit", file).returncode, 2)
        self.assertIn("gone", self.cases(file)[0]["evaluation"])
        self.assertEqual(run("sim", wrong, "--junit", FOLDER / "none" / "x.xml").returncode, 3)

    def test_parts_can_be_left_out(self):
        task = make_task("legacy", LEGACY)
        out = self.sim(task, "--no-verify")
        self.assertIsNone(out["correct"])
        self.assertEqual(out["seeds"], [])
        self.assertGreater(out["latency_us"], 0)
        out = self.sim(task, "--no-time", "--seeds", "5,6")
        self.assertIsNone(out["latency_us"])
        self.assertEqual([row["seed"] for row in out["seeds"]], [5, 6])

    def test_a_wrong_kernel_fails(self):
        out = self.sim(make_task("wrong", LEGACY.replace("tile, factor", "tile, 2.0")), status=1)
        self.assertIs(out["compiles"], True)
        self.assertIs(out["correct"], False)
        self.assertAlmostEqual(out["seeds"][0]["rel_l2"], 1 / 3, places=5)
        self.assertIn("not correct:", out["diagnostics"][-1]["message"])

    def test_a_copy_of_the_input_is_not_credible(self):
        out = self.sim(make_task("copy", LEGACY.replace("value=scaled", "value=tile")), status=1)
        self.assertIs(out["credible"], False)

    def test_numbers_that_hang_on_the_order_of_rounds_are_named(self):
        for size in ("64", "8"):  # rounds that are evaluated, and rounds that are copies
            kernel = CARRIED.replace("value=scaled", "value=carry").replace("64", size)
            out = self.sim(make_task("order" + size, kernel, RUNNING.replace("64", size)))
            self.assertIs(out["correct"], True)
            found = [one for one in out["diagnostics"] if one["code"] == "hone-order"]
            self.assertEqual([kernel.splitlines()[one["line"] - 1].strip() for one in found],
                             ["carry[...] = nl.add(nl.copy(carry), scaled)"])
            self.assertIn("output 0 has other numbers", found[0]["message"])
        # A sum in two statements is the same in any order.
        out = self.sim(make_task("sum", CARRIED))
        self.assertEqual([one["code"] for one in out["diagnostics"]], ["hone-carried-value"])

    def test_rounds_that_the_inputs_tell_differ_from_seed_to_seed(self):
        task = make_task("rounds", ROUNDS, ROUNDS_OF)
        out = self.sim(task)
        self.assertIs(out["correct"], True)
        note, = [one for one in out["diagnostics"] if one["code"] == "hone-rounds-of-inputs"]
        self.assertIn("fori_loop", ROUNDS.splitlines()[note["line"] - 1])
        (task / "reference.py").write_text(ROUNDS_OF.replace("n[0, 0]", "min(n[0, 0], 5)"))
        out = self.sim(task, status=1)  # where there are more
        wrong = [row["seed"] for row in out["seeds"] if row["rel_l2"] > 1e-3]
        self.assertNotIn(0, wrong)
        self.assertTrue(wrong)
        # What the device computes is found by executing it.
        (task / "reference.py").write_text(ROUNDS_OF)
        (task / "kernel.py").write_text(ROUNDS.replace("    r = ", """\
    nisa.tensor_scalar(dst=c, data=c, op0=nl.multiply, operand0=1.0)
    r = """))
        out = self.sim(task)
        self.assertIs(out["correct"], True)
        self.assertIn("hone-rounds-of-inputs", [one["code"] for one in out["diagnostics"]])

    def test_the_tolerance_can_be_set(self):
        near = LEGACY.replace("tile, factor", "tile, 3.001")
        self.assertIs(self.sim(make_task("near", near), status=1)["correct"], False)
        self.assertIs(self.sim(make_task("near", near), "--tolerance", "1e-3")["correct"], True)
        own = make_task("own", near, REFERENCE + "\nTOLERANCE = 1e-3\n")
        self.assertIs(self.sim(own)["correct"], True)

    def test_64_bit_inputs_arrive_as_32_bit(self):
        wide = REFERENCE.replace(".astype(np.float32), 3.0", ", 3.0")
        self.assertIs(self.sim(make_task("wide64", CURRENT, wide))["correct"], True)
        many = REFERENCE.replace("np.random.normal(size=(128, 256)).astype(np.float32)",
                                 "np.full((128, 256), 1 << 40)")
        done = run("sim", make_task("many64", CURRENT, many))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("int64", done.stderr)

    def test_inputs_can_stand_for_a_reference(self):
        kernel = make_task("bare", LEGACY, None) / "kernel.py"
        out = self.sim(kernel, "--input", "x=128x256:float32", "--input", "factor=3.0")
        self.assertIsNone(out["correct"])
        self.assertIs(out["credible"], True)
        done = run("sim", kernel)
        self.assertEqual(done.returncode, 2)
        self.assertIn("x, factor", done.stderr)

    def test_generations_differ(self):
        task = make_task("legacy", LEGACY)
        times = {name: self.sim(task, "--device", name, "--no-verify") for name in ("trn1", "trn2")}
        self.assertEqual(times["trn1"]["device"], "trn1")
        self.assertNotEqual(times["trn1"]["latency_us"], times["trn2"]["latency_us"])

    def test_pessimistic(self):
        task = make_task("unfavourable", LEGACY)
        usual, worse = [self.sim(task, "--no-verify", *more) for more in ((), ("--pessimistic",))]
        rests = usual["metrics"]
        self.assertGreater(rests["fitted_rules_percent"] + rests["guessed_rules_percent"], 0)
        self.assertGreater(worse["latency_us"], usual["latency_us"])
        self.assertEqual(worse["instructions"], usual["instructions"])

    def test_a_link_to_a_file_stays_one(self):
        folder = make_task("links", CURRENT)
        for option, name in (("--junit", "linked.xml"), ("--profile", "linked.json")):
            target, link = FOLDER / f"own-{name}", FOLDER / name
            link.symlink_to(target.name)
            self.sim(folder, "--no-verify", option, link)
            self.assertTrue(link.is_symlink())
            self.assertGreater(target.stat().st_size, 100)

    def test_a_profile_goes_into_a_pipe(self):
        done = run("sim", make_task("piped", CURRENT), "--no-verify", "--json", "--profile",
                   "/dev/stderr")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stderr)["format"], "hone-profile")

    def test_of_several_kernels_one_is_named(self):
        twice = CURRENT.replace("def kernel", "def twice")
        folder = make_task("two_kernels", twice + "\n\n" + CURRENT.split("\n\n\n", 1)[1])
        for command in (["sim", folder, "--no-verify"], ["check", folder]):
            done = run(*command)
            self.assertIn(f"hone {command[0]}: kernel is taken; --kernel-name takes another one: "
                          "twice", done.stderr)
            self.assertEqual(json.loads(run(*command, "--json").stdout)["function"], "kernel")
        self.assertIn("(kernel, current", run("sim", folder, "--no-verify").stdout)
        named = run("sim", folder, "--no-verify", "--kernel-name", "twice")
        self.assertIn("(twice, current", named.stdout)
        for command in ("sim", "check", "run"):
            done = run(command, folder, "--kernel-name", "thrice")
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("there is no function 'thrice'", done.stderr)
            self.assertIn("there is twice, kernel", done.stderr)
        self.assertFalse((folder / ".hone").exists())

    def test_a_kernel_that_a_function_makes_has_the_name_it_is_given(self):
        head, body = CURRENT.split("\n\n\n", 1)
        body = "".join("    " + line if line.strip() else line
                       for line in body.splitlines(True))
        made = "\n\n".join([head, "def make():\n" + body.rstrip() + "\n    return kernel",
                            "first = make()\nsecond = make()\n"])
        folder = make_task("made", made)
        for command in ("sim", "check"):
            done = run(command, folder, "--json")
            self.assertEqual(json.loads(done.stdout)["function"], "second", done.stderr)
        self.assertIn("(first, current", run("sim", folder, "--kernel-name", "first").stdout)
        self.assertIn("correct   yes", run("sim", folder, "--kernel-name", "make").stdout)

    def test_a_session_keeps_the_kernel_it_was_begun_with(self):
        twice = CURRENT.replace("def kernel", "def twice")
        folder = make_task("session_of_one", twice + "\n\n" + CURRENT.split("\n\n\n", 1)[1])
        begun = run("run", folder, "--kernel-name", "twice", "--rounds", "1", "--json")
        self.assertEqual(begun.returncode, 0, begun.stderr)
        events = [json.loads(line) for line in begun.stdout.splitlines()]
        self.assertEqual(next(e for e in events if e["event"] == "session")["function"], "twice")
        again = run("run", folder, "--rounds", "1", "--json")
        self.assertEqual(again.returncode, 0, again.stderr)
        functions = {e.get("function") for e in map(json.loads, again.stdout.splitlines())
                     if e["event"] == "session"}
        self.assertLessEqual(functions, {None, "twice"})
        other = run("run", folder, "--kernel-name", "kernel", "--rounds", "1")
        self.assertEqual(other.returncode, 2, other.stdout)
        self.assertIn("--kernel-name twice", other.stderr)

    def test_the_profile_is_a_file(self):
        file = FOLDER / "profile.json"
        self.sim(make_task("legacy", LEGACY), "--no-verify", "--profile", file)
        profile = json.loads(file.read_text())
        self.assertEqual(profile["format"], "hone-profile")
        self.assertTrue(profile["spans"])
        self.assertTrue(all(start <= end for *_, start, end in profile["spans"]))
        self.assertFalse(list(FOLDER.glob(".hone-profile-*")))
        done = run("sim", FOLDER / "legacy", "--profile", "/no/such/folder/p.json")
        self.assertEqual(done.returncode, 3)


class Files(Commands):
    """--input from files and --save-outputs; the interpreter that runs this file may lack numpy."""

    @staticmethod
    def npy(name, descr, shape, data, order=False):
        text = repr({"descr": descr, "fortran_order": order, "shape": shape}).encode()
        text += b" " * (-(len(text) + 11) % 64) + b"\n"
        path = FOLDER / name
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data)
        return path

    def setUp(self):
        self.kernel = make_task("files", CURRENT, None) / "kernel.py"
        numbers = [(i * 37 % 101 - 50) / 8 for i in range(128 * 256)]      # bfloat16 holds them all
        self.floats = struct.pack(f"<{len(numbers)}f", *numbers)
        self.codes = b"".join(self.floats[i + 2:i + 4] for i in range(0, len(self.floats), 4))
        self.tripled = struct.pack(f"<{len(numbers)}f", *(3 * x for x in numbers))

    def run_on(self, spec, *args):
        return run("sim", self.kernel, "--input", f"x={spec}", "--input", "factor=3", "--json",
                   *args)

    def test_numbers_come_from_files_and_go_to_files(self):
        raw = FOLDER / "x.bin"
        raw.write_bytes(self.floats)
        file = self.npy("x.npy", "<f4", (128, 256), self.floats)
        for spec in (file, f"{file}:float32", f"{file}:128x256", f"{raw}:128x256:float32",
                     f"{raw}:float32:128x256"):
            done = self.run_on(spec, "--save-outputs", FOLDER / "made" / "outputs")
            self.assertEqual(done.returncode, 0, done.stderr)
            row, = json.loads(done.stdout)["outputs"]
            self.assertEqual((row["name"], row["seed"], row["dtype"], row["shape"]),
                             ("output_0", None, "float32", [128, 256]))
            saved = pathlib.Path(row["file"]).read_bytes()
            self.assertEqual(saved[:6], b"\x93NUMPY")
            self.assertIn(b"'<f4', 'fortran_order': False, 'shape': (128, 256, )", saved[:128])
            self.assertEqual(saved[128:], self.tripled)
            (FOLDER / "made" / "outputs" / "output_0.npy").unlink()

    def test_types_numpy_lacks_travel_as_codes(self):
        for name, descr in (("u.npy", "<u2"), ("v.npy", "|V2")):
            file = self.npy(name, descr, (128, 256), self.codes)
            done = self.run_on(f"{file}:bfloat16", "--save-outputs", FOLDER)
            self.assertEqual(done.returncode, 0, done.stderr)
            row, = json.loads(done.stdout)["outputs"]
            self.assertEqual(row["dtype"], "bfloat16")
            saved = pathlib.Path(row["file"]).read_bytes()
            self.assertIn(b"'<u2'", saved[:128])
            self.assertEqual(len(saved), 128 + len(self.codes))

    def test_every_seed_of_a_reference_has_its_folder(self):
        out = self.sim(make_task("seeded", CURRENT), "--seeds", "3,4", "--save-outputs",
                       FOLDER / "s")
        self.assertEqual(sorted(row["seed"] for row in out["outputs"]), [3, 4])
        self.assertEqual(sorted(path.name for path in (FOLDER / "s").iterdir()),
                         ["seed_3", "seed_4"])

    def test_files_that_cannot_be_used_are_named_with_the_reason(self):
        x = self.floats
        cut = FOLDER / "cut.npy"
        cut.write_bytes(b"\x93NUMPY\x01\x00\xff\xffab")
        for spec, part in (
                (FOLDER / "no.npy", "No such file"), (FOLDER, "--input must look like"),
                (self.npy("d.npy", "<f8", (128, 256), x + x), "float64, which the device does not"),
                (self.npy("f.npy", "<f4", (128, 256), x, True), "columns first"),
                (self.npy("e.npy", ">f4", (128, 256), x), "big-endian"),
                (self.npy("v.npy", "|V2", (128, 256), self.codes), "does not say what"),
                (self.npy("s.npy", [("a", "<f4")], (128, 256), x), "structures"),
                (self.npy("c.npy", "<c8", (128, 128), x), "none that a kernel takes"),
                (self.npy("n.npy", "<f4", (0, 5), b""), "empty"),
                (self.npy("m.npy", "<f4", (1,) * 9, x), "8 dimensions"),
                (self.npy("t.npy", "<f4", (128, 256), x[:-1]), "131071 bytes"),
                (cut, "cut off"), (f"{self.npy('b.npy', '<f4', (128, 256), x)}:bfloat16",
                                   "float32"),
                (f"{FOLDER}/b.npy:256x128", "another shape"), (f"{FOLDER}/b.npy:", "--input must"),
                (f"{FOLDER}/b.npy:float32:float32", "--input must"),
                (f"{self.kernel}.bin:2:float32", "no such file")):
            done = self.run_on(spec)
            self.assertEqual(done.returncode, 2, (spec, done.stdout, done.stderr))
            self.assertIn(part, done.stderr)
        raw = FOLDER / "raw.bin"
        raw.write_bytes(x)
        self.assertIn("say which", self.run_on(raw).stderr)
        self.assertIn("131072 bytes", self.run_on(f"{raw}:128x255:float32").stderr)
        self.assertIn("has no parameter z", self.run_on(raw, "--input", "z=1").stderr +
                      self.run_on("128x256", "--input", "z=1").stderr)
        self.assertEqual(run("check", self.kernel, "--input", f"x={FOLDER}/d.npy").returncode, 2)

    def test_outputs_that_cannot_be_written_are_a_failure(self):
        done = self.run_on("128x256:float32", "--save-outputs", self.kernel)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("kernel.py", done.stderr)
        done = self.run_on("128x256:float32", "--save-outputs", FOLDER, "--no-verify")
        self.assertIn("--save-outputs needs", done.stderr)


class BadInputBase(Commands):
    def expect(self, done, status, *parts):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stdout + done.stderr)


class BadInput(BadInputBase):
    def test_a_kernel_that_does_not_parse(self):
        task = make_task("syntax", LEGACY.replace("i_row = nl", "i_row = = nl"))
        self.expect(run("sim", task), 1, "kernel.py:8:", "error:", "compiles  no")
        self.expect(run("check", task), 1, "kernel.py:8:", "error:", "^")

    def test_a_kernel_that_breaks_a_limit(self):
        task = make_task("limit", LEGACY.replace("nl.arange(128)", "nl.arange(256)"),
                         REFERENCE.replace("(128, 256)", "(256, 256)"))
        self.expect(run("sim", task), 1, "kernel.py:11:", "256", "128")
        self.expect(run("check", task), 1, "kernel.py:11:", "256", "128")

    def test_a_kernel_that_asks_for_terabytes(self):
        huge = LEGACY.replace("    return y", "    z = nl.ndarray((1 << 42, 16), dtype=x.dtype, "
                              "buffer=nl.shared_hbm)\n    nl.store(z[i_row, i_col], value=tile)\n"
                              "    return z")
        done = run("sim", make_task("huge", huge))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_a_kernel_that_is_no_text(self):
        task = make_task("zero", LEGACY + "\0 what comes here would never be read\n")
        for command in ("sim", "check", "run"):
            self.expect(run(command, task), 2, "kernel.py holds a zero byte")

    def test_references_that_fail(self):
        for name, change, part in (
                ("raises", ("return x *", "raise ValueError('no') or x *"),
                 "reference.py:7: ValueError: no"),
                ("nan", ("return x *", "return np.nan *"), "NaN"),
                ("shape", ("return x * np.float32(factor)", "return x[:, :7]"), "shape"),
                ("nothing", ("    return x *", "    x *"), "returned nothing"),
                ("surrogate", ("return x *", "raise ValueError('\\udcff\\x1b[') or x *"),
                 "ValueError"),
                ("wide", ("3.0]", "10 ** 40]"), "an integer of 133 bits"),
                ("deep", ("3.0]", "np.zeros((1,) * 9)]"), "9 dimensions"),
                ("many", ("3.0]", "*range(70)]"), "71 inputs"),
                ("words", ("3.0]", "'\\udcff']"), "which is no text")):
            done = run("sim", make_task(name, LEGACY, REFERENCE.replace(*change)))
            self.expect(done, 1 if name == "shape" else 2, part)
            self.assertNotIn("Traceback", done.stdout + done.stderr)

    def test_garbage_of_the_reference_does_not_matter(self):
        noise = ("import os\n"
                 "os.write(1, b'@hone {\"event\":\"result\"}\\n\\xff\\x00 {\"id\":1}\\n')\n")
        self.sim(make_task("noise", LEGACY, noise + REFERENCE + "print('{\"ok\": 1}' * 1000)\n"))

    def test_no_python_is_said(self):
        task = make_task("nopython", LEGACY, REFERENCE + "# not in the cache\n")
        done = run("sim", task, env={"HONE_PYTHON": "/no/such/python"})
        self.expect(done, 3, "/no/such/python", "apt install python3-numpy")

    def test_nothing_is_left_when_hone_is_killed(self):
        slow = "import time\n" + REFERENCE.replace("    return [np",
                                                   "    time.sleep(600)\n    return [np")
        task = make_task("killed", LEGACY, slow)
        process = subprocess.Popen([HONE, "sim", str(task)], env=ENV, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.wait_for(lambda: self.using(task / "reference.py"))  # Python is there
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.wait_for(lambda: self.using(task) == 0)

    def test_a_runner_that_nobody_hears_ends(self):
        process = subprocess.Popen([HONE, "runner"], env=ENV, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.close()
        self.assertEqual(process.wait(30), 1)
        process.stdin.close()

    def wait_for(self, condition):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.05)
        self.fail("it did not come to that")

    @staticmethod
    def using(task):
        count = 0
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                count += str(task).encode() in path.read_bytes()
            except OSError:
                pass
        return count


class Endless(BadInputBase):
    def test_a_kernel_that_loops_without_end(self):
        task = make_task("endless", LEGACY.replace("    return y",
                                                   "    while True:\n        y = y"))
        self.expect(run("sim", task), 1, "kernel.py:", "compiles  no")


class Check(Commands):
    def test_junit_has_a_case_for_each_error(self):
        file = FOLDER / "check.xml"
        folder = make_task("check_junit", CURRENT.replace("op0=nl.multiply", "op0=nl.no_such"))
        self.assertEqual(run("check", folder, "--junit", file).returncode, 1)
        suite = xml.etree.ElementTree.parse(file).getroot().find("testsuite")
        self.assertGreater(int(suite.get("failures")), 0)
        self.assertRegex(suite.find("testcase").get("name"), r"line \d+: ")
        self.assertEqual(run("check", make_task("check_fine", CURRENT), "--junit", file).returncode,
                         0)
        suite = xml.etree.ElementTree.parse(file).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "0"))

    def test_a_good_kernel_is_silent_and_needs_python_once(self):
        task = make_task("checked", CURRENT)
        done = run("check", task)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        done = run("check", task, env={"HONE_PYTHON": "/no/such/python"})
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        out = json.loads(run("check", task, "--json").stdout)
        self.assertIs(out["compiles"], True)
        self.assertEqual(out["diagnostics"], [])

    def test_without_shapes_the_source_is_checked(self):
        kernel = make_task("shapeless", LEGACY, None) / "kernel.py"
        done = run("check", kernel)
        self.assertEqual(done.returncode, 0)
        self.assertIn("x, factor", done.stderr)
        done = run("check", kernel, "--input", "x=128x256:float32", "--input", "factor=2.0",
                   "--json")
        self.assertIs(json.loads(done.stdout)["compiles"], True)

    def test_without_shapes_limits_hold_up_to_where_they_are_needed(self):
        wide = CURRENT.replace("    for n", "    z = nl.ndarray((256, 64), dtype=nl.float32, "
                               "buffer=nl.sbuf)\n    nisa.memset(dst=z, value=0.0)\n    for n")
        wide = wide.replace("x.shape, dtype=x.dtype", "(128, 256), dtype=nl.float32")
        done = run("check", make_task("wide", wide, None) / "kernel.py")
        self.assertEqual(done.returncode, 1)
        self.assertIn("kernel.py:9:", done.stdout)
        self.assertIn("256", done.stdout)
        kernel = make_task("early", CURRENT, None) / "kernel.py"
        self.assertEqual(run("check", kernel).stdout, "")

    def test_findings_have_a_place(self):
        task = make_task("unknown", LEGACY.replace("nl.multiply", "nl.multiplied"))
        out = json.loads(run("check", task, "--json").stdout)
        first = out["diagnostics"][0]
        self.assertEqual(sorted(first), ["code", "column", "file", "line", "message", "severity"])
        self.assertEqual((first["line"], first["severity"]), (12, "error"))
        self.assertTrue(first["file"].endswith("unknown/kernel.py"))


if __name__ == "__main__":
    try:
        names = sys.argv[2:] or ["Outputs", "Table", "Sim", "Files", "BadInput", "Check"]
        unittest.main(argv=[sys.argv[0], *names], verbosity=1)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
