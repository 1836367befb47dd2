# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    y = nl.ndarray((128, 32768), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((128, 32768), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=a, value=1.0)
    for i in range(900000):  # <-
        nisa.activation(dst=a, op=nl.exp, data=a)  # <-
    nisa.dma_copy(dst=y, src=a)
    return y
