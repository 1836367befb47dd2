# SPDX-License-Identifier: Apache-2.0
"""The checks that `conform` makes on an SDK: for each kind of check that relied.py names, a
function that returns a state (ok, other, absent) and what was found. Kernels are compiled by the
same code as in evaluations; nothing is run on a device."""

import os
import re

from hone_runner import stage

from . import arrays, canary, compile as compiling, execute, grammar, predict, reference, routes, \
    seams, shown, told, watch

SHAPE = ("TypeError", "AttributeError")
# Texts that mean that a thing is absent although the exception looks like one for another form: an
# unknown name or option.
MISSING = re.compile(r"unexpected keyword argument '_|module '[\w.]+' has no attribute")
NO_TARGET = "hone_has_no_such_target"
MAX_FILES = 24
HELP_S = 60.0
# Changes that make the good kernel wrong, in its file or in its program: (dialect, old, new).
BROKEN = {"current": ("x = nl.ndarray(", "x = nl.hone_has_no_such_name("),
          "legacy": ("x = nl.load(", "x = nl.hone_has_no_such_name(")}
LARGE = {"current": ("    x = nl.ndarray(",
                     "    big = nl.ndarray((128, 131072), dtype=nl.float32, buffer=nl.sbuf)\n"
                     "    nisa.memset(dst=big, value=0.0)\n    x = nl.ndarray("),
         "legacy": ("    x = nl.load(",
                    "    big = nl.zeros((128, 131072), dtype=nl.float32, buffer=nl.psum)\n"
                    "    x = nl.load(")}


def line_of(text, part):
    return text[:text.index(part)].count("\n") + 1


