# SPDX-License-Identifier: Apache-2.0
"""Steps of a loop that are alike, said once for all. Where a loop writes one part of an array after
the other, or appends to a list that is joined, the parts are compared: what they are made of
differs by a slice that moves on, or is the part before. So n graphs become one over an axis of n,
and a part that is a * (the part before) + b becomes a "recurrence". What is not alike stays as it
was recorded. This text is run behind functions.py, as one file with it."""
import heapq

ENOUGH_STEPS = 16       # fewer stay as they are written, unless they are a recurrence
DEEPEST_STEP = 48       # operations on the way from one part to what it is made of
EXACT = ("float32", "float64")      # types between which a state may change


class Unlike(Exception):
    """The steps are not alike."""


class Lined:
    """n arrays as one: `at` is the axis along which they lie; None: all n are the node itself."""

    def __init__(self, node, at):
        self.node, self.at = node, at


class Linear:
    """a * state + b, where the state is the part before this one, of the list `of`, and `start`
    comes before the first. None: 1 and 0."""

    def __init__(self, of, start, a=None, b=None):
        self.of, self.start, self.a, self.b = of, start, a, b

    def with_(self, a, b):
        return Linear(self.of, self.start, a, b)


def shape_of(node):
    return tuple(RECORDING.rows[node]["shape"])


def are_equal(a, b):
    """Whether two nodes are one thing recorded twice."""
    one, other = RECORDING.rows[a], RECORDING.rows[b]
    return a == b or (one["op"] == other["op"] != "input" and all(
        one.get(key) == other.get(key) for key in {*one, *other} - {"in", "line"}) and
        len(one["in"]) == len(other["in"]) and all(map(are_equal, one["in"], other["in"])))


def is_elementwise(row):
    return set(row) <= {"op", "in", "shape", "dtype", "line"} and (
        row["op"] in ("where", "cast", "expit", "erf") or
        isinstance(getattr(np, row["op"], None), np.ufunc))


def spaced(node, shape):
    """The node with other axes of one, which what it is made of gets, too."""
    row, old, new = RECORDING.rows[node], shape_of(node), tuple(shape)
    if old == new:
        return node
    if not is_elementwise(row) or [n for n in old if n != 1] != [n for n in new if n != 1]:
        return reshaped(node, new)
    places = dict(zip((i for i, n in enumerate(old) if n != 1),
                      (i for i, n in enumerate(new) if n != 1)))

    def operand(one):
        own = (1,) * (len(old) - len(shape_of(one))) + shape_of(one)
        made = [1] * len(new)
        for axis, place in places.items():
            made[place] = own[axis]
        return spaced(one, made)
    given = [operand(one) if shape_of(one) else one for one in row["in"]]
    return RECORDING.add(row["op"], given, new, row["dtype"])


def turned(node, order):
    """The node with its axes in another order. What goes element by element is done in that order,
    so that what is turned is what it was made of."""
    row, shape = RECORDING.rows[node], shape_of(node)
    new = [shape[axis] for axis in order]
    long = [axis for axis in order if shape[axis] != 1]
    if long == sorted(long):
        return spaced(node, new)
    if not is_elementwise(row):
        return permuted(node, order)
    given = [one if not shape_of(one) else turned(
        reshaped(one, (1,) * (len(shape) - len(shape_of(one))) + shape_of(one)), order)
        for one in row["in"]]
    return RECORDING.add(row["op"], given, new, row["dtype"])


