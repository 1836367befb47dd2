# SPDX-License-Identifier: Apache-2.0
"""other_runner.py RUNNER EVALUATE OUTPUT: the runner's archive with another evaluate.py in it."""

import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as whole, zipfile.ZipFile(sys.argv[3], "w") as other:
    for name in whole.namelist():
        data = whole.read(name)
        if name == "hone_runner/evaluate.py":
            with open(sys.argv[2], "rb") as file:
                data = file.read()
        other.writestr(name, data)
