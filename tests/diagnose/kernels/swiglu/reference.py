# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, K, N = 128, 256, 512
TOLERANCE = 1e-4


def get_inputs():
    x = np.random.normal(size=(M, K)).astype(np.float32)
    a = np.random.normal(size=(K, N)).astype(np.float32) / 16
    b = np.random.normal(size=(K, N)).astype(np.float32) / 16
    return [x, a, b]


def forward(x, a, b):
    gate = x @ a
    up = x @ b
    return gate / (1 + np.exp(-gate)) * up


def transform_to_nki_inputs(inputs):
    x, a, b = inputs
    return [np.ascontiguousarray(x.T), a, b]
