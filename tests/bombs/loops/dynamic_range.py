# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)

    def body(i):
        nisa.memset(dst=tile, value=0.0)  # <-

    nl.fori_loop(0, 10**12, body)  # <-
    return x
