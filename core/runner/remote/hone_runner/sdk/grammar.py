# SPDX-License-Identifier: Apache-2.0
"""How to read the output of the Neuron toolchain: compiler wrapper, compiler, runtime, tools,
Python tracebacks. One table has the forms of lines, one reader turns lines into findings. It knows
no processes and writes no events; advice.py says what a failure means for the user.

The forms are those of public logs and of the Neuron SDK documentation (compiler error codes,
NKI errors, runtime troubleshooting)."""

import collections
import os
import re

from hone_runner import tables

MAX_LINE = 20000            # characters of a line that are looked at
MAX_MESSAGE = 3000
MAX_CONTINUED = 30          # lines that may follow a code's line
MAX_FINDINGS = 200

Line = collections.namedtuple("Line", "kind level where text")
# kind "error": a diagnostic; "pass": the compiler reached a pass; "status": a runtime status;
# "note": worth a line to people. `category` is user, internal, crash, memory, trace or "".
Finding = collections.namedtuple("Finding", "kind category code file line message")

# Each row: kind of line, expression, and the groups that hold level, place and text. A group may
# be a tuple: the first that matched.
LINES = [
    ("wrapper", re.compile(
        r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?):?\s+(?:(\d+):?\s+)?"
        r"(?:\[(\w+)\]|(\w+) \|\|(\w+)\|\|):\s?(.*)$"), (3, 4), 5, 6),
    ("compiler", re.compile(
        r"^(\d{4}-\d\d-\d\dT[\d:]+Z|\d\d/\d\d/\d{4} [\d:]+ [AP]M) (\w+) (?:(\d+) )?"
        r"\[([^\]]*)\]: ?(.*)$"), (2,), 4, 5),
    ("runtime", re.compile(
        r"^(\d{4}-\w{3}-\d\d [\d:.]+)\s+(\d+):(\d+)\s+(\w+)\s+(\w+):(\S+)\s+(.*)$"), (4,), 6, 7),
    ("collectives", re.compile(
        r"^(\d{4}-\w{3}-\d\d [\d:.]+)\s+(\d+):(\d+)\s+\[(\d+)\]\s+(\S+)\s+CCOM\s+(\w+)\s+(.*)$"),
     (6,), 5, 7),
    ("tool", re.compile(r"^(INFO|WARN|ERRO|FATA|DEBU)\[(\d+)\]\s+(.*)$"), (1,), None, 3),
]

# Dots, bars and their scales: progress without a name.
DOTS = re.compile(r"^\.+(?=\S|$)")
BAR = re.compile(r"^(?:0%\s+10\s+20\b.*|\|-[-|]*|\*+)\s*$")

# What the table (messages.def) says about codes and statuses.
TABLE = tables.Table("messages.def")
FINDS = [re.compile(pattern) for pattern, in TABLE.of("FIND")]
CLASSES = [(re.compile(pattern), cause) for pattern, cause in TABLE.of("CLASS")]
# Envelopes: lines that only say how the compiler's process ended.
ENVELOPE = re.compile(r"neuronx-cc compilation failed with (-?\d+)|^Error: (-\d+)\s*$"
                      r"|failed with exit code (-?\d+)"
                      r"|Subcommand returned with exitcode=(-?\d+)"
                      r"|returned non-zero exit status (-?\d+)|died with <Signals\.\w+: (\d+)>")

PASSES = [
    re.compile(r"^Running (?P<name>[A-Z_a-z][\w.]*)\s*$"),
    re.compile(r"^(?P<name>[A-Z_a-z][\w. ]*?) finished after [\d.]+ seconds"),
    re.compile(r"^(?P<name>[A-Z_a-z][\w. ]*?) failed after [\d.]+ seconds"),
    re.compile(r"^(?P<name>Dependency reduction|Analyzing dependencies) of \S+"),
    re.compile(r"\[(?P<name>job\.\w+\.\d+)\]: Job #\d+ finished"),
]
NOTES = re.compile(
    r"^(?:Compiler status (?:PASS|ERROR)|Diagnostic logs stored in |Artifacts stored in: "
    r"|Using a cached neff at |Got a cached failed neff at |Wrote nrt memory alloc debug info to "
    r"|BirCodeGen estimate #instances=)")
