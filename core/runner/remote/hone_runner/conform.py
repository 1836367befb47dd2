# SPDX-License-Identifier: Apache-2.0
"""The command `conform`: compares an SDK with what the runner expects of it. It goes through the
table of what the runner relies on (sdk/relied.py), needs the SDK's wheels and no device, and leaves
nothing behind. The report is meant to be sent in: it has versions, names and signatures, but no
names of machines or people, and of a path only the part inside a package or a compilation's own
folder."""

import json
import os
import platform
import re
import shutil
import socket
import sys
import tempfile
import textwrap

from hone_runner import context as contexts, emit, environment, folder as folders, releases, \
    scratch, stage
from hone_runner.sdk import conformance, relied, routes

STATES = ("ok", "other", "absent")
WIDTH = 100
FORMAT = 1                  # of the report


# ---------------------------------------------------------------------------------- the judgement


def in_range(row, release):
    """Whether this is a line of the SDK that the thing was seen on. A line that nobody has seen is
    expected to have what every later line should have."""
    if not release or release.endswith("+"):
        return row.last is None
    line = releases.version(release)
    return (row.first is None or line >= releases.version(row.first)) and \
        (row.last is None or line <= releases.version(row.last))


def seen_on(row):
    if row.first and row.first == row.last:
        return "seen on %s" % row.first
    if row.first and row.last:
        return "seen on %s to %s" % (row.first, row.last)
    return "seen from %s on" % row.first if row.first else \
        "seen up to %s" % row.last if row.last else "seen on all"


def judge(row, release, state, found):
    """A row of the report. Things of other releases may well have a different form."""
    known = in_range(row, release)
    if state == "other" and not known:
        state, found = "absent", "there, in a form that hone does not use: " + found
    fine = state == "ok" or (state == "absent" and not (known and row.needed))
    why = "" if state != "absent" else seen_on(row) if known else "not of this release, " + \
        seen_on(row)
    return {"name": row.name, "used": row.used, "state": state, "fine": fine, "found": found,
            "why": why}


# --------------------------------------------------------------------------------- what is hidden


