# SPDX-License-Identifier: Apache-2.0
"""The other functions of numpy, made of what arrays.py and operations.py have. This text is run
behind them, as one file."""

FUNCTIONS, METHODS = {}, {}


def function(*names, method=None):
    def keep(call):
        for name in names:
            FUNCTIONS[name] = call
        if method:
            METHODS[method] = names[0]
        return call
    return keep


def call_numpy(called, args, kwargs):
    """A function of numpy with a Traced somewhere among its arguments."""
    def real(value):
        if isinstance(value, (list, tuple)):
            return type(value)(map(real, value))
        if isinstance(value, Traced):
            return value.real() if value.real() is not None else unknown()
        return value
    name = called.__name__
    if name in FUNCTIONS:
        return FUNCTIONS[name](*args, **kwargs)
    try:
        args, kwargs = real(list(args)), {key: real(value) for key, value in kwargs.items()}
    except Unknown:
        raise Untraced(f"numpy.{name}") from None
    made = called(*args, **kwargs)
    return Traced.known(made) if isinstance(made, np.ndarray) else made


def reduction(ufunc):
    def call(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
        keepdims = False if keepdims is np._NoValue else keepdims
        made = reduce_by(ufunc, a, axis, dtype, keepdims, initial, where)
        return made if out is None else (out.write(made), out)[1]
    return call


def extreme(ufunc):
    by = reduction(ufunc)
    return lambda a, axis=None, out=None, keepdims=False, initial=None, where=True: \
        by(a, axis, None, out, keepdims, initial, where)


for one, ufunc_of in {"sum": np.add, "prod": np.multiply}.items():
    function(one, method=one)(reduction(ufunc_of))
for one, ufunc_of in {"max": np.maximum, "min": np.minimum, "all": np.logical_and,
                      "any": np.logical_or}.items():
    function(one, "a" + one if one[0] == "m" else one, method=one)(extreme(ufunc_of))
for one, ufunc_of in {"cumsum": np.add, "cumprod": np.multiply}.items():
    def accumulation(a, axis=None, dtype=None, out=None, by=ufunc_of):
        a = traced(a)
        return accumulate_by(by, a.reshape(-1) if axis is None else a, axis or 0, dtype)
    function(one, method=one)(accumulation)


def plus(a, b):
    return traced_ufunc(np.add, "__call__", (a, b), {})


def minus(a, b):
    return traced_ufunc(np.subtract, "__call__", (a, b), {})


def over(a, b):
    return traced_ufunc(np.divide, "__call__", (a, b), {})


def times(a, b):
    return traced_ufunc(np.multiply, "__call__", (a, b), {})


@function("mean", method="mean")
def mean(a, axis=None, dtype=None, out=None, keepdims=False, where=True):
    a = traced(a)
    count = math.prod(a.shape[i] for i in axes_of(axis, a.ndim))
    total = FUNCTIONS["sum"](a, axis, dtype, None, keepdims, None, where)
    made = over(total, count)
    return made if a.dtype.kind != "f" else as_type(made, dtype or a.dtype)


@function("var", method="var")
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    a = traced(a)
    apart = minus(a, mean(a, axis, dtype, None, True))
    count = math.prod(a.shape[i] for i in axes_of(axis, a.ndim)) - ddof
    total = FUNCTIONS["sum"](times(apart, apart), axis, dtype, None,
                             False if keepdims is np._NoValue else keepdims)
    return as_type(over(total, count), total.dtype)


@function("std", method="std")
def std(*args, **kwargs):
    return traced_ufunc(np.sqrt, "__call__", (var(*args, **kwargs),), {})


@function("norm")
def norm(x, ord=None, axis=None, keepdims=False):
    if ord not in (None, 2, "fro") or ord == 2 and axis is None and np.ndim(x) > 1:
        raise Untraced(f"numpy.linalg.norm of order {ord}")
    return traced_ufunc(np.sqrt, "__call__", (FUNCTIONS["sum"](times(x, x), axis,
                                                               keepdims=keepdims),), {})


@function("reshape")
def reshape(a, newshape=None, order="C", *, shape=None, **_):
    return traced(a).reshape(shape if newshape is None else newshape, order=order)


@function("transpose", "permute_dims")
def transpose(a, axes=None):
    return traced(a).transpose(*([] if axes is None else [tuple(axes)]))


@function("swapaxes")
def swapaxes(a, axis1, axis2):
    return traced(a).swapaxes(axis1, axis2)


@function("moveaxis")
def moveaxis(a, source, destination):
    a = traced(a)
    source = [i % a.ndim for i in np.atleast_1d(source)]
    target = [i % a.ndim for i in np.atleast_1d(destination)]
    order = [i for i in range(a.ndim) if i not in source]
    for to, come in sorted(zip(target, source)):
        order.insert(to, come)
    return a.transpose(tuple(int(i) for i in order))


@function("expand_dims")
def expand_dims(a, axis):
    a = traced(a)
    axes = [i % (a.ndim + len(np.atleast_1d(axis))) for i in np.atleast_1d(axis)]
    shape = list(a.shape)
    for at in sorted(axes):
        shape.insert(at, 1)
    return a.reshape(tuple(shape))


@function("squeeze", method="squeeze")
def squeeze(a, axis=None):
    a = traced(a)
    axes = [i for i, n in enumerate(a.shape) if n == 1] if axis is None else axes_of(axis, a.ndim)
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError("cannot squeeze an axis of more than one element")
    return a.reshape(tuple(n for i, n in enumerate(a.shape) if i not in axes))


@function("ravel")
def ravel(a, order="C"):
    return traced(a).reshape(-1)


@function("broadcast_to")
def broadcast_to(array, shape, subok=False):
    return spread(array, (shape,) if isinstance(shape, int) else shape)


@function("broadcast_arrays")
def broadcast_arrays(*arrays, subok=False):
    shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
    return [spread(x, shape) for x in arrays]


for dimensions in (1, 2, 3):
    def at_least(a, least=dimensions):
        a = traced(a)
        if least == 3 and 0 < a.ndim < 3:
            return a.reshape((1, *a.shape, 1) if a.ndim == 1 else (*a.shape, 1))
        return a.reshape((1,) * (least - a.ndim) + a.shape)
    function(f"atleast_{dimensions}d")(at_least)


@function("concatenate", "concat")
def concatenate(arrays, axis=0, out=None, dtype=None, casting=None):
    arrays = [traced(x) for x in arrays]
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    axis, = axes_of(axis, arrays[0].ndim)
    if all(x.real() is not None for x in arrays):
        return Traced.known(np.concatenate([x.real() for x in arrays], axis))
    for x in arrays:
        if x.ndim != arrays[0].ndim or any(a != b for i, (a, b) in enumerate(
                zip(x.shape, arrays[0].shape)) if i != axis):
            raise ValueError(f"cannot concatenate {x.shape} to {arrays[0].shape}")
    dtype = dtype or np.result_type(*(x.dtype for x in arrays))
    shape = list(arrays[0].shape)
    shape[axis] = sum(x.shape[axis] for x in arrays)
    return Traced.of(RECORDING.add("concatenate", [as_type(x, dtype).now() for x in arrays], shape,
                                   dtype, axes=[axis]))


@function("stack")
def stack(arrays, axis=0, out=None, **_):
    arrays = [traced(x) for x in arrays]
    axis %= arrays[0].ndim + 1
    return concatenate([x.reshape(x.shape[:axis] + (1,) + x.shape[axis:]) for x in arrays], axis)


@function("vstack", "row_stack")
def vstack(arrays, **_):
    return concatenate([FUNCTIONS["atleast_2d"](x) for x in arrays], 0)


@function("hstack")
def hstack(arrays, **_):
    arrays = [FUNCTIONS["atleast_1d"](x) for x in arrays]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


@function("split", "array_split")
def split(a, indices_or_sections, axis=0):
    a = traced(a)
    ends = np.cumsum([len(x) for x in np.array_split(np.arange(a.shape[axis]),
                                                     indices_or_sections)])
    return [part_along(a, axis, int(first), int(stop)) for first, stop in
            zip([0, *ends[:-1]], ends)]


def part_along(a, axis, first, stop, step=1):
    key = [slice(None)] * a.ndim
    key[axis] = slice(first, stop, step)
    return a[tuple(key)]


@function("flip")
def flip(m, axis=None):
    m = traced(m)
    axes = axes_of(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]


@function("roll")
def roll(a, shift, axis=None):
    a = traced(a)
    if axis is None:
        return roll(a.reshape(-1), shift, 0).reshape(a.shape)
    for one, by in zip(np.atleast_1d(axis), np.broadcast_to(shift, np.shape(np.atleast_1d(axis)))):
        by = int(by) % max(a.shape[one], 1)
        if by:
            a = concatenate([part_along(a, one, a.shape[one] - by, None),
                             part_along(a, one, 0, a.shape[one] - by)], int(one))
    return fresh(a)


@function("repeat", method="repeat")
def repeat(a, repeats, axis=None):
    a = traced(a)
    if axis is None:
        return repeat(a.reshape(-1), repeats, 0)
    if np.ndim(repeats):
        return FUNCTIONS["take"](a, np.repeat(np.arange(a.shape[axis]), repeats), axis)
    axis, = axes_of(axis, a.ndim)
    wide = a.reshape(a.shape[:axis + 1] + (1,) + a.shape[axis + 1:])
    wide = spread(wide, a.shape[:axis + 1] + (int(repeats),) + a.shape[axis + 1:])
    return fresh(wide.reshape(a.shape[:axis] + (-1,) + a.shape[axis + 1:]))


@function("tile")
def tile(A, reps):
    a = traced(A)
    reps = [int(n) for n in np.atleast_1d(reps)]
    reps = [1] * (a.ndim - len(reps)) + reps
    a = a.reshape((1,) * (len(reps) - a.ndim) + a.shape)
    pairs = [n for n in a.shape for n in (1, n)]
    wide = spread(a.reshape(tuple(pairs)), [n for pair in zip(reps, a.shape) for n in pair])
    return fresh(wide.reshape(tuple(r * n for r, n in zip(reps, a.shape))))


MOST_BORDERS = 64  # parts that what lies around an array is made of


def pad_with_own(a, widths, mode):
    """Around an array lie elements of its own: parts of it, side by side."""
    for axis, (low, high) in enumerate(widths):
        places = np.pad(np.arange(a.shape[axis]), (int(low), int(high)), mode)
        runs = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
        if len(runs) > MOST_BORDERS:
            raise Untraced(f"numpy.pad with mode {mode}, so wide")
        if len(runs) > 1:
            a = FUNCTIONS["concatenate"](
                [a[(slice(None),) * axis + (slice(int(run[0]), int(run[-1]) + 1),)]
                 for run in runs], axis=axis)
    return a


@function("pad")
def pad(array, pad_width, mode="constant", constant_values=0, **_):
    a = traced(array)
    widths = np.broadcast_to(pad_width, (a.ndim, 2))
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        return pad_with_own(a, widths, mode)
    if mode != "constant" or np.ndim(constant_values):
        raise Untraced(f"numpy.pad with mode {mode}")
    shape = [n + int(w.sum()) for n, w in zip(a.shape, widths)]
    made = Traced.known(np.full(shape, constant_values, a.dtype))
    made[tuple(slice(int(w[0]), int(w[0]) + n) for n, w in zip(a.shape, widths))] = a
    return made


@function("where")
def where_of(condition, x=None, y=None):
    if x is None:
        raise Untraced("numpy.where without its two arrays")
    values = [numbers_of(v) for v in (condition, x, y)]
    if all(v is not None for v in values):
        return Traced.known(np.where(*values))
    shape = np.broadcast_shapes(*(np.shape(v) for v in (condition, x, y)))
    dtype = np.where(np.ones(1, bool), sample_of(x), sample_of(y)).dtype
    return Traced.of(RECORDING.add(
        "where", [node_of(condition), *(as_type(v, dtype).now() for v in (x, y))], shape, dtype))


@function("clip", method="clip")
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **_):
    low, high = (a_min if a_min is not None else min), (a_max if a_max is not None else max)
    a = a if low is None else traced_ufunc(np.maximum, "__call__", (a, low), {})
    return a if high is None else traced_ufunc(np.minimum, "__call__", (a, high), {})


