# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    seen = {}
    while True:  # <-
        seen[len(seen)] = [len(seen)]  # <-
    return x
