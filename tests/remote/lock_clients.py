# SPDX-License-Identifier: Apache-2.0
"""Clients of the core lock as other programs have them, of versions 2, 4 and 5. They are models,
written from the rules that the scheme's users rely on, and share nothing with the runner. They read
strictly, keep no member that they do not know, and forget everything when a row is not as it has to
be. A store gives and takes the text of locks.json; a clock is a function."""

import contextlib
import fcntl
import json
import os
import random

HOLD, STALE, WINDOW = 60, 60, 12
ALLOCATED, DRAINING, RELEASED, DRAINED, UNDRAINED, WAITS, ERROR = 0, 11, 12, 13, 14, 15, 99


class Memory:
    """locks.json of a host that is a test."""

    def __init__(self, text=""):
        self.text = text

    @contextlib.contextmanager
    def transaction(self):
        yield self


class File:
    """locks.json in a folder, under its flock."""

    def __init__(self, folder):
        self.folder, self.text = folder, ""

    @contextlib.contextmanager
    def transaction(self):
        with open(os.path.join(self.folder, "atomic_lock"), "a") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            with open(os.path.join(self.folder, "locks.json"), "a+") as file:
                file.seek(0)
                self.text = before = file.read()
                yield self
                if self.text != before:
                    file.seek(0)
                    file.truncate()
                    file.write(self.text)


class Row:
    """A row of the queue, as its members. A missing one is a KeyError."""

    def __init__(self, found):
        found.get                       # what is not an object is an AttributeError
        self.id, self.count = found["entry_id"], int(found["request_cores"])
        self.since, self.seen = int(found["enqueued_ts"]), int(found["last_seen_ts"])
        self.deadline = found.get("commit_deadline_ts")
        self.region = list(found.get("reserved_region") or found.get("reserved_cores") or [])
        self.ready = bool(found.get("ready", False))
        self.extra = found.get("extra")

    def members(self):
        made = {"entry_id": self.id, "request_cores": self.count, "enqueued_ts": self.since,
                "last_seen_ts": self.seen}
        for name, value in (("commit_deadline_ts", self.deadline), ("reserved_region", self.region),
                            ("ready", self.ready)):
            if value:
                made[name] = value
        return made


class Table:
    """The state as a client of one version sees it."""

    def __init__(self, text, version):
        self.version = version
        self.locks, self.drain, self.rows, self.lnc = {}, None, [], {}
        try:
            self.read(json.loads(text))
        except (ValueError, KeyError, TypeError):
            self.locks, self.drain, self.rows, self.lnc = {}, None, [], {}

    def read(self, data):
        held = data["physical_neuron_cores_lock_timeout"]
        self.locks = {int(core): int(until) for core, until in held.items()}
        self.drain = data.get("draining_enabled_with_timeout")
        if self.version > 2:
            self.rows = [Row(row) for row in data.get("queue", [])]
        if self.version > 4:
            self.lnc = dict(data.get("last_lnc_config_per_core", {}))

    def text(self):
        data = {"version": self.version, "physical_neuron_cores_lock_timeout":
                {str(core): until for core, until in self.locks.items()}}
        for name, value in (("draining_enabled_with_timeout", self.drain),
                            ("queue", [row.members() for row in self.rows]),
                            ("last_lnc_config_per_core", self.lnc)):
            if value:
                data[name] = value
        return json.dumps(data)

    def row(self, entry_id):
        return next((row for row in self.rows if row.id == entry_id), None)

    def drains(self, now):
        return self.drain is not None and now < self.drain

    def free(self, core, now):
        return now >= self.locks.get(core, 0)


class Broken(Exception):
    """What the others answer with status 99."""


