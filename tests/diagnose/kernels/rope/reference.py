# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, D = 384, 128


def get_inputs():
    x = np.random.normal(size=(M, D)).astype(np.float32)
    angle = np.random.uniform(0, 6, size=(M, D // 2))
    return [x, np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)]


def forward(x, c, s):
    one, two = x[:, :D // 2], x[:, D // 2:]
    return np.concatenate([one * c - two * s, two * c + one * s], axis=1)
