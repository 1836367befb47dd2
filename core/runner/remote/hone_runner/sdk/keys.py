# SPDX-License-Identifier: Apache-2.0
"""The numbers of a profile's summary: names and units (Neuron SDK documentation, profile schema
reference 7.4.0, Summary table, and names older tools used). A pattern stands for several names."""

import math
import re

# Units: s, % (the tools give fractions of 1; hone says percent), bytes, count, flops, ratio,
# cycles, ns. Names that are text (versions, instance type) are no metrics.
UNITS = [
    ("s", """total_time total_exec_time total_active_time dma_active_time static_dma_active_time
        software_dynamic_dma_active_time hardware_dynamic_dma_active_time dma_packet_time
        dma_transfer_time activate_instruction_time cc_op_time cc_op_active_time
        cc_cores_instruction_time cc_cores_instruction_active_time
        {engine}_engine_instruction_time {engine}_engine_active_time"""),
    ("%", """total_active_time_percent {engine}_engine_active_time_percent dma_active_time_percent
        static_dma_active_time_percent dynamic_dma_active_time_percent
        software_dynamic_dma_active_time_percent hardware_dynamic_dma_active_time_percent
        static_dma_packet_percent dynamic_dma_packet_percent software_dynamic_dma_packet_percent
        hardware_dynamic_dma_packet_percent static_dma_size_percent dynamic_dma_size_percent
        software_dynamic_dma_size_percent hardware_dynamic_dma_size_percent
        mbu_estimated_percent mbu_min_read_util_percent mfu_estimated_percent
        mfu_max_achievable_estimated_percent mfu_hlo_estimated_percent
        mfu_hlo_max_achievable_estimated_percent mfu_inst_estimated_percent
        mfu_inst_max_achievable_estimated_percent hfu_estimated_percent
        cc_op_active_time_percent cc_cores_instruction_active_time_percent useful_read_percent
        throttle_activity_{n}_active_time_nc{n}_percent
        throttle_activity_{n}_avg_util_limit_nc{n}_percent
        throttle_periodic_active_time_nc{n}_percent throttle_periodic_avg_util_limit_nc{n}_percent
        throttle_avg_util_limit_nc{n}_percent"""),
    ("bytes", """dma_transfer_average_bytes dma_transfer_total_bytes inputs_and_weights_size_bytes
        inputs_outputs_weights_size_bytes weight_size_bytes static_dma_size
        software_dynamic_dma_size hardware_dynamic_dma_size hbm_read_bytes hbm_write_bytes
        sbuf_read_bytes sbuf_write_bytes spill_save_bytes spill_reload_bytes psum_read_bytes
        psum_write_bytes psum_read_sbuf_write_bytes input_queue_bytes output_queue_bytes
        weight_queue_bytes"""),
    ("count", """trace_count event_count total_row_count dma_transfer_count dma_queue_count
        static_dma_packet_count software_dynamic_dma_packet_count
        hardware_dynamic_dma_packet_count psum_read_sbuf_write_count sbuf_read_psum_write_count
        {engine}_engine_instruction_count matmul_instruction_count activate_instruction_count
        cc_op_count cc_cores_instruction_count"""),
    ("flops", """model_flops hardware_flops transpose_flops adjusted_hardware_flops
        adjusted_transpose_flops active_flops throttled_flops"""),
    ("ratio", "mm_arithmetic_intensity peak_flops_bandwidth_ratio"),
    ("cycles", "neuroncore_cycle_count dma_active_cycles"),
    ("ns", "throttle_active_nc{n}_time_ns"),
]
ENGINES = ("tensor", "vector", "scalar", "gpsimd", "sync")
TEXTS = ("collectives_version", "compiler_version", "driver_version", "instance_type",
         "profiler_version", "runtime_version", "explorer_version""")
MOST_SHARE = 1.5            # above that a share is already in percent, or a sum over cores


def expressions():
    for unit, names in UNITS:
        for name in names.split():
            pattern = name.replace("{engine}", "(?:%s)" % "|".join(ENGINES)).replace("{n}", r"\d+")
            yield unit, re.compile("^%s$" % pattern)


PATTERNS = list(expressions())


def unit_of(name):
    """The unit of a metric; None for a name the table does not have."""
    return next((unit for unit, pattern in PATTERNS if pattern.match(name)), None)


def guess_unit(name):
    """For names of schemas newer than the table: by their ending."""
    for ending, unit in (("_percent", "%"), ("_bytes", "bytes"), ("_time_ns", "ns"),
                         ("_count", "count"), ("_flops", "flops"), ("_cycles", "cycles"),
                         ("_time", "s")):
        if name.endswith(ending):
            return unit
    return None


def number(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def is_limit(name):
    return "util_limit" in name     # a limit, not a share of time: 253 has been seen for "none"


def read(summary):
    """[(name, value, unit)] of one summary, and [text]: values that cannot be trusted. Fractions "
      "become percents; a share over 1 is doubted, because some public profiles have sums over "
      "cores there."""
    rows, doubts = [], []
    total = number(summary.get("total_time"))
    for name in sorted(summary):
        value = number(summary[name])
        unit = unit_of(name) or guess_unit(name)
        if value is None or unit is None:
            continue
        if unit == "%" and not is_limit(name):
            value, doubt = share(summary, name, value, total)
            if doubt:
                doubts.append(doubt)
            if value is None:
                continue
        elif unit == "%":
            value *= 100
        rows.append((name, value, unit))
    return rows, doubts


def share(summary, name, value, total):
    """A fraction as percent, with a doubt. A share over 1 is compared with an engine's active "
      "time over total_time."""
    if value <= 1.0001:
        return min(value, 1.0) * 100, None
    time = number(summary.get(name[:-len("_percent")])) if name.endswith("_time_percent") else None
    if time is not None and total and time <= total * 1.0001:
        return 100 * time / total, "%s is %.4g, over 1: taken from the times" % (name, value)
    if value > MOST_SHARE and value <= 100 and time is None:
        return value, "%s is %.4g: taken as percent" % (name, value)
    return None, "%s is %.4g, over 1, and left out" % (name, value)


def latency_us(summary):
    """The execution's time: from the first to the last instruction where the tool has it, else from
    the runtime's start to its stop notification. (microseconds or None, name of the key)"""
    for name in ("total_exec_time", "total_time"):
        value = number(summary.get(name))
        if value and value > 0:
            return value * 1e6, name
    return None, ""

