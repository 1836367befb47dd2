# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """How the columns of x go together: x^T x / M less the product of their means."""
    M, N = x.shape
    TILE = 128
    y = nl.ndarray((N, N), dtype=nl.float32, buffer=nl.shared_hbm)
    ones = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    pairs = nl.ndarray((N, N), dtype=nl.float32, buffer=nl.psum)
    sums = nl.ndarray((1, N), dtype=nl.float32, buffer=nl.psum)
    for m in range(M // TILE):
        rows = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m * TILE:(m + 1) * TILE, 0:N])
        nisa.nc_matmul(dst=pairs, stationary=rows, moving=rows, accumulate=m > 0)
        nisa.nc_matmul(dst=sums, stationary=ones, moving=rows, accumulate=m > 0)
    mean = nl.ndarray((1, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=mean, data=sums, op0=nl.multiply, operand0=1.0 / M)
    outer = nl.ndarray((N, N), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=outer, stationary=mean, moving=mean, accumulate=False)
    share = nl.ndarray((N, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=share, data=pairs, op0=nl.multiply, operand0=1.0 / M)
    out = nl.ndarray((N, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=out, data1=share, data2=outer, op=nl.subtract)
    nisa.dma_copy(dst=y[0:N, 0:N], src=out)
    return y
