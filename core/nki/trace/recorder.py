# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel under Python for hone, which answers for NKI.

The modules nki and nki.* that a kernel imports here hold nothing: each attribute, item, call and
operator of what they give is asked of hone, over a pipe, by the values and places of trace.h. So a
kernel's Python is Python's own, and what NKI makes of it is hone's. Standard library only. numpy is
the one that is installed; where none is, hone's own stands in for it.

A message is four bytes of length and a value as marshal writes it, in version 2 of its format. In
it a tuple is a tuple, and a list is what marshal has no word for: its first item says what."""

import _thread
import builtins
import functools
import importlib
import importlib.machinery
import importlib.util
import marshal
import os
import sys
import types

FORMAT = 2
THING, LIST, SLICE, FUNCTION, DICT, RANGE, RECORD, MEMBER, CLASS, ARRAY, NAMED, OBJECT = range(12)
(RETURN, RAISE, GETATTR, GETITEM, SETITEM, CALL, BINARY, INPLACE, COMPARE, UNARY, TRUTH, LENGTH,
 ITEMS, ENTER, LEAVE, REPR, PRINT, MODULE, ISOF, SETATTR, LAUNCH) = range(21)
ANSWER, ERROR, RUN = range(3)
LEAST, MOST = -(1 << 63), (1 << 63) - 1
DEPTH = 50          # of values in values
FRAMES = 400        # of a stack that hone is told
LARGEST = 64 << 20  # bytes of a message
HERE = (lambda: None).__code__.co_filename
COMPREHENSIONS = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}
LIBRARIES = (os.path.dirname(os.__file__) + os.sep,)
PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)


class Stopped(BaseException):
    """hone has ended the evaluation; no handler of the kernel can change that."""


class Wire:
    """The pipe, out of the kernel's ordinary reach; what it prints goes to standard error."""

    def __init__(self):
        self.out, self.into = os.dup(1), os.dup(0)
        os.dup2(2, 1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        self.rest = b""

    def send(self, message, dumps=marshal.dumps, write=os.write):
        data = dumps(message, FORMAT)
        data = len(data).to_bytes(4, "little") + data
        try:
            while data:
                data = data[write(self.out, data):]
        except OSError:
            os._exit(70)

    def take(self, loads=marshal.loads, read=os.read):
        data = self.rest
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "little"):
            try:
                more = read(self.into, 1 << 16)
            except OSError:
                more = b""
            if not more:
                os._exit(0)
            data += more
        end = 4 + int.from_bytes(data[:4], "little")
        self.rest = data[end:]
        return loads(data[4:end])


# ------------------------------------------------------------------------------------------- places


