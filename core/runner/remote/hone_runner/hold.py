# SPDX-License-Identifier: Apache-2.0
"""Cores that are ours for now, and for how long.

A lock lasts 60 s. Work that takes longer is done in pieces: before each piece we make sure that the
lock lasts long enough, or else give the cores back and wait for them again at the end of the queue.
If nobody waits and the host is not being drained, the lock is extended instead: between pieces up
to TURN_S after it was taken, because clients without a queue wait unseen, and within a piece up to
the limit of its stage. A process that is still on a core when the lock is about to end is ended."""

import contextlib
import time

from hone_runner import allowed, folder as folders, lock_queue, lock_state

EXEC_TIMEOUT_S = 30         # a kernel that runs longer hangs (NEURON_RT_EXEC_TIMEOUT)
LEAVE_S = 4.0               # before the lock ends the cores are left: a stage goes in 3 s
RENEW_S = 30.0              # a running stage tries to extend the lock when less than this is left
TURN_S = 300.0
LEAST_S = 5.0               # no piece of work begins with less than this


class TimeUp(folders.Refused):
    """The lock of the cores ended before the work on them did."""


class Held:
    """logical, physical: ids. lnc: of the host's logical cores. expiry: of the lock, None without
    one. lost: why we no longer hold them, or None. reset: whether they have to be reset before use.
    waited: seconds without the cores, since they were first taken."""

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
        """The variables that a process on these cores needs. Cores are always reset: a process that
        was killed on them may have left them busy, no matter what its lnc was."""
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
        """Called before a piece of work. Makes sure that we hold the cores for one and a half times
        the longest piece so far; fresh: for as long as possible. Afterwards they may be other
        cores, so make the variables of what runs on them after this."""
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
        """A piece of work: runs call() while we hold the cores. If their lock ends in the middle,
        repeats it with the longest possible lock."""
        self.turn()
        try:
            return call()
        except TimeUp as up:
            self.taker.context.events.log("%s; repeating it" % up, "warning")
        self.turn(fresh=True)
        try:
            return call()
        except TimeUp as up:
            raise TimeUp(
                "%s. In one piece it takes longer than the %d s of a lock, which is extended only "
                "while nobody else waits: evaluate when the host is less busy"
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
            pass                    # checked again when they are given back

    def check(self, state):
        """Notices when another client took the cores before our lock ended."""
        others = [core for core in self.physical if state.held.get(core) != self.expiry]
        if others and self.expiry is not None and time.time() < self.expiry:
            cores = allowed.ranges({core // self.lnc for core in others})
            self.lost = "another program took the lock of core %s" % cores
        return self.lost is None

    def extend(self, wait_s=5.0):
        """Extends the lock if that harms nobody. Returns whether it did."""
        with self.taker.lock.state(wait_s) as state:
            if state is None or not self.check(state) or time.time() >= self.expiry:
                return False
            until = lock_queue.extend(state, int(time.time()), self.physical, self.taker.total)
            if until:
                self.expiry = until
                self.taker.remember()
            return bool(until)

    def renew(self):
        """Called by the heart beat, so it never waits. It keeps the cores for a running stage, if
        that is allowed."""
        if not self.at_work or self.expiry is None or self.lost or self.left() > RENEW_S:
            return
        try:
            self.extend(0.0)
        except folders.Refused:
            pass                    # tried again with the next beat
