#!/bin/sh
# The hints of the Python package and docs/reference/python.md are what runtime/python/generate.py makes of the option
# tables and docstrings; all Python of the package and its tests is valid in Python 3.10, with at most 110 columns.
set -eu
cd "$1"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
[ -e "$2/libppsim.so" ] || { echo "skipped: no libppsim.so in this build"; exit 77; }
bad=0
PYTHONDONTWRITEBYTECODE=1 python3 runtime/python/generate.py "$2/libppsim.so" . --check || bad=1
for file in runtime/python/*.py runtime/python/ppsim/[!_]*.py runtime/python/ppsim/__*.py runtime/python/ppsim/_[!o_]*.py runtime/python/ppsim/torch/*.py \
    tests/python/*.py; do
    [ -e "$file" ] || continue
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 10))' "$file" || bad=1
    ! grep -nE '^.{111}' "$file" || { echo "^ $file: more than 110 columns"; bad=1; }
done
exit $bad
