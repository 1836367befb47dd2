# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


def log_of_sum(rows, shape):
    """log(sum(exp(row))) of each row."""
    size, width = shape
    top = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=rows, axis=1)
    apart = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=apart, data=rows, op0=nl.subtract, operand0=top)
    power = nl.ndarray((size, width), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(dst=power, op=nl.exp, data=apart, reduce_op=nl.add, reduce_res=total)
    size_of_it = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=size_of_it, op=nl.log, data=total)
    whole = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=whole, data1=size_of_it, data2=top, op=nl.add)
    return whole


@nki.jit
def kernel(x, label):
    """The cross entropy of each row of logits and the number of its class."""
    M, N = x.shape
    TILE = 128
    y = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    place = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.iota(dst=place, pattern=[[1, N]], offset=0, channel_multiplier=0)
    for m in range(M // TILE):
        rows = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=x[m * TILE:(m + 1) * TILE, 0:N])
        wanted = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=wanted, src=label[m * TILE:(m + 1) * TILE, 0:1])
        hit = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=hit, data=place, op0=nl.equal, operand0=wanted)
        picked = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=picked, data1=hit, data2=rows, op=nl.multiply)
        own = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=own, op=nl.add, data=picked, axis=1)
        whole = log_of_sum(rows, (TILE, N))
        out = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=out, data1=whole, data2=own, op=nl.subtract)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:1], src=out)
    return y
