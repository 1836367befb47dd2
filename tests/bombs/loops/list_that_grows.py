# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    todo = [0]
    for item in todo:  # <-
        todo.append(item + 1)  # <-
    return x
