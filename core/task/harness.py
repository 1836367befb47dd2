# SPDX-License-Identifier: Apache-2.0
"""Runs the user's reference for hone: one process serves any number of seeds.

Requests come as JSON lines on stdin, answers go as JSON lines to what was stdout at the start; what
the reference itself prints goes to stderr. Standard library and numpy only. The remote runner
imports this file for the same inputs and the same comparison; then it has no channel of its own.
hone starts it with outline.py, record/, main.py and a call of main() after it."""

import dataclasses
import enum
import errno
import fcntl
import hashlib
import inspect
import json
import keyword
import math
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import namedtuple

CHUNK, BLOCK = 1 << 20, 1 << 15     # BLOCK elements compared at once: doubles fit the cache
ALIGN = 4096
META_VERSION = 3
TRIES = 20
MAX_VALUES = 64     # arguments of a kernel
MAX_DIMS = 8
MAX_DEPTH = 8       # of values in values
MAX_SHAPES = 16     # of a task; the number of one is above the low 32 bits of a seed
MOST_TOLD, RSS = 2000, 1 if sys.platform == "darwin" else 1024  # of an exception; of ru_maxrss
LACKS = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
MAX_HASHED = 64 << 20   # a larger file that the reference reads goes by its size and time


class Channel:
    """Standard input and output, out of the reference's reach."""

    def __init__(self):
        # What is no text (half a surrogate pair in a message of the reference) must not spoil an
        # answer.
        self.answers = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
        self.requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
        os.dup2(2, 1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def answer(**fields):
    CHANNEL.answers.write(json.dumps(fields, allow_nan=False, ensure_ascii=False) + "\n")
    CHANNEL.answers.flush()


CHANNEL = Channel() if __name__ == "__main__" else None
try:
    import numpy as np
except Exception as problem:  # a broken numpy raises more than ImportError
    if CHANNEL is None:
        raise
    answer(ready=False, error=f"{type(problem).__name__}: {problem}", python=sys.version.split()[0])
    sys.exit(0)


class Unusable(Exception):
    """What the reference returned cannot be used; kind says whose fault that is."""

    def __init__(self, text, kind="value"):
        super().__init__(text[:MOST_TOLD])
        self.kind = kind


# ---------------------------------------------------------------- element types numpy does not have


def decode_table(exponent_bits, mantissa_bits, bias, finite_only):
    """The values of all 256 codes of an 8-bit float. finite_only: no infinities, one NaN."""
    table = np.empty(256, np.float32)
    top = (1 << exponent_bits) - 1
    for code in range(256):
        sign = -1.0 if code & 0x80 else 1.0
        exponent = (code >> mantissa_bits) & top
        mantissa = code & ((1 << mantissa_bits) - 1)
        if exponent == top and not finite_only:
            value = math.nan if mantissa else math.inf
        elif exponent == top and mantissa == (1 << mantissa_bits) - 1:
            value = math.nan
        elif exponent:
            value = math.ldexp(1 + mantissa / (1 << mantissa_bits), exponent - bias)
        else:
            value = math.ldexp(mantissa / (1 << mantissa_bits), 1 - bias)
        table[code] = sign * value
    return table


SMALL_FLOATS = {
    "float8_e4m3": decode_table(4, 3, 7, False),
    "float8_e4m3fn": decode_table(4, 3, 7, True),
    "float8_e5m2": decode_table(5, 2, 15, False),
    "float8_e8m0fnu": np.array([math.ldexp(1.0, c - 127) for c in range(255)] + [math.nan],
                               np.float64).astype(np.float32),
}
OWN_DTYPES = {"bfloat16": np.uint16, **{name: np.uint8 for name in SMALL_FLOATS}}
# The device has no 64-bit types; frameworks hand a kernel these in their place.
NARROWED = {"float64": "float32", "int64": "int32"}
PLAIN_DTYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float16",
                "float32", "float64"}
