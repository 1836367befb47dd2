# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    left = 1.0
    while left > 0.0:  # <-
        left = left / 2.0 + 1.0  # <-
    return x
