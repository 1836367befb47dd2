# SPDX-License-Identifier: Apache-2.0
"""The pages for readers and developers: pages.py ROOT. Links lead to files that exist, lines keep
to 100 columns (pictures and tables may be wider), the README and the map stay short, and no
sentence of any length occurs twice."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
DOC = sorted((ROOT / "doc").glob("*.md"))
LINES = {"README.md": 150, "ARCHITECTURE.md": 130}
PAGES = [*(ROOT / name for name in LINES), ROOT / "CONTRIBUTING.md", *DOC]
COLUMNS = 100
SENTENCE = 60  # so many characters are hardly the same by accident


def anchor(heading):
    """The name that a forge gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def prose(text):
    """A page without its code, tables and headings."""
    lines = [line for line in text.splitlines() if not re.match(r" {4}|\||#|<", line)]
    return " ".join(" ".join(lines).split())


def anchors(page):
    return {anchor(line.lstrip("#")) for line in page.read_text().splitlines() if line[:1] == "#"}


def links(page, text):
    for target in re.findall(r"\]\(([^)]+)\)", text):
        path, _, part = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        other = (page.parent / path) if path else page
        if not other.exists():
            yield f"leads to {path}, which is not there"
        elif part and part not in anchors(other):
            yield f"leads to #{part}, which {other.name} does not have"


def places(text):
    """Files of the tree that a page names; NAME stands for any name."""
    for path in re.findall(r"`((?:core|cli|tui|views|cmake|prompts|seeds|tests)/[\w./]+)`", text):
        if not any(ROOT.glob(path.replace("NAME", "*"))):
            yield f"names {path}, which is not there"


def wide(text):
    for number, line in enumerate(text.splitlines(), 1):
        drawn = line[:1] == "|" or re.search("[\u2500-\u259f\u25c6\u2713]| \\d\\d:\\d\\d$", line)
        if len(line) > COLUMNS and not drawn:
            yield f"line {number} has {len(line)} columns"


def main():
    found, seen = [], collections.defaultdict(list)
    for page in PAGES:
        text = page.read_text()
        name = page.relative_to(ROOT)
        found += [f"{name}: {what}" for what in (*links(page, text), *places(text), *wide(text))]
        for sentence in re.split(r"(?<=[.:]) ", prose(text)):
            if len(sentence) > SENTENCE:
                seen[sentence].append(str(name))
    found += [f"{', '.join(names)}: twice: {what}" for what, names in seen.items()
              if len(names) > 1]
    found += [f"{name} has more than {most} lines" for name, most in LINES.items()
              if len((ROOT / name).read_text().splitlines()) > most]
    found += [f"README.md does not name doc/{page.name}" for page in DOC
              if f"(doc/{page.name})" not in (ROOT / "README.md").read_text()]
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())
