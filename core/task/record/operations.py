# SPDX-License-Identifier: Apache-2.0
"""What numpy's element-wise functions, reductions and products become: nodes of the graph. This
text is run behind arrays.py, as one file with it."""

# ------------------------------------------------------------------------------------------ ufuncs


def sample_of(value):
    """One element in as many dimensions. numpy's operations on it show the type of the result."""
    if isinstance(value, Traced):
        return np.ones((1,) * value.ndim, value.dtype)
    return value[(slice(0, 1),) * value.ndim] if isinstance(value, np.ndarray) else value


def traced_ufunc(ufunc, method, inputs, options):
    if ufunc is np.matmul and method == "__call__":
        return product(*inputs)
    if method in ("reduce", "accumulate"):
        return (reduce_by if method == "reduce" else accumulate_by)(ufunc, *inputs, **options)
    if method == "outer":
        a, b = map(traced, inputs)
        return traced_ufunc(ufunc, "__call__",
                            (a.reshape(a.shape + (1,) * b.ndim), b), options)
    dtype = options.pop("dtype", None)
    if options.pop("where", True) is not True:
        raise Untraced(f"{ufunc.__name__} with where")
    options.pop("casting", None)
    if method != "__call__" or ufunc.signature or options:
        raise Untraced(f"numpy.{ufunc.__name__}.{method}" if method != "__call__"
                       else f"numpy.{ufunc.__name__} with {', '.join(options) or 'its signature'}")
    return elementwise(ufunc, inputs, dtype)


def elementwise(ufunc, inputs, dtype):
    all_numbers = [numbers_of(value) for value in inputs]
    chosen = {} if dtype is None else {"dtype": dtype}
    if all(numbers is not None for numbers in all_numbers):
        made = ufunc(*(value.real() if isinstance(value, Traced) else value for value in inputs),
                     **chosen)
        return tuple(map(traced, made)) if isinstance(made, tuple) else traced(made)
    with np.errstate(all="ignore"):
        made = ufunc(*map(sample_of, inputs), **chosen)
    if isinstance(made, tuple):
        raise Untraced(f"numpy.{ufunc.__name__}, which makes two arrays")
    shape = np.broadcast_shapes(*(np.shape(value) for value in inputs))
    name = NAMES.get(ufunc.__name__, ufunc.__name__)
    return Traced.of(RECORDING.add(name, [node_of(value) for value in inputs], shape, made.dtype))


NAMES = {"absolute": "abs", "true_divide": "divide", "conjugate": "copy", "fabs": "abs"}
REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
              "fmax": "max", "fmin": "min", "logical_and": "all", "logical_or": "any"}


def axes_of(axis, ndim):
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for one in axes:
        if not -ndim <= one < ndim:
            raise ValueError(f"axis {one} is out of bounds for {ndim} dimensions")
    return tuple(sorted(int(one) % ndim for one in axes))


def reduce_by(ufunc, array, axis=0, dtype=None, keepdims=False, initial=None, where=True, **_):
    array = traced(array)
    if ufunc.__name__ not in REDUCTIONS or where is not True:
        raise Untraced(f"numpy.{ufunc.__name__}.reduce")
    numbers = array.real()
    if numbers is not None:
        return traced(ufunc.reduce(numbers, axis=axis, dtype=dtype, keepdims=keepdims))
    axes = axes_of(axis, array.ndim)
    made = ufunc.reduce(sample_of(array), axis=axes, dtype=dtype, keepdims=keepdims).dtype
    kept = [1 if i in axes else n for i, n in enumerate(array.shape)]
    shape = kept if keepdims else [n for i, n in enumerate(array.shape) if i not in axes]
    result = array if not axes else Traced.of(reshaped(RECORDING.add(
        REDUCTIONS[ufunc.__name__], [array.now()], kept, made, axes=list(axes)), shape))
    return result if initial is None or initial is np._NoValue else ufunc(result, initial)


def accumulate_by(ufunc, array, axis=0, dtype=None, **_):
    array = traced(array)
    axis, = axes_of(axis, array.ndim)
    name = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax",
            "minimum": "cummin"}.get(ufunc.__name__)
    if name is None:
        raise Untraced(f"numpy.{ufunc.__name__}.accumulate")
    made = ufunc.accumulate(sample_of(array), axis=axis, dtype=dtype).dtype
    return Traced.of(RECORDING.add(name, [array.now()], array.shape, made, axes=[axis]))


# ------------------------------------------------------------------------------------ contractions


