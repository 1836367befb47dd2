# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(a, b):
    """The cosine of the angle between rows of a and the rows of b in the same place."""
    M, N = a.shape
    TILE = 128
    y = nl.ndarray((M, 1), dtype=a.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE):
        one = nl.load(a[m * TILE:(m + 1) * TILE, 0:N])
        two = nl.load(b[m * TILE:(m + 1) * TILE, 0:N])
        both = nl.sum(nl.multiply(one, two), axis=[1], keepdims=True)
        left = nl.sum(nl.multiply(one, one), axis=[1], keepdims=True)
        right = nl.sum(nl.multiply(two, two), axis=[1], keepdims=True)
        sizes = nl.multiply(left, right)
        inverse = nl.rsqrt(nl.add(sizes, 1.0))
        cosine = nl.multiply(both, inverse)
        nl.store(y[m * TILE:(m + 1) * TILE, 0:1], value=cosine)
    return y
