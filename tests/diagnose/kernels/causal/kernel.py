# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(s):
    """Softmax of the part of each row up to the diagonal; the rest is 0."""
    M, N = s.shape
    TILE = 128
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in range(M // TILE):
        score = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=score, src=s[m * TILE:(m + 1) * TILE, 0:N])
        seen = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.affine_select(dst=seen, pattern=[[-1, N]], offset=m * TILE, channel_multiplier=1,
                           on_true_tile=score, on_false_value=-1e30, cmp_op=nl.greater_equal)
        top = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=seen, axis=1, negate=True)
        power = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=power, op=nl.exp, data=seen, bias=top, reduce_op=nl.add,
                               reduce_res=total)
        inverse = nl.ndarray((TILE, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        out = nl.ndarray((TILE, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=out, data=power, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=y[m * TILE:(m + 1) * TILE, 0:N], src=out)
    return y
