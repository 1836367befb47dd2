# SPDX-License-Identifier: Apache-2.0
"""The runner's own code that runs in a stage, in whatever Python the stage needs.

    context.stage("inputs", children.argv(context.environment.python, "reference", path), limits)

runs the module's main(arguments) in a process of its own."""

import importlib
import os
import sys

# name: module with main(arguments) -> exit status
CHILDREN = {"reference": "hone_runner.sdk.reference", "worker": "hone_runner.sdk.worker",
            "nrt": "hone_runner.sdk.nrt", "tables": "hone_runner.sdk.tables",
            "signatures": "hone_runner.sdk.signatures"}


def archive():
    """The file or folder this runner was started from."""
    return os.path.abspath(sys.argv[0])


def argv(python, name, *arguments):
    """The argument vector of a stage that runs a child."""
    return [python, archive(), "child", name] + [os.fspath(part) for part in arguments]


def run(name, arguments):
    return importlib.import_module(CHILDREN[name]).main(arguments)
