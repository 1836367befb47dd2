# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, N = 256, 512


def get_inputs():
    return [np.random.normal(size=(M, N)).astype(np.float32)]


def forward(x):
    return np.maximum(x[:, 0::2], x[:, 1::2])
