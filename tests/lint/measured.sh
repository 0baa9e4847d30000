#!/bin/sh
# The scripts that write measured tables: they are Python, write what they did of the same numbers
# (tests/data/measured), and find their place in the page.
set -eu
cd "$1"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
bad=0
for script in tools/dev/measured.py tools/dev/measure-*; do
    python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$script" || bad=1
done
for script in tools/dev/measure-*; do
    name=${script##*/measure-}
    python3 "$script" --table "tests/data/measured/$name.json" |
        diff -u "tests/data/measured/$name.md" - || { echo "$script: another table"; bad=1; }
    [ "$(grep -l -e "^<!-- written by $script: begin -->\$" docs/*.md docs/*/*.md | wc -l)" -eq 1 ] ||
        { echo "$script: not exactly one page has a place for it"; bad=1; }
done
exit $bad
