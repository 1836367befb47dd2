#!/usr/bin/env bash
# Fails when a file includes what its folder may not know, or curses outside tui/term.
# The table is the one of ARCHITECTURE.md; "protocol" and "read only" arrows are whole arrows here.
set -u
root=${1:-.}
cd "$root" || exit 2
declare -A allowed=(
  [main]="main views tui tune store target transport model task runner device nki loop base"
  [base]="base"
  [loop]="loop base"
  [nki]="nki base"
  [device]="device nki base"
  [task]="task loop base"
  [runner]="runner device nki task loop base"
  [transport]="transport loop base"
  [target]="target transport runner task loop base"
  [model]="model loop base"
  [store]="store task base"
  [tune]="tune store target model task nki device loop base"
  [tui]="tui base"
  [views]="views tui tune store device nki base"
)
failed=0
checked=0
while IFS= read -r file; do
  case $file in
    main.c|cli/*) own=main ;;
    core/*) own=${file#core/}; own=${own%%/*} ;;
    *) own=${file%%/*} ;;
  esac
  checked=$((checked + 1))
  while IFS=: read -r line included; do
    first=${included%%/*}
    case $included in
      curses.h|ncurses.h|ncursesw/*|ncurses/*|term.h|panel.h)
        case $file in
          tui/term/*) ;;
          *) echo "$file:$line: includes <$included>, and only tui/term may know curses"; failed=1 ;;
        esac ;;
      */*)
        if [ -n "${allowed[$first]:-}" ] && [[ " ${allowed[$own]:-} " != *" $first "* ]]; then
          echo "$file:$line: $own may not include $included (it may know: ${allowed[$own]:-nothing})"
          failed=1
        fi
        # Outside its folder a file sees one public header, folder/folder.h, and shared tables.
        if [ -n "${allowed[$first]:-}" ] && [ "$first" != "$own" ] && [ "$included" != "$first/$first.h" ] &&
             [ "${included%.def}" = "$included" ]; then
          echo "$file:$line: includes $included; the public header is $first/$first.h"
          failed=1
        fi ;;
    esac
  done < <(sed -nE '/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]/{=;s/^[^<"]*[<"]([^>"]+)[>"].*/\1/p}' "$file" | paste -d: - -)
done < <(find core tui views main.c cli -name '*.[ch]' -o -name '*.def' 2>/dev/null | sort)
[ "$checked" -gt 0 ] || { echo "no source files found under $root"; exit 2; }
[ "$failed" -eq 0 ] && echo "layers: $checked files, no arrow the wrong way"
exit "$failed"
