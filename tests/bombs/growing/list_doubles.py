# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    items = [1, 2]
    while True:  # <-
        items = items + items  # <-
    return x
