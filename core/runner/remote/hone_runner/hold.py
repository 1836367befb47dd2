# SPDX-License-Identifier: Apache-2.0
"""Cores that are ours for now, and for how long.

A lock lasts 60 s. Work that takes longer is done in pieces: before each the cores are ours for long
enough, else they are given back and asked for anew at the end of the queue. Where nobody waits and
the host does not drain, the lock is made longer instead: between pieces up to TURN_S after it was
taken, since clients without a queue wait unseen, and within a piece up to the limit of its stage.
What is still on a core when its lock is about to end is ended."""

import contextlib
import time

from hone_runner import allowed, folder as folders, lock_queue, lock_state

EXEC_TIMEOUT_S = 30         # a kernel that runs longer hangs (NEURON_RT_EXEC_TIMEOUT)
LEAVE_S = 4.0               # before the lock ends the cores are left: a stage goes in 3 s
RENEW_S = 30.0              # a stage at work tries for a longer lock when less is left
TURN_S = 300.0
LEAST_S = 5.0               # no piece of work is begun with less


class TimeUp(folders.Refused):
    """The lock of the cores ended before the work on them did."""


class Held:
    """logical, physical: ids. lnc: of the host's logical cores. expiry: of the lock, None without
    one. lost: why they are not ours any more, or None. reset: whether they have to be reset before
    use. waited: seconds in which they were not ours, since they were first taken."""

    def __init__(self, taker, lnc):
        self.taker, self.lnc = taker, lnc
        self.logical, self.physical, self.expiry = [], [], None
        self.lost, self.reset, self.waited = None, True, 0.0
        self.taken = self.longest = 0.0
        self.at_work = False

    def put(self, physical, expiry, reset):
        self.physical, self.expiry, self.reset = physical, expiry, reset
        self.logical = sorted({core // self.lnc for core in physical})
        self.taken = time.monotonic()

    def text(self):
        return ",".join(str(core) for core in self.logical)

    def variables(self):
        """The variables that a process on these cores needs. Cores are always reset: a process
        that was killed on them may have left them busy, whatever its lnc was."""
        return {"NEURON_RT_VISIBLE_CORES": self.text(), "NEURON_RT_NUM_CORES": None,
                "NEURON_LOGICAL_NC_CONFIG": str(self.lnc), "NEURON_RT_RESET_CORES": "1",
                "NEURON_RT_EXEC_TIMEOUT": str(EXEC_TIMEOUT_S)}

    # ------------------------------------------------------------------------------ the time

    def leave_at(self):
        """The time at which the cores have to be left; infinite without a lock."""
        return float("inf") if self.expiry is None else self.expiry - LEAVE_S

    def left(self):
        return self.leave_at() - time.time()

    def over(self):
        return self.left() <= 0

    def turn(self, fresh=False):
        """Before a piece of work: the cores are ours for as long as the longest piece so far took,
        and half as much again; fresh: for as long as can be. They may be others afterwards, so the
        variables of what runs on them are made after this."""
        if self.lost:
            raise folders.Refused(self.lost)
        wanted = min(max(1.5 * self.longest, LEAST_S), lock_state.HOLD_S - LEAVE_S - 1)
        if self.expiry is None or self.left() >= wanted and not fresh:
            return
        if time.monotonic() - self.taken < TURN_S and self.extend():
            return
        if self.lost:
            raise folders.Refused(self.lost)
        before, began = self.text(), time.monotonic()
        self.taker.again()
        self.waited += time.monotonic() - began
        if self.text() != before:
            self.taker.context.events.log("going on with core %s instead of %s"
                                          % (self.text(), before))

    def piece(self, call):
        """A piece of work: call() while the cores are ours; when their lock ends in the middle, all
        of it again with as long a lock as there is."""
        self.turn()
        try:
            return call()
        except TimeUp as up:
            self.taker.context.events.log("%s; it is done again" % up, "warning")
        self.turn(fresh=True)
        try:
            return call()
        except TimeUp as up:
            raise TimeUp(
                "%s. In one piece it takes longer than the %d s of a lock, which is made longer "
                "only while nobody else waits: evaluate when the host is less busy"
                % (up, lock_state.HOLD_S))

    @contextlib.contextmanager
    def used(self):
        """While a stage is on the cores."""
        began, self.at_work = time.monotonic(), True
        try:
            yield
        finally:
            self.at_work = False
            self.longest = max(self.longest, time.monotonic() - began)
            self.look()

    # ------------------------------------------------------------------------------ the lock

    def look(self):
        """Whether the lock is still the one that was taken."""
        if self.expiry is None or self.lost:
            return
        try:
            with self.taker.lock.state(1.0, write=False) as state:
                if state is not None:
                    self.check(state)
        except folders.Refused:
            pass                    # looked at again when they are given back

    def check(self, state):
        """Notes that another client took the cores before our lock ended."""
        others = [core for core in self.physical if state.held.get(core) != self.expiry]
        if others and self.expiry is not None and time.time() < self.expiry:
            cores = allowed.ranges({core // self.lnc for core in others})
            self.lost = "another program took the lock of core %s" % cores
        return self.lost is None

    def extend(self, wait_s=5.0):
        """Makes the lock longer where that harms nobody. Returns whether it did."""
        with self.taker.lock.state(wait_s) as state:
            if state is None or not self.check(state) or time.time() >= self.expiry:
                return False
            until = lock_queue.extend(state, int(time.time()), self.physical, self.taker.total)
            if until:
                self.expiry = until
                self.taker.remember()
            return bool(until)

    def renew(self):
        """From the heart beat, so it never waits: a stage at work keeps its cores where it may."""
        if not self.at_work or self.expiry is None or self.lost or self.left() > RENEW_S:
            return
        try:
            self.extend(0.0)
        except folders.Refused:
            pass                    # tried again with the next beat