class Redactor:
    """Removes from a text what identifies the machine or its user."""

    def __init__(self, words):
        """words: {text: its replacement}; longer texts are replaced first."""
        self.words = sorted(((one, to) for one, to in words.items() if len(one) > 2),
                            key=lambda pair: -len(pair[0]))

    def text(self, text):
        text = str(text)
        for word, to in self.words:
            if word.startswith("/"):
                text = text.replace(word, to)
        text = re.sub(r"(?<![\w.>])(?:~|/)[^\s'\",:;()\[\]]*", self.path, text)
        for word, to in self.words:
            if not word.startswith("/"):
                text = re.sub(r"(?<!\w)%s(?!\w)" % re.escape(word), to, text)
        return emit.clean(text, 1500)

    @staticmethod
    def path(found):
        """The part of an absolute path within its package, else its last name."""
        path = found.group()
        inside = re.search(r"(?:site|dist)-packages/(.+)$", path)
        if inside:
            return inside.group(1)
        name = os.path.basename(path.rstrip("/"))
        return "<path>/" + name if name and path.count("/") > 1 else path

    def all(self, value):
        if isinstance(value, dict):
            return {key: self.all(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.all(item) for item in value]
        return self.text(value) if isinstance(value, str) else value


def redactor(context):
    host, chosen = socket.gethostname(), context.environment.chosen
    words = {context.folder.path: "<job>", context.folder.home: "<home>",
             os.path.realpath(context.folder.path): "<job>",
             os.path.expanduser("~"): "<home>", host: "<machine>", host.split(".")[0]: "<machine>",
             os.environ.get("USER") or "-": "<user>", os.environ.get("LOGNAME") or "-": "<user>"}
    if chosen:
        words[chosen.path] = words[os.path.realpath(chosen.path)] = "<environment>"
    words.pop("root", None)             # a separate word, not a part of a name
    words.pop("/", None)
    return Redactor(words)


# ------------------------------------------------------------------------------------- the report


def versions(host):
    """What the report is about."""
    found = {"line": host.release, "route": host.route, "python": platform.python_version(),
             "machine": platform.machine(), "system": platform.system(),
             "packages": {name: host.packages[name] for name in sorted(host.packages)},
             "tools": {name: row["version"] or "?" for name, row in sorted(host.tools.items())}}
    if host.chosen and host.chosen.version:
        found["python"] = host.chosen.version
    return found


def report_of(context, note):
    """{"versions", "rows", counts}. note: called with each row as it comes."""
    host, hide = context.environment, redactor(context)
    checks = conformance.Checks(context, routes.route_for(host.route, host.release))
    rows = []
    for row in relied.TABLE:
        state, found = checks.look(row)
        rows.append(hide.all(judge(row, host.release, state, found)))
        note(rows[-1])
    counts = {state: sum(row["state"] == state for row in rows) for state in STATES}
    return {"report": "hone conformance", "format": FORMAT, "versions": hide.all(versions(host)),
            "rows": rows, "counts": counts, "bad": sum(not row["fine"] for row in rows)}


def wrapped(text, indent):
    return ("\n" + " " * indent).join(textwrap.wrap(
        text, WIDTH - indent, break_long_words=False, break_on_hyphens=False) or [""])


def head_text(found):
    packages = ", ".join("%s %s" % pair for pair in found["packages"].items()) or "no packages"
    tools = ", ".join("%s %s" % pair for pair in found["tools"].items()) or "no tools"
    rows = ["hone conformance report, format %d" % FORMAT,
            "SDK %s (%s); Python %s on %s, %s" % (found["line"] or "unknown", found["route"],
                                                  found["python"], found["machine"],
                                                  found["system"]), packages, tools]
    return "\n".join(wrapped(row, 2) for row in rows) + "\n"


def row_text(row):
    state = row["state"] if row["fine"] else row["state"].upper()
    said = "; ".join(part for part in (row["why"], row["found"]) if part)
    return "%-7s %s (%s)\n          %s" % (state, row["name"], row["used"], wrapped(said, 10))


def end_text(report):
    counts = report["counts"]
    text = "\n%d ok, %d absent, %d other; " % (counts["ok"], counts["absent"], counts["other"])
    text += "this SDK is as hone expects it." if not report["bad"] else \
        "%d in CAPITALS %s not as hone expects." % (report["bad"],
                                                     "is" if report["bad"] == 1 else "are")
    return text + " Please open an issue with this report; it names no machine and no person."


# ------------------------------------------------------------------------------------ the command


def say(text):
    print(text, flush=True)


def run(context, flags):
    as_json = "--json" in flags
    if not as_json:
        say(head_text(redactor(context).all(versions(context.environment))))
    report = report_of(context, (lambda row: None) if as_json else lambda row: say(row_text(row)))
    say(json.dumps(report, indent=1) if as_json else end_text(report))
    return report


def conform(settings, flags, answers):
    """Prints the report. Exit status: 0 when the SDK is as expected, 1 when not, 3 when there is
    none. --events: for hone, which learns that from an event instead of the status."""
    base = os.path.realpath(tempfile.mkdtemp(prefix="hone-conform-"))
    home = os.path.join(base, ".hone")
    os.makedirs(os.path.join(home, "cache"))
    job = {"protocol": 1, "kernel_path": "canary.py", "settings": settings}
    try:
        with scratch.job_folder(home, "conform", job) as folder, open(os.devnull, "wb") as nowhere:
            context = contexts.Context(folder, job, emit.Events(nowhere.fileno()))
            host = context.environment
            if not host.chosen or not host.route:
                raise folders.Refused(host.why if not host.chosen else "%s has neither nki nor "
                                      "neuronx-cc" % host.chosen.path)
            report = run(context, flags)
    except folders.Refused as problem:
        if "--events" in flags:
            raise
        print("conform: %s" % problem, file=sys.stderr)
        return 3
    finally:
        shutil.rmtree(base, ignore_errors=True)
    if "--events" in flags:
        answers.emit("conform", bad=report["bad"], **report["counts"])
        return 0
    return 1 if report["bad"] else 0
