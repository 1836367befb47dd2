# SPDX-License-Identifier: Apache-2.0
"""Types that numpy lacks: void types of two bytes and of one byte, whose field says what they are.
They hold codes (arrays are viewed as them), but do not convert as the real ones would."""

import numpy as np

bfloat16 = np.dtype([("bfloat16", "<u2")])
float8_e4m3 = np.dtype([("float8_e4m3", "|u1")])
float8_e4m3fn = np.dtype([("float8_e4m3fn", "|u1")])
float8_e5m2 = np.dtype([("float8_e5m2", "|u1")])
float8_e8m0fnu = np.dtype([("float8_e8m0fnu", "|u1")])
