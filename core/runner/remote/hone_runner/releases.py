# SPDX-License-Identifier: Apache-2.0
"""Which line of the SDK an environment belongs to, and how kernels are compiled and run on it. The
table (releases.def) is the one that hone's lints read."""

import collections
import re

from hone_runner import tables

# nki: None before there was one. route: a key of ROUTES. seams: names of sdk/seams.py.
Release = collections.namedtuple("Release", "line nki compiler route seams")


def version(text):
    """The numbers a version begins with: "2.28.7631.0+abc" is (2, 28, 7631, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", text or "")
    return tuple(int(part[:9]) for part in found.group().split(".")[:6]) if found else ()


# Oldest first.
TABLE = [Release(line, nki, compiler, route, tuple(seams.split()))
         for line, nki, compiler, route, seams in tables.Table("releases.def").of("RELEASE")]
WITH_NKI = [row for row in TABLE if row.nki]
NEWEST = TABLE[-1]
ROUTES = {
    "legacy": "neuronxcc.nki: baremetal and benchmark",
    "framework": "nki without an entry point of its own: compiled through the framework, run by "
                 "the profiler's capture",
    "standalone": "nki called with numpy arrays, run by the profiler's capture and neuron-bench",
}


def known(rows, found, name):
    """The line of a version (major, minor) among rows, by their member `name`. A version newer than
    all of them gets a "+"; one between two lines belongs to the older."""
    for row in rows:
        if version(getattr(row, name)) == found[:2]:
            return row.line
    newer = found[:2] > version(getattr(rows[-1], name))
    return rows[-1].line + "+" if newer else rows[0].line


def line_of(packages):
    """The SDK line as "2.29" (with "+" behind it when newer than any that is known), or None."""
    nki = version(packages.get("nki"))
    if nki:
        return known(WITH_NKI, nki, "nki")
    compiler = version(packages.get("neuronx-cc"))
    return known(TABLE, compiler, "compiler") if compiler else None


def release_of(line):
    """The row of a line; for an unknown line, the nearest older one."""
    found = [row for row in TABLE if version(row.line) <= version(line)]
    return found[-1] if found else TABLE[0]


def route_of(packages):
    """A key of ROUTES, or None if no kernel can be compiled."""
    nki = version(packages.get("nki"))
    if nki:
        found = [row for row in WITH_NKI if version(row.nki) <= nki]
        return (found or WITH_NKI)[-1 if found else 0].route
    return "legacy" if packages.get("neuronx-cc") else None


def span_of(seam):
    """(first, last) line that a seam was seen on; None: from the first, to every later one."""
    lines = [row.line for row in TABLE if seam in row.seams]
    return (None if lines[0] == TABLE[0].line else lines[0],
            None if lines[-1] == NEWEST.line else lines[-1])