def triangle_of(name):
    def call(m, k=0):
        m = traced(m)
        mask = getattr(np, name)(np.ones(m.shape[-2:], bool), k)
        return where_of(mask, m, np.zeros((), m.dtype))
    return call


FUNCTIONS["tril"], FUNCTIONS["triu"] = triangle_of("tril"), triangle_of("triu")


@function("take", method="take")
def take(a, indices, axis=None, out=None, mode="raise"):
    a, indices = traced(a), traced(indices)
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis, = axes_of(axis, a.ndim)
    if a.real() is not None and indices.real() is not None:
        return Traced.known(np.asarray(np.take(a.real(), indices.real(), axis)))
    shape = a.shape[:axis] + indices.shape + a.shape[axis + 1:]
    return Traced.of(RECORDING.add("gather", [a.now(), indices.now()], shape, a.dtype, axes=[axis]))


@function("take_along_axis")
def take_along_axis(arr, indices, axis):
    arr, indices = traced(arr), traced(indices)
    axis, = axes_of(axis, arr.ndim)
    return Traced.of(RECORDING.add("gather_along", [arr.now(), indices.now()], indices.shape,
                                   arr.dtype, axes=[axis]))


def choosing(name, kind):
    def call(a, axis=None if name.startswith("argm") else -1, out=None, keepdims=False, **_):
        a = traced(a)
        if axis is None:
            a, axis = a.reshape(-1), 0
        axis, = axes_of(axis, a.ndim)
        if name.startswith("argm"):
            kept = [1 if i == axis else n for i, n in enumerate(a.shape)]
            node = RECORDING.add(name, [a.now()], kept, kind, axes=[axis])
            return Traced.of(node if keepdims is True else
                             reshaped(node, [n for i, n in enumerate(a.shape) if i != axis]))
        return Traced.of(RECORDING.add(name, [a.now()], a.shape, kind or a.dtype, axes=[axis]))
    return call


