# SPDX-License-Identifier: Apache-2.0
"""The queue of the core lock, and what a client does with it each time it looks at it.

A client that looks at the queue first does what every client has to do, then what it wants for
itself. First come, first served: each ready row in turn is given a region. A free region has to be
taken within 12 s; for a locked one its client waits. A row is never put in the queue and served in
the same look, and a region is taken only when none of its cores is locked, no matter where its row
is in the queue. Source: aws-neuron/nki-library, test/utils/scripts/remote_lock_scripts.py, versions
4 and 5."""

from hone_runner import lock_solver, lock_state
from hone_runner.lock_state import DEADLINE, region_of, set_deadline, set_region, whole


class Ask:
    """What one client wants. entry_id: its row. count: physical cores. total: those of the host.
    lnc: how many make a logical one, None unknown. serves(block, held): None, or says which blocks
    it can use; it leaves the other blocks to others."""

    def __init__(self, entry_id, count, total, lnc, serves=None):
        self.entry_id, self.count, self.total, self.lnc = entry_id, count, total, lnc
        self.serves = serves

    def fits(self, state):
        return (lambda block: self.serves(block, state.held)) if self.serves else None


class Answer:
    """The result of a look. position: in the queue, from 0. cores, expiry, reset: when they were
    taken. drains: until when the host drains, or 0. new: the row was not there before. torn: the
    regions of other clients overlap, and everybody waits until one of these clients is gone."""

    def __init__(self, position, drains, new=False):
        self.position, self.drains, self.new = position, drains, new
        self.cores, self.expiry, self.reset, self.torn = None, 0, True, False


# ------------------------------------------------------------------------------- what all do


def forget(state, now):
    """Removes locks that expired and rows of clients that are gone."""
    state.held = {core: until for core, until in state.held.items() if until > now}
    for row in [row for row in state.queue if now - row["last_seen_ts"] > lock_state.STALE_S]:
        state.queue.remove(row)
        state.say("PRUNE", entry_id=row["entry_id"])


def deadline_passed(row, now):
    until = whole(row.get(DEADLINE))
    return until and now > until


def expire(state, now):
    """Takes back regions that were not used in time; their rows keep their places. Removes rows
    that did not become ready in time."""
    for row in list(state.queue):
        if not deadline_passed(row, now):
            continue
        set_deadline(row, None)
        if region_of(row):
            set_region(row, None)
            state.say("RESERVE_EXPIRED", entry_id=row["entry_id"])
        elif not row.get("ready"):
            state.queue.remove(row)
            state.queue.append(row)
            state.say("BUMP", entry_id=row["entry_id"])


def want_of(row, state, ask):
    mine = ask.entry_id == row["entry_id"]
    fits = ask.fits(state) if mine else None
    return lock_solver.Want(row["request_cores"], fits, may_skip=fits is not None)


def share_out(state, now, ask):
    """Gives a region to each ready row that has none."""
    rows = [row for row in state.queue if row.get("ready") and not region_of(row)]
    wants = [want_of(row, state, ask) for row in rows]
    found, over = lock_solver.solve(wants, state.held, state.regions(), ask.total)
    if over:
        state.say("SOLVER_OVERFLOW", reason="caps", queue_len=len(rows),
                  nodes=lock_solver.NODE_CAP)
    for row, region in zip(rows, found):
        set_deadline(row, None)
        if region:
            set_region(row, region)
            state.say("RESERVE", entry_id=row["entry_id"], cores=region,
                      assembly_ts=max([state.held.get(core, now) for core in region]))


def settle(state, now):
    """Removes regions that no longer belong to their row. The others stay; for those that can be
    taken now the time limit runs."""
    for row in state.queue:
        region = region_of(row)
        if not region:
            continue
        if not row.get("ready") or len(region) != row["request_cores"]:
            set_region(row, None)
            set_deadline(row, None)
        elif any(core in state.held for core in region):
            set_deadline(row, None)
        elif not whole(row.get(DEADLINE)):
            set_deadline(row, now + lock_state.COMMIT_S)


