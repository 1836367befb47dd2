# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    parts = []
    for i in range(40):
        y = nl.ndarray((2**14, 2**14), dtype=nl.bfloat16, buffer=nl.shared_hbm)  # <-
        nisa.dma_copy(dst=y[0:128, 0:512], src=x)  # <-
        parts.append(y)
    tile = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.sbuf)
    for y in parts:
        nisa.dma_copy(dst=tile, src=y[0:128, 0:512])  # <-
    return tuple(parts)
