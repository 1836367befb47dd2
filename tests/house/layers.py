#!/usr/bin/env python3
"""The rooms of the house: reads their table in ARCHITECTURE.md and every include.

Fails when a file includes what its room may not know, another room's header that is not its door
(room/room.h, in one house room/inner.h, or a shared table, .def), or curses outside tui/term; when
a door brings in an inner.h, by however many includes, or no other room includes one; when the
arrows of the table make a circle, or nobody goes along one; when a folder of sources has no row or
two, when a row has a folder that is not there, or is no row of three columns; when a room has more
than ROOM files, besides what is there for tests (testing.h).

Rooms that may know the same share a row. The row is held for each of them as if it stood alone.
"""
import os
import re
import sys

ROOM = 25
CURSES = re.compile(r"^(ncursesw?/.*|n?curses\.h|term\.h|panel\.h)$")
INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]")
ROW = re.compile(r"^\| (`[^`|]+`(?:, `[^`|]+`)*) \| [^|]+ \| ([^|]+) \|$")


def read_row(line):
    """The rooms of a row, and what each of them may know; None for a row that is none."""
    row = ROW.match(line)
    if not row:
        return None
    known = row.group(2)
    names = [] if known == "nothing of ours" else re.findall(r"[\w/]+", known)
    return [strip(room) for room in re.findall(r"`([^`]+)`", row.group(1))], names


def read_table(path, say):
    """The rooms of ARCHITECTURE.md: each folder, and the rooms that it may know."""
    table = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("| `"):
                continue
            row = read_row(line)
            if not row:
                say("ARCHITECTURE.md:%d: no row of rooms, words and arrows" % number)
                continue
            for room in row[0]:
                if room in table:
                    say("ARCHITECTURE.md:%d: %s has a row already" % (number, room))
                table[room] = row[1]
    return table


def strip(path):
    return path[len("core/"):] if path.startswith("core/") else path


def sources(root):
    tops = ["core", "tui", "views", "cli", "main.c"]
    for top in tops:
        if os.path.isfile(os.path.join(root, top)):
            yield top
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def")):
                    yield os.path.relpath(os.path.join(folder, name), root)


# What stands for the headers of libraries that are loaded late: for those alone that use one.
LATE = ("base/libcurl.h", "base/libssh2.h", "base/openblas.h", "base/os/library.h")


def room_of(file):
    return file if file == "main.c" else strip(os.path.dirname(file))


def wrong_include(table, own, included):
    """What is wrong with an include, as the end of a sentence; None."""
    target = os.path.dirname(included)
    if target not in table or target == own:
        return None
    known = table[own]
    house = target.split("/")[0]
    if included.endswith(".def") and house in known:
        return None
    if target not in known:
        return "%s may not include %s (it may know: %s)" % (
            own, included, " ".join(known) or "nothing")
    door = "%s/%s.h" % (target, os.path.basename(target))
    if included == target + "/inner.h" and own.split("/")[0] == house:
        return None
    if included != door and not included.endswith(".def") and included not in LATE:
        return "includes %s; the public header is %s" % (included, door)
    return None


def read_includes(root, file):
    """The includes of a file: line number, and what is included."""
    with open(os.path.join(root, file), encoding="utf-8") as text:
        found = [(number, INCLUDE.match(line)) for number, line in enumerate(text, 1)]
    return [(number, match.group(1)) for number, match in found if match]


def look_at(table, file, includes, say):
    own = room_of(file)
    if own not in table:
        say("%s: ARCHITECTURE.md has no row for this room" % file)
        return
    for number, included in includes:
        if CURSES.match(included) and own != "tui/term":
            say("%s:%d: includes <%s>, and only tui/term may know curses"
                % (file, number, included))
        wrong = wrong_include(table, own, included)
        if wrong:
            say("%s:%d: %s" % (file, number, wrong))


def reach(tree, file):
    """All files that a file brings in, each with the one that includes it."""
    came, waiting = {}, [file]
    while waiting:
        at = waiting.pop()
        for _, included in tree[at]:
            found = next((p for p in ("core/" + included, included) if p in tree), None)
            if found and found not in came:
                came[found] = at
                waiting.append(found)
    return came


def is_door(file):
    return os.path.basename(file) == os.path.basename(os.path.dirname(file)) + ".h"


def look_through(table, tree, say):
    """What includes bring in through others: no inner.h through a door, and something for every
    arrow."""
    reached = {room: set() for room in table}
    for file in tree:
        came = reach(tree, file)
        reached.get(room_of(file), set()).update(room_of(other) for other in came)
        for inside in sorted(came):
            if is_door(file) and os.path.basename(inside) == "inner.h":
                say("%s: a door, and brings in %s by %s" % (file, inside, came[inside]))
    for room in table:
        for known in table[room]:
            if known in table and known not in reached[room]:
                say("%s may know %s in ARCHITECTURE.md, and includes nothing of it" % (room, known))


def look_inside(tree, say):
    """An inner.h is for other rooms of its house. What a room keeps to itself is in a private.h."""
    for inside in sorted(tree):
        if os.path.basename(inside) != "inner.h":
            continue
        named = inside[len("core/"):] if inside.startswith("core/") else inside
        users = {room_of(file) for file in tree if named in [path for _, path in tree[file]]}
        if not users - {room_of(inside)}:
            say("%s: no other room includes it; what a room has to itself is private.h" % inside)


def circle(table):
    """The rooms of a circle of arrows, or None."""
    done, path = set(), []

    def visit(room):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done or room not in table:
            return None
        path.append(room)
        for known in table[room]:
            found = visit(known)
            if found:
                return found
        done.add(path.pop())
        return None

    for room in table:
        found = visit(room)
        if found:
            return found
    return None


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    problems, files = [], {}
    table = read_table(os.path.join(root, "ARCHITECTURE.md"), problems.append)
    tree = {file: read_includes(root, file) for file in sources(root)}
    for file in tree:
        files[room_of(file)] = files.get(room_of(file), 0) + (os.path.basename(file) != "testing.h")
        look_at(table, file, tree[file], problems.append)
    look_through(table, tree, problems.append)
    look_inside(tree, problems.append)
    for room in table:
        for known in table[room]:
            if known not in table:
                problems.append("%s may know %s, which is no room" % (room, known))
        if files.get(room, 0) > ROOM:
            problems.append("%s has %d files; a room has %d at most" % (room, files[room], ROOM))
        if room not in files:
            problems.append("%s is in the table of ARCHITECTURE.md and nowhere else" % room)
    around = circle(table)
    if around:
        problems.append("a circle of rooms: " + " -> ".join(around))
    for problem in problems:
        print(problem)
    if not files:
        print("no source files found under " + root)
        return 2
    if not problems:
        print("layers: %d files in %d rooms, no arrow the wrong way"
              % (sum(files.values()), len(files)))
    return 1 if problems else 0


sys.exit(main())
