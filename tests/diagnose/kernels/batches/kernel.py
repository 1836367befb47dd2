# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, w, b):
    """x[i]^T w[i] + b[i] of each batch, x and w with the contraction first."""
    B, K, M = x.shape
    N = w.shape[2]
    TILE = 128
    y = nl.ndarray((B, M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(B):
        shift = nl.load(b[i:i + 1, 0:N])
        sums = nl.zeros((M, N), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(K // TILE):
            left = nl.load(x[i, k * TILE:(k + 1) * TILE, 0:M])
            right = nl.load(w[i, k * TILE:(k + 1) * TILE, 0:N])
            sums += nl.matmul(left, right, transpose_x=True)
        moved = nl.add(sums, shift.broadcast_to((M, N)))
        nl.store(y[i, 0:M, 0:N], value=nl.maximum(moved, 0.0))
    return y
