# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, K, N = 256, 384, 256
TOLERANCE = 1e-4


def get_inputs():
    x = np.random.normal(size=(M, K)).astype(np.float32)
    return [x, np.random.normal(size=(K, N)).astype(np.float32)]


def forward(x, w):
    y = x @ w
    return y - y.mean(axis=1, keepdims=True)


def transform_to_nki_inputs(inputs):
    x, w = inputs
    return [np.ascontiguousarray(x.T), w]