class Steps:
    """The arrays of a list, one for each of n steps, made one array."""

    def __init__(self, n):
        self.n, self.made, self.under_way, self.states = n, {}, [], []

    def roll(self, nodes):
        """A Lined, or a Linear of one of the lists that are under way."""
        nodes = tuple(nodes)
        if nodes not in self.made:
            state = next((one for one in self.under_way if nodes[1:] == one[:-1]), None)
            if state:
                return Linear(state, nodes[0])
            if len(self.under_way) == DEEPEST_STEP:
                raise Unlike
            self.under_way.append(nodes)
            made = self.alike(nodes)
            self.under_way.pop()
            if isinstance(made, Linear) and made.of == nodes:
                made = self.recurrence(nodes, made)
            if isinstance(made, Linear):
                return made
            self.made[nodes] = made
        return self.made[nodes]

    def plain(self, nodes):
        made = self.roll(nodes)
        if isinstance(made, Linear):
            raise Unlike
        return made

    def alike(self, nodes):
        rows = [RECORDING.rows[node] for node in nodes]
        first = rows[0]
        if all(node == nodes[0] for node in nodes):
            return Lined(nodes[0], None)
        if any(row["op"] != first["op"] or row["shape"] != first["shape"] or
               row["dtype"] != first["dtype"] or len(row["in"]) != len(first["in"])
               for row in rows):
            raise Unlike
        RECORDING.at = first["line"]
        if is_elementwise(first):
            return self.elementwise(rows)
        if first["op"] == "constant":
            return self.constant(rows)
        if first["op"] == "slice":
            return self.slice(rows)
        return self.structured(rows, nodes[0])

    def structured(self, rows, node):
        """Operations that know axes, which are the same ones in each step."""
        known = {"reshape": self.reshape, "transpose": self.transpose, "contract": self.contract,
                 **dict.fromkeys((*REDUCTIONS.values(), "cumsum", "cumprod"), self.along_axes)}

        def facts(row):
            return {key: row[key] for key in row if key not in ("in", "line")}
        if rows[0]["op"] not in known or any(facts(row) != facts(rows[0]) for row in rows):
            raise Unlike
        given = self.operands(rows, self.plain)
        if all(one.at is None for one in given):
            return Lined(node, None)
        return known[rows[0]["op"]](rows[0], *given)

    @staticmethod
    def operands(rows, roll):
        return [roll([row["in"][i] for row in rows]) for i in range(len(rows[0]["in"]))]

    # What each kind of operation becomes.

    def constant(self, rows):
        if any("fill" not in row or isinstance(row["fill"], str) for row in rows):
            raise Unlike
        shape = rows[0]["shape"]
        values = np.array([row["fill"] for row in rows], rows[0]["dtype"])
        if math.prod(shape) != 1:
            raise Unlike
        return Lined(RECORDING.constant(values.reshape((self.n, *shape))), 0)

    def slice(self, rows):
        parts = [[tuple(r) for r in row["part"]] for row in rows]
        moving = [k for k in range(len(parts[0])) if any(p[k] != parts[0][k] for p in parts)]
        source, = self.operands(rows, self.plain)
        if not moving:
            part = list(parts[0])
            if source.at is not None:
                part.insert(source.at, (0, self.n, 1))
            return Lined(self.part(source.node, part), source.at)
        if len(moving) > 1 or source.at is not None:
            raise Unlike
        k = moving[0]
        ranges = [p[k] for p in parts]
        step, width = ranges[1][0] - ranges[0][0], ranges[0][1]
        if step < width or (width > 1 and (step != width or ranges[0][2] != 1)) or any(
                r != (ranges[0][0] + i * step,) + ranges[0][1:] for i, r in enumerate(ranges)):
            raise Unlike
        count = self.n * width
        part = parts[0][:k] + [(ranges[0][0], count, step if width == 1 else 1)] + parts[0][k + 1:]
        shape, at = rows[0]["shape"], k + (width == 1)
        return Lined(reshaped(self.part(source.node, part), (*shape[:at], self.n, *shape[at:])), at)

    @staticmethod
    def part(node, part):
        row = RECORDING.rows[node]
        if all(r == (0, n, 1) for r, n in zip(part, row["shape"])):
            return node
        return RECORDING.add("slice", [node], [r[1] for r in part], row["dtype"],
                             part=[tuple(r) for r in part])

    def reshape(self, row, source):
        new, shape = row["shape"], shape_of(source.node)
        places = [q for q in range(len(new) + 1)
                  if math.prod(new[:q]) == math.prod(shape[:source.at])
                  and math.prod(new[q:]) == math.prod(shape[source.at + 1:])]
        node = source.node if places else self.moved(source, 0)
        q = places[-1] if places else 0
        return Lined(spaced(node, (*new[:q], self.n, *new[q:])), q)

    @staticmethod
    def transpose(row, source):
        order = [axis + (axis >= source.at) for axis in row["order"]]
        at = min(source.at, len(order))
        order.insert(at, source.at)
        return Lined(permuted(source.node, order), at)

    def along_axes(self, row, source):
        shape = list(row["shape"])
        shape.insert(source.at, self.n)
        axes = [axis + (axis >= source.at) for axis in row["axes"]]
        return Lined(RECORDING.add(row["op"], [source.node], shape, row["dtype"], axes=axes),
                     source.at)

    def contract(self, row, *given):
        label = max(x for term in row["terms"] for x in term) + 1
        terms = [list(term) for term in row["terms"]]
        for term, one in zip(terms, given):
            if one.at is not None:
                term.insert(one.at, label)
        return Lined(RECORDING.add("contract", [one.node for one in given],
                                   [self.n, *row["shape"]], row["dtype"],
                                   terms=terms, out=[label, *row["out"]]), 0)

    # Operations element by element, and the ones that leave a state linear.

    def elementwise(self, rows):
        row, given = rows[0], self.operands(rows, self.roll)
        linear = [one for one in given if isinstance(one, Linear)]
        if not linear:
            return self.apply(row["op"], given, row["dtype"])
        known = {"add": self.add, "subtract": self.subtract, "multiply": self.multiply,
                 "divide": self.divide, "negative": self.negative, "cast": self.cast}
        if row["op"] not in known or row["dtype"] not in EXACT or any(
                one.of != linear[0].of or not are_equal(one.start, linear[0].start)
                for one in linear):
            raise Unlike
        return known[row["op"]](row["dtype"], *given)

    def apply(self, name, given, dtype):
        """An operation on several Lined, whose axes of steps are brought to one place."""
        ranks = [len(shape_of(one.node)) - (one.at is not None) for one in given]
        rank = max(ranks)
        backs = [r - one.at for r, one in zip(ranks, given) if one.at is not None]
        if not backs:
            shape = np.broadcast_shapes(*(shape_of(one.node) for one in given))
            return Lined(RECORDING.add(name, [one.node for one in given], shape, dtype), None)
        at = rank - backs[0]
        nodes = [self.placed(one, rank, at) for one in given]
        shape = np.broadcast_shapes(*(shape_of(node) for node in nodes))
        return Lined(RECORDING.add(name, nodes, shape, dtype), at)

    @staticmethod
    def moved(one, at):
        order = [i for i in range(len(shape_of(one.node))) if i != one.at]
        order.insert(at, one.at)
        return turned(one.node, order)

    def placed(self, one, rank, at):
        """The node with steps along axis `at` of rank + 1 axes, spread along the axes it lacks."""
        shape = shape_of(one.node)
        if one.at is None:
            if not shape:
                return one.node
            own = [1] * (rank - len(shape)) + list(shape)
            return spaced(one.node, (*own[:at], 1, *own[at:]))
        more = rank + 1 - len(shape)
        own = max(at - more, 0)
        node = one.node if one.at == own else self.moved(one, own)
        shape = shape_of(node)
        if at >= more:
            return spaced(node, (1,) * more + shape)
        return spaced(node, (1,) * at + shape[:1] + (1,) * (more - at) + shape[1:])

    @staticmethod
    def number(dtype, number):
        return Lined(RECORDING.constant(np.dtype(dtype).type(number)), None)

    def add(self, dtype, x, y):
        if not isinstance(x, Linear):
            x, y = y, x
        a, b = x.a, y
        if isinstance(y, Linear):
            one = self.number(dtype, 1)
            a, b = self.apply("add", [x.a or one, y.a or one], dtype), y.b
        if x.b and b:
            b = self.apply("add", [x.b, b], dtype)
        return x.with_(a, b or x.b)

    def subtract(self, dtype, x, y):
        if isinstance(y, Linear):
            return self.add(dtype, x, self.negative(dtype, y))
        b = self.apply("subtract", [x.b, y], dtype) if x.b else self.apply("negative", [y], dtype)
        return x.with_(x.a, b)

    def multiply(self, dtype, x, y):
        if not isinstance(x, Linear):
            x, y = y, x
        if isinstance(y, Linear):
            raise Unlike
        return x.with_(self.apply("multiply", [x.a, y], dtype) if x.a else y,
                       x.b and self.apply("multiply", [x.b, y], dtype))

    def divide(self, dtype, x, y):
        if isinstance(y, Linear) or not isinstance(x, Linear):
            raise Unlike
        return x.with_(self.apply("divide", [x.a or self.number(dtype, 1), y], dtype),
                       x.b and self.apply("divide", [x.b, y], dtype))

    def negative(self, dtype, x):
        return self.multiply(dtype, x, self.number(dtype, -1))

    @staticmethod
    def cast(_, x):
        if RECORDING.rows[x.of[-1]]["dtype"] not in EXACT:
            raise Unlike
        return x

    def recurrence(self, nodes, linear):
        """The states of all steps; what comes before the first one is the third operand."""
        row = RECORDING.rows[nodes[0]]
        RECORDING.at = row["line"]
        rank, dtype = len(row["shape"]), row["dtype"]
        a, b = linear.a or self.number(dtype, 1), linear.b or self.number(dtype, 0)
        at = next((rank + 1 - len(shape_of(x.node)) + x.at for x in (a, b) if x.at is not None), 0)
        shape = (*row["shape"][:at], self.n, *row["shape"][at:])
        made = [self.placed(x, rank, at) for x in (a, b, Lined(linear.start, None))]
        node = RECORDING.add("recurrence", made, shape, dtype, axes=[at])
        self.states.append((nodes, Lined(node, at)))
        return self.states[-1][1]