class Code:
    """What is known of a code object: whether its frames are shown, and its places so far."""

    def __init__(self, code, number):
        name = code.co_filename
        own = name == HERE or name.startswith("<")
        library = name.startswith(LIBRARIES) and not any(part in name for part in PACKAGES)
        self.code, self.number = code, number
        self.hidden = own or library
        self.inner = code.co_name in COMPREHENSIONS
        self.sites = {}
        self.positions = None

    def position(self, at, line):
        if self.positions is None:
            find = getattr(self.code, "co_positions", None)
            self.positions = list(find()) if find else []
        if at >= 0 and at // 2 < len(self.positions):
            begin, end, left, right = self.positions[at // 2]
            if None not in (begin, end, left, right):
                return begin, left, end, right
        return line or 0, -1, line or 0, -1


class Places:
    """Numbers for the places from which the kernel asks."""

    def __init__(self):
        self.codes, self.count, self.fresh = {}, 0, []

    def code(self, code):
        known = self.codes.get(id(code))
        if known is None:
            known = self.codes[id(code)] = Code(code, len(self.codes))
        return known

    def site(self, known, at, line):
        number = known.sites.get(at)
        if number is None:
            number = known.sites[at] = self.count
            self.count += 1
            code = known.code
            self.fresh.append((code.co_filename, code.co_name, known.number)
                              + known.position(at, line))
        return number

    def stack(self, frame):
        """The sites of the kernel's frames, the outermost first."""
        found, codes, inner = [], self.codes, None
        while frame is not None:
            code = frame.f_code
            known = codes.get(id(code)) or self.code(code)
            if not known.hidden:
                # A comprehension is a part of the function around it.
                if inner is None or inner != code.co_filename:
                    at = frame.f_lasti
                    number = known.sites.get(at)
                    if number is None:
                        number = self.site(known, at, frame.f_lineno)
                    found.append(number)
                inner = code.co_filename if known.inner else None
            frame = frame.f_back
        found.reverse()
        return found[:FRAMES]

    def traceback(self, trace):
        """The same for the frames of an exception."""
        found, inner = [], None
        while trace is not None and len(found) < FRAMES:
            code = trace.tb_frame.f_code
            known = self.code(code)
            if not known.hidden:
                number = self.site(known, trace.tb_lasti, trace.tb_lineno)
                if known.inner and found and inner == code.co_filename:
                    found[-1] = number
                else:
                    found.append(number)
                inner = code.co_filename
            trace = trace.tb_next
        return found

    def tell(self):
        fresh, self.fresh = self.fresh, []
        return tuple(fresh) or None


WIRE, PLACES = None, Places()
THREAD = _thread.get_ident()
CALLABLES, NUMBERS, KEPT, KEEPS = {}, {}, [], []
CONSTANTS, EXCEPTIONS, OBJECTS = {}, {}, {}
PLAIN = {int, float, str, bool, type(None), type(...)}


def ask(op, arguments):
    if _thread.get_ident() != THREAD:
        raise RuntimeError("NKI is called from another thread than the one that runs the kernel")
    stack = tuple(PLACES.stack(sys._getframe(1)))
    WIRE.send((op, stack, PLACES.fresh and PLACES.tell() or None, arguments))
    return listen()


def listen():
    """What hone answers; until then it may call functions of the kernel."""
    while True:
        message = WIRE.take()
        kind = message[0]
        if kind == ANSWER:
            return decode(message[1])
        if kind == ERROR:
            raise failure(*message[1:])
        run(*message[1:])


def failure(number, kept, name, text):
    """The exception for an error that hone has under a number."""
    if not name:
        return Stopped(text)
    if kept >= 0:
        return KEPT[kept]
    problem = exception(name)(text)
    problem._hone = number
    return problem


def exception(name):
    found = getattr(builtins, name, None) or EXCEPTIONS.get(name)
    if isinstance(found, type) and issubclass(found, Exception):
        return found
    if name != "NkiValidationError":
        return RuntimeError
    return EXCEPTIONS.setdefault(name, type(name, (Exception,), {}))


def run(function, arguments, keywords):
    """Calls a function of the kernel for hone, and tells what came of it."""
    try:
        given = [decode(one) for one in arguments]
        named = {name: decode(one) for name, one in keywords}
        told = (RETURN, (), None, (encode(CALLABLES[function](*given, **named)),))
    except Stopped:
        told = (RAISE, (), None, (-1, -1, "", ""))
    except BaseException as problem:  # the kernel may raise anything
        told = raised(problem)
    WIRE.send(told)


def raised(problem):
    KEPT.append(problem)
    trace = BaseException.__dict__["__traceback__"].__get__(problem)
    stack = PLACES.stack(sys._getframe(2)) + PLACES.traceback(trace)
    try:
        number = object.__getattribute__(problem, "_hone")
    except BaseException:  # it has none, or is made to raise
        number = -1
    kind = type(problem)  # its own __class__ may raise
    if issubclass(kind, SyntaxError) and problem.filename and problem.lineno:
        line = problem.lineno
        PLACES.fresh.append((problem.filename, "<module>", -1, line, -1, line, -1))
        stack.append(PLACES.count)
        PLACES.count += 1
        text = problem.msg
    elif issubclass(kind, SystemExit):
        text = f"the kernel ends its Python: sys.exit({problem.code!r})"
    else:
        try:
            text = str(problem)
        except BaseException:
            text = ""
    known = type(number) is int and -1 <= number < 1 << 31
    return (RAISE, tuple(stack[:FRAMES]), PLACES.tell(),
            (number if known else -1, len(KEPT) - 1, name_of(kind), text[:4000]))


def name_of(kind):
    """The name of a class, whatever its metaclass says."""
    return str(type.__dict__["__name__"].__get__(kind))[:200]


# ------------------------------------------------------------------------------------------- values


def encode(value, depth=0):
    kind = type(value)
    if kind in PLAIN:
        if kind is int and not LEAST <= value <= MOST:
            raise OverflowError("an integer that does not fit 64 bits cannot reach NKI")
        return value
    if kind is Thing:
        return [THING, value._h]
    if depth > DEPTH:
        raise RecursionError("values nested too deeply")
    depth += 1
    if kind is tuple:
        return tuple([encode(one, depth) for one in value])
    if kind is list:
        return [LIST, *[encode(one, depth) for one in value]]
    if kind is slice:
        return [SLICE, encode(value.start, depth), encode(value.stop, depth),
                encode(value.step, depth)]
    return encode_other(value, kind, depth)


def encode_other(value, kind, depth):
    if isinstance(value, dict):
        pairs = [encode(one, depth) for pair in value.items() for one in pair]
        return [DICT, *pairs]
    if kind is range:
        return [RANGE, value.start, value.stop, value.step]
    if isinstance(value, NkiModule):
        return [THING, value.__dict__["_thing"]._h]
    foreign = from_numpy(value, kind)
    if foreign is not None:
        return foreign
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return encode(plain(value) if plain is not str else str.__str__(value), depth)
    if isinstance(value, (tuple, list)):
        return encode((tuple if isinstance(value, tuple) else list)(value), depth)
    if isinstance(value, type) and value.__name__ in EXCEPTIONS:
        return [CLASS, value.__name__, True]
    if callable(value) and not isinstance(value, type):
        return [FUNCTION, number_of(value), str(getattr(value, "__name__", kind.__name__))[:200]]
    OBJECTS[id(value)] = value
    return [OBJECT, id(value) & MOST, str(kind.__name__)[:200]]


def number_of(function):
    number = NUMBERS.get(id(function))
    if number is None:
        number = NUMBERS[id(function)] = len(KEEPS)
        KEEPS.append(function)
        CALLABLES[number] = function
    return number


def from_numpy(value, kind):
    """What comes from numpy, or from a package that adds types to it (ml_dtypes)."""
    numpy = sys.modules.get("numpy")
    if not isinstance(numpy, types.ModuleType) or isinstance(numpy, NkiModule):
        return None
    if isinstance(value, numpy.ndarray):
        whole = numpy.ascontiguousarray(value, "<f8")
        return [ARRAY, str(value.dtype.name), tuple(value.shape), whole.tobytes()]
    if isinstance(value, numpy.generic):
        return encode(value.item())
    if isinstance(value, numpy.dtype):
        return [NAMED, "numpy", str(value.name)]
    if isinstance(value, type) and value.__module__.split(".")[0] in ("numpy", "ml_dtypes"):
        return [NAMED, "numpy", str(value.__name__)]
    if isinstance(value, numpy.ufunc):
        return [NAMED, "numpy", str(value.__name__)]
    return None


def decode(value):
    kind = type(value)
    if kind is tuple:
        return tuple([decode(one) for one in value])
    if kind is not list:
        return value
    what = value[0]
    if what == THING:
        return thing(*value[1:])
    if what == LIST:
        return [decode(one) for one in value[1:]]
    if what == SLICE:
        return slice(*map(decode, value[1:]))
    if what == FUNCTION:
        return CALLABLES[value[1]]
    if what == DICT:
        return {decode(value[i]): decode(value[i + 1]) for i in range(1, len(value), 2)}
    if what == RANGE:
        return range(*value[1:])
    if what == RECORD:
        return record(value[1], {value[i]: decode(value[i + 1]) for i in range(2, len(value), 2)})
    if what == MEMBER:
        return member(value[1], value[2], decode(value[3]))
    if what == OBJECT:
        return OBJECTS.get(value[1])
    return klass(value[1], value[2])


def thing(handle, constant, kind, name):
    """What stands for a value of hone's; constants are the same object each time."""
    if constant:
        known = CONSTANTS.get(handle)
        if known is None:
            known = CONSTANTS[handle] = Jit() if name == "nki.jit" else Thing(handle, kind)
        return known
    return Thing(handle, kind)


class NKIObject:
    """The base of classes in kernels. What such a class only gives a value is a field of it, too,
    when it is a dataclass: kernels are written so, and the compilers before 0.7 read them so."""

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        own = dict(cls.__dict__.get("__annotations__", {}))
        kinds = (property, classmethod, staticmethod, type)
        for name, value in cls.__dict__.items():
            if not name.startswith("__") and not callable(value) and not isinstance(value, kinds):
                own.setdefault(name, object)
        cls.__annotations__ = own


def klass(name, raises):
    if raises:
        return exception(name)
    if name == "NKIObject":
        return NKIObject
    return EXCEPTIONS.setdefault(name, type(name, (), {}))


def record(name, fields):
    """An argument that is an object: of the kernel's own class, if it has one of that name."""
    known = getattr(KERNEL, name, None)
    if isinstance(known, type) and issubclass(known, tuple) and hasattr(known, "_fields"):
        return known(**fields)
    made = object.__new__(known if isinstance(known, type) else type(name, (), {}))
    for field, value in fields.items():
        object.__setattr__(made, field, value)
    return made


def member(name, which, value):
    known = getattr(KERNEL, name, None)
    return getattr(known, which, value)


# ----------------------------------------------------------------------------------- what asks hone


class Thing:
    """A tensor, an instruction's function, a dtype, ...: whatever hone has under the handle."""

    __slots__ = ("_h", "_kind", "_seen", "_updated")
    __array_ufunc__ = None  # numpy leaves operators to this side

    def __init__(self, handle, kind):
        self._h, self._kind, self._seen, self._updated = handle, kind, None, False

    def __getattr__(self, name):
        if name[:2] == "__" or name in Thing.__slots__:
            raise AttributeError(f"a {self._kind} has no attribute '{name}'")
        seen = self._seen
        if seen is not None and name in seen:
            return seen[name]
        value = ask(GETATTR, ([THING, self._h], name))
        if type(value) is not Thing or value._kind != "method":
            if seen is None:
                seen = self._seen = {}
            seen[name] = value
        return value

    def __setattr__(self, name, value):
        if name in Thing.__slots__:
            object.__setattr__(self, name, value)
        else:
            ask(SETATTR, ([THING, self._h], name, encode(value)))

    def __getitem__(self, key):
        return ask(GETITEM, ([THING, self._h], encode(key)))

    def __setitem__(self, key, value):
        if type(value) is Thing and value._updated:  # t[..] += x, which is done by now
            value._updated = False
            return
        ask(SETITEM, ([THING, self._h], encode(key), encode(value)))

    def __call__(self, *arguments, **named):
        return ask(CALL, ([THING, self._h], tuple([encode(one) for one in arguments]),
                          tuple([(name, encode(one)) for name, one in named.items()])))

    def __iter__(self):
        return iter(ask(ITEMS, ([THING, self._h],)))

    def __bool__(self):
        return bool(ask(TRUTH, ([THING, self._h],)))

    def __len__(self):
        return ask(LENGTH, ([THING, self._h],))

    def __contains__(self, item):
        return any(one is item or one == item for one in self)

    def __enter__(self):
        return ask(ENTER, ([THING, self._h],))

    def __exit__(self, kind, problem, trace):
        if not isinstance(problem, Stopped):
            ask(LEAVE, ([THING, self._h],))

    def __hash__(self):
        return hash(self._h)

    def __repr__(self):
        return ask(REPR, ([THING, self._h],))

    def __instancecheck__(self, value):
        return type(value) is Thing and ask(ISOF, ([THING, self._h], [THING, value._h]))

    def __subclasscheck__(self, value):
        return False

    def __mro_entries__(self, bases):
        return ()

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, version):
        raise TypeError(f"a {self._kind} of NKI cannot be pickled")


