# SPDX-License-Identifier: Apache-2.0
"""The byte code of what a reference's Python runs is that of its text: harness_code.py PROGRAM
CODE."""

import importlib.util
import marshal
import sys


def main(program, code):
    with open(program, "rb") as file:
        text = file.read()
    with open(code, "rb") as file:
        made = file.read()
    assert text.endswith(b"\nmain()\n"), text[-20:]
    if made[:4] != importlib.util.MAGIC_NUMBER:
        print("the byte code is of another release than this Python")
        return 77
    assert marshal.loads(made[4:]) == compile(text, "<string>", "exec", dont_inherit=True)
    return 0


sys.exit(main(*sys.argv[1:]))
