# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def kernel(x):
    table = np.ones((1000, 1000))
    rows = [table]
    while True:  # <-
        rows.append(rows[-1] + table)  # <-
    return x
