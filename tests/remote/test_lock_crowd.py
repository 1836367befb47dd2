# SPDX-License-Identifier: Apache-2.0
"""Processes of many clients at one core lock: the runner's own way of taking cores, and the models
of versions 2, 4 and 5. No core has two owners, and nobody spoils the file for the others."""

import contextlib
import json
import multiprocessing
import os
import random
import tempfile
import time
import traceback
import types
import unittest
import uuid

import lock_clients as others
from hone_runner import cores, lock

TOTAL, ROUNDS = 8, 6
NOTE = {"of": ["somebody", 1]}


def now():
    return int(time.time())


class Crowd:
    """What the processes share: the lock's folder, and a folder of claims."""

    def __init__(self, folder):
        self.lock, self.claims = os.path.join(folder, "core_locks"), os.path.join(folder, "claims")
        os.mkdir(self.claims)
        lock.Lock(self.lock, "test").prepare()
        self.place = others.File(self.lock)
        with self.place.transaction() as place:
            place.text = json.dumps({"version": 5, "note": NOTE,
                                     "physical_neuron_cores_lock_timeout": {}})

    @contextlib.contextmanager
    def owned(self, taken):
        """These physical cores have this one owner, or there is a FileExistsError."""
        paths = [os.path.join(self.claims, str(core)) for core in taken]
        for path in paths:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        yield
        for path in paths:
            os.unlink(path)

    def check(self):
        """Nothing is malformed, and what the models wrote is there."""
        with self.place.transaction() as place:
            data = json.loads(place.text)
        others.Table("", 5).read(data)
        assert data["note"] == NOTE, data
        rows = data.get("queue", [])
        for row in rows:
            assert row.get("extra") == ("of " + row["entry_id"] if row["entry_id"][0] == "m"
                                        else None), row
        kept = [core for row in rows for core in row.get("reserved_region", [])]
        assert len(kept) == len(set(kept)), rows


def model(crowd, version, number):
    """A client of version 4 or 5. Some of its processes die, and their locks expire."""
    for count in range(ROUNDS):
        client = others.KeepingClient(crowd.place, now, version, TOTAL, "m-" + uuid.uuid4().hex)
        size, dies = random.choice((1, 2, 2, 4)), count % 3 == number % 3
        got = {"status": None}
        while got["status"] != others.ALLOCATED:
            crowd.check()
            got = client.poll(size, hold=2 if dies else others.HOLD, lnc=random.choice((1, 2)))
            assert got["status"] != others.ERROR, got
            time.sleep(random.uniform(0.01, 0.05))
            if random.random() < 0.02:
                client.dequeue()
        if not dies:
            work(crowd, got["cores"])
            client.release(got["cores"], got["expiry"])


def old(crowd):
    """A client of version 2, which knows no queue."""
    for _ in range(ROUNDS):
        client = others.KeepingClient(crowd.place, now, 2, TOTAL)
        got = {"status": None}
        while got["status"] != others.ALLOCATED:
            time.sleep(random.uniform(0.05, 0.2))
            got = client.acquire(2)
        work(crowd, got["cores"])
        client.release(got["cores"], got["expiry"])


def work(crowd, taken):
    with crowd.owned(taken):
        time.sleep(random.uniform(0.0, 0.05))


def runner(crowd, number):
    """The runner's own."""
    cores.NEAR_S = cores.POLL_S = 0.05
    for _ in range(ROUNDS):
        with cores.take(context_for(crowd, number), random.choice((1, 1, 2)), 2, 300.0) as held:
            work(crowd, held.physical)
            held.extend()
            work(crowd, held.physical)
            if random.random() < 0.3:
                held.taken -= 1e6               # its time is up, so it is in the queue again
                held.turn(fresh=True)
                work(crowd, held.physical)
            crowd.check()


def context_for(crowd, number):
    """As much of a context as taking cores needs."""
    def nothing(*words, **members):
        return None
    devices = types.SimpleNamespace(
        lnc=2, total=TOTAL, holders={}, warnings=[], look=nothing, holder=nothing,
        device_of={core: 0 for core in range(TOTAL)}, logical=lambda: list(range(TOTAL // 2)))
    return types.SimpleNamespace(
        settings={"lock_folder": crowd.lock}, control=None,
        environment=types.SimpleNamespace(devices=devices),
        events=types.SimpleNamespace(emit=nothing, log=nothing),
        folder=types.SimpleNamespace(id="job%d" % number))


def guarded(place, call, *words):
    try:
        call(*words)
    except BaseException:
        with open(place, "a", encoding="utf-8") as file:
            file.write("%s%r\n%s\n" % (call.__name__, words[1:], traceback.format_exc()))
        os._exit(1)


class Many(unittest.TestCase):
    def test_clients_of_every_version_share_one_host(self):
        folder = tempfile.TemporaryDirectory(prefix="hone-crowd-")
        self.addCleanup(folder.cleanup)
        crowd, failures = Crowd(folder.name), os.path.join(folder.name, "failures")
        calls = [(runner, crowd, number) for number in range(3)] + [(old, crowd)] \
            + [(model, crowd, version, number) for number, version in enumerate((4, 4, 5, 5))]
        fork = multiprocessing.get_context("fork")
        children = [fork.Process(target=guarded, args=(failures,) + call) for call in calls]
        for child in children:
            child.start()
        for child in children:
            child.join(180)
            if child.is_alive():
                child.kill()
                self.fail("it never ended: %s" % child)
        if os.path.exists(failures):
            with open(failures, encoding="utf-8") as file:
                self.fail(file.read())
        self.assertEqual({child.exitcode for child in children}, {0})
        self.assertEqual(os.listdir(crowd.claims), [])
        crowd.check()


if __name__ == "__main__":
    unittest.main()
