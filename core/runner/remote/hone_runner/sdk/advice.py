# SPDX-License-Identifier: Apache-2.0
"""What a failure on a Neuron host means and what to do about it, by the table that hone has, too
(messages.def): from texts of the runtime, the tools and the compiler to one sentence each. Nothing
here acts: whether a run is tried again or a host given up is the caller's business, by `kind`."""

import collections
import re

from . import grammar

# kind: kernel (laid to the kernel), busy (a core is held: wait), environment (the host cannot serve
# this), hardware (stop using the host), noise (means nothing when the exit status is 0).
Advice = collections.namedtuple("Advice", "id kind text")



def phrase(what, fix):
    """One sentence of what is wrong and what to do."""
    lower = fix[:1].lower() if fix[1:2].islower() else fix[:1]
    return "%s: %s" % (what, lower + fix[1:].rstrip("."))


ROWS = [(name, kind, re.compile(pattern, re.I), phrase(what, fix))
        for name, kind, pattern, what, fix in grammar.TABLE.of("TEXT")]

# Lines that tools write to standard error and that mean nothing for a result.
NOT_FATAL = re.compile("|".join(pattern for pattern, in grammar.TABLE.of("HARMLESS")))

# What a death without words means, by the exit status of the shell or of subprocess.
DEATHS = {137: "host-memory", -9: "host-memory"}


def row_of(name):
    return next((Advice(n, kind, text) for n, kind, _, text in ROWS if n == name), None)


def explain(text, exit_status=None):
    """The advice for a failure's output, the gravest first; None when nothing is recognised."""
    found = None
    for name, kind, pattern, sentence in ROWS:
        if kind == "noise" and exit_status != 0:
            continue
        if pattern.search(text):
            found = Advice(name, kind, sentence)
            break
    if found is None:
        status = grammar.find_status(text)
        found = by_status(status[0]) if status else None
    if found is None and DEATHS.get(exit_status) == "host-memory":
        found = row_of("host-memory")
    return found


STATUS_ROWS = {number: text for number, _, text in grammar.TABLE.of("STATUS")}


def by_status(number):
    """What a status of the runtime (NRT_STATUS) means; None where nothing can be said."""
    return row_of(STATUS_ROWS.get(number, ""))


def is_harmless(line):
    """A line on standard error that says ERROR and means nothing."""
    return bool(NOT_FATAL.search(line))


# What codes mean. Others are shown with the compiler's own text alone.
CODES = {code: phrase(what, fix) for codes, what, fix in grammar.TABLE.of("CODE")
         for code in codes.split()}


def sentence(finding):
    """A finding's message with what hone knows to add: what the code means, whose fault it is."""
    text = finding.message
    meaning = CODES.get(finding.code)
    if meaning:
        text = "%s (%s)" % (text, meaning) if text else meaning
    if finding.category == "internal":
        text += " (a failure within the compiler, which the kernel can only avoid)"
    return text
