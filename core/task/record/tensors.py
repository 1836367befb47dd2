# SPDX-License-Identifier: Apache-2.0
"""References that compute with torch, where it is installed. Tensors of forward are stand-ins that
hold an array that records; what torch makes of its functions (its basic operators, of which
ATEN has a row each) becomes operations on those arrays. Nothing is computed that comes from an
input. This text is run behind functions.py, as one file with it."""

ATEN = {}


def aten(*names):
    def keep(call):
        ATEN.update(dict.fromkeys(names, call))
        return call
    return keep


def torch_of(path):
    """torch, if the reference's text names it; before numpy is replaced, which torch needs."""
    with open(path, "rb") as file:
        if b"torch" not in file.read():
            return None
    try:
        import torch
        from torch.utils import _python_dispatch
        return _python_dispatch and torch
    except ImportError:
        return None


def unary(name):
    return lambda a, **_: traced_ufunc(getattr(np, name), "__call__", (a,), {})


def binary(name):
    return lambda a, b, **_: traced_ufunc(getattr(np, name), "__call__", (a, b), {})


for one in ("exp", "log", "sqrt", "tanh", "abs", "square", "sign", "sin", "cos", "floor", "ceil",
            "log1p", "expm1", "log2", "log10", "exp2", "isnan", "logical_not", "reciprocal",
            "negative", "arctan", "trunc", "rint", "bitwise_not", "isfinite", "isinf"):
    aten({"negative": "neg", "arctan": "atan", "rint": "round"}.get(one, one))(unary(one))
for name_of, one in {"mul": "multiply", "maximum": "maximum", "minimum": "minimum",
                     "pow": "power", "eq": "equal", "ne": "not_equal", "lt": "less",
                     "le": "less_equal", "gt": "greater", "ge": "greater_equal",
                     "logical_and": "logical_and", "logical_or": "logical_or",
                     "logical_xor": "logical_xor", "bitwise_and": "bitwise_and",
                     "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
                     "remainder": "remainder", "fmod": "fmod", "atan2": "arctan2"}.items():
    aten(name_of)(binary(one))


@aten("add")
def add_tensors(a, b, alpha=1):
    return plus(a, b if alpha == 1 else times(b, alpha))


@aten("sub")
def subtract_tensors(a, b, alpha=1):
    return minus(a, b if alpha == 1 else times(b, alpha))


@aten("rsub")
def subtract_from(a, b, alpha=1):
    return minus(b, a if alpha == 1 else times(a, alpha))


@aten("div")
def divide_tensors(a, b, rounding_mode=None):
    if rounding_mode is None:
        return over(a, b)
    name = "floor_divide" if rounding_mode == "floor" else None
    if name is None:
        raise Untraced(f"torch.div rounded by {rounding_mode}")
    return binary(name)(a, b)


@aten("floor_divide")
def floor_divide_tensors(a, b):
    return binary("floor_divide")(a, b)


@aten("rsqrt")
def rsqrt(a):
    return over(1.0, unary("sqrt")(a))


@aten("sigmoid")
def sigmoid(a):
    return over(1.0, plus(1.0, unary("exp")(times(a, -1.0))))


@aten("silu")
def silu(a):
    return times(a, sigmoid(a))


@aten("relu")
def relu(a):
    return binary("maximum")(a, 0)


@aten("erf")
def erf(a):
    a = traced(a)
    return Traced.of(RECORDING.add("erf", [a.now()], a.shape, a.dtype))


@aten("gelu")
def gelu(a, approximate="none"):
    if approximate == "none":
        inner = erf(times(a, math.sqrt(0.5)))
    else:
        cubic = times(times(times(a, a), a), 0.044715)
        inner = unary("tanh")(times(plus(a, cubic), math.sqrt(2 / math.pi)))
    return times(times(a, 0.5), plus(inner, 1.0))


@aten("softplus")
def softplus(a, beta=1, threshold=20):
    scaled = times(a, beta)
    soft = over(unary("log")(plus(unary("exp")(binary("minimum")(scaled, threshold)), 1.0)), beta)
    return where_of(binary("greater")(scaled, threshold), a, soft)


