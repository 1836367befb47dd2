# SPDX-License-Identifier: Apache-2.0
"""The lock of cores that users of a shared host agreed on: the scheme of nki-library, version 2.

One folder that everybody may write to; a file `atomic_lock` under which `locks.json` is read and
written: physical cores with the time their lock expires, a queue of those who wait (first come,
first served, each ready one in front is given a block of its own), and a time until which the host
drains. Nothing says who holds a core but the log of events beside it. A holder that crashes is
forgotten when its lock expires; one that lives renews it.
Source: aws-neuron/nki-library, test/utils (core_lock_client, core_lock_manager and their
helpers)."""

import contextlib
import datetime
import errno
import fcntl
import json
import os
import stat
import time

FOLDER = "/tmp/neuronx-cc/core_locks"
VERSION = 2
HOLD_S = 60                 # until a lock that is not renewed expires
RENEW_S = 40                # renewed when less than this is left
STALE_S = 60                # until one who waits and was not seen is forgotten
COMMIT_S = 12               # for one who was given a block to take it
FLOCK_S = 30.0
MAX_FILE = 4 << 20
MAX_QUEUE = 1000


class Unusable(Exception):
    """The lock cannot be used; the text says why and what to do."""


def whole(value, default=0):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number else default


class State:
    """What locks.json says. Members that are not known here are kept as they are."""

    def __init__(self, data):
        self.data = data if isinstance(data, dict) else {}
        held = self.data.get("physical_neuron_cores_lock_timeout")
        self.held = {int(core): whole(until) for core, until in held.items()
                     if str(core).isdigit()} if isinstance(held, dict) else {}
        rows = self.data.get("queue")
        self.queue = [row for row in rows[:MAX_QUEUE] if isinstance(row, dict)
                      and isinstance(row.get("entry_id"), str)] if isinstance(rows, list) else []

    def text(self):
        data = dict(self.data)
        data.setdefault("version", VERSION)
        data["physical_neuron_cores_lock_timeout"] = {str(core): until for core, until
                                                      in sorted(self.held.items())}
        data.pop("queue", None)
        if self.queue:
            data["queue"] = self.queue
        return json.dumps(data)

    def drains_until(self, now):
        until = whole(self.data.get("draining_enabled_with_timeout"))
        return until if until > now else 0

    def place(self, entry_id):
        """The entry of the queue with this id, None when there is none."""
        return next((row for row in self.queue if row["entry_id"] == entry_id), None)

    def reserved(self, but=None):
        return {core for row in self.queue if row is not but for core in blocks_of(row)}

    def tidy(self, now):
        """Forgets locks that expired, those who went, and blocks that were not taken in time."""
        self.held = {core: until for core, until in self.held.items() if until > now}
        self.queue = [row for row in self.queue
                      if now - whole(row.get("last_seen_ts")) <= STALE_S]
        if self.drains_until(now):
            return
        for row in self.queue:
            until = whole(row.get("commit_deadline_ts"))
            if blocks_of(row) and until and now > until:
                set_block(row, [], None)

    def share_out(self, now, total, fits):
        """Gives each ready one in the queue a block, in order, until one finds none. fits(row,
        block) may refuse a block for a row."""
        if self.drains_until(now):
            return
        free = set(range(total)) - set(self.held) - self.reserved()
        for row in self.queue:
            if blocks_of(row) or not row.get("ready", False):
                continue
            block = find_block(free, whole(row.get("request_cores")), total,
                               lambda found, row=row: fits(row, found))
            if block is None:
                return
            set_block(row, block, now + COMMIT_S)
            free -= set(block)


def blocks_of(row):
    found = row.get("reserved_cores") or row.get("reserved_region") or []
    return [core for core in found if isinstance(core, int)] if isinstance(found, list) else []


def set_block(row, block, until):
    row.pop("reserved_region", None)
    for name, value in (("reserved_cores", block), ("commit_deadline_ts", until)):
        if value:
            row[name] = value
        else:
            row.pop(name, None)


def find_block(free, count, total, fits):
    """`count` free cores side by side, aligned to their number; None when there are none."""
    if not 0 < count <= total:
        return None
    for start in range(0, total - count + 1, count):
        block = list(range(start, start + count))
        if free.issuperset(block) and fits(block):
            return block
    return None