class Client:
    """One client of a host. version: 2, 4 or 5."""

    def __init__(self, store, clock, version, total=8, entry_id="client"):
        self.store, self.clock, self.version, self.total = store, clock, version, total
        self.id = entry_id
        self.events = []

    @contextlib.contextmanager
    def table(self):
        with self.store.transaction() as place:
            table = Table(place.text, self.version)
            yield table
            place.text = table.text()

    def places(self, count):
        return [list(range(start, start + count))
                for start in range(0, self.total - count + 1, count)] if count > 0 else []

    def acquire(self, count, hold=HOLD):
        """Version 2 takes what is free, whoever waits."""
        now = self.clock()
        with self.table() as table:
            if table.drains(now):
                return {"status": DRAINING}
            found = [one for one in self.places(count)
                     if all(table.free(core, now) for core in one)]
            if not found:
                return {"status": 10}
            cores = random.choice(found)
            table.locks.update({core: now + hold for core in cores})
            return {"status": ALLOCATED, "cores": cores, "expiry": now + hold}

    def release(self, cores, expiry):
        now, skipped = self.clock(), []
        with self.table() as table:
            for core in cores:
                if table.locks.get(core) == expiry:
                    del table.locks[core]
                else:
                    skipped.append(core)
            table.locks = {core: until for core, until in table.locks.items() if until > now}
        return {"status": RELEASED, "skipped": skipped}

    def drain(self, seconds):
        now = self.clock()
        with self.table() as table:
            latest = max([until for until in table.locks.values() if until > now] or [now])
            table.drain = latest + seconds
        return {"status": DRAINED, "expiry": latest + seconds, "max_lock_expiry": latest}

    def undrain(self):
        with self.table() as table:
            table.drain = None
        return {"status": UNDRAINED}

    def dequeue(self):
        with self.table() as table:
            table.rows = [row for row in table.rows if row.id != self.id]
        return {"status": RELEASED}

    # ------------------------------------------------------------------------- versions 4, 5

    def poll(self, count, ready=True, hold=HOLD, lnc=2):
        now = self.clock()
        try:
            with self.table() as table:
                return self.poll_table(table, now, (count, ready, hold, lnc))
        except (Broken, AttributeError):
            return {"status": ERROR}

    def poll_table(self, table, now, asked):
        count, ready, hold, lnc = asked
        row = table.row(self.id)
        was = row is not None
        if row:
            row.ready, row.count = ready, count
        self.events = []
        self.reconcile(table, now)
        row = table.row(self.id)
        if row is None:
            row = Row({"entry_id": self.id, "request_cores": count, "enqueued_ts": now,
                       "last_seen_ts": now, "ready": ready})
            table.rows.append(row)
            return self.answer(table, row, now, re_enqueued=was)
        row.seen = now
        if table.drains(now) or not row.ready or not row.region \
                or not all(table.free(core, now) for core in row.region):
            return self.answer(table, row, now, bumped=("BUMP", self.id) in self.events)
        table.rows.remove(row)
        table.locks.update({core: now + hold for core in row.region})
        result = {"status": ALLOCATED, "cores": row.region, "expiry": now + hold}
        if self.version > 4:
            names = [str(core) for core in row.region]
            result["should_reset_cores"] = any(table.lnc.get(name) != lnc for name in names)
            table.lnc.update({name: lnc for name in names})
        return result

    @staticmethod
    def answer(table, row, now, **marks):
        status = DRAINING if table.drains(now) else WAITS
        return dict({"status": status, "position": table.rows.index(row)},
                    **{name: True for name, value in marks.items() if value})

    def reconcile(self, table, now):
        table.locks = {core: until for core, until in table.locks.items() if until > now}
        for row in list(table.rows):
            if now - row.seen > STALE:
                table.rows.remove(row)
                self.events.append(("PRUNE", row.id))
        if table.drains(now):
            for row in table.rows:
                if row.deadline and now > row.deadline:
                    row.deadline = None
            return
        self.expire(table, now)
        self.give(table)
        self.settle(table, now)
        self.spare(table, now)
        cores = [core for row in table.rows for core in row.region]
        if len(cores) != len(set(cores)):
            raise Broken("regions overlap")

    def expire(self, table, now):
        late = [row for row in table.rows if row.deadline and now > row.deadline]
        for row in late:
            row.deadline = None
            if row.region:
                row.region = []
                self.events.append(("RESERVE_EXPIRED", row.id))
            elif not row.ready:
                table.rows.append(table.rows.pop(table.rows.index(row)))
                self.events.append(("BUMP", row.id))

    def give(self, table):
        """Gives each in turn what can be had first. Where there are few, all ways are tried."""
        waiting = [row for row in table.rows if row.ready and not row.region]
        taken = {core for row in table.rows for core in row.region}
        for row, region in zip(waiting, self.share([row.count for row in waiting], taken, table)):
            row.region, row.deadline = region, None

    def share(self, counts, taken, table):
        if not counts:
            return []
        ways = [one for one in self.places(counts[0]) if taken.isdisjoint(one)]
        if not ways:
            return []
        random.shuffle(ways)

        def cost(one):
            until = [table.locks[core] for core in one if core in table.locks]
            return (max(until, default=0), (len(one) - len(until)) if until else 0)
        ways.sort(key=cost)
        return [ways[0]] + self.share(counts[1:], taken | set(ways[0]), table)

    @staticmethod
    def settle(table, now):
        for row in table.rows:
            if row.region and (not row.ready or len(row.region) != row.count):
                row.region, row.deadline = [], None
            elif row.region and any(core in table.locks for core in row.region):
                row.deadline = None
            elif row.region and not row.deadline:
                row.deadline = now + WINDOW

    def spare(self, table, now):
        busy = set(table.locks) | {core for row in table.rows for core in row.region}
        for row in table.rows:
            if not row.ready and not row.deadline and \
                    any(busy.isdisjoint(one) for one in self.places(row.count)):
                row.deadline = now + WINDOW


class KeepingClient(Client):
    """A client that keeps what it does not know, as the runner does. What is then lost, the runner
    lost."""

    @contextlib.contextmanager
    def table(self):
        with self.store.transaction() as place:
            before = json.loads(place.text)
            table = Table(place.text, self.version)
            yield table
            extras = {row["entry_id"]: row.get("extra") for row in before.get("queue", [])}
            after = json.loads(table.text())
            for row in after.get("queue", []):
                extra = extras.get(row["entry_id"], "of " + row["entry_id"])
                if extra is not None:
                    row["extra"] = extra
            for name, value in before.items():
                if name not in after and name in ("note", "last_lnc_config_per_core"):
                    after[name] = value
            place.text = json.dumps(after)
