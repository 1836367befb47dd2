# SPDX-License-Identifier: Apache-2.0
"""Not on every line."""

from standin import host

if not set(host.LINE["api"]) & {"compile", "nir", "frontend", "context", "driver"}:
    raise ModuleNotFoundError("No module named 'nki.framework'", name="nki.framework")