class Checks:
    """The checks on one environment. Each seam compiles once, and the result is remembered."""""

    def __init__(self, context, route):
        self.context, self.route, self.host = context, route, context.environment
        self.compiled = {}              # seam: (folder, answer, stage.Result)
        self.signatures = {}            # python: {name: (state, found)}
        self.inputs = None
        self.kernels = 0

    def look(self, row):
        try:
            return CHECKS[row.how](self, row)
        except stage.Cancelled:
            raise
        except Exception as problem:    # a row that cannot be checked does not affect the others
            return "other", "%s: %s" % (type(problem).__name__, problem)

    # ------------------------------------------------------------------------------ compiling

    def reference(self):
        """The canary's inputs and outputs: a reference.Reference."""
        if self.inputs is None:
            folder = os.path.join(self.context.work, "canary")
            os.makedirs(folder, mode=0o700, exist_ok=True)
            path = os.path.join(folder, "reference.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(canary.REFERENCE)
            self.inputs = reference.Reference(self.context, path)
            self.inputs.prepare([canary.SEED])
        return self.inputs

    def ask(self, operation, text, dialect, seam=None, **variables):
        """(folder, the worker's answer or None, stage.Result) for a kernel's text."""
        self.kernels += 1
        name = "conform-%d" % self.kernels
        route = self.route._replace(compile={dialect: [seam]}) if seam else self.route
        compiler = compiling.Compiler(self.context, route, "trn2", 1)
        kernel = compiling.Kernel(self.context, text, "canary", "canary.py", name)
        inputs = self.reference()
        folder = os.path.join(self.context.work, name + "-neff")
        os.makedirs(folder, mode=0o700)
        request = compiler.request(kernel, inputs.inputs_of(canary.SEED), folder,
                                   inputs.output_hints(canary.SEED))
        answer, result = compiling.call_worker(self.context, compiling.Ask(
            operation, name, request, compiler.limits(),
            dict(compiler.variables(folder), **variables), show=False))
        return folder, answer, result

    def dialect(self, seam):
        """The dialect that a seam compiles; None if this environment does not use the seam."""
        return next((dialect for dialect in ("current", "legacy")
                     if seam in (self.route.compile.get(dialect) or ())), None)

    def compile(self, seam):
        if seam not in self.compiled:
            dialect = self.dialect(seam)
            self.compiled[seam] = self.ask(
                "compile", canary.text_of(dialect, "good"), dialect, seam)
        return self.compiled[seam]

    def working(self):
        """The seams that compile, in the order they are tried."""
        names = self.route.compile[routes.canary_dialect(self.route)]
        return [name for name in names if (self.compile(name)[1] or {}).get("ok")]

    def text(self, change=None):
        """(text, dialect) of the good kernel, or of one with a change."""
        dialect = routes.canary_dialect(self.route)
        text = canary.text_of(dialect, "good")
        return (text.replace(*change[dialect], 1) if change else text), dialect


def check_seam(checks, row):
    name, = row.wants
    if checks.dialect(name) is None:
        return "absent", "not tried"
    folder, answer, result = checks.compile(name)
    if answer and answer["ok"]:
        return "ok", "compiles: " + seams.SEAMS[name].what
    if answer is None:
        return "other", result.text or "the process ended without an answer"
    if answer["kind"] != "seams":
        error = answer.get("error") or {}
        return "other", "it refuses a kernel that is known to be good: %s: %s" \
            % (error.get("type") or answer["kind"], error.get("message") or answer.get("message"))
    why = answer["tried"][0]["why"] if answer["tried"] else "nothing was tried"
    other = why.startswith(SHAPE) and not MISSING.search(why)
    return ("other" if other else "absent"), why


def check_compiles(checks, row):
    found = checks.working()
    return ("ok" if found else "absent"), "by " + ", ".join(found) if found else \
        "a kernel that is known to be good compiles by none of the ways"


def check_files(checks, row):
    """What lies in the folder of a compilation afterwards, numbers as #."""
    found = checks.working()
    if not found:
        return "absent", "nothing compiles"
    folder = checks.compile(found[0])[0]
    names = set()
    for path, _, files in os.walk(folder):
        for name in files:
            place = os.path.relpath(os.path.join(path, name), folder)
            names.add(re.sub(r"[0-9a-f]{8,}|\d+", "#", place))
    log = [name for name in names if os.path.basename(name) == watch.LOG]
    shown_names = sorted(names)[:MAX_FILES]
    more = len(names) - len(shown_names)
    return ("ok" if told.find_neff(folder) else "other"), "by %s: %s%s; %s of the compiler's" % (
        found[0], ", ".join(shown_names), " and %d more" % more if more > 0 else "",
        "a log" if log else "no log")


def check_again(checks, row):
    """The SDK's own caches must not prevent a second compilation from writing its NEFF."""
    found = checks.working()
    if not found:
        return "absent", "nothing compiles"
    first, (text, dialect) = checks.compile(found[0])[1], checks.text()
    answer = checks.ask("compile", text, dialect, found[0])[1]
    if not (answer and answer["ok"]):
        return "other", "by %s: the second compilation leaves no NEFF" % found[0]
    same = compiling.sha256(first["neff"]) == compiling.sha256(answer["neff"])
    return "ok", "by %s: a NEFF of its own, %s bytes" % (found[0], "the same" if same else "other")


def refused(checks, change):
    """(answer, result, findings) for a kernel that must not compile; None where it does."""
    text, dialect = checks.text(change)
    ways = checks.working()
    folder, answer, result = checks.ask("compile", text, dialect, ways[0] if ways else None)
    if answer and answer["ok"]:
        return None
    error = (answer or {}).get("error") or {}
    logs = watch.logs_below(folder)
    found, reader = shown.findings(result, [], logs)
    return answer or {}, error, found, reader, bool(logs)


def chain_text(error):
    return " from ".join(error.get("chain") or [error.get("type") or "no exception"])


def check_broken(checks, row):
    """An error in the file itself: the message must give its line."""
    got = refused(checks, BROKEN)
    if got is None:
        return "other", "a kernel that uses a name that does not exist compiles"
    answer, error, found, _, _ = got
    text, dialect = checks.text(BROKEN)
    line = line_of(text, "hone_has_no_such_name")
    names = [part for part in re.findall(r'File "([^"]+)", line %d\b' % line,
                                         error.get("text", "")) if part.endswith("canary.py")]
    lines = [one.line for one in found] + [line] * bool(names)
    return ("ok" if line in lines else "other"), "%s; the line is %stold" % (
        chain_text(error), "" if line in lines else "not ")


def check_too_large(checks, row):
    """An error that only the back end finds: the message must give a status or a code."""
    got = refused(checks, LARGE)
    if got is None:
        return "other", "a kernel that needs more memory on the chip than there is compiles"
    answer, error, found, reader, has_log = got
    status = error.get("status")
    status = grammar.exit_status(error.get("text", "")) if status is None else status
    status = reader.exit_status if status is None else status
    codes = sorted({one.code for one in found if one.code})
    said = "%s; status %s; codes %s; %s" % (
        chain_text(error), "not told" if status is None else status, ", ".join(codes) or "none",
        "log kept" if has_log else "no log")
    return ("ok" if status is not None or codes else "other"), said


def check_prediction(checks, row):
    text, dialect = checks.text()
    folder, answer, result = checks.ask("predict", text, dialect)
    found = (answer or {}).get("prediction")
    if not found:
        return "absent", (answer or {}).get("why") or result.text or "no answer"
    missing = [name for name in row.wants if not found.get(name)]
    return ("other" if missing else "ok"), "%.3f us, optimised %s, engines %s, macs %s, HBM %s" % (
        found["us"], found["optimised"], ", ".join(found["utilisation"]) or "none",
        found["macs"] is not None, found["hbm_bytes"] is not None)


def check_npy(checks, row):
    """The header that outputs are kept under, read by the environment's numpy."""
    path = os.path.join(checks.context.work, "conform.npy")
    with open(path, "wb") as file:
        file.write(arrays.npy_header("float32", [2, 3]) + bytes(24))
    code = "import numpy, sys; a = numpy.load(sys.argv[1]); print(a.dtype, a.shape)"
    result = stage.quick([checks.host.python_with_numpy(), "-c", code, path], HELP_S)
    said = result.out_tail.decode("utf-8", "replace").strip()
    return ("ok" if said == "float32 (2, 3)" else "other"), said or \
        (result.tail(1) or [result.text])[-1]


def check_target(checks, row):
    """The documented launch takes its target from the environment: one that does not exist must
    be refused."""
    if "call" not in checks.working():
        return "absent", "there is no launch that takes it"
    text, dialect = checks.text()
    folder, answer, _ = checks.ask("compile", text, dialect, "call",
                                   NEURON_PLATFORM_TARGET_OVERRIDE=NO_TARGET)
    if answer and answer["ok"]:
        return "other", "a target that does not exist is not refused"
    error = (answer or {}).get("error") or {}
    return "ok", "a target that does not exist: %s: %s" % (
        error.get("type") or "no answer", (error.get("message") or "").split("\n")[0])


# --------------------------------------------------------------------------- names and signatures


def ask_signatures(checks, how, python, variables):
    from . import relied
    rows = [[row.name, list(row.wants)] for row in relied.TABLE if row.how == how]
    answer, result = compiling.call_worker(checks.context, compiling.Ask(
        "look", "signatures-" + how, {"rows": rows}, stage.Limits(predict.STAGE_S), variables,
        python, "signatures", False))
    if answer is None:
        why = result.text or "the process that imports it ended without an answer"
        return {name: ("other", why) for name, _ in rows}
    return {name: tuple(found) for name, found in answer.items()}


def check_signature(checks, row):
    if row.how not in checks.signatures:
        python, extra = checks.host.python, {}
        if row.how == "runtime":
            python, extra = execute.Device.nrt_python(checks)
        checks.signatures[row.how] = ask_signatures(checks, row.how, python,
                                                    checks.context.variables(extra))
    return checks.signatures[row.how][row.name]


# ------------------------------------------------------------------------------------------ tools


def check_flags(checks, row):
    """The options that a tool's help names."""
    name, command = row.name.split()
    path = checks.host.tool(name)
    if not path:
        return "absent", "%s is not there" % name
    result = stage.quick([path, command, "--help"], HELP_S, checks.context.variables(),
                         checks.context.work)
    said = (result.out_tail + result.err_tail).decode("utf-8", "replace")
    flags = set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", said))
    if not flags:
        return "absent", "its help names no options: %s" % (said.strip().split("\n")[0] or
                                                            result.text)
    missing = [one for one in row.wants if one not in flags]
    return ("other" if missing else "ok"), "has no --%s" % ", --".join(missing) if missing else \
        "--" + ", --".join(row.wants)


def check_neuron_ls(checks, row):
    if not checks.host.tool("neuron-ls"):
        return "absent", "neuron-ls is not there"
    rows, around = checks.host.devices.ask()
    if not rows:
        return "absent", "it lists no device: %s" % (checks.host.devices.said or "it says nothing")
    missing = [one for one in row.wants if one not in rows[0]]
    said = "%s with %s" % ("an object" if around else "a list", ", ".join(sorted(rows[0])))
    return ("other" if missing else "ok"), said + ("; without " + ", ".join(missing)
                                                   if missing else "")


CHECKS = {"seam": check_seam, "compiles": check_compiles, "files": check_files,
          "again": check_again, "broken": check_broken, "too_large": check_too_large,
          "prediction": check_prediction, "npy": check_npy, "target": check_target,
          "signature": check_signature, "runtime": check_signature, "flags": check_flags,
          "neuron_ls": check_neuron_ls}
