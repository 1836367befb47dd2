# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x_t, w):
    """y = (x @ w) less the mean of each of its rows; x comes transposed."""
    K, M = x_t.shape
    N = w.shape[1]
    TILE = 128
    y = nl.ndarray((M, N), dtype=x_t.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE):
        acc = nl.zeros((TILE, N), nl.float32, buffer=nl.psum)
        for k in nl.affine_range(K // TILE):
            left = nl.load(x_t[k * TILE:(k + 1) * TILE, m * TILE:(m + 1) * TILE])
            right = nl.load(w[k * TILE:(k + 1) * TILE, :])
            acc += nl.matmul(left, right, transpose_x=True)
        product = nl.copy(acc)
        total = nl.sum(product, axis=[1], keepdims=True)
        mean = nl.multiply(total, 1.0 / N)
        nl.store(y[m * TILE:(m + 1) * TILE, :], value=nl.subtract(product, mean))
    return y
