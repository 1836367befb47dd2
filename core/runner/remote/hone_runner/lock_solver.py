# SPDX-License-Identifier: Apache-2.0
"""Decides which cores each waiting client gets: side by side, beginning at a multiple of their
number, and in nobody else's region. The cores may still be locked; then the client waits until the
last of them is free.

In the order of the queue, each client gets its cores as early as possible without delaying an
earlier one. Between equal choices the one that leaves the fewest free cores idle wins; after that
chance decides. If there are too many choices to try, each client gets what is best for it alone."""

import random

NODE_CAP, DEPTH_CAP = 5000, 256


class Want:
    """count: physical cores. fits(block): None, or which blocks serve. may_skip: if it gets none,
    those behind it need not wait, because its obstacle is not theirs."""

    def __init__(self, count, fits=None, may_skip=False):
        self.count, self.fits, self.may_skip = count, fits, may_skip


class Option:
    """A block that a want could get. at: when its last lock ends, 0 for free. idle: free cores that
    would wait for it."""

    def __init__(self, cores, held):
        self.cores = cores
        self.mask = ((1 << len(cores)) - 1) << cores[0]
        locked = [held[core] for core in cores if core in held]
        self.at = max(locked, default=0)
        self.idle = len(cores) - len(locked) if locked else 0


def blocks(count, total):
    """All places for that many cores side by side."""
    if count <= 0:
        return []
    return [list(range(start, start + count)) for start in range(0, total - count + 1, count)]


class Search:
    """One search. best: (when each client gets its cores, idle cores); chosen: the blocks that go
    with it."""

    def __init__(self, wants, held, total):
        self.wants = wants
        self.options = [[Option(block, held) for block in blocks(want.count, total)
                         if want.fits is None or want.fits(block)] for want in wants]
        self.best, self.chosen = None, [None] * len(wants)
        self.nodes, self.ideal, self.over = 0, None, False

    def run(self, taken):
        """Blocks for the wants, None for a want that gets none; and whether some choices were not
        tried."""
        mask = sum(1 << core for core in taken)
        self.ideal = self.ideal_for(mask)
        self.over = len(self.wants) > DEPTH_CAP
        if self.over:
            self.greedy(mask)
        else:
            self.descend(mask, [])
        return [option.cores if option else None for option in self.chosen], self.over

    def choices(self, index, taken):
        """The options that are best for a want, the one with the fewest idle cores first."""
        there = [one for one in self.options[index] if not one.mask & taken]
        early = min((one.at for one in there), default=0)
        there = [one for one in there if one.at == early]
        random.shuffle(there)
        return sorted(there, key=lambda one: one.idle)

    def ideal_for(self, taken):
        """The cost if no want blocked another."""
        firsts = [next(iter(self.choices(index, taken)), None) for index in range(len(self.wants))]
        return self.cost(firsts)

    @staticmethod
    def cost(chosen):
        return ([one.at if one else float("inf") for one in chosen],
                sum(one.idle for one in chosen if one))

    def greedy(self, taken):
        for index in range(len(self.wants)):
            found = next(iter(self.choices(index, taken)), None)
            if found is None and not self.wants[index].may_skip:
                return
            self.chosen[index] = found
            taken |= found.mask if found else 0

    def descend(self, taken, path):
        """Tries all continuations of a path of options; False when no further search is needed."""
        self.nodes += 1
        if self.nodes > NODE_CAP:
            self.over = True
            return False
        if len(path) == len(self.wants):
            return self.arrive(path)
        found = self.choices(len(path), taken)
        if not found:
            if not self.wants[len(path)].may_skip:
                return self.arrive(path + [None] * (len(self.wants) - len(path)))
            found = [None]
        if self.best and self.cost(path)[0] > self.best[0][:len(path)]:
            return True
        return all(self.descend(taken | (one.mask if one else 0), path + [one])
                   for one in found)

    def arrive(self, path):
        cost = self.cost(path)
        if self.best is None or cost < self.best:
            self.best, self.chosen = cost, path
        return cost != self.ideal


def solve(wants, held, taken, total):
    """Blocks for the wants in order, None for those that get none (after the first of these, all
    others get none, either); and whether the search was cut short."""
    return Search(wants, held, total).run(taken)
