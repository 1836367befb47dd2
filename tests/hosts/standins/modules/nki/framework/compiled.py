# SPDX-License-Identifier: Apache-2.0
"""nki.framework.compiled, whose contents move from release to release."""

from standin import driver, host, kernels

if "compile" in host.LINE["api"]:
    CompileKernel = StandaloneKernel = kernels.CompileKernel
if "nir" in host.LINE["api"]:
    compile_kernel_to_nir = driver.compile_kernel_to_nir
