# SPDX-License-Identifier: Apache-2.0
"""The package nki, from 0.1 on."""

from standin import host, kernels, names

__version__ = host.LINE["nki"]
names.install("nki.language", "nki.isa", "nki.typing", "nki.collectives", "nki.meta")
if "framework" in host.LINE["api"]:
    jit = kernels.jit_framework
    for _name in ("baremetal", "benchmark", "profile", "simulate_kernel"):
        globals()[_name] = kernels.not_implemented(_name)
else:
    jit, simulate = kernels.jit, kernels.simulate
    if __version__ < "0.6":
        for _name in ("baremetal", "benchmark", "profile", "simulate_kernel"):
            globals()[_name] = kernels.not_implemented(_name)
