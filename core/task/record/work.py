# SPDX-License-Identifier: Apache-2.0
"""The least work of a reference, from its graph. This text is run behind functions.py, as one file
with it."""


class Work:
    """What every kernel of the graph has to do: read the inputs that matter once, write the outputs
    once, and compute the products. A chain of products counts in its cheapest order, and results
    that a constant mask hides do not count. So it is never more than what is needed."""

    def __init__(self, graph):
        self.graph, self.nodes = graph, graph["nodes"]
        self.users = [[] for _ in self.nodes]
        for i, row in enumerate(self.nodes):
            for source in row["in"]:
                self.users[source].append(i)
        self.kernel_type = {row["node"]: row["dtype"] for row in graph["arguments"]
                            if "node" in row}

    def summary(self):
        products = {4: 0.0, 2: 0.0, 1: 0.0}
        for i, row in enumerate(self.nodes):
            if row["op"] == "contract" and not self.joins(i):
                width = max(map(self.width, row["in"]))
                products[4 if width > 2 else width] += self.multiply_adds(i)
        return {"read_bytes": self.read_bytes(), "written": sum(
                    math.prod(self.nodes[i]["shape"]) for i in set(self.graph["outputs"])),
                "multiply_adds": {"fp32": products[4], "bf16": products[2], "fp8": products[1]}}

    def width(self, node):
        """Bytes of an element as a kernel may hold it. For an input that is the type that the
        kernel is given."""
        while node not in self.kernel_type and self.nodes[node]["op"] in MOVEMENTS:
            node = self.nodes[node]["in"][0]
        name = self.kernel_type.get(node, self.nodes[node]["dtype"])
        return raw_type(name).itemsize if name in OWN_DTYPES or name in PLAIN_DTYPES else 4

    def read_bytes(self):
        """Bytes that the outputs need of each of the kernel's arguments."""
        needed, todo = set(), list(self.graph["outputs"])
        while todo:
            node = todo.pop()
            if node not in needed:
                needed.add(node)
                todo.extend(self.nodes[node]["in"])
        elements = {}
        for i in needed:
            if self.nodes[i]["op"] == "input":
                size = math.prod(self.nodes[i]["shape"])
                users = [self.nodes[user] for user in self.users[i] if user in needed]
                partly = users and i not in self.graph["outputs"] and all(
                    row["op"] in ("slice", "gather") and row["in"][0] == i for row in users)
                taken = sum(math.prod(row["shape"]) for row in users) if partly else size
                elements[i] = min(size, taken)
        return float(sum(n * self.least_width(i) for i, n in elements.items()))

    def least_width(self, node):
        """The narrowest type in which the kernel is given an input, as it is or transformed."""
        widths = [self.width(i) for i in self.kernel_type if self.comes_from(i, node)]
        return min(widths, default=self.width(node))

    def comes_from(self, node, source):
        todo, seen = [node], set()
        while todo:
            node = todo.pop()
            if node == source:
                return True
            if node not in seen:
                seen.add(node)
                todo.extend(self.nodes[node]["in"])
        return False

    # Products.

    def joins(self, node):
        """Whether a product is a link of a chain: then the product that uses it counts it."""
        users = self.users[node]
        return len(users) == 1 and node not in self.graph["outputs"] and \
            self.nodes[users[0]]["op"] == "contract"

    def multiply_adds(self, node):
        terms, out, extent = self.chain(node)
        return cheapest(terms, out, extent) * self.live(node)

    def chain(self, node):
        """All factors of a product, with the factors of a link in its place."""
        row = self.nodes[node]
        terms, extent, out = [], {}, list(row["out"])
        for term, source in zip(row["terms"], row["in"]):
            extent.update(zip(term, self.nodes[source]["shape"]))
        for term, source in zip(row["terms"], row["in"]):
            if not (self.nodes[source]["op"] == "contract" and self.joins(source)):
                terms.append(tuple(term))
                continue
            inner, inner_out, inner_extent = self.chain(source)
            name = dict(zip(inner_out, term))
            for label in inner_extent:
                name.setdefault(label, max(extent) + 1)
                extent.setdefault(name[label], inner_extent[label])
            terms.extend(tuple(name[label] for label in part) for part in inner)
        return terms, out, extent

    def live(self, node):
        """The share of a product's results that no constant mask hides."""
        for _ in range(16):
            users = self.users[node]
            if len(users) != 1 or node in self.graph["outputs"]:
                return 1.0
            row = self.nodes[users[0]]
            others = [self.nodes[i] for i in row["in"] if i != node]
            masks = [other["live"] for other in others if "live" in other]
            if masks and row["op"] in ("where", "add"):
                keeps = row["op"] == "add" or row["in"][1] == node
                return masks[0] if keeps else 1.0 - masks[0]
            if row["op"] not in ("multiply", "divide", "add", "cast", "reshape"):
                return 1.0
            node = users[0]
        return 1.0


MOVEMENTS = {"reshape", "transpose", "broadcast", "slice", "gather", "concatenate", "windows"}


def cheapest(terms, out, extent):
    """Multiply-adds of a product of several factors, two at a time, in the cheapest order. More
    than four factors are multiplied from the left."""
    def cost(labels):
        return float(math.prod(extent[label] for label in labels))
    if len(terms) <= 1:
        return 0.0
    if len(terms) == 2:
        return cost(set(terms[0]) | set(terms[1]))
    best = math.inf
    pairs = [(i, j) for j in range(len(terms)) for i in range(j)] if len(terms) <= 4 else [(0, 1)]
    for i, j in pairs:
        rest = [term for k, term in enumerate(terms) if k not in (i, j)]
        both = set(terms[i]) | set(terms[j])
        kept = tuple(sorted(label for label in both
                            if label in out or any(label in term for term in rest)))
        best = min(best, cost(both) + cheapest([kept, *rest], out, extent))
    return best
