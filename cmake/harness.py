# SPDX-License-Identifier: Apache-2.0
"""Makes what the Python of a reference runs: harness.py PROGRAM CODE FILE...

PROGRAM is the text of the files and a call of main(). CODE is its byte code with the number of this
Python's release before it: another release takes the text."""

import importlib.util
import marshal
import sys


def main(program, code, *paths):
    text = b""
    for path in paths:
        with open(path, "rb") as file:
            text += file.read() + b"\n"
    text += b"main()\n"
    with open(program, "wb") as file:
        file.write(text)
    made = compile(text, "<string>", "exec", dont_inherit=True)
    with open(code, "wb") as file:
        file.write(importlib.util.MAGIC_NUMBER + marshal.dumps(made))


main(*sys.argv[1:])
