# SPDX-License-Identifier: Apache-2.0
"""Recording forward: numpy as the reference sees it, its inputs, and the graph that comes out. This
text is run behind functions.py, as one file with it."""

# ------------------------------------------------------------------------ numpy, as forward sees it


class ArrayKind(type):
    """Makes isinstance(x, numpy.ndarray) true for arrays that record."""

    def __instancecheck__(cls, value):
        return isinstance(value, (np.ndarray, Traced))

    def __subclasscheck__(cls, kind):
        return issubclass(kind, (np.ndarray, Traced))

    def __call__(cls, shape, dtype=float, **_):
        return Traced.known(np.zeros(shape, dtype))


class NdArray(metaclass=ArrayKind):
    pass


def making(name):
    """Wraps a function of numpy that makes an array. Its result records, as forward may write to it
    later."""
    def make(*args, **kwargs):
        made = getattr(np, name)(*args, **kwargs)
        return Traced.known(made) if isinstance(made, np.ndarray) else made
    return make


def converting(value, dtype=None, *_, copy=None, ndmin=0, **__):
    """numpy.array and its relatives."""
    if isinstance(value, (list, tuple)) and holds_traced(value):
        value = stack([converting(item) for item in value])
    value = value if isinstance(value, Traced) else Traced.known(np.array(value, dtype))
    made = value if dtype is None else as_type(value, dtype)
    return made.reshape((1,) * max(ndmin - made.ndim, 0) + made.shape) if ndmin else made


def holds_traced(value):
    if isinstance(value, (list, tuple)):
        return any(map(holds_traced, value))
    return isinstance(value, Traced)


class StandIn(type(sys)):
    """Takes numpy's place among the modules while the reference is loaded and runs."""

    ndarray = NdArray

    def __init__(self):
        super().__init__("numpy", np.__doc__)
        for name in ("zeros", "ones", "full", "arange", "linspace", "eye", "identity", "tri",
                     "fromfunction", "frombuffer", "load", "indices", "logspace"):
            setattr(self, name, making(name))
        self.empty = self.zeros
        self.array = lambda value, dtype=None, **kwargs: fresh(converting(value, dtype, **kwargs))
        self.asarray = self.asanyarray = self.ascontiguousarray = self.asfortranarray = converting
        self.shape = lambda a: a.shape if isinstance(a, Traced) else np.shape(a)

    def __getattr__(self, name):
        return getattr(np, name)


# --------------------------------------------------------------------------------------- recording


