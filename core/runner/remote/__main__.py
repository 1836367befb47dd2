# SPDX-License-Identifier: Apache-2.0
"""hone's remote runner: python3 hone_runner.pyz COMMAND ... (see REMOTE.md)."""

import sys

from hone_runner import commands

if __name__ == "__main__":
    sys.exit(commands.main(sys.argv[1:]))
