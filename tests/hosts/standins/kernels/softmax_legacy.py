# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    """y = softmax of every row of x, as seeds/softmax has it, in the legacy dialect."""
    M, N = x.shape
    TILE_M = 128
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE_M):
        tile = nl.load(x[m * TILE_M:(m + 1) * TILE_M, 0:N])
        shifted = nl.subtract(tile, nl.max(tile, axis=[1], keepdims=True))
        power = nl.exp(shifted)
        total = nl.sum(power, axis=[1], keepdims=True)
        share = nl.multiply(power, nl.reciprocal(total))
        nl.store(y[m * TILE_M:(m + 1) * TILE_M, 0:N], value=share)
    return y
