# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, w, b):
    """y = relu of a causal convolution along each row, plus b; x has 3 columns more in front.

    x: (C, T + 3)    w: (C, 4)    b: (C, 1)    y: (C, T)
    """
    C = x.shape[0]
    T = x.shape[1] - 3
    TILE_C = 128
    TILE_T = 256
    y = nl.ndarray((C, T), dtype=nl.float32, buffer=nl.shared_hbm)
    for c in range(C // TILE_C):
        taps = nl.ndarray((TILE_C, 4), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=taps, src=w[c * TILE_C:(c + 1) * TILE_C, 0:4])
        shift = nl.ndarray((TILE_C, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=shift, src=b[c * TILE_C:(c + 1) * TILE_C, 0:1])
        for t in range(T // TILE_T):
            window = nl.ndarray((TILE_C, TILE_T + 3), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=window,
                src=x[c * TILE_C:(c + 1) * TILE_C, t * TILE_T:(t + 1) * TILE_T + 3])
            acc = nl.ndarray((TILE_C, TILE_T), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(dst=acc, value=0.0)
            for k in range(4):
                part = nl.ndarray((TILE_C, TILE_T), dtype=nl.float32, buffer=nl.sbuf)
                nisa.tensor_scalar(dst=part, data=window[0:TILE_C, k:k + TILE_T],
                                   op0=nl.multiply, operand0=taps[0:TILE_C, k:k + 1])
                nisa.tensor_tensor(dst=acc, data1=acc, data2=part, op=nl.add)
            out = nl.ndarray((TILE_C, TILE_T), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=out, data=acc, op0=nl.add, operand0=shift,
                               op1=nl.maximum, operand1=0.0)
            nisa.dma_copy(
                dst=y[c * TILE_C:(c + 1) * TILE_C, t * TILE_T:(t + 1) * TILE_T], src=out)
    return y
