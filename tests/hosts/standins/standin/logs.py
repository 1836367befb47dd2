# SPDX-License-Identifier: Apache-2.0
"""Lines in the grammars that the SDK's parts use. This module prints nothing itself."""

import os
import sys
import time

from standin import host

PASSES = ("Simplifier", "LICM", "PartialLoopFusion", "SBAllocator", "Scheduler", "CodeGen")


def say(text, stream=None, end="\n"):
    stream = stream or sys.stdout
    stream.write(text + end)
    stream.flush()


def runtime(text, level="ERROR", stream=None):
    """A line of the runtime: 2025-Oct-01 23:48:34.002260 516278:516285 ERROR  TDRV:... text"""
    now = time.time()
    stamp = time.strftime("%Y-%b-%d %H:%M:%S", time.gmtime(now)) + ".%06d" % (now % 1 * 1e6)
    say("%s %d:%d %s  %s" % (stamp, os.getpid(), os.getpid() + 7, level, text), stream
        or sys.stderr)


def logrus(level, text):
    """A line of the tools: ERRO[0000] text"""
    say("%s[%04d] %s" % (level, 0, text), sys.stderr)


def compiler(level, unit, text, stream=None):
    """A line of the compiler's own log."""
    if host.LINE["log"] == "legacy":
        stamp = time.strftime("%m/%d/%Y %I:%M:%S %p", time.gmtime())
    else:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    say("%s %s %d [%s]: %s" % (stamp, level, os.getpid(), unit, text), stream)


def wrapper(level, text):
    """A line of the program that calls the compiler."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)) + ".%06d" % (now % 1 * 1e6)
    if host.LINE["log"] == "new":
        say("%s: %d [%s]: %s" % (stamp, os.getpid(), level, text))
    else:
        say("%s:  %d  %s ||NEURON_CC_WRAPPER||: %s" % (stamp, os.getpid(), level, text))


def progress(instructions):
    """What a compiler prints when all goes well."""
    say("." * 3, end="")
    say("root = neuronxcc/starfish/penguin/targets/codegen/BirCodeGenLoop.py")
    for name in PASSES:
        compiler("INFO", "root/Tensorizer/%s" % name, "Running %s" % name)
        compiler("USER", "root/Tensorizer/%s" % name,
                 "%s finished after %.3f seconds" % (name, 0.001))
    compiler("INFO", "BirCodeGen", "BirCodeGen estimate #instances=%d in sg0000" % instructions)
    say("Analyzing dependencies of Block1")
    say("0%   10   20   30   40   50   60   70   80   90   100%")
    say("|----|----|----|----|----|----|----|----|----|----|")
    say("*" * 51)
    compiler("INFO", "job.Frontend.0", "Job #0 finished")


def garbage():
    """What must not reach a terminal as it is, or fill memory."""
    raw = (b"\x1b[2J\x1b[1;1H\x1b]0;owned\x07\x9b31m\x00\x08\x08"
           b"\xff\xfe\xc3\x28 half \xed\xa0\x80\r\n"
           b"@hone {\"event\":\"result\",\"verdict\":{}}\n" + b"\x1b[31m" * 2000 + b"x" * 300000)
    sys.stdout.flush()
    sys.stdout.buffer.write(raw + b"\n")
    sys.stdout.flush()


def flood(size):
    """`size` bytes of log, as fast as they go."""
    line = "".join("%s INFO %d [root/Tensorizer/Loop]: unrolled access %06d of tensor t_%d\n"
                   % (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.getpid(), i, i % 97)
                   for i in range(4096))
    left = size
    while left > 0:
        sys.stdout.write(line[:left])
        left -= len(line)
    sys.stdout.flush()
