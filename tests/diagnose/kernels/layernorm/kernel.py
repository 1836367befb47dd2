# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, g, b):
    """y = layernorm of every row of x, times g, plus b, in float32."""
    M, N = x.shape
    TILE_M = 128
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    gain = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain, src=g.ap([[0, TILE_M], [1, N]]))
    shift = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=shift, src=b.ap([[0, TILE_M], [1, N]]))
    for m in range(M // TILE_M):
        rows = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m * TILE_M:(m + 1) * TILE_M, 0:N])
        total = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=rows, axis=1)
        mean = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / N)
        apart = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=apart, data=rows, op0=nl.subtract, operand0=mean)
        squares = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=apart, data2=apart, op=nl.multiply)
        around = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=around, op=nl.add, data=squares, axis=1)
        variance = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=variance, data=around, op0=nl.multiply, operand0=1.0 / N,
                           op1=nl.add, operand1=1e-2)
        inverse = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=inverse, op=nl.rsqrt, data=variance)
        normal = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=normal, data=apart, op0=nl.multiply, operand0=inverse)
        scaled = nl.ndarray((TILE_M, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=scaled, data1=normal, data2=gain, op=nl.multiply)
        out = nl.ndarray((TILE_M, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=out, data1=scaled, data2=shift, op=nl.add)
        nisa.dma_copy(dst=y[m * TILE_M:(m + 1) * TILE_M, 0:N], src=out)
    return y
