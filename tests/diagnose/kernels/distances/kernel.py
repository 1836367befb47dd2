# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, c):
    """The square of the distance of each row of x from the one row of c."""
    M, N = x.shape
    TILE = 128
    y = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    centre = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=centre, src=c.ap([[0, TILE], [1, N]]))
    for m in range(M // TILE):
        rows = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m * TILE:(m + 1) * TILE, 0:N])
        apart = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=apart, data1=rows, data2=centre, op=nl.subtract)
        squares = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=squares, op=nl.square, data=apart)
        out = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=out, op=nl.add, data=squares, axis=1)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:1], src=out)
    return y
