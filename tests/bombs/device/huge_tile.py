# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 10**9), dtype=nl.float32, buffer=nl.sbuf)  # <-
    nisa.memset(dst=tile, value=0.0)
    return x
