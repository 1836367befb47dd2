# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)  # <-
    return ackermann(m - 1, ackermann(m, n - 1))  # <-


@nki.jit
def kernel(x):
    n = ackermann(4, 2)  # <-
    return x
