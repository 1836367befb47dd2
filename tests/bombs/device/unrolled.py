# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    for i in range(3 * 10**6):  # <-
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)  # <-
    return x
