# SPDX-License-Identifier: Apache-2.0
"""The commands of the runner, one table."""

import json
import sys
import traceback

from hone_runner import emit, folder


class Usage(Exception):
    """The command line is wrong; the text says what it should look like."""


def one(arguments, what):
    if len(arguments) != 1:
        raise Usage("it takes one argument, %s" % what)
    return arguments[0]


def whole(text, what):
    if not text.isdigit() or len(text) > 18:
        raise Usage("%s is a whole number, not %r" % (what, text))
    return int(text)


def take_settings(arguments, flags=()):
    """--settings JSON and flags: (settings, set of flags)."""
    settings, found, rest = {}, set(), list(arguments)
    while rest:
        word = rest.pop(0)
        if word in flags:
            found.add(word)
        elif word == "--settings" and rest:
            try:
                settings = json.loads(rest.pop(0))
            except ValueError as problem:
                raise Usage("--settings is not JSON: %s" % problem)
            if not isinstance(settings, dict):
                raise Usage("--settings is not an object of strings")
        else:
            raise Usage("%r is not known here" % word)
    return {str(name): value if isinstance(value, str) else str(value)
            for name, value in settings.items() if value is not None}, found


def do_probe(arguments, answers):
    from hone_runner import environment
    settings, _ = take_settings(arguments)
    answers.emit("host", **environment.look(folder.home(), settings).describe())
    return 0


def do_doctor(arguments, answers):
    from hone_runner import doctor
    settings, _ = take_settings(arguments)
    return doctor.doctor(folder.home(), settings, answers)


def do_setup(arguments, answers):
    from hone_runner import setup
    settings, flags = take_settings(arguments, ("--apply",))
    return setup.setup(folder.home(), settings, answers, "--apply" in flags)


def do_start(arguments, answers):
    from hone_runner import supervise
    return supervise.start(one(arguments, "the job's folder"), answers)


def do_run(arguments, answers):
    from hone_runner import supervise
    return supervise.run(one(arguments, "the job's folder"), answers)


def do_cancel(arguments, answers):
    from hone_runner import supervise
    return supervise.cancel(one(arguments, "the job's folder"), answers)


def do_follow(arguments, answers):
    from hone_runner import follow
    if len(arguments) not in (2, 3):
        raise Usage("it takes the job's folder, an offset, and the id of the file it is in")
    return follow.follow(arguments[0], whole(arguments[1], "the offset"), answers,
                         *arguments[2:])


def do_jobs(arguments, answers):
    from hone_runner import keep
    if arguments:
        raise Usage("it takes no arguments")
    return keep.jobs(folder.home(), answers)


def do_sweep(arguments, answers):
    from hone_runner import keep
    return keep.sweep(folder.home(),
                      whole(one(arguments, "a number of days"), "the number of days"),
                      answers)


def do_predict(arguments, answers):
    from hone_runner import predictor
    if arguments:
        raise Usage("it takes no arguments: the job is on standard input")
    return predictor.predict(folder.home(), answers)


def do_conform(arguments, answers):
    from hone_runner import conform
    rest = list(arguments)
    python = None
    if "--python" in rest[:-1]:
        at = rest.index("--python")
        python = rest[at + 1]
        del rest[at:at + 2]
    settings, flags = take_settings(rest, ("--json", "--events"))
    if python:
        settings["environment"] = python
    return conform.conform(settings, flags, answers)


def do_child(arguments, answers):
    """The runner's own code that runs in a stage: child MODULE ARGUMENTS..."""
    from hone_runner import children
    if not arguments or arguments[0] not in children.CHILDREN:
        raise Usage("it takes one of " + ", ".join(sorted(children.CHILDREN)))
    return children.run(arguments[0], arguments[1:])


COMMANDS = {
    "probe": (do_probe, "[--settings JSON]", "what this host has"),
    "doctor": (do_doctor, "[--settings JSON]", "checks the host, with advice"),
    "setup": (do_setup, "[--apply] [--settings JSON]",
              "what the host lacks; with --apply installs it"),
    "start": (do_start, "JOB", "starts a job, detached"),
    "run": (do_run, "JOB", "runs a job in the foreground"),
    "follow": (do_follow, "JOB OFFSET [FILE]", "the events of a job from an offset on"),
    "cancel": (do_cancel, "JOB", "ends a job and all processes it started"),
    "jobs": (do_jobs, "", "lists the jobs"),
    "sweep": (do_sweep, "DAYS", "deletes jobs that ended, and cache entries, older than that"),
    "predict": (do_predict, "", "the compiler's prediction for a job on standard input"),
    "conform": (do_conform, "[--python PATH] [--json]",
                "compares this SDK with what hone expects: a report to send in; needs no device"),
    "child": (do_child, "NAME ...", "a stage's own code; used by the runner itself"),
}


def usage():
    rows = ["usage: hone_runner.pyz COMMAND ..."]
    rows += ["  %-7s %-27s %s" % (name, row[1], row[2]) for name, row in COMMANDS.items()]
    return "\n".join(rows)


def main(argv):
    """Runs a command; exit status 0 done, 2 wrong usage, 3 the host failed it."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if argv else 2
    answers = emit.answers()
    row = COMMANDS.get(argv[0])
    try:
        if row is None:
            raise Usage("there is no such command; there are " + ", ".join(COMMANDS))
        return row[0](argv[1:], answers) or 0
    except BrokenPipeError:
        return 3
    except (Usage, folder.Refused, OSError) as problem:
        kind = "usage" if isinstance(problem, Usage) else getattr(problem, "kind", "environment")
        answers.emit("error", kind=kind, text="%s: %s" % (argv[0], problem))
        return 2 if kind == "usage" else 3
    except Exception as problem:
        traceback.print_exc(file=sys.stderr)
        answers.emit("error", kind="environment", text="%s failed: %s: %s"
                     % (argv[0], type(problem).__name__, problem))
        return 3
