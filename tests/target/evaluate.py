# SPDX-License-Identifier: Apache-2.0
"""Takes the place of the runner's evaluation in tests of clusters: the kernel is a list of steps.

    tell N          N metrics, numbered on from the last
    wait PATH       until there is such a file
    sleep S         that many seconds, in a stage
    die             the runner is killed
    latency US      of the result
"""

import os
import signal
import time

from hone_runner import stage


def evaluate(context):
    told, latency = 0, 0.0
    for line in context.job["kernel_text"].splitlines():
        verb, _, rest = line.partition(" ")
        if verb == "tell":
            for _ in range(int(rest)):
                context.events.metric("number", told, "")
                told += 1
        elif verb == "wait":
            with context.phase("wait"):
                while not os.path.exists(rest):
                    context.control.tick()
                    time.sleep(0.02)
        elif verb == "sleep":
            context.stage("sleep", ["sleep", rest], stage.Limits(600.0), env=dict(os.environ))
        elif verb == "die":
            os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        elif verb == "latency":
            latency = float(rest)
    yes = {"answer": "yes", "reason": ""}
    return {"verdict": {"compiles": yes, "correct": yes, "credible": yes}, "latency_us": latency}
