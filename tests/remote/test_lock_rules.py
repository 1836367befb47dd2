# SPDX-License-Identifier: Apache-2.0
"""The rules of the core lock, on a host that is a text and a clock: what the runner does with it,
beside clients of versions 2, 4 and 5 (lock_clients.py)."""

import itertools
import json
import math
import random
import unittest

import lock_clients as others
from lock_clients import ALLOCATED, DRAINING, ERROR, RELEASED, WAITS
from hone_runner import lock_queue, lock_solver, lock_state

START = 1000
KINDS = ("hone", 4, 5)
OVERLAP = [{"entry_id": name, "request_cores": 2, "enqueued_ts": START, "ready": True,
            "last_seen_ts": START, "reserved_region": [2, 3]} for name in "xy"]


class HoneClient:
    """The runner, asked in the same way as the others."""

    def __init__(self, host, entry_id):
        self.host, self.id, self.events = host, entry_id, []
        self.serves, self.queued = None, False

    def poll(self, count, ready=True, lnc=2):
        state = self.state()
        serves = self.serves if ready else lambda block, held: False
        ask = lock_queue.Ask(self.id, count, self.host.total, lnc, serves)
        answer = lock_queue.poll(state, self.host.now, ask)
        self.keep(state)
        if answer.cores:
            self.queued = False
            return {"status": ALLOCATED, "cores": answer.cores, "expiry": answer.expiry,
                    "should_reset_cores": answer.reset}
        made = {"status": DRAINING if answer.drains else WAITS, "position": answer.position}
        if answer.torn:
            return {"status": ERROR}
        if answer.new and self.queued:
            made["re_enqueued"] = True
        self.queued = True
        if ("BUMP", {"entry_id": self.id}) in self.events:
            made["bumped"] = True
        return made

    def release(self, cores, expiry):
        state = self.state()
        state.release(cores, expiry)
        self.keep(state)
        return {"status": RELEASED, "skipped": self.events[-1][1]["skipped"]}

    def dequeue(self):
        state = self.state()
        state.dequeue(self.id)
        self.queued = False
        self.keep(state)
        return {"status": RELEASED}

    def extend(self, cores):
        state = self.state()
        until = lock_queue.extend(state, self.host.now, cores, self.host.total)
        self.keep(state)
        return until

    def state(self):
        return lock_state.State(json.loads(self.host.store.text))

    def keep(self, state):
        self.events = state.events
        self.host.store.text = state.text()


