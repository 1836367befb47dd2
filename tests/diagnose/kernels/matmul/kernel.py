# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(a_t, b):
    """y = a_t.T @ b, bfloat16 in, float32 out.

    a_t: (K, M)    b: (K, N)    y: (M, N)
    """
    K, M = a_t.shape
    N = b.shape[1]
    TILE_K = 128  # contraction: the partitions of both operands
    TILE_M = 128  # columns of the stationary operand
    TILE_N = 256  # columns of the moving operand

    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)

    for m in range(M // TILE_M):
        for n in range(N // TILE_N):
            acc = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k in range(K // TILE_K):
                # Fetch both operands of this one product.
                a_tile = nl.ndarray((TILE_K, TILE_M), dtype=a_t.dtype, buffer=nl.sbuf)
                nisa.dma_copy(
                    dst=a_tile,
                    src=a_t[k * TILE_K:(k + 1) * TILE_K, m * TILE_M:(m + 1) * TILE_M])
                b_tile = nl.ndarray((TILE_K, TILE_N), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(
                    dst=b_tile,
                    src=b[k * TILE_K:(k + 1) * TILE_K, n * TILE_N:(n + 1) * TILE_N])
                # The first product overwrites the accumulator, the others add to it.
                nisa.nc_matmul(dst=acc, stationary=a_tile, moving=b_tile)
            # PSUM cannot be stored directly: through SBUF.
            out = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=out, src=acc)
            nisa.dma_copy(
                dst=y[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N], src=out)

    return y
