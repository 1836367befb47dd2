# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl

import re  # <-


@nki.jit
def kernel(x):
    if re.match("(a+)+$", "a" * 10**4 + "b"):  # <-
        pass
    return x
