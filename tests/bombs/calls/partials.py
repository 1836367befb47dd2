# SPDX-License-Identifier: Apache-2.0
import functools

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    call = int
    for i in range(40000):
        call = functools.partial(call)
    n = call()  # <-
    return x
