# SPDX-License-Identifier: Apache-2.0
"""Which ways of compiling, running and timing an SDK release has, in the order they are tried. A
table by release; an unknown release gets every way of the newest line. The names of the ways are
those of seams.py (compile), execute.py (run) and bench.py (time)."""

import collections

from hone_runner import releases

from . import seams

# compile: dialect -> seams. why: dialect -> why it cannot be run here.
Route = collections.namedtuple("Route", "name compile run why note")

CURRENT = ("nir", "bir", "frontend", "context", "executor", "simulation", "call")
OLD_CURRENT = ("nir", "executor", "frontend", "context", "simulation", "ir")
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
        "nki 0.1 and 0.2 cannot launch kernels themselves: kernels are compiled through internals"),
    "standalone": Route(
        "standalone", {"current": CURRENT, "unknown": CURRENT}, ["capture", "nrt", "call"],
        {"legacy": "this kernel is written for " + ZEROS + ": port it to `import nki`, or choose "
                   "an environment with SDK 2.26 or older by the setting environment"}, ""),
}


def is_of(name, release):
    """Whether a seam was seen on that line of the SDK; for an unknown line, on the nearest older
    one."""
    return bool(releases.version(release)) and name in releases.release_of(release).seams


def ordered(names, release):
    """Ways of compiling, those that the release was seen with first."""
    return sorted(names, key=lambda name: not is_of(name, release))


def route_for(name, release):
    """The Route of releases.route_of(); None where nothing can be compiled. A release newer than
    any known one is said to be so."""
    route = ROUTES.get(name)
    if route is None:
        return None
    route = route._replace(compile={dialect: ordered(names, release)
                                    for dialect, names in route.compile.items()})
    if (release or "").endswith("+"):
        route = route._replace(note="this SDK is newer than %s, the newest that is known here: its "
                               "ways are tried one after another" % release.rstrip("+"))
    return route


class Ways:
    """The seams of one job, in the order they are tried: those of the route, first the one that the
    canary chose (proven), without those that it rejected (skipped: name to reason)."""

    def __init__(self, route):
        self.route, self.proven, self.skipped = route, None, {}

    def compile(self):
        """dialect -> seams."""
        return {dialect: sorted((name for name in names if name not in self.skipped),
                                key=lambda name: name != self.proven)
                for dialect, names in self.route.compile.items()}

    def prove(self, name, skipped=None):
        self.proven, self.skipped = name, dict(skipped or self.skipped)

    def skip(self, name, why, dialect):
        """Whether a way is left."""
        self.skipped[name] = why
        return bool(self.compile().get(dialect))


def canary_dialect(route):
    return "current" if route.compile.get("current") else "legacy"
