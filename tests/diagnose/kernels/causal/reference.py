# SPDX-License-Identifier: Apache-2.0
import numpy as np

N = 256


def get_inputs():
    return [np.random.normal(size=(N, N), scale=2).astype(np.float32)]


def forward(s):
    seen = np.where(np.tril(np.ones((N, N), bool)), s, np.float32(-1e30))
    power = np.exp(seen - seen.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)
