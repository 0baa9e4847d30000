#!/bin/sh
# docs/make twice: the same scripts, data and pictures, and one of every kind:   docs.sh PPSIM
set -eu
PPSIM=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
export PPSIM
make=$(cd "$(dirname "$0")/.." && pwd)/docs/make
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for run in a b; do
    status=0
    "$make" --quick -o "$work/$run" >"$work/words" 2>&1 || status=$?
    [ "$status" = 0 ] || [ "$status" = 4 ] || { cat "$work/words"; exit 1; } # 4: no gnuplot
done
diff -r -x data "$work/a" "$work/b" # inputs: a sweep writes points in the order in which they are done
for kind in $("$PPSIM" list plots | sed 's/ .*//'); do
    ls "$work/a/$kind"-*.gp "$work/a/$kind"-*.dat >/dev/null || { echo "docs/make draws no $kind"; exit 1; }
done
echo "docs/make: $(ls "$work/a" | grep -c '\.gp$') kinds, equal twice"
