# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl

import itertools


@nki.jit
def kernel(x):
    for row in itertools.product(range(100), repeat=6):  # <-
        pass  # <-
    return x
