# SPDX-License-Identifier: Apache-2.0
"""Only its presence is asked for."""
