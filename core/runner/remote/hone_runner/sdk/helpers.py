# SPDX-License-Identifier: Apache-2.0
"""The files of a task that a kernel imports. hone sends the Python files of the task's folder, and
a kernel is compiled in a folder of its own: those that it imports, over any number of steps, are
put beside it. The reference is no helper: a kernel that read it could say what is expected."""

import ast
import hashlib
import os
import shutil

# Where a kernel imports these, it means the SDK's and Python's own.
TAKEN = {"nki", "neuronxcc", "nkilib", "numpy", "torch", "jax", "math", "typing", "dataclasses"}


def modules(text):
    """The names at the beginning of what the source imports; none where it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names - TAKEN


def copy(names, beside, folder):
    """Copies files and those in packages into the kernel's folder, by their names below `beside`;
    returns rows of name and hash, in order. What is there already stays."""
    rows = {}
    for name in names:
        source, place = os.path.join(beside, name), os.path.join(folder, name)
        inside = os.path.normpath(name) == name and not os.path.isabs(name) \
            and name.split(os.sep)[0] != os.pardir
        if not inside or os.path.exists(place) or not os.path.isfile(source):
            continue
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        shutil.copyfile(source, place)
        rows[name] = digest_of(place)
    return sorted(rows.items())


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def put(text, beside, folder, reference):
    """Copies what the kernel's text imports from `beside` into its folder; returns rows of name and
    hash, in order. reference: the name of the file that is not copied."""
    rows, wanted = {}, sorted(modules(text))
    while wanted:
        name = wanted.pop() + ".py"
        source, copy = os.path.join(beside, name), os.path.join(folder, name)
        if name in rows or name == reference or os.path.exists(copy) or not os.path.isfile(source):
            continue
        shutil.copyfile(source, copy)
        with open(copy, "rb") as file:
            data = file.read()
        rows[name] = hashlib.sha256(data).hexdigest()
        wanted += sorted(modules(data.decode("utf-8", "replace")))
    return sorted(rows.items())
