# SPDX-License-Identifier: Apache-2.0
"""What an execution returns: the device model's numbers, and what switches make of them."""

import hashlib
import os

import numpy as np

from standin import host, model, runtime


def of(neff, arrays, key):
    """[(dtype name, array)] of a NEFF on these inputs."""
    try:
        outputs = model.execute(neff, arrays)
    except model.Unusable as problem:
        raise runtime.Failed(1006 if "out of" in str(problem) else 1, "execute model",
                             ["NRT:nrt_infodump  Failure: %s in nrt_execute()" % problem]) from None
    return spoil(neff, outputs, key)


def spoil(neff, outputs, key):
    source = neff.source
    if host.switch("ignores_inputs", source):
        first = host.state("first", neff.hash + ".npz")
        if not os.path.exists(first):
            np.savez(first, *[array for _, array in outputs])
        saved = np.load(first)
        outputs = [(name, saved[at]) for (name, _), at in zip(outputs, saved.files)]
    if neff.info.get("zeros") or host.switch("zeros", source):
        outputs = [(name, np.zeros_like(array)) for name, array in outputs]
    if host.switch("nan", source):
        outputs = [(name, with_nan(name, array)) for name, array in outputs]
    wrong = host.switch("wrong_on", source)
    if wrong is not None and number_of(neff.hash, key) == int(wrong):
        outputs = [(name, shifted(array)) for name, array in outputs]
    return outputs


def digest(arrays):
    found = hashlib.sha256()
    for name in sorted(arrays):
        found.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()[:24]


def number_of(neff, key):
    """The number of this input among the different ones that this NEFF was given, from 0."""
    path = host.state("seen", neff)
    known = host.read_json(path, [])
    if key not in known:
        known.append(key)
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(known).replace("'", '"'))
    return known.index(key)


def with_nan(name, array):
    """The array with one element that is no number. In raw codes it gets the code of one."""
    found = np.array(array)
    code = {"bfloat16": 0x7fc0, "float8_e5m2": 0x7f, "float8_e4m3": 0x7f, "float8_e4m3fn": 0x7f}
    flat = found.reshape(-1)
    if name in code:
        flat[flat.size // 2] = code[name]
    elif found.dtype.kind == "f":
        flat[flat.size // 2] = np.nan
    return found


def shifted(array):
    """Wrong numbers that look right at a glance: the rows are off by one."""
    return np.roll(array, 1, axis=0)
