# SPDX-License-Identifier: Apache-2.0
"""The output of a tool: kept raw in a file up to a limit, and shown as log events up to a budget.

Memory is constant and the work for each byte little, whatever comes: a gigabyte of log, one line
without end, binary garbage, bars that redraw themselves. The grammar knows what lines mean."""

import collections
import errno
import os
import re

RAW_LIMIT = 64 << 20        # bytes kept of a stream
TAIL_BYTES = 4 << 20        # of which these are its end
HEAD_LINES = 2000           # shown as they come
TAIL_LINES = 500            # shown at the end
NOTABLE_LINES = 500         # shown in between
LINE_BYTES = 64 << 10       # of one line that is looked at; events cut at 16 KiB
QUIET_S = 2.0               # a line without an end is shown after so long without news


class Grammar:
    """How lines are shown. Tools' own grammars replace this."""

    # Lines with one of these words are shown even when the budget is used up.
    notable = (b"ERROR", b"Error", b"error:", b"ERRO[", b"FATAL", b"Traceback", b"NRT_", b"NCC_")

    def line(self, text):
        """(severity, text) of a line of bytes, or None to leave it out."""
        return ("note", text) if text.strip() else None


class Tail:
    """The last bytes of a stream: at least TAIL_BYTES of them, if there were that many."""

    def __init__(self):
        self.chunks = collections.deque()
        self.size = 0

    def add(self, chunk):
        self.chunks.append(chunk)
        self.size += len(chunk)
        while self.size - len(self.chunks[0]) >= TAIL_BYTES:
            self.size -= len(self.chunks.popleft())

    def bytes(self):
        return b"".join(self.chunks)[-TAIL_BYTES:]


class Raw:
    """A file that keeps the head and the tail of a stream."""

    def __init__(self, path, limit=RAW_LIMIT):
        self.path = path
        self.head = max(limit - TAIL_BYTES, 0)
        self.total = 0
        self.kept = 0
        self.full = None            # why no more could be written
        self.tail = Tail()
        self.descriptor = -1
        if path:
            self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC,
                                      0o600)

    def add(self, chunk):
        self.total += len(chunk)
        self.tail.add(chunk)
        if self.kept < self.head:
            self.kept += self.put(chunk[:self.head - self.kept])

    def put(self, data):
        at = 0
        while at < len(data) and self.descriptor >= 0 and not self.full:
            try:
                at += os.write(self.descriptor, data[at:])
            except OSError as problem:
                if problem.errno == errno.EINTR:
                    continue
                self.full = problem.strerror
        return at

    def close(self):
        left = self.total - self.kept if not self.full else 0
        if left:
            tail = self.tail.bytes()[-left:]
            cut = left - len(tail)
            if cut:
                self.put(b"\n[hone: %d bytes were left out here]\n" % cut)
            self.put(tail)
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class Stream:
    """One stream of a stage."""

    def __init__(self, events, grammar, path, limit=RAW_LIMIT):
        """events None: nothing is shown. path None: only the tail is kept."""
        self.events = events
        self.grammar = grammar or Grammar()
        self.raw = Raw(path, limit)
        self.rest = b""             # of a line whose end has not come
        self.dropped = 0            # bytes of that line which are not in rest
        self.flushed = 0            # bytes of rest that were shown
        self.lines = 0              # that ended
        self.head = 0               # shown of the first lines
        self.notable = set()        # numbers of lines shown out of turn

    def feed(self, chunk):
        self.raw.add(chunk)
        if self.events is None:
            return
        data = self.rest + chunk if self.rest else chunk
        at = 0
        while self.head < HEAD_LINES:
            end = data.find(b"\n", at)
            if end < 0:
                break
            self.show(data[at + self.flushed:end])
            self.flushed = self.dropped = 0
            self.head += 1
            self.lines += 1
            at = end + 1
        if self.head >= HEAD_LINES:
            at = self.scan(data, at)
        self.keep_rest(data[at:])

    def keep_rest(self, rest):
        bar = rest.rfind(b"\r", 0, len(rest) - 1)
        if bar >= 0 and not self.flushed:       # overwritten by a bar: nobody saw it
            rest = rest[bar + 1:]
        if len(rest) > LINE_BYTES:
            self.dropped += len(rest) - LINE_BYTES
            rest = rest[:LINE_BYTES]
        self.rest = rest
        self.flushed = min(self.flushed, len(rest))

    def scan(self, data, at):
        """Counts the lines of data from `at` on and shows the important ones; returns where the
        last one ends."""
        last = data.rfind(b"\n", at) + 1
        if last <= at:
            return at
        if len(self.notable) < NOTABLE_LINES:
            for start in self.starts(data, at, last):
                number = self.lines + data.count(b"\n", at, start)
                if number not in self.notable and len(self.notable) < NOTABLE_LINES:
                    self.notable.add(number)
                    self.show(data[start:data.find(b"\n", start)])
        self.lines += data.count(b"\n", at, last)
        self.flushed = self.dropped = 0
        return last

    def starts(self, data, at, last):
        """Where the important lines begin, in order."""
        found = set()
        for needle in self.grammar.notable:
            where = data.find(needle, at, last)
            while where >= 0 and len(found) < 2 * NOTABLE_LINES:
                found.add(max(data.rfind(b"\n", at, where) + 1, at))
                where = data.find(needle, data.find(b"\n", where), last)
        return sorted(found)

    def show(self, line):
        if b"\r" in line:
            parts = [part for part in line.split(b"\r") if part.strip()]
            line = parts[-1] if parts else b""
        found = self.grammar.line(line[:LINE_BYTES])
        if found:
            text = found[1]
            if self.dropped:
                text += (b" [%d bytes more]" if isinstance(text, bytes) else " [%d bytes more]") \
                    % self.dropped
            self.events.log(text, found[0])

    def quiet(self):
        """Called when nothing came for a while: shows a line that has no end yet, unless it is only
        dots."""
        if self.events is None or self.head >= HEAD_LINES:
            return
        text = self.rest[self.flushed:]
        if re.search(rb"[^.\s*|=#>-]", text):
            self.flushed = len(self.rest)
            self.show(text)

    def close(self):
        """The stream ended: the last line, the tail, and what was left out."""
        if self.events is not None:
            if self.rest[self.flushed:]:
                self.feed_end()
            if self.lines > self.head:
                self.show_tail()
        self.raw.close()
        if self.events is not None and self.raw.full:
            self.events.log("%s is not whole: %s" % (self.raw.path, self.raw.full), "warning")

    def feed_end(self):
        if self.head < HEAD_LINES:
            self.show(self.rest[self.flushed:])
            self.head += 1
        self.lines += 1
        self.rest, self.dropped = b"", 0

    def show_tail(self):
        lines = self.raw.tail.bytes().split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        lines = lines[-min(TAIL_LINES, self.lines - self.head):]
        first = self.lines - len(lines)
        out = first - self.head - sum(1 for number in self.notable if number < first)
        if out > 0:
            where = self.raw.path and "; all that was kept is in %s" % self.raw.path
            self.events.log("%d lines were left out here%s" % (out, where or ""), "note")
        for number, line in enumerate(lines, first):
            if number not in self.notable:
                self.show(line)
