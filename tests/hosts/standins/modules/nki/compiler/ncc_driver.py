# SPDX-License-Identifier: Apache-2.0
from standin import host, kernels

CompileOptions, extract_perf_metrics = kernels.CompileOptions, kernels.extract_perf_metrics
if "frontend" in host.LINE["api"]:
    CompiledKernel = kernels.CompiledKernel
