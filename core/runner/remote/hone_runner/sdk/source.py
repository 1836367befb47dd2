# SPDX-License-Identifier: Apache-2.0
"""What the text of a kernel says without running it: dialect, the kernel's function, its parameters
and the names it returns. The Python of the environment reads it, because the kernel may use its
syntax. The rules are those of hone's own parser, so that hone and the host find the same kernel."""

import ast

LEGACY_NAMES = {"nl.par_dim", "nl.arange", "nl.mgrid", "nl.loop_reduce", "nl.spmd_dim",
                "nki.baremetal", "nki.benchmark", "nki.simulate_kernel"}


class Unclear(Exception):
    """There is no kernel in the file, or more than one could be it."""


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return head and head + "." + node.attr
    return ""


def module_dialect(name):
    head = (name or "").split(".")[0]
    return {"neuronxcc": "legacy", "nki": "current"}.get(head)


def dialect(tree):
    """legacy, current or unknown: by the imports, else by features that only one of them has."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {module_dialect(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(module_dialect(node.module))
    found.discard(None)
    if len(found) == 1:
        return found.pop()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node) in LEGACY_NAMES:
            return "legacy"
        if isinstance(node, ast.Call) and dotted(node.func).startswith("nisa."):
            if any(word.arg == "dst" for word in node.keywords):
                return "current"
        if isinstance(node, ast.keyword) and node.arg == "mask":
            return "legacy"
    return "unknown"


def decorators(function):
    """The decorators that make a kernel of the function."""
    found = []
    for node in function.decorator_list:
        name = dotted(node.func if isinstance(node, ast.Call) else node)
        if name.split(".")[-1] in ("jit", "baremetal", "benchmark", "profile", "trace") and \
                (name.startswith("nki") or "." not in name):
            found.append(node)
    return found


def is_decorated(function):
    return bool(decorators(function))


def decorator_words(function):
    """The ast.keyword nodes of those decorators; `**more` has no name and is left out."""
    return [word for node in decorators(function) if isinstance(node, ast.Call)
            for word in node.keywords if word.arg]


def decorator_lnc(text, name):
    """The number of physical cores that a kernel's own decorator asks for; None when it asks for
    none, or the text is no file with such a kernel."""
    try:
        words = decorator_words(find_kernel(ast.parse(text), name))
    except (SyntaxError, ValueError, RecursionError, MemoryError, Unclear):
        return None
    values = [word.value.value for word in words
              if word.arg == "lnc" and isinstance(word.value, ast.Constant)]
    return values[-1] if values and values[-1] in (1, 2) else None


def find_kernel(tree, name):
    """The function's node: the one named, the one that is decorated, or the only one."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if name:
        found = [f for f in functions if f.name == name]
        if not found:
            raise Unclear("there is no function '%s' at module level" % name)
        return found[-1]
    decorated = [f for f in functions if is_decorated(f)]
    if len(decorated) == 1:
        return decorated[0]
    if decorated:
        free = [f for f in decorated if not any(
            isinstance(node, ast.Name) and node.id == f.name
            for other in functions if other is not f for node in ast.walk(other))]
        return (free or decorated)[-1]
    if len(functions) == 1:
        return functions[0]
    raise Unclear("which function is the kernel? None has @nki.jit" if functions
                  else "there is no function in this file that could be the kernel")


def returned_names(function):
    """The variables of the last return statement; "" for anything that is not a plain name."""
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    if not returns:
        return []
    value = max(returns, key=lambda node: node.lineno).value
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
    return [part.id if isinstance(part, ast.Name) else "" for part in parts]


def parameters(function):
    found = function.args
    return [arg.arg for arg in found.posonlyargs + found.args + found.kwonlyargs]