def operand(value):
    """The value for an operator; None where it is an object, whose own operator comes first."""
    told = encode(value)
    return None if type(told) is list and told[0] == OBJECT else told


def add_operators():
    def forward(op, text):
        def operate(self, other):
            told = operand(other)
            if told is None and other is not None:
                return NotImplemented
            return ask(op, (text, [THING, self._h], told))
        return operate

    def backward(text):
        def operate(self, other):
            told = operand(other)
            if told is None and other is not None:
                return NotImplemented
            return ask(BINARY, (text, told, [THING, self._h]))
        return operate

    def inplace(text):
        def update(self, other):
            result = ask(INPLACE, (text, [THING, self._h], encode(other)))
            if type(result) is Thing and self._kind == "tensor":
                result._updated = True
            return result
        return update

    def unary(text):
        return lambda self: ask(UNARY, (text, [THING, self._h]))

    names = {"or": "|", "xor": "^", "and": "&", "lshift": "<<", "rshift": ">>", "add": "+",
             "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "floordiv": "//", "mod": "%",
             "pow": "**"}
    for name, text in names.items():
        setattr(Thing, f"__{name}__", forward(BINARY, text))
        setattr(Thing, f"__r{name}__", backward(text))
        setattr(Thing, f"__i{name}__", inplace(text))
    for name, text in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        setattr(Thing, f"__{name}__", forward(COMPARE, text))
    for name, text in {"neg": "-", "pos": "+", "invert": "~"}.items():
        setattr(Thing, f"__{name}__", unary(text))

    equal, unequal, kept = forward(COMPARE, "=="), forward(COMPARE, "!="), Thing.__hash__

    def is_same(self, other):
        return type(other) is Thing and other._h == self._h and self._kind != "tensor"

    Thing.__eq__ = lambda self, other: (
        other is not None and (is_same(self, other) or equal(self, other)))
    Thing.__ne__ = lambda self, other: (
        other is None or (not is_same(self, other) and unequal(self, other)))
    Thing.__hash__ = kept


