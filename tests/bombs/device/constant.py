# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def kernel(x):
    table = nl.shared_constant(np.zeros((10**5, 10**5), dtype=np.float32))  # <-
    return x
