# SPDX-License-Identifier: Apache-2.0
"""The remote runner with one more kind of job, `script`: its member `steps` says what it does."""

import json
import os
import sys
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:1] = [os.environ["HONE_RUNNER_PYZ"], os.path.join(ROOT, "core", "task")]

from hone_runner import commands, cores, hold, lock_state, stage, supervise  # noqa: E402


def do_stage(context, step):
    limits = stage.Limits(step.get("limit_s", 60.0), memory_bytes=step.get("memory_bytes"),
                          cpu_s=step.get("cpu_s"))
    result = context.stage(step.get("name", "tool"), step["argv"], limits)
    context.events.emit("outcome", outcome=result.outcome, status=result.status,
                        signal=result.signal, text=result.text, out=result.out, err=result.err)


def do_lines(context, step):
    for number in range(step["count"]):
        context.events.emit("log", severity="note", text="line %d" % number)


def do_cores(context, step):
    """Holds cores, and writes down when it got and returned them."""
    with context.cores(step["count"]) as held:
        note(step, "+ %s" % held.text())
        context.events.emit("held", logical=held.logical, physical=held.physical,
                            variables=held.variables())
        time.sleep(step.get("seconds", 0))
        if step.get("crash"):
            os.kill(os.getpid(), 9)
        note(step, "- %s" % held.text())


def do_pieces(context, step):
    """Work on cores in pieces, each a separate stage."""
    limits = stage.Limits(step.get("limit_s", 60.0), nice=0)

    def piece():
        note(step, "+ %s" % held.text())
        context.stage("work", step["argv"], limits.on(held), env=context.variables({}, held))
        note(step, "- %s" % held.text())
    with context.cores(1) as held:
        for _ in range(step.get("pieces", 1)):
            held.piece(piece)
        context.events.emit("held", waited=held.waited)


def note(step, text):
    descriptor = os.open(step["diary"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, ("%s %s\n" % (step.get("who", "?"), text)).encode())
    os.close(descriptor)


def do_sleep(context, step):
    time.sleep(step["seconds"])


def do_raise(context, step):
    raise {"disk": OSError(28, "No space left on device"), "bug": KeyError("a bug")}[step["what"]]


STEPS = {"stage": do_stage, "lines": do_lines, "cores": do_cores, "pieces": do_pieces,
         "sleep": do_sleep,
         "raise": do_raise}


def evaluate(context):
    for step in context.job.get("steps", []):
        STEPS[step["do"]](context, step)
    return {"verdict": {}, "latency_us": context.job.get("answer", 0.0)}


script = types.ModuleType("hone_runner.script")
script.evaluate = evaluate
sys.modules["hone_runner.script"] = script
supervise.KINDS["script"] = "script"
for name, module in (("HOLD_S", lock_state), ("STALE_S", lock_state), ("COMMIT_S", lock_state),
                     ("RENEW_S", hold), ("LEAVE_S", hold), ("TURN_S", hold), ("LEAST_S", hold),
                     ("BEAT_S", supervise),
                     ("GRACE_S", stage), ("POLL_S", cores)):
    if "HONE_TEST_" + name in os.environ:       # the rules are the same, only the times are shorter
        setattr(module, name, json.loads(os.environ["HONE_TEST_" + name]))

if __name__ == "__main__":
    sys.exit(commands.main(sys.argv[1:]))
