# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, z, g, w, eps):
    """y = (rmsnorm(x + z) * g) @ w, with the norm taken over the columns of x + z.

    x, z: (M, K)    g: (K,)    w: (K, N)    y: (M, N), everything in float32
    """
    M, K = x.shape
    N = w.shape[1]
    TILE_M = 128  # rows of x in a tile: one per partition
    TILE_K = 128  # contraction: one per partition of the transposed tile
    TILE_N = 256  # columns of y that are computed together

    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)

    for m in nl.affine_range(M // TILE_M):
        # Add the two inputs of this block of rows.
        x_tile = nl.load(x[m * TILE_M:(m + 1) * TILE_M, 0:K])
        z_tile = nl.load(z[m * TILE_M:(m + 1) * TILE_M, 0:K])
        total = nl.add(x_tile, z_tile)

        # One over the root of the mean square of each row.
        squares = nl.square(total)
        square_sum = nl.sum(squares, axis=[1], keepdims=True)
        mean = nl.multiply(square_sum, 1.0 / K)
        shifted = nl.add(mean, eps)
        inverse = nl.rsqrt(shifted)

        # Scale every row by its own factor and every column by its weight.
        normal = nl.multiply(total, inverse)
        gain = nl.load(g.reshape((1, K)))
        scaled = nl.multiply(normal, gain.broadcast_to((TILE_M, K)))

        # Multiply the block of rows with w, one tile of columns after the other.
        for n in nl.affine_range(N // TILE_N):
            acc = nl.zeros((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(K // TILE_K):
                w_tile = nl.load(w[k * TILE_K:(k + 1) * TILE_K, n * TILE_N:(n + 1) * TILE_N])
                acc += nl.matmul(scaled[:, k * TILE_K:(k + 1) * TILE_K], w_tile)
            out = nl.copy(acc, dtype=y.dtype)
            nl.store(y[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N], value=out)

    return y
