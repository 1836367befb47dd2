# SPDX-License-Identifier: Apache-2.0
"""prompts.py with a model by script that has prices in the settings: gain for tokens and dollars.

Then the model that reads its prompts (reader.py), on the same task and on a kernel whose operands
it keeps in SBUF.

usage: prompts_test.py HONE"""

import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tune"))

from small_task import KERNEL, REFERENCE

ANSWERS = """=== planner
title: Wider tiles
what: TILE_N is 512
=== rewriter
<<<<<<< SEARCH
TILE_N = 64
=======
TILE_N = 512
>>>>>>> REPLACE
"""
IN, OUT = 3.0, 15.0     # dollars for a million tokens


def table(environment, *arguments):
    """The rows of the table that prompts.py prints, by task."""
    done = subprocess.run([sys.executable, HERE / "prompts.py", os.path.abspath(sys.argv[1]),
                           *arguments], env=environment, capture_output=True, text=True,
                          check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    return {line.split()[0]: [float(text.rstrip("x")) for text in line.split()[1:]]
            for line in done.stdout.splitlines()[1:]}


def reads_its_prompts(environment, folder):
    """Both tasks become faster, and a token of ten times the price costs ten times as much. What is
    shown of the menu differs from session to session, so tokens differ a little."""
    other = folder / "product"
    shutil.copytree(HERE.parent / "diagnose" / "kernels" / "matmul", other)
    cheap = table(environment, "--reader", "--rounds", "2", str(folder / "small"), str(other))
    dear = table(environment, "--reader", "--price", "30", "150", "--rounds", "2", str(other))
    for speedup, gain, asked, tokens, per_token, per_dollar in (*cheap.values(), *dear.values()):
        assert speedup > 1.1 and asked >= 1 and tokens > 5000, (cheap, dear)
        assert abs(per_token - gain / tokens * 1e5) < 0.03 * per_token and per_dollar > 0
    each = [gain / per_dollar / tokens for _, gain, _, tokens, _, per_dollar in
            (cheap["product"], dear["product"])]
    assert 8 < each[1] / each[0] < 12, (cheap, dear)


def main():
    with tempfile.TemporaryDirectory(prefix="hone-prompts-") as name:
        folder = pathlib.Path(name)
        task, config = folder / "small", folder / "config" / "hone"
        task.mkdir()
        config.mkdir(parents=True)
        (task / "kernel.py").write_text(KERNEL)
        (task / "reference.py").write_text(REFERENCE)
        (folder / "answers").write_text(ANSWERS)
        (config / "config.ini").write_text(
            f"[model script]\napi = command\ncommand = /usr/bin/python3 "
            f"{HERE.parent / 'tune' / 'scripted.py'} {folder}/answers {folder}/state\n"
            f"price_input = {IN}\nprice_output = {OUT}\n")
        environment = dict(os.environ, XDG_CONFIG_HOME=str(folder / "config"),
                           XDG_CACHE_HOME=str(folder / "cache"))
        done = subprocess.run([sys.executable, HERE / "prompts.py", os.path.abspath(sys.argv[1]),
                               "script", "--rounds", "1", "--ask", "twice", str(task)],
                              env=environment, capture_output=True, text=True, check=False)
        print(done.stdout, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()]
        small = next(row for row in rows if row and row[0] == "small")
        all_ = next(row for row in rows if row and row[0] == "all")
        speedup, gain, asked, tokens, per_token, per_dollar = (
            float(text.rstrip("x")) for text in small[1:])
        assert done.returncode == 0 and small[1:] == all_[1:]
        assert asked == 2 and speedup > 1.2, small
        assert abs(gain - math.log2(speedup)) < 0.02
        assert abs(per_token - gain / tokens * 1e5) < 0.02 * per_token
        read = sum(len(path.read_text()) for path in folder.glob("state.[0-9]*"))
        assert read / 6 < tokens < read / 2, (read, tokens)     # an estimate: nobody counted
        dollars = gain / per_dollar
        assert tokens * IN < dollars * 1e6 < tokens * (IN + 0.2 * OUT), dollars
        reads_its_prompts(environment, folder)
        assert re.search(r"^task +speedup +gain +asked +tokens +gain/100k +gain/\$", done.stdout)


main()
