#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A campaign against sessions: kills, flipped bits, cut files. Nothing that was acknowledged may be
lost, nothing that was altered may go unnoticed.

    campaign.py HONE [--kills N] [--flips N] [--cuts N] [--seed S] [--jobs N]

Kills are SIGKILL to hone, to a child of it, or to both. A third of them comes in the first 150 ms,
a third of the rest while a session is exported. An event is acknowledged when `hone run --json` has
printed it. Prints a table; exit status 1 when something was lost or altered unnoticed.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tune"))
from small_task import KERNEL, REFERENCE  # noqa: E402


class Campaign:
    def __init__(self, hone, seed):
        self.hone = hone
        self.random = random.Random(seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hone_campaign_"))
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"),
                                XDG_STATE_HOME=str(self.folder / "state"),
                                XDG_CONFIG_HOME=str(self.folder / "config"))
        self.table = collections.Counter()
        self.failures = []
        self.count = 0

    def note(self, kind, what, good, text=""):
        self.table[kind, what] += 1
        if not good:
            self.table[kind, "WRONG"] += 1
            self.failures.append(f"{kind}: {what}: {text}")

    def task(self):
        self.count += 1
        task = self.folder / f"task{self.count}"
        task.mkdir()
        (task / "kernel.py").write_text(KERNEL)
        (task / "reference.py").write_text(REFERENCE)
        return task

    def call(self, *args, limit=300):
        return subprocess.run([self.hone, *map(str, args)], env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=limit, errors="replace")

    def start(self, *args):
        return subprocess.Popen([self.hone, *map(str, args)], env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, errors="replace")

    # -- kills ------------------------------------------------------------------------------------

    def children(self, pid):
        """All descendants of a process, as far as the system shows them."""
        found, todo = [], [pid]
        while todo:
            try:
                new = [int(word) for task in pathlib.Path(f"/proc/{todo.pop()}/task").iterdir()
                       for word in (task / "children").read_text().split()]
            except OSError:  # it has ended meanwhile
                continue
            found += new
            todo += new
        return found

    def kill(self, process, whom):
        children = self.children(process.pid)
        victims = []
        if whom != "a child":
            victims.append(process.pid)
        if whom != "hone" and children:
            victims.append(self.random.choice(children))
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def run_and_kill(self, task, whom, delay):
        """The events that were acknowledged before the kill."""
        process = self.start("run", task, "--json", "--rounds", "1", "--seeds", "0")
        told = []
        reader = threading.Thread(target=lambda: told.extend(process.stdout.readlines()))
        reader.start()
        time.sleep(delay)
        self.kill(process, whom)
        if whom == "a child":       # hone goes on: it ends on its own, or later
            try:
                process.wait(timeout=self.random.random() * 2)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
        events = []
        for line in told:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if "seq" in event:
                events.append((event.pop("seq"), event.pop("event"), event))
        return events

    def stored(self, session):
        uri = f"file:{session}/session.db?mode=ro"
        with sqlite3.connect(uri, uri=True) as base:
            return {seq: (kind, json.loads(payload)) for seq, kind, payload in
                    base.execute("SELECT seq, type, payload FROM events")}

    def check_run(self, kind, task, events):
        session = task / ".hone" / task.name
        if not (session / "session.db").exists():
            return self.note(kind, "nothing yet", not events, f"{len(events)} events are gone")
        done = self.call("session", "check", session, "--json")
        whole = done.returncode == 0
        if not whole and not events and "empty session" in done.stderr:
            return self.note(kind, "nothing yet", True)
        stored = self.stored(session) if events else {}
        lost = [seq for seq, what, payload in events
                if stored.get(seq) != (what, payload)]
        text = f"{lost[:3]} lost; {done.stdout[-400:]}{done.stderr[-200:]}"
        return self.note(kind, "whole" if whole and not lost else "lost", whole and not lost, text)

    def exported(self, folder):
        """What there is of an export, which must be nothing or all of it."""
        return folder.exists() and any(folder.iterdir())

    def kill_export(self, whom, delay, session, number):
        out = self.folder / f"export{number}"
        process = self.start("export", session, "--output", out)
        time.sleep(delay)
        self.kill(process, "hone" if whom == "a child" else whom)
        process.wait()
        process.stdout.close()
        kind = "kill during an export"
        done = self.call("session", "check", session)
        if done.returncode:
            return self.note(kind, "session damaged", False, done.stdout)
        if not self.exported(out):
            return self.note(kind, "no export", True)
        whole = sorted(p.name for p in out.iterdir()) == self.whole_export
        self.note(kind, "whole export" if whole else "half an export", whole, str(out))
        shutil.rmtree(out)
        return None

    def kills(self, count):
        whole = self.task()
        self.call("run", whole, "--rounds", "2", "--seeds", "0")
        session = whole / ".hone" / whole.name
        began = time.monotonic()
        self.call("export", session, "--output", self.folder / "export")
        took = time.monotonic() - began
        self.whole_export = sorted(p.name for p in (self.folder / "export").iterdir())
        task = self.task()
        events = []
        for number in range(count):
            whom = ("hone", "a child", "both")[number % 3]
            if number % 9 in (3, 8):
                self.kill_export(whom, self.random.random() * took, session, number)
                continue
            early = number % 9 < 3
            delay = self.random.random() * (0.15 if early else 4)
            before = {seq for seq, _, _ in events}
            new = self.run_and_kill(task, whom, delay)
            events += [event for event in new if event[0] not in before]
            kind = f"kill of {whom}" + (" in the first 150 ms" if early else "")
            self.check_run(kind, task, events)
            if number % 40 == 39:   # a session of many rounds takes long to open
                task, events = self.task(), []

    # -- damage -----------------------------------------------------------------------------------

    def sessions(self):
        """A session that was closed, and one whose process was killed."""
        closed = self.task()
        self.call("run", closed, "--rounds", "2", "--seeds", "0")
        killed = self.task()
        process = self.start("run", killed, "--json", "--rounds", "3", "--seeds", "0")
        attempts = 0
        for line in process.stdout:
            attempts += line.startswith('{"event":"attempt"')
            if attempts == 2:
                break
        process.kill()
        process.wait()
        process.stdout.close()
        return [task / ".hone" / task.name for task in (closed, killed)]

    def export_of(self, session, number):
        out = self.folder / f"damaged{number}"
        done = self.call("export", session, "--output", out)
        files = {}
        if done.returncode == 0:
            files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
            shutil.rmtree(out)
        return done, files

    def damage(self, kind, original, alter, number):
        """Alters a copy of a session, and checks whether anybody notices."""
        session = self.folder / f"copy{number}"
        shutil.copytree(original, session)
        alter(session)
        check = self.call("session", "check", session)
        export, files = self.export_of(session, number)
        noticed = check.returncode == 4
        same = export.returncode == 0 and files == self.before[original]
        if noticed:
            what = "noticed, refused" if export.returncode else "noticed, all events whole"
            good = export.returncode == 4 or same
        else:
            what = "no byte that counts" if same else "UNNOTICED"
            good = same
        self.note(kind, what, good, f"{session} {check.stdout[-300:]}{export.stderr[-200:]}")
        if good and noticed and export.returncode:
            self.repair(kind, session)
        if good:
            shutil.rmtree(session)

    def repair(self, kind, session):
        done = self.call("session", "repair", session, "--json")
        new = pathlib.Path(f"{session}.repaired")
        if done.returncode:
            return self.note(kind + ", repaired", "nothing was left", done.returncode == 4,
                             done.stderr)
        report = json.loads(done.stdout)
        whole = self.call("session", "check", new).returncode == 0
        what = "nothing lost" if not report["lost_from"] else "up to the damage"
        self.note(kind + ", repaired", what if whole else "damaged again", whole, str(new))
        self.table["saved", "events"] += report["events"] + report["behind"]
        self.table["saved", "lost"] += (report["lost_to"] - report["lost_from"] + 1
                                        - report["behind"] if report["lost_from"] else 0)
        shutil.rmtree(new)
        return None

    def flip(self, session, name):
        path = session / name
        data = bytearray(path.read_bytes())
        bit = self.random.randrange(len(data) * 8)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)

    def cut(self, session, name):
        path = session / name
        size = path.stat().st_size
        if self.random.random() < 0.3:
            size = max(size // 4096, 1) * 4096
        os.truncate(path, self.random.randrange(size))

    def damages(self, flips, cuts):
        closed, killed = self.sessions()
        self.before = {session: self.export_of(session, "before")[1]
                       for session in (closed, killed)}
        for number in range((flips + cuts) // 5):   # what nobody altered is whole, every time
            self.damage("nothing altered", (closed, killed)[number % 2], lambda _: None,
                        f"whole{number}")
        ways = [(flips, self.flip, "flipped bit"), (cuts, self.cut, "cut file")]
        for count, alter, kind in ways:
            for number in range(count):
                original, name = (closed, "session.db") if number % 4 else (killed, "session.db")
                wal = killed / "session.db-wal"
                if number % 8 == 4 and wal.exists() and wal.stat().st_size:
                    name = "session.db-wal"
                where = f"{kind} in {name}" + (" after a kill" if original == killed else "")
                self.damage(where, original, lambda s, a=alter, n=name: a(s, n),
                            f"{kind.split()[0]}{number}")

    # -- the table --------------------------------------------------------------------------------

    def print(self, took):
        kinds = sorted({kind for kind, _ in self.table if kind != "saved"})
        for kind in kinds:
            rows = {what: n for (k, what), n in self.table.items() if k == kind}
            wrong = rows.pop("WRONG", 0)
            parts = ", ".join(f"{n} {what}" for what, n in sorted(rows.items()))
            print(f"{kind:48} {sum(rows.values()):5}   wrong {wrong:3}   {parts}")
        saved = self.table["saved", "events"], self.table["saved", "lost"]
        if any(saved):
            print(f"of damaged sessions that were repaired: {saved[0]} events saved, "
                  f"{saved[1]} lost")
        print(f"{took:.0f} s")
        for failure in self.failures[:20]:
            print("WRONG", failure)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hone")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    args = parser.parse_args()
    campaign = Campaign(os.path.abspath(args.hone), args.seed)
    print(f"seed {args.seed}")
    began = time.monotonic()
    try:
        if args.kills:
            campaign.kills(args.kills)
        if args.flips or args.cuts:
            campaign.damages(args.flips, args.cuts)
    finally:
        campaign.print(time.monotonic() - began)
        if not campaign.failures:
            shutil.rmtree(campaign.folder, ignore_errors=True)
    return 1 if campaign.failures else 0


if __name__ == "__main__":
    sys.exit(main())
