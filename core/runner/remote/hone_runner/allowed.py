# SPDX-License-Identifier: Apache-2.0
"""The setting `cores`: which logical cores of a host may be used. A core that the host does not
have is refused, with the list of those it has: waiting for it would never end."""

import collections
import re

from hone_runner.folder import Refused

PART = re.compile(r"^([0-9]{1,4})(?:-([0-9]{1,4}))?$")


def ranges(ids):
    """"0-3,8" of ids."""
    text, ids = [], sorted(ids)
    while ids:
        size = next((at for at in range(1, len(ids)) if ids[at] != ids[0] + at), len(ids))
        text.append("%d" % ids[0] if size == 1 else "%d-%d" % (ids[0], ids[size - 1]))
        ids = ids[size:]
    return ",".join(text)


def read(text):
    """(ids, None) for a list of cores, else (None, what is wrong with it)."""
    ids = []
    for part in text.replace(" ", "").split(","):
        found = PART.match(part)
        if not found:
            return None, "is not a list of cores such as 0-3,8"
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if last < first:
            return None, "has %s, which runs backwards" % part
        ids += range(first, last + 1)
    twice = [one for one, times in collections.Counter(ids).items() if times > 1]
    if twice:
        return None, "names core %s twice" % ranges(twice)
    return ids, None


def cores(text, there):
    """The logical cores of the host that the setting allows; all of them when it is empty. Raises
    Refused, which names the cores of the host."""
    text = (text or "").strip()
    if not text:
        return set(there)
    ids, problem = read(text)
    missing = sorted(set(ids or ()) - set(there))
    if missing:
        problem = "names core %s" % ranges(missing)
    if problem:
        raise Refused("the setting cores = %s %s; this host has the logical cores %s"
                      % (text[:200], problem, ranges(there)), "usage")
    return set(ids)


def enough(text, there, count):
    """The cores, if `count` of them lie side by side, as a program on several cores needs them."""
    found = cores(text, there)
    starts = [core for core in found if core % count == 0]
    if any(found.issuperset(range(start, start + count)) for start in starts):
        return found
    where = "" if count == 1 else " side by side, the first a multiple of %d," % count
    raise Refused("%d core%s%s %s needed and the setting cores = %s leaves %s of the logical cores "
                  "%s of this host" % (count, "" if count == 1 else "s", where,
                                       "is" if count == 1 else "are", text or "(all)",
                                       ranges(found), ranges(there)), "usage")
