# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    n = 0
    while n >= 0:  # <-
        nisa.memset(dst=tile, value=1.0)  # <-
        n += 1  # <-
    return x
