# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def kernel(x):
    i, j = nl.mgrid[0:10**7, 0:10**7]
    tile = nl.load(x[i, j])  # <-
    return x