RAW_DTYPES = {"bool_": np.bool_, "tfloat32": np.float32, "float8_e4m3fn_x4": np.uint32,
              "float8_e5m2_x4": np.uint32, "float4_e2m1fn_x4": np.uint16, **OWN_DTYPES}


def encode(values, name):
    """float32 numbers as raw codes of the named type, rounded to nearest, ties to even."""
    values = np.ascontiguousarray(values, np.float32)
    if name == "bfloat16":
        bits = values.view(np.uint32)
        odd = (bits >> np.uint32(16)) & np.uint32(1)
        rounded = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
        return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)
    table = SMALL_FLOATS[name]
    codes = np.flatnonzero(np.isfinite(table[:128])).astype(np.uint8)
    magnitudes = table[codes].astype(np.float64)
    wanted = np.minimum(np.abs(values).astype(np.float64), magnitudes[-1])
    above = np.clip(np.searchsorted(magnitudes, wanted), 1, len(codes) - 1)
    low, high = magnitudes[above - 1], magnitudes[above]
    halfway = wanted - low == high - wanted
    up = (wanted - low > high - wanted) | (halfway & (codes[above] % 2 == 0))
    result = np.where(up, codes[above], codes[above - 1]).astype(np.uint8)
    return result | (np.signbit(values).astype(np.uint8) << 7)


def decode(raw, name):
    """Raw codes as the float32 numbers they stand for; other types as they are."""
    if name == "bfloat16":
        return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if name in SMALL_FLOATS:
        return SMALL_FLOATS[name][raw]
    return raw


def raw_type(name):
    return np.dtype(RAW_DTYPES.get(name, name))


def is_name(name):
    return isinstance(name, str) and 0 < len(name) < 32 and name.isascii() and \
        name.replace("_", "").replace("-", "").replace(".", "").isalnum()


def check_keywords(values, function):
    """The keys of a dict of keyword arguments are names that parameters can have."""
    for name in values:
        if not (isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)):
            raise Unusable(f"{function}() returned a dict with the key {name!r}; its keys must be "
                           "names of parameters")


# What hone calls functions of a reference with; said when one takes something else.
CALLED = {
    "get_inputs": "hone calls it without arguments but its own SHAPES, and with the number of the "
                  "seed where it has a parameter named seed",
    "forward": "hone calls it with what get_inputs() returns: the items of a list, or a dict as "
               "keyword arguments",
    "transform_to_nki_inputs": "hone calls it with what get_inputs() returns, as one argument",
    "transform_nki_outputs": "hone calls it with the kernel's outputs and the reference's",
}