class Recorded(Reference):
    """The reference with inputs that record."""

    def graph(self, seed):
        global RECORDING
        RECORDING = Recording(self.path)
        torch = torch_of(self.path)
        self.tensors = torch and Tensors(torch)
        sys.modules["numpy"] = StandIn()
        np.random = sys.modules["numpy.random"] = Random()
        Outline.fill = 0
        self.forget()
        self.load()
        given = self.recording(self.some_inputs(seed))
        arguments = self.kernel_arguments(given)
        made = self.tensors.forward(self.forward, given) if self.tensors else self.forward(given)
        made = tuple(made.values()) if isinstance(made, dict) else made
        several = list(made) if isinstance(made, (list, tuple)) else [made]
        if not several or any(value is None for value in several):
            raise Untraced("forward() returned nothing")
        several = self.tensors.given(several) if self.tensors else several
        outputs = [node_of(traced(value)) for value in several]
        return {"nodes": RECORDING.rows, "arguments": arguments, "outputs": outputs,
                "result": type(made).__name__ if isinstance(made, (list, tuple)) else "one"}

    def forget(self):
        """Forgets the modules that lie beside the reference, so that they are loaded again: those
        loaded before hold the real numpy."""
        folder = os.path.dirname(self.path) + os.sep
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(folder):
                del sys.modules[name]

    def some_inputs(self, seed):
        """The inputs without their numbers; the inputs of this seed if get_inputs needs numbers."""
        try:
            return self.begin(seed)
        except Unknown:
            if self.given is None:
                raise NeedsNumbers from None
            return self.given

    def recording(self, inputs):
        """Inputs as get_inputs returns them, with arrays that record."""
        values = inputs.values() if isinstance(inputs, dict) else inputs
        made = [self.argument(i, value) for i, value in enumerate(values)]
        return dict(zip(inputs, made)) if isinstance(inputs, dict) else made

    def argument(self, i, value):
        """An argument of forward: an array becomes one that records, a number stays a number."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.argument(i, item) for item in value)
        if self.tensors and isinstance(value, self.tensors.torch.Tensor) and value.ndim:
            dtype = self.tensors.dtypes.get(value.dtype)
            if dtype is None:
                raise Untraced(f"an argument of {value.dtype}")
            return self.tensors.kind(Traced.of(RECORDING.add(
                "input", [], value.shape,
                BF16 if value.dtype == self.tensors.torch.bfloat16 else dtype, argument=i)),
                value.dtype)
        if not isinstance(value, (np.ndarray, Traced)) or not value.ndim:
            return value
        return Traced.of(RECORDING.add("input", [], value.shape, value.dtype, argument=i))

    def kernel_arguments(self, given):
        """The kernel's arguments: the nodes of arrays, and numbers as they are. Keywords have their
        own names, other arguments those of forward's parameters."""
        transform = self.names.get("transform_to_nki_inputs")
        values = self.call("transform_to_nki_inputs", [given.copy()]) if transform else given
        values = values if isinstance(values, (list, tuple, dict)) else [values]
        names = list(values) if isinstance(values, dict) else [None] * len(values)
        values = list(values.values()) if isinstance(values, dict) else values
        if any(self.holds_arrays(value) for value in values):
            raise Untraced("the kernel takes tuples, dicts or classes that have arrays in them")
        wanted = self.names.get("nki_input_dtypes") or [None] * len(values)
        return [self.kernel_argument(*row) for row in zip(values, wanted, names)]

    def holds_arrays(self, value):
        """Whether there are arrays within a tuple, a dict or a class."""
        found = contained(value)
        return bool(found) and any(
            self.holds_arrays(item) if contained(item)
            else isinstance(item, (np.ndarray, Traced)) or
            bool(self.tensors and isinstance(item, self.tensors.kind)) for _, item in found[2])

    def kernel_argument(self, value, dtype, name):
        if self.tensors and isinstance(value, self.tensors.kind):
            is_bf16 = value.dtype == self.tensors.torch.bfloat16
            value, dtype = value.array, dtype or ("bfloat16" if is_bf16 else None)
        name = {"name": name, "keyword": True} if name else {}
        if not isinstance(value, Traced):
            return {"value": None if value is None else str(value), **name}
        dtype = dtype or NARROWED.get(value.dtype.name, value.dtype.name)
        return {"node": value.now(), "dtype": dtype, **(name or self.name_of(value.now()))}

    def name_of(self, node):
        """The name of forward's parameter from which an argument of the kernel was made."""
        rows, code = RECORDING.rows, getattr(self.names["forward"], "__code__", None)
        while len(rows[node]["in"]) == 1:
            node = rows[node]["in"][0]
        names = code.co_varnames[:code.co_argcount] if code else ()
        at = rows[node].get("argument", len(names))
        return {"name": names[at]} if at < len(names) and names[at].isascii() else {}


# -------------------------------------------------------------------------------------- requests


def refusal(what, line):
    return {"refused": what.encode("utf-8", "replace").decode(), "line": line}


def record_to(folder, reference, seed):
    """Writes the file `graph` in the folder: the graph and its least work, or why nothing was
    recorded."""
    started = time.monotonic()
    recorded = Recorded(reference.path)
    recorded.given = reference.inputs
    try:
        graph = folded(recorded.graph(seed))
        made = {"graph": graph, "work": Work(graph).summary()}
    except NeedsNumbers:
        return
    except Untraced as problem:
        made = refusal(str(problem), problem.line)
    except Exception as problem:
        made = refusal(f"{type(problem).__name__}: {problem}", where(problem, reference.path))
    write_meta(folder, "graph", {**made, "values": [], "depends": recorded.depends(),
                                 "elapsed": time.monotonic() - started})


ENDED_BY = (signal.SIGPROF, signal.SIGALRM)


def graph_of(reference, request):
    """The graph of a reference, which is the same for all seeds. It comes from the cache or is
    recorded in a child. None when the child did not reach its end, or needs the inputs first."""
    folder, beside = os.path.dirname(request["folder"]), os.path.dirname(reference.path)
    for recorded in (False, True):
        found = read_arrays(folder, "graph", beside)
        if found or recorded:
            return found and found[1]
        sys.stderr.flush()
        pid = os.fork() if hasattr(os, "fork") else -1
        if pid == 0:
            try:
                signal.alarm(WAITS_S)
                signal.setitimer(signal.ITIMER_PROF, TRACE_S)
                record_to(folder, reference, request["seed"])
            finally:
                os._exit(0)
        if pid > 0:
            status = os.waitpid(pid, 0)[1]
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) in ENDED_BY:
                write_meta(folder, "graph", {**refusal("recording it took too long", 0),
                                             "values": [], "depends": reference.depends(),
                                             "elapsed": float(TRACE_S)})


def facts_of(reference, request):
    """What meta.json says beside the inputs; harness.py calls this."""
    if request["seed"] >> 32 and reference.shapes():
        return {"refused": "the first shape is the one that is recorded", "line": 0}
    graph = graph_of(reference, request) or {"refused": "recording it took too long", "line": 0}
    return {key: graph[key] for key in ("work", "refused", "line") if key in graph}