@aten("elu")
def elu(a, alpha=1, scale=1, input_scale=1):
    below = times(minus(unary("exp")(times(binary("minimum")(a, 0), input_scale)), 1.0),
                  alpha * scale)
    return where_of(binary("greater")(a, 0), times(a, scale), below)


@aten("leaky_relu")
def leaky_relu(a, negative_slope=0.01):
    return where_of(binary("greater")(a, 0), a, times(a, negative_slope))


@aten("hardtanh", "clamp")
def clamp(a, min=None, max=None):
    low, high = min, max
    a = a if low is None else binary("maximum")(a, low)
    return a if high is None else binary("minimum")(a, high)


aten("hardtanh")(lambda a, min_val=-1, max_val=1: clamp(a, min_val, max_val))
aten("clamp_min")(lambda a, low: clamp(a, low))
aten("clamp_max")(lambda a, high: clamp(a, None, high))
aten("hardsigmoid")(lambda a: over(clamp(plus(a, 3.0), 0.0, 6.0), 6.0))
aten("hardswish")(lambda a: over(times(a, clamp(plus(a, 3.0), 0.0, 6.0)), 6.0))
aten("mish")(lambda a: times(a, unary("tanh")(softplus(a))))
aten("lerp")(lambda a, b, weight: plus(a, times(minus(b, a), weight)))
aten("addcmul")(lambda a, b, c, value=1: plus(a, times(times(b, c), value)))
aten("addcdiv")(lambda a, b, c, value=1: plus(a, times(over(b, c), value)))
aten("where")(lambda condition, a=None, b=None: where_of(condition, a, b))
aten("masked_fill")(lambda a, mask, value: where_of(mask, as_type(value, traced(a).dtype), a))


# ------------------------------------------------------------------------------- other shapes

aten("view", "_unsafe_view", "reshape", "_reshape_alias")(
    lambda a, shape, *_: traced(a).reshape(tuple(shape)))
aten("t")(lambda a: traced(a).transpose())
aten("transpose")(lambda a, i, j: traced(a).swapaxes(i, j))
aten("permute")(lambda a, order: traced(a).transpose(tuple(order)))
aten("detach", "alias", "lift_fresh", "lift")(lambda a: traced(a).reshape(traced(a).shape))
aten("clone", "contiguous")(lambda a, **_: fresh(traced(a)))
aten("cat")(lambda tensors, dim=0: FUNCTIONS["concatenate"](tensors, dim))
aten("stack")(lambda tensors, dim=0: FUNCTIONS["stack"](tensors, dim))
aten("flip")(lambda a, dims: FUNCTIONS["flip"](a, tuple(dims)))
aten("roll")(lambda a, shifts, dims=(): FUNCTIONS["roll"](a, tuple(shifts), tuple(dims) or None))
aten("repeat")(lambda a, repeats: FUNCTIONS["tile"](a, repeats))
aten("tril")(lambda a, diagonal=0: FUNCTIONS["tril"](a, diagonal))
aten("triu")(lambda a, diagonal=0: FUNCTIONS["triu"](a, diagonal))


@aten("unsqueeze")
def unsqueeze(a, dim):
    return FUNCTIONS["expand_dims"](a, dim)


@aten("squeeze")
def squeeze_tensor(a, dim=None):
    a = traced(a)
    axes = range(a.ndim) if dim is None else axes_of(dim, a.ndim)
    return a.reshape(tuple(n for i, n in enumerate(a.shape) if i not in axes or n != 1))


@aten("expand")
def expand(a, size, implicit=False):
    a = traced(a)
    kept = (1,) * (len(size) - a.ndim) + a.shape
    return spread(a, tuple(n if wanted == -1 else int(wanted) for n, wanted in zip(kept, size)))


@aten("select")
def select(a, dim, index):
    return traced(a)[(slice(None),) * (dim % traced(a).ndim) + (index,)]


@aten("slice")
def slice_tensor(a, dim=0, start=None, end=None, step=1):
    return traced(a)[(slice(None),) * (dim % traced(a).ndim) + (slice(start, end, step),)]


