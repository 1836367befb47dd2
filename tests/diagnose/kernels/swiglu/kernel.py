# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x_t, a, b):
    """y = silu(x @ a) * (x @ b) in float32.

    x_t: (K, M), M = 128    a, b: (K, N)    y: (M, N)
    """
    K, M = x_t.shape
    N = a.shape[1]
    TILE_K = 128
    TILE_N = 256
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for n in range(N // TILE_N):
        first = n * TILE_N
        gate_sum = nl.ndarray((M, TILE_N), dtype=nl.float32, buffer=nl.psum)
        up_sum = nl.ndarray((M, TILE_N), dtype=nl.float32, buffer=nl.psum)
        for k in range(K // TILE_K):
            x_tile = nl.ndarray((TILE_K, M), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=x_tile, src=x_t[k * TILE_K:(k + 1) * TILE_K, 0:M])
            a_tile = nl.ndarray((TILE_K, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=a_tile, src=a[k * TILE_K:(k + 1) * TILE_K, first:first + TILE_N])
            b_tile = nl.ndarray((TILE_K, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=b_tile, src=b[k * TILE_K:(k + 1) * TILE_K, first:first + TILE_N])
            nisa.nc_matmul(dst=gate_sum, stationary=x_tile, moving=a_tile, accumulate=k > 0)
            nisa.nc_matmul(dst=up_sum, stationary=x_tile, moving=b_tile, accumulate=k > 0)
        gate = nl.ndarray((M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(dst=gate, src=gate_sum)
        sigmoid = nl.ndarray((M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=sigmoid, op=nl.sigmoid, data=gate)
        bent = nl.ndarray((M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=bent, data1=gate, data2=sigmoid, op=nl.multiply)
        out = nl.ndarray((M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=out, data1=bent, data2=up_sum, op=nl.multiply)
        nisa.dma_copy(dst=y[0:M, first:first + TILE_N], src=out)
    return y
