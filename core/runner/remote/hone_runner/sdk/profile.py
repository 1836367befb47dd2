# SPDX-License-Identifier: Apache-2.0
"""What a timeline means: cost per source line, how busy each engine is, what bounds the kernel, and
the artefact "profile" (hone-profile, PROTOCOL.md). Pure computation on what tables.py read.

A measured timeline does not say which instruction waited for which. So time is assigned to lines as
follows: each instant goes to the busiest engine or queue (over the whole run) among those working
at that instant, because it bounds the kernel; a gap goes to the line that comes next. The shares
sum to 1."""""

import heapq
import json
import os

from . import keys, tables

MAX_SPANS = 1000000
MAX_LINES = 5000
WORTH = 0.03                # of the latency: a smaller gain from lifting a bound counts as none
BOUNDS = ("Tensor", "Vector", "Scalar", "GpSimd", "DMA")


def resource(lane):
    return "DMA" if lane.startswith("DMA") else lane


def merged(spans):
    """Disjoint intervals that cover the same time."""
    result = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([start, end])
    return result


def covered(spans):
    return sum(end - start for start, end in merged(spans))


def by_resource(rows):
    spans = {}
    for row in rows:
        spans.setdefault(resource(row[0]), []).append((row[4], row[5]))
    return {name: merged(list_of) for name, list_of in spans.items()}


# ------------------------------------------------------------------------------- cost per line


def sweep(rows, busy):
    """Yields (start, end, row): the row that an interval of time is assigned to."""""
    order = sorted(range(len(rows)), key=lambda i: rows[i][4])
    weight = {name: sum(e - s for s, e in spans) for name, spans in busy.items()}
    active, now, at = [], 0.0, 0
    while at < len(order) or active:
        while active and rows[active[0][1]][5] <= now:
            heapq.heappop(active)
        if not active:
            if at == len(order):
                return
            row = rows[order[at]]
            if row[4] > now:
                yield now, row[4], row              # a gap: assigned to what comes next
                now = row[4]
        while at < len(order) and rows[order[at]][4] <= now:
            index = order[at]
            heapq.heappush(active, (-weight[resource(rows[index][0])], index))
            at += 1
        while active and rows[active[0][1]][5] <= now:
            heapq.heappop(active)
        if not active:
            continue
        top = rows[active[0][1]]
        until = min(top[5], rows[order[at]][4]) if at < len(order) else top[5]
        yield now, until, top
        now = until


def empty_line(file, line):
    return {"file": file, "line": line, "ns": 0.0, "instructions": 0, "hbm_bytes": 0,
            "engine_ns": {}}


def cost_lines(rows, busy, kernel_file):
    """Costs by (file, line), those of the kernel's file first; line 0 is for costs without a known
    line."""
    lines, name = {}, os.path.basename(kernel_file)
    def of(row):
        file = "" if not row[3] or os.path.basename(row[2]) == name else row[2]
        return lines.setdefault((file, row[3]), empty_line(file, row[3]))

    for row in rows:
        line = of(row)
        engine = resource(row[0])
        line["engine_ns"][engine] = line["engine_ns"].get(engine, 0.0) + row[5] - row[4]
        line["instructions"] += not row[0].startswith("DMA")
        line["hbm_bytes"] += row[6]
    for start, end, row in sweep(rows, busy):
        of(row)["ns"] += end - start
    return lines


# -------------------------------------------------------------------------------------- bounds


def find_bounds(busy, span_ns):
    """[{name, busy_ns, without_ns}] and the name of the limiting resource. Without a resource, a
    run gains at most the time in which only that resource worked."""
    bounds, best, name = [], WORTH * span_ns, None
    for lane in BOUNDS:
        spans = busy.get(lane)
        if not spans:
            continue
        active = sum(end - start for start, end in spans)
        others = covered([s for other, list_of in busy.items() if other != lane for s in list_of])
        both = covered([s for list_of in busy.values() for s in list_of])
        alone = max(both - others, 0.0)
        bounds.append({"name": lane, "busy_ns": active, "without_ns": span_ns - alone})
        if alone > best:
            best, name = alone, lane
    busiest = max(bounds, key=lambda b: b["busy_ns"], default=None)
    if name is None and busiest and busiest["busy_ns"] > span_ns / 2:
        name = busiest["name"]
    return bounds, name or "latency"


def bound_of_summary(summary):
    """What limits, from the summary only: the busiest engine, if it works at least half of the
    time."""
    shares = {}
    rows, _ = keys.read(summary)
    for name, value, unit in rows:
        if unit == "%" and name.endswith("_engine_active_time_percent"):
            shares[tables.lane_of(name) or ""] = value
        elif name == "dma_active_time_percent":
            shares["DMA"] = value
    shares.pop("Sync", None)
    name = max(shares, key=shares.get, default=None)
    return "" if name is None else name if shares[name] >= 50 else "latency"


# ---------------------------------------------------------------------------------- the profile


