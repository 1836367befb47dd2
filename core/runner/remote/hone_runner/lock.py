# SPDX-License-Identifier: Apache-2.0
"""The lock of cores that users of a shared host agreed on: the scheme of nki-library, versions 2 to
5. This is its folder: `atomic_lock`, under which `locks.json` is read and written in place; the
lowest version that a client must speak; the log of events, which shows who holds a core.

The state is in lock_state.py, the rules of the queue in lock_queue.py. A holder that crashes is
forgotten when its lock expires.
Source: aws-neuron/nki-library, test/utils (core_lock_client, core_lock_manager and their
helpers)."""

import contextlib
import datetime
import errno
import fcntl
import json
import os
import pwd
import signal
import stat
import time

from hone_runner import folder as folders
from hone_runner.lock_state import State, core_list

FOLDER = "/tmp/neuronx-cc/core_locks"
OLDEST, NEWEST = 2, 5       # versions of the scheme that are spoken here
FLOCK_S = 30.0
MAX_FILE = 4 << 20
TRIES, TRY_S = 5, 0.05      # for a file that somebody is just writing
DEBUG_EVENTS = ("RESERVE", "SOLVER_OVERFLOW")
DEBUG_VARIABLE = "CORE_LOCK_DEBUG_EVENTS"
HELD_BACK = {signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


class Unusable(folders.Refused):
    """The lock cannot be used; the text says why and what to do."""


class Lock:
    """The lock in a folder. caller: our name in the log of events."""

    def __init__(self, folder, caller):
        self.folder, self.caller = folder or FOLDER, caller
        self.version = None         # the lowest version that this host demands of a client

    def file(self, name):
        return os.path.join(self.folder, name)

    def prepare(self):
        """Makes the folder and its files if they are missing; refuses an unknown version."""
        with self.explained():
            make_shared(self.folder)
            os.close(self.open("atomic_lock", os.O_RDWR))
            self.version = self.needed_version()
            os.close(self.open("locks.json", os.O_RDWR))
        if self.version > NEWEST:
            raise Unusable("the core lock of this host needs version %d of the scheme and hone "
                           "speaks versions %d to %d: update hone, or set lock = none after asking "
                           "the others who use the host" % (self.version, OLDEST, NEWEST))

    @contextlib.contextmanager
    def explained(self):
        """Turns a refusal of the system into a text that says what to do."""
        try:
            yield
        except OSError as problem:
            raise Unusable(self.advice(problem)) from problem

    def advice(self, problem):
        path = problem.filename or self.folder
        text = "the core lock in %s cannot be used: %s (%s)" % (self.folder, problem.strerror, path)
        if problem.errno not in (errno.EACCES, errno.EPERM):
            return text + "; correct that, or set lock = none on a host that only you use"
        return "%s; it belongs to %s, who can open it to all users of the host with `chmod 1777 " \
            "%s; chmod 666 %s %s; chmod 644 %s`. On a host that only you use, set lock = none" \
            % (text, owner(path), self.folder, self.file("atomic_lock"), self.file("locks.json"),
               self.file("infra_version.json"))

    def needed_version(self):
        """The host's lowest version; the file is made if it is missing, and never changed."""
        name = "infra_version.json"
        for _ in range(TRIES):
            try:
                found = read_object(self.open(name, os.O_RDONLY, make=False))
            except FileNotFoundError:
                break
            wanted = found.get("minClientLockingVersion")
            if isinstance(wanted, int) and not isinstance(wanted, bool):
                return wanted
            time.sleep(TRY_S)       # perhaps another client is just writing it
        descriptor = self.open(name, os.O_RDWR)
        write_whole(descriptor, json.dumps({"minClientLockingVersion": OLDEST}))
        return OLDEST

    def open(self, name, flags, make=True):
        """Opens a file of the folder that everybody may write to; makes it if it is missing. An
        existing file is never opened with O_CREAT: in a sticky folder the system refuses that for
        files of another user (fs.protected_regular)."""
        path = self.file(name)
        try:
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            if not make:
                raise
            descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_CREAT, 0o666)
            try:
                os.fchmod(descriptor, 0o666)
            except OSError:
                pass
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        return descriptor

    def seize(self, wait_s):
        """The descriptor of the lock's file, locked; None when it is not free in time. The file
        must not be deleted: some clients would wait for the old one while others lock a new one."""
        until = time.monotonic() + wait_s
        while True:
            guard = self.open("atomic_lock", os.O_RDWR)
            try:
                got = flock(guard, max(until - time.monotonic(), 0))
                if got and same_file(guard, self.file("atomic_lock")):
                    guard, kept = None, guard
                    return kept
                if not got:
                    return None
            finally:
                if guard is not None:
                    os.close(guard)

    @contextlib.contextmanager
    def state(self, wait_s=FLOCK_S, write=True):
        """The state under the lock; written when the body ends without an exception, then its
        events. None when the lock is not free in time. Signals wait until it is over."""
        with self.explained():
            guard = self.seize(wait_s)
        if guard is None:
            yield None
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
        try:
            with self.explained():
                found = State(read_object(self.open("locks.json", os.O_RDONLY)))
            yield found
            if write:
                with self.explained():
                    write_whole(self.open("locks.json", os.O_RDWR), found.text())
                self.log(found.events)
        finally:
            os.close(guard)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def log(self, events):
        """Adds lines to the day's log of events, which is for people; the caller holds the lock."""
        debug = os.environ.get(DEBUG_VARIABLE, "").lower() in ("1", "true", "yes", "on")
        rows = [dict({"ts": int(time.time()), "event": event, "caller": self.caller}, **members)
                for event, members in events if debug or event not in DEBUG_EVENTS]
        if not rows:
            return
        name = "events-%s.log" % datetime.date.today().isoformat()
        try:
            descriptor = self.open(name, os.O_WRONLY | os.O_APPEND, make=self.may_make_logs())
        except OSError:
            return
        try:
            os.write(descriptor, b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        except OSError:
            pass
        os.close(descriptor)

    def may_make_logs(self):
        """In a sticky folder of another user a file that we make could not be opened by clients
        that open with O_CREAT (fs.protected_regular), and they take that for an error."""
        found = os.stat(self.folder)
        return not found.st_mode & stat.S_ISVTX or found.st_uid == os.geteuid()

    def callers(self):
        """{physical core: who took it last}, from the log of events of today and yesterday."""
        found = {}
        for row in self.recent("ACQUIRE", "COMMIT"):
            found.update({core: caller_of(row) for core in core_list(row.get("cores"))})
        return found

    def waiting(self):
        """{row of the queue: who made it}, from the same log."""
        return {str(row.get("entry_id")): caller_of(row) for row in self.recent("ENQUEUE")}

    def recent(self, *names):
        """The events of these names of today and yesterday."""
        today = datetime.date.today()
        return [row for day in (today - datetime.timedelta(1), today)
                for row in self.events("events-%s.log" % day.isoformat())
                if row.get("event") in names]

    def events(self, name):
        try:
            with os.fdopen(self.open(name, os.O_RDONLY, make=False), "rb") as file:
                file.seek(max(os.fstat(file.fileno()).st_size - (256 << 10), 0))
                lines = file.read(256 << 10).splitlines()
        except OSError:
            return []
        rows = []
        for line in lines:
            try:
                row = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                rows.append(row)
        return rows


def caller_of(row):
    return str(row.get("caller") or "")[:100]


def owner(path):
    """Who could give others access to a path: the owner of the nearest folder that exists."""
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    try:
        uid = os.lstat(path).st_uid
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "the user %d" % uid
    except OSError:
        return "another user"


def make_shared(folder):
    """Makes the folder and the one above it, open to everybody: anyone may add a file, but only its
    owner may remove it."""
    for path in (os.path.dirname(folder), folder):
        if not os.path.isdir(path):
            os.makedirs(path, exist_ok=True)
            os.chmod(path, 0o1777)


def same_file(descriptor, path):
    try:
        found, named = os.fstat(descriptor), os.stat(path)
    except FileNotFoundError:
        return False
    return (found.st_dev, found.st_ino) == (named.st_dev, named.st_ino)


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
    """The JSON object in a file that is open; {} when there is none (so a torn write heals
    itself)."""
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise OSError(errno.EFBIG, "it has over %d bytes" % MAX_FILE)
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def write_whole(descriptor, text):
    """In place, so that the file stays its owner's. Space for it is reserved first, and a text that
    is shorter than before is filled up with blanks before the file is cut. So a process that dies
    between two steps leaves the old text or the new one; half a text would end everybody's
    locks."""
    try:
        data, size = text.encode(), os.fstat(descriptor).st_size
        make_room(descriptor, len(data), size)
        write_at(descriptor, data.ljust(size), 0)
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def make_room(descriptor, wanted, size):
    """Adds blanks after the text, which readers ignore."""
    try:
        write_at(descriptor, b" " * (wanted - size), size)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def write_at(descriptor, data, at):
    while data:
        done = os.pwrite(descriptor, data, at)
        data, at = data[done:], at + done
