# SPDX-License-Identifier: Apache-2.0
"""Drives whichever Neuron SDK is on the host: compile, run, benchmark, profile, and what their
logs mean. Processes, the lock and the protocol's output come from the package above."""
