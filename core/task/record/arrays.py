# SPDX-License-Identifier: Apache-2.0
"""What the reference computes, as a graph: forward runs once on arrays that record. A Traced stands
for an array whose numbers are not known. It knows its shape and type, and every operation on it
becomes a node of the graph. What is made of constants alone is computed as usual. When forward
asks for a number of an input, the recording ends and names the line and the operation. This text
is run behind harness.py and outline.py, as one file with them. doc/inside.md lists the
operations."""

MAX_NODES = 200_000
MAX_LISTED = 4096       # elements of a constant that are listed where no rule makes them
MASKED = -1e4           # what a mask adds to what it hides, or less
BF16 = "bfloat16"       # the type of nodes that numpy has no type for; arrays here are float32 then
TRACE_S = 30            # seconds of processor time; a recording that takes longer is given up,
WAITS_S = 600           # as is one that waits for so long: the same on a machine that is busy


class Untraced(Unknown):
    """What cannot be recorded, in words; the line is the reference's."""

    def __init__(self, what):
        super().__init__(what)
        self.line = RECORDING.line()


def plain(value):
    """A number as JSON writes it. Infinities and the like, which JSON lacks, become text."""
    value = value.item() if isinstance(value, (np.ndarray, np.generic)) else value
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def plane_of(value):
    """[value at the first index, step along each axis] of an array that is a plane, or None."""
    if value.dtype.kind not in "iuf" or not np.isfinite(value).all():
        return None
    steps = [float(value.flat[0])]
    made = np.full((1,) * value.ndim, steps[0])
    for axis, extent in enumerate(value.shape):
        beside = [0] * value.ndim
        beside[axis] = min(1, extent - 1)
        steps.append(float(value[tuple(beside)]) - steps[0])
        along = [1] * value.ndim
        along[axis] = extent
        made = made + steps[-1] * np.arange(extent, dtype=np.float64).reshape(along)
    return steps if (made == value).all() else None


def band_of(value):
    """The description of an array like a causal mask: one number where column - row <= offset in
    its last two dimensions, another number elsewhere. None for other arrays."""
    if value.ndim < 2 or value.dtype.kind not in "biuf":
        return None
    rows, columns = value.shape[-2:]
    below, above = value.flat[value.size - columns], value.flat[columns - 1]
    plane = value.reshape(-1, rows, columns)[0]
    down = plane[:, 0] == below
    offset = int((plane[0] == below).sum()) - 1 if down[0] else -int(down.argmax())
    if not (value == np.where(np.tri(rows, columns, offset, dtype=bool), below, above)).all():
        return None
    return {"offset": offset, "below": plain(below), "above": plain(above)}


def rule_of(value):
    """The shortest description of what a constant array holds."""
    first = value.reshape(-1)[:1]
    if value.size == 0 or (value == first[0]).all() or (first[0] != first[0] and
                                                        np.isnan(value).all()):
        return {"fill": plain(first[0]) if value.size else 0}
    steps = plane_of(value)
    if steps:
        return {"plane": steps}
    live = {"live": float(np.mean(value if value.dtype == bool else value > MASKED))}
    band = band_of(value)
    if band:
        return {"band": band, **live}
    if value.size <= MAX_LISTED:
        return {"values": [plain(x) for x in value.reshape(-1)], **live}
    return {"content": hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest(), **live}


class NeedsNumbers(Exception):
    """get_inputs asks for numbers; nobody made the inputs yet."""


class Recording:
    """The nodes so far, each a row of the answer."""

    def __init__(self, path=None):
        self.path, self.rows, self.scalars = path, [], {}
        self.at = None      # the line, where nothing of forward runs any more

    def line(self):
        if self.at is not None:
            return self.at
        frame = sys._getframe(1)
        while frame and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        return frame.f_lineno if frame else 0

    def add(self, op, sources, shape, dtype, **facts):
        if len(self.rows) >= MAX_NODES:
            raise Untraced(f"more than {MAX_NODES} operations")
        self.rows.append({"op": op, "in": sources, "shape": [int(n) for n in shape],
                          "dtype": dtype if dtype == BF16 else np.dtype(dtype).name,
                          "line": self.line(), **facts})
        return len(self.rows) - 1

    def constant(self, value):
        value = np.asarray(value)
        if value.dtype.kind not in "biuf":
            raise Untraced(f"an array of {value.dtype.name}")
        if value.ndim:
            return self.add("constant", [], value.shape, value.dtype, **rule_of(value))
        key = (value.dtype.name, repr(plain(value)))
        if key not in self.scalars:
            self.scalars[key] = self.add("constant", [], (), value.dtype, fill=plain(value))
        return self.scalars[key]


