# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    names = []
    while True:  # <-
        names.append("tile " * 1000 + str(len(names)))  # <-
    return x
