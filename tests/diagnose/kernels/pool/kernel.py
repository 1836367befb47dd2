# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """The larger of each two neighbouring columns."""
    M, N = x.shape
    TILE = 128
    y = nl.ndarray((M, N // 2), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // TILE):
        rows = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m * TILE:(m + 1) * TILE, 0:N])
        even = nl.ndarray((TILE, N // 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=even, src=rows[0:TILE, 0:N:2])
        odd = nl.ndarray((TILE, N // 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=odd, src=rows[0:TILE, 1:N:2])
        out = nl.ndarray((TILE, N // 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=out, data1=even, data2=odd, op=nl.maximum)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:N // 2], src=out)
    return y
