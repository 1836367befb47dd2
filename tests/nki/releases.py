# SPDX-License-Identifier: Apache-2.0
"""What kernels may write in each release of the package nki: every name that its reference has, and
the arguments that its calls take: releases.py HONE."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HONE = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = {"2.%d" % (27 + i): "0.%d" % (1 + i) for i in range(7)}
HEAD = ("import nki\nimport nki.isa as nisa\nimport nki.language as nl\n"
        "import nki.collectives as nccl\n")
# What a release's page has, and the notes of a later one say that it brought.
LATER = {("0.1", "nl.private_hbm"), ("0.4", "nl.tile_size.psum_num_banks")}
TURNED = """
@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    t = nl.ndarray(%s, dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_transpose(dst=t, src=x, axes=(3, 1, 2, 0))
    nisa.dma_copy(dst=out, src=t.reshape((128, 512)))
    return out
"""
BODY = """
@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    b = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
    nisa.memset(b, 0.0)
    nisa.dma_copy(dst=out, src=b)
%s
    return out
"""
COLLECT = "nccl.all_reduce([x], [out], nccl.ReplicaGroup([[0, 1]]), nl.add, %s)"
# what a kernel does; releases that take it; some that do not, and a word of why
TAKEN = [
    ("nisa.dma_copy(dst=out, src=a, dst_rmw_op=nl.add)", "0.2", "0.4", "dst_rmw_op"),
    ("nisa.dma_copy(dst=out, src=a, unique_indices=True)", "0.2", "0.4", "unique_indices"),
    ("nisa.dma_copy(dst=out, src=a, priority=None)", "0.4 0.6", "0.2 0.3", "priority"),
    ("nisa.dma_copy(dst=out, src=a, engine=nisa.engine.scalar)", "0.3", "0.2", "engine"),
    ("nisa.affine_select(b, [[1, 512]], 0, 0, a, 0.0)", "0.2", "", ""),
    ("nisa.affine_select(b, [[1, 512]], 0, a, 0.0)", "0.3", "0.2", ""),
    ("nisa.iota(nl.ndarray((128, 512), dtype=nl.int32, buffer=nl.sbuf), [[1, 512]])",
     "0.3", "0.2", "offset"),
    ("nisa.dma_compute(out, [x, a], [1.0, 1.0], nl.add)", "0.2", "0.3", ""),
    ("nisa.dma_compute(out, [x, a], nl.add)", "0.3", "0.2", "reduce_op"),
    ("nisa.tensor_scalar_reduce(dst=b, data=a, op0=nl.add, operand0=1.0, reduce_op=nl.add)",
     "0.6 0.7", "0.5", "reduce_res"),
    (COLLECT % "name='r'", "0.5 0.7", "0.2", "came with NKI 0.5"),
    (COLLECT % "priority=None", "0.4 0.7", "0.3", "came with NKI 0.4"),
    ("assert nisa.tensor_copy(dst=b, src=a) is None", "0.2 0.5", "", ""),
    ("h = [nisa.tensor_copy(dst=b, src=a)]\n    h[0].depends_on().depends_on()\n"
     "    assert h[0] is not None", "0.6 0.7", "0.5", "depends_on"),
]
CLASSES = [
    ("assert isinstance(a, nl.NkiTensor) and not isinstance(1, nl.NkiTensor)", "0.3"),
    ("r = nisa.register_alloc(1)\n    assert isinstance(r, nisa.VirtualRegister)\n"
     "    assert not isinstance(a, nisa.VirtualRegister)", "0.3"),
    ("try:\n        raise nisa.NkiValidationError('no')\n    except nisa.NkiValidationError:\n"
     "        pass", "0.7"),
    ("def body(i: nisa.VirtualRegister) -> None:\n        nisa.tensor_copy(dst=b, src=a)\n"
     "    nl.fori_loop(0, 2, body)", "0.6"),
    ("assert isinstance(x.dtype, nl.DType)", "0.6"),
    ("assert isinstance(nisa.tensor_copy(dst=b, src=a), nisa.NkiInstruction)", "0.6"),
    ("g = nl.tiles(x, tile_shape=(128, 256))\n    assert isinstance(g, nl.NkiTileGrid)\n"
     "    assert isinstance(g, nl.NkiGrid) and not isinstance(g, nl.NkiBlockGrid)", "0.7"),
    ("n = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)\n    nisa.memset(n, 1)\n"
     "    s = nisa.scalar_load(n)\n    assert isinstance(s, nisa.NkiScalar)\n"
     "    assert not isinstance(s, nisa.VirtualRegister)", "0.7"),
]
WIDE = """
@nki.jit
def kernel(n):
    out = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=n)
    return out
