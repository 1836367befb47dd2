# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(a_t, b):
    """y = a_t.T @ b, as seeds/matmul has it, in the legacy dialect."""
    K, M = a_t.shape
    N = b.shape[1]
    TILE_K, TILE_M, TILE_N = 128, 128, 256
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE_M):
        for n in nl.affine_range(N // TILE_N):
            acc = nl.zeros((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(K // TILE_K):
                a_tile = nl.load(a_t[k * TILE_K:(k + 1) * TILE_K, m * TILE_M:(m + 1) * TILE_M])
                b_tile = nl.load(b[k * TILE_K:(k + 1) * TILE_K, n * TILE_N:(n + 1) * TILE_N])
                acc += nl.matmul(a_tile, b_tile, transpose_x=True)
            out = nl.copy(acc, dtype=nl.float32)
            nl.store(y[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N], value=out)
    return y
