# SPDX-License-Identifier: Apache-2.0
"""The remote runner of hone. Standard library and numpy, Python 3.8 and newer."""
