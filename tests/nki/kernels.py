# SPDX-License-Identifier: Apache-2.0
"""Kernels that compute what numpy says: kernels.py EVALUATE. A file of tests/nki/kernels is a list:

    ### title | current or legacy | device, of 2 cores: trn2/2 | inputs: NAME=SHAPE:DTYPE ..
    the kernel, behind the usual imports
    --->
    what it returns, in numpy, or `refused: ` with what its error says

All of them run in one process (docs/evaluate.c). Numbers of int inputs are below 8."""

import collections
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

EVALUATE = sys.argv.pop(1)
FOLDER = pathlib.Path(__file__).resolve().parent / "kernels"
IMPORTS = {
    "current": "import nki, numpy as np\nimport nki.language as nl\nimport nki.isa as nisa\n",
    "legacy": "import neuronxcc.nki as nki, numpy as np\nimport neuronxcc.nki.language as nl\n"
              "import neuronxcc.nki.isa as nisa\n"}
Case = collections.namedtuple("Case", "title dialect device cores inputs kernel gives")


def cases():
    for path in sorted(FOLDER.glob("*.txt")):
        for text in path.read_text().split("### ")[1:]:
            head, body = text.split("\n", 1)
            kernel, gives = body.split("--->\n")
            title, dialect, device, inputs = (one.strip() for one in head.split("|"))
            device, _, cores = device.partition("/")
            yield Case(title, dialect, device, cores or "1", inputs, kernel, gives.strip())


def inputs_of(case):
    rng, found = np.random.default_rng(11), {}
    for one in case.inputs.split():
        name, kind = one.split("=")
        shape, dtype = kind.split(":")
        shape = tuple(int(size) for size in shape.split("x"))
        found[name] = (rng.integers(0, 8, shape) if "int" in dtype
                       else rng.standard_normal(shape)).astype(np.float32)
    return found


def run(folder, all_cases):
    lines = []
    for number, case in enumerate(all_cases):
        at = folder / str(number)
        at.with_suffix(".py").write_text(IMPORTS[case.dialect] + case.kernel)
        for name, array in inputs_of(case).items():
            array.tofile(f"{at}.{name}")
        lines.append(f"{at}.py {case.device} {case.cores} {at} {case.inputs}")
    done = subprocess.run([EVALUATE], input="\n".join(lines) + "\n", text=True, check=True,
                          stdout=subprocess.PIPE, timeout=110)
    return done.stdout.splitlines()


def bf16(array):
    """Rounded to bfloat16, to the nearest and even."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).astype(np.uint32).view(np.float32)


def fp8(array):
    """Rounded to float8_e5m2, three significant bits, to the nearest and even."""
    fraction, exponent = np.frexp(np.asarray(array, np.float64))
    return np.ldexp(np.round(fraction * 8) / 8, exponent)


def wrong(case, answer, at):
    """What is wrong with an answer; None."""
    if case.gives.startswith("refused: "):
        said = case.gives[len("refused: "):]
        return None if answer.startswith("failed") and said in answer else f"says: {answer}"
    if not answer.startswith("ok"):
        return answer
    latency, *outputs = answer.split()[1:]
    if not float(latency) > 0:
        return f"takes {latency} us"
    names = {name: array.astype(np.int32) if f"{name}=" in case.inputs and "int" in
             case.inputs.split(f"{name}=")[1].split()[0] else array.astype(np.float64)
             for name, array in inputs_of(case).items()}
    want = eval(case.gives, {"np": np, "bf16": bf16, "fp8": fp8, **names})
    want = want if isinstance(want, tuple) else (want,)
    if len(want) != len(outputs):
        return f"{len(want)} outputs wanted: {answer}"
    for number, (one, kind) in enumerate(zip(want, outputs)):
        one = np.asarray(one, np.float64)
        shape = "x".join(str(size) for size in one.shape)
        got = np.fromfile(f"{at}.{number}", np.float32).astype(np.float64)
        if kind.split(":")[0] != shape:
            return f"output {number} has shape {kind}, not {shape}"
        error = np.linalg.norm(one.ravel() - got) / max(np.linalg.norm(one), 1e-30)
        if not error < (5e-3 if "bfloat16" in case.kernel else 2e-5):
            return f"output {number}: relative L2 {error:.3g}"
    return None


class Kernels(unittest.TestCase):
    def test_kernels_compute_what_numpy_says(self):
        all_cases, problems = list(cases()), []
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            answers = run(folder, all_cases)
            self.assertEqual(len(answers), len(all_cases))
            for number, (case, answer) in enumerate(zip(all_cases, answers)):
                problem = wrong(case, answer, folder / str(number))
                if problem:
                    problems.append(f"{case.title}: {problem}")
        print(f"{len(all_cases)} kernels")
        self.assertEqual(problems, [], "\n" + "\n".join(problems))


unittest.main()
