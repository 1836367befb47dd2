# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(p, g, v):
    """p - 0.1 * g / (sqrt(w) + 0.001), with w = 0.9 * v + 0.1 * g * g"""
    M, N = p.shape
    TILE = 128
    y = nl.ndarray((M, N), dtype=p.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE):
        param = nl.load(p[m * TILE:(m + 1) * TILE, :])
        slope = nl.load(g[m * TILE:(m + 1) * TILE, :])
        before = nl.load(v[m * TILE:(m + 1) * TILE, :])
        squares = nl.multiply(slope, slope)
        fresh = nl.multiply(squares, 0.1)
        kept = nl.multiply(before, 0.9)
        spread = nl.add(kept, fresh)
        root = nl.sqrt(spread)
        below = nl.add(root, 0.001)
        ratio = nl.divide(slope, below)
        step = nl.multiply(ratio, 0.1)
        nl.store(y[m * TILE:(m + 1) * TILE, :], value=nl.subtract(param, step))
    return y
