# SPDX-License-Identifier: Apache-2.0
"""What kernels may write in each release of the package nki: every name that its reference has:
releases.py HONE."""

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

    def test_classes(self):
        for release in sorted({row[1] for row in CLASSES}):
            lines = [row[0] for row in CLASSES if row[1] == release]
            told = run("check", body(lines), release)[1]
            self.assertNotIn("error:", told, release)
        self.assertFalse(run("check", body(["nl.NkiTensor(1)"]), "0.7")[0])
        annotated = "\n@nki.jit\ndef kernel(x: nl.NkiTensor) -> nl.NkiTensor:\n" + \
            (BODY % "").split("(x):\n")[1]
        self.assertTrue(run("check", annotated, "0.7")[0])

    def test_int64_is_refused_by_both(self):
        for release, why in ("0.7", "hone-gap"), ("0.6", "hone-dtype"):
            for command in ("check", "sim --no-time")[:2 if release == "0.7" else 1]:
                good, told = run(command, WIDE, release, "--input", "n=1x1:int64")
                self.assertFalse(good)
                self.assertIn(why, told)


unittest.main()
