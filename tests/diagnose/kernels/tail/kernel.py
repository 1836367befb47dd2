# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, w):
    """y = p - the largest of each row of p, where p = tanh(x) * w; any number of rows."""
    M, N = x.shape
    TILE_M = 128
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range((M + TILE_M - 1) // TILE_M):
        first = m * TILE_M
        rows = min(TILE_M, M - first)
        data = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=data[0:rows, 0:N], src=x[first:first + rows, 0:N])
        weight = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=weight[0:rows, 0:N], src=w[first:first + rows, 0:N])
        bent = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=bent[0:rows, 0:N], op=nl.tanh, data=data[0:rows, 0:N])
        product = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=product[0:rows, 0:N], data1=bent[0:rows, 0:N],
                           data2=weight[0:rows, 0:N], op=nl.multiply)
        top = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=top[0:rows, 0:1], op=nl.maximum, data=product[0:rows, 0:N], axis=1)
        out = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=out[0:rows, 0:N], data=product[0:rows, 0:N], op0=nl.subtract,
                           operand0=top[0:rows, 0:1])
        nisa.dma_copy(dst=y[first:first + rows, 0:N], src=out[0:rows, 0:N])
    return y