def grace(state, now, ask):
    """A row that could be served but is not ready gets some time to become ready."""
    taken = set(state.held) | state.regions()
    for row in state.queue:
        if row.get("ready") or whole(row.get(DEADLINE)):
            continue
        fits = want_of(row, state, ask).fits
        if any(taken.isdisjoint(block) and (fits is None or fits(block))
               for block in lock_solver.blocks(row["request_cores"], ask.total)):
            set_deadline(row, now + lock_state.COMMIT_S)


def leave_unfit(state, ask):
    """Gives up our own region, which another client chose for us, if we cannot use it or it
    overlaps another one."""
    row = state.place(ask.entry_id)
    region = region_of(row) if row else []
    fits = ask.fits(state)
    if region and (not state.regions(but=row).isdisjoint(region) or fits and not fits(region)):
        set_region(row, None)
        set_deadline(row, None)


def reconcile(state, now, ask):
    """Brings the state up to date, as every client does that looks at it."""
    forget(state, now)
    if state.drains_until(now):
        for row in state.queue:
            if deadline_passed(row, now):
                set_deadline(row, None)
        return
    expire(state, now)
    leave_unfit(state, ask)
    if state.is_torn():
        return
    share_out(state, now, ask)
    settle(state, now)
    grace(state, now, ask)


# --------------------------------------------------------------------------------- one client


def could_serve(state, ask):
    """False while something outside the lock (a process on the cores) blocks all blocks for us.
    Then others may go first."""
    fits = ask.fits(state)
    return any(fits is None or fits(block) for block in lock_solver.blocks(ask.count, ask.total))


def poll(state, now, ask):
    """One look of a client: makes its row, or keeps it, or takes its region."""
    forget(state, now)
    ready = could_serve(state, ask)
    row = state.place(ask.entry_id)
    if row is not None:
        row["request_cores"] = ask.count
        set_ready(row, ready)
    reconcile(state, now, ask)
    row = state.place(ask.entry_id)
    if row is None:
        return enqueue(state, now, ask, ready)
    row["last_seen_ts"] = now
    answer = Answer(state.queue.index(row), state.drains_until(now))
    answer.torn = state.is_torn()
    region = region_of(row)
    if not answer.drains and not answer.torn and ready and region \
            and state.regions(but=row).isdisjoint(region) \
            and not any(core in state.held for core in region):
        answer.cores = region
        answer.expiry, answer.reset = state.commit(row, now, ask.lnc)
    return answer


def set_ready(row, ready):
    """A mark: present or absent."""
    row.pop("ready", None)
    if ready:
        row["ready"] = True


def enqueue(state, now, ask, ready):
    row = {"entry_id": ask.entry_id, "request_cores": ask.count, "enqueued_ts": now,
           "last_seen_ts": now}
    set_ready(row, ready)
    state.queue.append(row)
    answer = Answer(len(state.queue) - 1, state.drains_until(now), new=True)
    state.say("ENQUEUE", entry_id=ask.entry_id, position=answer.position)
    return answer


def is_wanted(state, cores, total):
    """Whether a client waits for these cores, or for any cores. Then a lock is not extended."""
    if not state.regions().isdisjoint(cores):
        return True
    return any(row.get("ready") and not region_of(row) and 0 < row["request_cores"] <= total
               for row in state.queue)


def extend(state, now, cores, total):
    """Extends a held lock to the length of a new one. Returns its expiry; 0 if the host is being
    drained or somebody waits."""
    reconcile(state, now, Ask(None, 0, total, None))
    if state.drains_until(now) or state.is_torn() or is_wanted(state, cores, total):
        return 0
    until = now + lock_state.HOLD_S
    state.held.update({core: until for core in cores})
    state.say("EXTEND", cores=list(cores), expiry=until)
    return until
