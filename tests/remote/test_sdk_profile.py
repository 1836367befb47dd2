# SPDX-License-Identifier: Apache-2.0
"""What the profiler's files say: summaries with units, timelines of every form, cost per line,
bounds; and the latencies that neuron-bench leaves. The sample files are written here as the
documentation describes them."""

import io
import json
import math
import os
import shutil
import sys
import tempfile
import types
import unittest

from hone_runner.sdk import bench, keys, profile, summary, tables

SUMMARY = {
    "total_time": 0.01163, "total_exec_time": 0.0116, "total_active_time": 0.00979,
    "tensor_engine_active_time": 0.00961, "tensor_engine_active_time_percent": 0.827,
    "vector_engine_active_time_percent": 0.1347, "dma_active_time_percent": 0.174,
    "hbm_read_bytes": 335609856, "hbm_write_bytes": 67108864, "matmul_instruction_count": 24576,
    "hfu_estimated_percent": 0.4141, "mm_arithmetic_intensity": 682.6, "model_flops": 137438953472,
    "throttle_avg_util_limit_nc0_percent": 1.0, "throttle_active_nc0_time_ns": 737342,
    "peak_flops_bandwidth_ratio": 223.78, "compiler_version": "2.21.18209.0+043b1bf7",
    "instance_type": "trn1.2xlarge"}


def rows_of(found):
    return {name: (value, unit) for name, value, unit in found[0]}


class Summaries(unittest.TestCase):
    def test_log_lines_around_it_and_numbers_that_are_none(self):
        text = "INFO[0001] reading {{0,+,38}[9]}\n" + \
            json.dumps({"n_1234": dict(SUMMARY, transpose_flops=math.nan)}) + \
            "\nERRO[0012] Unable to process node with uid 1 for exec 6\n"
        nodes = summary.parse(text.encode())
        self.assertEqual(["n_1234"], [name for name, _ in nodes])
        found = rows_of(keys.read(nodes[0][1]))
        self.assertEqual((335609856.0, "bytes"), found["hbm_read_bytes"])
        self.assertNotIn("transpose_flops", found)

    def test_every_shape_is_read(self):
        for value in (SUMMARY, {"node": SUMMARY}, {"summary": [SUMMARY], "instruction": []}):
            self.assertEqual(1, len(summary.parse(json.dumps(value))))
        self.assertEqual([], summary.parse("no profile {\"a\": 1}"))
        self.assertEqual([], summary.parse("{" * 5000))

    def test_the_slowest_core_counts(self):
        nodes = [("a", dict(SUMMARY, total_exec_time=1e-3)), ("b", dict(SUMMARY,
                                                                        total_exec_time=2e-3))]
        self.assertEqual(2e-3, summary.slowest(nodes)["total_exec_time"])

    def test_fractions_become_percent_and_every_key_has_its_unit(self):
        found = rows_of(keys.read(SUMMARY))
        for name, value, unit in [
                ("hfu_estimated_percent", 41.41, "%"), ("tensor_engine_active_time_percent", 82.7,
                                                        "%"),
                ("throttle_avg_util_limit_nc0_percent", 100.0, "%"), ("total_time", 0.01163, "s"),
                ("throttle_active_nc0_time_ns", 737342.0, "ns"), ("mm_arithmetic_intensity", 682.6,
                                                                  "ratio"),
                ("model_flops", 137438953472.0, "flops"), ("matmul_instruction_count", 24576.0,
                                                           "count")]:
            self.assertAlmostEqual(value, found[name][0])
            self.assertEqual(unit, found[name][1])
        self.assertNotIn("compiler_version", found)

    def test_a_share_over_one_is_not_believed(self):
        summed = dict(SUMMARY, tensor_engine_active_time_percent=2.4,
                      tensor_engine_active_time=0.028)
        found, doubts = keys.read(summed)
        self.assertNotIn("tensor_engine_active_time_percent", [row[0] for row in found])
        self.assertIn("over 1", doubts[0])
        stated = dict(SUMMARY, tensor_engine_active_time_percent=82.7)
        self.assertAlmostEqual(82.63,
                               rows_of(keys.read(stated))["tensor_engine_active_time_percent"][0],
                               1)
        alone = {"total_time": 1.0, "vector_engine_active_time_percent": 37.8}
        self.assertAlmostEqual(37.8,
                               rows_of(keys.read(alone))["vector_engine_active_time_percent"][0])

    def test_the_time_of_the_instructions_comes_before_that_of_the_runtime(self):
        self.assertEqual("total_exec_time", keys.latency_us(SUMMARY)[1])
        self.assertAlmostEqual(33.85, keys.latency_us({"total_exec_time": 33.85e-6})[0])
        self.assertEqual("total_time", keys.latency_us({"total_time": 1e-5})[1])
        self.assertEqual((None, ""), keys.latency_us({"total_time": 0}))

    def test_keys_of_newer_schemas_get_a_unit_by_their_ending(self):
        found = rows_of(keys.read({"brand_new_percent": 0.5, "new_bytes": 3, "oddity": 4}))
        self.assertEqual({"brand_new_percent": (50.0, "%"), "new_bytes": (3.0, "bytes")}, found)


