# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    outputs = []
    for i in range(64):
        y = nl.ndarray((2**14, 2**14), dtype=nl.float32, buffer=nl.shared_hbm)  # <-
        nisa.dma_copy(dst=y[0:128, 0:512], src=tile)  # <-
        outputs.append(y)
    return tuple(outputs)