RECORDING = Recording()


# --------------------------------------------------------------------------------- views of arrays


class Part:
    """A basic index: (first, count, step) of every axis, and the shape of the result in numpy."""

    def __init__(self, key, shape):
        key = key if isinstance(key, tuple) else (key,)
        named = sum(item is not None and item is not Ellipsis for item in key)
        if named > len(shape):
            raise IndexError(f"too many indices for an array of {len(shape)} dimensions")
        at = next((i for i, item in enumerate(key) if item is Ellipsis), len(key))
        key = key[:at] + (slice(None),) * (len(shape) - named) + key[at + 1:]
        self.key, self.ranges, self.shape, axis = key, [], [], 0
        for item in key:
            if item is None:
                self.shape.append(1)
                continue
            self.take(item, shape[axis])
            axis += 1
        self.counts = tuple(count for _, count, _ in self.ranges)
        self.whole = all(r == (0, n, 1) for r, n in zip(self.ranges, shape))
        self.shape = tuple(self.shape)

    def take(self, item, extent):
        if isinstance(item, slice):
            first, stop, step = item.indices(extent)
            count = len(range(first, stop, step))
            self.ranges.append((first, count, step) if count else (0, 0, 1))
            self.shape.append(count)
            return
        first = item.__index__()
        if not -extent <= first < extent:
            raise IndexError(f"index {first} is out of bounds for an axis of {extent}")
        self.ranges.append((first % extent, 1, 1))

    def apart(self, ranges):
        """Whether two parts of one array have no element in common."""
        def ends(r):
            last = r[0] + (r[1] - 1) * r[2]
            return min(r[0], last), max(r[0], last)
        return any(a[0] > b[1] or b[0] > a[1]
                   for a, b in zip(map(ends, self.ranges), map(ends, ranges)))

    def real(self, array):
        return array[self.key]

    def forth(self, node):
        """The node of the part. If it was just written, that is the node that was written."""
        row = RECORDING.rows[node]
        while row["op"] == "update" and not self.whole and self.counts:
            ranges = [tuple(r) for r in row["part"]]
            if ranges == self.ranges:
                return reshaped(row["in"][1], self.shape)
            if not self.apart(ranges):
                break
            node = row["in"][0]
            row = RECORDING.rows[node]
        if not self.whole:
            node = RECORDING.add("slice", [node], self.counts, row["dtype"], part=self.ranges)
        return reshaped(node, self.shape)

    def back(self, whole, node):
        row = RECORDING.rows[whole]
        if self.whole:
            return reshaped(node, row["shape"])
        return RECORDING.add("update", [whole, reshaped(node, self.counts)], row["shape"],
                             row["dtype"], part=self.ranges)


class Shape:
    """The same elements in another shape."""

    def __init__(self, shape):
        self.shape = shape

    def real(self, array):
        return array.reshape(self.shape)

    def forth(self, node):
        return reshaped(node, self.shape)

    @staticmethod
    def back(whole, node):
        return reshaped(node, RECORDING.rows[whole]["shape"])


class Order:
    """The same elements with the axes in another order."""

    def __init__(self, order, shape):
        self.order, self.shape = order, tuple(shape[axis] for axis in order)

    def real(self, array):
        return array.transpose(self.order)

    def forth(self, node):
        return permuted(node, self.order)

    def back(self, _, node):
        return permuted(node, tuple(np.argsort(self.order)))


class Spread:
    """Axes of one element, repeated. As in numpy, nothing can be written to such an array."""

    def __init__(self, shape):
        self.shape = shape

    def real(self, array):
        return np.broadcast_to(array, self.shape)

    def forth(self, node):
        row = RECORDING.rows[node]
        return node if tuple(row["shape"]) == self.shape else RECORDING.add(
            "broadcast", [node], self.shape, row["dtype"])

    @staticmethod
    def back(*_):
        raise ValueError("assignment destination is read-only")


