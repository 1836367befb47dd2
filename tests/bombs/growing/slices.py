# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    rows = list(range(10**5))
    parts = []
    while True:  # <-
        parts.append(rows[1:])  # <-
    return x
