# SPDX-License-Identifier: Apache-2.0
"""Its presence is all that is asked for."""
