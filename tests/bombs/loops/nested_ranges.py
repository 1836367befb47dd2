# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def kernel(x):
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    for a in nl.sequential_range(10**4):  # <-
        for b in nl.affine_range(10**4):  # <-
            for c in nl.affine_range(10**4):  # <-
                tile[...] = nl.add(tile, 1.0)  # <-
    return x