for one in ("argmax", "argmin", "argsort"):
    function(one, method=one)(choosing(one, "int64"))
function("sort")(choosing("sort", None))


@function("sliding_window_view")
def sliding_window_view(x, window_shape, axis=None, **_):
    x = traced(x)
    window = [int(n) for n in np.atleast_1d(window_shape)]
    axes = list(range(x.ndim)) if axis is None else [int(i) % x.ndim for i in np.atleast_1d(axis)]
    shape = list(x.shape)
    for at, n in zip(axes, window):
        shape[at] -= n - 1
    return Traced.of(RECORDING.add("windows", [x.now()], shape + window, x.dtype, axes=axes))


@function("diff")
def diff(a, n=1, axis=-1, **_):
    a = traced(a)
    for _ in range(n):
        a = minus(part_along(a, axis, 1, None), part_along(a, axis, 0, -1))
    return a


@function("nan_to_num")
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    x = traced(x)
    limits = np.finfo(x.dtype)
    x = where_of(traced_ufunc(np.isnan, "__call__", (x,), {}), np.asarray(nan, x.dtype), x)
    return clip(x, neginf if neginf is not None else limits.min,
                posinf if posinf is not None else limits.max)


@function("round", "around", "round_", method="round")
def rounded(a, decimals=0, out=None):
    if decimals:
        raise Untraced("rounding to digits")
    return traced_ufunc(np.rint, "__call__", (a,), {})


