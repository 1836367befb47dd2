# SPDX-License-Identifier: Apache-2.0
"""The files that stand for NEFF (a header of 1024 bytes, then a tar) and NTFF (a header, then
zlib). Their contents are our own, and only the stand-in reads them."""

import hashlib
import io
import json
import struct
import tarfile
import zlib

HEADER = struct.Struct("<5Q128sI32s16s256s")
NTFF_MAGIC = b"NTFF"


class Broken(Exception):
    """No file of ours, or one of another version. The text says it as the tools do."""


def pack(parts):
    """{name: bytes} as a NEFF's bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, data in sorted(parts.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    data = raw.getvalue()
    digest = hashlib.sha256(data).digest()
    major, minor = json.loads(parts["sg00/def.json"]).get("neff_version", (1, 1))
    head = HEADER.pack(2, 1024, len(data), major, minor, b"standin", 1, digest, digest[:16],
                       b"sg00".ljust(256, b"\0"))
    return head.ljust(1024, b"\0") + data


def unpack(path):
    """{name: bytes} of a NEFF, its own hash under the name "hash"."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as problem:
        raise Broken("failed to open NEFF %s: %s" % (path, problem.strerror)) from None
    if len(raw) < 1024 or HEADER.unpack_from(raw)[1] != 1024:
        raise Broken("NEFF %s is corrupt" % path)
    fields = HEADER.unpack_from(raw)
    try:
        with tarfile.open(fileobj=io.BytesIO(raw[1024:1024 + fields[2]])) as tar:
            parts = {one.name: tar.extractfile(one).read() for one in tar.getmembers()}
    except tarfile.TarError:
        raise Broken("NEFF %s is corrupt" % path) from None
    parts["hash"] = fields[7].hex().encode()
    return parts


class Neff:
    """A compiled kernel. info: kernel, source_file, inputs [{name, dtype, shape}], scalars {name:
    value}, outputs (names; None: unknown before it ran), lnc, target, generation, dialect,
    latency_us, instructions, metrics, zeros."""

    def __init__(self, path):
        parts = unpack(path)
        self.path = path
        self.hash = parts["hash"].decode()[:20]
        self.info = json.loads(parts["sg00/def.json"])
        self.source = parts["kernel.py"].decode("utf-8", "surrogateescape")
        self.profile = json.loads(parts["sg00/model.json"])


def write_ntff(path, version, info):
    data = zlib.compress(json.dumps(info).encode())
    with open(path, "wb") as file:
        file.write(NTFF_MAGIC + struct.pack("<II", version, len(data)) + data)


def read_ntff(path, supported):
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as problem:
        raise Broken("Failed to load profile session  NTFF=%s error=\"open %s: %s\""
                     % (path, path, (problem.strerror or "").lower())) from None
    if raw[:4] != NTFF_MAGIC or len(raw) < 12:
        raise Broken("Failed to load profile session  NTFF=%s error=\"unexpected end of file\""
                     % path)
    version, size = struct.unpack_from("<II", raw, 4)
    if version > supported:
        raise Broken("Failed to load profile session  NTFF=%s error=\"NTFF version %d is not "
                     "supported "
                     "in this version of the tool (supported: 1 - %d). Please upgrade "
                     "aws-neuronx-tools.\"" % (path, version, supported))
    return json.loads(zlib.decompress(raw[12:12 + size]))
