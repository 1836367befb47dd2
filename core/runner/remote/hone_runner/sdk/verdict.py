# SPDX-License-Identifier: Apache-2.0
"""The four-part verdict, by hone's own rules (core/task/verdict.c): what comparisons and latencies
mean. Pure arithmetic."""

import math

TOLERANCE = 2e-5
FEWEST_SAMPLES = 5


def judgement(answer, reason=""):
    return {"answer": answer, "reason": reason[:239]}


NOT_ASKED = judgement("not asked")


def blank():
    return {"compiles": NOT_ASKED, "correct": NOT_ASKED, "credible": NOT_ASKED, "faster": NOT_ASKED}


def odd(match):
    """The first suspicious property of an output, one that no honest kernel produces; None if there
    is none."""
    if not match["finite"]:
        return "has elements that are NaN or infinite"
    if match["zero"] and not match["reference_zero"]:
        return "is all zero, and the reference is not"
    if match.get("is_input"):
        return "equals an input bit for bit"
    return None


def share(match):
    """The part of the tolerance that an output may take."""
    return match.get("share") or 1.0


def worst_of(matches):
    """The number of the output that takes most of its share; what is not finite takes more."""
    return max(range(len(matches)), key=lambda i: math.inf if matches[i]["rel_l2"] is None
               else matches[i]["rel_l2"] / share(matches[i]))


def worst(matches):
    """(rel_l2 of the worst output, largest max_abs); None for what is not finite."""
    most = [match["max_abs"] for match in matches]
    return (matches[worst_of(matches)]["rel_l2"] if matches else 0.0,
            None if None in most else max(most, default=0.0))


def holds(matches, tolerance):
    """Whether each output is within its share of the tolerance."""
    return all(match["rel_l2"] is not None and match["rel_l2"] <= tolerance * share(match)
               for match in matches)


def wrong(seed, matches, tolerance):
    """What is wrong with the worst output."""
    index = worst_of(matches)
    match = matches[index]
    which = "output %d: " % index if len(matches) > 1 else ""
    if match["rel_l2"] is None and match["finite"]:
        return "seed %d: %sit is not infinite where the reference is" % (seed, which)
    return "seed %d: %srelative L2 is %.3g, allowed is %.3g" % (
        seed, which, math.nan if match["rel_l2"] is None else match["rel_l2"],
        tolerance * share(match))


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
        if not holds(matches, tolerance):
            return judgement("no", wrong(seed, matches, tolerance))
        highest = max(highest, worst(matches)[0])
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


# Student's t, two sides, 95 %, for 1 to 30 degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
           2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
           2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)
SAME = 1.002            # a gain below this share is none


def ratio(incumbent, candidate):
    """How many times faster, with its 95 % interval: Student's, of the mean logarithm of the ratios
    of pairs. Low, ratio, high."""
    logs = [math.log(was / now) for was, now in zip(incumbent, candidate)]
    n = len(logs)
    mean = sum(logs) / n
    spread = math.sqrt(sum((one - mean) ** 2 for one in logs) / (n - 1) / n)
    reach = spread * (STUDENT[n - 2] if n - 2 < len(STUDENT) else 1.96 + 2.4 / (n - 1))
    return math.exp(mean - reach), math.exp(mean), math.exp(mean + reach)


def faster(incumbent, candidate):
    """Judges measured samples in microseconds; the i-th of one was taken beside the i-th of the
    other."""
    if not incumbent or not candidate:
        return judgement("not asked", "there is nothing to compare")
    pairs = min(len(incumbent), len(candidate))
    if pairs < FEWEST_SAMPLES or min(incumbent[:pairs] + candidate[:pairs]) <= 0:
        return judgement("inconclusive", "%d and %d samples are too few, %d pairs are needed"
                         % (len(incumbent), len(candidate), FEWEST_SAMPLES))
    low, speedup, high = ratio(incumbent, candidate)
    answer = "inconclusive"
    if low > 1 and speedup > SAME:
        answer = "yes"
    elif high < SAME:
        answer = "no"
    return judgement(answer, "%.3fx, 95 %% interval %.3fx to %.3fx of %d pairs; differences of "
                             "%.1f %% or more would have been detected"
                     % (speedup, low, high, pairs, (high / speedup - 1) * 100))
