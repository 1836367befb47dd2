# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """y = softmax of every row of x, in float32, in three passes over the row.

    x, y: (M, N), M a multiple of 128
    """
    M, N = x.shape
    TILE_M = 128
    TILE_N = 256

    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)

    for m in range(M // TILE_M):
        # First pass: the largest element of each row.
        row_max = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=row_max, value=-3.0e38)
        for n in range(N // TILE_N):
            part = nl.ndarray((TILE_M, TILE_N), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=part, src=x[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N])
            part_max = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_reduce(dst=part_max, op=nl.maximum, data=part, axis=1)
            nisa.tensor_tensor(dst=row_max, data1=row_max, data2=part_max, op=nl.maximum)

        # Second pass: the sum of exp(x - max) over each row.
        row_sum = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=row_sum, value=0.0)
        for n in range(N // TILE_N):
            part = nl.ndarray((TILE_M, TILE_N), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=part, src=x[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N])
            shifted = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=shifted, data=part, op0=nl.subtract, operand0=row_max)
            power = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=power, op=nl.exp, data=shifted)
            part_sum = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_reduce(dst=part_sum, op=nl.add, data=power, axis=1)
            nisa.tensor_tensor(dst=row_sum, data1=row_sum, data2=part_sum, op=nl.add)

        # Third pass: every element divided by the sum of its row.
        inverse = nl.ndarray((TILE_M, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=row_sum)
        for n in range(N // TILE_N):
            part = nl.ndarray((TILE_M, TILE_N), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(
                dst=part, src=x[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N])
            shifted = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=shifted, data=part, op0=nl.subtract, operand0=row_max)
            power = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=power, op=nl.exp, data=shifted)
            share = nl.ndarray((TILE_M, TILE_N), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=share, data=power, op0=nl.multiply, operand0=inverse)
            nisa.dma_copy(
                dst=y[m * TILE_M:(m + 1) * TILE_M, n * TILE_N:(n + 1) * TILE_N], src=share)

    return y
