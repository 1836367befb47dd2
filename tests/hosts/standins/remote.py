# SPDX-License-Identifier: Apache-2.0
"""The remote runner on a stand-in, without a transport: jobs in a home of their own, run in the
foreground, and what they reported. Also the embedded target's answer to the same question."""

import hashlib
import json
import os
import subprocess

import tasks

SENTINEL = "@hone "
# These decide how products are summed. Both sides of a comparison get the test's own values.
ARITHMETIC = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class Run:
    """What a job said: events by kind, the result, raw output."""

    def __init__(self, text, errors, status, folder):
        self.text, self.errors, self.status, self.folder = text, errors, status, folder
        self.events = []
        for line in text.splitlines():
            if line.startswith(SENTINEL):
                self.events.append(json.loads(line[len(SENTINEL):]))

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    @property
    def result(self):
        found = self.of("result")
        if len(found) != 1:
            raise AssertionError("%d results: %s\n%s" % (
                len(found), self.text[-3000:], self.errors[-3000:]))
        return found[0]

    def answers(self):
        """Answers by part of the verdict. A job that failed early has none."""
        found = self.result.get("verdict") or {}
        return {name: found.get(name, {"answer": "not asked"})["answer"]
                for name in ("compiles", "correct", "credible", "faster")}

    def reason(self, name):
        return self.result["verdict"][name]["reason"]

    def failure(self):
        return self.result.get("failure") or {"kind": "none", "text": ""}

    def seeds(self):
        return {event["seed"]: event["rel_l2"] for event in self.of("correctness")}

    def logs(self):
        return "\n".join(event["text"] for event in self.of("log"))

    def explain(self):
        return "%s\n%s\n%s" % (json.dumps(self.result, indent=1)[:4000], self.logs()[-4000:],
                               self.errors[-2000:])


class Home:
    """A user's home on a stand-in: runs jobs there."""

    def __init__(self, folder, root, runner):
        self.folder, self.root, self.runner = folder, root, runner
        self.jobs = len(os.listdir(os.path.join(folder, ".hone", "jobs"))) \
            if os.path.isdir(os.path.join(folder, ".hone", "jobs")) else 0
        os.makedirs(folder, exist_ok=True)

    def environment(self, more):
        found = {"PATH": "/usr/bin:/bin", "HOME": self.folder, "HONE_ROOT": self.root,
                 "LANG": "C.UTF-8", "TMPDIR": self.folder,
                 **{name: os.environ.get(name) for name in ARITHMETIC}, **more}
        return {name: value for name, value in found.items() if value is not None}

    def command(self, *arguments, python="/usr/bin/python3", limit=300, **more):
        return subprocess.run([python, self.runner, *arguments], cwd=self.folder,
                              env=self.environment(more), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                              errors="replace", timeout=limit, check=False)

    def put_job(self, task, **members):
        """Writes a job for a task's folder. Returns the path of the job's folder, relative to the
        home."""
        text = tasks.read(os.path.join(task, "kernel.py"))
        reference = tasks.read(os.path.join(task, "reference.py"))
        name = hashlib.sha256(reference.encode()).hexdigest()[:16]
        tasks.write(os.path.join(self.folder, ".hone", "tasks", name, "reference.py"), reference)
        job = {"protocol": 1, "kernel_path": os.path.join(task, "kernel.py"), "kernel_text": text,
               "kernel_name": "kernel", "device": "trn2", "session": "tests",
               "reference_path": "tasks/%s/reference.py" % name, **members}
        self.jobs += 1              # the same job asked for again is another job
        job["number"] = self.jobs
        key = hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()[:16]
        path = ".hone/jobs/%s" % key
        tasks.write(os.path.join(self.folder, path, "job.json"), json.dumps(job))
        return path

    def run(self, task, python="/usr/bin/python3", environment=None, **members):
        path = self.put_job(task, **members)
        done = self.command("run", path, python=python, **(environment or {}))
        folder = os.path.join(self.folder, path)
        events = os.path.join(folder, "events.ndjson")
        text = tasks.read(events) if os.path.exists(events) else ""
        return Run(text, done.stdout + done.stderr, done.returncode, folder)


def embedded(hone, task, *arguments):
    """hone sim's answer on the same task."""
    done = subprocess.run([hone, "sim", task, "--json", *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return json.loads(done.stdout)
