# SPDX-License-Identifier: Apache-2.0
"""What a failure on a Neuron host means and what to do about it: one sentence for texts of the
runtime, the tools and the compiler. The table (messages.def) is the one that hone reads. This
module only explains. The caller decides by `kind` whether to try again or give up the host."""

import collections
import re

from . import grammar

# kind: kernel (the kernel's fault), busy (a core is held: wait), environment (the host cannot serve
# this), hardware (stop using the host), noise (means nothing when the exit status is 0).
Advice = collections.namedtuple("Advice", "id kind text")



def phrase(what, fix):
    """One sentence: what is wrong and what to do."""
    lower = fix[:1].lower() if fix[1:2].islower() else fix[:1]
    return "%s: %s" % (what, lower + fix[1:].rstrip("."))


ROWS = [(name, kind, re.compile(pattern, re.I), phrase(what, fix))
        for name, kind, pattern, what, fix in grammar.TABLE.of("TEXT")]

# Lines on standard error that do not affect a result.
NOT_FATAL = re.compile("|".join(pattern for pattern, in grammar.TABLE.of("HARMLESS")))

# What it means that a process died without a message, by the exit status of the shell or of
# subprocess.
DEATHS = {137: "host-memory", -9: "host-memory"}


def row_of(name):
    return next((Advice(n, kind, text) for n, kind, _, text in ROWS if n == name), None)


def explain(text, exit_status=None):
    """The gravest advice for a failure's output; None when nothing is recognised."""
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
    """What a status of the runtime (NRT_STATUS) means; None if unknown."""
    return row_of(STATUS_ROWS.get(number, ""))


def is_harmless(line):
    """A line on standard error that says ERROR but does not matter."""
    return bool(NOT_FATAL.search(line))


# What codes mean. Other codes are shown only with the compiler's own text.
CODES = {code: phrase(what, fix) for codes, what, fix in grammar.TABLE.of("CODE")
         for code in codes.split()}


def sentence(finding):
    """A finding's message, and what hone can add: what the code means, whose fault it is."""
    text = finding.message
    meaning = CODES.get(finding.code)
    if meaning:
        text = "%s (%s)" % (text, meaning) if text else meaning
    if finding.category == "internal":
        text += " (a failure within the compiler, which the kernel can only avoid)"
    return text