add_operators()


class Kernel:
    """A function under @nki.jit. kernel[2](..) launches it; called plainly it is the function."""

    def __init__(self, function, options):
        self.func, self.options = function, options
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *arguments, **named):
        return self.func(*arguments, **named)

    def __getitem__(self, grid):
        sizes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)

        def launch(*arguments, **named):
            name = str(getattr(self.func, "__name__", "kernel"))[:200]
            return ask(LAUNCH, ([FUNCTION, number_of(self.func), name],
                                tuple([encode(one) for one in sizes]),
                                tuple([carry(one) for one in arguments]),
                                tuple([(key, carry(one)) for key, one in named.items()])))
        return launch

    def __get__(self, owner, kind=None):
        return self if owner is None else types.MethodType(self, owner)


def carry(value):
    """An argument that only passes through hone, on its way to a function of the kernel."""
    kind = type(value)
    if kind in PLAIN and kind is not int:
        return value
    OBJECTS[id(value)] = value
    return [OBJECT, id(value) & MOST, str(kind.__name__)[:200]]


class Jit:
    """nki.jit, with options or without."""

    def __call__(self, function=None, **options):
        if function is None:
            return lambda inner: Kernel(inner, options)
        return Kernel(function, options)


class NkiModule(types.ModuleType):
    """A module of NKI; what it has is asked of hone, once."""

    def __init__(self, name, which):
        super().__init__(name)
        self.__dict__["_thing"] = which
        self.__path__ = []

    def __getattr__(self, name):
        if name[:2] == "__":
            raise AttributeError(f"module {self.__name__} has no attribute '{name}'")
        if (self.__name__, name) == ("nki", "dtype"):  # in annotations of published kernels
            return importlib.import_module("nki.language").DType
        value = getattr(self.__dict__["_thing"], name)
        known = sys.modules.get(f"{self.__name__}.{name}")
        value = known if isinstance(known, NkiModule) else value
        if (self.__name__, name) in LOOPS:
            value = traced_once("nl." + name, value)
        self.__dict__[name] = value
        return value