def contract(terms, wanted, operands):
    """An einsum whose terms are lists of labels. No label stands twice in a term; an extent of one
    is spread; labels that the result does not have are summed over."""
    operands, terms = [traced(x) for x in operands], [list(term) for term in terms]
    if len(operands) > 2 and any(x.real() is None for x in operands):
        return contract_pairs(terms, wanted, operands)
    extent = {}
    for term, operand in zip(terms, operands):
        for label, n in zip(term, operand.shape):
            if extent.setdefault(label, n) != n and 1 not in (n, extent[label]):
                raise ValueError(f"extents {extent[label]} and {n} of one index differ")
            extent[label] = max(n, extent[label]) if 0 not in (n, extent[label]) else 0
    for i, (term, operand) in enumerate(zip(terms, operands)):
        kept = [k for k, label in enumerate(term) if operand.shape[k] == extent[label]]
        if len(kept) < len(term):
            operands[i] = operand.reshape(tuple(operand.shape[k] for k in kept))
            terms[i] = [term[k] for k in kept]
    numbers = [x.real() for x in operands]
    shape = [extent[label] for label in wanted]
    if all(x is not None for x in numbers):
        parts = [part for pair in zip(numbers, terms) for part in pair]
        return Traced.known(np.asarray(np.einsum(*parts, list(wanted))))
    dtype = np.result_type(*(x.dtype for x in operands))
    return Traced.of(RECORDING.add("contract", [x.now() for x in operands], shape, dtype,
                                   terms=terms, out=list(wanted)))


def contract_pairs(terms, wanted, operands):
    """A product of several arrays as products of two: the cheapest pair first."""
    extent = {}
    for term, operand in zip(terms, operands):
        for label, n in zip(term, operand.shape):
            extent[label] = max(n, extent.get(label, 1))
    while len(operands) > 2:
        pairs = [(i, j) for j in range(len(terms)) for i in range(j)]
        i, j = min(pairs, key=lambda pair: math.prod(
            extent[label] for label in {*terms[pair[0]], *terms[pair[1]]}))
        needed = {label for k, term in enumerate(terms) if k not in (i, j) for label in term}
        kept = [label for label in dict.fromkeys(terms[i] + terms[j])
                if label in needed or label in wanted]
        made = contract([terms[i], terms[j]], kept, [operands[i], operands[j]])
        rest = [k for k in range(len(terms)) if k not in (i, j)]
        terms = [terms[k] for k in rest] + [kept]
        operands = [operands[k] for k in rest] + [made]
    return contract(terms, wanted, operands)


def product(a, b):
    """a @ b."""
    a, b = traced(a), traced(b)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: an operand has no dimensions")
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise ValueError(f"matmul: {a.shape} and {b.shape} do not fit")
    batch = max(a.ndim, b.ndim) - 2
    labels = list(range(max(batch, 0)))
    m, k, n = 1000, 1001, 1002
    left = labels[batch - (a.ndim - 2):] + [m, k] if a.ndim > 1 else [k]
    right = labels[batch - (b.ndim - 2):] + [k, n] if b.ndim > 1 else [k]
    out = labels + ([m] if a.ndim > 1 else []) + ([n] if b.ndim > 1 else [])
    return contract([left, right], out, [a, b])


def dot(a, b, out=None):
    a, b = traced(a), traced(b)
    if not a.ndim or not b.ndim:
        return traced_ufunc(np.multiply, "__call__", (a, b), {})
    left, right = list(range(a.ndim)), list(range(100, 100 + b.ndim))
    at = max(b.ndim - 2, 0)
    right[at] = left[-1]
    return contract([left, right], left[:-1] + right[:at] + right[at + 1:], [a, b])


def tensordot(a, b, axes=2):
    a, b = traced(a), traced(b)
    if isinstance(axes, int):
        axes = (list(range(a.ndim - axes, a.ndim)), list(range(axes)))
    of_a, of_b = (list(x) if isinstance(x, (list, tuple)) else [x] for x in axes)
    left, right = list(range(a.ndim)), list(range(100, 100 + b.ndim))
    for i, j in zip(of_a, of_b):
        right[j] = left[i]
    summed = {left[i] for i in of_a}
    return contract([left, right], [x for x in left + right if x not in summed], [a, b])


def einsum(spec, *operands, **_):
    if not isinstance(spec, str):
        raise Untraced("einsum with lists of indices")
    operands = [traced(x) for x in operands]
    inputs, arrow, wanted = spec.replace(" ", "").partition("->")
    terms = [expand_dots(term, x.ndim) for term, x in zip(inputs.split(","), operands)]
    if not arrow:
        letters = [x for term in terms for x in term]
        wanted = [x for x in sorted(set(letters), key=str) if letters.count(x) == 1
                  or isinstance(x, int)]
    else:
        dots = max((sum(isinstance(x, int) for x in term) for term in terms), default=0)
        wanted = expand_dots(wanted, dots + len(wanted.replace("...", "")))
    if any(len(set(term)) < len(term) for term in terms):
        raise Untraced("einsum with a diagonal")
    number = {x: i for i, x in enumerate(dict.fromkeys(x for term in terms for x in term))}
    return contract([[number[x] for x in term] for term in terms], [number[x] for x in wanted],
                    operands)


def expand_dots(term, ndim):
    """The indices of a term. The axes that `...` stands for become negative numbers; the last one
    is -1."""
    before, dots, after = term.partition("...")
    hidden = ndim - len(before) - len(after) if dots else 0
    return [*before, *range(-hidden, 0), *after]
