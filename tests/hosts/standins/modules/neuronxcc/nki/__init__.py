# SPDX-License-Identifier: Apache-2.0
"""The legacy namespace."""

from standin import kernels, names

names.install("neuronxcc.nki.language", "neuronxcc.nki.isa", "neuronxcc.nki.typing",
              "neuronxcc.nki.compiler", "neuronxcc.nki.tensor")
jit, baremetal, benchmark = kernels.legacy_jit, kernels.baremetal, kernels.benchmark
profile, simulate_kernel = kernels.profile, kernels.simulate_kernel
trace = kernels.legacy_jit
