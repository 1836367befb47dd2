# SPDX-License-Identifier: Apache-2.0
"""The kernel's arguments without their numbers, for who wants to compile and time it only.

get_inputs runs with a numpy.random whose arrays are outlines: shape and type, every element the
same. What would need a number of one (an index, a comparison, a sum) raises Unknown, and then the
inputs are made as ever. It happens in a child of the harness, so that what imported the stand-in
for numpy.random goes with it. This follows harness.py in one file."""


class Unknown(Exception):
    """A number was asked for that nobody made."""


def holds_outline(value):
    if isinstance(value, (list, tuple)):
        return any(holds_outline(item) for item in value)
    return isinstance(value, Outline)


def sample(value):
    """One element of an operand, in as many dimensions: what a ufunc makes of types shows in it."""
    if not isinstance(value, np.ndarray):
        return value
    if isinstance(value, Outline):
        return np.zeros((1,) * value.ndim, value.dtype)
    return value[(slice(0, 1),) * value.ndim]


def unknown(*_, **__):
    raise Unknown()


class Outline(np.ndarray):
    """An array of one repeated element, which takes no memory and is not to be looked at."""

    KNOWN = {"shape", "dtype", "ndim", "size", "nbytes", "itemsize", "flags", "T", "reshape",
             "transpose", "swapaxes", "squeeze", "astype", "copy", "view", "ravel", "flatten"}
    VIEWS = {"reshape", "transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze", "ravel",
             "shape", "ndim", "size", "broadcast_to"}

    @staticmethod
    def of(shape, dtype):
        return np.broadcast_to(np.full((), Outline.fill, dtype), shape).view(Outline)

    fill = 0

    def __getattribute__(self, name):
        if not name.startswith("__") and name not in Outline.KNOWN:
            raise Unknown()
        return super().__getattribute__(name)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if method != "__call__" or ufunc.signature or "where" in options:
            raise Unknown()
        shape = np.broadcast_shapes(*(np.shape(value) for value in inputs))
        with np.errstate(all="ignore"):
            made = ufunc(*map(sample, inputs), **options)
        if isinstance(made, tuple):
            raise Unknown()
        if out is None:
            return Outline.of(shape, made.dtype)
        if out[0].shape != shape or not np.can_cast(made.dtype, out[0].dtype, "same_kind"):
            raise Unknown()
        return out[0] if isinstance(out[0], Outline) else unknown()

    def __array_function__(self, function, types, args, kwargs):
        if function.__name__ not in Outline.VIEWS:
            raise Unknown()
        return super().__array_function__(function, types, args, kwargs)

    def __getitem__(self, key):
        if holds_outline(key):
            raise Unknown()
        part = super().__getitem__(key)
        return part if isinstance(part, Outline) else unknown()

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def astype(self, dtype, *_, **__):
        return Outline.of(self.shape, dtype)

    def copy(self, *_, **__):
        return self

    def ravel(self, *_, **__):
        return self.reshape(-1)

    flatten = ravel

    def view(self, dtype=None):
        if dtype is Outline or dtype is None:
            return super().view(Outline)
        if np.dtype(dtype).itemsize != self.itemsize:
            raise Unknown()
        return Outline.of(self.shape, dtype)

    __setitem__ = __bool__ = __int__ = __float__ = __index__ = __complex__ = __contains__ = unknown


def outlined(size_at, usual="float64"):
    """A function of numpy.random that makes an outline; size_at: where its size stands."""
    def make(*args, size=None, dtype=usual, **_):
        if len(args) > size_at:
            size = args[size_at]
        if len(args) > size_at + 1:
            dtype = args[size_at + 1]
        return unknown() if size is None else Outline.of(size, dtype)
    return make


class Random:
    """Stands for numpy.random and for its generators."""
    normal = laplace = uniform = staticmethod(outlined(2))
    exponential = poisson = staticmethod(outlined(1))
    random = random_sample = standard_normal = staticmethod(outlined(0))
    integers = randint = staticmethod(outlined(2, "int64"))

    def __getattr__(self, name):
        raise AttributeError(name) if name.startswith("__") else Unknown()

    @staticmethod
    def rand(*shape):
        return Outline.of(shape, "float64") if shape else unknown()

    randn = rand

    @staticmethod
    def seed(*_):
        return None

    @staticmethod
    def default_rng(*_):
        return Random()


def careful(function):
    """What numpy's own constructors make of an outline."""
    def make(value, *args, dtype=None, **options):
        dtype = args[0] if args else dtype
        if isinstance(value, Outline):
            return value if dtype is None else value.astype(dtype)
        return unknown() if holds_outline(value) else function(value, *args, **(
            options if args else dict(options, dtype=dtype)))
    return make


def outline_of(i, value, wanted):
    """As Reference.one_input, of an outline."""
    name = value.dtype.name
    if name == "int64" or name not in PLAIN_DTYPES or value.ndim > MAX_DIMS:
        raise Unknown()
    wanted = wanted or NARROWED.get(name, name)
    return value, wanted if wanted in PLAIN_DTYPES | set(OWN_DTYPES) else unknown()


class Outlines(Reference):
    def one_input(self, i, value, wanted):
        if isinstance(value, Outline):
            return outline_of(i, value, wanted)
        return super().one_input(i, value, wanted)

    def rows(self, seed, fill):
        """The arguments as they stand in meta.json."""
        Outline.fill, self.names, self.seed = fill, None, None
        self.load()
        size, rows = 0, []
        for value, dtype, name in self.kernel_inputs(seed):
            if dtype is None:
                rows.append(describe(None, value, None, name))
                continue
            size += -size % ALIGN
            rows.append({"kind": "array", "dtype": dtype, "shape": list(value.shape),
                         "offset": size, **({} if name is None else {"name": name})})
            size += raw_type(dtype).itemsize * value.size
        return size, rows


def write_outlines(path, request, facts):
    """Writes folder/shapes/meta.json, with the facts in it. Arguments that depend on the numbers
    are noticed where they come out otherwise with other numbers, too."""
    started = time.monotonic()
    outlines = Outlines(path)
    np.random = sys.modules["numpy.random"] = Random()
    for name in ("array", "asarray", "asanyarray", "ascontiguousarray"):
        setattr(np, name, careful(getattr(np, name)))
    size, rows = outlines.rows(request["seed"], 0)
    if (size, rows) != outlines.rows(request["seed"], 1) or {"torch", "jax"} & set(sys.modules):
        raise Unknown()
    write_meta(request["folder"], "shapes", {
        "bytes": size, "values": rows, "tolerance": outlines.tolerance(),
        "depends": outlines.depends(), "elapsed": time.monotonic() - started,
        "shapes": shape_rows(outlines), **facts})


def do_shapes(reference, request):
    """Shapes and types of a seed's inputs, where need be by way of the inputs themselves."""
    facts = facts_of(reference, request)
    sys.stderr.flush()
    pid = os.fork() if hasattr(os, "fork") else -1
    if pid == 0:
        try:
            write_outlines(reference.path, request, facts)
        except BaseException:
            os._exit(1)
        os._exit(0)
    if pid < 0 or os.waitpid(pid, 0)[1] != 0:
        do_inputs(reference, request)


OPERATIONS["shapes"] = do_shapes
