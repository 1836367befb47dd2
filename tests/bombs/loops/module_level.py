# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


table = {i: [i] for i in range(10**12)}  # <-


@nki.jit
def kernel(x):
    print(len(table))  # <-
    return x
