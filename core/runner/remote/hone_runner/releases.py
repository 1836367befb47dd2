# SPDX-License-Identifier: Apache-2.0
"""Which SDK line an environment is of, and how kernels are compiled and run on it.

Source: the Neuron SDK release notes and the NKI release notes, by release."""

import re

# The version of nki that came with each line of the SDK, oldest first.
NKI_LINES = (((0, 1), "2.27"), ((0, 2), "2.28"), ((0, 3), "2.29"), ((0, 4), "2.30"),
             ((0, 5), "2.31"),
             ((0, 6), "2.32"), ((0, 7), "2.33"))
# neuronx-cc: (major, minor) up to which a compiler belongs to a line. The numbers run five behind
# from 2.27 on; before it they are known for these.
CC_LINES = (((2, 15), "2.20"), ((2, 16), "2.21"), ((2, 17), "2.22"), ((2, 18), "2.23"),
            ((2, 19), "2.24"), ((2, 20), "2.25"), ((2, 21), "2.26"), ((2, 22), "2.27"),
            ((2, 23), "2.28"), ((2, 24), "2.29"), ((2, 25), "2.30"), ((2, 26), "2.31"),
            ((2, 27), "2.32"), ((2, 28), "2.33"))
ROUTES = {
    "legacy": "neuronxcc.nki: baremetal and benchmark",
    "framework": "nki without an entry point of its own: compiled through the framework, run by "
                 "the profiler's capture",
    "standalone": "nki called with numpy arrays, run by the profiler's capture and neuron-bench",
}


def version(text):
    """The numbers a version begins with: "2.28.7631.0+abc" is (2, 28, 7631, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", text or "")
    return tuple(int(part[:9]) for part in found.group().split(".")[:6]) if found else ()


def line_of(packages):
    """The SDK line as "2.29" (with "+" behind it when newer than any that is known), or None."""
    nki = version(packages.get("nki"))
    if nki:
        for known, line in NKI_LINES:
            if nki[:2] == known:
                return line
        return NKI_LINES[-1][1] + "+" if nki[:2] > NKI_LINES[-1][0] else NKI_LINES[0][1]
    compiler = version(packages.get("neuronx-cc"))
    if not compiler:
        return None
    for known, line in CC_LINES:
        if compiler[:2] == known:
            return line
    return CC_LINES[-1][1] + "+" if compiler[:2] > CC_LINES[-1][0] else CC_LINES[0][1]


def route_of(packages):
    """A key of ROUTES, or None where no kernel can be compiled."""
    nki = version(packages.get("nki"))
    if nki >= (0, 3):
        return "standalone"
    if nki:
        return "framework"
    return "legacy" if packages.get("neuronx-cc") else None
