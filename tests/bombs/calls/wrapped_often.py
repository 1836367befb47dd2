# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


def work():
    return 0


for i in range(1000):
    work = (lambda before: lambda: before() + before())(work)  # <-


@nki.jit
def kernel(x):
    work()  # <-
    return x
