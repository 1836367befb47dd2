# SPDX-License-Identifier: Apache-2.0
"""The timeline of a profile, from the full JSON (to SDK 2.33) or the Parquet tables (schema 7.4.0
and newer) of Neuron's profiler: what each engine and DMA queue did when, and for which source line.

Columns are looked up by name, and each may be missing: schemas change with every release. The
Python of the Neuron environment, which has pandas, can run this module alone."""

import glob
import json
import math
import os
import re
import sys

MAX_ROWS = 2000000
# The lanes of hone's timeline, in its order.
LANES = ("Tensor", "Vector", "Scalar", "GpSimd", "DMA in", "DMA out", "Sync")
# Beginnings of the tools' words for an engine, in lower case.
WORDS = (("tensor", "Tensor"), ("pe", "Tensor"), ("vector", "Vector"), ("dve", "Vector"),
         ("scalar", "Scalar"), ("act", "Scalar"), ("gpsimd", "GpSimd"), ("pool", "GpSimd"),
         ("sync", "Sync"), ("sp", "Sync"))
LOCATION = re.compile(r"([^\s\[\]'\",;]+\.py):(\d+)")
TABLES = ("Instruction", "DmaPacketAggregated", "DmaPacket", "Flow", "Metadata", "Warning", "Error",
          "Summary")


class Unreadable(Exception):
    """No timeline can be read from this; the text says why."""


def lane_of(word):
    word = str(word or "").strip().lower()
    return next((lane for start, lane in WORDS if word.startswith(start)), None)


def says_nothing(value):
    """None, an empty text or list, NaN, and what pandas puts where nothing was."""
    if value is None:
        return True
    if hasattr(value, "__len__"):
        return len(value) == 0
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def first(row, *names):
    """The value of the first of these columns that has one."""
    return next((row[name] for name in names if name in row and not says_nothing(row[name])), None)


def whole(value):
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def location(row):
    """(file, line) of the last frame a row names: several are listed from the outside in."""
    for name in ("nki_source_location", "bir_debug_info_source_location"):
        found = LOCATION.findall(str(row.get(name, "")))
        if found:
            return found[-1][0], int(found[-1][1])
    return "", 0


def interval(row):
    """(start, end) of a row in the profile's own unit of time; None when it has no times."""
    start = first(row, "start_ts", "timestamp", "start_time", "start")
    end = first(row, "end_ts", "end_time", "end")
    if start is None:
        return None
    if end is None:
        end = float(start) + float(first(row, "duration_ns", "duration") or 0)
    return float(start), max(float(end), float(start))


def dma_lane(row):
    """Whether a transfer goes into the core's memory or out of it, by its source and
    destination."""
    dest = str(first(row, "dest", "destination", "dst") or "")
    source = str(first(row, "source", "src") or "")
    if re.search(r"\bSB|SBUF|PSUM", dest):
        return "DMA in"
    if re.search(r"\bSB|SBUF|PSUM", source):
        return "DMA out"
    words = " ".join(str(first(row, n) or "") for n in ("queue_type", "queue_name", "name", "op"))
    return "DMA out" if re.search("output|spill_?save|store", words, re.I) else "DMA in"


def make_instruction(row, number):
    where = interval(row)
    lane = lane_of(first(row, "engine", "label", "subgroup", "group"))
    if where is None or lane is None:
        return None
    file, line = location(row)
    bytes_moved = whole(first(row, "hbm_read_bytes")) + whole(first(row, "hbm_write_bytes"))
    return [lane, str(first(row, "opcode", "compiler_opcode", "name") or "?")[:40], file, line,
            where[0], where[1], bytes_moved, whole(first(row, "id", "pc")) or number]


def make_transfer(row, number, place):
    where = interval(row)
    if where is None:
        return None
    file, line = location(row)
    if not line:
        file, line = place
    size = whole(first(row, "transfer_bytes", "read_bytes", "write_bytes", "bytes", "size"))
    name = str(first(row, "variable", "op", "opcode", "name") or "dma")[:40]
    return [dma_lane(row), name, file, line, where[0], where[1], size, number]


# --------------------------------------------------------------------------------- the full JSON


def read_json(path):
    with open(path, "rb") as file:
        data = json.loads(file.read().decode("utf-8", "replace"))
    if not isinstance(data, dict) or not isinstance(data.get("instruction"), list):
        raise Unreadable("the profile's JSON has no list of instructions")
    meta = data.get("metadata")
    return {"instructions": data["instruction"], "transfers": data.get("dma") or [], "flow": [],
            "meta": (meta[0] if isinstance(meta, list) and meta else meta) or {},
            "warnings": data.get("warning") or data.get("warnings") or [],
            "errors": data.get("error") or data.get("errors") or []}


# ------------------------------------------------------------------------------------ the tables


def parquet_files(folder, table):
    """The files of a table: Table.parquet, or Table_0.parquet and on, or a folder of that name."""
    exact = os.path.join(folder, table + ".parquet")
    if os.path.isdir(exact):
        return sorted(glob.glob(os.path.join(exact, "*.parquet")))
    parts = [p for p in glob.glob(os.path.join(folder, table + "_*.parquet"))
             if re.search(r"_\d+\.parquet$", p)]
    parts.sort(key=lambda p: int(re.search(r"_(\d+)\.parquet$", p).group(1)))
    return ([exact] if os.path.isfile(exact) else []) + parts