@aten("split", "chunk")
def split_tensor(a, size, dim=0):
    a, dim = traced(a), dim % traced(a).ndim
    return [part_along(a, dim, at, min(at + size, a.shape[dim]))
            for at in range(0, a.shape[dim], size)]


@aten("split_with_sizes")
def split_sizes(a, sizes, dim=0):
    ends = [0, *np.cumsum(sizes)]
    return [part_along(traced(a), dim % traced(a).ndim, int(first), int(stop))
            for first, stop in zip(ends, ends[1:])]


@aten("unbind")
def unbind(a, dim=0):
    return [select(a, dim, i) for i in range(traced(a).shape[dim])]


@aten("constant_pad_nd")
def pad_tensor(a, pad, value=0):
    a = traced(a)
    widths = [(0, 0)] * a.ndim
    for i in range(len(pad) // 2):
        widths[a.ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    kept = tuple(slice(max(-low, 0), n + min(high, 0)) for (low, high), n in zip(widths, a.shape))
    widths = [(max(low, 0), max(high, 0)) for low, high in widths]
    return FUNCTIONS["pad"](a[kept], widths, constant_values=value)


@aten("index")
def index_tensor(a, indices):
    key = tuple(slice(None) if index is None else index for index in indices)
    return get_part(traced(a), key if len(key) > 1 else key[0])


aten("index_select")(lambda a, dim, index: FUNCTIONS["take"](a, index, axis=dim))
aten("embedding")(lambda weight, index, *_, **__: FUNCTIONS["take"](weight, index, axis=0))
aten("gather")(lambda a, dim, index, **_: FUNCTIONS["take_along_axis"](a, index, dim))


# ------------------------------------------------------------------------------- over axes

def over_axes(name, widen=False):
    def call(a, dim=None, keepdim=False, dtype=None, **_):
        a, kind = traced(a), {}
        if widen and a.dtype.kind in "biu":
            kind = {"dtype": np.int64}
        dims = None if dim is None or isinstance(dim, (list, tuple)) and not dim else dim
        dims = tuple(dims) if isinstance(dims, (list, tuple)) else dims
        return FUNCTIONS[name](a, axis=dims, keepdims=bool(keepdim), **kind)
    return call


aten("sum")(over_axes("sum", True))
aten("prod")(over_axes("prod", True))
aten("mean")(over_axes("mean"))
aten("amax")(over_axes("amax"))
aten("amin")(over_axes("amin"))
aten("any")(over_axes("any"))
aten("all")(over_axes("all"))
aten("cumsum")(lambda a, dim, **_: FUNCTIONS["cumsum"](a, axis=dim))
aten("cumprod")(lambda a, dim, **_: FUNCTIONS["cumprod"](a, axis=dim))
aten("argmax")(lambda a, dim=None, keepdim=False: FUNCTIONS["argmax"](a, dim, keepdims=keepdim))
aten("argmin")(lambda a, dim=None, keepdim=False: FUNCTIONS["argmin"](a, dim, keepdims=keepdim))
aten("argsort")(lambda a, dim=-1, descending=False:
                FUNCTIONS["argsort"](times(a, -1) if descending else a, dim))


def with_places(largest):
    """torch.max and torch.min: of everything, of two tensors, or along an axis with the places."""
    def call(a, dim=None, keepdim=False):
        name = "amax" if largest else "amin"
        if isinstance(dim, (Traced, np.ndarray)):
            return binary("maximum" if largest else "minimum")(a, dim)
        made = FUNCTIONS[name](a, axis=dim, keepdims=bool(keepdim))
        return made if dim is None else (made, ATEN["argmax" if largest else "argmin"](
            a, dim, bool(keepdim)))
    return call


aten("max")(with_places(True))
aten("min")(with_places(False))


@aten("topk")
def topk(a, k, dim=-1, largest=True, sorted=True):
    if k != 1:
        raise Untraced("torch.topk of more than one")
    return with_places(largest)(a, dim, True)


@aten("var", "std")
def variance(a, dim=None, unbiased=True, correction=None, keepdim=False):
    """Also var(a, unbiased)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    ddof = int(unbiased) if correction is None else correction
    dims = tuple(dim) if isinstance(dim, (list, tuple)) and dim else None
    return FUNCTIONS["var"](a, axis=dims, ddof=ddof, keepdims=bool(keepdim))


aten("std")(lambda *args, **kwargs: unary("sqrt")(variance(*args, **kwargs)))


@aten("var_mean")
def var_mean(a, dim=None, unbiased=True, correction=None, keepdim=False):
    return variance(a, dim, unbiased, correction, keepdim), over_axes("mean")(a, dim, keepdim)


@aten("linalg_vector_norm")
def vector_norm(a, ord=2, dim=None, keepdim=False, **_):
    if ord != 2:
        raise Untraced(f"a norm of order {ord}")
    return unary("sqrt")(over_axes("sum")(times(a, a), dim, keepdim))


aten("norm")(lambda a, p=2, dim=None, keepdim=False, **_: vector_norm(a, p, dim, keepdim))


@aten("_softmax")
def softmax(a, dim, *_):
    powers = unary("exp")(minus(a, FUNCTIONS["amax"](a, axis=dim, keepdims=True)))
    return over(powers, FUNCTIONS["sum"](powers, axis=dim, keepdims=True))


@aten("_log_softmax")
def log_softmax(a, dim, *_):
    apart = minus(a, FUNCTIONS["amax"](a, axis=dim, keepdims=True))
    return minus(apart, unary("log")(FUNCTIONS["sum"](unary("exp")(apart), axis=dim,
                                                      keepdims=True)))


@aten("logsumexp")
def logsumexp(a, dim, keepdim=False):
    most = FUNCTIONS["amax"](a, axis=tuple(dim), keepdims=True)
    made = plus(unary("log")(FUNCTIONS["sum"](unary("exp")(minus(a, most)), axis=tuple(dim),
                                              keepdims=True)), most)
    return made if keepdim else FUNCTIONS["squeeze"](made, tuple(dim))


@aten("nll_loss_forward")
def nll_loss(a, target, weight, reduction, ignore_index):
    a, target = traced(a), traced(target)
    if weight is not None:
        raise Untraced("nll_loss with weights")
    taken = FUNCTIONS["take_along_axis"](a, target.reshape(target.shape + (1,)), a.ndim - 1)
    losses = times(taken.reshape(target.shape), -1.0)
    made = losses if reduction == 0 else FUNCTIONS["mean" if reduction == 1 else "sum"](losses)
    return made, None


@aten("mse_loss")
def mse_loss(a, b, reduction=1):
    made = times(minus(a, b), minus(a, b))
    return made if reduction == 0 else FUNCTIONS["mean" if reduction == 1 else "sum"](made)


def normalised(a, axes, eps):
    """(a - mean) / deviation over axes that stay, with both."""
    middle = FUNCTIONS["mean"](a, axis=axes, keepdims=True)
    apart = minus(a, middle)
    spread_of = FUNCTIONS["mean"](times(apart, apart), axis=axes, keepdims=True)
    inverse = rsqrt(plus(spread_of, eps))
    return times(apart, inverse), middle, inverse


def with_gain(made, weight, bias, shape):
    made = made if weight is None else times(made, traced(weight).reshape(shape))
    return made if bias is None else plus(made, traced(bias).reshape(shape))


@aten("native_layer_norm")
def layer_norm(a, shape, weight, bias, eps):
    a = traced(a)
    made, middle, inverse = normalised(a, tuple(range(a.ndim - len(shape), a.ndim)), eps)
    return with_gain(made, weight, bias, tuple(shape)), middle, inverse


@aten("native_group_norm")
def group_norm(a, weight, bias, n, channels, _, groups, eps):
    a = traced(a)
    made, middle, inverse = normalised(a.reshape((n, groups, -1)), (2,), eps)
    shape = (1, channels) + (1,) * (a.ndim - 2)
    return with_gain(made.reshape(a.shape), weight, bias, shape), middle, inverse


@aten("native_batch_norm", "cudnn_batch_norm")
def batch_norm(a, weight, bias, running_mean, running_var, training, momentum, eps):
    a = traced(a)
    shape = (1, a.shape[1]) + (1,) * (a.ndim - 2)
    if training:
        made, middle, inverse = normalised(a, (0, *range(2, a.ndim)), eps)
    else:
        middle = traced(running_mean).reshape(shape)
        inverse = rsqrt(plus(traced(running_var).reshape(shape), eps))
        made = times(minus(a, middle), inverse)
    return with_gain(made, weight, bias, shape), middle, inverse


# ------------------------------------------------------------------------------- products

aten("mm", "bmm", "matmul")(lambda a, b, **_: product(a, b))
aten("mv")(lambda a, b: product(a, b))
aten("dot", "vdot")(lambda a, b: dot(a, b))
aten("addmm", "baddbmm", "addmv")(
    lambda c, a, b, beta=1, alpha=1, **_: plus(c if beta == 1 else times(c, beta),
                                               product(a, b) if alpha == 1
                                               else times(product(a, b), alpha)))


def windows_of(a, sizes, stride, padding, dilation, value=0):
    """The array at each place of a window: [(place in the window, part of the array)]."""
    rank, a = len(sizes), traced(a)
    stride, padding, dilation = ([x[0]] * rank if len(x) == 1 else list(x)
                                 for x in (stride or sizes, padding, dilation))
    if any(padding):
        a = FUNCTIONS["pad"](a, [(0, 0)] * (a.ndim - rank) + [(p, p) for p in padding],
                             constant_values=value)
    outs = [(n - d * (k - 1) - 1) // s + 1
            for n, k, s, d in zip(a.shape[-rank:], sizes, stride, dilation)]
    for place in np.ndindex(*sizes):
        yield place, a[(Ellipsis, *(slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, n, s in
                                    zip(place, dilation, outs, stride)))]


@aten("convolution")
def convolution(a, weight, bias, stride, padding, dilation, transposed, _, groups):
    a, weight, total = traced(a), traced(weight), None
    rank = a.ndim - 2
    if transposed:
        raise Untraced("a transposed convolution")
    n, out, inner = a.shape[0], weight.shape[0], weight.shape[1]
    axes = list(range(10, 10 + rank))
    for place, part in windows_of(a, weight.shape[2:], stride, padding, dilation):
        taken = weight[(slice(None), slice(None), *place)]
        if groups > 1 and inner == 1 and out == groups:     # each channel by itself
            made = times(part, taken.reshape((1, out) + (1,) * rank))
        else:
            made = contract([[0, 1, 2, *axes], [1, 3, 2]], [0, 1, 3, *axes],
                            [part.reshape((n, groups, inner, *part.shape[2:])),
                             taken.reshape((groups, out // groups, inner))])
            made = made.reshape((n, out, *part.shape[2:]))
        total = made if total is None else plus(total, made)
    return total if bias is None else plus(total, traced(bias).reshape((1, out) + (1,) * rank))


@aten("max_pool2d_with_indices", "max_pool1d_with_indices", "max_pool3d_with_indices")
def max_pool(a, sizes, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    if ceil_mode:
        raise Untraced("pooling whose last windows are cut off")
    parts = [part for _, part in windows_of(a, sizes, stride, padding, dilation, -np.inf)]
    made = parts[0]
    for part in parts[1:]:
        made = binary("maximum")(made, part)
    return made, None


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average_pool(a, sizes, stride=(), padding=(0,), ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
    if ceil_mode or any(padding) and not count_include_pad:
        raise Untraced("pooling whose windows differ in their number of elements")
    made = None
    for _, part in windows_of(a, sizes, stride, padding, (1,)):
        made = part if made is None else plus(made, part)
    return over(made, divisor_override or math.prod(sizes))


@aten("_adaptive_avg_pool2d", "adaptive_avg_pool1d")
def adaptive_pool(a, size):
    a, rank = traced(a), len(size)
    if any(n % out for n, out in zip(a.shape[-rank:], size)):
        raise Untraced("pooling to a size that does not divide the array's")
    shape, axes = list(a.shape[:-rank]), []
    for n, out in zip(a.shape[-rank:], size):
        axes.append(len(shape) + 1)
        shape += [out, n // out]
    return FUNCTIONS["mean"](a.reshape(tuple(shape)), axis=tuple(axes))


# ------------------------------------------------------------------------------- the tensors

class Tensors:
    """torch while forward runs: its tensors record."""

    def __init__(self, torch):
        from torch.utils._python_dispatch import TorchDispatchMode
        tensors, self.torch = self, torch
        self.dtypes = {torch.float32: np.float32, torch.float64: np.float64,
                       torch.float16: np.float16, torch.bfloat16: np.float32,
                       torch.bool: np.bool_, torch.uint8: np.uint8, torch.int8: np.int8,
                       torch.int16: np.int16, torch.int32: np.int32, torch.int64: np.int64}

        class Recording_(torch.Tensor):
            """A tensor without numbers: `array` has what it holds; None: nothing here makes it."""
            __torch_function__ = torch._C._disabled_torch_function_impl

            @staticmethod
            def __new__(cls, array, dtype):
                made = torch.Tensor._make_wrapper_subclass(
                    cls, (0,) if array is None else array.shape, dtype=dtype)
                made.array = array
                return made

            def __init__(self, *_):
                pass

            @classmethod
            def __torch_dispatch__(cls, called, types, args=(), kwargs=None):
                return tensors.call(called, args, kwargs or {})

            def numpy(self, **_):
                return self.array

            def tolist(self):
                return self.array.tolist()

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, called, types, args=(), kwargs=None):
                return tensors.call(called, args, kwargs or {})

        self.kind, self.mode = Recording_, Mode

    def wrap(self, array, dtype=None):
        wanted = dtype or next(key for key, value in self.dtypes.items()
                               if np.dtype(value) == array.dtype)
        return self.kind(array, wanted)

    def given(self, value):
        """Of what a person's tensor or array is for a kernel: the array."""
        if isinstance(value, self.kind):
            if value.array is None:
                raise Untraced("the places of a pooling's largest elements")
            return value.array
        if isinstance(value, self.torch.Tensor):
            number = value.detach()
            number = number.float() if number.dtype == self.torch.bfloat16 else number
            made = Traced.known(np.array(number.numpy()))
            return made.numbers.item() if made.ndim == 0 else made
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.given, value))
        return value

    def call(self, called, args, kwargs):
        """One of torch's operators."""
        name, torch = called.overloadpacket.__name__, self.torch
        if not self.records(args) and not self.records(list(kwargs.values())):
            return self.keep(called(*args, **kwargs))
        if name == "_local_scalar_dense":
            return self.given(args[0]).item()
        if name in ("_to_copy", "to", "type_as"):
            return self.converted(args[0], kwargs.get("dtype"))
        if name in self.FILLS:
            return self.filled(called, args, kwargs)
        into = kwargs.pop("out", None)
        into = args[0] if into is None and name.endswith("_") else into
        kwargs = {key: self.given(value) for key, value in kwargs.items()
                  if key not in ("memory_format", "layout", "device", "pin_memory")}
        if name in ("copy_", "fill_", "zero_"):
            value = 0 if name == "zero_" else self.given(args[1])
            return self.write(into, value)
        if name in ("index_put", "index_put_") and not (len(args) > 3 and args[3]):
            into = args[0] if name.endswith("_") else self.kind(fresh(self.given(args[0])),
                                                                args[0].dtype)
            key = tuple(slice(None) if at is None else self.given(at) for at in args[1])
            set_part(self.given(into), key if len(key) > 1 else key[0], self.given(args[2]))
            return into
        call = ATEN.get(name) or ATEN.get(name.rstrip("_"))
        if call is None:
            raise Untraced(f"torch's {name}")
        kwargs.pop("dtype", None)
        made = call(*map(self.given, args), **kwargs)
        return self.wrapped(made, args) if into is None else self.write(into, made)

    FILLS = {"zeros_like", "ones_like", "empty_like", "full_like", "new_zeros", "new_ones",
             "new_empty", "new_full", "rand_like", "randn_like"}

    def filled(self, called, args, kwargs):
        """A tensor like another one, of whose numbers nothing is needed."""
        like = self.torch.empty(args[0].shape, dtype=args[0].dtype)
        return self.keep(called(like, *args[1:], **{key: value for key, value in kwargs.items()
                                                    if key != "memory_format"}))

    def records(self, values):
        return any(isinstance(value, self.kind) or isinstance(value, (list, tuple)) and
                   self.records(value) for value in values)

    def keep(self, made):
        """What torch computed without inputs: forward may write to it."""
        if isinstance(made, (list, tuple)):
            return type(made)(map(self.keep, made))
        if not isinstance(made, self.torch.Tensor) or made.dtype not in self.dtypes:
            return made
        number = made.float() if made.dtype == self.torch.bfloat16 else made
        return self.kind(Traced.known(np.array(number.numpy())), made.dtype)

    def converted(self, tensor, dtype):
        array = self.given(tensor)
        dtype = dtype or tensor.dtype
        if dtype not in self.dtypes:
            raise Untraced(f"a tensor of {dtype}")
        made = fresh(as_type(array, self.dtypes[dtype]))
        if tensor.dtype == self.torch.bfloat16 != dtype and made.real() is None:
            made = Traced.of(RECORDING.add("cast", [made.now()], made.shape, made.dtype))
        return self.kind(self.rounded(made) if dtype == self.torch.bfloat16 else made, dtype)

    def write(self, into, value):
        if not isinstance(into, self.kind):
            raise Untraced("writing to a tensor that was not made in forward")
        into.array.write(value)
        return into

    def wrapped(self, made, args):
        """Arrays as tensors; results that torch has in float32 are not float64 here."""
        if isinstance(made, (list, tuple)):
            return type(made)(self.wrapped(one, args) for one in made)
        if made is None:
            return self.kind(None, self.torch.int64)
        tensors = [value for value in self.flat(args)]
        made, dtype = traced(made), None
        if made.dtype == np.float64 and not any(t.dtype == self.torch.float64 for t in tensors):
            made = as_type(made, np.float32)
        floats = [t.dtype for t in tensors if t.dtype.is_floating_point and t.dim()]
        if made.dtype == np.float32 and floats and all(t == self.torch.bfloat16 for t in floats):
            dtype, made = self.torch.bfloat16, self.rounded(made)
        return self.wrap(made, dtype)

    @staticmethod
    def rounded(array):
        """An array of bf16 numbers: torch rounds after each of its operators."""
        if array.real() is not None or RECORDING.rows[array.now()]["dtype"] == BF16:
            return array
        return Traced.of(RECORDING.add("cast", [array.now()], array.shape, BF16))

    def flat(self, values):
        for value in values:
            if isinstance(value, self.torch.Tensor):
                yield value
            elif isinstance(value, (list, tuple)):
                yield from self.flat(value)

    # What makes tensors of arrays, and what torch has a kernel of its own for.

    def convert(self, real):
        def make(value, *args, dtype=None, **kwargs):
            if isinstance(value, self.kind):
                return value if dtype is None else self.converted(value, dtype)
            if not holds_traced(value):
                return real(value, *args, **({} if dtype is None else {"dtype": dtype}), **kwargs)
            made = self.wrap(converting(value))
            return made if dtype is None else self.converted(made, dtype)
        return make

    def attention(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False,
                  scale=None, **options):
        """torch.nn.functional.scaled_dot_product_attention."""
        if dropout_p or any(options.values()):
            raise Untraced("scaled_dot_product_attention with "
                           + ", ".join(["dropout"] * bool(dropout_p) + sorted(options)))
        torch, rows, columns = self.torch, query.shape[-2], key.shape[-2]
        scores = query @ key.transpose(-2, -1) * (scale or 1 / math.sqrt(query.shape[-1]))
        if is_causal:
            attn_mask = torch.ones(rows, columns, dtype=torch.bool).tril()
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
        elif attn_mask is not None:
            scores = scores + attn_mask
        return torch.softmax(scores, -1) @ value

    def forward(self, forward, given):
        """What forward returns."""
        torch = self.torch
        for name in ("tensor", "as_tensor", "from_numpy", "asarray"):
            setattr(torch, name, self.convert(getattr(torch, name)))
        if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            torch.nn.functional.scaled_dot_product_attention = self.attention
        with torch.no_grad(), self.mode():
            return forward(given)
