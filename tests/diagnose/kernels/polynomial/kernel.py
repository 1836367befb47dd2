# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    """y = 2 + x * (-3 + x * (0.5 + x / 4))"""
    M, N = x.shape
    TILE = 128
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE):
        rows = nl.load(x[m * TILE:(m + 1) * TILE, :])
        third = nl.multiply(rows, 0.25)
        second = nl.add(third, 0.5)
        inner = nl.multiply(second, rows)
        first = nl.subtract(inner, 3.0)
        outer = nl.multiply(first, rows)
        nl.store(y[m * TILE:(m + 1) * TILE, :], value=nl.add(outer, 2.0))
    return y
