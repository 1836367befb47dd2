# SPDX-License-Identifier: Apache-2.0
import numpy as np

B, K, M, N = 3, 256, 128, 192


def get_inputs():
    x = np.random.normal(size=(B, K, M)).astype(np.float32)
    w = np.random.normal(size=(B, K, N)).astype(np.float32)
    return [x, w, np.random.normal(size=(B, N), scale=4).astype(np.float32)]


def forward(x, w, b):
    product = np.einsum("ikm,ikn->imn", x, w) + b[:, None, :]
    return np.maximum(product, 0).astype(np.float32)