CACHED_FAILURE = re.compile(r"Got a cached failed neff at ")

FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.*))?$')
FINAL = re.compile(r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning|Failure))"
                   r"(?:: (?P<text>.*))?$")
SLUG = re.compile(r"#err-([\w-]+)")
# Places as the front end's C++ part prints them, only on standard error: MLIR's forms.
DIAGNOSTIC = re.compile(r'^(?:loc\((?P<where>.+)\)|"?(?P<file>[^":\s][^":]*\.py)"?:(?P<line>\d+)'
                        r'(?::\d+)?):\s*error:\s*(?P<text>.*)$')
LOCATION = re.compile(r'"([^"]+)":(\d+)')
# Lines between two tracebacks of one failure: the later traceback is the one finally raised.
CHAIN = ("During handling of the above exception", "The above exception was the direct cause")
HELP = re.compile(r"\s*Info on how to fix: \S+\s*$")
PLACE_IN_TEXT = re.compile(r"([\w./~-]+\.py):(\d+)")
NRT = re.compile(TABLE.of("FIND_STATUS")[0][0])
NRT_STATUS = dict([(0, "NRT_SUCCESS")] + [row[:2] for row in TABLE.of("STATUS")])
NRT_NUMBER = {name: number for number, name in NRT_STATUS.items()}


def category_of(code):
    """user: the kernel's fault; internal: the compiler's; crash and memory: its process died."""
    return next(cause for pattern, cause in CLASSES if pattern.fullmatch(code))


def exit_status(text):
    """How the compiler's process ended, if a text says it: an exit status, negative for a signal.
    None: it does not say."""
    match = ENVELOPE.search(text)
    if not match:
        return None
    value = int(next(group for group in match.groups() if group is not None))
    return -value if match.group(match.re.groups) else value


def classify(text):
    """A line by the table; kind "dots" for progress without words, "text" for all else."""
    text = text[:MAX_LINE]
    for kind, expression, levels, where, body in LINES:
        match = expression.match(text)
        if match:
            level = next((match.group(g) for g in levels if match.group(g)), "")
            return Line(kind, level, match.group(where) or "" if where else "", match.group(body))
    if BAR.match(text) or not text.strip("."):
        return Line("dots", "", "", "")
    return Line("text", "", "", text)


def find_code(text):
    """(code, message) of a line anywhere in which the compiler names a code; None."""
    for expression in FINDS:
        match = expression.search(text)
        if match and match.group().startswith("["):
            return match.group(1), match.group(2).strip()
        if match:
            before = text[:match.start()].rstrip(" [(.:")
            return match.group(1), match.group(2).lstrip("] ").strip() or before.strip()
    return None


def find_status(text):
    """(number, name) of the first runtime status a text names; None. NRT_SUCCESS is none."""
    for match in NRT.finditer(text):
        name, number = match.group(1), match.group(2) or match.group(3) or match.group(4)
        if number is None and name not in NRT_NUMBER:
            number = next((n for full, n in NRT_NUMBER.items()
                           if full.endswith(name[3:]) and len(name) > 8), None)
            if number is None:
                continue                # NRT_STATE_START and the like
        value = int(number) if number is not None else NRT_NUMBER[name]
        if value:
            return value, NRT_STATUS.get(value, name or "NRT_%d" % value)
    return None


# ------------------------------------------------------------------------------------ tracebacks


