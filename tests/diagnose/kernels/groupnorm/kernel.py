# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, g):
    """Each group of 64 columns of a row has its own mean and root of its mean square; times g."""
    M, N = x.shape
    TILE_M = 128
    L = 64
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    gain = nl.load(g.reshape((1, N)))
    for m in nl.affine_range(M // TILE_M):
        for n in nl.affine_range(N // L):
            group = nl.load(x[m * TILE_M:(m + 1) * TILE_M, n * L:(n + 1) * L])
            total = nl.sum(group, axis=[1], keepdims=True)
            mean = nl.multiply(total, 1.0 / L)
            apart = nl.subtract(group, mean)
            squares = nl.multiply(apart, apart)
            around = nl.sum(squares, axis=[1], keepdims=True)
            variance = nl.multiply(around, 1.0 / L)
            root = nl.sqrt(nl.add(variance, 1e-3))
            normal = nl.divide(apart, root)
            part = gain[:, n * L:(n + 1) * L]
            scaled = nl.multiply(normal, part.broadcast_to((TILE_M, L)))
            nl.store(y[m * TILE_M:(m + 1) * TILE_M, n * L:(n + 1) * L], value=scaled)
    return y
