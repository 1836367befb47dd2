# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


class Sizes:
    n = 0
    while n >= 0:  # <-
        n += 1  # <-


@nki.jit
def kernel(x):
    print(Sizes.n)  # <-
    return x
