# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    table = {i: {j: str(j) for j in range(1000)} for i in range(10**6)}  # <-
    return x