"""


def documented():
    """The names of pages/names.txt, by release of nki."""
    found, ranges = {}, []
    for line in (ROOT / "pages" / "names.txt").read_text().splitlines():
        if line.startswith("releases "):
            ranges = [one.partition("-") for one in line.split()[1:]]
        elif line.startswith(("nl.", "nisa.", "nccl.", "nki.")):
            for sdk, nki in SDK.items():
                minor = int(sdk[2:])
                if any(int(first[2:]) <= minor <= (int(last[2:]) if last else 99 if dash else
                                                    int(first[2:]))
                       for first, dash, last in ranges):
                    found.setdefault(nki, []).extend(line.split())
    return found


def body(lines):
    return BODY % "\n".join("    " + line for line in lines)


def run(command, text, release, *more):
    with tempfile.TemporaryDirectory() as folder:
        kernel = pathlib.Path(folder, "kernel.py")
        kernel.write_text(HEAD + text)
        more = more or ("--input", "x=128x512:float32")
        done = subprocess.run([HONE, *command.split(), kernel, "--release", release, *more],
                              capture_output=True, text=True, timeout=60)
        return done.returncode == 0, done.stdout + done.stderr


class Releases(unittest.TestCase):
    def test_names(self):
        for release, names in documented().items():
            here = [name for name in names if name.startswith(("nl.", "nisa.", "nccl."))
                    and (release, name) not in LATER]
            text = BODY % "\n".join("    z = " + name for name in here)
            _, told = run("check", text, release)
            unknown = [line for line in told.splitlines() if "hone-unknown-name" in line
                       or "hone-newer-name" in line]
            self.assertEqual(unknown, [], release)

    def test_arguments(self):
        for release in SDK.values():
            taken = [row[0] for row in TAKEN if release in row[1].split()]
            told = run("check", body(taken), release)[1]
            self.assertNotIn("error:", told, release)
            refused = [row for row in TAKEN if release in row[2].split()]
            told = run("check", body([row[0] for row in refused]), release)[1]
            errors = [line for line in told.splitlines() if "error:" in line]
            self.assertEqual(len(errors), len(refused), (release, told))
            for row, error in zip(refused, errors):
                self.assertIn(row[3], error)

    def test_classes(self):
        for release in sorted({row[1] for row in CLASSES}):
            lines = [row[0] for row in CLASSES if row[1] == release]
            told = run("check", body(lines), release)[1]
            self.assertNotIn("error:", told, release)
        self.assertFalse(run("check", body(["nl.NkiTensor(1)"]), "0.7")[0])
        annotated = "\n@nki.jit\ndef kernel(x: nl.NkiTensor) -> nl.NkiTensor:\n" + \
            (BODY % "").split("(x):\n")[1]
        self.assertTrue(run("check", annotated, "0.7")[0])

    def test_transposes_to_fewer_dimensions(self):
        found = []
        for shape in "(128, 512)", "(128, 2, 256)", "(128, 2, 1, 256)":
            with tempfile.TemporaryDirectory() as folder:
                good, told = run("sim --no-time", TURNED % shape, "0.3", "--input",
                                 "x=256x2x1x128:float32", "--save-outputs", folder)
                self.assertTrue(good, told)
                found.append(pathlib.Path(folder, "output_0.npy").read_bytes())
        self.assertEqual(found[0], found[2])
        self.assertEqual(found[1], found[2])
        self.assertFalse(run("check", TURNED % "(128, 512)", "0.4", "--input",
                             "x=256x2x1x128:float32")[0])

    def test_int64(self):
        for command in ("check", "sim --no-time"):
            good, told = run(command, WIDE, "0.7", "--input", "n=1x1:int64")
            self.assertTrue(good, told)
            good, told = run(command, WIDE, "0.6", "--input", "n=1x1:int64")
            self.assertFalse(good)
            self.assertIn("hone-dtype", told)


unittest.main()
