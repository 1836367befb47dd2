# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    """y = log(sum(exp(x))) of each row, with the largest of it taken out first."""
    M, N = x.shape
    TILE = 128
    y = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // TILE):
        rows = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m * TILE:(m + 1) * TILE, 0:N])
        top = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=rows, axis=1)
        lower = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=lower, data=rows, op0=nl.subtract, operand0=top)
        power = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=power, op=nl.exp, data=lower)
        total = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=power, axis=1)
        size = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=size, op=nl.log, data=total)
        out = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=out, data1=size, data2=top, op=nl.add)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:1], src=out)
    return y