class Trace:
    """A Python traceback as it comes in, line by line."""

    def __init__(self):
        self.frames = []            # (file, line, has source)
        self.type = None
        self.text = []

    def feed(self, text):
        """False: the line no longer belongs to the traceback."""
        match = FRAME.match(text)
        if match and self.type is None:
            self.frames.append([match.group("file"), int(match.group("line")), False])
            return True
        if self.type is None and text[:1] in (" ", "\t"):
            if self.frames and not re.match(r"^[\s~^]*$", text):
                self.frames[-1][2] = True
            return True
        final = FINAL.match(text)
        if final and self.type is None:
            self.type = final.group("type").rsplit(".", 1)[-1]
            self.text = [final.group("text") or ""]
            return True
        if self.type is None:
            return not text.strip() or \
                text.startswith(("Traceback ", "[Previous line", "During handling", "The above"))
        if len(self.text) >= MAX_CONTINUED or not text.strip() or classify(text).kind != "text" or \
                text.startswith("Traceback (most recent call last)"):
            return False
        self.text.append(text.rstrip())
        return True


def is_one_of(path, files):
    """Whether a path is one of the files, within one that is a folder, or of the same name."""
    return any(path == f or path.startswith(f.rstrip(os.sep) + os.sep) or
               os.path.basename(path) == os.path.basename(f) for f in files if f)


def diagnostic(text, files):
    """The finding of a line in which the front end names a place and an error; None. Of the
    places of an inlined call the kernel's own one is taken."""
    match = DIAGNOSTIC.match(text)
    if not match:
        return None
    places = LOCATION.findall(match.group("where")) if match.group("where") else \
        [(match.group("file"), match.group("line"))]
    file, line = next(((path, int(number)) for path, number in places if is_one_of(path, files)),
                      ("", 0))
    if not file and not match.group("where"):
        return None
    return Finding("error", "trace", "", file, line, match.group("text").strip()[:MAX_MESSAGE])


def locate(frames, text, files):
    """(file, line) of the last frame in the kernel's files; else a place that the message names;
    else none. files: paths and folders of the kernel."""
    inside = re.findall(r'File "([^"]+)", line (\d+)', text)
    for path, line in [(p, int(n)) for p, n in reversed(inside)] + \
            [(f, n) for f, n, _ in reversed(frames)]:
        if is_one_of(path, files):
            return path, line
    for path, line in PLACE_IN_TEXT.findall(text):
        at = next((f for f in files if f and path.endswith(os.path.basename(f))), None)
        if at:
            return at, int(line)
    return "", 0


def trace_finding(trace, files):
    text = "\n".join(trace.text).strip()
    slug = SLUG.search(text)
    code = find_code(text)
    file, line = locate(trace.frames, text, files)
    message = HELP.sub("", text) if slug else text
    # Categories: what NKI refused while tracing the kernel; a backend failure carries its own code.
    category = category_of(code[0]) if code else "trace"
    name = code[0] if code else ("err-" + slug.group(1) if slug else "")
    return Finding("error", category, name, file, line,
                   ("%s: %s" % (trace.type, message))[:MAX_MESSAGE] if message else trace.type)


def read_trace(text, files):
    """The findings of a whole formatted traceback: the one that was raised last."""
    trace, last = Trace(), None
    for line in text.splitlines():
        if line.startswith("Traceback (most recent call last)") and (trace.type or trace.frames):
            last, trace = trace, Trace()
        if not trace.feed(line) and trace.type:
            last, trace = trace, Trace()
    chosen = trace if trace.type else last
    return trace_finding(chosen, files) if chosen and chosen.type else None


# ------------------------------------------------------------------------------------ the reader


