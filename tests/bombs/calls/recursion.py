# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


def down(n):
    return down(n + 1)  # <-


@nki.jit
def kernel(x):
    down(0)  # <-
    return x
