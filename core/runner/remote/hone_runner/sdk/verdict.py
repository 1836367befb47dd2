# SPDX-License-Identifier: Apache-2.0
"""The four-part verdict, by the rules hone itself has (core/task/verdict.c): what follows from
comparisons and latencies. Pure arithmetic."""

import math

TOLERANCE = 2e-5
FEWEST_SAMPLES = 5


def judgement(answer, reason=""):
    return {"answer": answer, "reason": reason[:239]}


NOT_ASKED = judgement("not asked")


def blank():
    return {"compiles": NOT_ASKED, "correct": NOT_ASKED, "credible": NOT_ASKED, "faster": NOT_ASKED}


def odd(match):
    """The first thing about an output that no honest kernel produces; None when there is none."""
    if not match["finite"]:
        return "has elements that are NaN or infinite"
    if match["zero"] and not match["reference_zero"]:
        return "is all zero, and the reference is not"
    if match.get("is_input"):
        return "equals an input bit for bit"
    return None


def worst(matches):
    """(rel_l2, max_abs) over the outputs of a seed; None for what is not finite."""
    rel = [match["rel_l2"] for match in matches]
    most = [match["max_abs"] for match in matches]
    return (None if None in rel else max(rel), None if None in most else max(most))


def credible(seeds):
    """seeds: [(seed, matches)]."""
    for seed, matches in seeds:
        for index, match in enumerate(matches):
            found = odd(match)
            if found:
                return judgement("no", "seed %d: output %d %s" % (seed, index, found))
    return judgement("yes") if seeds else NOT_ASKED


def correct(seeds, tolerance):
    if not seeds:
        return judgement("not asked", "there is no reference")
    highest = 0.0
    for seed, matches in seeds:
        rel = worst(matches)[0]
        if rel is None or not rel <= tolerance:
            return judgement("no", "seed %d: relative L2 is %.3g, allowed is %.3g"
                             % (seed, math.nan if rel is None else rel, tolerance))
        highest = max(highest, rel)
    return judgement("yes", "%d seed%s, relative L2 at most %.3g"
                     % (len(seeds), "" if len(seeds) == 1 else "s", highest))


def middle(samples):
    """Median and its distribution-free 95 % interval (order statistics, sign test): low, median,
    high."""
    ordered, n = sorted(samples), len(samples)
    reach = 0.98 * math.sqrt(n)
    low, high = math.floor(n / 2 - reach), math.ceil(n / 2 + reach)
    return (ordered[max(low, 0)], (ordered[(n - 1) // 2] + ordered[n // 2]) / 2,
            ordered[min(high, n - 1)])


def faster(incumbent, candidate):
    """Judges measured samples in microseconds."""
    if not incumbent or not candidate:
        return judgement("not asked", "there is nothing to compare")
    was, now = middle(incumbent), middle(candidate)
    speedup = was[1] / now[1] if now[1] > 0 else 0.0
    times = "%.3fx: %.4g us after %.4g us" % (speedup, now[1], was[1])
    if len(incumbent) < FEWEST_SAMPLES or len(candidate) < FEWEST_SAMPLES:
        return judgement("inconclusive", "%.3fx, but %d and %d samples are too few"
                         % (speedup, len(incumbent), len(candidate)))
    if now[2] < was[0]:
        return judgement("yes", times)
    if now[0] > was[2]:
        return judgement("no", times)
    return judgement("inconclusive", "%.3fx, but the 95 %% intervals overlap: %.4g to %.4g us and "
                     "%.4g to %.4g us" % (speedup, was[0], was[2], now[0], now[2]))
