# SPDX-License-Identifier: Apache-2.0
"""The profile of a kernel on the device: captured inside the lock, read outside of it. Gives
metrics with units, cost per source line, bounds, the timeline as the artefact "profile", and NEFF,
NTFF and summary as artefacts. A missing profile is not a failure; the log says why it is
missing."""

import json
import os
import shutil

from hone_runner import children, hold, stage
from hone_runner.context import Failed

from . import arrays, bench, compile as compiling, execute, keys, profile, summary

JSON_INSTRUCTIONS = 250000      # above it the full JSON is gigabytes


class Measured:
    """What a profile gave. metrics: [(name, value, unit)]; profile: profile.Profile or None."""

    def __init__(self):
        self.metrics, self.summary, self.profile = [], {}, None
        self.ntff = None

    def instructions(self):
        if self.profile:
            return self.profile.instructions
        return int(sum(value for name, value, _ in self.metrics
                       if name.endswith("_engine_instruction_count")))

    def bound(self):
        return self.profile.bound if self.profile else profile.bound_of_summary(self.summary)


def capture(device, program, inputs):
    """The NTFF of one execution; with notifications of dynamic DMA if that works."""
    folder = os.path.join(device.context.work, "profile")
    events = device.context.events
    if device.tool.path and device.tool.has("capture", "enable-dge-notifs", True):
        try:
            return bench.capture_profile(device, program, inputs, folder, True)
        except (execute.NoWay, execute.KernelFailed, execute.Busy, Failed, hold.TimeUp) as problem:
            events.log("profiling with DGE notifications failed (%s); without them transfers by "
                       "dynamic DMA are missing" % problem, "warning")
    return bench.capture_profile(device, program, inputs, folder + "-plain", False)


def read(device, program, ntff, kernel):
    """Reads everything from an NTFF. Raises execute.NoWay when not even the summary can be read."""
    found = Measured()
    found.ntff = ntff
    nodes = bench.view_summary(device, program, ntff)
    found.summary = summary.slowest(nodes) or {}
    rows, doubts = keys.read(found.summary)
    found.metrics = rows
    events = device.context.events
    for text in doubts[:10]:
        events.log("the profile: " + text, "warning")
    if len(nodes) > 1:
        events.log("the profile has %d nodes; the slowest is shown" % len(nodes))
    timeline = read_timeline(device, program, ntff, found)
    if timeline:
        found.profile = profile.Profile(timeline, kernel.path)
        for text in found.profile.doubts[:10]:
            events.log("the timeline: " + text, "warning")
    return found


def forms(device, found):
    """Ways to get the timeline: [(form, what it is read from)]."""
    count = found.instructions()
    explorer = device.tool.name == "neuron-explorer"
    ways = [("parquet", "tables")] if explorer else []
    if count <= JSON_INSTRUCTIONS:
        ways.append(("json", "profile.json"))
    return ways


def read_timeline(device, program, ntff, found):
    """The timeline from tables.read(); None when there is none, and the log says why."""
    context, problems = device.context, []
    seconds = (keys.latency_us(found.summary)[0] or 0) / 1e6
    for form, name in forms(device, found):
        target = os.path.join(os.path.dirname(ntff), name)
        argv = bench.view_argv(device, program, ntff, form) + ["--output-file", target]
        result = context.stage("view-" + form, argv, device.limits_off(4), env=device.variables(),
                               cwd=os.path.dirname(ntff), show=False)
        if not os.path.exists(target):
            problems.append("%s: %s" % (form, result.text or "it wrote nothing"))
            continue
        timeline = read_tables(context, form, target, seconds)
        if timeline.get("rows"):
            return timeline
        problems.append("%s: %s" % (form, timeline.get("unreadable", "it has no instructions")))
    context.events.log("there is no timeline and no cost per line: %s"
                       % ("; ".join(problems) or "the profile has too many instructions for JSON"),
                       "warning")
    return None


def read_tables(context, form, path, seconds):
    out = os.path.join(context.work, "timeline-%s.json" % form)
    argv = children.argv(context.environment.python, "tables", form, path, repr(seconds), out)
    result = context.stage("timeline", argv, stage.Limits(300.0))
    try:
        with open(out, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {"unreadable": result.text or "its reader said nothing"}


# ------------------------------------------------------------------------------------ artefacts


def emit_artifact(context, name, path, **more):
    """Reports a file in the job's folder, with its size and hash."""
    context.events.emit("artifact", name=name, path=os.path.relpath(path, context.folder.path),
                        bytes=os.path.getsize(path), sha256=compiling.sha256(path), **more)


def keep_file(context, name, source, target):
    """Puts a file among the artefacts."""
    path = os.path.join(context.out, target)
    try:
        shutil.copyfile(source, path)
        emit_artifact(context, name, path)
    except OSError as problem:
        context.events.log("the artefact %s was not kept: %s" % (name, problem), "warning")


def keep_outputs(context, rows, seed):
    """The kernel's outputs as .npy files; types that numpy does not have as their raw codes."""
    for index, row in enumerate(rows):
        name = "output_%d" % index
        folder = os.path.join(context.out, *([] if seed is None else ["seed_%d" % seed]))
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name + ".npy")
        with open(path, "wb") as out, open(row["path"], "rb") as raw:
            out.write(arrays.npy_header(row["dtype"], row["shape"]))
            shutil.copyfileobj(raw, out)
        more = {"dtype": row["dtype"], "shape": row["shape"]}
        emit_artifact(context, name, path, **(more if seed is None else dict(more, seed=seed)))


def write_artifacts(context, found, program, head):
    if found.profile:
        path = os.path.join(context.out, "profile.json")
        try:
            found.profile.write(path, head, found.metrics)
            emit_artifact(context, "profile", path)
        except OSError as problem:
            context.events.log("the artefact profile was not kept: %s" % problem, "warning")
    keep_file(context, "neff", program.neff, "kernel.neff")
    if found.ntff:
        keep_file(context, "ntff", found.ntff, "profile.ntff")
    if found.summary:
        path = os.path.join(context.out, "summary.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found.summary, file)
        emit_artifact(context, "summary", path)
