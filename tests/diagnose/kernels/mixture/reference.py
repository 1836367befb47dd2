# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, N = 256, 300


def get_inputs():
    return [np.random.normal(size=(M, N)).astype(np.float32) for _ in range(3)]


def forward(a, b, g):
    share = 1 / (1 + np.exp(-g))
    return (share * a + (1 - share) * b).astype(np.float32)