# ------------------------------------------------------------------------ where parts are gathered


class Gathered:
    """An array whose n parts along an axis are written or joined one after the other."""

    def __init__(self, nodes, base, axis, ranges):
        self.nodes, self.base, self.axis = nodes, base, axis
        self.first, self.width = ranges[0]
        self.fits = all(r == (self.first + i * self.width, self.width)
                        for i, r in enumerate(ranges))

    @staticmethod
    def written(head):
        """The parts that a chain of updates writes; None where they are no steps along an axis."""
        rows, nodes, parts = RECORDING.rows, [], []
        while rows[head]["op"] == "update":
            part = [tuple(r) for r in rows[head]["part"]]
            if not parts or part != parts[-1]:
                nodes.append(rows[head]["in"][1])
                parts.append(part)
            head = rows[head]["in"][0]
        nodes, parts = nodes[::-1], parts[::-1]
        axes = [k for k in range(len(parts[0])) if any(p[k] != parts[0][k] for p in parts)]
        whole = [(0, n, 1) for n in rows[head]["shape"]]
        if len(axes) != 1 or any(p[k] != whole[k] for p in parts[:1] for k in range(len(p))
                                 if k != axes[0]) or any(p[axes[0]][2] != 1 for p in parts):
            return None
        return Gathered(nodes, head, axes[0], [p[axes[0]][:2] for p in parts])

    @staticmethod
    def joined(node):
        row = RECORDING.rows[node]
        axis, at, ranges = row["axes"][0], 0, []
        for one in row["in"]:
            ranges.append((at, shape_of(one)[axis]))
            at += ranges[-1][1]
        return Gathered(row["in"], None, axis, ranges)

    def folded(self, node, instead):
        """The node of all parts together. The first one may be made in a way of its own."""
        for apart in (0, 1):
            n = len(self.nodes) - apart
            steps = Steps(n)
            if n < 2:
                break
            try:
                made = steps.plain(self.nodes[apart:])
            except Unlike:
                continue
            if n >= ENOUGH_STEPS or steps.states:
                for nodes, state in steps.states:
                    instead.update((one, (state, i)) for i, one in enumerate(nodes))
                return self.whole(node, made, steps, apart)
        return None

    def whole(self, node, made, steps, apart):
        """The parts from `apart` on in their place, with what is around them."""
        row, shape = RECORDING.rows[node], list(shape_of(self.nodes[0]))
        RECORDING.at = row["line"]
        shape.insert(self.axis, steps.n)
        if made.at is None:
            made = Lined(RECORDING.add("broadcast", [steps.placed(made, len(shape) - 1, self.axis)],
                                       shape, row["dtype"]), self.axis)
        if self.width == 1:     # that axis goes away
            drop = self.axis + (self.axis >= made.at)
            shorter = [n for i, n in enumerate(shape_of(made.node)) if i != drop]
            made = Lined(reshaped(made.node, shorter), made.at - (drop < made.at))
        shape[self.axis:self.axis + 2] = [steps.n * self.width]
        part = reshaped(steps.moved(made, self.axis), shape)
        total = row["shape"][self.axis]
        if self.base is None or shape[self.axis] + apart * self.width == total:
            first = self.nodes[:apart]
            return part if not first else RECORDING.add(
                "concatenate", [*first, part], row["shape"], row["dtype"], axes=[self.axis])
        base = self.base
        ranges = [(0, n, 1) for n in row["shape"]]
        for i, one in enumerate([*self.nodes[:apart], part]):
            count = shape_of(one)[self.axis]
            ranges[self.axis] = (self.first + i * self.width, count, 1)
            base = RECORDING.add("update", [base, one], row["shape"], row["dtype"],
                                 part=list(ranges))
        return base


