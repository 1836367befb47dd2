#!/usr/bin/env bash
# The configuration reference in doc/configuration.md is what the program knows. `reference.sh HONE
# PAGE` fails with the difference; HONE_REGEN=1 writes it anew.
set -u
hone=$1 page=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v part="$work/part" -v program="$hone config --reference" '
    /^<!-- end -->/ { inside = 0 }
    inside { print > part; next }
    { print }
    /^<!-- hone config --reference -->/ {
        inside = 1
        print ""
        while ((program | getline line) > 0) print line
        close(program)
        print ""
    }' "$page" >"$work/whole" || exit 2
grep -q '^| `address`' "$work/whole" || { echo "$page has no place for the reference"; exit 2; }
if [ -n "${HONE_REGEN:-}" ]; then
    cp "$work/whole" "$page"
elif ! diff -u "$page" "$work/whole"; then
    echo "$page does not say what hone config --reference says; HONE_REGEN=1 writes it anew"
    exit 1
fi
