# SPDX-License-Identifier: Apache-2.0
"""The tables that C and the runner share: files of rows like NAME("text", 2, OTHER), which the C
compiler includes and this module reads. Without comments their rows have the form of Python calls;
they are parsed, never run."""

import ast
import os
import pkgutil
import re

COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|/\*.*?\*/', re.S)
# Where a table lies when the runner is run from the source tree; in the archive all tables are
# beside this file.
SOURCES = {"generations.def": "../../../nki/program", "messages.def": "../../messages",
           "releases.def": "../../../nki/release"}


def text_of(name):
    try:
        data = pkgutil.get_data("hone_runner", name)
    except OSError:
        with open(os.path.join(os.path.dirname(__file__), SOURCES[name], name), "rb") as file:
            data = file.read()
    return data.decode("utf-8")


def value_of(node):
    """A text or a number as itself, NULL as None, another name as its text."""
    if isinstance(node, ast.Name):
        return None if node.id == "NULL" else node.id
    return ast.literal_eval(node)


def parse(text):
    """[(kind, arguments)] of a table's text, in its order."""
    rows = COMMENT.sub(lambda found: found.group(1) or "", text)
    tree = ast.parse(re.sub(r"^[ \t]+", "", rows, flags=re.M))     # Python minds how rows begin
    return [(row.value.func.id, tuple(value_of(one) for one in row.value.args))
            for row in tree.body]


class Table:
    """The rows of a file."""

    def __init__(self, name):
        self.rows = parse(text_of(name))

    def of(self, kind):
        """The arguments of the rows of a kind."""
        return [arguments for found, arguments in self.rows if found == kind]
