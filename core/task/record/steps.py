# SPDX-License-Identifier: Apache-2.0
"""The arrays that forward goes through, with their numbers: what a wrong kernel is held against.
forward runs once more on arrays that note what each operation made of them. This text is run behind
graph.py, as one file with it."""
import ast

MOST_STEPS = 56             # with the outputs and the names they fit MAX_VALUES
MOST_NUMBERS = 48 << 20     # elements of all of them


class Noted:
    """What was noted, in order: (name, line, array)."""

    def __init__(self, path):
        self.path, self.rows, self.numbers, self.missed = path, [], 0, False
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
        self.names = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.names[line] = node.targets[0].id

    def note(self, what, made):
        for array in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.size > 3:
                self.keep(what, self.line(), array)

    def line(self):
        frame = sys._getframe(1)
        while frame and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        return frame.f_lineno if frame else 0

    def keep(self, what, line, array):
        if len(self.rows) >= MOST_STEPS or self.numbers + array.size > MOST_NUMBERS or \
                array.ndim > MAX_DIMS:
            self.missed = True
            return
        self.numbers += array.size
        name = self.names.get(line)
        label = f"{what} in `{name}`" if name else what
        # A copy: what is written in place later shall not change it.
        with np.errstate(over="ignore"):
            self.rows.append((label, line, np.array(array, np.float32, order="C", subok=False)))


STEPS = None


def bare(value):
    if isinstance(value, Seen):
        return value.view(np.ndarray)
    if isinstance(value, (tuple, list)):
        return type(value)(map(bare, value))
    return value


class Seen(np.ndarray):
    """An array whose operations are noted."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if out is not None:
            options["out"] = tuple(map(bare, out))
        made = getattr(ufunc, method)(*map(bare, inputs), **options)
        STEPS.note(ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}", made)
        if out is not None:
            return out[0] if len(out) == 1 else out
        return made.view(Seen) if isinstance(made, np.ndarray) else made

    def __array_function__(self, function, types, args, kwargs):
        made = super().__array_function__(function, types, args, kwargs)
        STEPS.note(function.__name__, made)
        return made


def seen(value):
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.view(Seen)
    return value


def go_through(reference, seed):
    """Notes what forward makes on the way. What it raises with such arrays ends the notes only."""
    inputs = reference.begin(seed)
    named = inputs if isinstance(inputs, dict) else \
        {f"input {i}": value for i, value in enumerate(inputs)}
    for name, value in named.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            STEPS.keep(name, 0, value)
    given = list(map(seen, named.values()))
    try:
        reference.forward(dict(zip(inputs, given)) if isinstance(inputs, dict) else given)
    except Exception:
        STEPS.missed = True
    reference.seed = reference.inputs = None


def do_steps(reference, request):
    """Writes the arrays of a seed as `steps` beside its inputs: names and lines as one text, then
    the arrays, last the outputs."""
    global STEPS
    started = time.monotonic()
    reference.load()
    reference.seed = None
    if reference.names.get("nki_input_dtypes"):
        reference.kernel_inputs(request["seed"])
    STEPS = Noted(reference.path)
    go_through(reference, request["seed"])
    outputs, _ = do_forward(reference, request)
    rows = STEPS.rows + [("output", 0, np.asarray(array, np.float32)) for array, _ in outputs]
    names = "\n".join(f"{line}\t{name}" for name, line, _ in rows)
    shutil.rmtree(os.path.join(request["folder"], "steps"), ignore_errors=True)
    write_arrays(request["folder"], "steps", [(names, None)] + [(a, "float32") for _, _, a in rows],
                 {"tolerance": 0, "depends": reference.depends(), "missed": STEPS.missed,
                  "elapsed": time.monotonic() - started})
    STEPS = None


OPERATIONS["steps"] = do_steps
