# SPDX-License-Identifier: Apache-2.0
"""Processes: how to identify them (ids are reused), and how to end them.

A process is known by its id, its time of start and the boot it lives in. Only processes that have
the mark of a job in their environment, or descend from this process, are ever killed. Linux has all
of this in /proc; on other systems less is known and less is done."""

import ctypes
import errno
import os
import signal
import time

PROC = "/proc"
MARK = "HONE_JOB"           # its value is the job's folder; everything that a job starts has it
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
try:
    LIBC = ctypes.CDLL(None, use_errno=True)    # here, not in a child that was just forked
except (OSError, TypeError):
    LIBC = None
MAX_PROCESSES = 1 << 17


def read_proc(pid, name, limit=1 << 20):
    try:
        with open(os.path.join(PROC, str(pid), name), "rb") as file:
            return file.read(limit)
    except OSError:
        return b""


def stat_fields(pid):
    """The fields of /proc/PID/stat from the third on (state, parent, group, ...); [] when the
    process is gone."""
    text = read_proc(pid, "stat")
    return text[text.rfind(b")") + 2:].split() if b")" in text else []


def start_time(pid):
    """When the process started, in ticks since the boot; 0 when it is gone or not known."""
    fields = stat_fields(pid)
    return int(fields[19]) if len(fields) > 19 and fields[0] not in (b"Z", b"X") else 0


def boot():
    return read_proc("sys/kernel/random", "boot_id").decode("ascii", "replace").strip()


def identity(pid=None):
    """An id that tells this process from earlier and later ones with the same number."""
    pid = pid or os.getpid()
    return {"pid": pid, "ticks": start_time(pid), "boot": boot(), "host": os.uname().nodename}


def is_alive(known):
    """Whether the process with this identity() still runs; None when it belongs to another
    machine."""
    if known.get("host") != os.uname().nodename:
        return None
    pid, ticks = known.get("pid"), known.get("ticks")
    if not isinstance(pid, int) or pid <= 1 or known.get("boot") != boot():
        return False
    if ticks:
        return start_time(pid) == ticks
    return can_signal(pid)


def can_signal(pid):
    try:
        os.kill(pid, 0)
    except OSError as problem:
        return problem.errno == errno.EPERM
    return True


def everyone():
    """The ids of all processes."""
    try:
        names = os.listdir(PROC)
    except OSError:
        return []
    return [int(name) for name in names[:MAX_PROCESSES] if name.isdigit()]


def user_of(pid):
    try:
        return os.stat(os.path.join(PROC, str(pid))).st_uid
    except OSError:
        return None


def marked(folder):
    """The processes that a job left behind: they are this user's, and the job's folder is in their
    environment."""
    wanted = ("%s=%s" % (MARK, folder)).encode("utf-8", "surrogateescape")
    own, me = os.getuid(), os.getpid()
    return [pid for pid in everyone() if pid != me and user_of(pid) == own
            and wanted in read_proc(pid, "environ").split(b"\0") and start_time(pid)]


def descendants(root):
    """The living processes below `root`, nearest first."""
    parents = {}
    for pid in everyone():
        fields = stat_fields(pid)
        if len(fields) > 1 and fields[0] not in (b"Z", b"X"):
            parents.setdefault(int(fields[1]), []).append(pid)
    found, at = [], [root]
    while at and len(found) < MAX_PROCESSES:
        below = [child for pid in at for child in parents.get(pid, [])]
        found += below
        at = below
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def send_group(group, number):
    try:
        os.killpg(group, number)
    except OSError:
        pass


def end_all(find, grace_s=3.0):
    """Ends the processes that find() returns, first with SIGTERM, and calls find() again until it
    returns none."""
    deadline = time.monotonic() + grace_s
    send(find(), signal.SIGTERM)
    pause = 0.005
    while time.monotonic() < deadline:
        if not find():
            return True
        time.sleep(pause)
        pause = min(pause * 2, 0.2)
    return kill_all(find)


def kill_all(find, limit_s=5.0):
    """Kills the processes that find() returns until it returns none; false when one does not
    die."""
    deadline = time.monotonic() + limit_s
    while True:
        left = find()
        if not left:
            return True
        if time.monotonic() > deadline:
            return False
        send(left, signal.SIGKILL)
        time.sleep(0.01)


def reap():
    """Collects ended children that no other code waits for; for a process that adopts orphans."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except OSError:
            return
        if pid == 0:
            return


def prctl(option, value):
    try:
        return LIBC.prctl(option, value, 0, 0, 0) == 0
    except (AttributeError, TypeError):         # no such library, or not Linux
        return False


def adopt_orphans():
    """Makes orphaned descendants children of this process, so that all can be ended."""
    return prctl(PR_SET_CHILD_SUBREAPER, 1)