class Host:
    """locks.json and the time."""

    def __init__(self, total=8, **members):
        self.now, self.total = START, total
        held = {str(core): START + left for core, left in members.pop("held", {}).items()}
        self.store = others.Memory(json.dumps(dict(
            {"version": 4, "physical_neuron_cores_lock_timeout": held}, **members)))

    def client(self, kind, name):
        if kind == "hone":
            return HoneClient(self, name)
        return others.Client(self.store, lambda: self.now, kind, self.total, name)

    def data(self):
        return json.loads(self.store.text)

    def row(self, name):
        return next((row for row in self.data().get("queue", ()) if row["entry_id"] == name), None)

    def region(self, name):
        row = self.row(name) or {}
        return row.get("reserved_region") or []

    def order(self):
        return [row["entry_id"] for row in self.data().get("queue", ())]

    def locked(self):
        table = self.data()["physical_neuron_cores_lock_timeout"]
        return {int(core): until for core, until in table.items()}

    def pass_time(self, seconds, *clients):
        """Time passes while these keep asking for 2 cores."""
        for _ in range(seconds // 5):
            self.now += 5
            for client in clients:
                client.poll(2)
        self.now += seconds % 5


def mixed(count, **members):
    """Runs the test for every mixture of this many clients on one host."""
    def decorate(test):
        def run(self):
            for kinds in itertools.product(KINDS, repeat=count):
                with self.subTest(kinds=kinds):
                    host = Host(**members)
                    test(self, host, *map(host.client, kinds, "ab"))
        return run
    return decorate


class Scenarios(unittest.TestCase):
    """Each test runs with every mixture of clients on one host."""

    @mixed(1)
    def test_01_an_empty_host_is_asked_twice(self, host, a):
        self.assertEqual(a.poll(2), {"status": WAITS, "position": 0})
        self.assertEqual(host.locked(), {})
        got = a.poll(2)
        self.assertEqual((got["status"], got["expiry"]), (ALLOCATED, START + 60))
        self.assertEqual((got["cores"][0] % 2, len(got["cores"])), (0, 2))
        self.assertEqual(host.locked(), {core: START + 60 for core in got["cores"]})
        self.assertEqual(host.order(), [])

    @mixed(2, held={core: 40 for core in range(8)})
    def test_02_a_region_that_is_locked_is_waited_for(self, host, a, b):
        a.poll(2)
        b.poll(2)
        self.assertEqual(a.poll(2)["status"], WAITS)
        region = host.region("a")
        self.assertEqual(len(region), 2)
        self.assertNotIn("commit_deadline_ts", host.row("a"))
        for seconds in (10, 29):
            host.pass_time(seconds, b)
            self.assertEqual(a.poll(2)["status"], WAITS)
            self.assertEqual(host.region("a"), region)
            self.assertEqual(set(host.locked().values()), {START + 40})
        host.now = START + 40
        self.assertEqual(a.poll(2)["cores"], region)
        self.assertEqual(set(b.poll(2)["cores"]) & set(region), set())

    @mixed(2, held={5: 40})
    def test_03_who_wants_all_is_not_passed_by_who_wants_one(self, host, a, b):
        a.poll(8)
        b.poll(1)
        self.assertEqual(a.poll(8)["status"], WAITS)
        self.assertEqual(host.region("a"), list(range(8)))
        self.assertEqual(b.poll(1), {"status": WAITS, "position": 1})
        self.assertEqual(host.region("b"), [])

    @mixed(2, held={3: 40})
    def test_04_two_are_given_cores_at_once_and_either_takes_them_first(self, host, a, b):
        a.poll(2)
        b.poll(2)
        second = b.poll(2)
        self.assertEqual(second["status"], ALLOCATED)
        first = host.region("a")
        self.assertEqual(len(set(first) | set(second["cores"]) - {2, 3}), 4)
        self.assertEqual(a.poll(2)["cores"], first)

    @mixed(2, held={core: 13 for core in range(8)})
    def test_05_who_is_silent_keeps_the_place_for_a_minute(self, host, a, b):
        a.poll(8)
        b.poll(8)
        host.now += 13
        b.poll(8)
        before = host.row("a")["commit_deadline_ts"]
        self.assertEqual(before, host.now + 12)
        host.now += 13
        b.poll(8)
        self.assertIn("RESERVE_EXPIRED", [event[0] for event in b.events])
        self.assertEqual(host.order(), ["a", "b"])
        self.assertEqual(host.row("a")["commit_deadline_ts"], host.now + 12)
        for _ in range(2):
            host.now += 12
            b.poll(8)
        host.now = START + 61
        self.assertEqual(a.poll(8), {"status": WAITS, "position": 1, "re_enqueued": True})
        self.assertEqual(host.order(), ["b", "a"])
        self.assertEqual(b.poll(8)["status"], ALLOCATED)

    @mixed(2)
    def test_06_who_is_not_ready_is_passed_after_a_while(self, host, a, b):
        a.poll(2, ready=False)
        b.poll(2, ready=False)
        b.poll(2, ready=False)
        self.assertEqual(host.row("a")["commit_deadline_ts"], START + 12)
        host.now += 12
        a.poll(2, ready=False)
        self.assertEqual(host.order(), ["a", "b"])
        host.now += 1
        self.assertTrue(a.poll(2, ready=False)["bumped"])

    @mixed(2, held={core: 30 for core in range(2, 8)})
    def test_06_who_becomes_ready_in_time_keeps_its_place(self, host, a, b):
        a.poll(2, ready=False)
        b.poll(2)
        b.dequeue()
        a.poll(2, ready=False)
        host.now += 12
        self.assertEqual(a.poll(2)["cores"], [0, 1])

    @mixed(2)
    def test_07_what_was_kept_is_kept_while_the_host_drains(self, host, a, b):
        a.poll(2)
        b.poll(2)
        b.poll(2)
        region = host.region("a")
        host.client(4, "operator").drain(30)
        self.assertEqual(a.poll(2)["status"], DRAINING)
        host.pass_time(20, a)
        self.assertEqual(a.poll(2), {"status": DRAINING, "position": 0})
        self.assertEqual(host.region("a"), region)
        host.client(4, "operator").undrain()
        self.assertEqual(a.poll(2)["cores"], region)

    @mixed(1, held={0: 30})
    def test_08_draining_begins_when_the_last_lock_has_ended(self, host, a):
        said = host.client(5, "operator").drain(100)
        self.assertEqual((said["expiry"], said["max_lock_expiry"]), (START + 130, START + 30))
        host.now += 129
        self.assertEqual(a.poll(2)["status"], DRAINING)
        host.now += 1
        self.assertEqual(a.poll(2)["status"], ALLOCATED)

    @mixed(2)
    def test_09_who_comes_late_does_not_free_the_lock_of_the_next(self, host, a, b):
        a.poll(8)
        mine = a.poll(8)
        host.now += 60
        b.poll(8)
        theirs = b.poll(8)
        self.assertEqual(theirs["status"], ALLOCATED)
        said = a.release(mine["cores"], mine["expiry"])
        self.assertEqual((said["status"], said["skipped"]), (RELEASED, list(range(8))))
        self.assertEqual(host.locked(), {core: theirs["expiry"] for core in range(8)})

    @mixed(1, held={0: 40})
    def test_10_a_broken_file_is_an_empty_one(self, host, a):
        whole = host.store.text
        host.store.text = json.dumps({}) if isinstance(a, HoneClient) else whole[:-9]
        self.assertEqual(a.poll(8)["status"], WAITS)
        self.assertEqual(a.poll(8)["status"], ALLOCATED)

    def test_10_a_row_that_would_cost_everybody_their_locks_is_taken_out(self):
        bad = [{"entry_id": "x", "request_cores": 2, "enqueued_ts": 1},
               {"entry_id": "x", "request_cores": "2", "enqueued_ts": 1, "last_seen_ts": START},
               {"entry_id": "x", "request_cores": None, "enqueued_ts": 1, "last_seen_ts": START},
               ["no", "object"], None, 7]
        for row in bad:
            for kind in (4, 5):
                with self.subTest(row=row, kind=kind):
                    host = Host(held={0: 40}, queue=[row])
                    host.client("hone", "a").poll(2)
                    self.assertEqual(host.locked(), {0: START + 40})
                    b = host.client(kind, "b")
                    self.assertEqual(b.poll(8), {"status": WAITS, "position": 1})
                    self.assertEqual(host.locked(), {0: START + 40})

    @mixed(1, queue=OVERLAP)
    def test_11_regions_that_overlap_stop_everybody_until_one_goes(self, host, a):
        a.poll(2)
        self.assertEqual(a.poll(2)["status"], ERROR)
        self.assertEqual(host.locked(), {})
        host.now += 61
        a.poll(2)
        self.assertEqual(a.poll(2)["status"], ALLOCATED)

    @mixed(2, total=2, version=5, last_lnc_config_per_core={"0": 1, "1": 1})
    def test_12_cores_are_reset_unless_they_were_used_alike(self, host, a, b):
        for client, lnc, wanted in ((a, 2, True), (b, 2, False), (a, 1, True), (b, 1, False)):
            client.poll(2, lnc=lnc)
            got = client.poll(2, lnc=lnc)
            if 4 not in (getattr(a, "version", 5), getattr(b, "version", 5)):
                self.assertEqual(got["should_reset_cores"], wanted)
                self.assertEqual(host.data()["last_lnc_config_per_core"],
                                 {"0": lnc, "1": lnc})
            client.release(got["cores"], got["expiry"])

    def test_12_what_a_client_of_version_4_forgot_is_reset(self):
        host = Host(total=2, last_lnc_config_per_core={"0": 2, "1": 2})
        host.client(4, "old").poll(2)
        host.client(4, "old").dequeue()
        a = host.client("hone", "a")
        a.poll(2)
        self.assertTrue(a.poll(2)["should_reset_cores"])

    def test_12_what_is_used_in_a_way_not_known_is_not_remembered(self):
        host = Host(last_lnc_config_per_core={str(core): 2 for core in range(8)})
        a = host.client("hone", "a")
        a.poll(2, lnc=None)
        got = a.poll(2, lnc=None)
        self.assertTrue(got["should_reset_cores"])
        left = host.data()["last_lnc_config_per_core"]
        self.assertEqual(sorted(left), sorted(str(core) for core in range(8)
                                              if core not in got["cores"]))


class Manners(unittest.TestCase):
    """What the runner does and leaves, which a client of its own kind would not notice."""

    def test_a_client_of_version_2_may_take_what_was_kept_for_us(self):
        host = Host(total=2)
        a, old = host.client("hone", "a"), host.client(2, "old")
        a.poll(2)
        text = host.data()["queue"]
        got = old.acquire(2)
        host.store.text = json.dumps(dict(host.data(), queue=text))     # one that kept the queue
        self.assertEqual(got["status"], ALLOCATED)
        self.assertEqual(a.poll(2)["status"], WAITS)
        self.assertEqual(host.locked(), {0: START + 60, 1: START + 60})
        old.release(got["cores"], got["expiry"])
        self.assertEqual(a.poll(2)["re_enqueued"], True)                # it dropped the row
        self.assertEqual(a.poll(2)["status"], ALLOCATED)

    def test_a_core_that_is_locked_is_never_taken_again(self):
        """Our region is no lock where it lies in locks that still run: 500 random hosts."""
        chance = random.Random(7)
        for _ in range(500):
            held = {core: chance.randint(1, 50) for core in range(8) if chance.random() < 0.6}
            region = chance.choice([[0, 1], [2, 3], [4, 5], [6, 7]])
            host = Host(held=held, queue=[{
                "entry_id": "a", "request_cores": 2, "enqueued_ts": START, "ready": True,
                "last_seen_ts": START, "reserved_region": region}])
            before = host.locked()
            got = host.client("hone", "a").poll(2)
            after = host.locked()
            self.assertEqual({core: after.get(core) for core in before}, before)
            if got["status"] == ALLOCATED:
                self.assertTrue(set(before).isdisjoint(got["cores"]))

    def test_a_lock_is_made_longer_only_where_nobody_waits(self):
        rows = {"entry_id": "b", "request_cores": 2, "enqueued_ts": START, "last_seen_ts": START,
                "ready": True}
        for queue, drain, wanted in (
                ([], None, True), ([dict(rows, ready=False)], None, True),
                ([dict(rows, request_cores=16)], None, True),       # never served by anybody
                ([rows], None, True),                               # others are free
                ([dict(rows, reserved_region=[0, 1])], None, False),
                ([dict(rows, request_cores=8)], None, False),       # wants all
                ([dict(rows, reserved_region=[4, 5]), dict(rows, entry_id="c", request_cores=8)],
                 None, False),                                      # waits without a region
                ([], START + 9, False)):
            with self.subTest(queue=queue, drain=drain):
                more = {"draining_enabled_with_timeout": drain} if drain else {}
                host = Host(held={0: 20, 1: 20}, queue=queue, **more)
                until = host.client("hone", "a").extend([0, 1])
                self.assertEqual(until, START + 60 if wanted else 0)
                self.assertEqual(host.locked()[0], START + (60 if wanted else 20))

    def test_cores_that_do_not_serve_us_are_left_to_others(self):
        """The setting `cores`, or a process without a lock: only our own row obeys it."""
        host = Host(held={core: 40 for core in range(4, 8)})
        a, b = host.client("hone", "a"), host.client("hone", "b")
        a.serves = lambda block, held: block[0] >= 4
        a.poll(2)
        b.poll(2)
        self.assertEqual(a.poll(2)["status"], WAITS)
        self.assertTrue(set(host.region("a")) <= {4, 5, 6, 7})
        self.assertTrue(set(b.poll(2)["cores"]) <= {0, 1, 2, 3})
        host.store.text = host.store.text.replace(json.dumps(host.region("a")), "[0, 1]")
        self.assertEqual(a.poll(2)["status"], WAITS)
        self.assertTrue(set(host.region("a")) <= {4, 5, 6, 7})

    def test_who_cannot_be_served_by_any_lock_is_not_ready(self):
        host = Host()
        a, b = host.client("hone", "a"), host.client(4, "b")
        a.serves = lambda block, held: False
        for client in (a, b, a):
            client.poll(8)
        self.assertNotIn("ready", host.row("a"))
        self.assertEqual(b.poll(8)["status"], ALLOCATED)

    def test_members_that_are_not_known_survive(self):
        rows = [{"entry_id": "b", "request_cores": 2, "enqueued_ts": START, "last_seen_ts": START,
                 "ready": True, "colour": {"of": [1]}}]
        host = Host(queue=rows, other=[1], newer={"a": None})
        a = host.client("hone", "a")
        for _ in range(2):
            got = a.poll(2)
            self.assertEqual((host.data()["other"], host.data()["newer"]), ([1], {"a": None}))
            self.assertEqual(host.row("b")["colour"], {"of": [1]})
            self.assertEqual(host.data()["version"], 4)
        a.extend(got["cores"])
        a.release(got["cores"], got["expiry"])
        self.assertEqual((host.data()["other"], host.row("b")["colour"]), ([1], {"of": [1]}))

    def test_regions_are_read_and_written_under_both_names(self):
        row = {"request_cores": 2, "enqueued_ts": START, "last_seen_ts": START, "ready": True}
        host = Host(queue=[dict(row, entry_id="three", reserved_cores=[0, 1]),
                           dict(row, entry_id="both", reserved_cores=[0, 1],
                                reserved_region=[2, 3])])
        a = host.client("hone", "a")
        a.poll(4)
        a.poll(4)
        self.assertEqual(host.region("a") or sorted(host.locked()), [4, 5, 6, 7])
        host.now += 13
        host.client("hone", "c").poll(1)
        self.assertEqual(host.row("both")["reserved_cores"], host.row("both")["reserved_region"])

    def test_what_is_written_everybody_can_read(self):
        """Nonsense of every kind goes in. What comes out has whole numbers and every member."""
        nonsense = [None, True, -1, 1.5, math.nan, math.inf, 10**400, "", "7", [], {}, [1],
                    {"a": 1}]
        chance = random.Random(3)
        for _ in range(400):
            rows = [{name: chance.choice(nonsense + [START] * 20) for name in (
                "request_cores", "enqueued_ts", "last_seen_ts", "commit_deadline_ts", "ready",
                "reserved_region", "reserved_cores") if chance.random() < 0.9}
                for _ in range(4)]
            for row in rows:
                row["entry_id"] = chance.choice(["x", "y", "a"] + nonsense)
                row["reserved_region"] = chance.choice([[0, 1], [2], nonsense[5], [True], "x"])
            data = {"version": chance.choice(nonsense), "queue": rows + nonsense,
                    "draining_enabled_with_timeout": chance.choice(nonsense),
                    "last_lnc_config_per_core": chance.choice(nonsense),
                    "physical_neuron_cores_lock_timeout": chance.choice(nonsense + [{
                        "0": chance.choice(nonsense), "x": 1, "-1": 9, "\u0663": 2}])}
            host = Host()
            host.store.text = json.dumps(data)
            host.client("hone", "a").poll(2)
            self.check_sound(host.data())

    def check_sound(self, data):
        def is_whole(value):
            return isinstance(value, int) and not isinstance(value, bool)
        self.assertTrue(is_whole(data["version"]))
        for core, until in data["physical_neuron_cores_lock_timeout"].items():
            self.assertTrue(core.isdigit() and is_whole(until))
        for row in data.get("queue", []):
            self.assertIsInstance(row["entry_id"], str)
            for name in ("request_cores", "enqueued_ts", "last_seen_ts"):
                self.assertTrue(is_whole(row[name]), row)
            self.assertTrue(is_whole(row.get("commit_deadline_ts", 0)), row)
            self.assertTrue(all(is_whole(core) for core in row.get("reserved_region", [])), row)
        others.Table(json.dumps(data), 5).read(data)        # raises on what is malformed

    def test_events_tell_what_came_about(self):
        host = Host()
        a = host.client("hone", "a")
        a.poll(2)
        self.assertEqual(a.events[-1], ("ENQUEUE", {"entry_id": "a", "position": 0}))
        got = a.poll(2)
        self.assertEqual(a.events[-1], ("COMMIT", {"cores": got["cores"], "expiry": START + 60}))
        a.extend(got["cores"])
        a.release(got["cores"] + [9], START + 60)
        self.assertEqual(a.events, [("RELEASE", {"cores": got["cores"], "skipped": [9]})])
        a.poll(2)
        a.dequeue()
        self.assertEqual(a.events, [("DEQUEUE", {"entry_id": "a"})])


class Solver(unittest.TestCase):
    def solve(self, counts, held=None, taken=(), total=8):
        wants = [lock_solver.Want(count) for count in counts]
        return lock_solver.solve(wants, held or {}, set(taken), total)

    def test_the_earliest_block_is_given_and_ties_spare_free_cores(self):
        held = {0: 50, 1: 50, 2: 30, 4: 30, 5: 30, 6: 40, 7: 40}
        for _ in range(20):
            self.assertEqual(self.solve([2], held)[0], [[4, 5]])        # [2, 3] would idle core 3
            self.assertEqual(self.solve([1], held)[0], [[3]])

    def test_an_earlier_one_gives_way_where_it_costs_it_nothing(self):
        """Each alone would take any free pair. The second one needs four side by side."""
        for _ in range(50):
            found, over = self.solve([2, 4], {6: 50})
            self.assertEqual((found, over), ([[4, 5], [0, 1, 2, 3]], False))

    def test_ties_are_broken_by_chance(self):
        seen = {self.solve([2])[0][0][0] for _ in range(200)}
        self.assertEqual(seen, {0, 2, 4, 6})

    def test_one_that_cannot_be_served_stops_those_behind_it(self):
        for counts in ([9, 1], [0, 1], [-3, 1], [1 << 70, 1]):
            self.assertEqual(self.solve(counts)[0], [None, None])
        self.assertEqual(self.solve([8, 1])[0][1], None)
        self.assertEqual(self.solve([2, 1], taken=range(6))[0], [[6, 7], None])

    def test_it_comes_to_an_end_where_there_is_much_to_try(self):
        found, over = self.solve([3] * 40 + [64], {0: 9, 70: 9}, total=128)
        self.assertTrue(over)
        self.assertEqual([len(one) for one in found[:40]], [3] * 40)
        found, over = self.solve([1] * 300, total=512)
        self.assertTrue(over)
        self.assertEqual(len({one[0] for one in found}), 300)


if __name__ == "__main__":
    unittest.main()
