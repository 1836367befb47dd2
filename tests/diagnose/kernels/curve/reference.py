# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, N = 256, 320


def get_inputs():
    return [np.random.normal(size=(M, N)).astype(np.float32) for _ in range(2)]


def forward(x, r):
    inner = np.float32(0.8) * (x + np.float32(0.0447) * x ** 3)
    return np.float32(0.5) * x * (1 + np.tanh(inner)) + r
