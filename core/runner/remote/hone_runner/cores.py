# SPDX-License-Identifier: Apache-2.0
"""Taking cores for a while: through the lock that users of a shared host agreed on, and never those
that another process holds. Nobody is ever ended for a core; one waits and says for whom."""

import contextlib
import getpass
import os
import time
import uuid

from hone_runner import allowed, folder as folders, lock as locks

LOOK_S = 5.0                # between two looks at the devices while waiting
POLL_S = 1.0                # between two looks at the lock
SAY_S = 30.0                # between two lines about the same wait
EXEC_TIMEOUT_S = 30         # a kernel that runs longer hangs (NEURON_RT_EXEC_TIMEOUT)


class Held:
    """Cores that are ours for now. logical, physical: ids. lost: why they are not any more, or
    None."""

    def __init__(self, logical, physical, lnc):
        self.logical, self.physical, self.lnc = logical, physical, lnc
        self.lost = None

    def text(self):
        return ",".join(str(core) for core in self.logical)

    def variables(self):
        """What a process that uses them needs in its environment. Cores are reset: one that another
        setting of lnc left behind does not work otherwise."""
        return {"NEURON_RT_VISIBLE_CORES": self.text(), "NEURON_RT_NUM_CORES": None,
                "NEURON_LOGICAL_NC_CONFIG": str(self.lnc), "NEURON_RT_RESET_CORES": "1",
                "NEURON_RT_EXEC_TIMEOUT": str(EXEC_TIMEOUT_S)}


class Waiting:
    """What is said while cores are not free."""

    def __init__(self, events):
        self.events, self.began, self.said, self.text = events, None, 0.0, ""

    def say(self, text):
        now = time.monotonic()
        if self.began is None:
            self.began = now
            self.events.emit("phase", name="wait", seconds=None)
        if text != self.text and now - self.said > 2 * POLL_S or now - self.said > SAY_S:
            self.said, self.text = now, text
            self.events.log("waiting for a NeuronCore: " + text)

    def over(self):
        if self.began is not None:
            self.events.emit("phase", name="wait", seconds=round(time.monotonic() - self.began, 6))
            self.began = None


