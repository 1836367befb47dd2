# SPDX-License-Identifier: Apache-2.0
"""Lines of at most 100 columns: columns.py ROOT. .clang-format leaves long texts in C as they are,
and pages.py has the pages for readers. This is for the rest: C, tables (.def), Python, shell, CMake
and other Markdown, where rows of tables and code may be wider. The lines of prompts belong to what
models are told, and are left alone."""

import os
import pathlib
import re
import sys

COLUMNS = 100
TOPS = ("ARCHITECTURE.md", "CHANGELOG.md", "CMakeLists.txt", "CONTRIBUTING.md", "cli", "cmake",
        "core", "main.c", "prompts/README.md", "seeds", "tests", "tui", "views")
KINDS = (".c", ".h", ".def", ".py", ".sh", ".cmake", ".md", "CMakeLists.txt")
DRAWN = re.compile(r"\||    ")


def files(root):
    for top in TOPS:
        if (root / top).is_file():
            yield root / top
        for folder, _, names in os.walk(root / top):
            yield from (pathlib.Path(folder, name) for name in sorted(names))


def main():
    root, wide, seen = pathlib.Path(sys.argv[1]), 0, 0
    for path in files(root):
        if not path.name.endswith(KINDS):
            continue
        seen += 1
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > COLUMNS and not (path.suffix == ".md" and DRAWN.match(line)):
                print(f"{path.relative_to(root)}:{number}: {len(line)} columns")
                wide += 1
    print(f"columns: {seen} files, {wide} lines over {COLUMNS}")
    return 1 if wide or not seen else 0


sys.exit(main())
