# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b):
    """h[t] = a[t] * h[t - 1] + b[t] along each row, in pieces that take up where the last ended."""
    M, T = a.shape
    TILE, STEP = 128, 128
    y = nl.ndarray((M, T), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // TILE):
        state = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=state, value=0.0)
        for t in range(T // STEP):
            decay = nl.ndarray((TILE, STEP), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=decay, src=a[m * TILE:(m + 1) * TILE, t * STEP:(t + 1) * STEP])
            drive = nl.ndarray((TILE, STEP), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=drive, src=b[m * TILE:(m + 1) * TILE, t * STEP:(t + 1) * STEP])
            h = nl.ndarray((TILE, STEP), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(dst=h, data0=decay, data1=drive, initial=state,
                                    op0=nl.multiply, op1=nl.add)
            nisa.tensor_copy(dst=state, src=h[0:TILE, STEP - 1:STEP])
            nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, t * STEP:(t + 1) * STEP], src=h)
    return y
