# SPDX-License-Identifier: Apache-2.0
"""The folders below .hone: lists jobs, deletes old ones.

It deletes only files and folders that look exactly as the runner makes them, belong to this user,
are not links and do not run. Everything else is left alone, whatever its age."""

import os
import re
import shutil
import stat
import time

from hone_runner import folder as folders, process

DAY_S = 86400.0
KIND = re.compile(r"^[a-z][a-z0-9_-]{0,31}$")
ENTRY = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")
ELSEWHERE_S = DAY_S         # a job of another machine is kept at least this long


def jobs(home, answers):
    for one in folders.all_jobs(home):
        state = one.state() or {}
        answers.emit("job", id=one.id, state=one.standing(state), started=state.get("started"),
                     ended=state.get("ended"), kernel=state.get("kernel", ""),
                     core=state.get("core", ""), host=state.get("host"))
    return 0


def days_ago(days):
    return time.time() - days * DAY_S


def sweep(home, days, answers):
    before = days_ago(days)
    count, size = 0, 0
    for one in folders.all_jobs(home):
        freed = sweep_job(one, before)
        if freed is not None:
            count, size = count + 1, size + freed
    answers.emit("swept", jobs=count, bytes=size + sweep_cache(os.path.join(home, "cache"), before))
    return 0


def sweep_job(one, before):
    """Deletes the job if it ended before that time. Returns the bytes it had, None when it
    stays."""
    lock = one.lock()
    try:
        standing = one.standing()
        if standing in ("running", "elsewhere") or newest(one) >= before:
            return None
        if (one.state() or {}).get("host") not in (None, os.uname().nodename) \
                and time.time() - newest(one) < ELSEWHERE_S:
            return None
        if process.marked(one.mark):        # its process is gone but something it started is not
            return None
        return delete(one.path)
    except OSError:
        return None
    finally:
        os.close(lock)


def newest(one):
    """When the job last showed life: its end as its state says, or the times of its files."""
    state = one.state() or {}
    times = [state.get("ended") or 0]
    for name in ("job.json", "state.json", "events.ndjson", "beat"):
        try:
            times.append(os.lstat(one.file(name)).st_mtime)
        except OSError:
            pass
    return max(time for time in times if isinstance(time, (int, float)))


def sweep_cache(cache, before):
    """Deletes entries .hone/cache/KIND/ENTRY that were not used since. Returns the bytes they
    had."""
    total = 0
    for kind in names(cache, KIND):
        folder = os.path.join(cache, kind)
        for name in names(folder, ENTRY):
            path = os.path.join(folder, name)
            try:
                if last_use(path) < before:
                    total += delete(path)
            except OSError:
                pass
    return total


def names(folder, pattern):
    """The entries that the runner made: in a real folder that is ours, with names as the runner
    gives them."""
    try:
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            return []
        return [name for name in sorted(os.listdir(folder)) if pattern.match(name)]
    except OSError:
        return []


def use(path):
    """Marks a cache entry as used now."""
    try:
        os.utime(path)
    except OSError:
        pass


def last_use(path):
    """When an entry was used. An entry that is not ours, or is a link, counts as used now."""
    found = os.lstat(path)
    ours = stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
    if not ours or found.st_uid != os.getuid():
        return time.time()
    return max(found.st_mtime, found.st_atime if stat.S_ISREG(found.st_mode) else 0)


def delete(path):
    """Deletes a file or folder without following links; the bytes it had."""
    size = size_of(path)
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    return size


def size_of(path):
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                pass
    return total or (os.lstat(path).st_size if not os.path.isdir(path) else 0)
