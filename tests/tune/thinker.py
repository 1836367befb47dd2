# SPDX-License-Identifier: Apache-2.0
"""A language model whose answer depends on the prompt alone, after a short while that depends on
nothing: what a session makes of it must not depend on whose answer came first.

usage: thinker.py [STATE | --while FILE]; as many questions as STATE.out says are not answered, and
none while FILE is there.

Its kernels say in comments how fast they are (tests/tune/fake.h). Some plans make them slower, some
do not compile at first, some answers cannot be read at first."""

import os
import re
import sys
import time
import zlib

from out_of_order import answer_or_exit


def number(text, most):
    return zlib.crc32(text.encode()) % most


def kernel_of(prompt):
    """The source without line numbers, from the part that is shown last."""
    lines = re.findall(r"^ *\d+  (.*)$", prompt[prompt.rindex("ith line numbers"):], re.M)
    return "\n".join(lines) + "\n"


def latency_of(source):
    return float(re.search(r"# latency ([0-9.]+)", source).group(1))


def plan(prompt):
    us = latency_of(kernel_of(prompt))
    asked = re.search(r"this is number (\d+)", prompt)
    first = int(asked.group(1)) if asked else 1
    out = []
    for step in (first, first + 1):
        out.append("title: step %d from %g\nwhat: take step %d from %g\nwhy: it waits\n"
                   "metric: hbm_read_bytes\ndirection: down\nsize: 10 %%\n" % (step, us, step, us))
    return "---\n".join(out)


def rewrite(prompt):
    source = kernel_of(prompt)
    step, us = re.search(r"take step (\d+) from ([0-9.]+)", prompt).groups()
    sample = re.search(r"carried out \d+ times at once; this is number (\d+)", prompt)
    name = "%s of %s, %s" % (step, us, sample.group(1) if sample else 1)
    chance = number(name, 100)
    if chance < 10 and "could not be used" not in prompt:
        return "I would rather talk about it."
    new = float(us) * (0.93 + (chance % 13) / 100)
    broken = "    # broken\n" if chance > 85 else ""
    return "```python\ndef kernel():\n    # latency %.6g\n    # hbm %.6g\n%s    x = '%s'\n```\n" % (
        new, new, broken, name)


def fix(prompt):
    source = kernel_of(prompt).replace("    # broken\n", "")
    return "```python\n" + source.replace("x = '", "x = 'fixed ") + "```\n"


def summarise(prompt):
    return "title: lesson %d\nsummary: of %d\n" % (number(prompt, 1000), number(prompt[::2], 1000))


def reflect(prompt):
    return "lesson: note %d\ndiagnosis: right\n" % number(prompt, 1000)


ROLES = {"You tune kernels": plan, "You rewrite kernels": rewrite, "You repair kernels": fix,
         "You keep the memory": summarise, "You review one round": reflect}


def main():
    prompt = sys.stdin.read()
    while sys.argv[1:2] == ["--while"] and os.path.exists(sys.argv[2]):
        time.sleep(0.01)
    if len(sys.argv) == 2:
        answer_or_exit(sys.argv[1] + ".out")
    answer = next(role for words, role in ROLES.items() if words in prompt)(prompt)
    time.sleep(os.urandom(1)[0] / 255 * 0.02)
    sys.stdout.write(answer)


main()
