# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


class Node:
    def __init__(self, before):  # <-
        self.before = before  # <-
        self.name = "node"  # <-


@nki.jit
def kernel(x):
    last = None
    while True:  # <-
        last = Node(last)  # <-
    return x
