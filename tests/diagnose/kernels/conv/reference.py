# SPDX-License-Identifier: Apache-2.0
import numpy as np

C, T = 256, 768


def get_inputs():
    x = np.random.normal(size=(C, T + 3)).astype(np.float32)
    w = np.random.normal(size=(C, 4)).astype(np.float32)
    b = np.random.normal(size=(C, 1)).astype(np.float32)
    return [x, w, b]


def forward(x, w, b):
    total = np.zeros((C, T), dtype=np.float32)
    for k in range(4):
        total = total + x[:, k:k + T] * w[:, k:k + 1]
    return np.maximum(total + b, np.float32(0))
