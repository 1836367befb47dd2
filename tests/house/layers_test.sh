#!/usr/bin/env bash
# The check of rooms must fail where it should: each row is a file, its text, and what must be said.
set -u
check=$(cd "$(dirname "$0")" && pwd)/layers.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
table() {
    cat <<'EOF'
| room | what it is | may include |
|---|---|---|
| `core/base` | text | nothing of ours |
| `core/nki/python`, `core/nki/lint` | values; checks | base |
| `core/nki` | the language | nki/python, base |
| `core/tune` | the loop | nki, base |
| `tui` | toolkit | base |
| `tui/term` | the terminal | tui, base |
| `views` | screens | tui, tune, base |
EOF
}
room() {  # its folder, and the doors that its one file includes
    local name=$1 known
    mkdir -p "$folder/$name"
    : >"$folder/$name/$(basename "$name").h"
    shift
    for known in "$@"; do
        echo "#include \"$known/$(basename "$known").h\""
    done >"$folder/$name/a.c"
}
rooms() {
    room core/base
    room core/nki/python base
    echo '#include "nki/python/inner.h"' >"$folder/core/nki/python/own.h"
    : >"$folder/core/nki/python/inner.h"
    room core/nki/lint base
    room core/nki nki/python base
    echo '#include "nki/python/inner.h"' >>"$folder/core/nki/a.c"
    room core/tune nki base
    room tui base
    room tui/term tui base
    room views tui tune base
}
expect() {  # name, status, file, text, words, more rows of the table
    rm -rf "${folder:?}"/*
    rooms
    { table; printf '%s' "${6:-}"; } >"$folder/ARCHITECTURE.md"
    mkdir -p "$folder/$(dirname "$3")"
    printf '%s\n' "$4" >"$folder/$3"
    local said status
    said=$(/usr/bin/python3 "$check" "$folder" 2>&1)
    status=$?
    if [ "$status" -ne "$2" ] || [[ "$said" != *"$5"* ]]; then
        echo "FAILED $1: status $status, said: $said"
        failed=1
    else
        echo "ok $1"
    fi
}
expect "upward arrow" 1 core/base/b.c '#include "tune/tune.h"' "base may not include tune/tune.h"
expect "a view and a room of another house" 1 views/v.c '#include "nki/python/python.h"' \
    "views may not include nki/python/python.h"
expect "private header of a neighbour" 1 core/tune/t.c '#include "nki/value.h"' \
    "the public header is nki/nki.h"
expect "private header of a room" 1 core/nki/n.c '#include "nki/python/own.h"' \
    "the public header is nki/python/python.h"
expect "what the rooms of a house share" 0 core/nki/n.c '#include "nki/python/inner.h"' \
    "no arrow the wrong way"
expect "an inside by a room's door" 1 core/nki/python/python.h '#include "nki/python/own.h"' \
    "python.h: a door, and brings in core/nki/python/inner.h by core/nki/python/own.h"
expect "an inside by a house's door" 1 core/nki/nki.h '#include "nki/python/inner.h"' \
    "nki.h: a door, and brings in core/nki/python/inner.h by core/nki/nki.h"
expect "an arrow that nobody goes along" 1 core/tune/a.c '#include "base/base.h"' \
    "tune may know nki in ARCHITECTURE.md, and includes nothing of it"
expect "an inside that no other room uses" 1 core/tune/inner.h "" \
    "core/tune/inner.h: no other room includes it"
expect "what another house shares" 1 core/tune/t.c '#include "nki/inner.h"' \
    "the public header is nki/nki.h"
expect "a room that nobody told of" 1 core/nki/lost/l.c '#include "base/base.h"' \
    "ARCHITECTURE.md has no row"
expect "a row without a room" 1 core/base/b.c '' \
    "in the table of ARCHITECTURE.md and nowhere else" \
    '| `core/gone` | nothing | base |
'
expect "a circle" 1 core/moon/m.c '#include "base/base.h"' \
    "a circle of rooms: moon -> sun -> moon" \
    '| `core/moon` | one | sun |
| `core/sun` | two | moon |
'
expect "an upward arrow from the second room of a row" 1 core/nki/lint/l.c '#include "nki/nki.h"' \
    "nki/lint may not include nki/nki.h"
expect "an arrow between the rooms of a row" 1 core/nki/lint/l.c '#include "nki/python/python.h"' \
    "nki/lint may not include nki/python/python.h"
expect "an arrow that only the first of a row goes along" 1 core/nki/lint/a.c '' \
    "nki/lint may know base in ARCHITECTURE.md, and includes nothing of it"
expect "a row with one room and one that is not there" 1 core/base/b.c '' \
    "gone is in the table of ARCHITECTURE.md and nowhere else" \
    '| `core/nki/lost`, `core/gone` | two | nothing of ours |
'
expect "a room with two rows" 1 core/base/b.c '' "nki/lint has a row already" \
    '| `core/nki/lint` | checks | base |
'
expect "a row without arrows" 1 core/base/b.c '' "no row of rooms, words and arrows" \
    '| `core/nki/lost` | nobody knows | |
'
expect "a row without words" 1 core/base/b.c '' "no row of rooms, words and arrows" \
    '| `core/nki/lost` | base |
'
expect "an arrow to no room" 1 core/moon/m.c '' "moon may know sun, which is no room" \
    '| `core/moon` | one | sun |
'
expect "curses in a view" 1 views/v.c '#include <ncurses.h>' "only tui/term may know curses"
expect "curses in tui itself" 1 tui/canvas.c '# include <curses.h>' "only tui/term may know curses"
expect "curses in tui/term" 0 tui/term/t.c '#include <curses.h>' "no arrow the wrong way"
expect "a legal arrow" 0 core/tune/t.c '#include "nki/nki.h"' "no arrow the wrong way"
expect "a shared table" 0 core/tune/t.c '#include "nki/python/words.def"' "no arrow the wrong way"
expect "a house's inside from a room in it" 0 tui/term/t.c '#include "tui/inner.h"' \
    "no arrow the wrong way"
expect "a house's inside from elsewhere" 1 views/v.c '#include "tui/inner.h"' \
    "the public header is tui/tui.h"
crowded() {  # a room with so many files besides its tests' header, and what the check says
    rm -rf "${folder:?}"/*
    rooms
    table >"$folder/ARCHITECTURE.md"
    : >"$folder/tui/testing.h"
    for number in $(seq 3 "$1"); do
        : >"$folder/tui/file$number.c"
    done
    /usr/bin/python3 "$check" "$folder" 2>&1
}
said=$(crowded 26)
if [[ "$said" == *"tui has 26 files; a room has 25 at most"* ]]; then
    echo "ok a full room"
else
    echo "FAILED a full room: $said"
    failed=1
fi
if said=$(crowded 25); then
    echo "ok a room with all the files it may have"
else
    echo "FAILED a room with all the files it may have: $said"
    failed=1
fi
exit "$failed"
