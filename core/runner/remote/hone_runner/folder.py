# SPDX-License-Identifier: Apache-2.0
"""The folder of a job and what is written there: its state, its lock, its place below .hone."""

import errno
import fcntl
import json
import os
import re
import stat
import sys
import time

from hone_runner import process

ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$""")
MAX_JOB = 64 << 20
MAX_STATE = 1 << 20
MAX_RESULT = 9 << 20        # bytes of a result's line, and some more
STALE_S = 120.0             # a job on another machine counts as gone after that
NETWORK = {"nfs", "nfs4", "lustre", "cifs", "smb3", "smbfs", "ceph", "beegfs", "gpfs", "afs", "9p",
           "fuse.sshfs", "fuse.s3fs", "fuse.juicefs", "fuse.glusterfs", "panfs", "pvfs2",
           "orangefs"}


class Refused(Exception):
    """A command cannot do its work: kind is usage or environment, the text says what to do."""

    def __init__(self, text, kind="environment"):
        super().__init__(text)
        self.kind = kind


def home():
    """The .hone folder: the one that holds this file, else the one in the login folder."""
    above = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0])))
    if os.path.basename(above) == ".hone":
        return above
    if os.path.isdir(".hone"):
        return os.path.abspath(".hone")
    return os.path.join(os.path.expanduser("~"), ".hone")


def write_whole(path, data):
    """Writes a file so that readers see the old content or the new one, never a part."""
    beside = "%s.%d.tmp" % (path, os.getpid())
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        try:
            at = 0
            while at < len(data):
                at += os.write(descriptor, data[at:])
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except OSError:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise


def read_json(path, limit):
    """The object in a file, or None when there is none that can be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
        found = json.loads(data.decode("utf-8")) if len(data) <= limit else None
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def filesystem(path):
    """The type of the file system a path lies on, and its mount point; ("", "") when not known."""
    path, best = os.path.realpath(path), ("", "")
    try:
        with open("/proc/self/mounts", "rb") as file:
            rows = file.read(1 << 20).decode("utf-8", "replace").splitlines()
    except OSError:
        return best
    for row in rows:
        fields = row.split()
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        below = path == point or path.startswith(point.rstrip("/") + "/")
        if below and len(point) >= len(best[1]):
            best = (fields[2], point)
    return best


def is_network(path):
    return filesystem(path)[0] in NETWORK


class Folder:
    """One job's folder. Its state is None until it was started."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.id = os.path.basename(self.path)
        self.jobs = os.path.dirname(self.path)
        self.home = os.path.dirname(self.jobs)
        self.mark = os.path.realpath(self.path)     # tells its processes which job they belong to

    def file(self, *names):
        return os.path.join(self.path, *names)

    def check(self):
        """Refuses a folder that is not a job of this user. Nothing else is read, run or deleted."""
        at = "the job folder %s" % self.path
        if os.path.basename(self.jobs) != "jobs" or os.path.basename(self.home) != ".hone" \
                or not ID.match(self.id):
            raise Refused("%s is not of the form .hone/jobs/ID" % at, "usage")
        try:
            found = os.lstat(self.path)
            job = os.lstat(self.file("job.json"))
        except OSError as problem:
            raise Refused("%s cannot be used: %s" % (at, problem.strerror))
        if not stat.S_ISDIR(found.st_mode) or not stat.S_ISREG(job.st_mode):
            raise Refused("%s is a link or not a folder; hone does not touch it" % at)
        if found.st_uid != os.getuid():
            raise Refused("%s belongs to another user; hone does not touch it" % at)
        return self

    def job(self):
        job = read_json(self.file("job.json"), MAX_JOB)
        if job is None:
            raise Refused("%s is not a job: one JSON object is needed" % self.file("job.json"),
                          "usage")
        return job

    def state(self):
        return read_json(self.file("state.json"), MAX_STATE)

    def set_state(self, state):
        write_whole(self.file("state.json"), json.dumps(state, sort_keys=True) + "\n")

    def standing(self, state=None):
        """new, running, elsewhere (on another machine), ended, cancelled or gone (its state says
        that it runs or was interrupted, but it does not run)."""
        state = self.state() if state is None else state
        if not state:
            return "new"
        if state.get("state") != "running":
            return state.get("state") if state.get("state") in ("ended", "cancelled") else "gone"
        alive = process.is_alive(state)
        if alive is None:
            return "elsewhere" if self.beat_age() < STALE_S else "gone"
        if alive:
            return "running"
        return "ended" if self.has_result() else "gone"

    def has_result(self):
        """Whether the last event is a result. Then the job ended, even if it could not write its
        state because the disk was full."""
        try:
            with open(self.file("events.ndjson"), "rb") as file:
                file.seek(max(os.fstat(file.fileno()).st_size - MAX_RESULT, 0))
                data = file.read()
        except OSError:
            return False
        last = data.rfind(b"\n", 0, len(data) - 1) + 1
        return data.endswith(b"\n") and data.startswith(b'@hone {"event":"result"', last)

    def file_id(self):
        """An id that distinguishes this events.ndjson from earlier and later files of the same
        name; "": none."""
        try:
            with open(self.file("events.id"), encoding="ascii") as file:
                return file.read(64).strip()
        except (OSError, ValueError):
            return ""

    def name_file(self):
        """Gives events.ndjson its id, before it is made."""
        if not os.path.exists(self.file("events.ndjson")):
            write_whole(self.file("events.id"), os.urandom(16).hex() + "\n")

    def beat_age(self):
        """Seconds since the job's process last gave a sign of life, by the clock of the file
        server."""
        try:
            beat = os.stat(self.file("beat")).st_mtime
            now = self.file("now")
            with open(now, "ab"):
                os.utime(now)
            return os.stat(now).st_mtime - beat
        except OSError:
            return float("inf")

    def lock(self, limit_s=30.0):
        """Takes the lock that is held while a job is started or ended: the descriptor, which the
        caller closes."""
        descriptor = os.open(self.file("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + limit_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except OSError as problem:
                if problem.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                    return descriptor       # a file system without locks: nothing better is at hand
                if problem.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                    os.close(descriptor)
                    raise
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise Refused("another command has held the lock of %s for %d s; try again"
                              % (self.path, limit_s))
            time.sleep(0.02)


def all_jobs(base):
    """The folders of jobs below .hone, oldest name first; folders of others are left out."""
    try:
        names = sorted(os.listdir(os.path.join(base, "jobs")))
    except OSError:
        return []
    found = []
    for name in names:
        try:
            found.append(Folder(os.path.join(base, "jobs", name)).check())
        except Refused:
            pass
    return found


def free_bytes(path):
    """Free space for this user on the disk that holds a path, or the nearest folder above it."""
    while True:
        try:
            found = os.statvfs(path)
            return found.f_bavail * found.f_frsize
        except OSError:
            if path in ("/", ""):
                return 0
            path = os.path.dirname(path)