def folded(graph):
    """The graph with steps that are alike as one, in an order in which operands come first."""
    rows, instead = graph["nodes"], {}
    continued = {row["in"][0] for row in rows if row["op"] == "update"}
    for node in range(len(rows)):
        row, found = rows[node], None
        if row["op"] == "update" and node not in continued:
            found = Gathered.written(node)
        elif row["op"] == "concatenate":
            found = Gathered.joined(node)
        made = found and found.fits and found.folded(node, instead)
        if made:
            instead[node] = made
    return in_order(graph, instead)


def element(state, i):
    """One step of a folded state, as the node that it was."""
    shape = list(shape_of(state.node))
    part = [(0, n, 1) for n in shape]
    part[state.at] = (i, 1, 1)
    node = Steps.part(state.node, part)
    return reshaped(node, shape[:state.at] + shape[state.at + 1:])


def in_order(graph, instead):
    """Only what is reached, with what stands instead of nodes; otherwise the order stays."""
    rows, inputs = graph["nodes"], {}

    def now(node):
        while node in instead:
            if isinstance(instead[node], tuple):
                instead[node] = element(*instead[node])
            node = instead[node]
        return node
    todo = [now(node) for node in graph["outputs"]]
    todo += [now(row["node"]) for row in graph["arguments"] if "node" in row]
    while todo:
        node = todo.pop()
        if node not in inputs:
            inputs[node] = [now(one) for one in rows[node]["in"]]
            todo.extend(inputs[node])
    number = {old: new for new, old in enumerate(operands_first(inputs))}
    nodes = [dict(rows[old], **{"in": [number[one] for one in inputs[old]]}) for old in number]
    arguments = [dict(row, node=number[now(row["node"])]) if "node" in row else row
                 for row in graph["arguments"]]
    return dict(graph, nodes=nodes, arguments=arguments,
                outputs=[number[now(i)] for i in graph["outputs"]])


def operands_first(inputs):
    """The nodes in order, as far as that goes: each after the ones that it needs."""
    users, missing = {node: [] for node in inputs}, {}
    for node, needed in inputs.items():
        missing[node] = len(set(needed))
        for one in set(needed):
            users[one].append(node)
    ready, order = [node for node in inputs if not missing[node]], []
    heapq.heapify(ready)
    while ready:
        order.append(heapq.heappop(ready))
        for user in users[order[-1]]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, user)
    return order
