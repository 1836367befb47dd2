#!/usr/bin/env bash
# A page's generated part is what the program prints: everything between "<!-- hone ARGS -->" and
# "<!-- end -->". `reference.sh HONE PAGE` fails with the difference; HONE_REGEN=1 writes it anew.
set -u
hone=$1 page=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v hone="$hone" '
    /^<!-- end -->/ { inside = 0 }
    inside { next }
    { print }
    /^<!-- hone .* -->/ {
        inside = 1
        program = $0
        gsub(/^<!-- hone | -->$/, "", program)
        program = hone " " program
        print ""
        while ((program | getline line) > 0) { print line; lines++ }
        close(program)
        print ""
    }
    END { exit lines < 20 }' "$page" >"$work/whole" || {
    echo "$page has no place for its reference"
    exit 2
}
if [ -n "${HONE_REGEN:-}" ]; then
    cp "$work/whole" "$page"
elif ! diff -u "$page" "$work/whole"; then
    echo "$page is not what hone prints; HONE_REGEN=1 writes it anew"
    exit 1
fi
