# SPDX-License-Identifier: Apache-2.0
"""Uses whichever Neuron SDK is on the host to compile, run, benchmark and profile, and reads its
logs. Processes, the lock and the protocol's output come from the package above."""
