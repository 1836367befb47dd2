# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, N = 256, 384


def get_inputs():
    return [np.random.normal(size=(M, N), scale=3).astype(np.float32)]


def forward(x):
    top = x.max(axis=1, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=1, keepdims=True)) + top