def reshaped(node, shape):
    row = RECORDING.rows[node]
    if tuple(row["shape"]) == tuple(shape):
        return node
    if row["op"] == "reshape":
        return reshaped(row["in"][0], shape)
    return RECORDING.add("reshape", [node], shape, row["dtype"])


def permuted(node, order):
    row = RECORDING.rows[node]
    if list(order) == list(range(len(order))):
        return node
    if row["op"] == "transpose":
        order = [row["order"][axis] for axis in order]
        return permuted(row["in"][0], order)
    return RECORDING.add("transpose", [node], [row["shape"][axis] for axis in order], row["dtype"],
                         order=[int(axis) for axis in order])


# ------------------------------------------------------------------------------------- the arrays


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array. It has a node, or its numbers when it comes from constants alone. A view knows the
    array that it shows a part of: writing to one writes to the other."""

    __array_priority__ = 1000
    __hash__ = None

    def __init__(self, shape, dtype, node=None, numbers=None, parent=None, way=None):
        self.shape, self.dtype = tuple(int(n) for n in shape), np.dtype(dtype)
        self.node, self.numbers, self.parent, self.way, self.seen = node, numbers, parent, way, None

    @staticmethod
    def of(node):
        row = RECORDING.rows[node]
        return Traced(row["shape"], "float32" if row["dtype"] == BF16 else row["dtype"], node)

    @staticmethod
    def known(array):
        return Traced(array.shape, array.dtype, numbers=array)

    def real(self):
        """The numbers, where they are known."""
        if self.parent is None:
            return self.numbers
        whole = self.parent.real()
        return None if whole is None else self.way.real(whole)

    def now(self):
        """The node with its present value."""
        if self.parent is not None:
            whole = self.parent.now()
            if whole != self.seen:
                self.node, self.seen = self.way.forth(whole), whole
        elif self.numbers is not None:
            return RECORDING.constant(self.numbers)
        return self.node

    def through(self, way):
        return Traced(way.shape, self.dtype, parent=self, way=way)

    def write(self, value):
        """Writes to all of it. The value's shape may be any that numpy would spread to this one."""
        value = as_type(spread(value, self.shape), self.dtype)
        numbers, mine = numbers_of(value), self.real()
        if numbers is not None and mine is not None:
            mine[...] = numbers
        else:
            self.put(node_of(value))

    def put(self, node):
        if self.parent is not None:
            self.parent.put(self.way.back(self.parent.now(), node))
        else:
            self.node, self.numbers = node, None

    # The names that numpy asks for.

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        made = traced_ufunc(ufunc, method, inputs, options)
        if out is None:
            return made
        for target, value in zip(out, made if isinstance(made, tuple) else (made,)):
            if not isinstance(target, Traced):
                raise Untraced(f"{ufunc.__name__} into an array that was not made in forward")
            if not np.can_cast(value.dtype, target.dtype, "same_kind"):
                raise TypeError(f"cannot put {value.dtype} into {target.dtype}")
            target.write(value)
        return out[0] if len(out) == 1 else out

    def __array_function__(self, function, _, args, kwargs):
        return call_numpy(function, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        numbers = self.real()
        if numbers is None:
            raise Untraced("the numbers of an array that comes from an input")
        return np.array(numbers, dtype)

    def number(self, kind):
        if self.real() is None:
            raise Untraced(f"{kind} of an array that comes from an input")
        return self.real()

    def __bool__(self):
        return bool(self.number("the truth"))

    def __int__(self):
        return int(self.number("the whole number"))

    def __float__(self):
        return float(self.number("the number"))

    def __index__(self):
        return self.number("the index").__index__()

    def item(self, *args):
        return self.number("an element").item(*args)

    def tolist(self):
        return self.number("the list").tolist()

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key):
        return get_part(self, key)

    def __setitem__(self, key, value):
        set_part(self, key, value)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.swapaxes(-1, -2))
    def reshape(self, *shape, order="C"):
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if order not in "CA":
            raise Untraced("reshape in Fortran's order")
        shape = (shape,) if isinstance(shape, int) else shape
        # A view of one element spread out has the shape that numpy would find.
        found = np.broadcast_to(np.zeros((), bool), self.shape).size
        free = [i for i, n in enumerate(shape) if n == -1]
        rest = math.prod(n for n in shape if n != -1)
        shape = tuple(found // rest if i in free and rest else int(n) for i, n in enumerate(shape))
        if len(free) > 1 or math.prod(shape) != found:
            raise ValueError(f"cannot reshape an array of {self.shape} into {shape}")
        return self.through(Shape(shape))

    def transpose(self, *order):
        order = order[0] if len(order) == 1 and not isinstance(order[0], int) else order
        order = tuple(reversed(range(self.ndim))) if not order else order
        return self.through(Order(tuple(int(axis) % self.ndim for axis in order), self.shape))

    def swapaxes(self, a, b):
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self.transpose(order)

    def astype(self, dtype, *_, **__):
        return fresh(as_type(self, dtype))

    def copy(self, *_, **__):
        return fresh(self)

    def view(self, dtype=None, *_):
        if dtype is not None and not (isinstance(dtype, type) and issubdtype_array(dtype)) \
                and np.dtype(dtype) != self.dtype:
            raise Untraced("the bits of numbers read as another type")
        return self.through(Shape(self.shape))

    def flatten(self, *_):
        return fresh(self.reshape(-1))

    def ravel(self, *_):
        return self.reshape(-1)

    def fill(self, value):
        self.write(value)

    def __getattr__(self, name):
        """The other methods are numpy's functions of the same name."""
        if name in METHODS:
            return lambda *args, **kwargs: FUNCTIONS[METHODS[name]](self, *args, **kwargs)
        if name.startswith("__"):
            raise AttributeError(name)
        raise Untraced(f".{name} of an array")


def issubdtype_array(kind):
    return issubclass(kind, np.ndarray) or kind is StandIn.ndarray


def numbers_of(value):
    """The numbers of anything that does not come from an input; None otherwise."""
    if isinstance(value, Traced):
        return value.real()
    return np.asarray(value)


def node_of(value):
    return value.now() if isinstance(value, Traced) else RECORDING.constant(value)


def fresh(value):
    """A copy: what is written to it is seen nowhere else."""
    numbers = numbers_of(value)
    return Traced.known(np.array(numbers)) if numbers is not None else Traced.of(value.now())


def traced(value):
    return value if isinstance(value, Traced) else Traced.known(np.asarray(value))


def as_type(value, dtype):
    value, dtype = traced(value), np.dtype(dtype)
    if value.dtype == dtype:
        return value
    numbers = value.real()
    if numbers is not None:
        return Traced.known(numbers.astype(dtype))
    return Traced.of(RECORDING.add("cast", [value.now()], value.shape, dtype))


def spread(value, shape):
    value, shape = traced(value), tuple(shape)
    if value.shape == shape:
        return value
    np.broadcast_shapes(value.shape, shape)
    extra = value.ndim - len(shape)
    if extra > 0 and not any(n != 1 for n in value.shape[:extra]):
        value = value.reshape(value.shape[extra:])      # numpy drops leading axes of one
    return value.through(Spread(shape))


# ---------------------------------------------------------------------------------------- indexing


def is_basic(key):
    items = key if isinstance(key, tuple) else (key,)
    return all(item is None or item is Ellipsis or isinstance(item, (slice, int, np.integer))
               and not isinstance(item, bool) for item in items)


def tidy(key):
    """The numbers of a Traced that has them; everything else as it is."""
    def one(item):
        if isinstance(item, (list, range)):
            item = np.asarray(item)
        if isinstance(item, Traced) and item.real() is not None:
            item = item.real()
        if isinstance(item, np.ndarray) and item.ndim == 0 and item.dtype.kind in "iu":
            item = int(item)
        if isinstance(item, slice):
            ends = (item.start, item.stop, item.step)
            item = slice(*(None if end is None else end.__index__() for end in ends))
        return item
    return tuple(map(one, key)) if isinstance(key, tuple) else one(key)


def get_part(array, key):
    key = tidy(key)
    if is_basic(key):
        return array.through(Part(key, array.shape))
    numbers = array.real()
    items = key if isinstance(key, tuple) else (key,)
    if numbers is not None and not any(isinstance(item, Traced) for item in items):
        return Traced.known(numbers[key])
    if takes_one_of_each(array, items):
        return FUNCTIONS["take_along_axis"](array, traced(items[1]).reshape(-1, 1), 1).reshape(-1)
    if several_indices(array, items):
        return take_several(array, items)
    at, index, rest = one_array_index(array, items)
    if index.dtype == bool:
        if index.real() is None or index.ndim != 1:
            raise Untraced("a choice of elements whose number depends on an input")
        index = Traced.known(np.flatnonzero(index.real()))
    array = array.through(Part(rest, array.shape))
    return FUNCTIONS["take"](array, index, axis=at)


def takes_one_of_each(array, items):
    """x[np.arange(len(x)), index]: an element of each row."""
    if len(items) != 2 or array.ndim != 2 or not all(
            isinstance(item, (Traced, np.ndarray)) and item.ndim == 1 for item in items):
        return False
    rows = traced(items[0]).real()
    return items[1].dtype.kind in "iu" and items[1].shape == (array.shape[0],) and (
        rows is not None and np.array_equal(rows, np.arange(array.shape[0])))


def several_indices(array, items):
    """x[i, j]: an element, or all that is behind it, for each pair of whole numbers."""
    return 1 < len(items) <= array.ndim and all(
        isinstance(item, (Traced, np.ndarray)) and item.dtype.kind in "iu" for item in items)


def take_several(array, items):
    """One index into the array whose first axes are one, i * n + j. As where one index chooses,
    numbers below 0 are followed only where they are known."""
    place = None
    for item, n in zip(items, array.shape):
        item = traced(item)
        if item.real() is not None:
            item = Traced.known(np.where(item.real() < 0, item.real() + n, item.real()))
        place = item if place is None else place * n + item
    rest = array.shape[len(items):]
    return FUNCTIONS["take"](array.reshape((-1, *rest)), place, axis=0)


def one_array_index(array, items):
    """x[:, index, ...] taken apart: the axis, the index, and what stands at the other axes."""
    arrays = [i for i, item in enumerate(items) if isinstance(item, (Traced, np.ndarray))]
    if len(arrays) != 1 or any(item is None for item in items):
        raise Untraced("an index of several arrays")
    place = arrays[0]
    items = list(items)
    if Ellipsis in [item for item in items if not isinstance(item, (Traced, np.ndarray))]:
        dots = next(i for i, item in enumerate(items) if item is Ellipsis)
        gap = array.ndim - (len(items) - 1)
        items[dots:dots + 1] = [slice(None)] * gap
        place += (gap - 1) if dots < place else 0
    index = traced(items[place])
    items[place] = slice(None)
    at = sum(isinstance(item, slice) for item in items[:place])
    if any(not isinstance(item, slice) for item in items):
        raise Untraced("an index of arrays and numbers")
    return at, index, tuple(items)


def set_part(array, key, value):
    key = tidy(key)
    if is_basic(key):
        part = array.through(Part(key, array.shape))
        same = isinstance(value, Traced) and value.parent is array and \
            isinstance(value.way, Part) and value.way.ranges == part.way.ranges
        if not same:
            part.write(value)
        return
    numbers, given = array.real(), numbers_of(value)
    items = key if isinstance(key, tuple) else (key,)
    if numbers is not None and given is not None and not any(isinstance(i, Traced) for i in items):
        numbers[key] = given
    elif isinstance(key, (Traced, np.ndarray)) and key.dtype == bool and key.shape == array.shape \
            and traced(value).size == 1:
        array.write(FUNCTIONS["where"](key, as_type(value, array.dtype), array))
    else:
        scatter(array, items, value)


def scatter(array, items, value):
    if takes_one_of_each(array, items):
        return FUNCTIONS["take_along_axis"](array, traced(items[1]).reshape(-1, 1), 1).reshape(-1)
    at, index, rest = one_array_index(array, items)
    if any(item != slice(None) for item in rest) or index.dtype == bool:
        raise Untraced("writing to chosen elements")
    shape = array.shape[:at] + index.shape + array.shape[at + 1:]
    value = as_type(spread(value, shape), array.dtype)
    array.put(RECORDING.add("scatter", [array.now(), index.now(), value.now()], array.shape,
                            array.dtype, axis=at))
