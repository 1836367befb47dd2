# SPDX-License-Identifier: Apache-2.0
"""Loops on the device (nl.fori_loop, nl.while_loop), whose bodies are traced once. It comes before
recorder.py and is one program with it."""

import types

LOOPS = {("nki.language", "fori_loop"), ("nki.language", "while_loop")}
FUNCTIONS = (types.FunctionType, types.MethodType)
KEPT_KINDS = {int, float, str, bool, type(None), tuple, list, dict, set}


class Body:
    """The body of a loop on the device, which traces it once: in every later round Python has again
    what it had before the first one."""

    def __init__(self, loop, function):
        self.loop, self.function, self.before = loop, function, None
        self.__name__ = str(getattr(function, "__name__", "body"))[:200]

    def __call__(self, *arguments, **named):
        first = self.before is None
        if first:
            self.before = [held for held in self.kept() if type(held[2]) in KEPT_KINDS]
        else:
            self.put_back()
        result = self.function(*arguments, **named)
        if first:
            self.tell()
        return result

    def kept(self):
        """What Python keeps for the function: (name, where, value, its items)."""
        code = getattr(self.function, "__code__", None)
        if not isinstance(code, types.CodeType):
            return
        for name, cell in zip(code.co_freevars, self.function.__closure__ or ()):
            try:
                yield (name, cell, cell.cell_contents, items_of(cell.cell_contents))
            except ValueError:  # it is empty
                continue
        for name in code.co_names:
            if name in self.function.__globals__:
                value = self.function.__globals__[name]
                yield (name, None, value, items_of(value))

    def put_back(self):
        for name, cell, value, items in self.before:
            if items is not None:
                value.clear()
                (value.extend if type(value) is list else value.update)(items)
            if cell is not None:
                cell.cell_contents = value
            else:
                self.function.__globals__[name] = value

    def tell(self):
        """Whether the first round changed any of it."""
        now = {(name, cell is None): (value, items) for name, cell, value, items in self.kept()}
        for name, cell, value, items in self.before:
            other, own = now.get((name, cell is None), (None, None))
            if other is not value or not same_items(items, own):
                say(f"the body of {self.loop} changes '{name}', which Python keeps: the body is "
                    "traced once, so it changes once, not in every round")


def items_of(value):
    return type(value)(value) if type(value) in (list, dict, set) else None


def same_items(one, other):
    """Whether containers hold the same objects; nothing of them is asked whether it is equal."""
    if one is None or other is None or len(one) != len(other):
        return one is other
    if isinstance(one, dict):
        return all(key in other and other[key] is value for key, value in one.items())
    if isinstance(one, set):
        return {id(item) for item in one} == {id(item) for item in other}
    return all(left is right for left, right in zip(one, other))


def traced_once(name, function):
    """nl.fori_loop or nl.while_loop."""
    def loop(*arguments, **named):
        def wrap(value):
            return Body(name, value) if isinstance(value, FUNCTIONS) else value
        return function(*[wrap(one) for one in arguments],
                        **{key: wrap(one) for key, one in named.items()})
    return loop