class Finder:
    """Finds nki and what is below it, before any that is installed; behind all others numpy."""

    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        which = ask(MODULE, (spec.name,))
        return NkiModule(spec.name, which)

    def exec_module(self, module):
        pass


# --------------------------------------------------------------------------------------- the kernel

KERNEL = None


def say(*values, sep=None, end=None, file=None, flush=False):
    if file is not None and file not in (sys.stdout, sys.__stdout__):
        return PRINT_ITSELF(*values, sep=sep, end=end, file=file, flush=flush)
    text = (" " if sep is None else sep).join([str(one) for one in values])
    return ask(PRINT, (text[:4000],))


PRINT_ITSELF = print


def packages_of(path, levels):
    """The folders around the file that are packages, the outermost first: those with __init__.py,
    and as many more as relative imports go up."""
    folder, folders = os.path.dirname(path), []
    while len(folders) < 20 and (os.path.exists(os.path.join(folder, "__init__.py"))
                                 or len(folders) < levels):
        name = os.path.basename(folder)
        if not name or "." in name:
            break
        folders.insert(0, folder)
        folder = os.path.dirname(folder)
    return folders


def enter_packages(folders):
    """Makes the packages of these folders modules, and returns the dotted name of the last one."""
    name = ""
    for folder in folders:
        name = (name + "." if name else "") + os.path.basename(folder)
        start = os.path.join(folder, "__init__.py")
        start = start if os.path.exists(start) else None
        spec = importlib.util.spec_from_file_location(
            name, start, loader=None if start else Empty(), submodule_search_locations=[folder])
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return name


