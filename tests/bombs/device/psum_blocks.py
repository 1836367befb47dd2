# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def kernel(x):
    tile = nl.ndarray((10**6, nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)  # <-
    for i in nl.affine_range(10**6):  # <-
        tile[i] = nl.add(nl.load(x), 1.0)  # <-
    for i in nl.affine_range(10**6):  # <-
        nl.store(x, tile[i])  # <-
    return x
