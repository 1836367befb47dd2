# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    tiles = []
    for i in range(10**7):  # <-
        tile = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.sbuf)  # <-
        tiles.append(tile)  # <-
    return x
