#!/usr/bin/env bash
# The layer check must fail where it should: each row is a file, its text, and what must be said.
set -u
check=$(cd "$(dirname "$0")" && pwd)/layers.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
expect() {  # name, status, file, text, words
    rm -rf "${folder:?}"/*
    mkdir -p "$folder/core/base" "$folder/tui/term" "$folder/views" "$folder/$(dirname "$3")"
    echo '#include "base/base.h"' >"$folder/core/base/a.c"
    printf '%s\n' "$4" >"$folder/$3"
    local said status
    said=$(bash "$check" "$folder" 2>&1)
    status=$?
    if [ "$status" -ne "$2" ] || [[ "$said" != *"$5"* ]]; then
        echo "FAILED $1: status $status, said: $said"
        failed=1
    else
        echo "ok $1"
    fi
}
expect "upward arrow" 1 core/base/b.c '#include "loop/loop.h"' "base may not include loop/loop.h"
expect "view reaching the model" 1 views/v.c '#include "model/model.h"' "views may not include"
expect "private header of a neighbour" 1 core/tune/t.c '#include "nki/value.h"' "the public header is nki/nki.h"
expect "curses in a view" 1 views/v.c '#include <ncurses.h>' "only tui/term may know curses"
expect "curses in tui itself" 1 tui/canvas.c '# include <curses.h>' "only tui/term may know curses"
expect "curses in tui/term" 0 tui/term/t.c '#include <curses.h>' "no arrow the wrong way"
expect "a legal arrow" 0 core/tune/t.c '#include "nki/nki.h"' "no arrow the wrong way"
exit "$failed"
