# SPDX-License-Identifier: Apache-2.0
"""What the tests of the remote runner share: a host in a temporary folder, and its runner.

HONE_RUNNER_PYZ names the archive; without it the source tree is run. driver.py is the runner with
one more kind of job, which does as its steps say."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCE = os.path.join(ROOT, "core", "runner", "remote")
ARCHIVE = os.environ.get("HONE_RUNNER_PYZ") or SOURCE
DRIVER = os.path.join(HERE, "driver.py")
sys.path[:0] = [ARCHIVE, os.path.join(ROOT, "core", "task")]
SENTINEL = b"@hone "
PATIENCE_S = 60.0


def events_of(data):
    """The events among the lines of an output. What does not parse is noise."""
    rows = []
    for line in data.splitlines():
        try:
            rows += [json.loads(line[len(SENTINEL):])] if line.startswith(SENTINEL) else []
        except ValueError:
            pass
    return rows


def wait_for(condition, what):
    """Waits for a condition, for as long as a slow machine may need."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it never came: " + what)


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


class HostCase(unittest.TestCase):
    """A host: a home folder with .hone in it, and an environment without surprises."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="hone-remote-")
        self.addCleanup(self.clean)
        os.makedirs(os.path.join(self.home, ".hone", "jobs"))
        self.env = {"PATH": "/usr/bin:/bin", "HOME": self.home, "LANG": "C.UTF-8", "USER": "tester",
                    "PYTHONDONTWRITEBYTECODE": "1", "HONE_RUNNER_PYZ": ARCHIVE,
                    "HONE_ROOT": os.path.join(self.home, "root"),
                    "HONE_LOCK_FOLDER": os.path.join(self.home, "locks")}

    def clean(self):
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                with open("/proc/%s/environ" % name, "rb") as file:
                    mine = b"HOME=" + self.home.encode() + b"\0" in file.read() + b"\0"
            except OSError:
                continue
            if mine:
                try:
                    os.kill(int(name), signal.SIGKILL)
                except OSError:
                    pass
        shutil.rmtree(self.home, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.home, *names)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def command(self, *words, program=DRIVER):
        return [os.environ.get("HONE_TEST_PYTHON") or sys.executable, program] + list(words)

    def spawn(self, *words, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.STDOUT)
        program = options.pop("program", DRIVER)
        return subprocess.Popen(self.command(*words, program=program), cwd=self.home, env=self.env,
                                stdin=subprocess.DEVNULL, **options)

    def call(self, *words, **options):
        """Runs a command to its end. Returns its events."""
        status = options.pop("status", 0)
        child = self.spawn(*words, **options)
        out, _ = child.communicate(timeout=4 * PATIENCE_S)
        if status is not None:
            self.assertEqual(child.returncode, status, out.decode("utf-8", "replace"))
        return events_of(out)

    def job(self, name, **members):
        """A job's folder, ready to be started. Returns its path as hone gives it."""
        folder = self.path(".hone", "jobs", name)
        os.makedirs(folder, exist_ok=True)
        job = {"protocol": 1, "kernel_path": "kernel.py", "kind": "script", "settings": {}}
        job.update(members)
        with open(os.path.join(folder, "job.json"), "w") as file:
            json.dump(job, file)
        return ".hone/jobs/" + name

    def state(self, job):
        with open(self.path(job, "state.json")) as file:
            return json.load(file)

    def follow(self, job, offset=0):
        return self.call("follow", job, str(offset))

    def finish(self, job):
        """Starts a job and follows it to its end. Returns what it said, without the lines in
        between."""
        started = self.call("start", job)
        self.assertEqual([row["event"] for row in started], ["started"])
        said = self.follow(job)
        self.assertEqual(said[0]["event"], "follow")
        self.assertEqual(said[-1]["event"], "end")
        return [row for row in said if row["event"] not in ("follow", "end", "alive")]

    def neuron_ls(self, devices=1, cores=4, lnc=2, processes=()):
        """A neuron-ls for the setting `tools`. Returns its folder. processes: rows of device 0."""
        rows = [{"neuron_device": device, "bdf": "00:1%d.0" % device, "nc_count": cores,
                 "logical_neuroncore_config": lnc, "memory_size": 103079215104,
                 "neuroncore_ids": list(range(device * cores, (device + 1) * cores)),
                 "neuron_processes": list(processes) if device == 0 else []}
                for device in range(devices)]
        self.write("tools/rows.json", json.dumps(rows))
        self.write("tools/neuron-ls", "#!/bin/sh\ncase $1 in --version) echo 2.29.1.0;; "
                   "*) cat %s;; esac\n" % self.path("tools/rows.json"), 0o755)
        return self.path("tools")
