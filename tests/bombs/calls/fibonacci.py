# SPDX-License-Identifier: Apache-2.0
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


def fib(n):
    if n < 2:  # <-
        return n  # <-
    return fib(n - 1) + fib(n - 2)  # <-


@nki.jit
def kernel(x):
    n = fib(60)  # <-
    return x
