# SPDX-License-Identifier: Apache-2.0
"""What a profile says, in the forms that the viewer has: summary-json, summary-text, full JSON,
tables. Values are the device model's, under the names and units of Neuron's tools."""

import json
import os

from standin import host

CLOCK_GHZ = {"trn1": 1.4, "trn2": 1.2, "trn3": 1.2}
ENGINES = ("tensor", "vector", "scalar", "gpsimd")
OPCODES = {"nc_matmul": "MATMUL", "activation": "ACTIVATE", "dma_copy": "PSEUDO_DMA_TRIGGER",
           "nc_transpose": "MATMUL", "load": "PSEUDO_DMA_TRIGGER", "store": "PSEUDO_DMA_TRIGGER"}
# Metrics of hone that Neuron's summary does not have.
OURS = ("throttle_time", "sbuf_peak_bytes", "psum_peak_bytes")


def summary(info):
    """One summary. What was measured scales with the execution that was profiled."""
    found, scale = {}, info["us"] / info["latency_us"]
    for name, value in info["metrics"].items():
        if name in OURS:
            continue
        if name.endswith("_percent"):
            value = value / 100 / (1 if name.endswith("active_time_percent") else scale)
        elif name.endswith("_time"):
            value *= scale
        found[name] = value
    total = info["us"] * 1e-6
    found["total_time"] = total
    if host.LINE["exec_time"]:
        found["total_exec_time"] = total * 0.997
    ghz = CLOCK_GHZ[info["generation"]]
    found.update({
        "neuroncore_cycle_count": int(total * ghz * 1e9), "event_count": info["instructions"] * 3,
        "trace_count": info["instructions"], "nc_idx": 0, "nd_idx": 0, "mfu_estimated_percent": 0.0,
        "model_flops": 0, "throttle_avg_util_limit_nc0_percent": 1.0,
        "profiler_version": host.LINE["explorer"], "runtime_version": host.LINE["runtime"],
        "driver_version": host.LINE["driver"], "compiler_version": host.LINE["cc"],
        "instance_type": "trn2.3xlarge"})
    return found


# --------------------------------------------------------------------------------------- the text


def scaled(name, value):
    if name.endswith("_percent"):
        return "%.2f %%" % (value * 100)
    if name.endswith("_time"):
        return "%.3f us" % (value * 1e6)
    if name.endswith("_bytes"):
        return "%.3f KiB" % (value / 1024)
    return str(value)


def group(name):
    for engine in ENGINES:
        if name.startswith(engine):
            return engine + "_engine"
    if name.startswith("throttle"):
        return "throttling_nc0"
    if name.endswith("_version") or name == "instance_type":
        return "system"
    return "data_movement" if "dma" in name or "_bytes" in name else "overall_stats"


def text(info):
    rows = {}
    for name, value in summary(info).items():
        rows.setdefault(group(name), []).append((name, value))
    lines = ["**Summary metrics account for Logical NeuronCore config = %d**" % info["lnc"]]
    for title in sorted(rows):
        lines += ["", title] + ["  %-40s %s" % (name, scaled(name, value))
                                for name, value in rows[title]]
    lines += ["", "ND Idx | NC Idx | Usage Type | Amount", "0 | 0 | tensor | %.3f KiB"
              % (info["metrics"].get("hbm_write_bytes", 0) / 1024), "Total | | | 2.443 GiB"]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------- the timeline


def location(info, line):
    """Source lines are there only if the kernel was compiled to have them."""
    return "%s:%d" % (os.path.basename(info["source_file"]), line) if info["debug"] and line else ""


def opcode(name):
    return OPCODES.get(name, name.upper())


def spans(info):
    """(lane, operation, line, start_ns, end_ns, number) of the model's timeline."""
    profile = info["timeline"] or {"spans": [], "lanes": []}
    scale = info["us"] / info["latency_us"]
    for number, lane, name, line, start, end in profile["spans"]:
        yield profile["lanes"][lane], name, line, start * scale, end * scale, number


def instruction(info, span, form):
    lane, name, line, start, end, number = span
    if form == "legacy":
        return {"timestamp": int(start * 1000), "duration": int((end - start) * 1000),
                "label": lane, "opcode": opcode(name), "hlo_name": "", "operands": "",
                "nki_source_location": location(info, line)}
    return {"start_ts": int(start), "end_ts": int(end), "duration_ns": int(end - start),
            "engine": lane.lower(), "opcode": opcode(name), "operands": "", "id": number,
            "pc": number,
            "bir_id": "I-%d" % number, "pcore_idx": 0,
            "nki_source_location": [location(info, line)] if location(info, line) else None}


def transfer(info, span, form):
    lane, name, line, start, end, number = span
    into = "in" in lane.lower().split()
    row = {"queue_name": "qSyncIO0", "queue_type": "data", "variable": "", "op": "dma",
           "source": "[DRAM]" if into else "[SB]", "dest": "[SB]" if into else "[DRAM]",
           "id": number}
    if form == "legacy":
        return {**row, "timestamp": int(start * 1000), "duration": int((end - start) * 1000)}
    return {**row, "start_ts": int(start), "end_ts": int(end), "duration_ns": int(end - start),
            "pcore_idx": 0, "nki_source_location": location(info, line) or None}


def rows(info, form):
    """(instructions, transfers) in the form the release has."""
    instructions, transfers = [], []
    for span in spans(info):
        if span[0].upper().startswith("DMA"):
            transfers.append(transfer(info, span, form))
        else:
            instructions.append(instruction(info, span, form))
    return instructions, transfers


def metadata(info):
    return {"profile_schema_version": host.LINE["schema"] or "", "ntff_version": host.LINE["ntff"],
            "num_physical_cores": 1, "instance_type": "trn2.3xlarge", "is_simulation": False,
            "runtime_version": host.LINE["runtime"], "explorer_version": host.LINE["explorer"],
            "compiler_version": host.LINE["cc"]}


def full(info):
    """The full JSON."""
    instructions, transfers = rows(info, host.LINE["rows"])
    found = {"summary": [summary(info)], "instruction": instructions, "dma": transfers}
    if host.LINE["schema"]:
        found["metadata"] = [metadata(info)]
    return found


def write_tables(info, folder):
    """Files with the names of the tables. Only the stand-in of pandas can read what is in them."""
    os.makedirs(folder, exist_ok=True)
    instructions, transfers = rows(info, "tables")
    tables = {"Instruction": instructions, "DmaPacketAggregated": transfers, "DmaPacket": transfers,
              "Metadata": [metadata(info)], "Summary": [summary(info)], "Warning": [], "Error": []}
    for name, found in tables.items():
        with open(os.path.join(folder, name + ".parquet"), "w", encoding="utf-8") as file:
            json.dump(found, file)
