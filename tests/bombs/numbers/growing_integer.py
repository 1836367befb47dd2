# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    n = 3
    while True:
        n = n * n + 1  # <-
    return x
