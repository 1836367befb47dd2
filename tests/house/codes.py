#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every diagnostic about a kernel has a code, and hone explain knows it.

    codes.py SOURCE HONE

Reads the calls that make diagnostics in core/nki and core/device. Fails where a code is empty, and
for a code that hone explain does not know."""

import glob
import os
import re
import subprocess
import sys

MAKERS = re.compile(r"\b(interp_error|interp_fatal|interp_warn|check_error|check_warn|nki_report|"
                    r"diag_add|device_report|report_storage)\(")
CODE = re.compile(r'^"(hone-[a-z0-9-]+|err_[a-z0-9_]+|NCC_\w+|[A-Z]\w*(?:Error|Exception)|'
                  r'StopIteration)"$')


def arguments(text, start):
    """The arguments of the call whose parenthesis opens before `start`."""
    depth, quoted, found, at = 1, False, [], start
    while depth and at < len(text):
        char = text[at]
        if quoted and char == "\\":
            at += 1
        elif char == '"':
            quoted = not quoted
        elif not quoted and char in "([{":
            depth += 1
        elif not quoted and char in ")]}":
            depth -= 1
        if not quoted and (depth == 0 or (depth == 1 and char == ",")):
            found.append(text[start:at].strip())
            start = at + 1
        at += 1
    return found


def main():
    source, hone = sys.argv[1], sys.argv[2]
    listed = subprocess.run([hone, "explain"], capture_output=True, text=True, check=True).stdout
    known = {line.split("  ")[0] for line in listed.splitlines()}
    wrong, codes = [], set()
    for folder in ("nki", "device"):
        for path in glob.glob(os.path.join(source, "core", folder, "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            for call in MAKERS.finditer(text):
                given = arguments(text, call.end())
                place = "%s:%d" % (os.path.relpath(path, source),
                                   text.count("\n", 0, call.start()) + 1)
                if '""' in given[:5] and "DIAG_NOTE" not in given:
                    wrong.append("%s: a diagnostic without a code" % place)
                codes.update(one.strip('"') for one in given if CODE.match(one))
    for code in sorted(codes - known):  # lints are not in the list
        if subprocess.run([hone, "explain", code], capture_output=True, check=False).returncode:
            wrong.append("hone explain does not know %s" % code)
    if len(codes) < 80:
        wrong.append("only %d codes were found: are the calls named otherwise?" % len(codes))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
