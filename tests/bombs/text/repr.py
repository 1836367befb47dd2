# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    pair = ["x"]
    for i in range(60):
        pair = [pair, pair]
    while True:  # <-
        text = repr(pair)  # <-
    return x
