# SPDX-License-Identifier: Apache-2.0
"""Signatures of the functions that the runner calls, as the environment's own Python sees them. It
runs as a child of `conform`, imports the SDK and calls nothing in it."""

import importlib
import inspect
import json
import os
import sys

MAX_TEXT = 600


def find(target):
    """The object of "module:name.name"; ImportError or AttributeError where it is not there."""
    module, _, path = target.partition(":")
    found = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    return found


def parameters(found):
    """The inspect.Signature; None for what has none."""
    try:
        return inspect.signature(found)
    except (TypeError, ValueError):
        return None


def shown(signature):
    """Parameters without their defaults' values, which may be anything."""
    kept = [one.replace(annotation=one.empty, default=one.empty if one.default is one.empty
                        else ...) for one in signature.parameters.values()]
    return str(signature.replace(parameters=kept, return_annotation=signature.empty)).replace(
        "Ellipsis", "...")[:MAX_TEXT]


def look(target, wants):
    """(state, what was found)."""
    try:
        found = find(target)
    except (ImportError, AttributeError) as problem:
        return "absent", "%s: %s""" % (type(problem).__name__, str(problem)[:MAX_TEXT])
    except BaseException as problem:        # importing a module may do anything
        return "other", "%s: %s" % (type(problem).__name__, str(problem)[:MAX_TEXT])
    signature = parameters(found)
    if signature is None:
        return ("other" if wants else "ok"), "a %s, without a signature" % type(found).__name__
    kinds = {one.kind for one in signature.parameters.values()}
    missing = [] if inspect.Parameter.VAR_KEYWORD in kinds else \
        [name for name in wants if name not in signature.parameters]
    if missing:
        return "other", "%s has no %s" % (shown(signature), ", ".join(missing))
    return "ok", shown(signature)


def main(arguments):
    """OPERATION REQUEST ANSWER: {"rows": [[name, wants]]} to {name: [state, found]}."""
    with open(arguments[1], encoding="utf-8") as file:
        request = json.load(file)
    answer = {name: look(name, wants) for name, wants in request["rows"]}
    with open(arguments[2] + ".tmp", "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(arguments[2] + ".tmp", arguments[2])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
