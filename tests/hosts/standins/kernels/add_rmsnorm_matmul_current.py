# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, z, g, w, eps):
    """y = (rmsnorm(x + z) * g) @ w, as seeds/add_rmsnorm_matmul has it, in the current dialect."""
    M, K = x.shape
    N = w.shape[1]
    TILE_M, TILE_K, TILE_N = 128, 128, 256
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in range(M // TILE_M):
        total = nl.ndarray((TILE_M, K), dtype=x.dtype, buffer=nl.sbuf)
        other = nl.ndarray((TILE_M, K), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=total, src=x[m * TILE_M:(m + 1) * TILE_M, 0:K])
        nisa.dma_copy(dst=other, src=z[m * TILE_M:(m + 1) * TILE_M, 0:K])
        nisa.tensor_tensor(dst=total, data1=total, data2=other, op=nl.add)
        squares = nl.ndarray((TILE_M, K), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=total, data2=total, op=nl.multiply)
        inverse = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=inverse, op=nl.add, data=squares, axis=1)
        nisa.tensor_scalar(dst=inverse, data=inverse, op0=nl.multiply, operand0=1.0 / K, op1=nl.add,
                           operand1=eps)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=inverse)
        gain = nl.ndarray((TILE_M, K), dtype=g.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=gain, src=g.reshape((1, K)).broadcast_to((TILE_M, K)))
        nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=inverse)
        nisa.tensor_tensor(dst=total, data1=total, data2=gain, op=nl.multiply)
        turned = []
        for k in range(K // TILE_K):
            psum = nl.ndarray((TILE_K, TILE_M), dtype=x.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=psum, data=total[0:TILE_M, k * TILE_K:(k + 1) * TILE_K])
            tile = nl.ndarray((TILE_K, TILE_M), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=tile, src=psum)
            turned.append(tile)
        for n in range(N // TILE_N):
            acc = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k in range(K // TILE_K):
                w_tile = nl.ndarray((TILE_K, TILE_N), dtype=w.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=w_tile,
                              src=w[k * TILE_K:(k + 1) * TILE_K, n * TILE_N:(n + 1) * TILE_N])
                nisa.nc_matmul(dst=acc, stationary=turned[k], moving=w_tile)
            out = nl.ndarray((TILE_M, TILE_N), dtype=y.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=out, src=acc)
            nisa.dma_copy(dst=y[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N], src=out)
    return y
