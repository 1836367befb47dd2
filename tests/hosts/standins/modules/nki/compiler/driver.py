# SPDX-License-Identifier: Apache-2.0
from standin import host, kernels

if "driver" in host.LINE["api"]:
    CompileOptions, compile_to_bir = kernels.CompileOptions, kernels.compile_to_bir
    compile_bir_to_neff = kernels.compile_bir_to_neff
if "nir" in host.LINE["api"]:
    def _compile_bir_to_neff(bir, compile_opts, inputs=None):
        return kernels.compile_bir_to_neff(bir, compile_opts, inputs)
