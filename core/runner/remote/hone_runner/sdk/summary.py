# SPDX-License-Identifier: Apache-2.0
"""The summary that neuron-explorer and neuron-profile print (`view --output-format summary-json`),
out of a standard output that may have log lines around it. Which numbers it holds is in keys.py."""

import json

from . import keys

MAX_BYTES = 64 << 20
MAX_STARTS = 2000           # braces that are tried


def find_objects(text):
    """The JSON objects in a text, the largest first. NaN and Infinity are accepted."""
    decoder = json.JSONDecoder()
    found, at, tries = [], text.find("{"), 0
    while at >= 0 and tries < MAX_STARTS:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict):
            found.append((end - at, value))
        at = text.find("{", end)
    return [value for _, value in sorted(found, key=lambda item: -item[0])]


def nodes_of(value):
    """[(node, summary)] of any of the shapes a summary has: {node: {...}}, {"summary": [{...}]} of
    a full profile, or the numbers themselves."""
    if is_summary(value):
        return [("", value)]
    rows = value.get("summary")
    if isinstance(rows, list):
        return [("", row) for row in rows if isinstance(row, dict) and is_summary(row)]
    return [(name, item) for name, item in value.items()
            if isinstance(item, dict) and is_summary(item)]


def is_summary(value):
    return sum(1 for name in value if isinstance(name, str) and keys.unit_of(name)) >= 2


def parse(data):
    """[(node, summary)] in what the tool printed; [] when there is none."""
    text = data[:MAX_BYTES].decode("utf-8", "replace") if isinstance(data, bytes) else data
    for value in find_objects(text):
        nodes = nodes_of(value)
        if nodes:
            return nodes
    return []


def slowest(nodes):
    """The node that took longest: with several cores that is when the kernel was done. None:
    none."""
    return max((summary for _, summary in nodes),
               key=lambda summary: keys.latency_us(summary)[0] or 0, default=None)
