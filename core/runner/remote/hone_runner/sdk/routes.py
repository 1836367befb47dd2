# SPDX-License-Identifier: Apache-2.0
"""Which ways of compiling, running and timing an SDK release has, in the order they are tried. A
table by release; releases nobody has seen get every way of the newest line. The names of the ways
are those of worker.py (compile), execute.py (run) and bench.py (time)."""

import collections

# compile: dialect -> seams. why: dialect -> why it cannot be run here.
Route = collections.namedtuple("Route", "name compile run why note")

CURRENT = ["nir", "executor", "frontend", "bir", "simulation", "call"]
OLD_CURRENT = ["nir", "executor", "frontend", "simulation", "ir"]
ZEROS = "the legacy namespace neuronxcc.nki, which returns zeros with exit status 0 where nki 0.3 "\
    "or newer is installed"

ROUTES = {
    "legacy": Route(
        "legacy", {"legacy": ["baremetal"], "unknown": ["baremetal"]}, ["capture", "baremetal"],
        {"current": "this kernel imports nki, which this environment does not have (it has "
                    "neuronx-cc with neuronxcc.nki alone): choose an environment with SDK "
                    "2.29 or newer"}, ""),
    "framework": Route(
        "framework", {"current": OLD_CURRENT, "legacy": ["baremetal"], "unknown": OLD_CURRENT},
        ["capture", "nrt", "baremetal"], {},
        "nki 0.1 and 0.2 have no launch of their own: kernels are compiled through internals"),
    "standalone": Route(
        "standalone", {"current": CURRENT, "unknown": CURRENT}, ["capture", "nrt", "call"],
        {"legacy": "this kernel is written for " + ZEROS + ": port it to `import nki`, or choose "
                   "an environment with SDK 2.26 or older by the setting environment"}, ""),
}


def route_for(name, release):
    """The Route of releases.route_of(); None where nothing can be compiled. A release newer than
    any known one is said to be so."""
    route = ROUTES.get(name)
    if route and (release or "").endswith("+"):
        route = route._replace(note="this SDK is newer than %s, the newest that is known here: its "
                               "ways are tried one after another" % release.rstrip("+"))
    return route


def canary_dialect(route):
    return "current" if route.compile.get("current") else "legacy"
