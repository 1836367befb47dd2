# SPDX-License-Identifier: Apache-2.0
"""SpikeModel and SpikeTensor, from 0.6 on."""

from standin import host, kernels

if host.LINE["nki"] < "0.6":
    raise ModuleNotFoundError("No module named 'nki.runtime'", name="nki.runtime")
SpikeModel, SpikeTensor, SpikeError, NrtError = (kernels.LoadedModel, kernels.Tensor,
                                                 kernels.NrtpyError, kernels.NrtError)
