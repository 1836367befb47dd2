# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


def work(rows=list(range(10**10))):  # <-
    return rows


@nki.jit
def kernel(x):
    work()  # <-
    return x
