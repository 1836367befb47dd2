# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def kernel(x):
    tile = nl.zeros((10**9, nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)  # <-
    return x
