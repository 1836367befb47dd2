# SPDX-License-Identifier: Apache-2.0
"""Taking cores for a while, through the lock that users of a shared host agreed on, and never cores
that another process holds. The runner never ends a process to get a core: it waits, and says who
holds the core."""

import contextlib
import getpass
import os
import random
import time
import uuid

from hone_runner import (allowed, folder as folders, hold, lock as locks, lock_queue, lock_solver,
                         lock_state)

LOOK_S = 5.0                # between two looks at the devices while waiting
POLL_S = 5.0                # between two looks at the lock, up to a tenth less by chance
NEAR_S, NEAR = 1.0, 1       # the first two of the queue look more often
SOON_S = 0.1                # nobody is before us: the second look, at which cores can be taken
SAY_S = 30.0                # between two lines about the same wait


class Waiting:
    """The lines that are logged while cores are not free."""

    def __init__(self, events):
        self.events, self.began, self.said, self.text = events, None, 0.0, ""

    def say(self, text):
        now = time.monotonic()
        if self.began is None:
            self.began = now
            self.events.emit("phase", name="wait", seconds=None)
        if text != self.text and now - self.said > 2 * NEAR_S or now - self.said > SAY_S:
            self.said, self.text = now, text
            self.events.log("waiting for a NeuronCore: " + text)

    def over(self):
        if self.began is not None:
            self.events.emit("phase", name="wait", seconds=round(time.monotonic() - self.began, 6))
            self.began = None


