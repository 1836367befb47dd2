# SPDX-License-Identifier: Apache-2.0
import nki
import nki.isa as nisa
import nki.language as nl


class Box:
    @property
    def size(self):
        return self.size  # <-


@nki.jit
def kernel(x):
    size = Box().size  # <-
    return x
