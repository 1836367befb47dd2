#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels that agents hand in: those that only seem to compute are refused, whatever the trick, and
honest ones pass. cheats.py HONE [HONEST [PAGES [SEEDS]]]: how many ways to write one sum, 108 of
them at most; of how many pages of NKI the examples, in both dialects, 0: of all; how many of the
kernels that come with hone, each as it is and as `hone new` writes it from its reference."""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tune")]
from agent import Agent  # noqa: E402
from small_task import KERNEL, REFERENCE  # noqa: E402
import tricks  # noqa: E402
import tricks_more  # noqa: E402
from tricks import HONEST_NOW, KERNEL_NOW, LOADED  # noqa: E402

CHEATS = {**tricks.CHEATS, **tricks_more.CHEATS_MORE}
CHEATS_NOW = {**tricks.CHEATS_NOW, **tricks_more.CHEATS_MORE_NOW}
HONEST_MORE, HONEST_MORE_NOW = tricks_more.HONEST_MORE, tricks_more.HONEST_MORE_NOW

HONE = os.path.abspath(sys.argv[1])
HONEST = int(sys.argv[2]) if len(sys.argv) > 2 else 12
PAGES = int(sys.argv[3]) if len(sys.argv) > 3 else 3
SEEDS = int(sys.argv[4]) if len(sys.argv) > 4 else 0
def honest():
    """Ways to write the same sum."""
    tiles = (32, 64, 128, 256, 512, 1024)
    loops = ("nl.affine_range", "nl.sequential_range", "range")
    sums = ("nl.add(a, b)", "a + b", "nl.add(b, a)")
    orders = (False, True)
    for tile, loop, total, order in itertools.product(tiles, loops, sums, orders):
        source = KERNEL.replace("TILE_N = 64", f"TILE_N = {tile}")
        source = source.replace("nl.affine_range", loop).replace("nl.add(a, b)", total)
        if order:
            a = "        a = nl.load(x[i_row, n * TILE_N + i_col])\n"
            assert a + LOADED in source
            source = source.replace(a + LOADED, LOADED + a)
        yield f"{tile} {loop} {total} {order}", source


PAGE = """import math
import numpy as np

TOLERANCE = 6e-3


def erf(x):
    return np.vectorize(math.erf)(x)


def get_inputs():
    return [{inputs}]


def forward({names}):
    return np.asarray({returns}, np.float32)


def transform_to_nki_inputs(inputs):
    return inputs


def transform_nki_outputs(k_res, ref):
    return np.asarray(k_res[0] if isinstance(k_res, (tuple, list)) else k_res, np.float32)
