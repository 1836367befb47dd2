# SPDX-License-Identifier: Apache-2.0
"""What locks.json of the core lock says: who may use which physical core until when, who waits, and
until when the host drains.

If other clients cannot read a row of the queue, they forget all locks. So rows that are read here
are corrected or left out, and rows that are written have whole numbers and every member that others
need. Unknown members are kept. This module knows nothing about files or clocks. Source:
aws-neuron/nki-library, test/utils/scripts/remote_lock_scripts.py, versions 2 to 5."""

import json
import math

VERSION = 2                 # of a state that says none: the oldest, which all read
HOLD_S = 60                 # a lock is for so long, and never longer at once
STALE_S = 60                # until one who waits and was not seen is forgotten
COMMIT_S = 12               # for one who was given a block to take it
HELD, QUEUE, DRAINS, LNC = ("physical_neuron_cores_lock_timeout", "queue",
                            "draining_enabled_with_timeout", "last_lnc_config_per_core")
NEEDED = ("request_cores", "enqueued_ts", "last_seen_ts")
REGION, OLD_REGION, DEADLINE = "reserved_region", "reserved_cores", "commit_deadline_ts"


def whole(value, default=0):
    """A whole number, which others can read; the default for anything that is not a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, float) and math.isfinite(value) else default


def core_list(value):
    """The physical cores of a list; [] if any item is not a core."""
    if not isinstance(value, list):
        return []
    good = all(isinstance(core, int) and not isinstance(core, bool) and core >= 0
               for core in value)
    return value if good else []


def region_of(row):
    """The cores kept for a row; version 3 had another name for them."""
    return core_list(row.get(REGION)) or core_list(row.get(OLD_REGION))


def set_region(row, cores):
    """Under both names: readers of version 3 know only the old one."""
    for name in (REGION, OLD_REGION):
        row.pop(name, None)
        if cores:
            row[name] = list(cores)


def set_deadline(row, until):
    row.pop(DEADLINE, None)
    if until:
        row[DEADLINE] = until


def sound_row(row):
    """The row in a form that all can read; None when it cannot be corrected."""
    if not isinstance(row, dict) or not isinstance(row.get("entry_id"), str):
        return None
    numbers = {name: whole(row.get(name), None) for name in NEEDED}
    if None in numbers.values():
        return None
    made = dict(row, **numbers)
    for name in (REGION, OLD_REGION):
        if name in made and not core_list(made[name]):
            del made[name]
    if DEADLINE in made:
        set_deadline(made, whole(made[DEADLINE]))
    return made


def sound_queue(rows):
    found = [sound_row(row) for row in rows] if isinstance(rows, list) else []
    return [row for row in found if row is not None]


def sound_cores(table):
    """{physical core: whole number} of an object whose names are cores."""
    if not isinstance(table, dict):
        return {}
    found = {name: whole(value, None) for name, value in table.items()}
    return {int(name): value for name, value in found.items()
            if value is not None and name.isascii() and name.isdigit() and len(name) < 10}


class State:
    """held: {physical core: when its lock expires}. queue: the rows, in order. lnc: {physical core:
    how many make a logical one, for whom it was taken last}. events: [(name, members)] that
    happened, for the log."""

    def __init__(self, data):
        self.data = data if isinstance(data, dict) else {}
        self.held = sound_cores(self.data.get(HELD))
        self.lnc = sound_cores(self.data.get(LNC))
        self.queue = sound_queue(self.data.get(QUEUE))
        self.events = []

    def text(self):
        data = dict(self.data)
        data["version"] = whole(data.get("version"), VERSION)
        for name in (HELD, QUEUE, LNC, DRAINS):
            data.pop(name, None)
        data[HELD] = {str(core): until for core, until in sorted(self.held.items())}
        members = ((QUEUE, self.queue), (DRAINS, whole(self.data.get(DRAINS))),
                   (LNC, {str(core): lnc for core, lnc in sorted(self.lnc.items())}))
        data.update({name: value for name, value in members if value})
        return json.dumps(data)

    def say(self, event, **members):
        self.events.append((event, members))

    def drains_until(self, now):
        """When draining ends, 0 when the host does not drain."""
        until = whole(self.data.get(DRAINS))
        return until if until > now else 0

    def place(self, entry_id):
        """The row with this id, None when there is none."""
        return next((row for row in self.queue if row["entry_id"] == entry_id), None)

    def regions(self, but=None):
        """The cores that are kept for rows of the queue, except for that row."""
        return {core for row in self.queue if row is not but for core in region_of(row)}

    def is_torn(self, but=None):
        """Whether two rows keep the same core; other clients treat that as an error."""
        cores = [core for row in self.queue if row is not but for core in region_of(row)]
        return len(cores) != len(set(cores))

    def commit(self, row, now, lnc):
        """Locks the cores kept for a row: (when it expires, whether a reset is needed). lnc: None
        if it is not known what will run on them; then the next client resets them."""
        cores, until = region_of(row), now + HOLD_S
        self.queue.remove(row)
        self.held.update({core: until for core in cores})
        reset = any(self.lnc.get(core) != lnc for core in cores)
        for core in cores:
            self.lnc.pop(core, None)
            if lnc is not None:
                self.lnc[core] = lnc
        self.say("COMMIT", cores=cores, expiry=until)
        return until, reset or lnc is None

    def release(self, cores, expiry):
        """Frees those cores that still have the lock we took."""
        mine = [core for core in cores if self.held.get(core) == expiry]
        for core in mine:
            self.held.pop(core, None)
        self.say("RELEASE", cores=mine, skipped=[core for core in cores if core not in mine])

    def dequeue(self, entry_id):
        if self.place(entry_id) is not None:
            self.queue = [row for row in self.queue if row["entry_id"] != entry_id]
            self.say("DEQUEUE", entry_id=entry_id)