def table_rows():
    """Instructions and transfers as the tables of schema 7.4.0 have them."""
    where = "['/job/work/kernel/kernel.py:%d']"
    instructions = [
        {"start_ts": 1000, "end_ts": 3000, "engine": "tensor", "opcode": "MATMUL", "id": 1,
         "pcore_idx": 0, "nki_source_location": where % 12, "hbm_read_bytes": 0},
        {"start_ts": 2500, "end_ts": 4000, "engine": "Vector", "opcode": "TENSOR_TENSOR", "id": 2,
         "pcore_idx": 0, "nki_source_location": None,
         "bir_debug_info_source_location": "/x/kernel.py:14", "hbm_read_bytes": math.nan},
        {"start_ts": 1000, "end_ts": 1100, "engine": "sync", "opcode": "EVENT_SEMAPHORE", "id": 3,
         "pcore_idx": 0, "nki_source_location": "", "hbm_read_bytes": 0}]
    transfers = [
        {"start_ts": 0, "end_ts": 1000, "id": 7, "pcore_idx": 0, "source": "[[INPUT]]",
         "dest": "[SB]",
         "variable": "a", "transfer_bytes": 65536},
        {"start_ts": 4200, "end_ts": 5000, "id": 8, "pcore_idx": 0, "source": "[SB]",
         "dest": "[OUTPUT]",
         "variable": "out", "transfer_bytes": 65536}]
    flow = [{"in_table": "Instruction", "out_table": "DmaPacketAggregated", "in_id": 1,
             "out_id": 7}]
    return instructions, transfers, flow


