# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    text = "a" * 10**6
    while True:  # <-
        n = text.rfind("b" + text[1:])  # <-
    return x