class Taker:
    """Takes `count` logical cores, and takes them again when their time is up. lnc: physical cores
    of each, None if not known. held: the hold.Held."""

    def __init__(self, context, count, lnc, wait_s):
        self.context, self.count, self.lnc, self.wait_s = context, count, lnc, wait_s
        self.devices = context.environment.devices
        self.waiting = Waiting(context.events)
        self.looked = time.monotonic()
        self.allowed = self.allowed_cores()
        self.size, self.total = count * self.devices.lnc, self.devices.total
        self.lock = self.make_lock()
        self.entry, self.queued, self.pause_s, self.why = None, False, SOON_S, ""
        self.held = hold.Held(self, self.devices.lnc)

    def allowed_cores(self):
        """The logical cores that the setting `cores` allows."""
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
        made.prepare()
        return made

    # --------------------------------------------------------------------------- which serve

    def serves(self, block, held):
        """Whether a block of physical cores is made of whole logical cores that we may use. No
        process may be on them but the one that holds the lock there."""
        lnc = self.devices.lnc
        if block[0] % lnc or any(core in self.devices.holders and core not in held
                                 for core in block):
            return False
        return all(core // lnc in self.allowed for core in block)

    def look(self):
        """A fresh look at the devices, when the last one is some seconds old."""
        if time.monotonic() - self.looked > LOOK_S:
            self.devices.look()
            self.looked = time.monotonic()

    # ------------------------------------------------------------------------------- waiting

    def take(self):
        """Waits for the cores and puts them into `held`."""
        deadline = time.monotonic() + self.wait_s
        while not self.ask():
            if self.context.control:
                self.context.control.tick()
            if time.monotonic() > deadline:
                raise folders.Refused("no NeuronCore became free in %d s: %s; set cores to others, "
                                      "or wait longer (wait_limit_s)" % (self.wait_s, self.why))
            time.sleep(min(self.pause_s, max(self.wait_s / 10, 0.01)))
            self.look()
        self.waiting.over()
        if self.context.control:
            self.context.control.holds(self.held.text())

    def again(self):
        """Gives the cores back and waits for such cores again."""
        self.leave()
        self.take()

    def ask(self):
        """One try: whether the cores are ours now."""
        if self.lock is None:
            return self.ask_devices()
        self.entry = self.entry or "hone-%s" % uuid.uuid4().hex
        with self.lock.state() as state:
            if state is None:
                self.wait("another program holds the core lock in %s" % self.lock.folder, NEAR_S)
                return False
            now = int(time.time())
            ask = lock_queue.Ask(self.entry, self.size, self.total, self.lnc, self.serves)
            answer = lock_queue.poll(state, now, ask)
            if answer.cores:
                self.held.put(answer.cores, answer.expiry, answer.reset)
                self.entry, self.queued = None, False
            if answer.cores or answer.new:
                self.remember()                 # before it stands there for all
        if not answer.cores:
            self.told(answer, state, now)
        return bool(answer.cores)

    def ask_devices(self):
        """Without a lock: cores on which no process is."""
        block = next((one for one in lock_solver.blocks(self.size, self.total)
                      if self.serves(one, ())), None)
        if block is None:
            self.wait(self.who(), NEAR_S)
            return False
        self.held.put(block, None, True)
        return True

    def told(self, answer, state, now):
        """Decides from a look that gave no cores when to look next."""
        if answer.new and self.queued:
            self.context.events.log("our place in the queue of the core lock is gone (we did not "
                                    "renew it for a minute, or an older client wrote the file); we "
                                    "are at the end of the queue again", "warning")
        self.queued = True
        if answer.new and not answer.position and not answer.drains:
            self.pause_s = SOON_S           # usually it is ours by then: nothing to say
            self.why = self.who(state)
            return
        near = answer.position <= NEAR and not answer.drains
        self.wait(self.reason(answer, state, now),
                  NEAR_S if near else POLL_S * random.uniform(0.9, 1))

    def wait(self, why, pause_s):
        self.why, self.pause_s = why, min(pause_s, POLL_S)
        self.waiting.say(why)

    def reason(self, answer, state, now):
        if answer.drains:
            return "the host is being drained for %d s more" % (answer.drains - now)
        if answer.torn:
            return "two programs keep the same core in the queue of the core lock; the one that " \
                "went is forgotten within a minute"
        ahead = "; %d before us in the queue" % answer.position if answer.position else ""
        return self.who(state) + ahead

    def who(self, state=None):
        """A sentence that says who holds the cores that we may use."""
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

    # --------------------------------------------------------------------------- giving back

    def remember(self):
        """Writes down which cores are ours. If this process is killed, the next one reads it and
        frees them."""
        if self.context.control:
            self.context.control.has_lock({
                "folder": self.lock.folder, "entry": self.entry or "",
                "cores": self.held.physical, "expiry": self.held.expiry})

    def leave(self):
        """Gives back the lock and the place in the queue, so that nobody has to wait until they
        expire."""
        if self.context.control:
            self.context.control.holds("")
        if self.lock is None or self.entry is None and self.held.expiry is None:
            return
        with self.lock.state() as state:
            if state is None:
                return                          # it expires by itself
            self.held.check(state)
            give_back(state, self.entry, self.held.physical, self.held.expiry)
        self.entry, self.queued, self.held.expiry = None, False, None
        if self.context.control:
            self.context.control.has_lock(None)

    def leave_surely(self):
        """At the end, also when the job is cancelled before it. If the lock cannot be written any
        more, the results stay: the lock expires by itself."""
        try:
            self.leave()
        except folders.Refused as problem:
            self.context.events.log(str(problem), "warning")
        except BaseException:
            self.leave()
            raise


def give_back(state, entry, cores, expiry):
    if expiry is not None:
        state.release(cores, expiry)
    if entry:
        state.dequeue(entry)


def let_go(memo, host):
    """Gives back the cores of a job that was killed, as its state names them. host: where it
    ran."""
    if not isinstance(memo, dict) or host != os.uname().nodename:
        return
    folder, entry = memo.get("folder"), memo.get("entry")
    cores = lock_state.core_list(memo.get("cores"))
    expiry = lock_state.whole(memo.get("expiry"), None)
    if not isinstance(folder, str) or not os.path.isdir(folder):
        return
    try:
        with locks.Lock(folder, "hone:%s" % user()).state(5.0) as state:
            if state is not None:
                give_back(state, entry if isinstance(entry, str) else "", cores, expiry)
    except folders.Refused:
        pass                        # it expires by itself


def user():
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


@contextlib.contextmanager
def take(context, count, lnc, wait_s):
    """Takes `count` logical cores for the body: hold.Held. Raises folder.Refused when they cannot
    be had, also at the end when they were lost in between: measurements from that time cannot be
    trusted."""
    taker = Taker(context, count, lnc, wait_s)
    control = context.control
    try:
        taker.take()
        if control and taker.lock:
            control.periodic.append(taker.held.renew)
        yield taker.held
    finally:
        if control:
            control.periodic.clear()
        taker.leave_surely()
    if taker.held.lost:
        raise folders.Refused(taker.held.lost + " while it was in use; evaluate again")
