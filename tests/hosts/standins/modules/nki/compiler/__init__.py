# SPDX-License-Identifier: Apache-2.0
"""Not on every line. GenericKernel is of 0.1 and 0.2."""

from standin import host, kernels

GenericKernel = UnifiedKernel = kernels.GenericKernel
if host.LINE["api"] == ["call"]:
    raise ModuleNotFoundError("No module named 'nki.compiler'", name="nki.compiler")
