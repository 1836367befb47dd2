# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, N = 256, 260


def get_inputs():
    return [np.random.uniform(-3, 3, size=(M, N)).astype(np.float32)]


def forward(x):
    step = np.abs(x).max(axis=1, keepdims=True) / np.float32(15)
    return np.clip(x / step, -12, 12) * step