def likeness(name):
    def call(a, *args, shape=None, dtype=None, **_):
        fill = args[:1] if name == "full" else ()
        dtype = dtype or next(iter(args[len(fill):]), None) or np.result_type(a.dtype)
        return Traced.known(np.array(getattr(np, name)(a.shape if shape is None else shape, *fill,
                                                       dtype=dtype)))
    return call


for one in ("zeros", "ones", "empty", "full"):
    function(one + "_like")(likeness("zeros" if one == "empty" else one))
function("copy")(lambda a, order="K", subok=False: fresh(traced(a)))
function("dot", method="dot")(dot)
function("tensordot")(tensordot)
function("einsum")(einsum)
function("matmul")(product)
function("vdot")(lambda a, b: dot(traced(a).reshape(-1), traced(b).reshape(-1)))
function("inner")(lambda a, b: tensordot(a, b, ([-1], [-1])) if np.ndim(a) and np.ndim(b)
                  else times(a, b))
function("outer")(lambda a, b, out=None: times(traced(a).reshape((-1, 1)), traced(b).reshape(-1)))
function("shape")(lambda a: a.shape)
function("ndim")(lambda a: a.ndim)
function("size")(lambda a, axis=None: a.size if axis is None else a.shape[axis])
function("may_share_memory", "shares_memory")(lambda *_, **__: False)
function("iscomplexobj")(lambda _: False)
function("isrealobj")(lambda _: True)
function("result_type")(lambda *args: np.result_type(*(sample_of(x) for x in args)))
function("can_cast")(lambda a, to, casting="safe": np.can_cast(a.dtype, to, casting))
