# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.dynamic_range(10**12):  # <-
        nisa.memset(dst=tile, value=0.0)  # <-
    return x
