# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    pair = [1]
    same = [1]
    for i in range(45):
        pair = [pair, pair]
        same = [same, same]
    if pair == same:  # <-
        print("equal")
    return x