def parameters_of(function):
    """Its signature; None where Python does not know it."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


# An argument of the kernel: an array with its type's name, or another value and None; `name` is its
# keyword, or its key in the container before it.
Given = namedtuple("Given", "value dtype name")
# A value whose `count` items follow it; text: the name of its class, or of a type.
Container = namedtuple("Container", "kind text count")


def contained(value):
    """What a value is made of: kind, name of the class, (key, item) pairs; None when it is one."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "record", type(value).__name__, [(field.name, getattr(value, field.name))
                                                for field in dataclasses.fields(value)]
    if isinstance(value, enum.Enum):
        return "enum", f"{type(value).__name__}.{value.name}", [("value", value.value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return "record", type(value).__name__, list(zip(value._fields, value))
    if isinstance(value, (tuple, list)):
        return type(value).__name__ if type(value) in (tuple, list) else "list", "", \
            [(None, item) for item in value]
    if isinstance(value, dict):
        return "dict", "", list(value.items())
    return None


def dtype_of(value):
    """The name of a type that is an argument itself (np.float32, np.dtype("int8"))."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        name = np.dtype(value).name
        return name if name in PLAIN_DTYPES or name in OWN_DTYPES else None
    name = str(value).partition("torch.")[2] if type(value).__name__ == "dtype" else ""
    return name if name in PLAIN_DTYPES or name in OWN_DTYPES else None


def is_torch(value):
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach")


def from_torch(tensor):
    """A tensor of torch as numpy's array; numpy has no bfloat16, so it comes as float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()


# -------------------------------------------------------------------------------- the user's module


class Reference:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.names = None
        self.seed = None
        self.inputs = None
        self.opened = set()

    def load(self):
        if self.names is not None:
            return
        self.watch()
        sys.path[0] = os.path.dirname(self.path)
        sys.argv = [self.path]
        names = {"__name__": "reference", "__file__": self.path}
        with open(self.path, "rb", opener=lambda at, how: os.open(at, how | os.O_NONBLOCK)) as file:
            code = compile(file.read(), self.path, "exec")
        exec(code, names)
        for needed in ("get_inputs", "forward"):
            if not callable(names.get(needed)):
                raise Unusable(f"it defines no function {needed}()")
        self.names = names

    def watch(self):
        """Notes the files beside the reference that it reads, whichever way it comes to them."""
        folder = os.path.dirname(self.path) + os.sep

        def hook(event, arguments):
            if event == "open" and isinstance(arguments[0], str):
                path = os.path.abspath(arguments[0])
                if path.startswith(folder) and not path.endswith(".pyc"):
                    self.opened.add(path)
        if hasattr(sys, "addaudithook"):
            sys.addaudithook(hook)

    def depends(self):
        """The files beside the reference that it imported or read, by content."""
        folder = os.path.dirname(self.path) + os.sep
        paths = set(self.opened)
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path.startswith(folder):
                paths.add(path)
        return [[path[len(folder):], *state_of(path)] for path in sorted(paths)
                if os.path.isfile(path)]

    def tolerances(self):
        """TOLERANCE as a list: one for all outputs, or one for each."""
        value = self.names.get("TOLERANCE", 0)
        several = list(value.values()) if isinstance(value, dict) else \
            list(value) if isinstance(value, (list, tuple)) else [value]
        for one in several:
            if isinstance(one, bool) or not isinstance(one, (int, float)) or not 0 <= one < 1e9:
                raise Unusable(f"TOLERANCE is {value!r}; it must be a number, 0 or more, or a list "
                               "of one for each output")
        if not several or (len(several) > 1 and min(several) <= 0):
            raise Unusable(f"TOLERANCE is {value!r}; where each output has its own, they must be "
                           "above 0")
        return [float(one) for one in several]

    def tolerance(self):
        """The largest of them; `share` says which part of it an output may take."""
        return max(self.tolerances())

    def share(self, i, count):
        each = self.tolerances()
        if len(each) not in (1, count):
            raise Unusable(f"TOLERANCE has {len(each)} numbers for {count} outputs")
        return each[i] / max(each) if len(each) > 1 else 1.0

    def shapes(self):
        """SHAPES as (name, weight, arguments of get_inputs); none where there is no such list."""
        given, weights = self.names.get("SHAPES"), self.names.get("WEIGHTS")
        if given is None:
            return []
        if not isinstance(given, dict) or not 1 <= len(given) <= MAX_SHAPES or not all(
                is_name(name) and isinstance(wanted, dict) for name, wanted in given.items()):
            raise Unusable(f"SHAPES must be a dict of at most {MAX_SHAPES} shapes: a name of at "
                           "most 31 letters, digits, _, - and ., and a dict of arguments for "
                           "get_inputs()")
        weights = dict.fromkeys(given, 1) if weights is None else weights
        if not isinstance(weights, dict) or set(weights) != set(given) or not all(
                isinstance(one, (int, float)) and 0 < one < 1e9 for one in weights.values()):
            raise Unusable("WEIGHTS must be a dict with a number above 0 for each of SHAPES")
        return [(name, float(weights[name]), wanted) for name, wanted in given.items()]

    def shape_of(self, seed):
        """What get_inputs() is called with for a seed, and the seed without its shape."""
        shapes = self.shapes()
        number = seed >> 32
        if not shapes or not 0 <= number < len(shapes):
            return {} if not shapes else shapes[0][2], seed
        return shapes[number][2], seed & 0xFFFFFFFF

    def check_call(self, name, given, keywords=None):
        """That a function takes what it is to be called with: else it is no fault of a run."""
        signature = parameters_of(self.names[name])
        if signature is None:
            return
        try:
            signature.bind(*given, **(keywords or {}))
        except TypeError as problem:
            code = getattr(self.names[name], "__code__", None)
            line = f"{code.co_firstlineno}: " if code and code.co_filename == self.path else ""
            raise Unusable(f"{line}{name}{signature} cannot be called: {problem}; "
                           + CALLED[name]) from None

    def call(self, name, given, keywords=None):
        self.check_call(name, given, keywords)
        return self.names[name](*given, **(keywords or {}))

    def with_seed(self, wanted, seed):
        """The arguments of get_inputs, with the number of the seed where it asks for that."""
        signature = parameters_of(self.names["get_inputs"])
        asks = signature is not None and "seed" in signature.parameters and "seed" not in wanted
        return {**wanted, "seed": seed} if asks else wanted

    def begin(self, seed):
        """The inputs of a seed, as get_inputs returned them."""
        if self.seed == seed:
            return self.inputs
        self.load()
        wanted, drawn = self.shape_of(seed)
        random.seed(drawn)
        np.random.seed(drawn & 0xFFFFFFFF)
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(drawn)
        inputs = self.call("get_inputs", (), self.with_seed(wanted, drawn))
        if isinstance(inputs, np.ndarray) or is_torch(inputs):
            inputs = [inputs]
        if isinstance(inputs, tuple):
            inputs = list(inputs)
        if not isinstance(inputs, (list, dict)):
            raise Unusable(f"get_inputs() returned {type(inputs).__name__}; it must return a list, "
                           "or a dict of keyword arguments")
        if isinstance(inputs, dict):
            check_keywords(inputs, "get_inputs")
        self.seed, self.inputs = seed, inputs
        return inputs

    def forward(self, inputs):
        """What forward makes of inputs: a list's are its arguments, a dict's its keywords."""
        return self.call("forward", (), inputs) if isinstance(inputs, dict) else \
            self.call("forward", inputs)

    def kernel_inputs(self, seed):
        """The kernel's arguments, each as a Given; what is in a container follows it."""
        transform = self.names.get("transform_to_nki_inputs")
        inputs = self.begin(seed)
        values = self.call("transform_to_nki_inputs", [inputs]) if transform else inputs
        if isinstance(values, np.ndarray) or is_torch(values):
            values = [values]
        names = list(values) if isinstance(values, dict) else [None] * len(values) \
            if isinstance(values, (list, tuple)) else None
        if names is None:
            raise Unusable("transform_to_nki_inputs() returned "
                           f"{type(values).__name__}; it must return a list, or a dict of "
                           "keyword arguments")
        if isinstance(values, dict):
            check_keywords(values, "transform_to_nki_inputs" if transform else "get_inputs")
        wanted = self.names.get("nki_input_dtypes") or []
        if len(wanted) not in (0, len(values)):
            raise Unusable(f"nki_input_dtypes has {len(wanted)} entries for {len(values)} inputs")
        found = []
        for i, value in enumerate(values.values() if isinstance(values, dict) else values):
            self.add_input(found, i, value, wanted[i] if wanted else None, names[i], 0)
        if len(found) > MAX_VALUES:
            raise Unusable(f"there are {len(found)} inputs of the kernel; at most {MAX_VALUES} "
                           "are allowed, those in tuples and dicts counted")
        return found

    def add_input(self, found, i, value, wanted, name, depth):
        """Adds a Given for a value, and one for each that it contains."""
        if not isinstance(name, (str, type(None))):
            raise Unusable(f"input {i} of the kernel has the key {name!r}; keys are strings")
        inner = contained(value)
        if inner is None:
            dtype = dtype_of(value)
            found.append(Given(Container("dtype", dtype, 0), None, name) if dtype else
                         Given(*self.one_input(i, value, wanted), name))
            return
        kind, text, items = inner
        if depth == MAX_DEPTH or len(items) > MAX_VALUES:
            raise Unusable(f"input {i} of the kernel is too large: at most {MAX_DEPTH} levels of "
                           f"{MAX_VALUES} values are allowed")
        found.append(Given(Container(kind, text, len(items)), None, name))
        for key, item in items:
            self.add_input(found, i, item, wanted, key, depth + 1)

    def one_input(self, i, value, wanted):
        if is_torch(value):
            wanted = wanted or ("bfloat16" if "bfloat16" in str(value.dtype) else None)
            value = from_torch(value)
        if isinstance(value, int) and not -1 << 63 <= value < 1 << 63:
            raise Unusable(f"input {i} of the kernel is an integer of {value.bit_length()} bits; "
                           "at most 63 and a sign are allowed")
        if isinstance(value, str) and value.encode("utf-8", "replace").decode() != value:
            raise Unusable(f"input {i} of the kernel is the string {value!a}, which is no text")
        if getattr(value, "ndim", 0) > MAX_DIMS:
            raise Unusable(f"input {i} of the kernel has {value.ndim} dimensions; at most "
                           f"{MAX_DIMS} are allowed")
        if value is None or isinstance(value, (bool, int, float, str)):
            return value, None
        if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0
                                             and value.dtype.name in PLAIN_DTYPES):
            return value.item(), None
        if not isinstance(value, np.ndarray):
            raise Unusable(f"input {i} of the kernel is a {type(value).__name__}; "
                           "allowed are arrays, numbers, strings, types, None, and tuples, "
                           "lists, dicts and dataclasses of them")
        name = value.dtype.name
        if name in OWN_DTYPES:
            return np.ascontiguousarray(value).view(OWN_DTYPES[name]), name
        if name not in PLAIN_DTYPES:
            raise Unusable(f"input {i} of the kernel is an array of {name}; allowed are "
                           + ", ".join(sorted(PLAIN_DTYPES | set(OWN_DTYPES))))
        wanted = wanted or NARROWED.get(name, name)
        if wanted == name:
            return value, name
        if name == "int64" and value.size and not np.array_equal(value.astype(wanted), value):
            raise Unusable(f"input {i} of the kernel is an array of int64 with numbers that "
                           f"{wanted} does not hold; the device has no 64-bit types")
        if wanted in OWN_DTYPES:
            codes = encode(value, wanted)
            # Where the input is a view of what forward gets, forward sees the rounded numbers too.
            if value.flags.writeable and value.dtype == np.float32:
                value[...] = decode(codes, wanted)
            return codes, wanted
        if wanted not in PLAIN_DTYPES:
            raise Unusable(f"nki_input_dtypes names {wanted!r}; allowed are "
                           + ", ".join(sorted(PLAIN_DTYPES | set(OWN_DTYPES))))
        return value.astype(wanted), wanted

    def outputs(self, seed):
        """What forward returns, as a list of arrays, and whether it was one or several."""
        result = self.forward(self.begin(seed))
        self.seed = self.inputs = None        # forward may have changed its arguments
        if result is None:
            raise Unusable("forward() returned nothing; it must return an array or a tuple of "
                           "arrays")
        shape = type(result).__name__ if isinstance(result, (list, tuple, dict)) else "one"
        several = [result] if shape == "one" else \
            list(result.values() if shape == "dict" else result)
        if not several:
            raise Unusable("forward() returned an empty " + shape)
        if shape == "dict":
            shape = ["dict", *map(str, result)]
        return [self.one_output(i, value) for i, value in enumerate(several)], shape

    @staticmethod
    def one_output(i, value):
        try:
            array = from_torch(value) if is_torch(value) else np.asarray(value)
        except ValueError as problem:
            raise Unusable(f"output {i} of forward() is no array: {problem}") from None
        if array.dtype.name in OWN_DTYPES:
            array = array.astype(np.float32)
        if array.dtype.name not in PLAIN_DTYPES:
            raise Unusable(f"output {i} of forward() is an array of {array.dtype.name}; "
                           "allowed are numbers")
        if array.dtype.kind == "f" and np.isnan(array).any():
            bad = np.isnan(array)
            first = ", ".join(str(x) for x in np.argwhere(bad)[0])
            raise Unusable(f"output {i} of forward() has {int(bad.sum())} of {array.size} elements "
                           f"that are NaN, the first at [{first}]")
        return array


# ---------------------------------------------------------------------------------------- the cache


def state_of(path):
    """Size and content of a file, as the cache keeps them."""
    state = os.stat(path)
    if state.st_size > MAX_HASHED:
        return [state.st_size, "changed " + str(state.st_mtime_ns)]
    with open(path, "rb") as file:
        return [state.st_size, hashlib.sha256(file.read()).hexdigest()]


def write_arrays(folder, name, values, extra):
    """Writes folder/name with meta.json and data.bin; appears whole or not at all."""
    def fill(beside):
        rows = []
        with open(os.path.join(beside, "data.bin"), "wb") as file:
            for value, dtype, *name in values:
                rows.append(describe(file, value, dtype, *name))
            return {"bytes": file.tell(), "values": rows, **extra}
    write_folder(folder, name, fill)


def write_meta(folder, name, meta):
    """Writes folder/name with meta.json alone."""
    write_folder(folder, name, lambda beside: meta)


def write_folder(folder, name, fill):
    """fill(folder) makes folder/name; again where another hone removed it before it was held."""
    for left in reversed(range(TRIES)):
        try:
            return write_once(folder, name, fill)
        except (FileNotFoundError, FileExistsError):  # the latter: it went while makedirs looked
            if not left:
                raise


class Held:
    """Locks on folders, which those who make room leave alone; nobody writes half of one that is
    not held. What was written is held until the next request, by when hone has read it."""

    def __init__(self):
        self.all = []

    def take(self, folder):
        held = os.open(folder, os.O_RDONLY)
        for _ in range(TRIES):
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:     # somebody looks whether it is held
                time.sleep(0.01)
            except OSError:
                break
        self.all.append(held)

    def release(self):
        while self.all:
            os.close(self.all.pop())


HELD = Held()


def write_once(folder, name, fill):
    os.makedirs(folder, mode=0o700, exist_ok=True)
    final = os.path.join(folder, name)
    beside = f"{final}.{os.urandom(6).hex()}.part"
    os.mkdir(beside, 0o700)
    HELD.take(beside)
    try:
        meta = {"version": META_VERSION, "python": sys.version.split()[0],
                "numpy": np.__version__, **fill(beside)}
        with open(os.path.join(beside, "meta.json"), "w", encoding="utf-8") as file:
            json.dump(meta, file)
        try:
            os.rename(beside, final)
        except OSError as problem:
            if problem.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def describe(file, value, dtype, name=None):
    """The row of a value in meta.json; an array goes to the file."""
    named = {"name": name} if name is not None else {}
    if isinstance(value, Container):
        return {"kind": value.kind, "value": value.text, "count": value.count, **named}
    if dtype is None:
        kind = {bool: "bool", int: "int", float: "float", str: "text", type(None): "none"}
        row = {"kind": kind[type(value)], **named}
        if isinstance(value, float):
            row["value"] = float(value).hex()
        elif isinstance(value, int) and not isinstance(value, bool):
            row["value"] = str(value)
        elif value is not None:
            row["value"] = value
        return row
    file.write(b"\0" * (-file.tell() % ALIGN))
    row = {"kind": "array", "dtype": dtype, "shape": list(value.shape), "offset": file.tell(),
           **named}
    np.ascontiguousarray(value).tofile(file)
    return row


def read_arrays(folder, name, beside=""):
    """Arrays, mapped, and meta data of folder/name; None: none, or of other files `beside`."""
    try:
        with open(os.path.join(folder, name, "meta.json"), encoding="utf-8") as file:
            meta = json.load(file)
        for path, size, content in meta["depends"]:
            if state_of(os.path.join(beside, path)) != [size, content]:
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
                return None
        arrays = []
        for row in meta["values"]:
            if row["kind"] == "array":
                arrays.append((map_file(os.path.join(folder, name, "data.bin"), row["dtype"],
                                        row["shape"], row["offset"]), row["dtype"]))
        return arrays, meta
    except (OSError, ValueError, KeyError, TypeError):
        return None


def map_file(path, dtype, shape, offset=0):
    if 0 in shape:
        return np.zeros(shape, raw_type(dtype))
    return np.memmap(path, dtype=raw_type(dtype), mode="r", offset=offset, shape=tuple(shape))


# ------------------------------------------------------------------------------------ the requests


def shape_rows(reference):
    return [[name, weight] for name, weight, _ in reference.shapes()]


def facts_of(reference, request):
    """What else stands in meta.json; record/graph.py, where it follows, has more to say."""
    return {}


def do_inputs(reference, request):
    started = time.monotonic()
    reference.load()
    values = reference.kernel_inputs(request["seed"])
    elapsed = time.monotonic() - started
    write_arrays(request["folder"], "inputs", values,
                 {"tolerance": reference.tolerance(), "depends": reference.depends(),
                  "elapsed": elapsed, "shapes": shape_rows(reference),
                  **facts_of(reference, request)})


def do_forward(reference, request):
    """Makes sure the reference's outputs are in the cache; returns them."""
    found = read_arrays(request["folder"], "outputs", os.path.dirname(reference.path))
    if found:
        return found
    started = time.monotonic()
    reference.load()
    reference.seed = None
    if reference.names.get("nki_input_dtypes"):
        reference.kernel_inputs(request["seed"])       # rounds in place what forward shares
    arrays, shape = reference.outputs(request["seed"])
    write_arrays(request["folder"], "outputs", [(a, a.dtype.name) for a in arrays],
                 {"result": shape, "depends": reference.depends(),
                  "elapsed": time.monotonic() - started})
    return [(a, a.dtype.name) for a in arrays], {"result": shape}


def kernel_results(request):
    """The kernel's outputs: raw, and as the numbers they stand for."""
    raws, values = [], []
    for row in request["outputs"]:
        raw = map_file(row["path"], row["dtype"], row["shape"])
        os.unlink(row["path"])
        raws.append(raw)
        values.append(decode(raw, row["dtype"]))
    return raws, values


def do_compare(reference, request):
    raws, values = kernel_results(request)
    found, meta = do_forward(reference, request)
    reference.load()
    refs = [array for array, _ in found]
    ref = as_returned(refs, meta["result"])
    got = values[0] if len(values) == 1 else tuple(values)
    transform = reference.names.get("transform_nki_outputs")
    if transform:
        reference.check_call("transform_nki_outputs", [got, ref])
        got = call_transform(transform, got, ref, reference.path)
    got = list(got.values()) if isinstance(got, dict) else \
        list(got) if isinstance(got, (list, tuple)) else [got]
    if len(got) != len(refs):
        raise Unusable(f"the kernel returned {len(got)} outputs, the reference {len(refs)}",
                       "kernel")
    rows = [dict(match(i, np.asarray(k), r, transform is None),
                 share=reference.share(i, len(refs)))
            for i, (k, r) in enumerate(zip(got, refs))]
    inputs = read_arrays(request["folder"], "inputs", os.path.dirname(reference.path))
    for row, raw in zip(rows, raws):
        row["is_input"] = bool(row["rel_l2"] is None or row["rel_l2"] > 1e-6) and \
            bool(inputs) and any(same_bytes(raw, array) for array, _ in inputs[0])
    return {"matches": rows}


def as_returned(refs, result):
    """The reference's outputs in the form in which forward returned them."""
    if isinstance(result, list):
        return dict(zip(result[1:], refs))
    return refs[0] if result == "one" else list(refs) if result == "list" else tuple(refs)


def call_transform(transform, got, ref, path):
    """The outputs as the reference shapes them; a failure is most often due to their shapes."""
    try:
        return transform(got, ref)
    except Exception as problem:
        shapes = ", ".join(str(k.shape) for k in (got if isinstance(got, tuple) else (got,)))
        raise Unusable(f"{where(problem, path)}: {told(problem)} (the kernel returned {shapes})",
                       "kernel") from None


def same_bytes(a, b):
    if a.dtype != b.dtype or a.size != b.size or not a.size:
        return False
    a, b = a.reshape(-1), b.reshape(-1)
    return all(np.array_equal(a[at:at + CHUNK], b[at:at + CHUNK]) for at in range(0, a.size, CHUNK))


def match(i, got, ref, may_reshape):
    if got.shape != ref.shape and may_reshape and got.size == ref.size:
        got = got.reshape(ref.shape)
    if got.shape != ref.shape:
        raise Unusable(f"output {i} of the kernel has the shape {got.shape} after "
                       f"transform_nki_outputs, the reference's has {ref.shape}", "kernel")
    got, ref = np.ascontiguousarray(got).reshape(-1), np.ascontiguousarray(ref).reshape(-1)
    off = total = biggest = 0.0
    finite, zero, reference_zero, same = True, True, True, True
    for at in range(0, ref.size, BLOCK):
        k = got[at:at + BLOCK].astype(np.float64)
        r = ref[at:at + BLOCK].astype(np.float64)
        if not math.isfinite(float(r @ r)):
            same = same and leave_infinite(k, r)
        with np.errstate(invalid="ignore"):
            d = k - r
            part, part_total = float(d @ d), float(r @ r)
            biggest = max(biggest, float(d.max()), -float(d.min()))
        # The three questions below are answered by these sums but for a closer look in rare cases.
        if not math.isfinite(part):
            finite = finite and bool(np.isfinite(k).all())
        zero = zero and part == part_total and not k.any()
        reference_zero = reference_zero and part_total == 0 and not r.any()
        off, total = off + part, total + part_total
    rel = math.sqrt(off / total) if total else math.sqrt(off)
    return {"rel_l2": rel if same and math.isfinite(rel) else None, "finite": finite, "zero": zero,
            "max_abs": biggest if finite and math.isfinite(biggest) else None,
            "reference_zero": reference_zero}


def leave_infinite(got, ref):
    """Whether got is the same where ref is infinite; both count as 0 there from now on."""
    at = np.isinf(ref)
    same = bool((got[at] == ref[at]).all())
    got[at] = ref[at] = 0
    return same


OPERATIONS = {"inputs": do_inputs, "forward": do_forward, "compare": do_compare}


def where(problem, path):
    """The line of the reference that an exception came from; 0 when it is none of its lines."""
    if isinstance(problem, SyntaxError) and problem.filename == path:
        return problem.lineno or 0
    return ([0] + [frame.lineno for frame in traceback.extract_tb(problem.__traceback__)
                   if frame.filename == path])[-1]


def told(problem):
    """What an exception is, and its text, which its own __str__ may fail to give."""
    name = "out of memory" if isinstance(problem, MemoryError) else type(problem).__name__[:200]
    try:
        return f"{name}: {str.__getitem__(str(problem), slice(MOST_TOLD))}"
    except BaseException:
        return f"{name} (its text cannot be had)"


def serve(reference, request):
    name = os.path.basename(reference.path)
    try:
        result = OPERATIONS[request["op"]](reference, request)
        answer(id=request["id"], ok=True, **(result if isinstance(result, dict) else {}))
    except Unusable as problem:
        colon = ":" if str(problem)[:1].isdigit() else ": "      # "reference.py:41: ..."
        answer(id=request["id"], ok=False, kind=problem.kind, text=f"{name}{colon}{problem}")
    except BaseException as problem:  # SystemExit too: the reference must not end the harness
        line, text = where(problem, reference.path), told(problem)
        kind = "memory" if isinstance(problem, MemoryError) else "raise" if line else "internal"
        if isinstance(problem, OSError) and (not line or problem.errno in LACKS):
            kind = "disk"
        answer(id=request["id"], ok=False, kind=kind, line=line,
               used=resource.getrusage(0).ru_maxrss * RSS + getattr(problem, "_total_size", 0),
               text=f"{name}:{line}: {text}" if line else text)