class Timelines(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hone-sdk-")
        self.addCleanup(shutil.rmtree, self.folder)

    def json_file(self, value):
        path = os.path.join(self.folder, "profile.json")
        with open(path, "w") as file:
            json.dump(value, file)
        return path

    def parquet(self, contents):
        """A folder of tables, which a pandas of our own reads."""
        class Frame:
            def __init__(self, rows):
                self.rows = rows

            def head(self, count):
                return Frame(self.rows[:count])

            def to_dict(self, how):
                assert how == "records"
                return self.rows

        folder = os.path.join(self.folder, "data", "profiles", "global", "x@latest")
        os.makedirs(folder)
        for name in contents:
            open(os.path.join(folder, name + ".parquet"), "w").close()
        pandas = types.ModuleType("pandas")
        end = -len(".parquet")
        pandas.read_parquet = lambda path: Frame(contents[os.path.basename(path)[:end]])
        sys.modules.update(pandas=pandas, pyarrow=types.ModuleType("pyarrow"))
        self.addCleanup(lambda: [sys.modules.pop(name, None) for name in ("pandas", "pyarrow")])
        return self.folder

    def check_rows(self, found):
        rows = {row[1]: row for row in found["rows"]}
        self.assertEqual(["Tensor", "/job/work/kernel/kernel.py", 12, 1000.0, 3000.0],
                         [rows["MATMUL"][i] for i in (0, 2, 3, 4, 5)])
        self.assertEqual(14, rows["TENSOR_TENSOR"][3])
        self.assertEqual(["DMA in", 65536], [rows["a"][0], rows["a"][6]])
        self.assertEqual("DMA out", rows["out"][0])

    def test_parquet_tables_with_the_lines_of_transfers(self):
        instructions, transfers, flow = table_rows()
        folder = self.parquet({"Instruction_0": instructions[:1], "Instruction_1": instructions[1:],
                               "DmaPacketAggregated": transfers, "Flow": flow, "Summary": [SUMMARY],
                               "DmaPacket": transfers * 3,
                               "Warning": [{"message": "dropped events"}],
                               "Metadata": [{"profile_schema_version": "7.4.0"}]})
        found = tables.read("parquet", folder, 5e-6)
        self.check_rows(found)
        self.assertEqual(12, next(row[3] for row in found["rows"] if row[1] == "a"))
        self.assertEqual(("7.4.0", 6, ["dropped events"]),
                         (found["schema"], found["packets"], found["warnings"]))

    def test_a_schema_nobody_has_seen_needs_only_what_is_documented(self):
        rows = [{"start_ts": 5, "end_ts": 9, "engine": "tensor", "opcode": "MATMUL",
                 "new": object()},
                {"engine": "tensor"}, {"start_ts": 1, "engine": "quantum"}]
        folder = self.parquet({"Instruction": rows,
                               "Metadata": [{"profile_schema_version": "12.0.1"}]})
        found = tables.read("parquet", folder, 4e-9)
        self.assertEqual(1, len(found["rows"]))
        self.assertEqual("12.0.1", found["schema"])

    def test_no_pandas_is_said_with_what_to_do(self):
        sys.modules["pandas"] = None
        self.addCleanup(sys.modules.pop, "pandas")
        with self.assertRaisesRegex(tables.Unreadable, "pip install pandas pyarrow"):
            tables.read("parquet", self.folder, 1.0)

    def test_the_full_json_in_picoseconds(self):
        rows = [{"timestamp": 10 ** 9 + 0, "duration": 2000000, "label": "Tensor",
                 "opcode": "MATMUL",
                 "nki_source_location": "/job/kernel.py:12"},
                {"timestamp": 10 ** 9 + 2000000, "duration": 3000000, "label": "Scalar",
                 "opcode": "ACTIVATE"}]
        path = self.json_file({"instruction": rows, "dma": [], "metadata": [{}]})
        found = tables.read("json", path, 5e-6)
        self.assertEqual([0.0, 2000.0, 2000.0, 5000.0],
                         [found["rows"][i][k] for i in (0, 1) for k in (4, 5)])

    def test_the_full_json_with_rows_of_the_tables(self):
        instructions, transfers, _ = table_rows()
        path = self.json_file({"instruction": instructions, "dma": transfers})
        self.check_rows(tables.read("json", path, 5e-6))

    def test_files_that_are_no_profile(self):
        for text in ("", "{", "[]", '{"instruction": 3}', "\x00\xff"):
            path = os.path.join(self.folder, "x.json")
            with open(path, "w", encoding="latin-1") as file:
                file.write(text)
            with self.assertRaises(tables.Unreadable):
                tables.read("json", path, 1.0)

    def test_the_child_says_why_there_is_no_timeline(self):
        out = os.path.join(self.folder, "out.json")
        self.assertEqual(0, tables.main(["json", os.path.join(self.folder, "none"), "1.0", out]))
        with open(out) as file:
            self.assertIn("cannot be read", json.load(file)["unreadable"])


def timeline(rows, **more):
    found = {"rows": rows, "cores": 1, "instructions": len(rows), "packets": 1, "without_source": 0,
             "schema": "", "warnings": [], "errors": []}
    found.update(more)
    return found


class Profiles(unittest.TestCase):
    ROWS = [["DMA in", "a", "/j/kernel.py", 8, 0.0, 100.0, 4096, 1],
            ["Tensor", "MATMUL", "/j/kernel.py", 10, 50.0, 400.0, 0, 2],
            ["Vector", "ADD", "/lib/other.py", 3, 420.0, 470.0, 0, 3],
            ["DMA out", "o", "/j/kernel.py", 12, 470.0, 500.0, 4096, 4]]

    def test_the_shares_of_all_lines_sum_to_one(self):
        made = profile.Profile(timeline(self.ROWS), "kernel.py")
        total = sum(cost["ns"] for cost in made.costs.values())
        self.assertAlmostEqual(500.0, total)
        lines = made.lines(0.5)
        self.assertEqual([10, 8, 12], [line["line"] for line in lines])
        self.assertAlmostEqual(0.7, lines[0]["share"])
        self.assertAlmostEqual(0.35, lines[0]["us"])
        self.assertEqual(["Tensor", "DMA", "DMA"], [line["engine"] for line in lines])
        self.assertEqual([0, 4096, 4096], [line["hbm_bytes"] for line in lines])

    def test_what_was_alone_at_work_bounds(self):
        made = profile.Profile(timeline(self.ROWS), "kernel.py")
        self.assertEqual("Tensor", made.bound)
        rows = {row["name"]: row for row in made.bounds(0.5)}
        self.assertAlmostEqual(0.35, rows["Tensor"]["busy_us"])
        self.assertAlmostEqual(0.2, rows["Tensor"]["without_us"])
        self.assertAlmostEqual(0.42, rows["DMA"]["without_us"])

    def test_without_a_timeline_the_busiest_engine_does(self):
        self.assertEqual("Tensor", profile.bound_of_summary(SUMMARY))
        self.assertEqual("latency", profile.bound_of_summary({"total_time": 1.0,
                                                              "dma_active_time_percent": 0.2}))
        self.assertEqual("", profile.bound_of_summary({}))

    def test_the_artefact_is_what_the_timeline_screen_reads(self):
        made = profile.Profile(timeline(self.ROWS + [["Sync", 'a"b', "", 0, 1.0, 2.0, 0, 9]]),
                               "kernel.py")
        out = io.StringIO()
        made.write_to(out, {"kernel": "k", "generation": "gen3", "latency_us": 0.5,
                            "kernel_file": "/x/kernel.py"}, [("total_time", 5e-7, "s")])
        found = json.loads(out.getvalue())
        self.assertEqual(("hone-profile", 1, 0.5), (found["format"], found["version"],
                                                    found["latency_us"]))
        self.assertEqual([2, 0, "MATMUL", 10, 50.0, 400.0], found["spans"][1])
        self.assertEqual(0,
                         found["spans"][2][3])       # a line of another file does not count
        self.assertEqual("a_b", found["spans"][4][2])
        self.assertEqual(["/x/kernel.py", "/lib/other.py"], found["files"])
        self.assertEqual({"name": "total_time", "value": 5e-7, "unit": "s"}, found["metrics"][0])

    def test_doubts_are_said(self):
        found = profile.Profile(timeline(self.ROWS, packets=0, without_source=2, cores=2,
                                         warnings=["dropped"], errors=["OOB"]), "kernel.py").doubts
        for part in ("dropped", "OOB", "no DMA packets", "no instruction names",
                     "2 physical cores"):
            self.assertTrue(any(part in text for text in found), part)

    def test_nothing_is_survived(self):
        made = profile.Profile(timeline([]), "kernel.py")
        self.assertEqual(([], [], "latency"), (made.lines(1.0), made.bounds(1.0), made.bound))


TABLE = """+---+----+---------+---------+---------+---------+---------+------+-------+-------+
  B   NC   NC USED   WEIGHTS   MODE      INF/S     IRES/S    L(1)   L(50)   L(99)   NCL(1)   NCL(50)
  1   2    2         dynamic   LIBMODE   5957.50   5957.50   290    292     297     196      199
  1   1    1         dynamic   LIBMODE   2957.50   2957.50   270    272     297     186      186
"""


class Latencies(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hone-sdk-")
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, value):
        os.makedirs(os.path.join(self.folder, "run"), exist_ok=True)
        with open(os.path.join(self.folder, "run", name), "w") as file:
            json.dump(value, file)

    def test_the_median_of_all_latencies_comes_first(self):
        self.write("info.json", {"report": {"nc_latency": {"50": 16, "99": 17}}})
        self.assertEqual(16.0, bench.read_bench(self.folder))
        self.write("nc_latency_data.json", {"latency_data": {"0": [15.0, 15.5, 90.0]}})
        self.assertEqual(15.5, bench.read_bench(self.folder))

    def test_the_table_is_the_last_resort(self):
        self.assertEqual(186.0, bench.read_bench_table(TABLE))
        self.assertIsNone(bench.read_bench_table("nothing"))
        self.assertIsNone(bench.read_bench(self.folder))

    def test_incumbent_and_kernel_take_turns(self):
        order = bench.order_of(4, True)
        self.assertEqual(["incumbent", "kernel", "kernel", "incumbent"] * 2,
                         order)
        self.assertEqual(["kernel"] * 3, bench.order_of(3, False))


if __name__ == "__main__":
    unittest.main()
