# SPDX-License-Identifier: Apache-2.0
"""Packs the remote runner: pack_runner.py [--compiled] OUTPUT ROOT NAME... FILE...

Writes a zip archive of ROOT/NAME... and of files from elsewhere that Python runs as it is: modules
lie at its top, tables (.def) in the package hone_runner, which reads them. The same files always
make the same archive, on any machine and for any user: its hash is the runner's name on a host.
(Archives of cmake -E tar hold times of access and user ids.)

With --compiled each module has its byte code beside it, which a Python of this release takes
instead of compiling the module at each start, and any other passes over."""

import importlib.util
import marshal
import os
import sys
import zipfile


UNCHECKED = (1).to_bytes(4, "little")   # it is not held against the source, which is packed with it


def put(archive, name, data):
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    entry.external_attr = 0o100644 << 16
    entry.create_system = 3
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)


def byte_code(name, source):
    code = compile(source, "hone_runner.pyz/" + name, "exec", dont_inherit=True)
    return b"".join((importlib.util.MAGIC_NUMBER, UNCHECKED, importlib.util.source_hash(source),
                     marshal.dumps(code)))


def add(archive, name, path, compiled):
    with open(path, "rb") as file:
        data = file.read()
    put(archive, name, data)
    if compiled and name.endswith(".py"):
        put(archive, name + "c", byte_code(name, data))


def place_of(path):
    name = os.path.basename(path)
    return "hone_runner/" + name if name.endswith(".def") else name


def main(*arguments):
    compiled = arguments[0] == "--compiled"
    output, root, *names = arguments[compiled:]
    own = sorted(name for name in names if not os.path.isabs(name))
    with zipfile.ZipFile(output, "w") as archive:
        for name in own:
            add(archive, name, os.path.join(root, name), compiled)
        for path in sorted(set(names) - set(own)):
            add(archive, place_of(path), path, compiled)


main(*sys.argv[1:])