class Reader:
    """Findings of one stage's output. Feed lines as they come; finish() gives what is pending.
    The latest pass of the compiler is in `stage`, the last envelope in `exit_status`."""

    def __init__(self, files=()):
        self.files = [f for f in files if f]
        self.stage = ""
        self.exit_status = None
        self.cached_failure = False
        self.instances = 0
        self.trace = self.ended = None
        self.pending = None         # [code, where, lines]
        self.seen = set()
        self.count = 0

    def feed(self, text):
        text = text.rstrip("\r\n")[:MAX_LINE]
        found = []
        if self.trace is not None:
            if self.trace.feed(text):
                return found
            self.end_trace()
        if self.ended is not None and text.strip():
            if text.startswith(CHAIN):
                self.ended = None
            found += self.tell_trace()
        if text.startswith("Traceback (most recent call last)"):
            found += self.end_code()
            self.trace = Trace()
            return found
        line = classify(DOTS.sub("", text) if DOTS.match(text) else text)
        found += self.look(line, text)
        return found

    def look(self, line, text):
        code = find_code(text)
        if code:
            found = self.end_code()
            self.pending = [code[0], [code[1]]]
            return found
        if self.pending and line.kind == "text" and line.text.strip() and \
                len(self.pending[1]) < MAX_CONTINUED and not self.is_known(line.text):
            self.pending[1].append(line.text.strip())
            return []
        found = self.end_code()
        placed = diagnostic(text, self.files)
        if placed:
            return found + self.once(placed)
        status = exit_status(text)
        self.exit_status = self.exit_status if status is None else status
        return found + self.look_further(line)

    def is_known(self, text):
        return bool(NOTES.match(text) or ENVELOPE.search(text) or find_status(text) or
                    DIAGNOSTIC.match(text) or
                    any(p.match(text) for p in PASSES))

    def look_further(self, line):
        for expression in PASSES:
            match = expression.search(line.text)
            if match:
                if match.group("name") == self.stage:
                    return []
                self.stage = match.group("name")
                return [Finding("pass", "", "", "", 0, self.stage)]
        if NOTES.match(line.text):
            self.cached_failure = self.cached_failure or bool(CACHED_FAILURE.match(line.text))
            size = re.search(r"#instances=(\d+)", line.text)
            self.instances = int(size.group(1)) if size else self.instances
            return [Finding("note", "", "", "", 0, line.text.strip())]
        status = find_status(line.text)
        if status and line.level not in ("INFO", "DEBUG", "DEBU", "TRACE"):
            return self.once(Finding("status", "", status[1], "", 0, line.text.strip()))
        return []

    def end_code(self):
        if not self.pending:
            return []
        code, lines = self.pending
        self.pending = None
        text = "\n".join(lines).strip()
        file, line = locate([], text, self.files)
        return self.once(Finding("error", category_of(code), code, file, line, text))

    def end_trace(self):
        """A traceback ended: it is reported when the next line does not begin another one."""
        self.ended, self.trace = self.trace, None

    def tell_trace(self):
        trace, self.ended = self.ended, None
        if trace is None or trace.type is None:
            return []
        return self.once(trace_finding(trace, self.files))

    def once(self, found):
        """Adds the finding, unless it was reported before."""
        said = "" if found.code[:1] == "F" else found.message.split("\n", 1)[0][:200]
        key = (found.kind, found.code, said)
        if key in self.seen or self.count >= MAX_FINDINGS:
            return []
        self.seen.add(key)
        self.count += 1
        return [found._replace(message=found.message[:MAX_MESSAGE])]

    def finish(self):
        if self.trace is not None:
            self.end_trace()
        return self.tell_trace() + self.end_code()


def causes(findings):
    """The errors among findings, the best explanation first: envelopes (F1xx) only when there is no
    other error, a traceback's RuntimeError about the compiler's exit status last."""
    errors = [f for f in findings if f.kind == "error"]
    def rank(f):
        if f.code.startswith("F1"):
            return 2
        if f.category == "trace" and ENVELOPE.search(f.message):
            return 3
        return 0 if f.category == "user" else 1
    ordered = sorted(errors, key=rank)
    most = max(1, rank(ordered[0])) if ordered else 1
    return [f for f in ordered if rank(f) <= most]
