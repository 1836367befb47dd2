# SPDX-License-Identifier: Apache-2.0
"""nrtpy: runs NEFFs. Lives in an environment of its own."""

import os

from standin import host, kernels

__version__ = host.LINE["nrtpy"]
if "/opt/aws/neuron/lib" not in os.environ.get("LD_LIBRARY_PATH", ""):
    raise ImportError("libnrt.so.1: cannot open shared object file: No such file or directory")
NrtpyModel, NrtpyTensor = kernels.LoadedModel, kernels.Tensor
NrtpyError, NrtError = kernels.NrtpyError, kernels.NrtError


def configure(visible_cores=None, **options):
    if visible_cores is not None:
        os.environ["NEURON_RT_VISIBLE_CORES"] = ",".join(str(core) for core in visible_cores)
