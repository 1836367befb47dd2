# SPDX-License-Identifier: Apache-2.0
"""The one route from a kernel of nki 0.1 or 0.2 to a NEFF without a framework."""

from standin import host, kernels

if "framework" not in host.LINE["api"]:
    raise ImportError("cannot import name 'compile_nki_ir_kernel_to_neff'")


class NKI_IR_VERSION:
    beta1, beta2 = "beta1", "beta2"


compile_nki_ir_kernel_to_neff = kernels.compile_nki_ir_kernel_to_neff
