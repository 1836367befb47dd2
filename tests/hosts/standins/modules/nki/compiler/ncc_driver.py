# SPDX-License-Identifier: Apache-2.0
from standin import driver, host, kernels

CompileOptions, extract_perf_metrics = driver.CompileOptions, kernels.extract_perf_metrics
if set(host.LINE["api"]) & {"frontend", "context"}:
    CompiledKernel = driver.CompiledKernel
