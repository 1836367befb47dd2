# SPDX-License-Identifier: Apache-2.0
from standin import driver, host

if "driver" in host.LINE["api"]:
    CompileOptions, compile_to_bir = driver.CompileOptions, driver.compile_to_bir
    compile_bir_to_neff = driver.compile_bir_to_neff
if "context" in host.LINE["api"] and host.LINE["nki"] < "0.6":
    nki_ir_context = driver.nki_ir_context
if "nir" in host.LINE["api"]:
    _compile_bir_to_neff = driver._compile_bir_to_neff
