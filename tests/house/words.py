# SPDX-License-Identifier: Apache-2.0
"""What a person sees has its row in the glossary: words.py HONE ROOT. That is the metrics of the
device model, those of Neuron's profilers that the runner for hosts reads, and those that plans are
about; the labels of panels, as golden screens have them; and the words of verdicts, notes and
experiences."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HONE, ROOT = sys.argv[1:3]
KERNEL = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def double(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=y, src=tile)
    return y
"""


def hone(*args):
    return subprocess.run([HONE, *args], capture_output=True, text=True, check=True,
                          timeout=60).stdout


def of_the_device_model():
    with tempfile.TemporaryDirectory(prefix="hone-words-") as folder:
        path = os.path.join(folder, "kernel.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(KERNEL)
        done = hone("sim", path, "--json", "--no-verify", "--input", "x=128x512:float32")
    return set(json.loads(done)["metrics"])


def of_hosts():
    sys.path.insert(0, os.path.join(ROOT, "core/runner/remote"))
    from hone_runner.sdk import keys
    return {name.replace("{engine}", "tensor").replace("{n}", "3")
            for _, names in keys.UNITS for name in names.split()}


def of_plans():
    found = set()
    for folder, _, files in os.walk(os.path.join(ROOT, "core", "rewrite")):
        for name in files:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found |= set(re.findall(r'"([a-z]+(?:_[a-z]+)+_(?:bytes|count|percent))"',
                                        file.read()))
    return found


def labels_of(path):
    """What comes first in a row or on a frame and looks like a label, by the styles below."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    for line in lines:
        styled = re.match(r"(\d+): ((?:\d+-\d+ \S+ ?)+)$", line)
        if not styled or int(styled[1]) >= len(lines):
            continue
        row = lines[int(styled[1])]
        for first, last, role in re.findall(r"(\d+)-(\d+) ([\w-]+)", styled[2]):
            start = int(first)
            text = row[start:int(last) + 1].strip()
            cut = row[int(last) + 1:int(last) + 2] in tuple("│┌└")  # something lies over it
            begins = start == 2 or row[start - 2:start - 1] in tuple("│├┬┌")
            if begins and not cut and role in ("dim", "title", "strong"):
                yield text


def of_panels():
    found = set()
    for path in glob.glob(os.path.join(ROOT, "tests/screens/golden/*-120x40.txt")):
        found |= {text for text in labels_of(path)
                  if re.fullmatch(r"[A-Za-z][\w-]*( [a-z]+)?", text)}
    return found


def of_tables():
    """The words of the loop's enumerations, which screens show as they are."""
    with open(os.path.join(ROOT, "core/tune/events/words.h"), encoding="utf-8") as file:
        text = file.read()
    found = set()
    for table in re.findall(
            r"#define TUNE_(?:STEP|STATUS|CATEGORY|EXPERIENCE|ROLE)_TABLE.*?\n\n", text, re.S):
        found |= set(re.findall(r'X\(\w+, "([^"]+)"', table))
    return found


# Ordinary English, and names that a test gave.
PLAIN = {"all", "does", "lines", "start", "what", "why", "trn2-host asks"}


def is_known(word, words):
    """Whether it is known by itself, by its first word ("gate plan"), as one of several, or as a
    setting."""
    low = word.lower()
    if word in PLAIN or {low, low.split(" ")[0], low.removesuffix("s"), low[:-3] + "y"} & words:
        return True
    return subprocess.run([HONE, "explain", word], capture_output=True, timeout=60).returncode == 0


def unknown_words(told):
    words = set()
    for line in told.splitlines():
        word, names = re.match(r"([^:(]+)(?: \(([^)]*)\))?:", line).groups()
        words |= {name.strip().lower() for name in [word, *(names or "").split(",")]}
    shown = of_panels() | of_tables()
    if len(shown) < 60:
        return sorted(shown)
    return sorted(word for word in shown if not is_known(word, words))


def main():
    told = hone("explain").split("\n\n")[0]
    names = [name for line in told.splitlines() for name in re.findall(r"[\w{}]+_[\w{}]+", line)]
    patterns = [name.replace("{engine}", "[a-z]+").replace("{n}", r"\d+") for name in names]
    known = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    metrics = of_the_device_model() | of_hosts() | of_plans()
    unknown = sorted(name for name in metrics if not known.fullmatch(name))
    if len(metrics) < 80 or unknown:
        print(f"of {len(metrics)} metrics the glossary does not have:", *unknown)
        return 1
    missing = unknown_words(told)
    if missing:
        print("words of panels that hone explain does not know:", *missing, sep="\n  ")
    return 1 if missing else 0


sys.exit(main())
