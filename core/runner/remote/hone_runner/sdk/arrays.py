# SPDX-License-Identifier: Apache-2.0
"""Arrays as files: the cache of a reference's inputs and outputs (data.bin and meta.json, as the
harness writes them) and raw files with a dtype's name and a shape beside. Only load() and store()
need numpy; they run where the kernel runs."""

import json
import os

CHUNK = 1 << 20
ITEM_BYTES = {"bool": 1, "bool_": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4,
              "uint32": 4, "int64": 8, "uint64": 8, "float16": 2, "float32": 4, "float64": 8,
              "bfloat16": 2, "tfloat32": 4, "float8_e4m3": 1, "float8_e4m3fn": 1,
              "float8_e5m2": 1, "float8_e8m0fnu": 1, "float8_e4m3fn_x4": 4, "float8_e5m2_x4": 4,
              "float4_e2m1fn_x4": 2}
# Names that SDK releases use for the same types.
ALIASES = {"fp32": "float32", "f32": "float32", "fp16": "float16", "f16": "float16",
           "bf16": "bfloat16", "float8e4": "float8_e4m3", "float8e5": "float8_e5m2",
           "fp8_e4m3": "float8_e4m3",
           "fp8_e5m2": "float8_e5m2", "float32r": "float32", "fp32r": "float32", "bool_": "bool",
           "boolean": "bool"}
# Names for types that numpy does not have, by the size of an element.
UNSIGNED = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}


def dtype_name(dtype):
    """The name of a type, for any kind of object that a release uses for it; "" when unknown."""
    text = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype or "")
    text = text.rsplit(".", 1)[-1].strip("'<> ")
    text = ALIASES.get(text, text)
    return text if text in ITEM_BYTES else ""


def count(shape):
    total = 1
    for size in shape:
        total *= size
    return total


def byte_size(dtype, shape):
    return count(shape) * ITEM_BYTES[dtype]


def read_meta(folder):
    """meta.json of inputs or outputs; None when they are not there."""
    try:
        with open(os.path.join(folder, "meta.json"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def signature(meta):
    """What a compiler sees of the inputs: types and shapes of arrays, and the values of numbers and
    texts."""
    return [[row["kind"], row["dtype"], row["shape"]] if row["kind"] == "array"
            else [row["kind"], row.get("value")] for row in meta["values"]]


def extract(folder, row, path):
    """Copies one array of data.bin to a raw file of its own."""
    left = byte_size(row["dtype"], row["shape"])
    beside = path + ".tmp"
    with open(os.path.join(folder, "data.bin"), "rb") as source, open(beside, "wb") as file:
        source.seek(row["offset"])
        while left:
            chunk = source.read(min(left, CHUNK))
            if not chunk:
                raise OSError("data.bin of %s is shorter than its meta.json says" % folder)
            file.write(chunk)
            left -= len(chunk)
    os.replace(beside, path)


def scalar(row):
    """A number, text or None of the inputs."""
    kind, value = row["kind"], row.get("value")
    if kind == "none":
        return None
    if kind not in ("bool", "int", "float", "text"):
        raise TypeError("arguments that are tuples, dicts, classes or types (%s) are for the "
                        "device model; a host takes arrays and numbers" % kind)
    return {"bool": bool, "int": int, "float": float.fromhex, "text": str}[kind](value)


def numpy_dtype(name):
    """The numpy type with that name, else the one of ml_dtypes; None when neither has it."""
    import numpy as np
    if name in ("bool_", "tfloat32"):
        return np.dtype({"bool_": "bool", "tfloat32": "float32"}[name])
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError, TypeError):
        return None


def load(folder, plain=False):
    """The values of inputs as the kernel takes them: arrays (read into memory: a kernel may write
    to them) and scalars. plain: types that numpy does not have are given as unsigned integers."""
    import numpy as np
    values = []
    for row in read_meta(folder)["values"]:
        if row["kind"] != "array":
            values.append(scalar(row))
            continue
        dtype = numpy_dtype(row["dtype"])
        if dtype is None and not plain:
            raise TypeError("this environment has no type %s: pip install ml_dtypes there"
                            % row["dtype"])
        raw = np.fromfile(os.path.join(folder, "data.bin"), np.uint8,
                          byte_size(row["dtype"], row["shape"]), offset=row["offset"])
        values.append(raw.view(dtype or UNSIGNED[ITEM_BYTES[row["dtype"]]]).reshape(row["shape"]))
    return values


def store(array, path, spec=None):
    """Writes an array raw; {"path", "dtype", "shape"}. Types that numpy shows as void get the name
    the compiler had for them."""
    import numpy as np
    array = np.ascontiguousarray(array)
    name = dtype_name(array.dtype)
    wanted = (spec or {}).get("dtype")
    if not name or (wanted and wanted != name and array.dtype.kind in "Vu"
                    and ITEM_BYTES[wanted] == array.dtype.itemsize):
        name = wanted or {2: "bfloat16"}.get(array.dtype.itemsize, "")
    if not name:
        raise TypeError("an output has the type %s, which is not known" % array.dtype)
    array.view(np.uint8 if array.ndim else array.dtype).tofile(path)
    return {"path": path, "dtype": name, "shape": list(array.shape)}


def npy_header(dtype, shape):
    """The head of an .npy file (format 1.0) for raw data of that type and shape."""
    kind = {"bool": "|b1", "float16": "<f2", "float32": "<f4", "float64": "<f8"}.get(dtype)
    size = ITEM_BYTES[dtype]
    if kind is None:
        kind = ("|" if size == 1 else "<") + ("i" if dtype.startswith("int") else "u") + str(size)
    text = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" \
        % (kind, "".join("%d," % n for n in shape))
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin-1")
