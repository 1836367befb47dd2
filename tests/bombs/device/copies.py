# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    y = nl.ndarray((4096, 65536), dtype=nl.float32, buffer=nl.shared_hbm)
    z = nl.ndarray((4096, 65536), dtype=nl.float32, buffer=nl.private_hbm)
    for i in range(10**5):  # <-
        nisa.dma_copy(dst=z, src=y)  # <-
        nisa.dma_copy(dst=y, src=z)  # <-
    return y