class Taker:
    """One attempt to take `count` logical cores."""

    def __init__(self, context, count):
        self.context, self.count = context, count
        self.devices = context.environment.devices
        self.waiting = Waiting(context.events)
        self.looked = time.monotonic()
        self.allowed = self.allowed_cores()
        self.lock = self.make_lock()
        self.entry = "hone-%s" % uuid.uuid4().hex

    def allowed_cores(self):
        """The logical cores that the setting `cores` leaves us."""
        there = self.devices.logical()
        if not there:
            raise folders.Refused("this host has no NeuronCore that can be seen%s; is the driver "
                                  "loaded (sudo modprobe neuron)? `hone host doctor` tells more"
                                  % "".join(" (%s)" % one for one in self.devices.warnings[:1]))
        return allowed.enough(self.context.settings.get("cores", "").strip(), there, self.count)

    def make_lock(self):
        kind = self.context.settings.get("lock", "").strip() or "nki-library"
        if kind == "none":
            return None
        if kind != "nki-library":
            raise folders.Refused("the setting lock = %s must be nki-library or none" % kind,
                                  "usage")
        folder = self.context.settings.get("lock_folder") or os.environ.get("HONE_LOCK_FOLDER")
        made = locks.Lock(folder, "hone:%s:%s" % (user(), self.context.folder.id))
        try:
            made.prepare()
        except locks.Unusable as problem:
            raise folders.Refused(str(problem))
        return made

    def is_free(self, physical):
        """Whether a block is whole logical cores that we may use and nobody holds."""
        lnc = self.devices.lnc
        if physical[0] % lnc or any(core in self.devices.holders for core in physical):
            return False
        return all(core // lnc in self.allowed for core in physical)

    def look(self):
        """A fresh look at the devices, when the last one is some seconds old."""
        if time.monotonic() - self.looked > LOOK_S:
            self.devices.look()
            self.looked = time.monotonic()

    def take(self, wait_s):
        """Waits for the cores: Held."""
        deadline = time.monotonic() + wait_s
        while True:
            block, why = self.ask()
            if block:
                return self.got(block)
            self.waiting.say(why)
            if self.context.control:
                self.context.control.tick()
            if time.monotonic() > deadline:
                raise folders.Refused("no NeuronCore became free in %d s: %s; set cores to others, "
                                      "or wait longer (wait_limit_s)" % (wait_s, why))
            time.sleep(min(POLL_S, max(wait_s / 10, 0.01)))
            self.look()

    def ask(self):
        """(block of physical cores, None) or (None, why there is none)."""
        if self.lock is None:
            free = set(self.devices.device_of)
            block = locks.find_block(free, self.count * self.devices.lnc, self.devices.total,
                                     self.is_free)
            return block, self.who() if block is None else None
        with self.lock.state() as state:
            if state is None:
                return None, "another program holds the core lock in %s" % self.lock.folder
            return self.ask_state(state, int(time.time()))

    def ask_state(self, state, now):
        row = state.place(self.entry)
        if row is None:
            row = {"entry_id": self.entry, "enqueued_ts": now}
            state.queue.append(row)
        row.update(request_cores=self.count * self.devices.lnc, last_seen_ts=now,
                   ready=self.could_be_free())
        state.tidy(now)
        mine = locks.blocks_of(row)
        if mine and not self.is_free(mine):
            locks.set_block(row, [], None)
        state.share_out(now, self.devices.total,
                        lambda other, block: other is not row or self.is_free(block))
        until = state.drains_until(now)
        if until:
            return None, "the host is being drained for %d s more" % (until - now)
        mine = locks.blocks_of(row)
        if not mine:
            ahead = state.queue.index(row)
            return None, self.who(state) + ("; %d before us in the queue" % ahead if ahead else "")
        state.queue.remove(row)
        self.expiry = now + locks.HOLD_S
        state.held.update({core: self.expiry for core in mine})
        self.lock.log("COMMIT", cores=mine, expiry=self.expiry)
        return mine, None

    def could_be_free(self):
        """False while processes without a lock hold all we may use: then we let others pass."""
        size = self.count * self.devices.lnc
        return locks.find_block(set(self.devices.device_of), size, self.devices.total,
                                self.is_free) is not None

    def who(self, state=None):
        """Who holds what we may use, as a sentence."""
        holders = {}
        for core in sorted(self.allowed):
            held = self.devices.holder(core)
            if held:
                holders.setdefault("held by " + held.text(), []).append(core)
        if state is not None:
            callers = self.lock.callers()
            for physical in sorted(state.held):
                core = physical // self.devices.lnc
                if core in self.allowed and not self.devices.holder(core):
                    text = "locked by %s" % (callers.get(physical) or "another user")
                    if core not in holders.setdefault(text, []):
                        holders[text].append(core)
        rows = ["core %s %s" % (",".join(str(core) for core in held), text)
                for text, held in list(holders.items())[:4]]
        return "; ".join(rows) or "no %d cores side by side are free" % self.count

    def got(self, block):
        self.waiting.over()
        lnc = self.devices.lnc
        held = Held(sorted({core // lnc for core in block}), block, lnc)
        control = self.context.control
        if control:
            control.holds(held.text())
            if self.lock:
                control.periodic.append(lambda: self.renew(held, 0.0))
        return held

    def renew(self, held, wait_s):
        """Keeps the lock while it is ours. Called from the heart beat, so it never waits there."""
        if self.lock.inside or self.expiry - time.time() > locks.RENEW_S or held.lost:
            return
        try:
            with self.lock.state(wait_s) as state:
                if state is None:
                    return
                if any(state.held.get(core) != self.expiry for core in held.physical):
                    held.lost = "another program took the lock of core %s" % held.text()
                    return
                self.expiry = int(time.time()) + locks.HOLD_S
                state.held.update({core: self.expiry for core in held.physical})
        except OSError:
            pass                    # tried again with the next beat

    def give_back(self, held):
        control = self.context.control
        if control:
            control.periodic.clear()
            control.holds("")
        if held is None or self.lock is None:
            return
        with self.lock.state() as state:
            if state is not None:
                mine = [core for core in held.physical if state.held.get(core) == self.expiry]
                for core in mine:
                    del state.held[core]
                self.lock.log("RELEASE", cores=mine)

    def leave_queue(self):
        """We wait no longer; the next one need not find that out by time."""
        if self.lock is None:
            return
        with self.lock.state() as state:
            row = state.place(self.entry) if state is not None else None
            if row is not None:
                state.queue.remove(row)


def user():
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


@contextlib.contextmanager
def take(context, count, wait_s):
    """Takes `count` logical cores for the body: Held. Raises folder.Refused when they cannot be
    had, also at the end when they were lost in between: what was measured is not to be trusted."""
    taker = Taker(context, count)
    try:
        held = taker.take(wait_s)
    except BaseException:
        taker.leave_queue()
        raise
    try:
        yield held
    finally:
        taker.give_back(held)
    if held.lost:
        raise folders.Refused(held.lost + " while it was in use; evaluate again")
