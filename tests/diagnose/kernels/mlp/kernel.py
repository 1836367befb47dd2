# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x_t, a, b, c):
    """y = tanh(x @ a / 2 + b) @ c, the columns of a on partitions in between; all in float32.

    x_t: (K, M)    a: (K, H)    b: (H, 1)    c: (H, N)    y: (M, N)
    """
    K, M = x_t.shape
    H = a.shape[1]
    N = c.shape[1]
    TILE = 128
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // TILE):
        result = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.psum)
        for h in range(H // TILE):
            hidden = nl.ndarray((TILE, TILE), dtype=nl.float32, buffer=nl.psum)
            for k in range(K // TILE):
                x_tile = nl.ndarray((TILE, TILE), dtype=nl.float32, buffer=nl.sbuf)
                nisa.dma_copy(
                    dst=x_tile, src=x_t[k * TILE:(k + 1) * TILE, m * TILE:(m + 1) * TILE])
                a_tile = nl.ndarray((TILE, TILE), dtype=nl.float32, buffer=nl.sbuf)
                nisa.dma_copy(
                    dst=a_tile, src=a[k * TILE:(k + 1) * TILE, h * TILE:(h + 1) * TILE])
                nisa.nc_matmul(dst=hidden, stationary=a_tile, moving=x_tile)
            shift = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=shift, src=b[h * TILE:(h + 1) * TILE, 0:1])
            bent = nl.ndarray((TILE, TILE), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=bent, op=nl.tanh, data=hidden, bias=shift, scale=0.5)
            c_tile = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=c_tile, src=c[h * TILE:(h + 1) * TILE, 0:N])
            nisa.nc_matmul(dst=result, stationary=bent, moving=c_tile)
        out = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=out, src=result)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:N], src=out)
    return y
