# SPDX-License-Identifier: Apache-2.0
"""Follows the compiler's own log while it is written. Current releases capture what the compiler
prints, so its progress and errors are only in log-neuron-cc.txt of its work folder, which is often
temporary. This module prints the interesting lines as they come and makes a copy of the log before
it is deleted."""

import os
import re
import sys
import tempfile
import threading

from . import grammar

LOG = "log-neuron-cc.txt"
KEPT = "kept-logs"              # a folder for copies, beside those of the seams
PREFIX = "[" + LOG + "] "       # of a log's line on standard output
MARK = "[hone] compiling by "   # on both streams, when a seam begins
POLL_S = 0.2
READ = 1 << 20                  # bytes of a log that are read at a time
BEHIND = 4 << 20                # further behind than this, what lies between is passed over
KEEP = 4 << 20                  # bytes of a log that are kept: its end
MAX_LOGS = 8
MAX_DEPTH = 5
MAX_FOLDERS = 2000
LEVELS = ("WARNING", "WARN", "ERROR", "CRITICAL", "FATAL")


def mark(name):
    """Says on both streams that another seam begins."""
    for stream in (sys.stdout, sys.stderr):
        stream.write("%s%s\n" % (MARK, name))
        stream.flush()


def logs_below(folder):
    """The compiler's logs in a folder, links not followed, to a limit."""
    found = []
    for number, (path, folders, files) in enumerate(os.walk(folder)):
        if path[len(folder):].count(os.sep) >= MAX_DEPTH:
            del folders[:]
        if LOG in files and not os.path.islink(os.path.join(path, LOG)):
            found.append(os.path.join(path, LOG))
        if number >= MAX_FOLDERS or len(found) >= MAX_LOGS:
            break
    return found


def copy_tail(path, target):
    """Writes the end of a log to another file."""
    with open(path, "rb") as source:
        source.seek(max(os.fstat(source.fileno()).st_size - KEEP, 0))
        data = source.read(KEEP)
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    with open(target, "wb") as out:
        out.write(data)


def is_worth_showing(text):
    """Progress, warnings and errors: the lines that people read, even if the log has a million."""
    line = grammar.classify(text)
    return line.level.upper() in LEVELS or bool(grammar.find_code(text)) or \
        any(one.search(line.text) for one in grammar.PASSES) or \
        bool(grammar.NOTES.match(line.text))


class Follower:
    """One log. The open file stays readable when it is deleted."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.rest = b""

    def lines(self, limit=READ):
        """The whole lines that came since."""
        size = os.fstat(self.file.fileno()).st_size
        if size - self.file.tell() > BEHIND:
            self.file.seek(size - READ)
            self.rest = b""
        parts = (self.rest + self.file.read(limit)).split(b"\n")
        self.rest = parts.pop()[-grammar.MAX_LINE:]
        return [re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", part[:grammar.MAX_LINE].decode(
            "utf-8", "replace")) for part in parts]

    def close(self):
        self.file.close()


class Watch:
    """Follows the logs below a seam's folder and the folder for temporary files, for the time of a
    with statement. kept: the folder for copies of logs that are deleted within it."""

    def __init__(self, folder, kept):
        self.roots, self.kept = [folder, tempfile.gettempdir()], kept
        self.before = {one for root in self.roots for one in logs_below(root)}
        self.followers = {}
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def __enter__(self):
        sys.addaudithook(self.on_audit)         # for ever, so that it asks whether this is over
        self.thread.start()
        return self

    def __exit__(self, *problem):
        self.over.set()
        self.thread.join()
        for follower in self.followers.values():
            follower.close()

    def follow(self):
        while not self.over.wait(POLL_S):
            self.look(READ)
        self.look(BEHIND)

    def look(self, limit):
        for root in self.roots:
            for path in logs_below(root):
                if path not in self.before and path not in self.followers and \
                        len(self.followers) < MAX_LOGS:
                    self.open(path)
        for follower in self.followers.values():
            shown = [PREFIX + line for line in follower.lines(limit) if is_worth_showing(line)]
            if shown:
                sys.stdout.write("\n".join(shown) + "\n""")
                sys.stdout.flush()

    def open(self, path):
        try:
            self.followers[path] = Follower(path)
        except OSError:
            pass                # already gone; if the SDK deleted it, there is a copy

    def deleted(self, folder):
        """Called when a folder is about to be deleted: keeps what the compiler wrote there."""
        for path in logs_below(folder):
            number = len(os.listdir(self.kept)) if os.path.isdir(self.kept) else 0
            if path not in self.before and number < MAX_LOGS:
                copy_tail(path, os.path.join(self.kept, str(number), LOG))

    def on_audit(self, event, arguments):
        if event != "shutil.rmtree" or self.over.is_set():
            return
        try:
            self.deleted(os.fspath(arguments[0]))
        except (OSError, TypeError, ValueError):
            pass                # making the copy must not disturb the compilation