def find_tables(folder):
    """The folder that holds the tables: the one named, or one below it (profiles/global/...)."""
    for path, folders, _ in sorted(os.walk(folder)):
        folders.sort()
        if parquet_files(path, "Instruction") or parquet_files(path, "Summary"):
            return path
    raise Unreadable("there are no Parquet tables in %s" % folder)


def read_table(folder, table):
    import pandas
    rows = []
    for path in parquet_files(folder, table):
        frame = pandas.read_parquet(path)
        rows += frame.head(MAX_ROWS - len(rows)).to_dict("records")
    return rows


def read_parquet(folder):
    try:
        import pandas                               # noqa: F401 - said in words when it is missing
        import pyarrow                              # noqa: F401
    except ImportError as problem:
        raise Unreadable("the environment cannot read Parquet (%s): pip install pandas pyarrow "
                         "there for the timeline and the cost per line" % problem)
    folder = find_tables(folder)
    rows = {name: read_table(folder, name) for name in TABLES}
    transfers = rows["DmaPacketAggregated"] or rows["DmaPacket"]
    return {"instructions": rows["Instruction"], "transfers": transfers, "flow": rows["Flow"],
            "meta": (rows["Metadata"] or [{}])[0], "warnings": rows["Warning"],
            "errors": rows["Error"], "packets": len(rows["DmaPacket"]) or len(transfers),
            "summary": (rows["Summary"] or [None])[0]}


# ------------------------------------------------------------------------------- the common form


def core_of(row):
    return whole(first(row, "pcore_idx", "nc_idx", "neuroncore_idx"))


def places(data):
    """Where transfers come from: their id -> (file, line), over the flow from instructions."""
    lines = {row.get("id"): location(row) for row in data["instructions"]}
    return {row.get("out_id"): lines.get(row.get("in_id"), ("", 0)) for row in data["flow"]
            if str(row.get("in_table")) == "Instruction"
            and str(row.get("out_table", "")).startswith("DmaPacket")}


def scale_of(rows, total_s, stamped):
    """Nanoseconds in the profile's unit of time. Tables are in ns; the full JSON has had ps: the
    span of the rows against the execution's time tells."""
    if not rows:
        return 1.0
    span = max(r[5] for r in rows) - min(r[4] for r in rows)
    if not total_s or span <= 0:
        return 1e-3 if stamped else 1.0
    return min((1e-3, 1.0, 1e3), key=lambda ns: abs(math.log(span * ns * 1e-9 / total_s)))


def gather(data, total_s):
    """The rows of one core in nanoseconds from the start of the first, and facts about them."""
    cores = sorted({core_of(row) for row in data["instructions"]}) or [0]
    chosen = [row for row in data["instructions"] if core_of(row) == cores[0]][:MAX_ROWS]
    where = places(data)
    rows = [make_instruction(row, number) for number, row in enumerate(chosen)]
    transfers = [row for row in data["transfers"] if core_of(row) == cores[0]
                 or "pcore_idx" not in row][:MAX_ROWS]
    rows += [make_transfer(row, number, where.get(row.get("id"), ("", 0)))
             for number, row in enumerate(transfers, len(rows))]
    rows = [row for row in rows if row]
    stamped = bool(chosen) and "start_ts" not in chosen[0]
    scale = scale_of(rows, total_s, stamped)
    base = min((row[4] for row in rows), default=0.0)
    for row in rows:
        row[4], row[5] = (row[4] - base) * scale, (row[5] - base) * scale
    return {"rows": rows, "cores": len(cores), "instructions": len(chosen),
            "packets": data.get("packets", len(transfers)),
            "without_source": sum(1 for row in rows if not row[3] and not row[0].startswith("DMA")),
            "schema": str(first(data["meta"], "profile_schema_version") or ""),
            "warnings": messages(data["warnings"], "message", "category"),
            "errors": messages(data["errors"], "description", "type"),
            "summary": data.get("summary")}


def messages(rows, *names):
    return [str(first(row, *names))[:300] for row in rows[:20] if isinstance(row, dict)
            and first(row, *names)]


def read(kind, path, total_s):
    """The timeline of a profile; kind is json (a file) or parquet (a folder)."""
    try:
        return gather(read_json(path) if kind == "json" else read_parquet(path), total_s)
    except (OSError, ValueError, KeyError, TypeError, MemoryError, RecursionError) as problem:
        raise Unreadable("the profile's tables cannot be read: %s: %s"
                         % (type(problem).__name__, problem))


def main(arguments):
    """KIND PATH SECONDS OUT: writes what read() returns, or {"unreadable": why}, to OUT as JSON."""
    kind, path, total_s, out = arguments
    try:
        found = read(kind, path, float(total_s))
    except Unreadable as problem:
        found = {"unreadable": str(problem)}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(found, file, default=lambda value: getattr(value, "item", lambda: str(value))())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
