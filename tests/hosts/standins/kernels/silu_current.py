# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """y = x / (1 + exp(-x)), as seeds/silu has it, in the current dialect."""
    M, N = x.shape
    TILE_M, TILE_N = 128, 256
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in range(M // TILE_M):
        for n in range(N // TILE_N):
            tile = nl.ndarray((TILE_M, TILE_N), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N])
            below = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=below, op=nl.exp, data=tile, scale=-1.0)
            nisa.tensor_scalar(dst=below, data=below, op0=nl.add, operand0=1.0)
            nisa.reciprocal(dst=below, data=below)
            nisa.tensor_tensor(dst=tile, data1=tile, data2=below, op=nl.multiply)
            nisa.dma_copy(dst=y[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N], src=tile)
    return y
