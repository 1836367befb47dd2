# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    """y = x / (1 + exp(-x)), element by element, in float32.

    x, y: (M, N), M a multiple of 128
    """
    M, N = x.shape
    TILE_M = 128
    TILE_N = 256

    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    i_row = nl.arange(TILE_M)[:, None]
    i_col = nl.arange(TILE_N)[None, :]

    for m in nl.affine_range(M // TILE_M):
        for n in nl.affine_range(N // TILE_N):
            x_tile = nl.load(x[m * TILE_M + i_row, n * TILE_N + i_col])
            negated = nl.multiply(x_tile, -1.0)
            power = nl.exp(negated)
            below = nl.add(power, 1.0)
            gate = nl.reciprocal(below)
            y_tile = nl.multiply(x_tile, gate)
            nl.store(y[m * TILE_M + i_row, n * TILE_N + i_col], value=y_tile)

    return y
