# SPDX-License-Identifier: Apache-2.0
"""The evaluation of a kernel on a host with a Neuron SDK."""

from hone_runner import context as contexts


def evaluate(context):
    """The members of the result event for a job of the kind kernel."""
    release = context.environment.release
    raise contexts.Failed("environment", "kernels are not run by this runner on %s"
                          % (release or "a host without a Neuron SDK"))
