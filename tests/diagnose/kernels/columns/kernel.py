# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """Each column over the sum of the sizes of its numbers."""
    M, N = x.shape
    TILE = 128
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    ones = nl.ndarray((TILE, TILE), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    kept = []
    sums = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.psum)
    for m in range(M // TILE):
        rows = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m * TILE:(m + 1) * TILE, 0:N])
        size = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=size, op=nl.abs, data=rows)
        nisa.nc_matmul(dst=sums, stationary=ones, moving=size, accumulate=m > 0)
        kept.append(rows)
    inverse = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.reciprocal(dst=inverse, data=sums)
    for m in range(M // TILE):
        out = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=out, data1=kept[m], data2=inverse, op=nl.multiply)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:N], src=out)
    return y