class Lock:
    """The lock in a folder. caller: how others see us in the log of events."""

    def __init__(self, folder, caller):
        self.folder, self.caller = folder or FOLDER, caller
        self.inside = False         # in a transaction: a signal handler must not begin another

    def file(self, name):
        return os.path.join(self.folder, name)

    def prepare(self):
        """Makes the folder and its files where they are missing; refuses a version not known."""
        try:
            make_shared(self.folder)
            for name in ("atomic_lock", "locks.json"):
                os.close(self.open(name, os.O_RDWR))
        except OSError as problem:
            raise Unusable("the core lock in %s cannot be used: %s (%s); ask whoever owns it to "
                           "let all users write there, or set lock = none on a host of your own"
                           % (self.folder, problem.strerror, problem.filename))
        wanted = self.needed_version()
        if wanted > VERSION:
            raise Unusable("the core lock of this host needs version %d of the scheme and hone "
                           "speaks version %d: update hone, or set lock = none after asking the "
                           "others who use the host" % (wanted, VERSION))

    def needed_version(self):
        found = read_object(self.open("infra_version.json", os.O_RDWR))
        wanted = found.get("minClientLockingVersion")
        if isinstance(wanted, int):
            return wanted
        descriptor = self.open("infra_version.json", os.O_RDWR)
        write_object(descriptor, json.dumps({"minClientLockingVersion": VERSION}))
        return VERSION

    def open(self, name, flags):
        """Opens a file of the folder that everybody may write to; makes it where it is missing."""
        path = self.file(name)
        try:
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_CREAT, 0o666)
            try:
                os.fchmod(descriptor, 0o666)
            except OSError:
                pass
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is no regular file", path)
        return descriptor

    @contextlib.contextmanager
    def state(self, wait_s=FLOCK_S):
        """The state under the lock; written when the body ends. None when the lock is not free in
        time."""
        guard = self.open("atomic_lock", os.O_RDWR)
        try:
            if not flock(guard, wait_s):
                yield None
                return
            self.inside = True
            found = State(read_object(self.open("locks.json", os.O_RDWR)))
            yield found
            write_object(self.open("locks.json", os.O_RDWR), found.text())
        finally:
            self.inside = False
            os.close(guard)

    def log(self, event, **fields):
        """A line in the day's log of events, which is for people; the state must be locked."""
        row = {"ts": int(time.time()), "event": event, "caller": self.caller}
        row.update(fields)
        name = "events-%s.log" % datetime.date.today().isoformat()
        try:
            descriptor = self.open(name, os.O_WRONLY | os.O_APPEND)
        except OSError:
            return
        try:
            os.write(descriptor, json.dumps(row).encode() + b"\n")
        except OSError:
            pass
        os.close(descriptor)

    def callers(self):
        """{physical core: who took it last}, from the log of events of today and yesterday."""
        found = {}
        today = datetime.date.today()
        for day in (today - datetime.timedelta(1), today):
            for row in self.events("events-%s.log" % day.isoformat()):
                cores = row.get("cores")
                for core in cores if isinstance(cores, list) else []:
                    if row.get("event") in ("ACQUIRE", "COMMIT") and isinstance(core, int):
                        found[core] = str(row.get("caller") or "")[:100]
        return found

    def events(self, name):
        try:
            with open(self.file(name), "rb") as file:
                file.seek(max(os.fstat(file.fileno()).st_size - (256 << 10), 0))
                lines = file.read().splitlines()
        except OSError:
            return []
        rows = []
        for line in lines:
            try:
                row = json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                continue
            if isinstance(row, dict):
                rows.append(row)
        return rows


def make_shared(folder):
    """The folder and the one above it, for everybody."""
    for path in (os.path.dirname(folder), folder):
        if not os.path.isdir(path):
            os.makedirs(path, exist_ok=True)
            os.chmod(path, 0o777)


def flock(descriptor, wait_s):
    deadline = time.monotonic() + wait_s
    pause = 0.005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as problem:
            if problem.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                raise
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.2)


def read_object(descriptor):
    """The JSON object in a file that is open; {} for what is none (a torn write heals itself)."""
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAX_FILE + 1)
    try:
        found = json.loads(data.decode("utf-8")) if len(data) <= MAX_FILE else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def write_object(descriptor, text):
    """In place: the file stays its owner's."""
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        data = text.encode()
        file.write(data)
        file.truncate(len(data))
