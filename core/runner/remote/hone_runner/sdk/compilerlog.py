# SPDX-License-Identifier: Apache-2.0
"""The compiler's own logs after a compilation: kept in the job's folder of raw output, even if the
folder they were written in is gone. Their end is shown if nothing else says why a compilation
failed."""""

import os

from . import watch

TOLD = 15                   # lines of a log that hone does not understand


def seam_of(path, folder):
    """The seam that wrote a log below a compilation's folder; None for a log in the temporary
    folder."""
    parts = os.path.relpath(path, folder).split(os.sep)
    name = parts[1] if parts[0] == watch.KEPT else parts[0]
    return None if name == "tmp" else name


def keep(context, kernel, folder, seam):
    """Copies the ends of the logs of one compilation: the paths of the copies of those that are of
    the seam it ended with."""
    mine = []
    for path in watch.logs_below(folder):
        own = seam_of(path, folder)
        target = free_name(os.path.join(context.raw, "%s-%s" % (kernel.label, watch.LOG)))
        try:
            watch.copy_tail(path, target)
        except OSError as problem:
            context.events.log("the compiler's log is not kept: %s" % problem, "warning")
            continue
        if own in (None, seam) or seam is None:
            mine.append(target)
    return mine


def free_name(path):
    stem, end = os.path.splitext(path)
    number = 1
    while os.path.exists(path):
        number += 1
        path = "%s-%d%s" % (stem, number, end)
    return path


def tell(context, logs, explained):
    """Says where the logs of a failed compilation are, and shows their last lines if the reason is
    not known."""
    context.events.log("the compiler's own log is kept in " + ", ".join(logs))
    if explained:
        return
    for path in logs[-1:]:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line for line in file.read().splitlines() if line.strip()]
        for line in lines[-TOLD:]:
            context.events.log(line)
