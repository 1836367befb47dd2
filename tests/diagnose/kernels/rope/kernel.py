# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, c, s):
    """Pairs (x1, x2) of the halves of each row are turned: x1 * c - x2 * s and x2 * c + x1 * s."""
    M, D = x.shape
    H = D // 2
    TILE = 128
    y = nl.ndarray((M, D), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // TILE):
        rows = nl.ndarray((TILE, D), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m * TILE:(m + 1) * TILE, 0:D])
        cosine = nl.ndarray((TILE, H), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=cosine, src=c[m * TILE:(m + 1) * TILE, 0:H])
        sine = nl.ndarray((TILE, H), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=sine, src=s[m * TILE:(m + 1) * TILE, 0:H])
        out = nl.ndarray((TILE, D), dtype=nl.float32, buffer=nl.sbuf)
        near = nl.ndarray((TILE, H), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=near, data1=rows[0:TILE, 0:H], data2=cosine, op=nl.multiply)
        far = nl.ndarray((TILE, H), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=far, data1=rows[0:TILE, H:D], data2=sine, op=nl.multiply)
        nisa.tensor_tensor(dst=out[0:TILE, 0:H], data1=near, data2=far, op=nl.subtract)
        along = nl.ndarray((TILE, H), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=along, data1=rows[0:TILE, H:D], data2=cosine, op=nl.multiply)
        across = nl.ndarray((TILE, H), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=across, data1=rows[0:TILE, 0:H], data2=sine, op=nl.multiply)
        nisa.tensor_tensor(dst=out[0:TILE, H:D], data1=along, data2=across, op=nl.add)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:D], src=out)
    return y
