# SPDX-License-Identifier: Apache-2.0
"""How the output of SDK stages is shown, and what is found in it: how lines appear in the
evaluation's log, and the findings of a stage's two streams after it ended."""

import re
import time

from hone_runner import output

from . import advice, grammar, watch

MAX_PARSED = 16 << 20       # bytes of a stream that are searched for findings
MAX_TOLD = 1000             # messages that are remembered in order not to be shown twice

# To compile, a launch is given a core that no host has, so that it takes none.
NO_CORE = "4095"
NO_CORE_LINE = re.compile(r"not available.*Requested:(?:nc)?%s\b" % NO_CORE)

SEVERITY = {"ERROR": "error", "CRITICAL": "error", "FATAL": "error", "ERRO": "error",
            "FATA": "error", "WARNING": "warning", "WARN": "warning"}


class Grammar(output.Grammar):
    """Severity by the tool's own level; progress in words; dots and bars left out."""

    notable = output.Grammar.notable + (b"[F1", b"CRITICAL", b"FATA[", b"[GCA", b"[NLA", b"[TEN",
                                        b"saved output ", b"Compiler status ")

    def __init__(self, doing="compiling"):
        self.doing, self.stage, self.began = doing, "", time.monotonic()
        self.told = set()           # codes with their messages: a log and a stream both have them

    def line(self, text):
        said = text.decode("utf-8", "replace")
        if said.startswith(watch.MARK):
            return None
        said = said[len(watch.PREFIX):] if said.startswith(watch.PREFIX) else said
        line = grammar.classify(said)
        if line.kind == "dots" or self.is_told(grammar.find_code(said)):
            return None
        for expression in grammar.PASSES:
            found = expression.search(line.text)
            if found:
                return self.reached(found.group("name"))
        severity = SEVERITY.get(line.level.upper(), "note")
        if severity == "error" and advice.is_harmless(said):
            severity = "note"
        if NO_CORE_LINE.search(said):
            return "note", said.rstrip() + " (on purpose: compiling takes no core)"
        if severity == "note" and grammar.find_code(said):
            severity = "error"
        return (severity, said) if said.strip() else None

    def is_told(self, code):
        """Whether a line with this code was shown before."""
        if code is None or code in self.told or len(self.told) >= MAX_TOLD:
            return code in self.told
        self.told.add(code)
        return False

    def reached(self, name):
        """The compiler's pass and the time so far; nobody knows how much is left."""
        if name == self.stage:
            return None
        self.stage = name
        return "note", "%s: %s (%.0f s so far)" % (self.doing, name, time.monotonic() - self.began)


def findings(result, files=(), logs=()):
    """(findings, reader) of a stage that ended: of the compiler's logs, which have messages whole,
    then of both streams, each read by itself. Of several seams that were tried, the last."""
    found, reader = [], grammar.Reader(files)
    streams = [(path, b"") for path in logs]
    streams += [(result.out, result.out_tail), (result.err, result.err_tail)]
    for path, tail in streams:
        own = grammar.Reader(files)
        own.seen = reader.seen
        mine = []
        for line in lines_of(path, tail):
            if line.startswith(watch.MARK):
                mine, own = [], grammar.Reader(files)
                own.seen = set(reader.seen)
                continue
            mine += own.feed(line)
        found += mine + own.finish()
        reader.seen = own.seen
        reader.stage = own.stage or reader.stage
        reader.exit_status = own.exit_status if own.exit_status is not None else reader.exit_status
        reader.cached_failure = reader.cached_failure or own.cached_failure
    return found, reader


def lines_of(path, tail):
    data = tail
    if path:
        try:
            with open(path, "rb") as file:
                data = file.read(MAX_PARSED)
        except OSError:
            pass
    for line in data.split(b"\n"):
        text = line[:grammar.MAX_LINE].decode("utf-8", "replace").rsplit("\r", 1)[-1]
        yield text[len(watch.PREFIX):] if text.startswith(watch.PREFIX) else text


def text_of(result):
    """The parts of a stage's output that messages need."""
    return (result.out_tail + b"\n" + result.err_tail).decode("utf-8", "replace")
