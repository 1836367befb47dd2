# SPDX-License-Identifier: Apache-2.0
"""A scripted model's service that is out of order: it does not answer as many questions as a file
says."""

import sys


def answer_or_exit(path):
    try:
        with open(path, encoding="utf-8") as file:
            left = int(file.read() or 0)
    except FileNotFoundError:
        return
    if left > 0:
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(left - 1))
        sys.exit("503 out of order")
