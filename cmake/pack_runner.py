# SPDX-License-Identifier: Apache-2.0
"""Packs the remote runner: pack_runner.py OUTPUT ROOT SHARED NAME...

Writes a zip archive of ROOT/NAME... and SHARED that Python runs as it is. The same files always make
the same archive, on any machine and for any user: its hash is the runner's name on a host. (Archives
of cmake -E tar hold times of access and user ids.)"""

import os
import sys
import zipfile


def add(archive, name, path):
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    entry.external_attr = 0o100644 << 16
    entry.create_system = 3
    with open(path, "rb") as file:
        archive.writestr(entry, file.read(), zipfile.ZIP_DEFLATED, 9)


def main(output, root, shared, *names):
    with zipfile.ZipFile(output, "w") as archive:
        for name in sorted(names):
            add(archive, name, os.path.join(root, name))
        add(archive, os.path.basename(shared), shared)


main(*sys.argv[1:])
