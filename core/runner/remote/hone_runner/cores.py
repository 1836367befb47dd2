# SPDX-License-Identifier: Apache-2.0
"""NeuronCores: which there are, who holds them, and taking some for a while."""

import contextlib


class Devices:
    """The devices of a host: lnc (logical core size), cores (list of dicts), warnings."""

    def __init__(self, settings, neuron_ls):
        self.lnc, self.instance, self.cores, self.warnings = 2, None, [], []

    def describe(self):
        return self.cores


class Held:
    """Cores that are ours for now: logical and physical ids."""

    def __init__(self, logical, lnc):
        self.logical, self.lnc = list(logical), lnc

    def variables(self):
        """What a process that uses them needs in its environment."""
        return {"NEURON_RT_VISIBLE_CORES": ",".join(str(core) for core in self.logical),
                "NEURON_LOGICAL_NC_CONFIG": str(self.lnc), "NEURON_RT_RESET_CORES": "1",
                "NEURON_RT_EXEC_TIMEOUT": "30"}


@contextlib.contextmanager
def take(context, count, wait_s):
    yield Held(range(count), context.environment.devices.lnc)
