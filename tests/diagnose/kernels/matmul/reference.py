# SPDX-License-Identifier: Apache-2.0
import numpy as np

M, N, K = 256, 512, 384

# What the kernel's arguments are on the device, in their order.
nki_input_dtypes = ["bfloat16", "bfloat16"]


def round_to_bfloat16(values):
    """float32 numbers that bfloat16 holds exactly: the nearest, ties to even."""
    bits = values.view(np.uint32)
    bits = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def get_inputs():
    """a and b, rounded to bfloat16, so that forward sees the very numbers the kernel sees."""
    a = np.random.normal(size=(M, K)).astype(np.float32)
    b = np.random.normal(size=(K, N)).astype(np.float32)
    return [round_to_bfloat16(a), round_to_bfloat16(b)]


def forward(a, b):
    return a @ b


def transform_to_nki_inputs(inputs):
    a, b = inputs
    return [np.ascontiguousarray(a.T), b]


def transform_nki_outputs(k_res, ref):
    return [np.reshape(k_res[0] if isinstance(k_res, (tuple, list)) else k_res, ref.shape)]
