# SPDX-License-Identifier: Apache-2.0
"""The compiler's package."""

from standin import host

__version__ = host.LINE["cc"]
