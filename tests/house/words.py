# SPDX-License-Identifier: Apache-2.0
"""Every metric has its row in the glossary: words.py HONE ROOT. Those of the device model, those of
Neuron's profilers that the runner for hosts reads, those that plans are about."""

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
    return 0


sys.exit(main())
