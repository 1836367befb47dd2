# SPDX-License-Identifier: Apache-2.0
"""A small task for tests from outside: a sum of two inputs, with a tile that can be wider."""

KERNEL = """import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

TILE_N = 64


@nki.jit
def kernel(x, z):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for n in nl.affine_range(x.shape[1] // TILE_N):
        i_row = nl.arange(128)[:, None]
        i_col = nl.arange(TILE_N)[None, :]
        a = nl.load(x[i_row, n * TILE_N + i_col])
        b = nl.load(z[i_row, n * TILE_N + i_col])
        both = nl.add(a, b)
        nl.store(y[i_row, n * TILE_N + i_col], value=both)
    return y
"""
REFERENCE = """import numpy as np


def get_inputs():
    return [np.random.rand(128, 1024).astype(np.float32) for _ in range(2)]


def forward(x, z):
    return x + z


def transform_to_nki_inputs(inputs):
    return inputs


def transform_nki_outputs(k_res, ref):
    return k_res
"""
