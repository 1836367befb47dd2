# SPDX-License-Identifier: Apache-2.0
"""The program, argument 1 of a test, and small tasks that its commands are called with."""

import os
import pathlib
import subprocess
import sys
import tempfile

HONE = os.path.abspath(sys.argv[1])
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="hone-cli-"))
ENV = {**os.environ, "XDG_CACHE_HOME": str(FOLDER / "cache"),
       "XDG_CONFIG_HOME": str(FOLDER / "conf")}
ENV.pop("HONE_PYTHON", None)

LEGACY = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, factor):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_row = nl.arange(128)[:, None]
    i_col = nl.arange(64)[None, :]
    for n in nl.affine_range(x.shape[1] // 64):
        tile = nl.load(x[i_row, n * 64 + i_col])
        scaled = nl.multiply(tile, factor)
        nl.store(y[i_row, n * 64 + i_col], value=scaled)
    return y
"""
CURRENT = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, factor):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for n in range(x.shape[1] // 64):
        tile = nl.ndarray((128, 64), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[0:128, n * 64:(n + 1) * 64])
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
        nisa.dma_copy(dst=y[0:128, n * 64:(n + 1) * 64], src=tile)
    return y
"""
REFERENCE = """import numpy as np

def get_inputs():
    return [np.random.normal(size=(128, 256)).astype(np.float32), 3.0]

def forward(x, factor):
    return x * np.float32(factor)
"""


def run(*args, env=None, **options):
    return subprocess.run([HONE, *map(str, args)], env={**ENV, **(env or {})}, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=120, **options)


def make_task(name, kernel, reference=REFERENCE):
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    (folder / "kernel.py").write_text(kernel)
    if reference is not None:
        (folder / "reference.py").write_text(reference)
    return folder


# Each block of columns is added to what the blocks before it left in `carry`.
CARRIED = LEGACY.replace("    for n", """    carry = nl.zeros((128, 64), dtype=nl.float32)
    for n""").replace("        nl.store", """        carry[...] = nl.add(nl.copy(carry), scaled)
        nl.store""")
RUNNING = """import numpy as np

def get_inputs():
    return [np.random.normal(size=(128, 256)).astype(np.float32), 3.0]

def forward(x, factor):
    blocks = np.cumsum(x.reshape(128, -1, 64) * np.float32(factor), axis=1)
    return blocks.reshape(x.shape).astype(np.float32)
"""

HELPER = """import nki.isa as nisa


def load(dst, src):
    nisa.dma_copy(dst=dst, src=src)
"""

ROUNDS = """import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, n):
    y = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=total, value=0.0)
    c = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=c, src=n)
    r = nisa.register_alloc()
    nisa.register_load(dst=r, src=c)

    def body(i):
        t = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x)
        nisa.tensor_tensor(dst=total, data1=total, data2=t, op=nl.add)

    nl.fori_loop(0, r, body)
    nisa.dma_copy(dst=y, src=total)
    return y
"""
ROUNDS_OF = """import numpy as np

def get_inputs():
    return [np.random.normal(size=(128, 64)).astype(np.float32),
            np.random.randint(1, 9, size=(1, 1)).astype(np.int32)]

def forward(x, n):
    return x * np.float32(n[0, 0])
"""