class Profile:
    """lines (as the result has them, for the kernel's own file), bounds, bound, instructions,
    doubts (sentences on its quality); write() makes the artefact."""

    def __init__(self, timeline, kernel_file):
        self.rows = timeline["rows"]
        self.timeline = timeline
        self.instructions = timeline["instructions"]
        self.span_ns = max((row[5] for row in self.rows), default=0.0)
        self.busy = by_resource(self.rows)
        self.costs = cost_lines(self.rows, self.busy, kernel_file)
        self.bounds_ns, self.bound = find_bounds(self.busy, self.span_ns)
        self.doubts = quality(timeline)

    def lines(self, latency_us):
        """Rows of the result's `lines`, by descending share."""
        own = [cost for (file, line), cost in self.costs.items() if not file and line]
        own.sort(key=lambda cost: (-cost["ns"], cost["line"]))
        total = self.span_ns or 1.0
        return [{"line": cost["line"], "us": cost["ns"] / total * latency_us,
                 "share": cost["ns"] / total, "engine": main_engine(cost),
                 "instructions": cost["instructions"], "hbm_bytes": cost["hbm_bytes"]}
                for cost in own[:MAX_LINES]]

    def bounds(self, latency_us):
        scale = latency_us / self.span_ns if self.span_ns else 0.0
        return [{"name": b["name"], "busy_us": b["busy_ns"] * scale,
                 "without_us": b["without_ns"] * scale} for b in self.bounds_ns]

    def write(self, path, head, metrics):
        """Writes the artefact. head: kernel, generation, latency_us; metrics: (name, value,
        unit)."""
        with open(path, "w", encoding="ascii") as out:
            self.write_to(out, head, metrics)

    def write_to(self, out, head, metrics):
        files = [head["kernel_file"]] + sorted({f for f, _ in self.costs if f})
        number = {"": 0, **{name: i for i, name in enumerate(files) if i}}
        fields = {"format": "hone-profile", "version": 1, "kernel": head["kernel"],
                  "generation": head["generation"], "instructions": self.instructions,
                  "latency_us": head["latency_us"], "floor_us": 0, "floor_bound": "",
                  "bound": self.bound,
                  "metrics": [{"name": n, "value": v, "unit": u} for n, v, u in metrics],
                  "lines": [self.line_row(number, cost) for cost in self.sorted_costs()],
                  "bounds": self.bounds_ns, "lanes": list(tables.LANES), "files": files,
                  "source": "measured", "doubts": self.doubts}
        text = json.dumps(fields)
        out.write(text[:-1])
        out.write(',\n"spans_left_out": %d,\n"spans": [' % max(len(self.rows) - MAX_SPANS, 0))
        lane = {name: i for i, name in enumerate(tables.LANES)}
        for count, row in enumerate(self.rows[:MAX_SPANS]):
            file = "" if not row[3] else os.path.basename(row[2])
            line = row[3] if file == os.path.basename(head["kernel_file"]) else 0
            out.write('%s[%d,%d,%s,%d,%.1f,%.1f]'
                      % (",\n" if count else "\n", abs(row[7]) & 0xFFFFFFFF, lane[row[0]],
                         json.dumps(plain(row[1])), line, row[4], row[5]))
        out.write("]}\n")

    def sorted_costs(self):
        return sorted(self.costs.values(), key=lambda cost: (-cost["ns"], cost["line"]))[:MAX_LINES]

    def line_row(self, number, cost):
        return {"file": number[cost["file"]], "line": cost["line"],
                "share": cost["ns"] / (self.span_ns or 1.0), "instructions": cost["instructions"],
                "hbm_bytes": cost["hbm_bytes"], "engine_ns": cost["engine_ns"]}


def main_engine(cost):
    return max(cost["engine_ns"], key=cost["engine_ns"].get, default="")


def plain(name):
    """A name without characters that JSON would have to escape."""
    return "".join(c if c.isalnum() or c in "_-. " else "_" for c in name) or "_"


def quality(timeline):
    """Sentences that say why the timeline may be incomplete."""
    rows, doubts = timeline["rows"], []
    engines = sum(1 for row in rows if not row[0].startswith("DMA"))
    doubts += ["the profiler warns: " + text for text in timeline["warnings"]]
    doubts += ["the device reported: " + text for text in timeline["errors"]]
    if not timeline["packets"]:
        doubts.append("the profile has no DMA packets (captured without DGE notifications): "
                      "transfers are missing from the timeline and the cost per line")
    if engines and timeline["without_source"] == engines:
        doubts.append("no instruction names its source line: the kernel was compiled without "
                      "NKI_DEBUG_INFO, or this release does not record it")
    elif engines and timeline["without_source"] > engines * 0.2:
        doubts.append("%.0f %% of the instructions name no source line"
                      % (100.0 * timeline["without_source"] / engines))
    if timeline["cores"] > 1:
        doubts.append("the profile has %d physical cores; the timeline shows the first"
                      % timeline["cores"])
    return doubts
