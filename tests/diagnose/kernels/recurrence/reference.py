# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, T = 256, 384


def get_inputs():
    a = np.random.uniform(0.5, 0.99, size=(M, T)).astype(np.float32)
    b = np.random.normal(size=(M, T)).astype(np.float32)
    return [a, b]


def forward(a, b):
    h, out = np.zeros(M, np.float32), np.empty_like(b)
    for t in range(T):
        h = a[:, t] * h + b[:, t]
        out[:, t] = h
    return out
