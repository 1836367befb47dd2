# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    rows = sorted(range(10**7), key=lambda i: -i)  # <-
    return x
