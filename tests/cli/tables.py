# SPDX-License-Identifier: Apache-2.0
"""Profiles in Parquet: tables.py HONE. The files of tests/query/tables were written by four writers
(hyparquet-writer, parquetjs, DuckDB, Rust's parquet) from truth.json, with the tables and columns
of neuron-explorer, in the compressions, encodings, versions of pages and row groups that their
folders are called by."""

import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HONE = sys.argv.pop(1)
TABLES = pathlib.Path(__file__).resolve().parent.parent / "query" / "tables"
TRUTH = json.loads((TABLES / "truth.json").read_text())
FIRST = TRUTH["rows"][0]["start_ts"]


def ask(where, sql):
    return subprocess.run([HONE, "query", where, sql, "--json"], capture_output=True, text=True,
                          timeout=120)


def rows(where, sql):
    done = ask(where, sql)
    if done.returncode:
        raise AssertionError(done.stderr)
    answer = json.loads(done.stdout)
    return [dict(zip(answer["columns"], row)) for row in answer["rows"]]


def known(row):
    """What Instruction has to have of a row that was written."""
    place = row["nki_source_location"]
    return {"engine": row["engine"], "opcode": row["opcode"],
            "start_ts": row["start_ts"] - FIRST, "end_ts": row["end_ts"] - FIRST,
            "bir_id": row["bir_id"] or f"I-{row['id']}", "operands": row["operands"],
            "adjusted_flops": row["adjusted_flops"], "hbm_read_bytes": row["hbm_read_bytes"],
            "tensor_instruction_type": row["tensor_instruction_type"],
            "line": int(place.rpartition(":")[2]) if place else None}


class Tables(unittest.TestCase):
    def one(self, where):
        """All tables of a profile as a database, so that one process reads them."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "profile.db")
            done = subprocess.run([HONE, "profile", where, "--format", "sqlite", "--output", file],
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            database = sqlite3.connect(file)
            database.row_factory = sqlite3.Row
            self.hold(lambda sql: [dict(row) for row in database.execute(sql)])
            database.close()

    def hold(self, rows):
        found = rows("SELECT engine, opcode, start_ts, end_ts, bir_id, operands, adjusted_flops, "
                     "hbm_read_bytes, tensor_instruction_type, line "
                     "FROM Instruction WHERE engine <> 'DMA' ORDER BY start_ts")
        self.assertEqual(found, [known(row) for row in TRUTH["rows"]])
        found = rows("SELECT variable, source, dest, transfer_bytes AS bytes, start_ts, "
                     "is_transpose_mode AS turns FROM DmaPacketAggregated ORDER BY start_ts")
        self.assertEqual(found, [
            {"variable": row["variable"], "source": row["source"], "dest": row["dest"],
             "bytes": row["transfer_bytes"], "start_ts": row["start_ts"] - FIRST,
             "turns": int(row["is_transpose_mode"])} for row in TRUTH["dma"]])
        found = rows("SELECT total_time, dma_active_time_percent AS dma, hbm_read_bytes "
                     "FROM Summary")[0]
        self.assertAlmostEqual(found["dma"], 40, 4)
        self.assertEqual((found["total_time"], found["hbm_read_bytes"]), (0.0005, 123456789))
        self.assertEqual(rows("SELECT source FROM Metadata"), [{"source": "device"}])

    def test_tables_of_every_writer_are_read(self):
        folders = sorted(path for path in TABLES.iterdir() if path.is_dir())
        self.assertGreater(len(folders), 10)
        for folder in folders:
            with self.subTest(folder.name):
                self.one(folder)

    def test_waits_are_those_of_the_table(self):
        found = rows(TABLES / "duckdb_zstd_v2", "SELECT bir_id, evt_wait_time_ns AS ns FROM "
                     "Instruction WHERE bir_id = 'I-4'")
        self.assertEqual(found, [{"bir_id": "I-4", "ns": 2}])

    def test_the_folder_may_be_far_above_and_a_file_stands_for_its_folder(self):
        with tempfile.TemporaryDirectory() as top:
            deep = pathlib.Path(top, "profiles", "global", "k@latest")
            shutil.copytree(TABLES / "hyparquet_groups", deep)
            self.one(top)
            self.one(deep / "Instruction.parquet")
            done = subprocess.run([HONE, "profile", top, "--format", "csv", "--table", "Summary"],
                                  capture_output=True, text=True, timeout=60)
            self.assertIn("0.0005", done.stdout)

    def test_what_cannot_be_read_is_named(self):
        whole = (TABLES / "duckdb_zstd_v2" / "Instruction.parquet").read_bytes()
        summary = (TABLES / "duckdb_zstd_v2" / "Summary.parquet").read_bytes()
        with tempfile.TemporaryDirectory() as top:
            file = pathlib.Path(top, "Instruction.parquet")
            for text, status, said in ((b"", 4, "has 0 bytes"), (b"x" * 40, 4, "PAR1"),
                                       (whole[:-9], 4, "not whole"),
                                       (b"PARE" + whole[4:], 4, "encrypted"),
                                       (whole[:900] + bytes(400) + whole[1300:], 4, "column "),
                                       (whole[:-40] + b"\xff" * 32 + whole[-8:], 4, "footer")):
                file.write_bytes(text)
                done = ask(top, "SELECT * FROM Instruction")
                self.assertEqual((done.returncode, done.stdout), (status, ""), said)
                self.assertIn(said, done.stderr)
                self.assertIn("Instruction.parquet", done.stderr)
            file.unlink()
            pathlib.Path(top, "Flow.parquet").write_bytes(summary)
            done = ask(pathlib.Path(top, "Flow.parquet"), "SELECT 1 FROM Summary")
            self.assertEqual(done.returncode, 2)
            self.assertIn("Summary.parquet", done.stderr)


unittest.main()
