# SPDX-License-Identifier: Apache-2.0
"""Events of the protocol, one line each.

All text from a tool, a host or a kernel passes through clean() on its way into an event: bytes that
are not text become U+FFFD, control characters become visible escapes, and every length has a limit.
This module does not know what events mean."""

import errno
import json
import math
import os
import re
import sys
import time

SENTINEL = b"@hone "
MAX_TEXT = 16 << 10         # characters of a string in an event
MAX_LINE = 8 << 20          # bytes of an event; readers drop lines over 16 MiB
SYNC_S = 0.2                # how often events are pushed out to a network file system
FULL = (errno.ENOSPC, errno.EDQUOT)

COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
# Control characters except tab and newline, marks that reorder or hide text, halves of surrogate
# pairs.
UNSEEMLY = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
                      "\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e0fff]")


def escape(found):
    code = ord(found.group())
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return "\\x%02x" % code if code < 0x100 else "\\u%04x" % code


def clean(text, limit=MAX_TEXT):
    """Text for people, from text or bytes of any kind; colours are dropped."""
    if isinstance(text, (bytes, bytearray, memoryview)):
        cut = len(text) - 4 * limit
        text = bytes(text[:4 * limit]).decode("utf-8", "replace")
    else:
        text, cut = str(text), 0
    if "\x1b" in text:
        text = COLOURS.sub("", text)
    if len(text) > limit:
        cut, text = max(cut, 0) + len(text) - limit, text[:limit]
    text = UNSEEMLY.sub(escape, text)
    return text if cut <= 0 else "%s … (%d more)" % (text, cut)


def tidy(value, depth=0):
    """A value in a form that JSON can carry: NaN and infinities become null, text is cleaned."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (str, bytes)):
        return clean(value)
    if depth > 16:
        return "…"
    if isinstance(value, dict):
        return {clean(key, 256): tidy(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [tidy(item, depth + 1) for item in value]
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:   # a number of numpy's
        return tidy(value.item(), depth + 1)
    return clean(value)


def line(event, fields):
    """The bytes of one event."""
    body = {"event": event}
    body.update(tidy(fields))
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    data = SENTINEL + text.encode("utf-8", "replace") + b"\n"
    if len(data) <= MAX_LINE:
        return data
    return line("log", {"severity": "warning", "text": "an event %s of %d bytes was left out: at "
                        "most %d are sent" % (clean(event, 40), len(data), MAX_LINE)})


class Events:
    """A stream of events: one descriptor, one write for each line."""

    def __init__(self, descriptor, network=False, reserve=None):
        """network: the file lies on a network file system and has to be flushed explicitly.
        reserve: a file that is deleted when the disk is full, to make room for the result."""
        self.descriptor = descriptor
        self.network = network
        self.reserve = reserve
        self.synced = 0.0
        self.dirty = False

    def emit(self, event, **fields):
        self.write(line(event, fields), is_last=event == "result")

    def log(self, text, severity="note"):
        self.emit("log", severity=severity, text=text)

    def metric(self, name, value, unit):
        self.emit("metric", name=name, value=value, unit=unit)

    def diagnostic(self, message, severity="error", **place):
        """place: code, file, line, column, end_line, end_column; members that are missing are not
        known."""
        fields = {"severity": severity, "code": "", "file": "", "line": 0, "column": 0,
                  "end_line": 0, "end_column": 0, "message": message}
        fields.update(place)
        self.emit("diagnostic", **fields)

    def write(self, data, is_last=False):
        """Writes a line whole or not at all; OSError when the disk is full."""
        at = 0
        while at < len(data):
            try:
                at += os.write(self.descriptor, data[at:])
            except OSError as problem:
                if problem.errno not in FULL or not is_last or not self.release():
                    self.take_back(at)
                    raise
        self.dirty = True
        if self.network and time.monotonic() - self.synced > SYNC_S:
            self.sync()

    def release(self):
        """Frees the space that was reserved for the result; false when there is none left."""
        if self.reserve is None:
            return False
        try:
            os.unlink(self.reserve)
        except OSError:
            return False
        finally:
            self.reserve = None
        return True

    def take_back(self, written):
        """Half a line must not stay: the next line would be appended to it."""
        if not written:
            return
        try:
            os.ftruncate(self.descriptor, os.fstat(self.descriptor).st_size - written)
        except OSError:
            pass

    def sync(self):
        self.synced = time.monotonic()
        if self.dirty:
            self.dirty = False
            try:
                os.fsync(self.descriptor)
            except OSError:
                pass


def answers():
    """The events of a command, on standard output."""
    sys.stdout.flush()
    return Events(1)
