# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


def down(n):  # <-
    return down(n + 1)  # <-


@nki.jit
def kernel(x):
    while True:  # <-
        try:  # <-
            n = down(0)  # <-
        except RecursionError:  # <-
            n = 0  # <-
    return x
