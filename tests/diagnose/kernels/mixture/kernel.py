# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a, b, g):
    """y = s * a + (1 - s) * b, where s is the sigmoid of a gate for each element."""
    M, N = a.shape
    TILE = 128
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // TILE):
        one = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=one, src=a[m * TILE:(m + 1) * TILE, 0:N])
        other = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=other, src=b[m * TILE:(m + 1) * TILE, 0:N])
        gate = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=gate, src=g[m * TILE:(m + 1) * TILE, 0:N])
        share = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=share, op=nl.sigmoid, data=gate)
        apart = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=apart, data1=one, data2=other, op=nl.subtract)
        part = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=part, data1=apart, data2=share, op=nl.multiply)
        out = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=out, data1=part, data2=other, op=nl.add)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:N], src=out)
    return y
