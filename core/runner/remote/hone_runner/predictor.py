# SPDX-License-Identifier: Apache-2.0
"""The command `predict`: one job on standard input, events on standard output, like any runner
(PROTOCOL.md), but it only asks the compiler for its prediction. It is for machines that have the
wheels but no device, mostly hone's own machine. It uses no queue and no core, and the job's folder
is deleted at the end."""

import json
import os
import sys

from hone_runner import emit, folder as folders, keep, scratch, supervise
from hone_runner.sdk import source

KEEP_DAYS = 7


def read_job(stream):
    data = stream.read(folders.MAX_JOB + 1)
    try:
        job = json.loads(data.decode("utf-8")) if len(data) <= folders.MAX_JOB else None
    except ValueError:
        job = None
    if not isinstance(job, dict):
        raise folders.Refused("standard input is not a job: one JSON object is needed", "usage")
    return job


def in_order(job):
    """The job's own inputs in the order of the kernel's parameters: the job has them by name, the
    kernel takes them by position. Errors about parameters or the kernel are reported elsewhere."""
    try:
        tree = source.ast.parse(job["kernel_text"])
        names = source.parameters(source.find_kernel(tree, job.get("kernel_name")))
        return sorted(job["inputs"], key=lambda row: names.index(row["name"]))
    except (KeyError, TypeError, ValueError, SyntaxError, source.Unclear):
        return job.get("inputs")


def predict(home, answers):
    """Writes events up to `result`; the exit status is 0 in any case."""
    job = dict(read_job(sys.stdin.buffer), predict_only=True)
    if job.get("inputs"):
        job["inputs"] = in_order(job)
    keep.sweep_cache(os.path.join(home, "cache"), keep.days_ago(KEEP_DAYS))
    with scratch.job_folder(home, "predict", job) as folder:
        events = emit.Events(answers.descriptor)
        events.emit("result", **supervise.outcome(folder, job, None, events))
    return 0
