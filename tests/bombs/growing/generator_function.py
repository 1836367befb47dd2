# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


def numbers():
    n = 0
    while True:  # <-
        yield n  # <-
        n += 1  # <-


@nki.jit
def kernel(x):
    for i in numbers():  # <-
        pass  # <-
    return x
