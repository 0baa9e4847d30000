#!/bin/sh
# Every test that docs/reference/modelled.md names exists: `tier.file: name`.
set -eu
cd "$1"
page=docs/reference/modelled.md
bad=0
[ -f "$page" ] || { echo "$page is missing"; exit 1; }
names=$(grep -oE '`(unit|contract)\.[a-z_0-9]+: [a-z_0-9]+`' "$page" | tr -d '`' | tr -d ' ' | sort -u)
[ "$(printf '%s\n' "$names" | wc -l)" -gt 80 ] || { echo "$page names too few tests"; exit 1; }
for name in $names; do
    test=${name#*:}
    place=${name%%:*}
    file=$(find "tests/${place%%.*}" -name "test_${place#*.}.c")
    if [ -z "$file" ] || ! grep -q "^START_TEST($test)" "$file"; then
        echo "$page names $place: $test, which is not there"
        bad=1
    fi
done
for n in $(seq 1 26); do
    grep -q "^| B$n |" "$page" || { echo "$page has no row B$n"; bad=1; }
done
exit $bad
