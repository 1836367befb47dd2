# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    tower = [[[(a, b, c) for a in range(1000)] for b in range(1000)] for c in range(1000)]  # <-
    return x