"""


def reference_of(of):
    """A reference for the example of a page; None where numpy has no such inputs."""
    inputs, names = [], []
    for one in of["inputs"].split():
        name, kind = one.split("=")
        shape, dtype = kind.split(":")
        if dtype != "float32":
            return None
        size = shape.replace("x", ", ")
        names.append(name)
        inputs.append(f"(np.random.rand({size}) + 0.5).astype(np.float32)")
    return PAGE.format(inputs=", ".join(inputs), names=", ".join(names), returns=of["returns"])


def pages():
    """Kernels of many operations: the examples of pages, in both dialects."""
    done = subprocess.run([HONE, "docs", "--json"], stdout=subprocess.PIPE, check=True, timeout=500)
    for page in json.loads(done.stdout):
        for dialect in ("legacy", "current"):
            of = page.get(dialect) or {}
            if "example" not in of or of.get("values") or of["returns"] == "any":
                continue
            if "num_programs" in of["example"] or "trn2" not in page["devices"]:
                continue
            reference = reference_of(of)
            if reference:
                yield f"{page['name']}, {dialect}", of["example"], reference


class Session:
    """A task whose kernels nobody but hone decides about."""

    def __init__(self, folder, name, kernel=None, reference=REFERENCE):
        task = folder / name
        task.mkdir()
        # The first kernel is none of the honest ones.
        (task / "kernel.py").write_text(kernel or KERNEL.replace("both", "total")
                                        .replace("64", "16"))
        (task / "reference.py").write_text(reference)
        env = dict(os.environ, **{f"XDG_{key}_HOME": str(folder / key)
                                  for key in ("CACHE", "STATE", "CONFIG")})
        self.agent = Agent([HONE, "mcp", str(task), "--gate", "auto", "--rounds", "1000"], env)

    def hand_in(self, title, source):
        return self.agent.tool("submit", title=title, kernel=source, wait_s=600)


def seeds(folder):
    """The kernels that come with hone, and what it writes from their references."""
    for seed in sorted((HERE.parent.parent / "seeds").iterdir())[::-1][:SEEDS]:
        reference = (seed / "reference.py").read_text()
        yield seed.name, (seed / "kernel.py").read_text(), reference
        written = folder / f"new_{seed.name}"
        written.mkdir()
        (written / "reference.py").write_text(reference)
        subprocess.run([HONE, "new", str(written)], stdout=subprocess.PIPE, check=True, timeout=500)
        yield f"{seed.name}, written anew", (written / "kernel.py").read_text(), reference


def chosen_pages():
    every = list(pages())
    step = max(1, len(every) // PAGES) if PAGES else 1
    return every[::step][:PAGES or None]


def spared(source):
    """The kernel with a line that does nothing."""
    jit = source.index("@nki.jit")
    return source[:jit] + re.sub(r"(?ms)^(def \w+\([^)]*\):)$", r"\1\n    spare = 7",
                                 source[jit:], count=1)


def alone(folder, kernels):
    """Each is handed in where the same with a line that does nothing is the first kernel."""
    tried = wrong = 0
    for name, kernel, reference in kernels:
        assert spared(kernel) != kernel, name
        session = Session(folder, f"alone_{re.sub('[^a-z]', '_', name)}_{tried}", spared(kernel),
                          reference)
        done = session.hand_in(name, kernel)
        verdict = done.get("verdict", {}) if isinstance(done, dict) else {}
        tried += 1
        if [verdict.get(key) for key in ("compiles", "correct", "credible")] != ["yes"] * 3:
            wrong += 1
            print(f"refused: {name}: {done}")
        session.agent.close()
    return tried, wrong


def cheated(folder, name, cheats, kernel=None):
    """How many are refused, and how many judged wrongly."""
    refused = failed = 0
    session = Session(folder, name, kernel)
    for title, source in cheats.items():
        done = session.hand_in(title, source)
        if isinstance(done, dict) and done.get("status") in ("failed", "suspect", "rejected"):
            refused += 1
        else:
            failed += 1
            print(f"passed all the same: {title}: {done}")
    best = session.agent.tool("status").get("incumbent")
    if best:
        failed += 1
        print(f"a cheat is the incumbent: {best}")
    session.agent.close()
    return refused, failed


def taken(folder, name, kernels, kernel=None):
    """How many honest ones are refused."""
    failed = 0
    session = Session(folder, name, kernel)
    for title, source in kernels:
        done = session.hand_in(title, source)
        verdict = done.get("verdict", {}) if isinstance(done, dict) else {}
        if [verdict.get(key) for key in ("compiles", "correct", "credible")] != ["yes"] * 3:
            failed += 1
            print(f"refused: {title}: {done}")
    session.agent.close()
    return failed


def main():
    with tempfile.TemporaryDirectory(prefix="hone_cheats_") as name:
        folder = pathlib.Path(name)
        refused, failed = cheated(folder, "cheats", CHEATS)
        refused_now, failed_now = cheated(folder, "cheats_now", CHEATS_NOW, KERNEL_NOW)
        every = list(honest())
        chosen = every[::max(1, len(every) // HONEST)][:HONEST]
        failed += failed_now + taken(folder, "honest", chosen)
        failed += taken(folder, "honest_now", HONEST_NOW.items(), KERNEL_NOW)
        failed += taken(folder, "honest_more", HONEST_MORE.items())
        failed += taken(folder, "honest_more_now", HONEST_MORE_NOW.items(), KERNEL_NOW)
        of_pages, wrong_pages = alone(folder, chosen_pages())
        of_seeds, wrong_seeds = alone(folder, seeds(folder))
    failed += wrong_pages + wrong_seeds
    sums = len(chosen) + len(HONEST_NOW) + len(HONEST_MORE) + len(HONEST_MORE_NOW)
    print(f"{refused + refused_now} of {len(CHEATS) + len(CHEATS_NOW)} cheats refused; "
          f"{sums + of_pages + of_seeds} honest kernels: {sums} ways to write a sum, {of_pages} of "
          f"pages, {of_seeds} of seeds; {failed} judged wrongly")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
