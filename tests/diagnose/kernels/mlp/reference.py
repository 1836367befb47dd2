# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, K, H, N = 256, 256, 384, 256
TOLERANCE = 1e-4


def get_inputs():
    x = np.random.normal(size=(M, K)).astype(np.float32)
    a = np.random.normal(size=(K, H)).astype(np.float32) / 16
    b = np.random.normal(size=(H, 1)).astype(np.float32)
    c = np.random.normal(size=(H, N)).astype(np.float32)
    return [x, a, b, c]


def forward(x, a, b, c):
    hidden = np.tanh(x @ a / 2 + b.T)
    return hidden @ c


def transform_to_nki_inputs(inputs):
    x, a, b, c = inputs
    return [np.ascontiguousarray(x.T), a, b, c]
