# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, s):
    """y = x.T * s, a number of s for each row of y; blocks are turned by the Tensor engine."""
    M, N = x.shape
    TILE = 128
    y = nl.ndarray((N, M), dtype=nl.float32, buffer=nl.shared_hbm)
    for n in range(N // TILE):
        factor = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=factor, src=s[n * TILE:(n + 1) * TILE, 0:1])
        for m in range(M // TILE):
            block = nl.ndarray((TILE, TILE), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=x[m * TILE:(m + 1) * TILE, n * TILE:(n + 1) * TILE])
            turned = nl.ndarray((TILE, TILE), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_transpose(dst=turned, data=block)
            out = nl.ndarray((TILE, TILE), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=out, data=turned, op0=nl.multiply, operand0=factor)
            nisa.dma_copy(dst=y[n * TILE:(n + 1) * TILE, m * TILE:(m + 1) * TILE], src=out)
    return y
