# SPDX-License-Identifier: Apache-2.0
"""A job's folder for a command that runs one job in the foreground and keeps nothing of it."""

import contextlib
import json
import os
import shutil

from hone_runner import folder as folders, process, supervise


def tidy(home, name):
    """Removes folders that killed commands of that name left."""
    for one in folders.all_jobs(home):
        pid = one.id[len(name) + 1:].partition("-")[0]
        if one.id.startswith(name + "-") and pid.isdigit() and not process.start_time(int(pid)):
            shutil.rmtree(one.path, ignore_errors=True)


@contextlib.contextmanager
def job_folder(home, name, job):
    """A folder.Folder that holds the job. At the end, processes started below it are ended."""
    tidy(home, name)
    path = os.path.join(home, "jobs", "%s-%d-%s" % (name, os.getpid(), os.urandom(4).hex()))
    os.makedirs(path, mode=0o700)
    try:
        folders.write_whole(os.path.join(path, "job.json"), json.dumps(job))
        process.adopt_orphans()
        yield folders.Folder(path).check()
    finally:
        supervise.end_children()
        shutil.rmtree(path, ignore_errors=True)
