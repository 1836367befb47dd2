# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a Neuron host: modules and tools of one SDK line, driven by hone's device
model."""