class Empty:
    """Loads a package that has no file."""

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        pass


def load(where, path, text, levels):
    """Runs the file, whose places are told under `path`, as if it lay at `where`."""
    global KERNEL
    where = os.path.abspath(where)
    name = os.path.splitext(os.path.basename(where))[0]
    sys.path[:] = [one for one in sys.path if one]
    sys.path.insert(0, os.path.dirname(where))
    package = enter_packages(packages_of(where, levels))
    KERNEL = types.ModuleType(name)
    KERNEL.__file__, KERNEL.__package__ = where, package
    sys.modules[package + "." + name if package else name] = KERNEL
    sys.modules.setdefault(name, KERNEL)
    text = text[1:] if text[:1] == "\ufeff" else text
    exec(compile(text, path, "exec", dont_inherit=True), KERNEL.__dict__)


def find(name, factory, degree):
    """The kernel under a name of the file, or what the function of that name makes."""
    found = getattr(KERNEL, name)
    if factory:
        found = found()
    options = found.options if isinstance(found, Kernel) else {}
    launches = not isinstance(found, (Kernel, types.FunctionType)) and hasattr(found, "__getitem__")
    if launches:
        found = found[degree]
    if not callable(found):
        raise TypeError(f"the kernel is a {type(found).__name__}, not a function")
    if isinstance(found, Kernel):
        found = found.func
    return (found, tuple(options.items()), launches)


def main():
    global WIRE
    WIRE = Wire()
    CALLABLES.update({0: load, 1: find})
    KEEPS.extend([load, find])
    builtins.print = say
    sys.meta_path.insert(0, Finder({"nki"}))
    sys.meta_path.append(Finder({"numpy"}))
    sys.modules.pop("nki", None)
    WIRE.send((RETURN, (), None, (sys.version.split()[0],)))
    while True:
        message = WIRE.take()
        run(*message[1:])


main()
