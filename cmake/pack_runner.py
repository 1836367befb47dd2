# SPDX-License-Identifier: Apache-2.0
"""Packs the remote runner: pack_runner.py OUTPUT ROOT NAME... FILE...

Writes a zip archive of ROOT/NAME... and of files from elsewhere that Python runs as it is: modules
lie at its top, tables (.def) in the package hone_runner, which reads them. The same files always
make the same archive, on any machine and for any user: its hash is the runner's name on a host.
(Archives of cmake -E tar hold times of access and user ids.)"""

import os
import sys
import zipfile


def add(archive, name, path):
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    entry.external_attr = 0o100644 << 16
    entry.create_system = 3
    with open(path, "rb") as file:
        archive.writestr(entry, file.read(), zipfile.ZIP_DEFLATED, 9)


def place_of(path):
    name = os.path.basename(path)
    return "hone_runner/" + name if name.endswith(".def") else name


def main(output, root, *names):
    own = sorted(name for name in names if not os.path.isabs(name))
    with zipfile.ZipFile(output, "w") as archive:
        for name in own:
            add(archive, name, os.path.join(root, name))
        for path in sorted(set(names) - set(own)):
            add(archive, place_of(path), path)


main(*sys.argv[1:])
