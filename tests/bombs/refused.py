# SPDX-License-Identifier: Apache-2.0
"""Kernels without an end, or without measure: each is refused soon, with the line.

    refused.py HONE             the test: with low limits, so that slow builds take seconds, too
    refused.py HONE --bench     with the limits that people have: what each took, as a table

In the kernels beside this file "# <-" marks the lines that may be named. What would be too long to
keep is made here (made_*).
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LOW = {"HONE_LIMITS_STEPS": "300000", "HONE_LIMITS_VALUES_MB": "48",
       "HONE_LIMITS_INSTRUCTIONS": "20000", "HONE_LIMITS_MEMORY_MB": "6000"}
MOST_MB = 1024
BENCH_S = 5.0
SOON = ("hone-gap-python", "MemoryError")  # of one value, which is known at once
SOON_MB = 640
PATIENCE_S = 100
HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"
MARK = "# <-"


def kernel(body, before=""):
    return HEAD + before + "@nki.jit\ndef kernel(x):\n" + body + "    return x\n"


def chain(folder):
    for i in range(300):
        with open(os.path.join(folder, "part%d.py" % i), "w", encoding="utf-8") as file:
            file.write("import part%d  %s\nSIZE = part%d.SIZE  %s\n" % (i + 1, MARK, i + 1, MARK))
    return kernel("    n = part0.SIZE %s\n" % MARK, "import part0\n\n\n")


def large_parts(folder):
    for i in range(90):
        with open(os.path.join(folder, "part%d.py" % i), "w", encoding="utf-8") as file:
            file.write("ROWS = [%s]  %s\n" % ("1, " * 300000, MARK))
    lines = "".join("import part%d  %s\n" % (i, MARK) for i in range(90))
    return kernel("    n = part89.ROWS[0]  %s\n" % MARK, lines + "\n\n")


def stars(folder, *lists):
    for i, names in enumerate(lists):
        with open(os.path.join(folder, "part%d.py" % i), "w", encoding="utf-8") as file:
            file.write("".join("from part%d import *\n" % name for name in names))
    return kernel("    n = nowhere  %s\n" % MARK, "from part0 import *\n\n\n")


MADE = {
    "parentheses": lambda _: kernel("    n = %s1%s  %s\n" % ("(" * 20000, ")" * 20000, MARK)),
    "nested_lists": lambda _: kernel("    n = %s%s  %s\n" % ("[" * 5000, "]" * 5000, MARK)),
    "long_list": lambda _: kernel("    n = [%s]  %s\n" % ("1, " * 2200000, MARK)),
    "long_integer": lambda _: kernel("    n = list(range(%s))  %s\n" % ("9" * 1000000, MARK)),
    "long_sum": lambda _: kernel("    n = %s1  %s\n" % ("1 + " * 100000, MARK)),
    "long_source": lambda _: MARK + "\n" + kernel("    n = '%s'\n" % ("x" * (9 << 20))),
    "nested_blocks": lambda _: kernel("".join(
        "    " * (i + 1) + "if x is not None:  %s\n" % MARK for i in range(500)) + "    " * 501 +
        "pass\n"),
    "nested_comprehension": lambda _: kernel("    n = [0 %s]  %s\n" % (
        " ".join("for a%d in range(2)" % i for i in range(1000)), MARK)),
    "nested_lambdas": lambda _: kernel("    n = %s0  %s\n" % ("lambda: " * 2000, MARK)),
    "decorators": lambda _: kernel("    n = work()  %s\n" % MARK, "def twice(function):\n"
                                   "    return lambda: (function(), function())  %s\n\n\n" % MARK +
                                   ("@twice  %s\n" % MARK) * 60
                                   + "def work():\n    return 0\n\n\n"),
    "stars_in_a_circle": lambda folder: stars(folder, [1], [0, 1]),
    "stars_by_many_ways": lambda folder: stars(folder, *([i + 1] * 2 for i in range(40)), []),
    "chain_of_imports": chain,
    "large_imports": large_parts,
}


def sources(folder):
    """(name, path) of every kernel."""
    for path in sorted(glob.glob(os.path.join(HERE, "*", "*.py"))):
        yield os.path.relpath(path, HERE)[:-3], path
    for name, make in MADE.items():
        own = os.path.join(folder, name)
        os.mkdir(own)
        path = os.path.join(own, "kernel.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(make(own))
        yield "made/" + name, path


def marked(path):
    with open(path, encoding="utf-8") as file:
        return [n for n, line in enumerate(file, 1) if MARK in line]


class Run:
    """One command on one kernel, and what it took."""

    def __init__(self, hone, command, name, path, limits):
        self.command, self.name = command, name
        home = tempfile.mkdtemp(dir=os.path.dirname(os.path.dirname(path))
                                if name.startswith("made/") else None)
        # Behind a wall of its own the child's memory would not be counted.
        variables = {"HOME": home, "PATH": os.environ["PATH"], "HONE_WALL_LEVEL": "limits",
                     **limits}
        for kept in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TMPDIR"):
            if kept in os.environ:
                variables[kept] = os.environ[kept]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            started = time.monotonic()
            child = subprocess.Popen(
                ["timeout", "-k", "5", str(PATIENCE_S), hone, command, path, "--input",
                 "x=128x512:float32", "--json"], stdout=out, stderr=err, env=variables)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = self.status = os.waitstatus_to_exitcode(status)
            self.seconds = time.monotonic() - started
            self.processor_s = usage.ru_utime + usage.ru_stime
            self.megabytes = usage.ru_maxrss / 1024 / (1024 if sys.platform == "darwin" else 1)
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read().decode(), err.read().decode(errors="replace")
        subprocess.run(["rm", "-rf", home], check=True)

    def finding(self):
        try:
            rows = json.loads(self.out)["diagnostics"]
        except (ValueError, KeyError):
            return None
        return next((row for row in rows if row["severity"] == "error"), None)

    def complaints(self):
        found = self.finding()
        lines = marked(found["file"] or self.path) if found else []
        if not found:
            yield "ended with %d, naming no line: %s" % (self.status, (self.out + self.err)[:400])
        elif self.status != 1 and found:
            yield "ended with status %d" % self.status
        elif found and (found["line"] not in lines or not found["message"]):
            yield "names line %d, not one of %s: %s" % (found["line"], lines[:9], found["message"])
        if self.megabytes > MOST_MB:
            yield "took %.0f MB" % self.megabytes

    def spins(self):
        """Whether a kernel that no limit refused went on until one did, after its first error."""
        found = self.finding()
        return found and found["code"] in SOON and self.megabytes > SOON_MB


def commands(name, bench):
    """check evaluates a kernel in its own process. sim does so in a child, and also executes it."""
    if name.startswith("device/"):
        return ["sim"]
    return ["check", "sim"] if bench else ["check"]


def bench_row(run):
    found = run.finding() or {"line": 0, "message": run.err.strip()}
    print("%-5s %-28s %5.1f s %5.1f s %5.0f MB  line %d: %s" % (
        run.command, run.name, run.seconds, run.processor_s, run.megabytes, found["line"],
                                                                found["message"][:150]),
        flush=True)


def main():
    hone, bench = sys.argv[1], "--bench" in sys.argv
    only = [word for word in sys.argv[2:] if not word.startswith("-")]
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        wanted = [(command, name, path) for name, path in sources(folder)
                  for command in commands(name, bench)
                  if not only or any(word in name for word in only)]
        assert only or len({name for _, name, _ in wanted}) >= 44
        with concurrent.futures.ThreadPoolExecutor(1 if bench else 2) as pool:
            for run in pool.map(lambda row: Run(hone, *row, {} if bench else LOW), wanted):
                if bench:
                    bench_row(run)
                failed += ["%s %s %s" % (run.command, run.name, text) for text in run.complaints()]
                if bench and run.spins():
                    failed.append("%s %s took %.0f MB after its first error" % (
                        run.command, run.name, run.megabytes))
                if bench and run.processor_s > BENCH_S:
                    failed.append("%s %s took %.1f s of processor time" % (
                        run.command, run.name, run.processor_s))
    print("\n".join(failed))
    print("%d runs, %d complaints" % (len(wanted), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
